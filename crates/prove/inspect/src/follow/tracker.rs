//! Reported state of a source, compared with its present state.

use std::collections::{BTreeMap, BTreeSet};

use bartizan_posture::{Carrier, Concern, Judgement, Link, Listing, Verdict};
use bartizan_wire::path::Path;
use bartizan_wire::{Timestamp, Totals};
use serde_json::json;

use super::event::{self, Event, LinkName};
use super::view::{Occurring, View};
use crate::findings::{NOTHING_SEEN, beyond_memory, limits, name};
use crate::remedy::{MEMORY, NOTHING, OTHERS, Place, Remedy, Severity, WHOLE, remedy};

/// Links remembered. More are counted, and said.
const LINKS: usize = 100_000;

/// Identity of a link over time: its ends in the order of their names, the interface, the service
/// and the carrier of an unnamed link, and what their packets are carried in where no deployment
/// file lists them.
pub(super) type Identity = ([String; 2], Option<&'static str>, Option<u16>, BTreeSet<Carrier>, Path);

/// Reported state of a link.
#[derive(Debug)]
struct Reported {
    name: LinkName,
    carriers: BTreeSet<Carrier>,
    confidentiality: Verdict,
    authenticity: Verdict,
    /// True if it was ever shown to be safe from a recorder.
    was_safe: bool,
    /// Findings that stand, with their reasons.
    findings: BTreeMap<Concern, String>,
    /// The last packet within a window.
    last: Timestamp,
}

/// Remembers what was reported of a source.
#[derive(Debug, Default)]
pub struct Tracker {
    source: String,
    links: BTreeMap<Identity, Reported>,
    occurrences: BTreeSet<Occurring>,
    /// Findings that stand for the source as a whole.
    whole: BTreeSet<String>,
    untracked: u64,
    /// Links that were one too many.
    beyond: u64,
    /// Interfaces of the deployment file that carried something.
    listed: BTreeSet<usize>,
    /// True once a link carried something.
    carried: bool,
}

impl Tracker {
    /// Tracker of a source with this name of which nothing was reported yet.
    pub fn new(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            ..Self::default()
        }
    }

    /// Events since the last view. `newest` is the source's last packet; a link without packets
    /// since `forget` is let go. At the end, `lost` has the packets that the capture lost and the
    /// records that ledgers lost: then they are findings, as those of a file.
    pub fn compare(
        &mut self,
        view: &View,
        totals: &Totals,
        newest: Timestamp,
        forget: Timestamp,
        lost: Option<[u64; 2]>,
    ) -> Vec<Event> {
        let mut events = Vec::new();
        let seen: BTreeMap<Identity, &Link> = view
            .network
            .links
            .iter()
            .filter(|link| link.carried() && !matches!(link.listing, Listing::Within(_)))
            .map(|link| (identity(link), link))
            .collect();
        self.carried |= !seen.is_empty();
        for (identity, link) in &seen {
            if let Listing::Listed(place) = link.listing {
                self.listed.insert(place);
            }
            let known = self.links.len();
            match self.links.get_mut(identity) {
                Some(reported) => reported.changed(link, &mut events),
                None if known >= LINKS => self.beyond += 1,
                None => {
                    self.links.insert(identity.clone(), Reported::new(link, &mut events));
                }
            }
        }
        self.superseded(&seen, &mut events);
        self.forgotten(forget, &seen, &mut events);
        self.occurred(view, &mut events);
        self.whole(view, totals, lost.unwrap_or_default(), &mut events);
        if lost.is_some() && !self.carried {
            self.stands(NOTHING_SEEN, NOTHING_SEEN, &NOTHING, &mut events);
        }
        for event in &mut events {
            event.source = Some(self.source.clone());
            event.packet_ns = (newest.0 > 0).then_some(newest.0);
        }
        events
    }

    /// Links that are not seen any more because more is known of what they were.
    fn superseded(&mut self, seen: &BTreeMap<Identity, &Link>, events: &mut Vec<Event>) {
        // Links between the same ends stand side by side.
        let named = |(ends, interface, _, _, path): &Identity, reported: &Reported| {
            let first = (ends.clone(), None, None, BTreeSet::new(), Path::NONE);
            let between = seen.range(first..).take_while(|(other, _)| other.0 == *ends);
            let mut named = between.filter(|((_, name, _, _, other), link)| {
                name.is_some()
                    && name != interface
                    && (other == path || link.paths.contains(path))
                    && !link.carriers.is_disjoint(&reported.carriers)
                    // It is as new as what it is named after: another link between the same ends is older or goes on.
                    && link.last.time >= reported.last
            });
            named.next().and_then(|((_, name, ..), _)| *name)
        };
        let gone = self.links.iter().filter(|(identity, reported)| {
            !seen.contains_key(*identity) && !reported.is_named() && named(identity, reported).is_some()
        });
        let gone: Vec<Identity> = gone.map(|(identity, _)| identity.clone()).collect();
        for identity in gone {
            if let Some(reported) = self.links.remove(&identity) {
                let name = named(&identity, &reported);
                let because = format!("now known to be {}", name.unwrap_or("-"));
                let mut event = Event::new("link-named", because.clone()).with("interface", name);
                event.link = Some(reported.name.clone());
                events.push(event);
                reported.clear_all(&because, events);
            }
        }
    }

    fn forgotten(&mut self, forget: Timestamp, seen: &BTreeMap<Identity, &Link>, events: &mut Vec<Event>) {
        let gone = self.links.extract_if(.., |identity, reported| {
            reported.last < forget && !seen.contains_key(identity)
        });
        for (_, reported) in gone {
            let mut event = Event::new("link-gone", "no packets for so long that it is let go");
            event.link = Some(reported.name.clone());
            events.push(event);
            reported.clear_all("the link is gone", events);
        }
    }

    /// Contradictions and holes above the transport stand while a part that shows them is within the window.
    fn occurred(&mut self, view: &View, events: &mut Vec<Event>) {
        for (key, occurrence) in &view.occurrences {
            if self.occurrences.insert(key.clone()) {
                let event = occurring(key, Some(&occurrence.remedy));
                events.push(event.with("sources", event::sources(&occurrence.sources)));
            }
        }
        let gone = self
            .occurrences
            .extract_if(.., |key| !view.occurrences.contains_key(key));
        events.extend(gone.map(|key| occurring(&key, None)));
    }

    /// Reports what of the source as a whole cannot be said to be safe.
    fn whole(&mut self, view: &View, totals: &Totals, lost: [u64; 2], events: &mut Vec<Event>) {
        for &unread in totals.unread.keys().filter(|unread| !unread.is_housekeeping()) {
            let what = name(unread);
            let because = format!("{what}: not read, so nothing is said of it");
            self.stands(&what, &because, &WHOLE, events);
        }
        for (count, _, because, remedy) in limits(totals, lost) {
            if count > 0 {
                self.stands(because, because, &remedy, events);
            }
        }
        if totals.untracked > self.untracked {
            let packets = totals.untracked - self.untracked;
            self.untracked = totals.untracked;
            let words =
                format!("{packets} packets beyond what memory has room for (`--memory`): nothing is said of them");
            events.push(Event::new("ceiling", words).with("packets", packets));
        }
        for omission in beyond_memory(totals, &view.network) {
            self.stands(omission.what, &omission.because(), &MEMORY, events);
        }
        if self.beyond > 0 {
            let because = format!("links beyond the {LINKS} that are distinguished");
            self.stands("links", &because, &OTHERS, events);
        }
    }

    fn stands(&mut self, what: &str, because: &str, remedy: &Remedy, events: &mut Vec<Event>) {
        if self.whole.insert(what.to_owned()) {
            events.push(found_with(Concern::Unproven, because, remedy));
        }
    }

    /// Interfaces of the deployment file that carried something at any time.
    pub fn listed(&self) -> &BTreeSet<usize> {
        &self.listed
    }

    /// Findings that stand, by concern.
    pub fn open_findings(&self) -> BTreeMap<Concern, u64> {
        let mut open_findings = BTreeMap::new();
        let of_links = self
            .links
            .values()
            .flat_map(|reported| reported.findings.keys().copied());
        let occurring = self.occurrences.iter().map(|(concern, ..)| *concern);
        let whole = self.whole.iter().map(|_| Concern::Unproven);
        for concern in of_links.chain(occurring).chain(whole) {
            *open_findings.entry(concern).or_default() += 1;
        }
        open_findings
    }

    /// Returns true if a link was reported, and not let go since.
    pub(super) fn has(&self, identity: &Identity) -> bool {
        self.links.contains_key(identity)
    }

    /// The links reported, each with both verdicts.
    pub fn links(&self) -> impl Iterator<Item = (&LinkName, Verdict, Verdict)> {
        self.links
            .values()
            .map(|reported| (&reported.name, reported.confidentiality, reported.authenticity))
    }
}

