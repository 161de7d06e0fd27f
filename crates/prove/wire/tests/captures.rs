//! Captures of programs this project did not write; tests/data/README.md says how they were made.

use std::net::SocketAddr;

use bartizan_registry::{NamedGroup, SignatureScheme};
use bartizan_wire::link::Network;
use bartizan_wire::tls::{Tls, Version, alert_name, is_null_cipher};
use bartizan_wire::{
    CaptureError, CaptureReader, Connection, Content, Ending, Limits, Observer, Packet, Roles, Side, Start, Timestamp,
    Totals, Unread, ip, link, tcp,
};
use proptest::prelude::*;

const OPENSSL: &[u8] = include_bytes!("data/openssl-3.5.7.pcap");
const SIDECAR: &[u8] = include_bytes!("data/sidecar-hybrid.pcap");
const FREE5GC: &[u8] = include_bytes!("data/sbi-free5gc-two-registrations.pcap");

/// A packet that does not borrow.
#[derive(Clone)]
struct Owned {
    number: u64,
    time: Timestamp,
    link: link::LinkType,
    data: Vec<u8>,
    original_length: u32,
}

fn packets(file: &[u8]) -> (Vec<Owned>, Result<(), CaptureError>) {
    let mut reader = CaptureReader::new();
    reader.push(file);
    let mut packets = Vec::new();
    loop {
        match reader.next_packet() {
            Ok(None) => return (packets, reader.finish()),
            Ok(Some(packet)) => packets.push(Owned {
                number: packet.number,
                time: packet.time,
                link: packet.link,
                data: packet.data.to_vec(),
                original_length: packet.original_length,
            }),
            Err(error) => return (packets, Err(error)),
        }
    }
}

fn observe_with(limits: Limits, packets: &[Owned]) -> (Vec<Connection>, Totals) {
    let mut observer = Observer::new(limits);
    let mut connections = Vec::new();
    for packet in packets {
        let packet = Packet {
            number: packet.number,
            time: packet.time,
            link: packet.link,
            data: &packet.data,
            original_length: packet.original_length,
            interface: 0,
        };
        observer.packet(&packet, |connection| connections.push(connection));
    }
    observer.finish(|connection| connections.push(connection));
    connections.sort_by_key(|connection| connection.number);
    let totals = observer.totals().clone();
    (connections, totals)
}

fn observe(packets: &[Owned]) -> Vec<Connection> {
    observe_with(Limits::default(), packets).0
}

fn tls(connection: &Connection) -> &Tls {
    match &connection.content {
        Content::Tls(tls) => tls,
        other => panic!("not TLS: {other:?}"),
    }
}

/// The connections of one situation, in order.
fn at_port(connections: &[Connection], port: u16) -> Vec<&Connection> {
    connections
        .iter()
        .filter(|connection| connection.server.port() == port)
        .collect()
}

fn openssl() -> Vec<Connection> {
    let (packets, end) = packets(OPENSSL);
    assert_eq!(end, Ok(()));
    observe(&packets)
}

#[test]
fn every_group_openssl_offers_is_read_with_the_length_of_both_shares() {
    let connections = openssl();
    for (port, group, client, server) in [
        (4401, NamedGroup::X25519MLKEM768, 1216, 1120),
        (4406, NamedGroup::MLKEM512, 800, 768),
        (4407, NamedGroup::MLKEM768, 1184, 1088),
        (4408, NamedGroup::MLKEM1024, 1568, 1568),
        (4409, NamedGroup::SECP256R1MLKEM768, 1249, 1153),
        (4410, NamedGroup::SECP384R1MLKEM1024, 1665, 1665),
    ] {
        let tls = tls(at_port(&connections, port)[0]);
        let hello = &tls.client_hello.as_ref().unwrap().value;
        let chosen = &tls.server_hello.as_ref().unwrap().value;
        let (offered, taken) = (hello.key_shares[0], chosen.key_share.unwrap());
        assert_eq!((offered.group, offered.length), (group, client));
        assert_eq!((taken.group, taken.length), (group, server));
        assert_eq!(chosen.version, Version::TLS13);
        assert_eq!(hello.server_name.as_deref(), Some("nrf.5gc"));
        assert!(hello.signature_algorithms.contains(&SignatureScheme::MLDSA65));
        assert!(tls.faults.is_empty() && tls.alerts.is_empty());
    }
}

