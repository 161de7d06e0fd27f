use proptest::prelude::*;

use bartizan_registry::QUIC_VERSIONS;

use super::*;
use crate::Timestamp;

fn on(port: u16, payload: &[u8]) -> Udp<'_> {
    Udp {
        source_port: 40_000,
        destination_port: port,
        payload,
        missing: 0,
        surplus: &[],
    }
}

/// A G-PDU with a PDU session container, as N3 has it, around `inner`.
fn g_pdu(inner: &[u8]) -> Vec<u8> {
    let mut message = vec![0x34, 255];
    message.extend(u16::try_from(inner.len() + 8).unwrap().to_be_bytes());
    message.extend([0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0x10, 1, 0]);
    message.extend(inner);
    message
}

fn ipv4() -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 24, 0, 0, 0, 0, 64, 17, 0, 0, 10, 60, 0, 1, 8, 8, 8, 8];
    packet.extend([1, 2, 3, 4]);
    packet
}

fn end(host: &str) -> End {
    End::Socket(host.parse().unwrap())
}

fn moment(packet: u64) -> Moment {
    Moment {
        packet,
        time: Timestamp(packet),
    }
}

#[test]
fn protocols_are_recognised_by_port_and_header_together() {
    let tunnel = g_pdu(&ipv4());
    assert_eq!(recognise(&on(2152, &tunnel)), Some(DatagramProtocol::GtpU));
    assert_eq!(recognise(&on(2153, &tunnel)), None);
    // Heartbeat Request with a recovery time stamp.
    let heartbeat = [0x20, 1, 0, 12, 0, 0, 1, 0, 0, 96, 0, 4, 1, 2, 3, 4];
    assert_eq!(recognise(&on(8805, &heartbeat)), Some(DatagramProtocol::Pfcp));
    assert_eq!(recognise(&on(8805, &heartbeat[..15])), None, "shorter than it says");
    assert_eq!(recognise(&on(2152, &heartbeat)), None);
    // Echo Request with a restart counter.
    let echo = [0x40, 1, 0, 9, 0, 0, 1, 0, 3, 0, 1, 0, 7];
    assert_eq!(recognise(&on(2123, &echo)), Some(DatagramProtocol::GtpC));
    for version in QUIC_VERSIONS {
        let mut initial = vec![0xc3];
        initial.extend(version.version.to_be_bytes());
        initial.extend([8, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0]);
        assert_eq!(recognise(&on(443, &initial)), Some(DatagramProtocol::Quic));
        assert_eq!(
            recognise(&on(8443, &initial)),
            Some(DatagramProtocol::Quic),
            "on any port"
        );
        initial[0] = 0x83;
        assert_eq!(recognise(&on(443, &initial)), None, "its fixed bit is not set");
    }
}

#[test]
fn bytes_behind_a_message_of_gtp_u_are_no_part_of_it() {
    let mut tunnel = g_pdu(&ipv4());
    let message = tunnel.len();
    for padding in [1, 6, 46] {
        tunnel.resize(message + padding, 0);
        assert_eq!(recognise(&on(2152, &tunnel)), Some(DatagramProtocol::GtpU), "{padding}");
        let (_, carried, missing) = carried_by(&on(2152, &tunnel)).unwrap();
        assert!(is_ip(carried, missing) && carried == ipv4(), "{padding}");
    }
    tunnel.resize(message + 47, 0);
    assert_eq!(recognise(&on(2152, &tunnel)), None);
}

#[test]
fn a_users_packet_in_a_tunnel_is_distinguished_from_one_that_is_encrypted_above() {
    let source = end("10.0.0.1:2152");
    let destination = end("10.0.0.2:2152");
    let mut seen = Datagrams::new(
        1,
        DatagramProtocol::GtpU,
        Path::default(),
        [source, destination],
        moment(1),
    );
    seen.datagram(source, &on(2152, &g_pdu(&[0x80; 60])), moment(1));
    assert_eq!((seen.user_packets, seen.user_packets_in_plaintext), (1, 0));
    seen.datagram(destination, &on(2152, &g_pdu(&ipv4())), moment(2));
    assert_eq!((seen.user_packets, seen.user_packets_in_plaintext), (2, 1));
    assert_eq!(seen.first_in_plaintext, Some(moment(2)));
    assert_eq!((seen.from_client.packets, seen.from_server.packets), (1, 1));
}

/// A message of PFCP or GTPv2-C: flags, type, session or tunnel as it stands there, and what follows.
fn control(flags: u8, kind: u8, endpoint: &[u8], rest: &[u8]) -> Vec<u8> {
    let mut message = vec![flags, kind];
    message.extend(u16::try_from(endpoint.len() + rest.len()).unwrap().to_be_bytes());
    message.extend([endpoint, rest].concat());
    message
}

