//! Known state of each namespace, as the watches report it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use bartizan_controller::{Cause, Exception, Failure, Network, Observed, Pods, Protection, Reading, SidecarState};
use time::{Date, OffsetDateTime};
use tokio::time::Instant;

use crate::objects::{Item, Kind, Named, Pod};
use crate::reflector::Change;
use crate::sidecar_status::Target;

/// For so long a node whose Secret was just written gets no other: what is observed of it may be older.
const HELD: Duration = Duration::from_secs(60);
/// For so long a node whose certificate could not be issued is left alone; doubled with each attempt up to the second.
const AGAIN: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(600);

#[derive(Default)]
pub(crate) struct Store {
    pub(crate) namespaces: BTreeMap<String, Namespace>,
    /// Kinds that were listed as a whole, by scope.
    listed: BTreeSet<(Kind, Option<String>)>,
}

/// A namespace.
#[derive(Default)]
pub(crate) struct Namespace {
    pub(crate) observed: Observed,
    pods: BTreeMap<Box<str>, KnownPod>,
    reading: Option<(Date, Reading)>,
    held: BTreeMap<String, Instant>,
    /// True if the pod counts are current.
    is_counted: bool,
    /// True if it changed since its last turn, or if a turn left work.
    pub(crate) changed: bool,
    /// Last complaint logged about the namespace.
    pub(crate) complaint: Option<String>,
    /// Number of nodes, and of nodes with a certificate, as of its last turn.
    pub(crate) counted: (usize, usize),
}

/// A pod with what its sidecar said.
struct KnownPod {
    pod: Pod,
    said: Protection,
    /// When it was asked last.
    asked: Option<Instant>,
    /// Handshakes it had refused then.
    refused: Option<u64>,
}

impl Store {
    /// Sidecars that are ready and were not asked for so long, those never asked first, then those whose question is the oldest: where
    /// many are silent, all are not asked in the time, and it is not always the same ones.
    pub(crate) fn due(&mut self, again: Duration, most: usize) -> Vec<Target> {
        let now = Instant::now();
        let mut due = Vec::new();
        for (namespace, of) in &mut self.namespaces {
            // Sidecars of a namespace without a Network are nobody's to report.
            if of.observed.networks.is_empty() {
                continue;
            }
            for (name, known) in &mut of.pods {
                let is_due = known.asked.is_none_or(|asked| now >= asked + again);
                if let Some(address) = known.pod.admin.filter(|_| known.pod.is_ready && is_due) {
                    due.push((&mut known.asked, namespace, name, address));
                }
            }
        }
        // In order: of those never asked the first ones.
        due.sort_by_key(|(asked, ..)| **asked);
        let first = due.into_iter().take(most);
        first
            .map(|(asked, namespace, pod, address)| {
                *asked = Some(now);
                Target {
                    namespace: namespace.clone(),
                    pod: pod.to_string(),
                    address,
                }
            })
            .collect()
    }

    fn said(&mut self, target: &Target, said: &Result<SidecarState, String>) {
        let Some(of) = self.namespaces.get_mut(&target.namespace) else {
            return;
        };
        let known = of.pods.get_mut(target.pod.as_str());
        // Another pod may have the name by now.
        let Some(known) = known.filter(|known| known.pod.admin == Some(target.address)) else {
            return;
        };
        let protection = match said {
            Ok(state) => {
                let protection = state.judge(known.refused);
                known.refused = Some(state.refused());
                protection
            }
            Err(why) => Protection::Silent(why.as_str().into()),
        };
        if known.said != protection {
            // The number of answers is counted each round; a new or resolved finding is reported at
            // once.
            let found = |said: &Protection| matches!(said, Protection::Found(..));
            of.changed |= found(&known.said) || found(&protection);
            of.is_counted = false;
            known.said = protection;
        }
    }

    /// Returns true if each kind was listed in each of these scopes.
    pub(crate) fn is_whole(&self, kinds: usize, scopes: usize) -> bool {
        self.listed.len() >= kinds * scopes
    }

