//! The report from the evidence of parts is, in bytes, that of the whole: over captures of the
//! tree, mixed, damaged and cut anywhere.

#[path = "evidence/bulk.rs"]
mod bulk;

use std::fs;
use std::path::Path;

use bartizan_inspect::evidence::{Begin, End, Item, Joint, Manifest, Reader, Reducer, Source, Writer, is_counted};
use bartizan_inspect::text::{self, Colour};
use bartizan_inspect::{ByLedgers, Detail, Judging, MEMORY, Report, Shares, json};
use bartizan_posture::Ledgers;
use bartizan_wire::link::LinkType;
use bartizan_wire::{Before, CaptureReader, Limits, Observer, Packet, Timestamp};
use proptest::prelude::*;

const CAPTURES: [&[u8]; 17] = [
    include_bytes!("../../wire/tests/data/dtls-1.2-in-sctp.pcap"),
    include_bytes!("../../wire/tests/data/dtls.pcap"),
    include_bytes!("../../wire/tests/data/dtls13.pcap"),
    include_bytes!("../../wire/tests/data/e2-flexric-kpm.pcap"),
    include_bytes!("../../wire/tests/data/eap.pcap"),
    include_bytes!("../../wire/tests/data/macsec.pcap"),
    include_bytes!("../../wire/tests/data/n2-free5gc-two-registrations.pcap"),
    include_bytes!("../../wire/tests/data/openssh-10.0.pcap"),
    include_bytes!("../../wire/tests/data/openssl-3.5.7.pcap"),
    include_bytes!("../../wire/tests/data/proxies.pcap"),
    include_bytes!("../../wire/tests/data/quic.pcap"),
    include_bytes!("../../wire/tests/data/quic-keys.pcap"),
    include_bytes!("../../wire/tests/data/sbi-free5gc-two-registrations.pcap"),
    include_bytes!("../../wire/tests/data/sidecar-hybrid.pcap"),
    include_bytes!("../../wire/tests/data/starttls.pcap"),
    include_bytes!("../../wire/tests/data/strongswan-6.1.0.pcap"),
    include_bytes!("../../wire/tests/data/tcp-fast-open.pcap"),
];

/// Captures of single kinds of evidence and of fault: nonces used twice, MACsec and MKA, DNS and its
/// like, refused handshakes.
fn others() -> Vec<(String, Vec<u8>)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let of_wire = here.join("../../../wire/tests/data");
    let read = |folder: &Path| {
        fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect::<Vec<_>>()
    };
    let paths = [read(&here), read(&of_wire)].concat().into_iter();
    let captures = paths.filter(|path| path.extension().is_some_and(|ending| ending == "pcap"));
    captures
        .map(|path| (path.display().to_string(), fs::read(&path).unwrap()))
        .collect()
}

/// A packet that does not borrow.
#[derive(Debug, Clone)]
pub(crate) struct Owned {
    pub(crate) time: u64,
    pub(crate) link: LinkType,
    pub(crate) data: Vec<u8>,
    pub(crate) original_length: u32,
}

impl Owned {
    fn numbered(&self, number: usize) -> Packet<'_> {
        Packet {
            number: number as u64,
            time: Timestamp(self.time),
            link: self.link,
            data: &self.data,
            original_length: self.original_length,
            interface: 0,
        }
    }
}

pub(crate) fn packets(file: &[u8]) -> Vec<Owned> {
    let mut reader = CaptureReader::new();
    reader.push(file);
    let mut packets = Vec::new();
    while let Ok(Some(packet)) = reader.next_packet() {
        packets.push(Owned {
            time: packet.time.0,
            link: packet.link,
            data: packet.data.to_vec(),
            original_length: packet.original_length,
        });
    }
    packets
}