pub(super) fn identity(link: &Link) -> Identity {
    let name = LinkName::of(link);
    let mut ends = name.ends;
    ends.sort();
    let carriers = if name.interface.is_none() {
        link.carriers.clone()
    } else {
        BTreeSet::new()
    };
    let path = event::path(link).cloned().unwrap_or_default();
    (ends, name.interface, name.service, carriers, path)
}

fn occurring((concern, [asks, answers], path, because): &Occurring, remedy: Option<&Remedy>) -> Event {
    let mut event = match remedy {
        Some(remedy) => found_with(*concern, because, remedy),
        None => cleared(*concern, because),
    };
    event.link = Some(LinkName {
        ends: [asks.to_string(), answers.to_string()],
        interface: None,
        service: None,
        path: (!path.is_empty()).then(|| path.to_string()),
    });
    event
}

/// A finding that stands from now on, with the remedy for all kinds of links.
#[must_use]
pub fn found(concern: Concern, because: &str) -> Event {
    found_with(concern, because, &remedy(concern, Place::default()))
}

/// A finding that does not stand any more.
#[must_use]
pub fn cleared(concern: Concern, because: &str) -> Event {
    let words = format!("cleared: {}: {because}", concern.name());
    of_concern(concern, "cleared", words, because)
}

fn found_with(concern: Concern, because: &str, remedy: &Remedy) -> Event {
    let words = format!("new: {}: {because}; remedy: {}", concern.name(), remedy.what);
    of_concern(concern, "new", words, because)
        .with("remedy", remedy.what)
        .with("changes", json!(remedy.changes))
        .with("command", remedy.command)
        .with("about", json!(remedy.subject))
        .with("frameworks", json!(remedy.asked()))
}