    pub(crate) fn take(&mut self, change: Change) {
        match change {
            Change::Is(named) => self.put(*named),
            Change::Said(target, said) => self.said(&target, &said),
            Change::Gone(kind, namespace, name) => self.remove(kind, &namespace, &name),
            Change::Listed(kind, scope, names) => {
                let mut gone = Vec::new();
                for (namespace, one) in &self.namespaces {
                    if scope.as_ref().is_none_or(|scope| scope == namespace) {
                        let known = one.names(kind).into_iter();
                        gone.extend(
                            known
                                .map(|name| (namespace.clone(), name))
                                .filter(|pair| !names.contains(pair)),
                        );
                    }
                }
                for (namespace, name) in gone {
                    self.remove(kind, &namespace, &name);
                }
                self.listed.insert((kind, scope));
            }
        }
    }

    pub(crate) fn put(&mut self, named: Named) {
        match named.item {
            // Pods of namespaces that have nothing to do with it are not worth an entry.
            Item::Pod(None) => return self.remove(Kind::Pod, &named.namespace, &named.name),
            // Its dependants belong to the garbage collector: if created again or handed back, they
            // would still be deleted.
            Item::Ending(kind) => return self.remove(kind, &named.namespace, &named.name),
            _ => {}
        }
        let namespace = self.namespaces.entry(named.namespace.clone()).or_default();
        namespace.observed.namespace = named.namespace;
        namespace.put(named.name, named.item);
    }

    fn remove(&mut self, kind: Kind, namespace: &str, name: &str) {
        if let Some(namespace) = self.namespaces.get_mut(namespace) {
            namespace.remove(kind, name);
        }
    }
}

fn replace<T: PartialEq>(all: &mut Vec<T>, one: T, is: impl Fn(&T) -> bool) -> bool {
    match all.iter_mut().find(|other| is(other)) {
        Some(other) if *other == one => return false,
        Some(other) => *other = one,
        None => all.push(one),
    }
    true
}

impl Namespace {
    fn put(&mut self, name: String, item: Item) {
        let observed = &mut self.observed;
        let (changed, read) = match item {
            // A status that was written changes nothing of the file.
            Item::Network(one) => {
                let same = |other: &Network| other.meta.uid == one.meta.uid && other.spec == one.spec;
                let read = !observed.networks.iter().any(same);
                (
                    replace(&mut observed.networks, one, |other| other.meta.name == name),
                    read,
                )
            }
            Item::Exception(one) => {
                let same = |other: &Exception| other.meta.uid == one.meta.uid && other.spec == one.spec;
                let read = !observed.exceptions.iter().any(same);
                (
                    replace(&mut observed.exceptions, one, |other| other.meta.name == name),
                    read,
                )
            }
            Item::ConfigMap(one) => (observed.config_map.replace(one.clone()) != Some(one), true),
            Item::Secret(one) => {
                observed.foreign.remove(&name);
                (observed.secrets.insert(name, one.clone()) != Some(one), false)
            }
            Item::Pod(Some(one)) => {
                let known = self.pods.get(name.as_str());
                let changed = known.is_none_or(|known| known.pod != one);
                if changed {
                    let known = KnownPod {
                        pod: one,
                        said: Protection::default(),
                        asked: None,
                        refused: None,
                    };
                    self.pods.insert(name.into(), known);
                    self.is_counted = false;
                }
                (changed, false)
            }
            Item::Pod(None) | Item::Ending(_) => (false, false),
        };
        self.changed |= changed;
        if changed && read {
            self.reading = None;
        }
    }

    fn remove(&mut self, kind: Kind, name: &str) {
        self.changed = true;
        match kind {
            Kind::Network => self.observed.networks.retain(|one| one.meta.name != name),
            Kind::Exception => self.observed.exceptions.retain(|one| one.meta.name != name),
            Kind::ConfigMap => self.observed.config_map = None,
            Kind::Secret => {
                self.observed.secrets.remove(name);
                // It was deleted on purpose: it is made again at once.
                self.held.clear();
            }
            Kind::Pod => {
                self.changed = self.pods.remove(name).is_some();
                self.is_counted = false;
            }
        }
        if kind < Kind::Secret {
            self.reading = None;
        }
    }

    fn names(&self, kind: Kind) -> Vec<String> {
        let observed = &self.observed;
        match kind {
            Kind::Network => observed.networks.iter().map(|one| one.meta.name.clone()).collect(),
            Kind::Exception => observed.exceptions.iter().map(|one| one.meta.name.clone()).collect(),
            Kind::ConfigMap => observed.config_map.iter().map(|one| one.meta.name.clone()).collect(),
            Kind::Secret => observed.secrets.keys().cloned().collect(),
            Kind::Pod => self.pods.keys().map(ToString::to_string).collect(),
        }
    }

