use proptest::prelude::*;

use super::*;
use crate::datagrams::{DatagramProtocol, recognise};

fn on(ports: [u16; 2], payload: &[u8]) -> Udp<'_> {
    Udp {
        source_port: ports[0],
        destination_port: ports[1],
        payload,
        missing: 0,
        surplus: &[],
    }
}

fn padded(start: &[u8], length: usize) -> Vec<u8> {
    let mut bytes = start.to_vec();
    bytes.resize(length, 0);
    bytes
}

/// One message of each, on a port that tells nothing but where it must.
fn messages() -> Vec<(Named, u16, Vec<u8>)> {
    let any = 40_123;
    let snmp = |version: u8, rest: &[u8]| {
        let mut message = vec![0x30, (3 + rest.len()) as u8, 2, 1, version];
        message.extend(rest);
        message
    };
    let header = |flags: u8| [0x30, 13, 2, 1, 7, 2, 3, 0, 0xff, 0xe3, 4, 1, flags, 2, 1, 3];
    let community = b"\x04\x06public\xa0\x02\x05\x00";
    let mut dhcp = padded(&[1, 1, 6, 0], 236);
    dhcp.extend([0x63, 0x82, 0x53, 0x63, 53, 1, 1, 255]);
    vec![
        (Named::WireGuard, any, padded(&[1, 0, 0, 0], 148)),
        (Named::WireGuard, any, padded(&[2, 0, 0, 0], 92)),
        (Named::WireGuard, any, padded(&[4, 0, 0, 0, 9, 9, 9, 9, 1], 96)),
        (Named::OpenVpn, 1194, padded(&[0x38, 1, 2, 3, 4, 5, 6, 7, 8], 14)),
        (
            Named::Sip,
            any,
            b"INVITE sip:bob@example.test SIP/2.0\r\nVia: x\r\n\r\n".to_vec(),
        ),
        (Named::Sip, any, b"SIP/2.0 100 Trying\r\n\r\n".to_vec()),
        (Named::Ssdp, any, b"M-SEARCH * HTTP/1.1\r\nHOST: x\r\n\r\n".to_vec()),
        (
            Named::Radius,
            any,
            padded(
                &[
                    1, 7, 0, 25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5, b'b', b'o', b'b',
                ],
                25,
            ),
        ),
        (Named::Snmp1, any, snmp(0, community)),
        (Named::Snmp2, any, snmp(1, community)),
        (Named::Snmp3, any, snmp(3, &header(0x05))),
        (Named::Snmp3Private, any, snmp(3, &header(0x07))),
        (Named::Gtp1C, 2123, vec![0x32, 1, 0, 6, 0, 0, 0, 0, 0, 1, 0, 0, 14, 0]),
        (Named::GtpPrime, 3386, vec![0x4e, 1, 0, 2, 0, 1, 14, 0]),
        (Named::Rtcp, any, vec![0x80, 201, 0, 1, 1, 2, 3, 4]),
        (Named::Stun, any, padded(&[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42], 20)),
        (
            Named::Dns,
            any,
            b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03amf\x04test\x00\x00\x01\x00\x01".to_vec(),
        ),
        (Named::Ntp, 123, padded(&[0x23], 48)),
        (Named::Ptp, 319, padded(&[0, 2, 0, 44], 44)),
        (
            Named::Syslog,
            any,
            b"<34>1 2026-01-01T00:00:00Z host su - - - failed".to_vec(),
        ),
        (Named::Dhcp, any, dhcp),
        (Named::Nfapi, any, padded(&[0, 1, 0, 0x82, 0, 30], 30)),
        (Named::Ecpri, any, padded(&[0x10, 0, 0, 12, 0, 1, 0, 0x80, 0x90], 16)),
        // A remote reset, whose fixed fields have three octets.
        (Named::Ecpri, any, vec![0x10, 6, 0, 3, 0, 1, 1]),
    ]
}

