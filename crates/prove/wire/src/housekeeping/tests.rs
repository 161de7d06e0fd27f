//! Messages within the bounds of their kinds, and beyond.

use super::*;

const TEXT: &[u8] =
    b"GET /nudm-sdm/v2/imsi-208930000000001/am-data HTTP/1.1\r\nAuthorization: Bearer eyJhbGciOi\r\n\r\n";

fn echo(data: &[u8]) -> Vec<u8> {
    [&[8, 0, 0, 0, 0, 1, 0, 1][..], data].concat()
}

fn is_own(bounds: Bounds<u8>, message: &[u8]) -> bool {
    content(bounds, message[0], message) == Content::Own
}

fn packet(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = (20 + payload.len() as u16).to_be_bytes();
    let mut packet = vec![0x45, 0, length[0], length[1], 0x1c, 0x46, 0x40, 0, 64, protocol, 0, 0];
    packet.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(payload);
    packet
}

/// The header of a TCP segment with twenty octets of options.
fn tcp() -> Vec<u8> {
    let header = [0x9c, 0x42, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0xa0, 2, 1, 0, 0, 0, 0, 0];
    [
        &header[..],
        &[2, 4, 5, 0xb4, 4, 2, 8, 10, 0x5a, 1, 2, 3, 0, 0, 0, 0, 1, 3, 3, 7],
    ]
    .concat()
}

#[test]
fn what_programs_fill_echoes_with_is_no_users_data() {
    // Linux and BSD: a time, then bytes that count; Windows: letters; Cisco: 0xabcd; zeros; one letter.
    let linux: Vec<u8> = [0x5a; 16].into_iter().chain(0x10..0x38).collect();
    let long: Vec<u8> = (0..1472).map(|place| place as u8).collect();
    let windows: Vec<u8> = (0..1024).map(|place| b'a' + (place % 23) as u8).collect();
    let cisco: Vec<u8> = [0x11; 12].into_iter().chain([0xab, 0xcd].repeat(30)).collect();
    for data in [
        &linux[..],
        &long,
        &windows[..32],
        &windows,
        &cisco,
        &[0; 64],
        &[b'X'; 120],
        b"",
        b"short",
    ] {
        assert!(is_own(ICMP, &echo(data)), "{data:02x?}");
    }
}

#[test]
fn messages_of_networks_are_their_own() {
    let error = |quote: &[u8]| [&[3, 3, 0, 0, 0, 0, 0, 0][..], quote].concat();
    let echo = echo(&[&[0x5a; 16][..], &(0x10..0x38).collect::<Vec<_>>()].concat());
    // A header of TCP with options; labels behind a packet that zeros fill up to 128 octets.
    let syn = error(&packet(6, &tcp()));
    let labels = [0x20, 0, 0x12, 0x34, 0, 8, 1, 1, 0x12, 0x34, 0x51, 1];
    let traced = error(&[&packet(17, &[7; 28])[..], &[0; 80], &labels].concat());
    for message in [
        &echo[..],
        &syn,
        &traced,
        &error(&packet(17, &[7; 8])),
        &error(&packet(17, &TEXT[..QUOTED])),
        &error(b""),
        &[13, 0, 0, 0, 0, 1, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
        &[9, 0, 0, 0, 2, 2, 7, 8, 10, 0, 0, 1, 0, 0, 0, 0, 10, 0, 0, 2, 0, 0, 0, 1],
        &[
            42, 0, 0, 0, 0, 1, 1, 1, 0x20, 0, 0, 0, 0, 8, 3, 1, b'e', b't', b'h', b'0',
        ],
    ] {
        assert!(is_own(ICMP, message), "{message:02x?}");
    }
    let address = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x2a, 1, 2, 0xff, 0xfe, 3, 4, 5];
    let link_layer = [1, 1, 2, 0, 0, 0, 0, 1];
    let solicitation = [
        &[135, 0, 0, 0, 0, 0, 0, 0][..],
        &address,
        &link_layer,
        &[14, 1, 1, 2, 3, 4, 5, 6],
    ];
    let prefix = [&[3, 4, 64, 0xc0][..], &[0xff; 8], &[0; 4], &address].concat();
    let servers = [&[25, 5, 0, 0, 0, 0, 4, 0xb0][..], &address, &address].concat();
    let advertisement = [
        &[134, 0, 0, 0, 64, 0, 7, 8][..],
        &[0; 8],
        &link_layer,
        &prefix,
        &servers,
    ];
    let group = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 3, 4, 5];
    let record = [&[4, 0, 0, 0][..], &group].concat();
    let of_a_source = [&[1, 0, 0, 1][..], &group, &address].concat();
    let report = [&[143, 0, 0, 0, 0, 0, 0, 21][..], &record.repeat(20), &of_a_source];
    let redirected = [&[4, 9, 0, 0, 0, 0, 0, 0][..], &[0x60; 64]].concat();
    let redirect = [
        &[137, 0, 0, 0, 0, 0, 0, 0][..],
        &address,
        &address,
        &[2],
        &link_layer[1..],
        &redirected,
    ];
    for message in [
        solicitation.concat(),
        advertisement.concat(),
        report.concat(),
        redirect.concat(),
    ] {
        assert!(is_own(ICMPV6, &message), "{message:02x?}");
    }
    let record = [4, 0, 0, 0, 239, 1, 2, 3];
    let report = [&[0x22, 0, 0, 0, 0, 0, 0, 40][..], &record.repeat(40)].concat();
    let query = [&[0x11, 100, 0, 0, 239, 1, 2, 3, 2, 125, 0, 1][..], &[10, 0, 0, 9]].concat();
    for message in [&report[..], &query, &[0x16, 0, 0, 0, 239, 1, 2, 3]] {
        assert!(is_own(IGMP, message), "{message:02x?}");
    }
}

