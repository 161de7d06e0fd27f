use bartizan_wire::datagrams::{ETHERTYPE_ECPRI, ETHERTYPE_PTP};
use proptest::prelude::*;

use super::*;

fn of(kind: Kind, number: u64, slot: u64) -> Frame {
    Frame {
        kind,
        number,
        slot,
        symbol: (slot % 14) as u8,
        antenna: (slot % 4) as u16,
    }
}

fn written(frame: Frame, tagging: Tagging) -> Vec<u8> {
    let mut bytes = vec![0xff; 3];
    frame.write(tagging, &mut bytes);
    bytes
}

#[test]
fn the_largest_frame_has_the_published_7678_bytes() {
    // Groen et al. 2024, section 3.2.1, print that one alone; the others follow from the same headers.
    assert_eq!(Kind::Full.length(Tagging::Tagged), 7678);
    assert_eq!(Kind::Narrow.length(Tagging::Tagged), 370);
    // 42 bytes of C-plane and 58 of PTP are filled up to the least frame.
    assert_eq!(Kind::Control.length(Tagging::Tagged), 64);
    assert_eq!(Kind::Control.length(Tagging::Untagged), 60);
    assert_eq!(Kind::Sync.length(Tagging::Tagged), 60);
    assert_eq!(ECPRI, ETHERTYPE_ECPRI);
    assert_eq!(PTP, ETHERTYPE_PTP);
}

proptest! {
    #[test]
    fn every_frame_has_its_length_and_claims_its_kind_and_number(
        kind in prop::sample::select(Kind::ALL.to_vec()), number: u64, slot in 0u64..10_000_000, tagged: bool,
    ) {
        let tagging = if tagged { Tagging::Tagged } else { Tagging::Untagged };
        let frame = of(kind, if kind == Kind::Sync { number % 65_536 } else { number }, slot);
        let bytes = written(frame, tagging);
        prop_assert_eq!(bytes.len(), kind.length(tagging));
        prop_assert_eq!(Frame::claim(&bytes), Some((kind, frame.number)));
        prop_assert_eq!(plane(&bytes), Some(kind.plane()));
        // A kernel that removes the tag delivers the untagged frame, except for padding that was
        // not needed with the tag.
        if kind != Kind::Sync {
            let behind = if tagged { 18 } else { 14 };
            let size = u16::from_be_bytes([bytes[behind + 2], bytes[behind + 3]]);
            let whole = behind + 4 + usize::from(size);
            prop_assert!(whole == bytes.len() || kind == Kind::Control && whole < bytes.len());
        }
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = (Frame::claim(&bytes), plane(&bytes));
    }
}

#[test]
fn a_frame_that_is_cut_or_of_another_protocol_claims_nothing() {
    let bytes = written(of(Kind::Narrow, 7, 3), Tagging::Tagged);
    assert_eq!(Frame::claim(&bytes[..bytes.len() - 1]), None);
    assert_eq!(Frame::claim(&[0; 60]), None);
    assert_eq!(plane(&[0; 60]), None);
}

/// One frame of each kind in a capture, and who reads it.
mod read {
    use std::fs;

    use bartizan_posture::{Ledgers, datagrams_posture};
    use bartizan_testing::{Row, Tshark, numbers};
    use bartizan_wire::datagrams::Datagrams;
    use bartizan_wire::{CaptureReader, Connection, Limits, Observer};

    use super::*;

    /// A classic pcap of Ethernet.
    fn capture(frames: &[Vec<u8>]) -> Vec<u8> {
        let mut file = Vec::new();
        for word in [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1] {
            file.extend(word.to_le_bytes());
        }
        for (number, frame) in frames.iter().enumerate() {
            for word in [number as u32, 0, frame.len() as u32, frame.len() as u32] {
                file.extend(word.to_le_bytes());
            }
            file.extend(frame);
        }
        file
    }

    fn frames() -> Vec<Vec<u8>> {
        // Slot 45 is the second of subframe 2 of frame 2; its symbol is 3, its antenna 1.
        let each = Kind::ALL.map(|kind| written(of(kind, 5, 45), Tagging::Tagged));
        each.to_vec()
    }

    #[derive(Default)]
    struct Sink(Vec<String>);

    impl bartizan_wire::Sink for Sink {
        fn connection(&mut self, connection: Connection) {
            unreachable!("no TCP: {connection:?}");
        }

