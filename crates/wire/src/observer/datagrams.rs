//! Protocols over UDP beside IKE and ESP.

use std::collections::HashMap;
use std::net::SocketAddr;

use super::{Arrived, Sink, Totals, Unread};
use crate::datagrams::{self, DatagramProtocol, Datagrams as Seen};
use crate::udp::{self, Udp};

/// Pairs of ends followed; they never end. Packets of more are counted in [`Totals::untracked`].
const PAIRS: usize = 100_000;

/// A protocol, and the ends it is spoken between, the lesser first. Ports count for QUIC only.
type Pair = (DatagramProtocol, SocketAddr, SocketAddr);

#[derive(Default)]
pub(super) struct Datagrams {
    seen: HashMap<Pair, Seen>,
}

impl Datagrams {
    /// Takes a packet of UDP that is neither IKE nor ESP.
    pub(super) fn packet(&mut self, arrived: &Arrived<'_>, begun: &mut u64, totals: &mut Totals) -> Option<Unread> {
        let datagram = &arrived.datagram;
        let Some(udp) = udp::udp(datagram.payload, datagram.missing) else {
            return Some(Unread::Malformed);
        };
        let source = SocketAddr::new(datagram.source, udp.source_port);
        let destination = SocketAddr::new(datagram.destination, udp.destination_port);
        let Some(pair) = self.pair(&udp, source, destination) else {
            return Some(Unread::Udp);
        };
        if self.seen.len() >= PAIRS && !self.seen.contains_key(&pair) {
            totals.untracked += 1;
            return None;
        }
        let seen = self.seen.entry(pair).or_insert_with(|| {
            *begun += 1;
            Seen::new(*begun, pair.0, source, destination, arrived.first)
        });
        seen.datagram(source, &udp, arrived.at);
        None
    }

    /// What a datagram belongs to. QUIC's packets with a short header are told by those with a long one before them.
    fn pair(&self, udp: &Udp<'_>, source: SocketAddr, destination: SocketAddr) -> Option<Pair> {
        let pair = |protocol| {
            let [one, other] = match protocol {
                DatagramProtocol::Quic => [source, destination],
                _ => [source, destination].map(|end| SocketAddr::new(end.ip(), 0)),
            };
            (protocol, one.min(other), one.max(other))
        };
        if let Some(protocol) = datagrams::recognise(udp) {
            return Some(pair(protocol));
        }
        let quic = pair(DatagramProtocol::Quic);
        self.seen.contains_key(&quic).then_some(quic)
    }

    /// Gives all of them, in the order of first packets.
    pub(super) fn finish(&mut self, sink: &mut impl Sink) {
        let mut seen: Vec<Seen> = self.seen.drain().map(|(_, seen)| seen).collect();
        seen.sort_unstable_by_key(|seen| seen.number);
        for seen in seen {
            sink.datagrams(seen);
        }
    }
}