#[test]
fn each_is_recognised_by_its_structure_and_by_no_length_that_does_not_fit() {
    for (name, port, message) in messages() {
        assert_eq!(named(&on([50_000, port], &message)), Some(name), "{}", name.name());
        assert_eq!(named(&on([port, 50_000], &message)), Some(name), "{} back", name.name());
        if !matches!(
            name,
            Named::Sip
                | Named::Ssdp
                | Named::Syslog
                | Named::OpenVpn
                | Named::Dhcp
                | Named::Snmp3
                | Named::Snmp3Private
        ) {
            let short = &message[..message.len() - 1];
            let found = named(&on([50_000, port], short));
            assert_ne!(found, Some(name), "{} cut", name.name());
        }
    }
}

/// Four octets were enough for each type from 6 on.
#[test]
fn an_ecpri_message_has_at_least_the_fixed_fields_of_its_type() {
    for (kind, least) in [(1, 4), (3, 8), (4, 12), (5, 20), (6, 3), (7, 4), (8, 9), (11, 12)] {
        for (length, expected) in [(least, Some(Named::Ecpri)), (least - 1, None)] {
            let message = padded(&[0x10, kind, 0, length], 4 + usize::from(length));
            assert_eq!(named(&on([50_000, 40_123], &message)), expected, "{kind}: {length}");
        }
    }
}

#[test]
fn a_port_alone_tells_nothing() {
    for port in [53, 123, 161, 500, 514, 1194, 1812, 2123, 3386, 3478, 5060, 51820] {
        for payload in [&b"some text that is none of it"[..], &[0xa5; 40], &[0xff; 8]] {
            assert_eq!(named(&on([50_000, port], payload)), None, "{port}");
        }
    }
}

#[test]
fn rtp_is_recognised_by_its_numbers_and_not_by_one_packet() {
    let packet = |number: u16, source: u32| {
        let mut bytes = vec![0x80, 0];
        bytes.extend(number.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(source.to_be_bytes());
        bytes.extend([7; 160]);
        bytes
    };
    let judged = |packets: &[(usize, Vec<u8>)]| {
        let mut numbered = Numbered::default();
        packets.iter().for_each(|(from, bytes)| numbered.take(bytes, *from));
        numbered.is_rtp()
    };
    let good: Vec<_> = (0..5)
        .map(|number| (0, packet(65_534u16.wrapping_add(number), 7)))
        .collect();
    assert!(judged(&good) && !judged(&good[..3]));
    let mut other = good.clone();
    other.push((0, packet(3, 8)));
    assert!(!judged(&other), "another source");
    let mut other = good;
    other.push((1, b"text next to it".to_vec()));
    assert!(!judged(&other));
}

proptest! {
    #[test]
    fn anything_may_come(bytes in proptest::collection::vec(any::<u8>(), 0..200), ports in any::<[u16; 2]>(), missing in 0..2000usize) {
        let udp = Udp { missing, ..on(ports, &bytes) };
        named(&udp);
        let mut numbered = Numbered::default();
        numbered.take(&bytes, usize::from(ports[0] & 1));
    }

    #[test]
    fn a_message_cut_by_the_capture_keeps_its_name_or_loses_it(which in 0..20usize, cut in any::<prop::sample::Index>()) {
        let (name, port, message) = messages().swap_remove(which);
        let there = cut.index(message.len());
        let udp = Udp { missing: message.len() - there, ..on([50_000, port], &message[..there]) };
        let found = named(&udp);
        prop_assert!(found.is_none() || found == Some(name) || found == Some(Named::Dns), "{:?}", found);
    }
}

/// Ports that a name is looked for on, and one that tells nothing.
fn ports() -> Vec<u16> {
    let known = Named::ALL.iter().flat_map(|named| named.ports());
    known.copied().chain([2152, 8805, 40_123]).collect()
}

#[test]
fn noise_is_no_protocol_on_any_port() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = [0; 256];
    for round in 0..60_000_usize {
        for chunk in bytes.chunks_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            chunk.copy_from_slice(&state.to_be_bytes());
        }
        let datagram = &bytes[..12 + round % 240];
        for port in ports() {
            let found = recognise(&on([50_000, port], datagram));
            // Neither is called plaintext, and datagrams next to it take RTCP's name away.
            let harmless = matches!(
                found,
                None | Some(DatagramProtocol::Named(Named::OpenVpn | Named::Rtcp))
            );
            assert!(harmless, "{found:?} on {port}: {datagram:02x?}");
        }
    }
}

