//! Packets of one ESP security association, each behind its length: what is counted is what came.

use std::collections::BTreeSet;

use bartizan_wire::esp::{Carrier, EspSa, header};
use bartizan_wire::{Moment, Timestamp};

use super::slices;

pub(super) fn run(bytes: &[u8]) {
    let end = "10.0.0.1:0".parse().unwrap();
    let mut sa: Option<EspSa> = None;
    let (mut sequences, mut length) = (Vec::new(), 0);
    for slice in slices(bytes) {
        let Some(header) = header(slice) else { continue };
        sequences.push(header.sequence);
        length += slice.len() as u64;
        let packet = sequences.len() as u64;
        let at = Moment {
            packet,
            time: Timestamp(packet),
        };
        sa.get_or_insert_with(|| EspSa::new(1, end, end, Carrier::Ip, header, at))
            .packet(header, slice, 0, at);
    }
    let Some(sa) = sa else { return };
    let packets = sequences.len() as u64;
    assert_eq!((sa.packets, sa.bytes), (packets, length));
    assert_eq!(sa.first_sequence, sequences[0]);
    assert!(sa.repeated + sa.late < packets);
    let distinct: BTreeSet<u32> = sequences.iter().copied().collect();
    if sa.repeated == 0 && sa.wrapped == 0 {
        assert_eq!(distinct.len(), sequences.len(), "one came twice");
    }
    if sequences.is_sorted_by(|one, next| one < next && next - one < 1 << 16) {
        let (first, last) = (sequences[0], sequences[sequences.len() - 1]);
        assert_eq!((sa.repeated, sa.late, sa.wrapped), (0, 0, 0));
        assert_eq!(sa.highest_sequence, last);
        assert_eq!(sa.missing, u64::from(last - first) + 1 - packets);
    }
    if let Some(clear) = sa.in_plaintext() {
        assert!((1..=packets).contains(&clear.packet));
    }
}
