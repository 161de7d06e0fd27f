//! Handshakes that a ledger has, looked up by the addresses and the time of a connection whose ClientHello is not in the capture.
//!
//! Addresses and ports are weak: they are used again, translated, and the same in networks that overlap. So a record is taken only where
//! it is the only one of these ends within an hour, where it tells of a handshake before what the capture shows and of no end before the
//! last packet, and where it has room for the bytes that were seen.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use bartizan_ledger::{Bytes, Closed, Direction, Handshake, Key, Verdict as PolicyVerdict};
use bartizan_wire::tls::{Protected, Tls};
use bartizan_wire::{Connection, Content, Roles, Side, Start};

use crate::evidence::CLOCKS;
use crate::ledgers::{Entry, Ledgers};

/// Microseconds by which the order of a record and of a packet may be another than their clocks say: those of one network follow
/// one time.
const ORDER: u64 = 1_000_000;
/// Bytes that an end may send besides its handshake and what it was given to send: tickets, key updates, alerts.
const OVERHEAD: u64 = 16 << 10;
/// Bytes that protection adds to each record of TLS 1.3: a content type and a tag (RFC 9846,
/// section 5.2).
const ADDED: u64 = 17;

/// The two ends of a connection: the client's, the server's.
type Ends = [SocketAddr; 2];

/// Result of a search by addresses and time.
#[derive(Clone, Copy)]
pub(crate) enum Found<'a> {
    /// No record fits, or none is needed.
    Nothing,
    /// These, of both ends of one handshake.
    One(&'a [Entry]),
    /// More handshakes than one are of these ends within an hour: it may be any.
    Several(usize),
}

/// The end of a connection, by a ledger.
#[derive(Debug)]
struct Ended {
    node: Arc<str>,
    at_us: u64,
    bytes: Bytes,
}

#[derive(Debug, Default)]
pub(crate) struct ByAddress {
    handshakes: HashMap<Ends, Vec<[u8; 32]>>,
    ended: HashMap<[u8; 32], Vec<Ended>>,
}

/// Client and server of a handshake.
fn ends(handshake: &Handshake) -> Ends {
    match handshake.direction {
        Direction::Outbound => [handshake.local_address, handshake.peer_address],
        Direction::Inbound => [handshake.peer_address, handshake.local_address],
    }
}

/// Microseconds of the first and the last packet.
fn times(connection: &Connection) -> [u64; 2] {
    [connection.first, connection.last].map(|at| at.time.0 / 1000)
}

impl ByAddress {
    pub(crate) fn add(&mut self, random: [u8; 32], handshake: &Handshake) {
        let known = self.handshakes.entry(ends(handshake));
        let known = known.or_insert_with(|| Vec::with_capacity(1));
        if !known.contains(&random) {
            known.push(random);
        }
    }

    pub(crate) fn close(&mut self, closed: &Closed, node: Arc<str>, at_us: u64) {
        let Some(Key::Tls { client_random }) = closed.key else {
            return;
        };
        let ended = self.ended.entry(client_random.0);
        let ended = ended.or_insert_with(|| Vec::with_capacity(1));
        if !ended.iter().any(|ended| ended.node == node && ended.at_us == at_us) {
            ended.push(Ended {
                node,
                at_us,
                bytes: closed.bytes,
            });
        }
    }

    /// Forgets handshakes that are not kept.
    pub(crate) fn retain(&mut self, kept: impl Fn(&[u8; 32]) -> bool) {
        self.handshakes.retain(|_, randoms| {
            randoms.retain(&kept);
            !randoms.is_empty()
        });
        self.ended.retain(|random, _| kept(random));
    }

