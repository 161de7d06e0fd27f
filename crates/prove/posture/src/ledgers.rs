//! Ledgers, looked up by what packets show.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bartizan_ledger::{Bytes, Certificate, Event, Handshake, Key, Prefix, Record, Refusals};
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::IkeSa;

use crate::Source;
use crate::alike::Alike;
use crate::by_address::ByAddress;
use crate::recorded::Recorded;

/// A ledger's word on one handshake.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    node: Arc<str>,
    pub(crate) at_us: u64,
    pub(crate) bytes: Bytes,
    /// Without its key, addresses, bytes and times: shared by handshakes that are alike.
    pub(crate) handshake: Arc<Handshake>,
}

impl Entry {
    pub(crate) fn source(&self) -> Source {
        Source::Ledger {
            node: Arc::clone(&self.node),
            at_us: self.at_us,
        }
    }

    pub(crate) fn node(&self) -> &str {
        &self.node
    }
}

/// The handshakes of any number of ledgers, by client random, and by addresses for connections without one; IKE_SAs and CHILD_SAs by SPIs. Both ends of a link may have written one each.
#[derive(Debug, Default)]
pub struct Ledgers {
    by_client_random: HashMap<[u8; 32], Vec<Entry>>,
    by_address: ByAddress,
    alike: Alike,
    recorded: Recorded,
    refusals: BTreeMap<Counted, u64>,
    lost: u64,
}

/// Common properties of the refusals that a ledger counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counted {
    /// The node whose ledger counts them.
    pub node: String,
    /// The stable word of the refusal.
    pub reason: String,
    /// The node at the other end, where it is known.
    pub peer: Option<String>,
    /// Network of its end of the connections.
    pub from: Prefix,
}

/// Kinds of counted refusals that are distinguished; those beyond are counted with all of their node and reason.
const KINDS: usize = 10_000;

impl Ledgers {
    /// Certificates of both ends in all handshakes.
    pub fn certificates(&self) -> impl Iterator<Item = &Certificate> {
        let entries = self.by_client_random.values().flatten();
        entries.flat_map(|entry| entry.handshake.chain.iter().chain(&entry.handshake.local_chain))
    }

    /// Adds a record; one that tells of no handshake with a key is not kept.
    pub fn add(&mut self, record: Record) {
        match record.event {
            Event::Handshake(handshake) => {
                let Some(Key::Tls { client_random }) = handshake.key else {
                    return;
                };
                self.by_address.add(client_random.0, &handshake);
                let entries = self.by_client_random.entry(client_random.0);
                let entries = entries.or_insert_with(|| Vec::with_capacity(1));
                // Two ends write two records; the same file given twice must not grow the list.
                let known = entries.iter().any(|entry| {
                    *entry.node == *record.node
                        && entry.at_us == record.at_us
                        && entry.handshake.direction == handshake.direction
                });
                if !known {
                    entries.push(Entry {
                        node: self.alike.node(&record.node),
                        at_us: record.at_us,
                        bytes: handshake.bytes,
                        handshake: self.alike.handshake(*handshake),
                    });
                }
            }
            Event::Lost(lost) => self.add_lost(lost.records),
            Event::Closed(closed) => {
                let node = self.alike.node(&record.node);
                self.by_address.close(&closed, node, record.at_us);
            }
            Event::IkeSa(sa) => self.recorded.add_ike(sa, &record.node, record.at_us),
            Event::ChildSa(sa) => self.recorded.add_child(sa, &record.node, record.at_us),
            Event::Refusals(refusals) => self.add_refusals(&refusals, record.node),
            Event::SaClosed(closed) => self.recorded.close(&closed, record.at_us),
            Event::SaRefused(_)
            | Event::MacsecKey(_)
            | Event::MacsecOutlived(_)
            | Event::MacsecRefused(_)
            | Event::MacsecNotRekeyed(_)
            | Event::Association(_) => {}
        }
    }

    fn add_refusals(&mut self, refusals: &Refusals, node: String) {
        let mut kind = Counted {
            node,
            reason: refusals.reason.clone(),
            peer: refusals.peer.clone(),
            from: refusals.from,
        };
        if self.refusals.len() >= KINDS && !self.refusals.contains_key(&kind) {
            (kind.peer, kind.from) = (None, refusals.from.family());
        }
        let count = self.refusals.entry(kind).or_default();
        *count = count.saturating_add(refusals.count);
    }

    /// Refusals before the peer had proven who it is, which ledgers counted instead of recording each, with their number.
    pub fn refusals(&self) -> impl Iterator<Item = (&Counted, u64)> {
        self.refusals.iter().map(|(kind, count)| (kind, *count))
    }

    /// Forgets handshakes recorded before `since_us` (microseconds since 1970), unless `wanted` says that a connection with
    /// this client random lives. What is known of IKE_SAs stays.
    pub fn forget_handshakes(&mut self, since_us: u64, wanted: impl Fn(&[u8; 32]) -> bool) {
        self.by_client_random
            .retain(|random, entries| entries.iter().any(|entry| entry.at_us >= since_us) || wanted(random));
        self.by_address
            .retain(|random| self.by_client_random.contains_key(random));
        self.alike.forget();
    }

    /// Number of handshakes and IKE_SAs that can be looked up.
    pub fn handshakes(&self) -> usize {
        self.by_client_random.len() + self.recorded.ike_sas()
    }

    /// Records of an IKE_SA, by its SPIs.
    pub fn of_ike(&self, sa: &IkeSa) -> impl Iterator<Item = (Source, &bartizan_ledger::IkeSa)> {
        self.recorded.of_ike(sa)
    }

    /// Record of the CHILD_SA that an ESP security association is one direction of; none if its SPI
    /// matches several.
    pub fn of_esp(&self, sa: &EspSa) -> Option<(Source, &bartizan_ledger::ChildSa)> {
        self.recorded.of_esp(sa)
    }

    pub(crate) fn by_address(&self) -> &ByAddress {
        &self.by_address
    }

    pub(crate) fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    /// Counts records of which nothing is known: each may be the one that contradicts another.
    pub fn add_lost(&mut self, records: u64) {
        self.lost = self.lost.saturating_add(records);
    }

    /// Records that the ledgers say they could not write, and those that cannot be read.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    pub(crate) fn of(&self, client_random: &[u8; 32]) -> &[Entry] {
        self.by_client_random.get(client_random).map_or(&[], Vec::as_slice)
    }
}
