//! Frames and packets of the protocols that keep a network together, within the bounds of their
//! kinds and beyond.

use super::towards_classical::frame::{Capture, Packet};

/// A request as an attacker would like to read it.
const TEXT: &[u8] = b"GET /nudm-sdm/v2/imsi-208930000000001/am-data HTTP/1.1\r\nauthorization: Bearer eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJucmYifQ\r\n\r\n";

/// Makes frames between the hosts of a capture.
struct Between {
    like: Packet,
}

impl Between {
    fn of(capture: &Capture) -> Self {
        let like = capture.packets.iter().find(|packet| packet.bytes[12..14] == [8, 0]);
        Self {
            like: like.unwrap().clone(),
        }
    }

    fn ip(&self, protocol: u8, payload: &[u8]) -> Vec<u8> {
        let addresses: [u8; 8] = self.like.bytes[26..34].try_into().unwrap();
        ip(protocol, addresses, payload)
    }

    fn frame(&self, kind: u16, bytes: &[u8]) -> Packet {
        let bytes = [&self.like.bytes[..12], &kind.to_be_bytes(), bytes].concat();
        self.like.at_the_same_time(bytes)
    }

    fn ethernet(&self, kind: u16, bytes: &[u8]) -> Vec<u8> {
        self.frame(kind, bytes).bytes
    }
}

fn ip(protocol: u8, addresses: [u8; 8], payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0];
    bytes.extend(u16::try_from(20 + payload.len()).unwrap().to_be_bytes());
    bytes.extend([0, 9, 0, 0, 64, protocol, 0, 0]);
    bytes.extend(addresses);
    bytes.extend(payload);
    bytes
}

fn udp(ports: [u16; 2], length: usize, payload: &[u8]) -> Vec<u8> {
    let fields = [ports[0], ports[1], u16::try_from(8 + length).unwrap(), 0];
    [&fields.map(u16::to_be_bytes).concat()[..], payload].concat()
}

/// Type 3 of ICMP with the beginning of a packet.
fn error(quote: &[u8]) -> Vec<u8> {
    [&[3, 4, 0, 0, 0, 0, 5, 0][..], quote].concat()
}

/// A packet of an association that begins with it: INIT, and a chunk.
fn association(port: u8, kind: u8, value: &[u8]) -> Vec<u8> {
    let init = [1, 0, 0, 20, 0, 0, 0, 5, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 9];
    let length = u16::try_from(4 + value.len()).unwrap().to_be_bytes();
    let header = [0x9c, port, 0x96, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0];
    [&header[..], &init, &[kind, 0, length[0], length[1]], value].concat()
}

