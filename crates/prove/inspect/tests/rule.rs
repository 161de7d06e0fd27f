//! The rule: every packet is read, or belongs to a conversation that is unproven by name, or is of
//! a short list that needs no judgement; and losing, repeating, reordering, truncating,
//! contradicting or wrapping packets never turns a finding into exit 0 and makes no verdict better.
//! Over all captures of the tree, with ledgers and a deployment file next to them.

#[path = "rule/answered.rs"]
#[allow(dead_code, reason = "fuzz targets use the rest of it")]
pub(crate) mod answered;
#[path = "../../wire/tests/encapsulate/mod.rs"]
#[allow(dead_code)]
mod encapsulate;
#[path = "rule/hidden.rs"]
mod hidden;
#[path = "rule/lies.rs"]
mod lies;
#[path = "../../posture/tests/towards_classical/mod.rs"]
#[allow(dead_code, unused_imports)]
mod towards_classical;

use answered::{Answered, Known};
use bartizan_posture::Concern;
use encapsulate::{ALL, Around};
use towards_classical::Change;
use towards_classical::damage::{Chance, SNAP, doubled, overlapping, swapped};
use towards_classical::frame::{Capture, Frame, Packet};

const CAPTURES: [(&str, &[u8]); 13] = [
    ("openssl", include_bytes!("../../wire/tests/data/openssl-3.5.7.pcap")),
    ("sidecar", SIDECAR),
    (
        "strongswan",
        include_bytes!("../../wire/tests/data/strongswan-6.1.0.pcap"),
    ),
    ("openssh", include_bytes!("../../wire/tests/data/openssh-10.0.pcap")),
    ("e2", include_bytes!("../../wire/tests/data/e2-flexric-kpm.pcap")),
    ("dtls", include_bytes!("../../wire/tests/data/dtls-1.2-in-sctp.pcap")),
    (
        "n2",
        include_bytes!("../../wire/tests/data/n2-free5gc-two-registrations.pcap"),
    ),
    ("fast open", include_bytes!("../../wire/tests/data/tcp-fast-open.pcap")),
    ("dtls 1.3", include_bytes!("../../wire/tests/data/dtls13.pcap")),
    ("starttls", include_bytes!("../../wire/tests/data/starttls.pcap")),
    ("proxies", include_bytes!("../../wire/tests/data/proxies.pcap")),
    ("eap", include_bytes!("../../wire/tests/data/eap.pcap")),
    ("macsec", include_bytes!("../../wire/tests/data/macsec.pcap")),
];
const SIDECAR: &[u8] = include_bytes!("../../wire/tests/data/sidecar-hybrid.pcap");
/// The largest, and alike throughout: its first packets are enough.
const SBI: &[u8] = include_bytes!("../../wire/tests/data/sbi-free5gc-two-registrations.pcap");
const SBI_PACKETS: usize = 120;

/// Times that each kind of damage is done, by another seed each.
const ROUNDS: u64 = 6;
/// Number of packets of which one is damaged.
const ONE_OF: [usize; 3] = [3, 10, 40];

/// Knowledge besides the packets: none; ledgers of both ends; a deployment file.
fn all() -> Vec<(String, Capture, Known)> {
    let mut all = Vec::new();
    for (name, file) in CAPTURES {
        all.push((name.to_owned(), Capture::read(file), Known::nothing()));
    }
    let sbi = Capture::read(SBI);
    let packets = sbi.packets[..SBI_PACKETS].to_vec();
    all.push(("sbi".to_owned(), sbi.with(packets), Known::nothing()));
    for (what, known) in [("ledgers", Known::ledgers()), ("deployment", Known::deployment())] {
        all.push((format!("sidecar with {what}"), Capture::read(SIDECAR), known));
    }
    all
}

