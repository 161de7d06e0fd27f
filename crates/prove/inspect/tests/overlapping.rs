//! Networks whose addresses overlap, as events tell of them: one VLAN's link is not another's.

use std::time::Duration;

use bartizan_inspect::follow::{Recent, Tracker};
use bartizan_inspect::{Detail, MEMORY, Shares};
use bartizan_posture::{Ledgers, Verdict};
use bartizan_wire::link::LinkType;
use bartizan_wire::{CaptureReader, Limits, Observer, Packet, Timestamp};

const OPENSSL: &[u8] = include_bytes!("../../wire/tests/data/openssl-3.5.7.pcap");

/// The port of the server in both.
const SERVER: u16 = 4433;

/// The frames of the connection to a port, in a VLAN, with another port: whatever they carry is
/// between the same sockets.
fn frames(port: u16, vlan: u16) -> Vec<(Timestamp, Vec<u8>)> {
    let mut reader = CaptureReader::new();
    reader.push(OPENSSL);
    let mut frames = Vec::new();
    while let Ok(Some(packet)) = reader.next_packet() {
        let mut frame = packet.data.to_vec();
        let number = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        if frame[12..14] != [8, 0] || frame[23] != 6 {
            continue;
        }
        let places = [34, 36].into_iter().find(|&place| number(place) == port);
        let Some(place) = places else { continue };
        // The sender left checksums to its card, which knows none: they do not depend on the ports.
        frame[place..place + 2].copy_from_slice(&SERVER.to_be_bytes());
        let tag = [&[0x81, 0][..], &vlan.to_be_bytes()].concat();
        frame.splice(12..12, tag);
        frames.push((packet.time, frame));
    }
    frames
}

#[test]
fn a_classical_link_of_one_vlan_is_no_downgrade_of_a_safe_one_with_the_same_addresses_in_another() {
    // 4401 agrees on X25519MLKEM768, 4403 on x25519.
    let (safe, classical) = (frames(4401, 7), frames(4403, 9));
    assert!(!safe.is_empty() && !classical.is_empty());
    let shares = Shares::of(MEMORY, Detail::Links).followed();
    let recent = Recent::new(Duration::from_secs(600), shares);
    let (ledgers, mut tracker) = (Ledgers::default(), Tracker::new("port1"));
    let mut seen = Vec::new();
    for frames in [safe.clone(), [safe, classical].concat()] {
        let mut observer = Observer::new(Limits::default());
        let now = frames.iter().map(|(time, _)| *time).max().unwrap();
        let mut viewing = recent.view(&ledgers, now, true);
        for (index, (time, data)) in frames.iter().enumerate() {
            let packet = Packet {
                number: index as u64 + 1,
                time: *time,
                link: LinkType::ETHERNET,
                data,
                original_length: data.len() as u32,
                interface: 0,
            };
            observer.observe(&packet, &mut viewing);
        }
        observer.finish_into(&mut viewing);
        let view = viewing.finish(None);
        seen.extend(tracker.compare(&view, observer.totals(), now, Timestamp(0), None));
    }
    let of = |name: &str| {
        let events = seen.iter().filter(|event| event.name == name);
        events
            .map(|event| {
                event
                    .link
                    .as_ref()
                    .and_then(|link| link.path.clone())
                    .unwrap_or_default()
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(of("link-seen"), ["VLAN 7", "VLAN 9"], "{seen:#?}");
    assert_eq!(of("downgrade"), Vec::<String>::new());
    assert_eq!(of("verdict-changed"), Vec::<String>::new());
    let verdicts: Vec<Verdict> = tracker.links().map(|(_, confidentiality, _)| confidentiality).collect();
    assert_eq!(verdicts, [Verdict::QuantumSafe, Verdict::Vulnerable]);
}
