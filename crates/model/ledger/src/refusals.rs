//! Refusals before the peer has proven who it is: the first of each kind is a record of its own,
//! the others are counted.
//!
//! Any client that reaches a port can cause them, so neither their number nor the number of source
//! addresses may decide how much is written or remembered. Two limits bound them. The address is
//! the part of a kind that an attacker chooses, so that it is distinguished less and less the more
//! kinds there are. Lines come from a store that is refilled slowly.

use std::collections::HashMap;
use std::mem;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::prefix::{Precision, Prefix};
use crate::record::{Direction, Event, Protocol, Refusals};

/// Time for which refusals of a kind are counted before their number is written, the first time. It
/// doubles while they go on.
const FIRST_INTERVAL: Duration = Duration::from_secs(10);
/// The longest it becomes: a crash loses no more than the counts of that time.
const LONGEST_INTERVAL: Duration = Duration::from_secs(600);

/// Kinds that are distinguished by host, by site, and at all. Peers and interfaces are those of the
/// deployment, reasons a fixed list.
const KINDS_BY_HOST: usize = 128;
const KINDS_BY_SITE: usize = 192;
const KINDS: usize = 512;

/// Lines that may be written at once, and how long one more takes to be added: 8640 in a day, 3 to 6 MB.
const LINES: u32 = 256;
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Lines among them that first refusals leave for counts.
const LINES_FOR_COUNTS: u32 = 64;

/// Properties that make two refusals alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Kind {
    pub(crate) protocol: Protocol,
    pub(crate) direction: Direction,
    pub(crate) interface: String,
    pub(crate) peer: Option<String>,
    pub(crate) reason: String,
}

/// Refusals of one kind from one prefix.
#[derive(Debug)]
struct Counted {
    count: u64,
    since_us: u64,
    until_us: u64,
    interval: Duration,
    ends: Instant,
}

/// Record of a refusal: its own, or a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noted {
    /// It does: it is the first of its kind.
    Whole,
    /// It does not, and is the first of its kind that is counted.
    Begun,
    /// It does not: its kind is being counted.
    Counted,
}

/// The refusals that are being counted.
#[derive(Debug, Default)]
pub(crate) struct Counting {
    kinds: HashMap<(Kind, Prefix), Counted>,
    lines: Option<Lines>,
}

/// The lines that may be written.
#[derive(Debug)]
struct Lines {
    left: u32,
    refilled: Instant,
}

impl Lines {
    fn refill(&mut self, now: Instant) {
        let due = now.saturating_duration_since(self.refilled).as_secs() / LINE_EVERY.as_secs();
        let due = u32::try_from(due).unwrap_or(u32::MAX);
        if due > 0 {
            self.left = self.left.saturating_add(due).min(LINES);
            self.refilled = now;
        }
    }

    fn take(&mut self, now: Instant, keep: u32) -> bool {
        self.refill(now);
        let may = self.left > keep;
        self.left -= u32::from(may);
        may
    }
}

impl Counting {
    /// Takes a refusal; `at_us` is its time in a record, `room` whether there is any for a record of its own.
    pub(crate) fn note(&mut self, kind: Kind, from: IpAddr, now: Instant, at_us: u64, room: bool) -> Noted {
        let place = self.place(kind, from);
        if let Some(counted) = self.kinds.get_mut(&place) {
            if counted.count == 0 {
                counted.since_us = at_us;
            }
            counted.count += 1;
            counted.until_us = at_us;
            return Noted::Counted;
        }
        let whole = room && self.may_write(now, LINES_FOR_COUNTS);
        let counted = Counted {
            count: u64::from(!whole),
            since_us: at_us,
            until_us: at_us,
            interval: FIRST_INTERVAL,
            ends: now + FIRST_INTERVAL,
        };
        self.kinds.insert(place, counted);
        if whole { Noted::Whole } else { Noted::Begun }
    }

    /// Kind and prefix under which a refusal is counted: as precisely as there is room, and never
    /// in a new place without room.
    fn place(&self, mut kind: Kind, from: IpAddr) -> (Kind, Prefix) {
        for (precision, room) in Precision::FALLING
            .into_iter()
            .zip([KINDS_BY_HOST, KINDS_BY_SITE, KINDS])
        {
            let place = (kind, Prefix::of(from, precision));
            if self.kinds.len() < room || self.kinds.contains_key(&place) {
                return place;
            }
            kind = place.0;
        }
        kind.interface.clear();
        kind.peer = None;
        (kind, Prefix::of(from, Precision::Family))
    }

    fn may_write(&mut self, now: Instant, keep: u32) -> bool {
        let full = || Lines {
            left: LINES,
            refilled: now,
        };
        self.lines.get_or_insert_with(full).take(now, keep)
    }

    /// Time of the next write or removal.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.kinds.values().map(|counted| counted.ends).min()
    }

    /// The counts that are due; kinds of which none came any more are forgotten.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<Event> {
        let mut events = Vec::new();
        let mut kinds = mem::take(&mut self.kinds);
        kinds.retain(|place, counted| {
            if counted.ends > now {
                return true;
            }
            if counted.count == 0 {
                return false;
            }
            if !self.may_write(now, 0) {
                counted.ends = now + LINE_EVERY;
                return true;
            }
            events.push(event(place, counted));
            counted.count = 0;
            counted.interval = (counted.interval * 2).min(LONGEST_INTERVAL);
            counted.ends = now + counted.interval;
            true
        });
        self.kinds = kinds;
        events
    }

    /// All counts, at the end.
    pub(crate) fn take_all(&mut self) -> Vec<Event> {
        let kinds = mem::take(&mut self.kinds);
        let some = kinds.iter().filter(|(_, counted)| counted.count > 0);
        some.map(|(place, counted)| event(place, counted)).collect()
    }
}

fn event((kind, from): &(Kind, Prefix), counted: &Counted) -> Event {
    Event::Refusals(Box::new(Refusals {
        protocol: kind.protocol,
        interface: kind.interface.clone(),
        direction: kind.direction,
        peer: kind.peer.clone(),
        reason: kind.reason.clone(),
        from: *from,
        count: counted.count,
        since_us: counted.since_us,
        until_us: counted.until_us,
    }))
}

#[cfg(test)]
mod tests;