/// The report of what is given, as JSON and as text.
fn report(give: impl FnOnce(&mut Observer, &mut Judging<'_>) -> Result<(), u64>) -> Result<[String; 2], u64> {
    let ledgers = Ledgers::default();
    let mut report = Report::new("capture", Detail::Each, Shares::of(MEMORY, Detail::Each));
    let mut observer = Observer::new(Shares::of(MEMORY, Detail::Each).limits);
    let mut judging = Judging::new(&ledgers, &mut report);
    give(&mut observer, &mut judging)?;
    observer.finish_into(&mut judging);
    judging.finish();
    report.finish(observer.totals().clone(), 0, ByLedgers::of(&ledgers), None, None);
    let text = text::render(&report, None, Detail::Each, Colour::No, 200);
    Ok([json::render(&[report]).unwrap(), text])
}

fn whole(packets: &[Owned]) -> [String; 2] {
    let whole = report(|observer, judging| {
        for (packet, number) in packets.iter().zip(1..) {
            observer.observe(&packet.numbered(number), judging);
        }
        Ok(())
    });
    whole.unwrap()
}

/// The evidence of each part, and how many bytes its holes have.
fn parts(packets: &[Owned], cuts: &[usize], keep: bool) -> (Vec<Vec<u8>>, usize) {
    let mut ends = cuts.to_vec();
    ends.push(packets.len());
    let source = Source {
        name: "capture".to_owned(),
        bytes: packets.len() as u64,
        packed: false,
    };
    let (mut from, mut left_out) = (0, 0);
    let write = |(to, part): (&usize, u32)| {
        let manifest = Manifest {
            program: "bartizan".to_owned(),
            part,
            parts: ends.len() as u32,
            whole: keep,
            files: vec![source.clone()],
        };
        let mut writer = Writer::new(Vec::new(), &manifest).unwrap();
        let begin = Begin {
            file: 0,
            from: from as u64,
            to: *to as u64,
            packets: from as u64,
            sha256: from.to_string(),
        };
        writer.begin(&begin).unwrap();
        let before = if from == 0 { Before::All } else { Before::Some };
        let mut reducer = Reducer::new(Limits::default(), before);
        for (packet, number) in packets[from..*to].iter().zip(from + 1..) {
            let packet = packet.numbered(number);
            let holes = if keep { &[] } else { reducer.holes(&packet) };
            left_out += holes.iter().map(|hole| hole.place.len()).sum::<usize>();
            writer.packet(&packet, holes).unwrap();
        }
        from = *to;
        let end = End {
            packets: from as u64,
            sha256: from.to_string(),
            dropped: 0,
            damage: None,
            file_sha256: None,
        };
        writer.end(&end).unwrap();
        writer.finish().unwrap()
    };
    let parts = ends.iter().zip(1..).map(write).collect();
    (parts, left_out)
}

/// The report from evidence; the number of the packet of which too much was left out, if there is one.
fn merged(parts: &[Vec<u8>]) -> Result<[String; 2], u64> {
    report(|observer, judging| {
        let mut joint = Joint::default();
        for part in parts {
            let (mut reader, manifest) = Reader::new(&part[..]).unwrap();
            while let Some(item) = reader.next_item().unwrap() {
                match item {
                    Item::Begin(begin) => joint.begin(begin, 0).unwrap(),
                    Item::Packet(packet, holes) => {
                        if !is_counted(observer, &packet, holes) {
                            return Err(packet.number);
                        }
                        observer.observe(&packet, judging);
                    }
                    Item::End(end) => {
                        joint.end(end, manifest.files[0].bytes).unwrap();
                    }
                }
            }
        }
        Ok(())
    })
}

fn cuts(packets: usize) -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..=packets, 0..12).prop_map(|mut cuts| {
        cuts.sort_unstable();
        cuts
    })
}

/// Packets of some captures, one after the other or in turns, with some lost, repeated, swapped and cut short.
fn mixed() -> impl Strategy<Value = Vec<Owned>> {
    let picked = prop::collection::vec(0..CAPTURES.len(), 1..4);
    (
        picked,
        any::<bool>(),
        prop::collection::vec((0u8..6, any::<prop::sample::Index>()), 0..8),
    )
        .prop_map(|(picked, in_turns, changes)| {
            let mut all: Vec<(usize, Owned)> = Vec::new();
            for capture in picked {
                let places = if in_turns { 0..usize::MAX } else { all.len()..usize::MAX };
                all.extend(places.zip(packets(CAPTURES[capture])));
            }
            all.sort_by_key(|(place, _)| *place);
            let mut all: Vec<Owned> = all.into_iter().map(|(_, packet)| packet).collect();
            for (change, at) in changes {
                let at = at.index(all.len());
                match change {
                    0 => {
                        all.remove(at);
                    }
                    1 => all.insert(at, all[at].clone()),
                    2 => all.swap(at, at / 2),
                    3 => {
                        let kept = all[at].data.len() / 2;
                        all[at].data.truncate(kept);
                    }
                    4 => {
                        // The packet that comes again is not the one that came.
                        let mut other = all[at].clone();
                        other.data.iter_mut().skip(100).for_each(|byte| *byte ^= 0x55);
                        all.insert((at + 5).min(all.len()), other);
                    }
                    _ => {
                        let packet = all.remove(at);
                        all.insert((at + 3).min(all.len()), packet);
                    }
                }
                if all.is_empty() {
                    return packets(CAPTURES[0]);
                }
            }
            all
        })
}

#[test]
fn every_capture_in_any_number_of_parts_gives_the_report_of_the_whole() {
    let mut left_out = 0;
    for capture in CAPTURES {
        let packets = packets(capture);
        let whole = whole(&packets);
        for count in 1..=12 {
            let cuts: Vec<usize> = (1..count).map(|part| packets.len() * part / count).collect();
            let (parts, bytes) = parts(&packets, &cuts, false);
            left_out += bytes;
            assert!(
                merged(&parts) == Ok(whole.clone()),
                "{} packets in {count} parts",
                packets.len()
            );
        }
    }
    assert!(left_out > 10_000, "{left_out}");
}