#[test]
fn a_hello_split_over_two_segments_is_read_and_names_both_packets() {
    for port in [4408, 4410] {
        let connections = openssl();
        let hello = tls(at_port(&connections, port)[0]).client_hello.clone().unwrap();
        assert!(hello.value.length > 1448);
        assert!(hello.last.packet > hello.first.packet, "port {port}");
    }
}

#[test]
fn a_hello_retry_request_stands_between_two_hellos_and_makes_five_flights() {
    let connections = openssl();
    let tls = tls(at_port(&connections, 4402)[0]);
    let first = &tls.client_hello.as_ref().unwrap().value;
    let retry = &tls.hello_retry_request.as_ref().unwrap().value;
    let second = &tls.second_client_hello.as_ref().unwrap().value;
    assert_eq!(first.key_shares[0].group, NamedGroup::X25519);
    assert_eq!(retry.key_share.unwrap().group, NamedGroup::X25519MLKEM768);
    assert_eq!(second.key_shares[0].group, NamedGroup::X25519MLKEM768);
    assert_eq!(first.random, second.random, "the ledger's key stays the same");
    let from: Vec<_> = tls.handshake_flights().iter().map(|flight| flight.from).collect();
    assert_eq!(
        from,
        [Side::Client, Side::Server, Side::Client, Side::Server, Side::Client]
    );
}

#[test]
fn mutual_ml_dsa_65_makes_flights_of_ten_and_nine_kilobytes() {
    let connections = openssl();
    let flights: Vec<u64> = tls(at_port(&connections, 4401)[0])
        .handshake_flights()
        .iter()
        .map(|flight| flight.bytes)
        .collect();
    assert!(
        matches!(flights[..], [1400..1500, 10_000..10_500, 8_900..9_100]),
        "{flights:?}"
    );
}

#[test]
fn a_classical_choice_of_the_server_is_seen_although_the_client_offered_better() {
    let connections = openssl();
    let tls = tls(at_port(&connections, 4403)[0]);
    let hello = &tls.client_hello.as_ref().unwrap().value;
    assert_eq!(hello.supported_groups[0], NamedGroup::X25519MLKEM768);
    assert_eq!(
        tls.server_hello.as_ref().unwrap().value.key_share.unwrap().group,
        NamedGroup::X25519
    );
}

#[test]
fn tls_1_2_shows_curve_signatures_and_certificates_of_both_ends() {
    let connections = openssl();
    let tls = tls(at_port(&connections, 4404)[0]);
    assert_eq!(tls.version(), Some(Version::TLS12));
    let exchange = tls.server_key_exchange.as_ref().unwrap().value;
    assert_eq!(exchange.group, Some(NamedGroup::X25519));
    assert_eq!(exchange.signature, Some(SignatureScheme::ECDSA_SECP256R1_SHA256));
    assert_eq!(tls.server_certificates.as_ref().unwrap().value.count, 1);
    assert_eq!(tls.client_certificates.as_ref().unwrap().value.count, 1);
    assert_eq!(
        tls.client_signature.as_ref().unwrap().value,
        SignatureScheme::ECDSA_SECP256R1_SHA256
    );
    assert!(
        tls.from_client.records > 0,
        "behind ChangeCipherSpec records are protected"
    );
}

#[test]
fn a_null_cipher_is_seen_in_the_server_hello() {
    let connections = openssl();
    let suite = tls(at_port(&connections, 4411)[0])
        .server_hello
        .as_ref()
        .unwrap()
        .value
        .cipher_suite;
    assert_eq!(suite, 0xc006);
    assert!(is_null_cipher(suite));
}

