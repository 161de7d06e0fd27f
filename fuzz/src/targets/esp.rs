//! Packets of one ESP security association: counts add up.

use bartizan_wire::esp::{Carrier, EspSa, header};
use bartizan_wire::{Moment, Timestamp};

use super::slices;

pub(super) fn run(bytes: &[u8]) {
    let end = "10.0.0.1:0".parse().unwrap();
    let mut sa: Option<EspSa> = None;
    let mut packets = 0;
    for slice in slices(bytes) {
        let Some(header) = header(slice) else { continue };
        packets += 1;
        let at = Moment {
            packet: packets,
            time: Timestamp(packets),
        };
        sa.get_or_insert_with(|| EspSa::new(1, end, end, Carrier::Ip, header, at))
            .packet(header, slice, 0, at);
    }
    if let Some(sa) = sa {
        assert_eq!(sa.packets, packets);
        assert!(sa.repeated + sa.late < packets);
    }
}