fn of_concern(concern: Concern, state: &'static str, words: String, because: &str) -> Event {
    Event::new(event::name(concern), words)
        .with("state", state)
        .with("severity", Severity::of(concern).name())
        .with("concern", concern.name())
        .with("because", because)
}

impl Reported {
    /// Reports a link that was not seen before.
    fn new(link: &Link, events: &mut Vec<Event>) -> Self {
        let mut reported = Self {
            name: LinkName::of(link),
            carriers: link.carriers.clone(),
            confidentiality: link.confidentiality.verdict(),
            authenticity: link.authenticity.verdict(),
            was_safe: false,
            findings: BTreeMap::new(),
            last: link.last.time,
        };
        let words = format!(
            "{}, key exchange {}: confidentiality {} ({}), authenticity {} ({})",
            link.by_kind
                .keys()
                .map(|kind| kind.name())
                .collect::<Vec<_>>()
                .join(", "),
            key_exchanges(link),
            reported.confidentiality.name(),
            link.confidentiality.because(),
            reported.authenticity.name(),
            link.authenticity.because(),
        );
        events.push(reported.event(Event::new("link-seen", words), link));
        reported.judge(link, events);
        reported
    }

    /// Reports what has changed.
    fn changed(&mut self, link: &Link, events: &mut Vec<Event>) {
        let [confidentiality, authenticity] = [&link.confidentiality, &link.authenticity].map(Judgement::verdict);
        if (confidentiality, authenticity) != (self.confidentiality, self.authenticity) {
            let mut words = Vec::new();
            for (what, before, after) in [
                ("confidentiality", self.confidentiality, &link.confidentiality),
                ("authenticity", self.authenticity, &link.authenticity),
            ] {
                if before != after.verdict() {
                    let after_name = after.verdict().name();
                    words.push(format!(
                        "{what} {} -> {after_name} ({})",
                        before.name(),
                        after.because()
                    ));
                }
            }
            let verdicts = |confidentiality: Verdict, authenticity: Verdict| serde_json::json!({ "confidentiality": confidentiality.name(), "authenticity": authenticity.name() });
            let event = Event::new("verdict-changed", words.join("; "))
                .with("from", verdicts(self.confidentiality, self.authenticity))
                .with("to", verdicts(confidentiality, authenticity));
            (self.confidentiality, self.authenticity) = (confidentiality, authenticity);
            events.push(self.event(event, link));
        }
        self.last = link.last.time;
        self.carriers.extend(&link.carriers);
        self.judge(link, events);
    }