/// Judges each capture as it is, then as `damage` leaves it; `damage` names what it did.
fn assert_rule(mut damage: impl FnMut(&Capture, u64) -> Vec<(String, Vec<Packet>)>) {
    for (name, capture, known) in all() {
        let before = Answered::of(&capture.file(), &known);
        before.assert_accounted(&name);
        for seed in 0..ROUNDS {
            for (what, packets) in damage(&capture, seed) {
                let what = format!("{name}, {what}, seed {seed}");
                let after = Answered::of(&capture.with(packets).file(), &known);
                after.assert_accounted(&what);
                after.assert_no_better(&before, &what);
            }
        }
    }
}

fn one_of(seed: u64) -> usize {
    ONE_OF[seed as usize % ONE_OF.len()]
}

#[test]
fn packets_lost_take_no_finding_and_make_nothing_better() {
    assert_rule(|capture, seed| {
        let mut chance = Chance::new(seed ^ 0x5eed);
        let mut some = capture.packets.clone();
        some.retain(|_| chance.below(one_of(seed)) > 0);
        let begin = chance.below(capture.packets.len());
        let behind = capture.packets[begin..].to_vec();
        let end = chance.below(capture.packets.len());
        let before = capture.packets[..end].to_vec();
        // A capture of one direction, as a tap or a switch with one port mirrored gives it.
        let way = |up: bool| {
            let is = |packet: &&Packet| {
                let ends = Frame::read(&packet.bytes).ends;
                ends.is_none_or(|(source, destination)| (source < destination) == up)
            };
            capture.packets.iter().filter(is).cloned().collect::<Vec<_>>()
        };
        vec![
            (format!("one of {} lost", one_of(seed)), some),
            (format!("begun at {begin}"), behind),
            (format!("ended at {end}"), before),
            ("one way".to_owned(), way(true)),
            ("the other way".to_owned(), way(false)),
        ]
    });
}

#[test]
fn a_single_packet_lost_takes_no_finding_and_makes_nothing_better() {
    for (name, capture, known) in all() {
        let before = Answered::of(&capture.file(), &known);
        // A few of each capture, by a step that shares no factor with most lengths: others in each.
        let step = (capture.packets.len() / 24).max(1) | 1;
        for lost in (0..capture.packets.len()).step_by(step) {
            let mut packets = capture.packets.clone();
            packets.remove(lost);
            let after = Answered::of(&capture.with(packets).file(), &known);
            after.assert_no_better(&before, &format!("{name}, packet {} lost", lost + 1));
        }
    }
}

#[test]
fn packets_repeated_or_reordered_take_no_finding_and_make_nothing_better() {
    assert_rule(|capture, seed| {
        let mut chance = Chance::new(seed ^ 0x0d0d);
        let mut late = capture.packets.clone();
        for _ in 0..1 + capture.packets.len() / one_of(seed) / 4 {
            let from = chance.below(late.len());
            let to = (from + chance.below(8)).min(late.len() - 1);
            let packet = late.remove(from);
            late.insert(to, packet);
        }
        let twice = [capture.packets.clone(), capture.packets.clone()].concat();
        vec![
            ("swapped".to_owned(), swapped(capture, &mut chance, one_of(seed))),
            ("doubled".to_owned(), doubled(capture, &mut chance, one_of(seed))),
            (
                "overlapping".to_owned(),
                overlapping(capture, &mut chance, one_of(seed)),
            ),
            ("late".to_owned(), late),
            ("all of it twice".to_owned(), twice),
        ]
    });
}

#[test]
fn packets_truncated_take_no_finding_and_make_nothing_better() {
    assert_rule(|capture, seed| {
        let mut chance = Chance::new(seed ^ 0x7c7c);
        let length = SNAP[(seed as usize * 3) % SNAP.len()];
        let all = capture.packets.iter().map(|packet| packet.snapped(length)).collect();
        let mut some = capture.packets.clone();
        for packet in &mut some {
            if chance.below(one_of(seed)) == 0 {
                let length = chance.below(packet.bytes.len() + 1);
                *packet = packet.snapped(length);
            }
        }
        vec![(format!("snapped at {length}"), all), ("some snapped".to_owned(), some)]
    });
}