#[test]
fn frames_of_networks_are_their_own() {
    let aggregation = [
        &[1, 1, 1, 20][..],
        &TEXT[..18],
        &[2, 20],
        &TEXT[..18],
        &[3, 16],
        &[0; 66],
    ]
    .concat();
    let mut neighbour = vec![2, 7, 4, 2, 0, 0, 0, 0, 1, 4, 5, 5, b'g', b'e', b'-', b'0', 6, 2, 0, 120];
    neighbour.extend([12, TEXT.len() as u8]);
    neighbour.extend(TEXT);
    neighbour.extend([0xfe, 6, 0, 0x80, 0xc2, 1, 0, 1, 0, 0]);
    let continuity = [&[0x40, 1, 4, 70][..], &[3; 70], &[0]].concat();
    let pause = [&[0, 1, 0xff, 0xff][..], &[0; 42]].concat();
    let loopback: Vec<u8> = (0..1500).map(|place| place as u8).collect();
    // Some senders fill the smallest frame with what was in memory.
    let arp = [&[0, 1, 8, 0, 6, 4, 0, 1][..], &[9; 20], &TEXT[..18]].concat();
    for (kind, frame) in [
        (0x8809, &aggregation[..]),
        (0x88cc, &neighbour),
        (0x8902, &continuity),
        (0x8808, &pause),
        (0x9000, &loopback),
        (0x0806, &arp),
        (0x0806, &[0; 28]),
    ] {
        assert!(is_within_frame(FrameProtocol::Type(kind), frame), "0x{kind:04x}");
    }
    assert!(is_within_frame(FrameProtocol::Llc(0x42), &[0x42; 38]));
    assert!(is_trailer(&TEXT[..30]) && is_trailer(&[0; 400]) && !is_trailer(TEXT));
}

#[test]
fn chunks_of_associations_are_their_own() {
    // Addresses, times and nonces of Linux and of usrsctp; paddings that look for the size of a path.
    for (kind, value) in [
        (kind::HEARTBEAT, &[&[0, 1, 0, 56][..], &TEXT[..52]].concat()[..]),
        (kind::HEARTBEAT_ACK, &[&[0, 1, 0, 100][..], &TEXT[..90]].concat()),
        (kind::PAD, &[0; 1400]),
        (kind::PAD, &[0xa5; 1400]),
        (kind::COOKIE_ECHO, &TEXT.repeat(8)),
        (kind::SHUTDOWN_ACK, &[]),
    ] {
        assert!(is_within_chunk(kind, value), "{kind}");
    }
    assert!(!is_within_chunk(kind::HEARTBEAT, &TEXT.repeat(4)));
    assert!(!is_within_chunk(kind::PAD, TEXT));
}