/// A merge that is refused is right ([the rule](../../../../docs/decisions/035-parts-refuse-rather-than-differ.md)); one that differs
/// is not. Each packet comes again with another byte too: as a copy that the network changed, or as
/// another packet under its nonce, in the part of the first or in the next one.
#[test]
fn merges_of_each_kind_of_evidence_are_the_report_of_the_whole() {
    let (mut merges, mut refused) = (0, Vec::new());
    for (name, capture) in others() {
        let once = packets(&capture);
        let again = |at: usize| {
            let mut twice = once.clone();
            for mut packet in once.iter().filter(|packet| packet.data.len() > at).cloned() {
                let length = packet.data.len();
                packet.data[length - 1 - at] ^= 0x55;
                twice.push(packet);
            }
            twice
        };
        for packets in [once.clone(), again(0), again(70)] {
            let whole = whole(&packets);
            for count in [1, 2, 3, 7] {
                let cuts: Vec<usize> = (1..count).map(|part| packets.len() * part / count).collect();
                merges += 1;
                match merged(&parts(&packets, &cuts, false).0) {
                    Ok(merged) => assert!(merged == whole, "{name} of {} packets in {count} parts", packets.len()),
                    Err(_) => refused.push(format!("{name} of {} packets in {count} parts", packets.len())),
                }
            }
        }
    }
    assert!(
        merges > 500 && refused.len() * 20 < merges,
        "{} of {merges}: {refused:#?}",
        refused.len()
    );
}

#[test]
fn the_middle_of_esp_is_left_out_in_every_part() {
    // As many bytes of random as of a message, sealed.
    let mut noise = 7_u32;
    let mut random = |length: usize| -> Vec<u8> {
        let next = |_| {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (noise >> 24) as u8
        };
        (0..length).map(next).collect()
    };
    let mut esp = packets(CAPTURES[15]);
    let first = esp.last().unwrap().clone();
    for sequence in 1..200_u32 {
        let mut data = vec![2; 12];
        data.extend([
            8, 0, 0x45, 0, 0x04, 0x4c, 0, 0, 0, 0, 64, 50, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2,
        ]);
        data.extend([0, 0, 0x10, 1]);
        data.extend(sequence.to_be_bytes());
        data.extend(random(1072));
        esp.push(Owned {
            link: LinkType::ETHERNET,
            original_length: data.len() as u32,
            data,
            ..first
        });
    }
    let whole = whole(&esp);
    assert!(whole[0].contains("10.9.0.2"));
    let (parts, left_out) = parts(&esp, &[esp.len() - 150, esp.len() - 50], false);
    assert!(left_out > 199 * 900, "{left_out}");
    assert!(merged(&parts) == Ok(whole));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn whole_packets_in_parts_give_the_report_of_the_whole(
        (packets, cuts) in mixed().prop_flat_map(|packets| { let cuts = cuts(packets.len()); (Just(packets), cuts) }),
    ) {
        let (parts, _) = parts(&packets, &cuts, true);
        prop_assert!(merged(&parts) == Ok(whole(&packets)));
    }

    #[test]
    fn packets_with_holes_give_the_report_of_the_whole_or_none(
        (packets, cuts) in mixed().prop_flat_map(|packets| { let cuts = cuts(packets.len()); (Just(packets), cuts) }),
    ) {
        let (parts, _) = parts(&packets, &cuts, false);
        if let Ok(merged) = merged(&parts) {
            prop_assert!(merged == whole(&packets));
        }
    }

    #[test]
    fn long_connections_are_left_out_and_give_the_report_of_the_whole(
        (packets, cuts) in bulk::packets().prop_flat_map(|packets| { let cuts = cuts(packets.len()); (Just(packets), cuts) }),
    ) {
        let (parts, _) = parts(&packets, &cuts, false);
        prop_assert!(merged(&parts) == Ok(whole(&packets)));
    }
}

#[test]
fn most_of_a_long_connection_is_left_out() {
    let packets = bulk::long(3000, &[]);
    let bytes: usize = packets.iter().map(|packet| packet.data.len()).sum();
    let (one, left_out) = parts(&packets, &[], false);
    assert!(left_out * 100 > bytes * 85, "{left_out} of {bytes}");
    assert!(one[0].len() * 8 < bytes, "{} of {bytes}", one[0].len());
}

#[test]
fn evidence_that_is_cut_or_changed_anywhere_never_panics() {
    let packets = packets(CAPTURES[5]);
    let (parts, _) = parts(&packets[..20], &[], false);
    let read = |bytes: &[u8]| {
        let Ok((mut reader, _)) = Reader::new(bytes) else {
            return;
        };
        while let Ok(Some(_)) = reader.next_item() {}
    };
    for at in 0..parts[0].len() {
        read(&parts[0][..at]);
        for change in [0, 0x80, 0xff] {
            let mut other = parts[0].clone();
            other[at] ^= change;
            read(&other);
        }
    }
}