#[test]
fn packets_that_contradict_others_make_nothing_better_and_take_no_finding() {
    assert_rule(|capture, seed| {
        let mut chance = Chance::new(seed ^ 0x11e5);
        lies::ALL
            .iter()
            .map(|lie| (lie.name().to_owned(), lie.applied(capture, &mut chance, one_of(seed))))
            .collect()
    });
}

#[test]
fn a_lie_about_a_safe_handshake_is_a_finding_and_leaves_it_unproven() {
    for (name, file) in [CAPTURES[0], CAPTURES[1], CAPTURES[2], CAPTURES[3]] {
        let capture = Capture::read(file);
        let before = Answered::of(file, &Known::nothing());
        for lie in lies::ALL {
            let (packets, about) = lie.about_handshakes(&capture);
            if about.is_empty() {
                continue;
            }
            let after = Answered::of(&capture.with(packets).file(), &Known::nothing());
            after.assert_doubted(&before, &about, &format!("{name}, {}", lie.name()));
        }
    }
}

#[test]
fn a_safe_answer_forged_before_a_classical_one_is_not_believed() {
    let mutations = towards_classical::tls::mutations();
    let classical = mutations
        .iter()
        .find(|one| one.name == "group and share to x25519")
        .unwrap();
    for (name, file) in [CAPTURES[0], CAPTURES[1]] {
        let capture = Capture::read(file);
        for corrupt in [false, true] {
            let mut packets = Vec::new();
            for packet in &capture.packets {
                if let Change::Turn(bytes) = (classical.change)(&Frame::read(&packet.bytes)) {
                    let forged = packet.bytes.clone();
                    packets.push(if corrupt {
                        packet.corrupt(forged)
                    } else {
                        packet.with(forged)
                    });
                    packets.push(packet.with(bytes));
                } else {
                    packets.push(packet.clone());
                }
            }
            assert!(packets.len() > capture.packets.len(), "{name} shows nothing safe");
            let after = Answered::of(&capture.with(packets).file(), &Known::nothing());
            let what = if corrupt {
                "with a wrong checksum"
            } else {
                "with a right checksum"
            };
            assert_eq!(after.safe(), 0, "{name}: a forged answer {what} is believed");
            assert!(
                after.reports(Concern::Contradiction),
                "{name}: a forged answer {what} is no finding"
            );
        }
    }
}

#[test]
fn an_ike_fragment_sent_again_with_other_bytes_is_a_finding_and_leaves_its_ike_sa_unproven() {
    // Encrypted and Authenticated Fragment (RFC 7383, section 2.5), as the first payload.
    const FRAGMENT: u8 = 53;
    let (name, file) = CAPTURES[2];
    let capture = Capture::read(file);
    let before = Answered::of(file, &Known::nothing());
    let mut reached = 0;
    for (place, packet) in capture.packets.iter().enumerate() {
        let frame = Frame::read(&packet.bytes);
        let payload = frame.payload();
        let marker = if frame.is_on(4500) { 4 } else { 0 };
        if frame.protocol != 17 || payload.get(marker + 16) != Some(&FRAGMENT) {
            continue;
        }
        reached += 1;
        let mut other = payload.to_vec();
        *other.last_mut().unwrap() ^= 0x55;
        let lie = packet.with(frame.moved(0, &other));
        for at in [place, place + 1] {
            let mut packets = capture.packets.clone();
            packets.insert(at, lie.clone());
            let after = Answered::of(&capture.with(packets).file(), &Known::nothing());
            after.assert_no_better(&before, name);
            assert!(
                after.contradictions() > before.contradictions(),
                "{name}: fragment {place} at {at}"
            );
            assert!(after.safe() <= before.safe());
        }
        // The same again is a retransmission.
        let mut packets = capture.packets.clone();
        packets.insert(place + 1, packet.clone());
        let after = Answered::of(&capture.with(packets).file(), &Known::nothing());
        assert_eq!(
            after.contradictions(),
            before.contradictions(),
            "{name}: fragment {place} twice"
        );
    }
    assert!(reached > 3, "{reached} fragments");
}

