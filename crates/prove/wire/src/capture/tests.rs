use proptest::prelude::*;

use super::*;

/// A pcap file header and records, in either byte order.
fn pcap(order: Order, magic: u32, link: u32, records: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let word = |value: u32| match order {
        Order::Little => value.to_le_bytes(),
        Order::Big => value.to_be_bytes(),
    };
    let mut file = word(magic).to_vec();
    file.extend(match order {
        Order::Little => [2, 0, 4, 0],
        Order::Big => [0, 2, 0, 4],
    });
    for value in [0, 0, 262_144, link] {
        file.extend(word(value));
    }
    for (seconds, fraction, data) in records {
        let length = u32::try_from(data.len()).unwrap();
        for value in [*seconds, *fraction, length, length + 4] {
            file.extend(word(value));
        }
        file.extend(*data);
    }
    file
}

/// Builds pcapng blocks in either byte order.
struct Blocks(Order, Vec<u8>);

impl Blocks {
    fn new(order: Order) -> Self {
        let mut blocks = Self(order, Vec::new());
        blocks.section();
        blocks
    }

    fn word(&self, value: u32) -> [u8; 4] {
        match self.0 {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        }
    }

    fn half(&self, value: u16) -> [u8; 2] {
        match self.0 {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        }
    }

    fn block(&mut self, kind: u32, body: &[u8]) {
        let length = self.word(u32::try_from(body.len()).unwrap().next_multiple_of(4) + 12);
        let kind = self.word(kind);
        self.1.extend(kind);
        self.1.extend(length);
        self.1.extend(body);
        self.1.resize(self.1.len().next_multiple_of(4), 0);
        self.1.extend(length);
    }

    fn section(&mut self) {
        let mut body = self.word(0x1a2b_3c4d).to_vec();
        body.extend(self.half(1));
        body.extend(self.half(0));
        body.extend([0xff; 8]);
        self.block(0x0a0d_0d0a, &body);
    }

    fn interface(&mut self, link: u16, snap_length: u32, options: &[(u16, &[u8])]) {
        let mut body = self.half(link).to_vec();
        body.extend([0, 0]);
        body.extend(self.word(snap_length));
        for (code, value) in options {
            body.extend(self.half(*code));
            body.extend(self.half(u16::try_from(value.len()).unwrap()));
            body.extend(*value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        self.block(1, &body);
    }

    fn enhanced(&mut self, interface: u32, ticks: u64, data: &[u8]) {
        let length = u32::try_from(data.len()).unwrap();
        let mut body = Vec::new();
        for value in [interface, (ticks >> 32) as u32, ticks as u32, length, length] {
            body.extend(self.word(value));
        }
        body.extend(data);
        self.block(6, &body);
    }
}

type Owned = (u64, u64, u16, Vec<u8>, u32);

/// Everything a file gives when it comes in pieces of these sizes, over and over.
fn read(file: &[u8], sizes: &[usize]) -> (Vec<Owned>, Result<(), CaptureError>) {
    let mut reader = CaptureReader::new();
    let mut packets = Vec::new();
    let mut rest = file;
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, left) = rest.split_at((*size).clamp(1, rest.len()));
        rest = left;
        reader.push(piece);
        loop {
            match reader.next_packet() {
                Ok(None) => break,
                Ok(Some(packet)) => packets.push((
                    packet.number,
                    packet.time.0,
                    packet.link.0,
                    packet.data.to_vec(),
                    packet.original_length,
                )),
                Err(error) => return (packets, Err(error)),
            }
        }
    }
    (packets, reader.finish())
}

#[test]
fn pcap_is_read_in_both_byte_orders_and_both_resolutions() {
    for order in [Order::Little, Order::Big] {
        for (magic, nanoseconds) in [(0xa1b2_c3d4, 5_000_000_789_000), (0xa1b2_3c4d, 5_000_000_000_789)] {
            let file = pcap(order, magic, 113, &[(5000, 789, b"one"), (5001, 0, b"")]);
            let (packets, end) = read(&file, &[usize::MAX]);
            assert_eq!(end, Ok(()));
            assert_eq!(packets[0], (1, nanoseconds, 113, b"one".to_vec(), 7));
            assert_eq!(packets[1].3, b"");
        }
    }
}

#[test]
fn the_upper_half_of_the_link_type_word_is_not_part_of_it() {
    let file = pcap(Order::Little, 0xa1b2_c3d4, 0x1400_0001, &[(0, 0, b"x")]);
    assert_eq!(read(&file, &[64]).0[0].2, 1);
}

