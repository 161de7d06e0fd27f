//! Results do not depend on encapsulation, and encapsulation distinguishes conversations.

use crate::encapsulate;
use crate::observe;
use bartizan_wire::datagrams::DatagramProtocol;
use bartizan_wire::link::{self, LinkType, Network};
use bartizan_wire::path::Encapsulation;
use bartizan_wire::{CaptureReader, Connection, Content, Limits, Observer, Packet, Unread};
use encapsulate::{ALL, Around, frame, ipv4};
use observe::Seen;
use proptest::prelude::*;

static OPENSSL: &[u8] = include_bytes!("data/openssl-3.5.7.pcap");
static STRONGSWAN: &[u8] = include_bytes!("data/strongswan-6.1.0.pcap");
static E2: &[u8] = include_bytes!("data/e2-flexric-kpm.pcap");

/// The IP packets of a capture, with their times.
fn packets(file: &[u8]) -> Vec<(u64, bartizan_wire::Timestamp, Vec<u8>)> {
    let mut reader = CaptureReader::new();
    reader.push(file);
    let mut packets = Vec::new();
    while let Ok(Some(packet)) = reader.next_packet() {
        if let Network::Ip(bytes) = link::network(packet.link, packet.data) {
            packets.push((packet.number, packet.time, bytes.to_vec()));
        }
    }
    packets
}

/// Observes packets, each in a frame made of it.
fn observe(
    packets: &[(u64, bartizan_wire::Timestamp, Vec<u8>)],
    mut around: impl FnMut(&[u8], bool) -> Vec<u8>,
) -> Seen {
    let mut observer = Observer::new(Limits::default());
    let mut seen = Seen::default();
    for (number, time, packet) in packets {
        let data = around(packet, is_back(packet));
        let packet = Packet {
            number: *number,
            time: *time,
            link: LinkType::ETHERNET,
            data: &data,
            original_length: data.len() as u32,
            interface: 0,
        };
        observer.observe(&packet, &mut seen);
    }
    observer.finish_into(&mut seen);
    seen.totals = observer.totals().clone();
    seen
}

/// Returns true if a packet is from the greater of its ends, so that both directions of a
/// conversation differ.
fn is_back(packet: &[u8]) -> bool {
    let (header, addresses) = match packet[0] >> 4 {
        4 => (usize::from(packet[0] & 15) * 4, 12..20),
        _ => (40, 8..40),
    };
    let addresses = &packet[addresses];
    let (source, destination) = addresses.split_at(addresses.len() / 2);
    let ports = packet.get(header..header + 4).unwrap_or(&[0; 4]);
    (source, &ports[..2]) > (destination, &ports[2..])
}

/// The handshake alone.
fn essence(connection: &Connection) -> impl PartialEq + std::fmt::Debug + use<> {
    let content = match &connection.content {
        Content::Tls(tls) => Some((
            tls.client_hello.clone(),
            tls.server_hello.clone(),
            tls.from_client,
            tls.from_server,
        )),
        _ => None,
    };
    (
        connection.client,
        connection.server,
        connection.start,
        connection.ending,
        content,
    )
}

fn version(packet: &[u8]) -> u8 {
    packet[0] >> 4
}

#[test]
fn a_handshake_in_each_tag_and_tunnel_is_read_as_without_it() {
    let all = packets(OPENSSL);
    for around in ALL {
        let carried: Vec<_> = all
            .iter()
            .filter(|(_, _, packet)| around.carries(packet))
            .cloned()
            .collect();
        let expected = observe(&carried, frame_of);
        assert!(!expected.connections.is_empty(), "{around:?}");
        let seen = observe(&carried, |packet, back| around.frame(packet, back));
        let [ours, theirs] = [&seen, &expected].map(|seen| seen.connections.iter().map(essence).collect::<Vec<_>>());
        assert!(ours == theirs, "{around:?}: not the same connections");
        for connection in &seen.connections {
            assert_eq!(
                connection.path.is_empty(),
                matches!(around, Around::Nothing | Around::Snap),
                "{around:?}"
            );
            assert_eq!(connection.path_back, None, "{around:?}");
        }
    }
}