    /// The handshake of a connection without a ClientHello.
    pub(crate) fn find<'a>(&self, connection: &Connection, ledgers: &'a Ledgers) -> Found<'a> {
        let Content::Tls(tls) = &connection.content else {
            return Found::Nothing;
        };
        // In a tunnel or a VLAN the same addresses may be of another network: a ledger does not say of which.
        let elsewhere = !connection.path.is_empty() || connection.path_back.is_some();
        if tls.client_hello.is_some() || elsewhere {
            return Found::Nothing;
        }
        let (one, other) = (connection.client, connection.server);
        // A guess at the roles yields to a record, which knows them better.
        let orders = match connection.roles {
            Roles::Port => &[[one, other], [other, one]][..],
            Roles::Syn | Roles::Content => &[[one, other]],
        };
        let [from, to] = times(connection);
        let is_near = |random: &&[u8; 32]| {
            let began = ledgers.of(random).iter().map(|entry| entry.at_us).min();
            let ended = self.ended_at(random);
            began.is_some_and(|began| began <= to.saturating_add(CLOCKS))
                && ended.is_none_or(|ended| ended.saturating_add(CLOCKS) >= from)
        };
        let randoms = orders.iter().filter_map(|ends| self.handshakes.get(ends)).flatten();
        let near: Vec<&[u8; 32]> = randoms.filter(is_near).collect();
        match near[..] {
            [] => Found::Nothing,
            [random] if self.covers(random, connection, tls, ledgers) => Found::One(ledgers.of(random)),
            [_] => Found::Nothing,
            _ => Found::Several(near.len()),
        }
    }

    /// When the first of its ends had closed it.
    fn ended_at(&self, random: &[u8; 32]) -> Option<u64> {
        let ended = self.ended.get(random)?;
        ended.iter().map(|ended| ended.at_us).min()
    }

    /// Returns true if the records of a handshake, and of its end, allow that it is this
    /// connection's.
    fn covers(&self, random: &[u8; 32], connection: &Connection, tls: &Tls, ledgers: &Ledgers) -> bool {
        let entries = ledgers.of(random);
        let [from, to] = times(connection);
        let began = |entry: &Entry| match connection.start {
            Start::Midstream => entry.at_us <= from.saturating_add(ORDER),
            Start::Syn => from <= entry.at_us.saturating_add(ORDER) && entry.at_us <= to.saturating_add(ORDER),
        };
        let stood = |entry: &Entry| {
            let refused = matches!(entry.handshake.verdict, PolicyVerdict::Refused { .. });
            entry.handshake.negotiated.is_some() && !refused
        };
        let lasted = match self.ended_at(random) {
            Some(ended) => to <= ended.saturating_add(ORDER),
            // A connection does not outlive a certificate that it was made with; and an end may be among records that were lost.
            None => ledgers.lost() == 0 && certified_until(entries).is_some_and(|until| to <= until),
        };
        lasted && entries.iter().all(|entry| began(entry) && stood(entry)) && self.has_room(random, entries, tls)
    }

    /// Returns true if no end sent more than its record counts: the capture shows a part of it.
    fn has_room(&self, random: &[u8; 32], entries: &[Entry], tls: &Tls) -> bool {
        let ended = self.ended.get(random).map_or(&[][..], Vec::as_slice);
        ended.iter().all(|ended| {
            let Some(entry) = entries.iter().find(|entry| entry.node() == &*ended.node) else {
                return true;
            };
            let bytes = &entry.bytes;
            let [sent, received] = [
                ended.bytes.sent.saturating_add(bytes.sent),
                ended.bytes.received.saturating_add(bytes.received),
            ];
            let (client, server) = match entry.handshake.direction {
                Direction::Outbound => (sent, received),
                Direction::Inbound => (received, sent),
            };
            [(Side::Client, client), (Side::Server, server)]
                .into_iter()
                .all(|(side, room)| seen(tls, side) <= room.saturating_add(OVERHEAD))
        })
    }
}

/// Bytes that an end was given to send, as far as they were seen.
fn seen(tls: &Tls, side: Side) -> u64 {
    let Protected { bytes, records, .. } = match side {
        Side::Client => tls.from_client,
        Side::Server => tls.from_server,
    };
    bytes.saturating_sub(records.saturating_mul(ADDED))
}

/// Microseconds at which the first certificate of a handshake's ends is over; none where no record has one.
fn certified_until(entries: &[Entry]) -> Option<u64> {
    let leaves = entries.iter().filter_map(|entry| entry.handshake.chain.first());
    let until = leaves.map(|leaf| u64::try_from(leaf.not_after).unwrap_or(0)).min()?;
    Some(until.saturating_mul(1_000_000))
}