#[test]
fn pcapng_is_read_in_both_byte_orders_with_the_clock_of_each_interface() {
    for order in [Order::Little, Order::Big] {
        let mut blocks = Blocks::new(order);
        blocks.interface(1, 0, &[]);
        blocks.interface(101, 0, &[(9, &[9]), (0, &[])]);
        blocks.interface(113, 0, &[(9, &[0x80 | 10])]);
        let offset = match order {
            Order::Little => 1_000_i64.to_le_bytes(),
            Order::Big => 1_000_i64.to_be_bytes(),
        };
        blocks.interface(276, 0, &[(14, &offset)]);
        blocks.block(0x0bad, b"an unknown block");
        for interface in 0..4 {
            blocks.enhanced(interface, 3 << 10, b"data!");
        }
        let (packets, end) = read(&blocks.1, &[usize::MAX]);
        assert_eq!(end, Ok(()));
        let seen: Vec<_> = packets.iter().map(|packet| (packet.2, packet.1)).collect();
        assert_eq!(
            seen,
            [
                (1, 3_072_000),
                (101, 3072),
                (113, 3_000_000_000),
                (276, 1_000_003_072_000)
            ]
        );
        assert!(packets.iter().all(|packet| packet.3 == b"data!"));
    }
}

#[test]
fn a_new_section_forgets_the_interfaces_of_the_last() {
    let mut blocks = Blocks::new(Order::Little);
    blocks.interface(1, 0, &[]);
    blocks.enhanced(0, 1, b"first");
    blocks.section();
    let offset = blocks.1.len() as u64;
    blocks.enhanced(0, 1, b"second");
    let (packets, end) = read(&blocks.1, &[usize::MAX]);
    assert_eq!(packets.len(), 1);
    assert_eq!(
        end,
        Err(CaptureError::Damaged {
            offset,
            what: "a packet of an interface that was not described".into()
        })
    );
}

/// `mergecap` of many files makes such a section.
#[test]
fn a_section_of_ten_thousand_interfaces_is_read() {
    let mut blocks = Blocks::new(Order::Little);
    for _ in 0..10_000 {
        blocks.interface(1, 0, &[]);
    }
    blocks.enhanced(9_999, 1, b"last");
    let (packets, end) = read(&blocks.1, &[usize::MAX]);
    assert_eq!(end, Ok(()));
    assert_eq!(packets.len(), 1);
}

#[test]
fn simple_and_obsolete_packet_blocks_are_read() {
    let mut blocks = Blocks::new(Order::Little);
    blocks.interface(1, 3, &[]);
    blocks.block(3, &[&5u32.to_le_bytes()[..], b"abc"].concat());
    let mut body = vec![0, 0, 0, 0];
    for value in [0u32, 7, 2, 9] {
        body.extend(value.to_le_bytes());
    }
    body.extend(b"xy");
    blocks.block(2, &body);
    let (packets, end) = read(&blocks.1, &[usize::MAX]);
    assert_eq!(end, Ok(()));
    assert_eq!(packets[0], (1, 0, 1, b"abc".to_vec(), 5));
    assert_eq!(packets[1], (2, 7000, 1, b"xy".to_vec(), 9));
}

#[test]
fn a_packet_without_a_time_has_that_of_the_packet_before() {
    let mut blocks = Blocks::new(Order::Little);
    blocks.interface(1, 0, &[]);
    blocks.enhanced(0, 7, b"timed");
    blocks.block(3, &[&3u32.to_le_bytes()[..], b"abc"].concat());
    let (packets, end) = read(&blocks.1, &[usize::MAX]);
    assert_eq!(end, Ok(()));
    assert_eq!([packets[0].1, packets[1].1], [7000; 2]);
}

#[test]
fn packets_dropped_at_capture_are_reported_from_the_newest_statistics() {
    let mut blocks = Blocks::new(Order::Little);
    blocks.interface(1, 0, &[]);
    for dropped in [3u64, 11] {
        let mut body = vec![0; 12];
        body.extend([5, 0, 8, 0]);
        body.extend(dropped.to_le_bytes());
        blocks.block(5, &body);
    }
    let mut reader = CaptureReader::new();
    reader.push(&blocks.1);
    assert_eq!(reader.next_packet(), Ok(None));
    assert_eq!(reader.dropped_at_capture(), 11);
}

#[test]
fn a_cut_file_keeps_its_good_packets_and_says_where_it_is_cut() {
    let file = pcap(Order::Little, 0xa1b2_c3d4, 1, &[(0, 0, b"first"), (0, 0, b"second")]);
    let (packets, end) = read(&file[..file.len() - 1], &[7]);
    assert_eq!(packets.len(), 1);
    let end = end.unwrap_err();
    assert_eq!(
        end,
        CaptureError::Cut {
            offset: 24 + 16 + 5,
            end: file.len() as u64 - 1
        }
    );
    assert_eq!(
        end.to_string(),
        "cut at byte 66: what begins at byte 45 is not complete"
    );
}