fn frame_of(packet: &[u8], back: bool) -> Vec<u8> {
    Around::Nothing.frame(packet, back)
}

#[test]
fn the_path_names_what_each_layer_is_its_ends_and_its_number() {
    let all = packets(OPENSSL);
    let ipv4_only: Vec<_> = all.into_iter().filter(|(_, _, packet)| version(packet) == 4).collect();
    for (around, expected) in [
        (Around::Vlan(7), "VLAN 7"),
        (Around::TwoVlans(100, 7), "VLAN 100, VLAN 7"),
        (Around::Mpls(&[20_000, 17]), "MPLS 17"),
        (Around::PseudoWire { control_word: true }, "MPLS 17, pseudowire"),
        (Around::Backbone(0x00ab_cdef), "PBB 11259375"),
        (Around::Pppoe(9), "PPPoE 9"),
        (Around::MacSecUnencrypted, "MACsec without encryption"),
        (
            Around::Gre(Some(0xdead_beef)),
            "GRE 0xdeadbeef between 192.0.2.1 and 192.0.2.2",
        ),
        (Around::Erspan(2), "ERSPAN 5 between 192.0.2.1 and 192.0.2.2"),
        (Around::Vxlan(5001), "VXLAN 5001 between 192.0.2.1 and 192.0.2.2"),
        (Around::Ah, "AH, IP in IP between 192.0.2.1 and 192.0.2.2"),
        (
            Around::GtpU(0x1234_5678),
            "GTP-U 0x12345678 between 192.0.2.1 and 192.0.2.2",
        ),
        (Around::L2tp2(11), "L2TP 11 between 192.0.2.1 and 192.0.2.2"),
    ] {
        let seen = observe(&ipv4_only, |packet, back| around.frame(packet, back));
        assert_eq!(seen.connections[0].path.to_string(), expected);
    }
}

#[test]
fn overlapping_networks_do_not_share_connections() {
    let all = packets(OPENSSL);
    let first: Vec<_> = all.iter().take(200).cloned().collect();
    let alone = observe(&first, |packet, back| Around::Vlan(7).frame(packet, back))
        .connections
        .len();
    for (one, other) in [
        (Around::Vlan(7), Around::Vlan(8)),
        (Around::Vxlan(7), Around::Vxlan(8)),
        (Around::GtpU(7), Around::GtpU(8)),
        (Around::Mpls(&[16, 7]), Around::Mpls(&[16, 8])),
        (Around::Gre(Some(7)), Around::Gre(Some(8))),
        (Around::Vlan(7), Around::Nothing),
    ] {
        // The same addresses and ports in two networks at once: the second hears each packet after
        // the first, with other sequence numbers and another cipher suite would be another
        // connection.
        let mut both = Vec::new();
        for (number, time, packet) in &first {
            both.push((2 * number, *time, packet.clone()));
            both.push((2 * number + 1, *time, packet.clone()));
        }
        let mut observer = Observer::new(Limits::default());
        let mut seen = Seen::default();
        for (number, time, packet) in &both {
            let around = if number % 2 == 0 { one } else { other };
            let data = around.frame(packet, is_back(packet));
            let packet = Packet {
                number: *number,
                time: *time,
                link: LinkType::ETHERNET,
                data: &data,
                original_length: data.len() as u32,
                interface: 0,
            };
            observer.observe(&packet, &mut seen);
        }
        observer.finish_into(&mut seen);
        assert_eq!(seen.connections.len(), 2 * alone, "{one:?} {other:?}");
        let repeated: u64 = seen.connections.iter().map(|one| one.from_client.stream.repeated).sum();
        assert_eq!(repeated, 0, "{one:?} {other:?}");
    }
}