#[test]
fn a_refusal_is_an_alert_of_the_server_and_no_server_hello() {
    let connections = openssl();
    let tls = tls(at_port(&connections, 4405)[0]);
    assert_eq!(tls.server_hello, None);
    let alert = tls.alerts[0].value;
    assert_eq!(
        (alert.from, alert_name(alert.description)),
        (Side::Server, Some("handshake_failure"))
    );
}

#[test]
fn resumption_is_seen_with_and_without_a_new_key_exchange() {
    let connections = openssl();
    let chosen = |port, index: usize| {
        let hello = tls(at_port(&connections, port)[index])
            .server_hello
            .as_ref()
            .unwrap()
            .value
            .clone();
        (hello.pre_shared_key, hello.key_share.map(|share| share.group))
    };
    let group = Some(NamedGroup::X25519MLKEM768);
    assert_eq!([chosen(4412, 0), chosen(4412, 1)], [(None, group), (Some(0), group)]);
    assert_eq!([chosen(4413, 0), chosen(4413, 1)], [(None, group), (Some(0), None)]);
    let early = tls(at_port(&connections, 4412)[2]).client_hello.as_ref().unwrap();
    assert!(early.value.early_data && early.value.pre_shared_keys == 1);
}

#[test]
fn a_hello_of_rustls_is_read() {
    let (packets, end) = packets(SIDECAR);
    assert_eq!(end, Ok(()));
    let connections = observe(&packets);
    let tls = tls(&connections[0]);
    let hello = &tls.client_hello.as_ref().unwrap().value;
    assert_eq!(hello.supported_groups, [NamedGroup::X25519MLKEM768]);
    assert_eq!(hello.signature_algorithms, [SignatureScheme::MLDSA65]);
    assert_eq!(hello.supported_versions, [Version::TLS13]);
    assert_eq!(tls.server_hello.as_ref().unwrap().value.key_share.unwrap().length, 1120);
    assert!(tls.faults.is_empty());
}

#[test]
fn two_recorded_registrations_are_65_connections_of_clear_http_2_to_six_servers() {
    let (packets, end) = packets(FREE5GC);
    assert_eq!(end, Ok(()));
    let (connections, totals) = observe_with(Limits::default(), &packets);
    assert_eq!((connections.len(), totals.packets), (65, 1366));
    let mut servers: Vec<SocketAddr> = connections.iter().map(|connection| connection.server).collect();
    servers.sort();
    servers.dedup();
    assert_eq!(servers.len(), 6);
    let mut requests = 0;
    for connection in &connections {
        let Content::Http2(http2) = &connection.content else {
            panic!("{connection:?}");
        };
        assert!(http2.preface.is_some());
        requests += http2.streams;
        assert_eq!((connection.roles, connection.start), (Roles::Syn, Start::Syn));
        assert_eq!((http2.from_client.lost, http2.from_server.lost), (None, None));
    }
    assert_eq!(requests, 73, "one connection was opened and never used");
}

#[test]
fn captures_begun_in_mid_stream_still_name_clear_http_2() {
    let (packets, _) = packets(FREE5GC);
    // Everything but the first ten packets of each connection: SYNs, prefaces, first requests.
    let mut seen = std::collections::HashMap::new();
    let late: Vec<Owned> = packets
        .into_iter()
        .filter(|packet| {
            let Some((from, to, _)) = ends(packet) else { return true };
            let count = seen.entry(from.min(to)).or_insert(0);
            *count += 1;
            *count > 10
        })
        .collect();
    let connections = observe(&late);
    let carrying: Vec<_> = connections
        .iter()
        .filter(|connection| connection.content != Content::Nothing)
        .collect();
    assert!(carrying.len() > 50);
    for connection in carrying {
        // A frame alone, that nothing answers, may be of another protocol.
        let alone = connection.from_client.stream.bytes + connection.from_server.stream.bytes < 20;
        let named = matches!(connection.content, Content::Http2(_));
        assert!(named || alone, "{connection:?}");
        assert_eq!(connection.start, Start::Midstream);
        assert_eq!(connection.server.port(), 8000);
    }
}

