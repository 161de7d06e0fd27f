//! What the fuzz targets share.

use bartizan_posture::{Evidence, Ipsec, Ledgers, association_posture};
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::IkeSa;
use bartizan_wire::link::LinkType;
use bartizan_wire::sctp::Association;
use bartizan_wire::{Connection, Packet, Sink, Timestamp};

/// Judges all that an observer gives.
#[derive(Default)]
pub struct Everything {
    ipsec: Ipsec,
    judged: u64,
}

impl Everything {
    /// How many links were judged.
    pub fn judge(self) -> u64 {
        let (ike, esp) = self.ipsec.judge();
        self.judged + (ike.len() + esp.len()) as u64
    }
}

impl Sink for Everything {
    fn connection(&mut self, connection: Connection) {
        let _ = Evidence::new(&connection, &Ledgers::default()).posture();
        self.judged += 1;
    }

    fn association(&mut self, association: Association) {
        let _ = association_posture(&association);
        self.judged += 1;
    }

    fn ike_sa(&mut self, sa: IkeSa) {
        self.ipsec.add_ike(sa);
    }

    fn esp_sa(&mut self, sa: EspSa) {
        self.ipsec.add_esp(sa);
    }
}

/// Pieces of the input, each behind its length in two bytes.
pub fn slices(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first_chunk::<2>()?;
        let (slice, rest) = rest.split_at(usize::from(u16::from_be_bytes(*length)).min(rest.len()));
        bytes = rest;
        Some(slice)
    })
}

/// Each piece as a packet, a millisecond after the one before.
pub fn packets(bytes: &[u8], link: LinkType, mut give: impl FnMut(&Packet<'_>)) {
    for (number, data) in slices(bytes).enumerate() {
        give(&Packet {
            number: number as u64 + 1,
            time: Timestamp(number as u64 * 1_000_000),
            link,
            data,
            original_length: data.len() as u32,
        });
    }
}