#[test]
fn a_packet_of_sctp_with_a_wrong_checksum_is_not_read_and_is_a_finding() {
    for (name, file) in [CAPTURES[4], CAPTURES[6]] {
        let capture = Capture::read(file);
        let before = Answered::of(file, &Known::nothing());
        let mut packets = Vec::new();
        for packet in &capture.packets {
            packets.push(packet.clone());
            let frame = Frame::read(&packet.bytes);
            // An ABORT that its receiver drops ends nothing.
            if frame.protocol == 132 && frame.payload().first() == Some(&0) {
                packets.push(packet.corrupt(frame.moved(0, &[6, 0, 0, 4])));
            }
        }
        assert!(packets.len() > capture.packets.len(), "{name}");
        let after = Answered::of(&capture.with(packets).file(), &Known::nothing());
        after.assert_accounted(name);
        after.assert_same(&before, name);
        assert!(
            after.reports(Concern::Contradiction) && !before.reports(Concern::Contradiction),
            "{name}"
        );
    }
}

/// IP packets between the hosts of a recording, from the first to the second, with content that an
/// attacker could read or not.
fn next_to_the_handshake(capture: &Capture) -> Vec<(&'static str, Packet)> {
    let packet = capture
        .packets
        .iter()
        .find(|packet| packet.bytes[12..14] == [8, 0])
        .unwrap();
    let addresses: [u8; 8] = packet.bytes[26..34].try_into().unwrap();
    let ip = |protocol: u8, payload: &[u8]| {
        let mut bytes = vec![0x45, 0];
        bytes.extend(u16::try_from(20 + payload.len()).unwrap().to_be_bytes());
        bytes.extend([0, 9, 0, 0, 64, protocol, 0, 0]);
        bytes.extend(addresses);
        bytes.extend(payload);
        bytes
    };
    let udp = [&[0x9c, 0x40, 0x9c, 0x41, 0, 20, 0, 0][..], b"IMSI in text"].concat();
    let request = [
        &[0x9c, 0x42, 0, 80, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 1, 0, 0, 0, 0, 0][..],
        b"GET /nudm-sdm/v2/imsi-208930000000001 HTTP/1.1\r\n\r\n",
    ]
    .concat();
    let reset = [
        &[
            0x9c, 0x44, 0x1f, 0x90, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x14, 1, 0, 0, 0, 0, 0,
        ][..],
        b"imsi-208930000000001",
    ]
    .concat();
    // Chunks that an association is made of, between other ports: INIT, then these.
    let association = |ports: [u8; 4], chunk: &[u8]| {
        let init = [1, 0, 0, 20, 0, 0, 0, 5, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 9];
        ip(132, &[&ports[..], &[0; 8], &init, chunk].concat())
    };
    let init = [
        &[0x9c, 0x43, 0x96, 0x0c, 0, 0, 0, 7, 0, 0, 0, 0][..],
        &[0, 3, 0, 24, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 60],
        b"NGAP data",
    ]
    .concat();
    let all = [
        ("UDP that nobody reads", ip(17, &udp)),
        ("a request without TLS", ip(6, &request)),
        ("the same in IP", ip(4, &ip(6, &request))),
        (
            "the same in GRE",
            ip(47, &[&[0, 0, 8, 0][..], &ip(6, &request)].concat()),
        ),
        ("GRE with what nobody reads", ip(47, &[0, 0, 0x12, 0x34, 1, 2, 3, 4])),
        (
            "ESP that nothing keyed",
            ip(50, &[&[0, 0, 0x77, 0x77, 0, 0, 0, 1][..], &[0xa7; 60]].concat()),
        ),
        ("a protocol without a name", ip(253, b"anything")),
        ("SCTP", ip(132, &init)),
        ("a reset with text in it", ip(6, &reset)),
        (
            "an echo with a request in it",
            ip(1, &[&[8, 0, 0, 0, 0, 1, 0, 1][..], &ip(6, &request)].concat()),
        ),
        ("data behind IPv6's no next header", ip(59, b"anything")),
        (
            "a chunk of SCTP of a type that nobody knows",
            association(
                [0x9c, 0x45, 0x96, 0x0c],
                &[0x3f, 0, 0, 12, b'I', b'M', b'S', b'I', 1, 2, 3, 4],
            ),
        ),
        (
            "user data of SCTP that is in no window",
            association(
                [0x9c, 0x46, 0x96, 0x0c],
                &[
                    0, 3, 0, 20, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 60, b'N', b'G', b'A', b'P',
                ],
            ),
        ),
        ("a part of a packet", {
            let mut part = ip(17, &[7; 64]);
            part[6] = 0x20;
            part
        }),
        ("a header that is not whole", ip(6, &[1, 2, 3])),
    ];
    let frame = |bytes: Vec<u8>| [&packet.bytes[..14], &bytes].concat();
    all.into_iter()
        .map(|(what, bytes)| (what, packet.at_the_same_time(frame(bytes))))
        .collect()
}

