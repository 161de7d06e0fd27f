//! SSH in SCTP user messages: what a program sends over a one-to-one socket as over TCP, its bytes
//! in the order of TSNs.

use std::collections::BTreeMap;

use super::Data;
use crate::allocation::allocated;
use crate::ssh::{Session, Ssh};
use crate::{Moment, Side};

/// First bytes of SSH (RFC 4253, section 4.2).
const BEGINS: &[u8] = b"SSH-";
/// Chunks that wait for an earlier one, and bytes of them: a key exchange takes ten of either end.
const EARLY: usize = 64;
const BYTES: usize = 64 << 10;

/// Looks at the user messages of both directions; holds nothing as long as they are no SSH.
#[derive(Clone, Default)]
pub(super) struct Reader(Option<Box<Reading>>);

#[derive(Clone)]
struct Reading {
    session: Session,
    orders: [Order; 2],
    /// The direction of the client; the end that began the association, until what is said shows it.
    client: usize,
    /// There are messages of something else.
    mixed: bool,
}

/// Chunks of one direction on their way into order.
#[derive(Clone, Default)]
struct Order {
    /// Stream and payload protocol of the first: all of SSH has the same.
    lane: Option<(u16, Option<u32>)>,
    /// The TSN that is next.
    next: Option<u32>,
    early: BTreeMap<u32, (Vec<u8>, Moment)>,
    bytes: usize,
    /// Chunks are missing.
    broken: bool,
}

impl Reader {
    /// Takes a DATA chunk that is new; `begins_at` is the first TSN of its direction.
    pub(super) fn chunk(&mut self, data: &Data<'_>, from: usize, begins_at: Option<u32>, at: Moment) {
        if self.0.is_none() && data.begins && data.payload.starts_with(BEGINS) {
            self.0 = Some(Box::new(Reading {
                session: Session::new(),
                orders: Default::default(),
                client: 0,
                mixed: false,
            }));
        }
        if let Some(reading) = &mut self.0 {
            reading.chunk(data, from, begins_at, at);
        }
    }

    /// Bytes it holds on the heap, about.
    pub(super) fn held(&self) -> usize {
        self.0.as_ref().map_or(0, |reading| {
            let early = |order: &Order| order.bytes + order.early.len() * (size_of::<(u32, (Vec<u8>, Moment))>() + 24);
            allocated(size_of::<Reading>()) + reading.session.held() + reading.orders.iter().map(early).sum::<usize>()
        })
    }

    /// The SSH connection; none if nothing was SSH, or not all of it.
    pub(super) fn outcome(self) -> Option<Box<Ssh>> {
        let mut reading = *self.0?;
        for from in 0..2 {
            if let Some((_, at)) = reading.orders[from].early.values().next() {
                let (at, side) = (*at, reading.side(from));
                reading.session.gap(side, at);
            }
        }
        (!reading.mixed).then(|| Box::new(reading.session.outcome()))
    }
}

impl Reading {
    fn side(&self, from: usize) -> Side {
        if from == self.client {
            Side::Client
        } else {
            Side::Server
        }
    }

    fn chunk(&mut self, data: &Data<'_>, from: usize, begins_at: Option<u32>, at: Moment) {
        let settled = self.session.is_settled();
        let order = &mut self.orders[from];
        // I-DATA names the protocol of a message in its first part only.
        let protocol = data.payload_protocol.or(order.lane.and_then(|(_, protocol)| protocol));
        if *order.lane.get_or_insert((data.stream, protocol)) != (data.stream, protocol) {
            self.mixed = true;
        }
        if order.broken || self.mixed {
            order.early.clear();
            order.bytes = 0;
            return;
        }
        // Behind the new keys of both ends bytes are counted, and their order says nothing.
        if settled {
            return self.take(from, data.payload, at);
        }
        let next = *order.next.get_or_insert(begins_at.unwrap_or(data.tsn));
        if data.missing > 0 || order.early.len() == EARLY || order.bytes + data.payload.len() > BYTES {
            return self.lose(from, at);
        }
        if data.tsn != next {
            // One behind it is new to the association, and older than what was read of it.
            if next.wrapping_sub(data.tsn) < 1 << 31 {
                return self.lose(from, at);
            }
            order.bytes += data.payload.len();
            order.early.insert(data.tsn, (data.payload.to_vec(), at));
            return;
        }
        order.next = Some(next.wrapping_add(1));
        self.take(from, data.payload, at);
        while let Some(next) = self.orders[from].next
            && let Some((bytes, at)) = self.orders[from].early.remove(&next)
        {
            let order = &mut self.orders[from];
            order.bytes -= bytes.len();
            order.next = Some(next.wrapping_add(1));
            self.take(from, &bytes, at);
        }
    }

    fn take(&mut self, from: usize, bytes: &[u8], at: Moment) {
        let side = self.side(from);
        if self.session.data(side, bytes, at) {
            self.client = 1 - self.client;
        }
    }

    fn lose(&mut self, from: usize, at: Moment) {
        let order = &mut self.orders[from];
        order.broken = true;
        order.early.clear();
        order.bytes = 0;
        let side = self.side(from);
        self.session.gap(side, at);
    }
}