    /// Reports objections that were not reported before, and those that are gone.
    fn judge(&mut self, link: &Link, events: &mut Vec<Event>) {
        let mut found: BTreeMap<Concern, (String, Vec<String>)> = BTreeMap::new();
        for objection in &link.objections {
            let sources = event::sources(&objection.sources);
            found
                .entry(objection.concern)
                .or_insert((objection.because.clone(), sources));
        }
        // The window may have left the safe part behind.
        if self.was_safe
            && let Some((because, sources)) = [Concern::ReadableNow, Concern::Confidentiality]
                .iter()
                .find_map(|concern| found.get(concern))
                .cloned()
        {
            let because = format!("quantum-safe before, then {because}");
            found.entry(Concern::Downgrade).or_insert((because, sources));
        }
        self.was_safe |= self.confidentiality == Verdict::QuantumSafe || found.contains_key(&Concern::Downgrade);
        for (&concern, (because, sources)) in &found {
            if !self.findings.contains_key(&concern) {
                let remedy = remedy(concern, Place::of_link(link, concern));
                let event = found_with(concern, because, &remedy).with("sources", sources.clone());
                events.push(self.event(event, link));
            }
        }
        for (&concern, because) in &self.findings {
            if !found.contains_key(&concern) {
                events.push(self.event(cleared(concern, because), link));
            }
        }
        self.findings = found
            .into_iter()
            .map(|(concern, (because, _))| (concern, because))
            .collect();
    }

    /// With the link and its state.
    fn event(&self, event: Event, link: &Link) -> Event {
        let mut event = event
            .with("confidentiality", event::judgement(&link.confidentiality))
            .with("authenticity", event::judgement(&link.authenticity))
            .with("key_exchange", key_exchanges(link));
        event.link = Some(self.name.clone());
        event
    }

    fn clear_all(&self, because: &str, events: &mut Vec<Event>) {
        for &concern in self.findings.keys() {
            let mut event = cleared(concern, because);
            event.link = Some(self.name.clone());
            events.push(event);
        }
    }

    fn is_named(&self) -> bool {
        self.name.interface.is_some_and(|name| name != "GTP-U")
    }
}

pub(super) fn key_exchanges(link: &Link) -> String {
    let groups = link.groups.iter().map(ToString::to_string);
    let methods = link.methods.iter().map(ToString::to_string);
    let all: Vec<String> = groups.chain(methods).collect();
    if all.is_empty() { "-".to_owned() } else { all.join(", ") }
}