#[test]
fn connections_beyond_the_limit_are_counted_and_the_others_are_whole() {
    let (packets, _) = packets(OPENSSL);
    // One connection that never ends is enough to take the only place.
    let limits = Limits {
        connections: 1,
        ..Limits::default()
    };
    let without_ends: Vec<Owned> = packets
        .iter()
        .filter(|packet| !ends(packet).is_some_and(|(_, _, ends)| ends))
        .cloned()
        .collect();
    let (connections, totals) = observe_with(limits, &without_ends);
    assert_eq!(connections.len(), 1);
    assert!(totals.untracked > 100);
    assert!(tls(&connections[0]).server_hello.is_some());
    assert_eq!(connections[0].ending, Ending::Open);
}

#[test]
fn last_acknowledgements_do_not_look_like_new_connections() {
    let (_, totals) = observe_with(Limits::default(), &packets(OPENSSL).0);
    assert_eq!(totals.connections, 16);
}

#[test]
fn the_same_ports_used_again_are_another_connection() {
    let (packets, _) = packets(OPENSSL);
    let first = observe(&packets).first().cloned().unwrap();
    let of_first: Vec<Owned> = packets
        .iter()
        .filter(|packet| ends(packet).is_some_and(|(from, to, _)| from == first.client || to == first.client))
        .cloned()
        .collect();
    // Once without its end, then from other sequence numbers.
    let mut again: Vec<Owned> = of_first
        .iter()
        .filter(|packet| !ends(packet).unwrap().2)
        .cloned()
        .collect();
    for packet in &of_first {
        let mut moved = packet.clone();
        let sequence = u32::from_be_bytes(moved.data[38..42].try_into().unwrap()).wrapping_add(0x1234_5678);
        moved.data[38..42].copy_from_slice(&sequence.to_be_bytes());
        again.push(moved);
    }
    let connections = observe(&again);
    assert_eq!(connections.len(), 2);
    assert_eq!(connections[0].ending, Ending::Replaced);
    assert_eq!(connections[0].client, connections[1].client);
    assert!(
        connections
            .iter()
            .all(|connection| tls(connection).server_hello.is_some())
    );
}