#[test]
fn a_packet_in_an_echo_is_a_users_data() {
    let packet = packet(6, &[&tcp()[..], TEXT].concat());
    assert!(!is_own(ICMP, &echo(&packet)));
    let mut answer = echo(&packet);
    answer[0] = 129;
    assert!(!is_own(ICMPV6, &answer));
}

#[test]
fn content_behind_what_is_a_messages_own_is_a_users_data() {
    for kind in (0..=43).filter(|kind| bound(ICMP, *kind).is_some()) {
        assert!(
            !is_own(ICMP, &[&[kind, 0, 0, 0, 0, 0, 0, 0][..], TEXT].concat()),
            "{kind}"
        );
    }
    let long = TEXT.repeat(4);
    for kind in (1..=161).filter(|kind| bound(ICMPV6, *kind).is_some()) {
        let text = [&[kind, 0, 0, 0, 0, 0, 0, 0][..], &long].concat();
        assert!(!is_own(ICMPV6, &text), "{kind}");
    }
    for kind in 0..=u8::MAX {
        assert!(
            !is_own(IGMP, &[&[kind, 0, 0, 0, 0, 0, 0, 0][..], TEXT].concat()),
            "{kind}"
        );
    }
    let frames = FrameProtocol::named().filter(|frame| is_frame(*frame));
    for frame in frames {
        assert!(!is_within_frame(frame, &TEXT.repeat(10)), "{frame:?}");
    }
}

#[test]
fn an_error_that_quotes_more_than_headers_names_its_packet() {
    let request = packet(6, &[&tcp()[..], TEXT].concat());
    let error = [&[11, 0, 0, 0, 0, 0, 0, 0][..], &request[..80]].concat();
    let Content::Quote(quoted) = content(ICMP, 11, &error) else {
        panic!("no quote")
    };
    assert_eq!((quoted.protocol, quoted.payload.len()), (6, 60));
    assert_eq!(quoted.missing, request.len() - 80);
    // Text behind a short packet, and text that is no packet.
    let behind = [&error[..8], &packet(17, &[7; 8]), &TEXT.repeat(2)].concat();
    assert_eq!(content(ICMP, 11, &behind), Content::Anything);
    assert_eq!(
        content(ICMP, 11, &[&error[..8], &TEXT[4..]].concat()),
        Content::Anything
    );
}

/// Sources of a record and units of an option are lengths that a sender chooses.
#[test]
fn a_length_within_an_item_hides_no_text() {
    for (bounds, message) in [
        (
            IGMP,
            [
                &[0x22, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0xff, 0xff, 224, 0, 0, 22][..],
                &TEXT.repeat(20),
            ]
            .concat(),
        ),
        (
            IGMP,
            [
                &[0x22, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 0, 224, 0, 0, 22][..],
                &TEXT.repeat(20),
            ]
            .concat(),
        ),
        (
            ICMPV6,
            [
                &[143, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0xff, 0xff][..],
                &[0xff; 16],
                &TEXT.repeat(20),
            ]
            .concat(),
        ),
        (ICMPV6, [&[135; 1][..], &[0; 23], &[14, 40], &TEXT.repeat(20)].concat()),
    ] {
        assert!(!is_own(bounds, &message), "{:x?}", &message[..16]);
    }
}

#[test]
fn unassigned_types_are_a_users_data() {
    for (bounds, kind, known) in [
        (ICMP, 3, true),
        (ICMP, 13, true),
        (ICMP, 254, false),
        (ICMPV6, 135, true),
        (ICMPV6, 143, true),
        (ICMPV6, 200, false),
    ] {
        assert_eq!(is_own(bounds, &[kind, 0, 0, 0, 0, 0, 0, 0]), known, "{kind}");
    }
}