/// The same readable request in whatever is passed over by its kind.
pub(crate) fn what_housekeeping_hides(capture: &Capture) -> Vec<(&'static str, Packet)> {
    let between = Between::of(capture);
    let text = TEXT.repeat(9);
    let of_ip = |bytes: &[u8]| between.frame(0x0800, bytes);
    let in_gre = |frame: &[u8]| of_ip(&between.ip(47, &[&[0, 0, 0x65, 0x58][..], frame].concat()));
    let short = [between.ip(1, &[8, 0, 0, 0, 0, 1, 0, 1]), text.clone()].concat();
    let telnet = ip(
        6,
        [172, 16, 0, 1, 172, 16, 0, 2],
        &[
            &[0x0f, 0xa0, 0, 23, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 1, 0, 0, 0, 0, 0][..],
            &text,
        ]
        .concat(),
    );
    let mut options = between.ip(1, &[8, 0, 0, 0, 0, 1, 0, 1]);
    options[0] = 0x4f;
    options[3] += 40;
    options.splice(20..20, [&[0x5e, 40][..], &TEXT[..38]].concat());
    let channel = |kind: u8, bytes: &[u8]| {
        let labels = [0, 0x06, 0x40, 64, 0, 0, 0xd1, 64, 0x10, 0, 0, kind];
        between.frame(0x8847, &[&labels[..], bytes].concat())
    };
    // A conversation that no packet but the error's shows.
    let inner = ip(
        17,
        [172, 16, 0, 1, 172, 16, 0, 2],
        &udp([2152, 2152], text.len(), &text),
    );
    let followed = capture.packets.iter().find(|packet| packet.bytes[23] == 6).unwrap();
    let claims = [&followed.bytes[14..16], &[2, 88], &followed.bytes[18..54], &text[..548]].concat();
    vec![
        (
            "text behind a keep-alive's length",
            of_ip(&between.ip(17, &udp([4500, 4500], 1, &[&[0xff], &text[..]].concat()))),
        ),
        ("text in an error of ICMP", of_ip(&between.ip(1, &error(&text)))),
        (
            "a user's packet in an error of ICMP",
            of_ip(&between.ip(1, &error(&inner[..548]))),
        ),
        (
            "text as if of a safe connection in an error of ICMP",
            of_ip(&between.ip(1, &error(&claims))),
        ),
        (
            "text in a time stamp of ICMP",
            of_ip(&between.ip(1, &[&[13, 0, 0, 0, 0, 1, 0, 1][..], &text].concat())),
        ),
        ("text in IGMP", of_ip(&between.ip(2, &text))),
        (
            "text in a report of IGMP",
            of_ip(&between.ip(2, &[&[0x22, 0, 0, 0, 0, 0, 0, 9][..], &text].concat())),
        ),
        ("text in ARP", between.frame(0x0806, &text)),
        ("text in a loopback test", between.frame(0x9000, &text)),
        ("text in a pause in GRE", in_gre(&between.ethernet(0x8808, &text))),
        ("text in a slow protocol", between.frame(0x8809, &text)),
        ("text in CFM", between.frame(0x8902, &text)),
        ("text in LLDP", between.frame(0x88cc, &text)),
        (
            "text in PPPoE discovery",
            between.frame(0x8863, &[&[0x11, 0xa7, 0, 0, 4, 0][..], &text].concat()),
        ),
        ("text behind a packet in its frame", of_ip(&short)),
        (
            "text behind a packet in a frame in GRE",
            in_gre(&between.ethernet(0x0800, &short)),
        ),
        (
            "text behind the length of a spanning tree",
            between.frame(38, &[&[0x42, 0x42, 3][..], &[0; 35], &text].concat()),
        ),
        ("text in options of IPv4", of_ip(&options)),
        ("telnet in a channel of MPLS", channel(0x21, &telnet)),
        ("what managers say in a channel of MPLS", channel(1, &text)),
        ("text in a channel of BFD", channel(7, &text)),
        (
            "text in a HEARTBEAT",
            of_ip(&between.ip(132, &association(0x51, 4, &[&[0, 1, 4, 0][..], &text].concat()))),
        ),
        (
            "text in a PAD chunk",
            of_ip(&between.ip(132, &association(0x52, 132, &text))),
        ),
    ]
}

/// Housekeeping as networks have it.
pub(crate) fn housekeeping(capture: &Capture) -> Vec<(&'static str, Packet)> {
    let between = Between::of(capture);
    let of_ip = |bytes: &[u8]| between.frame(0x0800, bytes);
    let arp = [0; 28];
    let mut with_alert = between.ip(2, &[0x16, 0, 0, 0, 239, 1, 2, 3]);
    with_alert[0] = 0x46;
    with_alert[3] += 4;
    with_alert.splice(20..20, [0x94, 4, 0, 0]);
    let continuity = [&[0x40, 1, 4, 70][..], &[3; 70], &[0]].concat();
    let largest = capture.packets.iter().max_by_key(|packet| packet.bytes.len()).unwrap();
    let mut short = between.ip(1, &[8, 0, 0, 0, 0, 1, 0, 1]);
    short.extend(&TEXT[..18]);
    vec![
        ("ARP", between.frame(0x0806, &arp)),
        (
            "ARP that its sender padded",
            between.frame(0x0806, &[&arp, &TEXT[..18]].concat()),
        ),
        (
            "an error of ICMP",
            of_ip(&between.ip(1, &error(&largest.bytes[14..42]))),
        ),
        (
            "an error of ICMP of Linux",
            of_ip(&between.ip(1, &error(&largest.bytes[14..14 + 548]))),
        ),
        ("a report with a router alert", of_ip(&with_alert)),
        ("a frame that its sender padded", of_ip(&short)),
        ("BFD in a channel of MPLS", {
            let bytes = [
                0, 0x06, 0x40, 64, 0, 0, 0xd1, 64, 0x10, 0, 0, 7, 0x20, 0xc0, 3, 24, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0,
                9, 0, 0, 0, 9, 0, 0, 0, 0,
            ];
            between.frame(0x8847, &bytes)
        }),
        ("CFM", between.frame(0x8902, &continuity)),
    ]
}
