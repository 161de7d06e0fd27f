//! One function for each reader.

#[path = "../../../crates/prove/inspect/tests/rule/answered.rs"]
#[allow(dead_code, unreachable_pub)]
mod answered;
mod capture;
mod connection;
mod datagrams;
mod engine;
mod esp;
mod fragments;
mod hello;
mod http1_proxy;
mod ike;
mod inspect;
mod keys;
#[path = "../../../crates/protect/ike/tests/engine/link/mod.rs"]
#[allow(dead_code, unreachable_pub)]
mod link;
mod links;
mod packet;
mod sctp;
mod segments;
mod stream;
mod timing;

use bartizan_posture::{Evidence, Ipsec, Ledgers, association_posture, datagrams_posture};
use bartizan_wire::datagrams::Datagrams;
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::IkeSa;
use bartizan_wire::link::LinkType;
use bartizan_wire::sctp::Association;
use bartizan_wire::{Connection, Content, Packet, Sink, Timestamp};

/// A reader's target: panics where the reader does, or where what it gives contradicts itself.
pub type Target = fn(&[u8]);

/// All targets, by the names of their corpora.
pub const ALL: [(&str, Target); 25] = [
    ("capture", capture::run),
    ("packet", packet::run),
    ("timing", timing::run),
    ("segments", segments::run),
    ("fragments", fragments::run),
    ("tls", stream::tls),
    ("http2", stream::http2),
    ("http1", stream::http1),
    ("ssh", stream::ssh),
    ("proxy", stream::proxy),
    ("hello", hello::run),
    ("ike", ike::run),
    ("esp", esp::run),
    ("sctp", sctp::run),
    ("datagrams", datagrams::run),
    ("key_log", keys::key_log),
    ("ike_keys", keys::ike_keys),
    ("engine", engine::run),
    ("secrets", keys::secrets),
    ("connection", connection::run),
    ("http1_proxy", http1_proxy::run),
    ("links", links::run),
    ("inspect", inspect::capture),
    ("ledgers", inspect::ledgers),
    ("deployment", inspect::deployment),
];

/// Runs the target of this name; there is one.
pub fn run(name: &str, bytes: &[u8]) {
    let target = ALL.iter().find(|(known, _)| *known == name);
    target.unwrap_or_else(|| panic!("no target is called {name}")).1(bytes);
}

pub use connection::messages_of_http2;
pub use engine::replaced_by_engine;
pub use http1_proxy::messages_of_http1;
pub use keys::{opened_by_ike_keys, opened_by_secrets};

/// Judges all that an observer gives.
#[derive(Default)]
struct Everything {
    ipsec: Ipsec,
    judged: u64,
    /// Packets of the capture that belong to what was given.
    captured: u64,
    /// Records of TLS that keys opened.
    opened: u64,
}

impl Everything {
    /// Number of conversations judged.
    fn judge(self) -> u64 {
        let (ike, esp) = self.ipsec.judge(&Ledgers::default());
        self.judged + (ike.len() + esp.len()) as u64
    }
}

impl Sink for Everything {
    fn connection(&mut self, connection: Connection) {
        self.captured += connection.captured.packets;
        let _ = Evidence::new(&connection, &Ledgers::default()).posture();
        self.judged += 1;
        if let Content::Tls(tls) = &connection.content {
            let opened = tls.opened.iter().flat_map(|opened| opened.records);
            self.opened += opened.sum::<u64>();
        }
    }

    fn datagrams(&mut self, datagrams: Datagrams) {
        let _ = datagrams_posture(&datagrams, &Ledgers::default());
        self.captured += datagrams.captured.packets;
    }

    fn association(&mut self, association: Association) {
        self.captured += association.captured.packets;
        let _ = association_posture(&association);
        self.judged += 1;
    }

    fn ike_sa(&mut self, sa: IkeSa) {
        self.captured += sa.captured.packets;
        self.ipsec.add_ike(sa);
    }

    fn esp_sa(&mut self, sa: EspSa) {
        self.captured += sa.captured.packets;
        self.ipsec.add_esp(sa);
    }
}

/// Pieces of the input, each behind its length in two bytes.
fn slices(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first_chunk::<2>()?;
        let (slice, rest) = rest.split_at(usize::from(u16::from_be_bytes(*length)).min(rest.len()));
        bytes = rest;
        Some(slice)
    })
}

/// Each piece as a packet, a millisecond after the one before.
fn packets(bytes: &[u8], link: LinkType, mut give: impl FnMut(&Packet<'_>)) {
    for (number, data) in slices(bytes).enumerate() {
        give(&Packet {
            number: number as u64 + 1,
            time: Timestamp(number as u64 * 1_000_000),
            link,
            data,
            original_length: data.len() as u32,
            interface: 0,
        });
    }
}