#[test]
fn a_record_of_absurd_length_is_damage_and_reserves_nothing() {
    let mut file = pcap(Order::Little, 0xa1b2_c3d4, 1, &[(0, 0, b"good"), (0, 0, b"bad")]);
    let at = 24 + 16 + 4;
    file[at + 8..at + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    let (packets, end) = read(&file, &[usize::MAX]);
    assert_eq!(packets.len(), 1);
    assert_eq!(
        end,
        Err(CaptureError::Damaged {
            offset: at as u64,
            what: "a record claims 4294967295 bytes".into()
        })
    );
}

#[test]
fn pcapng_blocks_that_contradict_themselves_are_damage() {
    for (name, change) in [
        ("length below a block's frame", (4, 8u8)),
        ("length not a multiple of four", (4, 29)),
        ("second length another", (24, 32)),
    ] {
        let mut file = Blocks::new(Order::Little).1;
        file[change.0] = change.1;
        file.extend([0; 64]);
        assert!(
            matches!(read(&file, &[usize::MAX]).1, Err(CaptureError::Damaged { .. })),
            "{name}"
        );
    }
}

#[test]
fn what_is_no_capture_is_recognised_by_its_first_bytes() {
    let error = |bytes: &[u8]| read(bytes, &[usize::MAX]).1.unwrap_err();
    assert_eq!(error(b""), CaptureError::Empty);
    assert_eq!(
        error(b"%PDF-1.7").to_string(),
        "neither pcap nor pcapng: it begins with 25 50 44 46"
    );
    assert_eq!(error(&[0x1f, 0x8b, 8, 0, 0]), CaptureError::Compressed { with: "gzip" });
    assert_eq!(
        error(&[0x28, 0xb5, 0x2f, 0xfd]),
        CaptureError::Compressed { with: "zstd" }
    );
    assert!(matches!(
        error(&[0x34, 0xcd, 0xb2, 0xa1]),
        CaptureError::Unsupported { .. }
    ));
    assert_eq!(error(&[0xd4, 0xc3]), CaptureError::Cut { offset: 0, end: 2 });
}

#[test]
fn an_error_is_given_again_and_not_passed_over() {
    let mut reader = CaptureReader::new();
    reader.push(b"no capture");
    let first = reader.next_packet().unwrap_err();
    reader.push(&pcap(Order::Little, 0xa1b2_c3d4, 1, &[(0, 0, b"x")]));
    assert_eq!(reader.next_packet().unwrap_err(), first);
    assert_eq!(reader.finish().unwrap_err(), first);
}

/// A file that begins as a capture does and goes on with anything.
fn damaged_capture() -> impl Strategy<Value = Vec<u8>> {
    let beginnings = prop_oneof![
        Just(Vec::new()),
        Just(pcap(Order::Little, 0xa1b2_c3d4, 1, &[(1, 2, b"packet")])),
        Just(pcap(Order::Big, 0xa1b2_3c4d, 1, &[(1, 2, b"packet")])),
        Just({
            let mut blocks = Blocks::new(Order::Big);
            blocks.interface(1, 0, &[(9, &[127]), (14, &[0x7f; 8])]);
            blocks.enhanced(0, u64::MAX, b"packet");
            blocks.1
        }),
    ];
    (
        beginnings,
        prop::collection::vec(any::<u8>(), 0..200),
        any::<prop::sample::Index>(),
        any::<u8>(),
    )
        .prop_map(|(mut file, tail, place, value)| {
            file.extend(tail);
            if !file.is_empty() {
                let place = place.index(file.len());
                file[place] ^= value;
            }
            file
        })
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic_and_pieces_give_what_the_whole_gives(
        file in damaged_capture(),
        sizes in prop::collection::vec(1usize..40, 1..8),
    ) {
        let (whole, whole_end) = read(&file, &[usize::MAX]);
        let (pieces, end) = read(&file, &sizes);
        prop_assert_eq!(whole, pieces);
        prop_assert_eq!(whole_end, end);
    }

    #[test]
    fn every_packet_written_is_read(
        records in prop::collection::vec((any::<u32>(), 0u32..1_000_000, prop::collection::vec(any::<u8>(), 0..64)), 0..8),
        big in any::<bool>(),
        sizes in prop::collection::vec(1usize..100, 1..8),
    ) {
        let order = if big { Order::Big } else { Order::Little };
        let borrowed: Vec<_> = records.iter().map(|(s, f, data)| (*s, *f, data.as_slice())).collect();
        let (packets, end) = read(&pcap(order, 0xa1b2_c3d4, 1, &borrowed), &sizes);
        prop_assert_eq!(end, Ok(()));
        prop_assert_eq!(packets.len(), records.len());
        for (packet, (seconds, fraction, data)) in packets.iter().zip(&records) {
            prop_assert_eq!(packet.1, u64::from(*seconds) * 1_000_000_000 + u64::from(*fraction) * 1000);
            prop_assert_eq!(&packet.3, data);
        }
    }
}

#[test]
fn a_capture_says_who_made_it_where_and_by_which_filter() {
    let mut file = Blocks::new(Order::Big);
    let zone = file.word(7200);
    let filter = [&[0][..], b"tcp\x1b[2J or sctp"].concat();
    file.interface(
        1,
        0,
        &[(2, b"ens1f0"), (11, &filter[..]), (12, b"Linux 6.12"), (10, &zone)],
    );
    file.interface(1, 0, &[(11, &[1, 0, 0]), (99, b"x")]);
    let mut reader = CaptureReader::new();
    reader.push(&file.1);
    assert_eq!(reader.next_packet(), Ok(None));
    let about: Vec<_> = reader.about().collect();
    assert_eq!(
        about,
        ["captured at interface ens1f0, filter tcp[2J or sctp, on Linux 6.12, time zone +7200 s from UTC"]
    );
}
