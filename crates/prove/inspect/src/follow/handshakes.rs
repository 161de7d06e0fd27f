//! Handshakes as they complete, for an observer.

use std::collections::{HashSet, VecDeque};
use std::net::SocketAddr;

use bartizan_posture::{Kind, Part, Posture, Source, Verdict};
use bartizan_wire::Address;
use serde::Serialize;

use crate::text::short;

/// Handshakes kept between two views; of more only the number is.
const KEPT: usize = 200;

bartizan_registry::made! {
    /// A key exchange in sight: of TLS, QUIC, DTLS, EAP-TLS, SSH or IKE.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    pub struct Handshake, of(packet: u64, part: &Part<'_>, posture: &Posture) {
        /// The newest packet that shows what was negotiated.
        pub packet: u64 = packet,
        /// Beginning of the part that it belongs to: nanoseconds since 1970.
        pub began_ns: u64 = part.span()[0].time.0,
        /// The end that asks, then the one that answers: addresses, with ports where they have some.
        pub ends: [String; 2] = part.endpoints().map(end),
        /// The protocol.
        pub kind: String = short(&posture.kind.name()),
        /// Occasion: set up in full, resumed, or rekeyed.
        pub occasion: &'static str = part.occasion().name(),
        /// The key exchange, where one is known.
        pub key_exchange: Option<String> = posture.key_exchange().map(|name| short(&name)),
        /// Its safety from an attacker who records.
        pub confidentiality: &'static str = posture.confidentiality.verdict().name(),
        /// The reason.
        pub because: String = short(posture.confidentiality.because()),
        /// Its safety from an attacker who forges, by what was known when it was reported.
        pub authenticity: &'static str = posture.authenticity.verdict().name(),
    }
}

/// Handshakes that completed since the last view.
#[derive(Debug, Clone, Default)]
pub struct Handshakes {
    newest: VecDeque<Handshake>,
    total: u64,
}

impl Handshakes {
    fn add(&mut self, handshake: Handshake) {
        self.total += 1;
        if self.newest.len() == KEPT {
            self.newest.pop_front();
        }
        self.newest.push_back(handshake);
    }

    /// Their number, also of those that are not kept.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The newest of them, in the order of the packets that show them.
    pub fn into_newest(self) -> impl Iterator<Item = Handshake> {
        self.newest.into_iter()
    }
}

/// Takes handshakes that packets after a certain one show.
#[derive(Debug, Clone, Default)]
pub(super) struct Noting {
    /// The newest packet of the last view.
    seen: u64,
    /// First packets of those whose end was not in sight then: what shows them came before.
    unfinished: HashSet<u64>,
    /// The same, since then.
    still_unfinished: HashSet<u64>,
    handshakes: Handshakes,
}

impl Noting {
    /// The same point in time, with nothing taken yet.
    pub(super) fn afresh(&self) -> Self {
        Self {
            seen: self.seen,
            unfinished: self.unfinished.clone(),
            ..Self::default()
        }
    }

    /// Takes a part that lives.
    pub(super) fn living(&mut self, part: &Part<'_>, posture: &Posture) {
        let first = part.span()[0].packet;
        match shown_by(part, posture) {
            Some(packet) if (packet > self.seen || self.unfinished.contains(&first)) && !lacks_group(posture) => {
                self.handshakes.add(Handshake::of(packet, part, posture));
            }
            None if is_handshake(posture.kind) => _ = self.still_unfinished.insert(first),
            _ => {}
        }
    }

    /// Takes a part that has ended: one that was refused has no other moment, nor has one whose group did not come.
    pub(super) fn ended(&mut self, part: &Part<'_>, posture: &Posture) {
        if was_refused(posture.kind) || lacks_group(posture) {
            self.handshakes.add(Handshake::of(part.span()[1].packet, part, posture));
        } else {
            self.living(part, posture);
        }
    }

    /// All handshakes taken since the last time, here and in a view made now. Those that later
    /// packets show come next time.
    pub(super) fn take(&mut self, of_view: Self, newest_packet: u64) -> Handshakes {
        let (ended, living) = (std::mem::take(&mut self.handshakes), of_view.handshakes);
        self.seen = newest_packet;
        self.unfinished = of_view.still_unfinished;
        self.still_unfinished.clear();
        let mut newest: Vec<Handshake> = ended.newest.into_iter().chain(living.newest).collect();
        newest.sort_by_key(|handshake| handshake.packet);
        newest.drain(..newest.len().saturating_sub(KEPT));
        Handshakes {
            newest: newest.into(),
            total: ended.total + living.total,
        }
    }
}

/// The newest packet that shows what was negotiated; none of what is no handshake, or is not in sight.
fn shown_by(part: &Part<'_>, posture: &Posture) -> Option<u64> {
    // An exchange that was agreed on may still come.
    if !is_handshake(posture.kind) || posture.confidentiality.verdict() == Verdict::NotSeen {
        return None;
    }
    let [began, ended] = part.span();
    let packets = posture
        .confidentiality
        .sources()
        .iter()
        .filter_map(|source| match source {
            Source::Packets { first, last, .. } => Some((*first, *last)),
            _ => None,
        });
    let (first, last) = packets.max_by_key(|(_, last)| *last)?;
    // If all of it is the evidence, that grows on with each packet.
    let is_all = first == began.packet && last == ended.packet;
    Some(if is_all { first } else { last })
}

/// Before TLS 1.3 the group comes behind the ServerHello, or never.
fn lacks_group(posture: &Posture) -> bool {
    matches!(posture.kind, Kind::TlsLegacy(_)) && posture.group.is_none()
}

fn is_handshake(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Tls13
            | Kind::TlsLegacy(_)
            | Kind::Quic
            | Kind::Dtls(_)
            | Kind::DtlsOverSctp
            | Kind::EapTls
            | Kind::Ssh
            | Kind::SshOverSctp
            | Kind::Ike
            | Kind::IkeV1
    )
}

fn was_refused(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::TlsNotAgreed
            | Kind::QuicNotAgreed
            | Kind::DtlsNotAgreed
            | Kind::EapTlsNotAgreed
            | Kind::SshNotAgreed
            | Kind::IkeNotAgreed
    )
}

fn end((address, port): (Address, Option<u16>)) -> String {
    match (address, port) {
        (Address::Ip(ip), Some(port)) => SocketAddr::new(ip, port).to_string(),
        (address, _) => address.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(packet: u64) -> Handshake {
        Handshake {
            packet,
            began_ns: 0,
            ends: ["10.0.0.1:1".to_owned(), "10.0.0.2:443".to_owned()],
            kind: "TLS 1.3".to_owned(),
            occasion: "set up",
            key_exchange: None,
            confidentiality: "vulnerable",
            because: String::new(),
            authenticity: "not observable",
        }
    }

    #[test]
    fn of_more_handshakes_than_are_kept_the_newest_stay_and_all_are_counted() {
        let mut noting = Noting::default();
        let mut of_view = noting.afresh();
        for packet in 1..=1000 {
            let taken = if packet % 2 == 0 { &mut noting } else { &mut of_view };
            taken.handshakes.add(numbered(packet));
        }
        let all = noting.take(of_view, 1000);
        assert_eq!(all.total(), 1000);
        let newest: Vec<u64> = all.into_newest().map(|handshake| handshake.packet).collect();
        assert_eq!(newest.len(), KEPT);
        assert!(newest.is_sorted() && newest.last() == Some(&1000), "{newest:?}");
        assert_eq!(noting.take(Noting::default(), 1000).total(), 0);
    }
}