/// The payloads of TCP, UDP, SCTP and ESP in a capture of Ethernet frames with IPv4 or IPv6.
fn payloads(file: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = crate::CaptureReader::new();
    reader.push(file);
    let mut payloads = Vec::new();
    while let Ok(Some(packet)) = reader.next_packet() {
        let frame = packet.data;
        let (protocol, transport) = match frame.get(12..14) {
            Some([8, 0]) => (frame[23], 14 + 4 * usize::from(frame[14] & 0x0f)),
            Some([0x86, 0xdd]) => (frame[20], 54),
            _ => continue,
        };
        let header = match protocol {
            6 => 4 * usize::from(frame.get(transport + 12).map_or(0, |first| first >> 4)),
            17 | 50 => 8,
            132 => 28,
            _ => continue,
        };
        payloads.extend(frame.get(transport + header..).map(<[u8]>::to_vec));
    }
    payloads
}

#[test]
fn no_packet_of_a_recorded_protocol_gets_the_name_of_another() {
    let captures: [(&str, &[u8]); 11] = [
        ("dtls", include_bytes!("../../../tests/data/dtls.pcap")),
        ("dtls13", include_bytes!("../../../tests/data/dtls13.pcap")),
        ("e2", include_bytes!("../../../tests/data/e2-flexric-kpm.pcap")),
        (
            "n2",
            include_bytes!("../../../tests/data/n2-free5gc-two-registrations.pcap"),
        ),
        ("ssh", include_bytes!("../../../tests/data/openssh-10.0.pcap")),
        ("tls", include_bytes!("../../../tests/data/openssl-3.5.7.pcap")),
        ("proxies", include_bytes!("../../../tests/data/proxies.pcap")),
        ("quic", include_bytes!("../../../tests/data/quic.pcap")),
        (
            "sbi",
            include_bytes!("../../../tests/data/sbi-free5gc-two-registrations.pcap"),
        ),
        ("starttls", include_bytes!("../../../tests/data/starttls.pcap")),
        ("ike, esp", include_bytes!("../../../tests/data/strongswan-6.1.0.pcap")),
    ];
    for (capture, file) in captures {
        let payloads = payloads(file);
        assert!(payloads.len() > 10, "{capture}: {}", payloads.len());
        for (number, payload) in payloads.iter().filter(|payload| !payload.is_empty()).enumerate() {
            for port in ports() {
                let found = named(&on([50_000, port], payload));
                // OpenVPN's first byte is all that it shows, and it is looked for on its port
                // alone.
                let expected = matches!(found, None | Some(Named::OpenVpn)) || payload.starts_with(b"HTTP/1.1 200");
                assert!(
                    expected,
                    "{capture}, payload {number}: {found:?} on {port}: {payload:02x?}"
                );
            }
        }
    }
}

#[test]
fn no_message_of_a_named_protocol_gets_the_name_of_another_on_its_port() {
    for (name, _, message) in messages() {
        for port in ports() {
            match named(&on([50_000, port], &message)) {
                // OpenVPN's first byte is all that it shows, and it is looked for on its port
                // alone.
                None | Some(Named::OpenVpn) => {}
                Some(found) => assert_eq!(found, name, "on {port}"),
            }
        }
    }
}