#[test]
fn one_packet_of_another_kind_between_the_hosts_of_a_safe_link_is_a_finding() {
    let capture = Capture::read(SIDECAR);
    let before = Answered::of(SIDECAR, &Known::ledgers());
    assert!(before.has_no_finding(), "a link that is safe by packets and ledgers");
    let others = [
        next_to_the_handshake(&capture),
        hidden::what_housekeeping_hides(&capture),
    ]
    .concat();
    for (what, packet) in others {
        for place in [0, capture.packets.len() / 2, capture.packets.len()] {
            let mut packets = capture.packets.clone();
            packets.insert(place, packet.clone());
            let after = Answered::of(&capture.with(packets).file(), &Known::ledgers());
            after.assert_accounted(what);
            after.assert_no_better(&before, what);
            assert!(!after.has_no_finding(), "{what} at {place} is no finding");
        }
    }
    // Housekeeping that needs no judgement takes nothing from it.
    for (what, packet) in hidden::housekeeping(&capture) {
        let packets = [capture.packets.clone(), vec![packet]].concat();
        let after = Answered::of(&capture.with(packets).file(), &Known::ledgers());
        assert!(after.has_no_finding(), "{what}");
    }
}

#[test]
fn packets_wrapped_in_any_tag_or_tunnel_are_judged_as_they_are_without_it() {
    for (name, capture, known) in all() {
        // Names of interfaces come with addresses, and policies with names: of that there is
        // nothing in a tunnel that is not listed.
        if known.has_deployment() {
            continue;
        }
        for around in ALL.into_iter().filter(|around| !matches!(around, Around::Nothing)) {
            let fits = |packet: &&Packet| {
                matches!(packet.bytes.get(12..14), Some([8, 0] | [0x86, 0xdd])) && around.carries(&packet.bytes[14..])
            };
            let inner: Vec<Packet> = capture.packets.iter().filter(fits).cloned().collect();
            let wrapped = inner
                .iter()
                .map(|packet| packet.with(around.frame(&packet.bytes[14..], is_back(packet))));
            let wrapped = capture.with(wrapped.collect());
            let before = Answered::of(&capture.with(inner).file(), &known);
            let after = Answered::of(&wrapped.file(), &known);
            let what = format!("{name} in {around:?}");
            after.assert_accounted(&what);
            after.assert_same(&before, &what);
        }
    }
}

/// Returns true if a packet is from the greater of its ends.
fn is_back(packet: &Packet) -> bool {
    Frame::read(&packet.bytes)
        .ends
        .is_some_and(|(source, destination)| source > destination)
}