#[test]
fn a_connection_whose_directions_have_other_tags_or_numbers_is_one() {
    let all = packets(OPENSSL);
    let all: Vec<_> = all.into_iter().filter(|(_, _, packet)| version(packet) == 4).collect();
    let plain: Vec<_> = observe(&all, frame_of).connections.iter().map(essence).collect();
    for around in [
        Around::Vlan(7),
        Around::Mpls(&[16, 17]),
        Around::GtpU(7),
        Around::L2tp2(7),
        Around::Nothing,
    ] {
        let back_in = around.other().unwrap_or(Around::Vlan(9));
        for (there, back) in [(around, back_in), (back_in, around)] {
            let seen = observe(&all, |packet, is_back| {
                let around = if is_back { back } else { there };
                around.frame(packet, is_back)
            });
            let ours: Vec<_> = seen.connections.iter().map(essence).collect();
            assert!(ours == plain, "{there:?} {back:?}: not the same connections");
            assert!(
                seen.connections.iter().all(|one| one.path_back.is_some()),
                "{there:?} {back:?}"
            );
        }
    }
}

#[test]
fn halves_of_two_networks_do_not_make_one_connection() {
    // One direction in one network, the other in another: the same ports, and none acknowledges what the other sent.
    let all = packets(OPENSSL);
    let all: Vec<_> = all
        .into_iter()
        .filter(|(_, _, packet)| version(packet) == 4)
        .take(100)
        .collect();
    let seen = observe(&all, |packet, is_back| {
        let mut packet = packet.to_vec();
        let acknowledgement = usize::from(packet[0] & 15) * 4 + 8;
        packet[acknowledgement] ^= 0x40;
        let around = if is_back { Around::Vlan(7) } else { Around::Vlan(8) };
        around.frame(&packet, is_back)
    });
    assert!(!seen.connections.is_empty());
    for connection in &seen.connections {
        let [ours, theirs] = [&connection.from_client, &connection.from_server].map(|one| one.packets);
        assert!(ours == 0 || theirs == 0, "{}", connection.number);
    }
}

#[test]
fn associations_and_ipsec_in_a_tunnel_are_read_and_named() {
    for around in [Around::Vlan(7), Around::Vxlan(5001), Around::Gre(None)] {
        let seen = observe(&packets(E2), |packet, back| around.frame(packet, back));
        let plain = observe(&packets(E2), frame_of);
        assert_eq!(seen.associations.len(), plain.associations.len());
        assert!(
            seen.associations
                .iter()
                .all(|one| !one.path.is_empty() && one.captured.packets > 0)
        );
        let seen = observe(&packets(STRONGSWAN), |packet, back| around.frame(packet, back));
        let plain = observe(&packets(STRONGSWAN), frame_of);
        assert_eq!(
            (seen.ike.len(), seen.esp.len()),
            (plain.ike.len(), plain.esp.len()),
            "{around:?}"
        );
        assert!(seen.esp.iter().all(|sa| !sa.path.is_empty()));
        assert!(
            seen.ike
                .iter()
                .all(|sa| sa.paths.iter().flatten().all(|path| !path.is_empty()))
        );
    }
}

#[test]
fn tunnels_in_tunnels_end_somewhere() {
    // An empty packet in as many packets as fit: each is a tunnel to the next.
    let mut packet = ipv4(59, &[], false);
    while packet.len() < 60_000 {
        packet = ipv4(4, &packet, false);
    }
    let mut seen = Seen::default();
    let mut observer = Observer::new(Limits::default());
    let packet = Packet {
        number: 1,
        time: bartizan_wire::Timestamp(0),
        link: LinkType::RAW,
        data: &packet,
        original_length: packet.len() as u32,
        interface: 0,
    };
    observer.observe(&packet, &mut seen);
    observer.finish_into(&mut seen);
    let [unread] = &seen.datagrams[..] else {
        panic!("{:?}", seen.datagrams)
    };
    assert_eq!(
        (unread.protocol, unread.path.layers().len()),
        (DatagramProtocol::Ip(4), 12)
    );
    assert_eq!(unread.captured.packets, 1);
}