    fn count_pods(&mut self) {
        let mut pods: BTreeMap<String, Pods> = BTreeMap::new();
        for known in self.pods.values() {
            let counted = pods.entry(known.pod.node.to_string()).or_default();
            counted.count(known.pod.is_ready.then_some(&known.said));
        }
        self.observed.pods = pods;
        self.is_counted = true;
    }

    /// Returns the observed state, with the reading that is valid on this day.
    pub(crate) fn read(&mut self, now: SystemTime) -> (&Observed, &Reading) {
        if !self.is_counted {
            self.count_pods();
        }
        let ended = Instant::now();
        self.held.retain(|_, until| *until > ended);
        self.observed.held = self.held.keys().cloned().collect();
        let today = OffsetDateTime::from(now).date();
        let reading = match self.reading.take().filter(|(day, _)| *day == today) {
            Some((_, reading)) => reading,
            None => Reading::of(&self.observed, today),
        };
        let (_, reading) = self.reading.insert((today, reading));
        (&self.observed, reading)
    }

    pub(crate) fn hold(&mut self, node: &str) {
        self.observed.failures.remove(node);
        self.held.insert(node.to_owned(), Instant::now() + HELD);
    }

    pub(crate) fn failed(&mut self, node: &str, cause: Cause, reason: String, now: SystemTime) {
        let failures = &mut self.observed.failures;
        let count = failures.get(node).map_or(0, |failure| failure.count);
        let again = now + AGAIN.saturating_mul(1 << count.min(8)).min(LONGEST);
        let failure = Failure {
            cause,
            reason,
            count: count.saturating_add(1),
            again,
        };
        failures.insert(node.to_owned(), failure);
        self.changed = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::{Decoder, Signer};

    fn named(name: &str, item: Item) -> Named {
        Named {
            namespace: "core".to_owned(),
            name: name.to_owned(),
            version: String::new(),
            item,
        }
    }

    fn pod(last: u8, is_ready: bool) -> Item {
        Item::Pod(Some(Pod {
            node: "amf".into(),
            admin: Some(([10, 0, 0, last], 15_090).into()),
            is_ready,
        }))
    }

    fn asked(store: &mut Store, again: Duration, most: usize) -> Vec<String> {
        let due = store.due(again, most);
        due.into_iter().map(|target| target.pod).collect()
    }

    #[test]
    fn more_sidecars_than_can_be_asked_in_the_time_are_asked_in_turn() {
        let mut store = Store::default();
        for last in 1..=5 {
            store.put(named(&format!("pod-{last}"), pod(last, last != 3)));
        }
        assert!(asked(&mut store, Duration::ZERO, 9).is_empty(), "without a Network");
        store.put(named("core", Item::Network(Network::default())));
        assert_eq!(asked(&mut store, Duration::ZERO, 3), ["pod-1", "pod-2", "pod-4"]);
        // The time is over for all of them, and the one that was not asked is first.
        assert_eq!(asked(&mut store, Duration::ZERO, 2), ["pod-5", "pod-1"]);
        assert_eq!(
            asked(&mut store, Duration::ZERO, 9),
            ["pod-2", "pod-4", "pod-1", "pod-5"]
        );
        assert!(asked(&mut store, Duration::from_secs(300), 9).is_empty());
        store.put(named("pod-3", pod(3, true)));
        assert_eq!(asked(&mut store, Duration::from_secs(300), 9), ["pod-3"]);
    }

    #[test]
    fn a_network_that_is_being_deleted_counts_as_gone_whoever_keeps_it() {
        let decoder = Decoder {
            signer: Signer::Issuer(String::new()),
        };
        let event = |more: &str| {
            let line = format!(
                r#"{{ "type": "MODIFIED", "object": {{ "metadata": {{ "name": "core", "namespace": "core", "uid": "one" {more} }}, "spec": {{}} }} }}"#
            );
            decoder.event(Kind::Network, line.as_bytes()).unwrap()
        };
        let mut store = Store::default();
        store.put(event(""));
        assert_eq!(store.namespaces["core"].observed.networks.len(), 1);
        store.namespaces.get_mut("core").unwrap().changed = false;
        store.put(event(
            r#", "deletionTimestamp": "2026-11-22T10:00:00Z", "finalizers": ["orphan"]"#,
        ));
        assert!(store.namespaces["core"].observed.networks.is_empty());
        assert!(store.namespaces["core"].changed);
    }
}