#[test]
fn messages_are_counted_by_type_and_by_the_session_they_are_for() {
    let source = end("10.0.0.1:8805");
    let destination = end("10.0.0.2:8805");
    let mut seen = Datagrams::new(
        1,
        DatagramProtocol::Pfcp,
        Path::default(),
        [source, destination],
        moment(1),
    );
    // No session is known yet to the end that is asked; then two messages in one datagram.
    let establish = control(0x21, 50, &[0; 8], &[0, 0, 1, 0]);
    let answer = control(0x21, 51, &[0, 0, 0, 0, 0, 0, 0, 7], &[0, 0, 1, 0]);
    let both = [
        control(0x25, 52, &[0, 0, 0, 0, 0, 0, 1, 9], &[0, 0, 2, 0]),
        control(0x20, 1, &[], &[0, 0, 3, 0]),
    ]
    .concat();
    for (sender, payload) in [(source, establish), (destination, answer), (source, both)] {
        seen.datagram(sender, &on(8805, &payload), moment(1));
    }
    assert_eq!(
        seen.messages.types,
        [(50, [1, 0]), (51, [0, 1]), (52, [1, 0]), (1, [1, 0])]
    );
    assert_eq!(seen.messages.endpoints, [vec![(0x109, 1)], vec![(7, 1)]]);
    assert_eq!(seen.controlled_by, Some(Side::Client));

    let mut seen = Datagrams::new(
        1,
        DatagramProtocol::GtpC,
        Path::default(),
        [source, destination],
        moment(1),
    );
    let piggybacked = [
        control(0x58, 33, &[0, 0, 0, 5], &[0, 0, 1, 0]),
        control(0x48, 95, &[0, 0, 0, 5], &[0, 0, 2, 0]),
    ]
    .concat();
    seen.datagram(destination, &on(2123, &piggybacked), moment(1));
    seen.datagram(source, &on(2123, &control(0x40, 1, &[], &[0, 0, 3, 0])), moment(2));
    assert_eq!(seen.messages.types, [(33, [0, 1]), (95, [0, 1]), (1, [1, 0])]);
    assert_eq!(seen.messages.endpoints, [vec![], vec![(5, 2)]]);
}

#[test]
fn more_types_and_tunnels_than_are_named_are_counted_together() {
    let source = end("10.0.0.1:2152");
    let destination = end("10.0.0.2:2152");
    let mut seen = Datagrams::new(
        1,
        DatagramProtocol::GtpU,
        Path::default(),
        [source, destination],
        moment(1),
    );
    for number in 0..100u8 {
        let message = [&[0x30, number, 0, 0][..], &[0, 0, 1, number]].concat();
        seen.datagram(source, &on(2152, &message), moment(1));
    }
    assert_eq!((seen.messages.types.len(), seen.messages.other_types), (32, 68));
    assert_eq!(
        (seen.messages.endpoints[0].len(), seen.messages.other_endpoints),
        (16, [84, 0])
    );
    assert!(seen.messages.held() < 2000);
}

#[test]
fn who_establishes_sessions_is_the_control_plane() {
    let source = end("10.0.0.1:8805");
    let destination = end("10.0.0.2:8805");
    for (sender, kind, expected) in [
        (source, 50, Some(Side::Client)),
        (destination, 50, Some(Side::Server)),
        (destination, 51, Some(Side::Client)),
        (source, 1, None),
    ] {
        let mut seen = Datagrams::new(
            1,
            DatagramProtocol::Pfcp,
            Path::default(),
            [source, destination],
            moment(1),
        );
        seen.datagram(sender, &on(8805, &[0x21, kind, 0, 0]), moment(1));
        assert_eq!(seen.controlled_by, expected);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_taken_without_a_fault(
        port in prop::sample::select(vec![2152u16, 8805, 2123, 443]),
        payload in prop::collection::vec(any::<u8>(), 0..200),
        missing in 0usize..100,
    ) {
        let udp = Udp { missing, ..on(port, &payload) };
        let protocol = recognise(&udp).unwrap_or(DatagramProtocol::GtpU);
        let source = end("10.0.0.1:1");
        let mut seen = Datagrams::new(1, protocol, Path::default(), [source, end("10.0.0.2:2")], moment(1));
        seen.datagram(source, &udp, moment(1));
        prop_assert!(seen.user_packets_in_plaintext <= seen.user_packets);
    }
}