#[test]
fn what_is_not_tcp_is_counted_by_what_it_is() {
    let frame = |protocol: u8, payload: &[u8]| {
        let mut data = vec![0; 12];
        data.extend([0x08, 0x00, 0x45, 0]);
        data.extend(u16::try_from(20 + payload.len()).unwrap().to_be_bytes());
        data.extend([0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        data.extend(payload);
        Owned {
            number: 1,
            time: Timestamp(0),
            link: link::LinkType::ETHERNET,
            original_length: u32::try_from(data.len()).unwrap(),
            data,
        }
    };
    let (_, totals) = observe_with(
        Limits::default(),
        &[
            frame(132, &[0x95, 0xb0, 0x95, 0xb0, 0, 0, 0, 7, 0, 0, 0, 0]),
            frame(50, b"esp of spi 0x65737020"),
            frame(17, &[0x01, 0xf4, 0x01, 0xf4, 0, 0, 0, 0]),
            frame(17, &[0x12, 0x34, 0x00, 0x35, 0, 0, 0, 0]),
            frame(1, b"\x08\0\0\0icmp"),
            frame(6, b"too short"),
        ],
    );
    let counted: Vec<_> = totals
        .unread
        .iter()
        .map(|(what, captured)| (*what, captured.packets))
        .collect();
    assert_eq!((totals.associations, totals.ike_sas, totals.esp_sas), (0, 0, 1));
    assert_eq!(counted, [(Unread::Protocol(1), 1), (Unread::SctpControl, 1)]);
}

/// Sender, receiver, and whether the packet ends a connection.
fn ends(packet: &Owned) -> Option<(SocketAddr, SocketAddr, bool)> {
    let Network::Ip(bytes) = link::network(packet.link, &packet.data) else {
        return None;
    };
    let datagram = ip::datagram(bytes)?;
    let segment = tcp::segment(datagram.payload, datagram.missing)?;
    Some((
        SocketAddr::new(datagram.source, segment.source_port),
        SocketAddr::new(datagram.destination, segment.destination_port),
        segment.flags.fin() || segment.flags.rst(),
    ))
}

/// The handshakes alone, without the packets that carried them.
fn essence(connections: &[Connection]) -> Vec<impl PartialEq + std::fmt::Debug + use<>> {
    connections
        .iter()
        .map(|connection| {
            let tls = tls(connection);
            let hello = |hello: &Option<bartizan_wire::Seen<bartizan_wire::tls::ClientHello>>| {
                hello.as_ref().map(|seen| seen.value.clone())
            };
            let chosen = |hello: &Option<bartizan_wire::Seen<bartizan_wire::tls::ServerHello>>| {
                hello.as_ref().map(|seen| seen.value.clone())
            };
            (
                connection.server,
                hello(&tls.client_hello),
                hello(&tls.second_client_hello),
                chosen(&tls.hello_retry_request),
                chosen(&tls.server_hello),
                (tls.from_client, tls.from_server),
            )
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Neighbours of one direction swapped, packets doubled: TCP allows both, and nothing may change.
    #[test]
    fn reordered_and_repeated_segments_change_nothing(
        swaps in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
        copies in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
    ) {
        let (original, _) = packets(OPENSSL);
        let expected = essence(&observe(&original));
        let mut changed = original.clone();
        for swap in swaps {
            let index = swap.index(changed.len() - 1);
            let (one, two) = (ends(&changed[index]), ends(&changed[index + 1]));
            // Not across a connection's end, which nothing may follow; SYNs stand alone in their direction.
            let same = one.zip(two).is_some_and(|(one, two)| (one.0, one.1) == (two.0, two.1) && !one.2 && !two.2);
            if same {
                changed.swap(index, index + 1);
            }
        }
        for copy in copies {
            let index = copy.index(changed.len());
            let repeated = changed[index].clone();
            changed.insert(index + 1, repeated);
        }
        prop_assert_eq!(expected, essence(&observe(&changed)));
    }

    #[test]
    fn a_capture_cut_anywhere_gives_the_packets_before_the_cut(cut in any::<prop::sample::Index>()) {
        let cut = cut.index(OPENSSL.len());
        let (whole, _) = packets(OPENSSL);
        let (before, end) = packets(&OPENSSL[..cut]);
        prop_assert!(before.len() <= whole.len());
        prop_assert!(before.iter().zip(&whole).all(|(one, two)| one.data == two.data));
        if let Err(error) = end {
            let expected = matches!(error, CaptureError::Cut { .. } | CaptureError::Empty);
            prop_assert!(expected, "{}", error);
        }
        observe(&before);
    }

    #[test]
    fn no_changed_bytes_make_anything_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..200),
        core in any::<bool>(),
    ) {
        let mut file = if core { FREE5GC } else { OPENSSL }.to_vec();
        for (place, value) in changes {
            // The record lengths stay, or little would be left to read.
            let place = place.index(file.len());
            file[place] = value;
        }
        let (packets, _) = packets(&file);
        observe(&packets);
    }

    #[test]
    fn packets_of_any_bytes_make_nothing_panic(
        frames in prop::collection::vec((prop::sample::select(vec![0u16, 1, 101, 108, 113, 276, 9999]), prop::collection::vec(any::<u8>(), 0..120)), 0..40),
    ) {
        let packets: Vec<Owned> = frames
            .into_iter()
            .enumerate()
            .map(|(index, (link, data))| Owned {
                number: index as u64 + 1,
                time: Timestamp(0),
                link: link::LinkType(link),
                original_length: data.len() as u32,
                data,
            })
            .collect();
        observe(&packets);
    }
}
