//! What is known of each namespace, as the watches report it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use bartizan_controller::{Cause, Exception, Failure, Network, Observed, Pods, Reading};
use time::{Date, OffsetDateTime};
use tokio::time::Instant;

use super::objects::{Item, Kind, Named};
use super::watching::Change;

/// For so long a node whose Secret was just written gets no other: what is observed of it may be older.
const HELD: Duration = Duration::from_secs(60);
/// For so long a node whose certificate could not be issued is left alone; doubled with each attempt up to the second.
const AGAIN: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(600);

#[derive(Default)]
pub(super) struct Store {
    pub(super) namespaces: BTreeMap<String, Namespace>,
    /// Kinds that were listed as a whole, by scope.
    listed: BTreeSet<(Kind, Option<String>)>,
}

/// A namespace.
#[derive(Default)]
pub(super) struct Namespace {
    pub(super) observed: Observed,
    pods: BTreeMap<String, (String, bool)>,
    reading: Option<(Date, Reading)>,
    held: BTreeMap<String, Instant>,
    /// Whether it changed since its last turn, or something was left.
    pub(super) changed: bool,
    /// What was last logged of it.
    pub(super) complaint: Option<String>,
    /// How many nodes it has, of these how many are issued, as of its last turn.
    pub(super) counted: (usize, usize),
}

impl Store {
    /// Whether each kind was listed in each of these scopes.
    pub(super) fn is_whole(&self, kinds: usize, scopes: usize) -> bool {
        self.listed.len() >= kinds * scopes
    }

    pub(super) fn take(&mut self, change: Change) {
        match change {
            Change::Is(named) => self.put(*named),
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

    pub(super) fn put(&mut self, named: Named) {
        // Pods of namespaces that have nothing to do with it are not worth an entry.
        if matches!(named.item, Item::Pod(None)) {
            return self.remove(Kind::Pod, &named.namespace, &named.name);
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
                let changed = self.pods.insert(name, one.clone()) != Some(one);
                if changed {
                    self.count_pods();
                }
                (changed, false)
            }
            Item::Pod(None) => (false, false),
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
                self.count_pods();
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
            Kind::Pod => self.pods.keys().cloned().collect(),
        }
    }

    fn count_pods(&mut self) {
        let mut pods: BTreeMap<String, Pods> = BTreeMap::new();
        for (node, ready) in self.pods.values() {
            let counted = pods.entry(node.clone()).or_default();
            counted.all += 1;
            counted.ready += usize::from(*ready);
        }
        self.observed.pods = pods;
    }

    /// What it is about, with the reading that holds on this day.
    pub(super) fn read(&mut self, now: SystemTime) -> (&Observed, &Reading) {
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

    pub(super) fn hold(&mut self, node: &str) {
        self.observed.failures.remove(node);
        self.held.insert(node.to_owned(), Instant::now() + HELD);
    }

    pub(super) fn failed(&mut self, node: &str, cause: Cause, reason: String, now: SystemTime) {
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