#[test]
fn a_tunnel_whose_packets_cannot_be_read_is_named_with_its_hosts() {
    let vxlan = Around::Vxlan(7).frame(&ipv4(17, b"whole", false), false);
    // Cut within the inner headers, as a snap length does.
    let cut = &vxlan[..14 + 20 + 8 + 8 + 14 + 10];
    let mut seen = Seen::default();
    let mut observer = Observer::new(Limits::default());
    for (number, data) in [cut, &frame(0x0800, &ipv4(47, b"\0\0\x12\x34unknown", false), false)]
        .into_iter()
        .enumerate()
    {
        let packet = Packet {
            number: number as u64 + 1,
            time: bartizan_wire::Timestamp(0),
            link: LinkType::ETHERNET,
            data,
            original_length: vxlan.len() as u32,
            interface: 0,
        };
        observer.observe(&packet, &mut seen);
    }
    observer.finish_into(&mut seen);
    let protocols: Vec<_> = seen.datagrams.iter().map(|one| one.protocol).collect();
    assert_eq!(
        protocols,
        [DatagramProtocol::Tunnel(Encapsulation::Vxlan), DatagramProtocol::Ip(47)]
    );
    assert!(seen.datagrams.iter().all(|one| one.client.to_string() == "192.0.2.1"));
}

/// Packets that sinks and totals account for.
fn accounted(seen: &Seen) -> (u64, u64) {
    let flows = (seen.connections.iter().map(|one| one.captured))
        .chain(seen.associations.iter().map(|one| one.captured))
        .chain(seen.ike.iter().map(|one| one.captured))
        .chain(seen.esp.iter().map(|one| one.captured))
        .chain(seen.datagrams.iter().map(|one| one.captured))
        .chain(seen.totals.unread.values().copied());
    let omitted = seen.totals.omitted.values().map(|one| (one.packets, one.bytes));
    flows
        .map(|captured| (captured.packets, captured.bytes))
        .chain(omitted)
        .fold((0, 0), |(packets, bytes), (more, of)| (packets + more, bytes + of))
}

#[test]
fn every_packet_belongs_to_something_that_has_a_name() {
    let tight = Limits {
        memory: Limits::default().held_bytes + 20_000,
        ..Limits::default()
    };
    for file in [OPENSSL, STRONGSWAN, E2] {
        for limits in [Limits::default(), tight] {
            let seen = observe::with(limits, file);
            assert_eq!(accounted(&seen), (seen.totals.packets, seen.totals.bytes));
        }
    }
    for around in ALL {
        let seen = observe(&packets(STRONGSWAN), |packet, back| around.frame(packet, back));
        assert_eq!(accounted(&seen), (seen.totals.packets, seen.totals.bytes), "{around:?}");
        for unread in seen.totals.unread.keys() {
            assert!(unread.is_housekeeping() || *unread == Unread::Malformed, "{unread:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_damaged_packet_of_any_tunnel_is_accounted_for(
        around in 0..ALL.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        keep in any::<prop::sample::Index>(),
        every in 1..5usize,
    ) {
        let all = packets(STRONGSWAN);
        let some: Vec<_> = all.into_iter().take(150).collect();
        let mut number = 0;
        let seen = observe(&some, |packet, back| {
            let mut data = ALL[around].frame(packet, back);
            number += packet.len();
            if number % every == 0 {
                for (place, value) in &changes {
                    let place = place.index(data.len());
                    data[place] = *value;
                }
                data.truncate(keep.index(data.len() + 1));
            }
            data
        });
        prop_assert_eq!(accounted(&seen), (seen.totals.packets, seen.totals.bytes));
    }
}