        fn datagrams(&mut self, datagrams: Datagrams) {
            self.0.push(
                datagrams_posture(&datagrams, &Ledgers::default())
                    .confidentiality
                    .because()
                    .to_owned(),
            );
        }
    }

    #[test]
    fn our_own_reader_names_their_planes() {
        let mut reader = CaptureReader::new();
        reader.push(&capture(&frames()));
        let (mut observer, mut sink) = (Observer::new(Limits::default()), Sink::default());
        while let Some(packet) = reader.next_packet().unwrap() {
            observer.observe(&packet, &mut sink);
        }
        observer.finish_into(&mut sink);
        assert!(observer.totals().unread.is_empty());
        sink.0.sort();
        assert_eq!(
            sink.0,
            [
                "sent unencrypted: PTP without MACsec (S-plane, event 1)",
                "sent unencrypted: eCPRI without MACsec (C-plane 1, U-plane 2)"
            ]
        );
    }

    #[test]
    fn tshark_reads_every_field_and_finds_nothing_malformed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("fronthaul.pcap");
        fs::write(&file, capture(&frames())).unwrap();
        let tshark = || {
            let widths = Tshark::new().option("-o", "oran_fh_cus.oran.iq_bitwidth_up:9");
            widths.option("-o", "oran_fh_cus.oran.iq_bitwidth_down:9")
        };
        assert!(
            tshark()
                .rows(
                    &file,
                    "_ws.malformed || _ws.expert.severity >= 0x600000",
                    &["frame.number"]
                )
                .is_empty()
        );
        let one = |row: &Row, field: &str| numbers(&row[field]);
        let all = |filter: &str, fields: &[&str]| tshark().rows(&file, filter, fields);
        let common = [
            "frame.len",
            "vlan.id",
            "ecpri.type",
            "ecpri.size",
            "oran_fh_cus.frameId",
            "oran_fh_cus.subframe_id",
            "oran_fh_cus.slotId",
            "oran_fh_cus.startSymbolId",
            "oran_fh_cus.symbolId",
        ];
        let control = &all(
            "ecpri.type == 2",
            &[&common[..], &["oran_fh_cus.sectionType", "oran_fh_cus.numSymbol"]].concat(),
        )[0];
        let user = all(
            "ecpri.type == 0",
            &[&common[..], &["oran_fh_cus.numPrbu", "oran_fh_cus.exponent"]].concat(),
        );
        assert_eq!(user.len(), 2);
        for (row, length) in [(control, 64), (&user[0], 370), (&user[1], 7678)] {
            assert_eq!(one(row, "frame.len"), [length]);
            assert_eq!(one(row, "vlan.id"), [2]);
            let size = if length == 64 { 20 } else { length - 22 };
            assert_eq!(one(row, "ecpri.size"), [size]);
            assert_eq!(one(row, "oran_fh_cus.frameId"), [2]);
            assert_eq!(one(row, "oran_fh_cus.subframe_id"), [2]);
            assert_eq!(one(row, "oran_fh_cus.slotId"), [1]);
            // Under a name of its own where it begins nothing.
            let symbol = if length == 64 { "startSymbolId" } else { "symbolId" };
            assert_eq!(one(row, &format!("oran_fh_cus.{symbol}")), [3]);
        }
        assert_eq!(one(control, "oran_fh_cus.sectionType"), [1]);
        assert_eq!(one(control, "oran_fh_cus.numSymbol"), [14]);
        // Each block has its exponent, where a block of 9 bits begins: 28 bytes behind the one before.
        for (row, blocks) in user.iter().zip([NARROW_PRBS, PRBS]) {
            let expected: Vec<u64> = (0..blocks as u64).map(|block| block % 16).collect();
            assert_eq!(one(row, "oran_fh_cus.exponent"), expected);
        }
        let sync = &all(
            "ptp",
            &[
                "frame.len",
                "ptp.v2.messagetype",
                "ptp.v2.domainnumber",
                "ptp.v2.sequenceid",
            ],
        )[0];
        assert_eq!(one(sync, "frame.len"), [60]);
        assert_eq!(one(sync, "ptp.v2.messagetype"), [0]);
        assert_eq!(one(sync, "ptp.v2.domainnumber"), [24]);
        assert_eq!(one(sync, "ptp.v2.sequenceid"), [5]);
    }
}
