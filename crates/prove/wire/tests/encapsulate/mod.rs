//! Packets put into tags and tunnels, as their standards write them.

/// A way to carry an IP packet in an Ethernet frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Around {
    Nothing,
    Vlan(u16),
    TwoVlans(u16, u16),
    Mpls(&'static [u32]),
    PseudoWire { control_word: bool },
    Backbone(u32),
    Snap,
    Pppoe(u16),
    MacSecUnencrypted,
    IpInIp,
    SixInFour,
    Gre(Option<u32>),
    GreEthernet(u32),
    Pptp(u16),
    Erspan(u8),
    EtherIp,
    MplsInUdp(u32),
    Ah,
    Vxlan(u32),
    VxlanGpe(u32),
    Geneve(u32),
    Gue,
    GtpU(u32),
    L2tp2(u16),
    L2tp3 { session: u32, over_udp: bool },
    Lisp,
    Teredo,
    Tzsp,
    Nsh,
}

/// All of them, with numbers.
pub(crate) const ALL: [Around; 35] = [
    Around::Vlan(7),
    Around::TwoVlans(100, 7),
    Around::Mpls(&[16]),
    Around::Mpls(&[20_000, 7, 99_999, 17]),
    Around::PseudoWire { control_word: true },
    Around::PseudoWire { control_word: false },
    Around::Backbone(0x00ab_cdef),
    Around::Snap,
    Around::Pppoe(9),
    Around::MacSecUnencrypted,
    Around::IpInIp,
    Around::SixInFour,
    Around::Gre(None),
    Around::Gre(Some(0xdead_beef)),
    Around::GreEthernet(5),
    Around::Pptp(3),
    Around::Erspan(1),
    Around::Erspan(2),
    Around::Erspan(3),
    Around::EtherIp,
    Around::MplsInUdp(18),
    Around::Ah,
    Around::Vxlan(5001),
    Around::VxlanGpe(5002),
    Around::Geneve(5003),
    Around::Gue,
    Around::GtpU(0x1234_5678),
    Around::L2tp2(11),
    Around::L2tp3 {
        session: 12,
        over_udp: false,
    },
    Around::L2tp3 {
        session: 13,
        over_udp: true,
    },
    Around::Lisp,
    Around::Teredo,
    Around::Tzsp,
    Around::Nsh,
    Around::Nothing,
];

const OUTER: [[u8; 4]; 2] = [[192, 0, 2, 1], [192, 0, 2, 2]];

/// An Ethernet frame with a payload of this type; `back` turns its direction.
pub(crate) fn frame(kind: u16, payload: &[u8], back: bool) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1 + u8::from(back), 2, 0, 0, 0, 0, 2 - u8::from(back)];
    frame.extend(kind.to_be_bytes());
    frame.extend(payload);
    frame
}

fn kind_of(packet: &[u8]) -> u16 {
    if packet[0] >> 4 == 4 { 0x0800 } else { 0x86dd }
}

fn ethernet(packet: &[u8], back: bool) -> Vec<u8> {
    frame(kind_of(packet), packet, back)
}

/// An IPv4 packet between the ends of a tunnel.
pub(crate) fn ipv4(protocol: u8, payload: &[u8], back: bool) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend(u16::try_from(20 + payload.len()).unwrap().to_be_bytes());
    packet.extend([0, 1, 0x40, 0, 64, protocol, 0, 0]);
    packet.extend(OUTER[usize::from(back)]);
    packet.extend(OUTER[usize::from(!back)]);
    let sum: u32 = packet
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let check = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[10..12].copy_from_slice(&check.to_be_bytes());
    packet.extend(payload);
    packet
}

/// A datagram; tunnels of which only the receiver's port is known have another sender's.
fn udp(port: u16, payload: &[u8], back: bool) -> Vec<u8> {
    let mut datagram = 49_152u16.to_be_bytes().to_vec();
    datagram.extend(port.to_be_bytes());
    datagram.extend(u16::try_from(8 + payload.len()).unwrap().to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    ipv4(17, &datagram, back)
}

fn labels(labels: &[u32], payload: &[u8]) -> Vec<u8> {
    let mut stack = Vec::new();
    for (index, label) in labels.iter().enumerate() {
        let bottom = u32::from(index + 1 == labels.len());
        stack.extend((label << 12 | bottom << 8 | 64).to_be_bytes());
    }
    stack.extend(payload);
    stack
}

fn behind(header: &[u8], payload: &[u8]) -> Vec<u8> {
    [header, payload].concat()
}

fn word(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

impl Around {
    /// An Ethernet frame with the IP packet in it; `back` says that the sender is the other end.
    pub(crate) fn frame(self, packet: &[u8], back: bool) -> Vec<u8> {
        let inner = ethernet(packet, back);
        let in_ip = |packet: Vec<u8>| frame(0x0800, &packet, back);
        let vni = |flags: u32, vni: u32, payload: &[u8]| behind(&[word(flags), word(vni << 8)].concat(), payload);
        match self {
            Self::Nothing => inner,
            Self::Vlan(id) => frame(0x8100, &behind(&id.to_be_bytes(), &inner[12..]), back),
            Self::TwoVlans(outer, id) => {
                let tagged = Self::Vlan(id).frame(packet, back);
                frame(0x88a8, &behind(&outer.to_be_bytes(), &tagged[12..]), back)
            }
            Self::Mpls(stack) => frame(0x8847, &labels(stack, packet), back),
            Self::PseudoWire { control_word } => {
                let word: &[u8] = if control_word { &[0, 0, 0, 7] } else { &[] };
                frame(0x8847, &labels(&[16, 17], &behind(word, &inner)), back)
            }
            Self::Backbone(service) => frame(0x88e7, &behind(&word(service), &inner), back),
            Self::Snap => {
                let mut snap = vec![0xaa, 0xaa, 3, 0, 0, 0];
                snap.extend(&inner[12..]);
                frame(u16::try_from(snap.len()).unwrap(), &snap, back)
            }
            Self::Pppoe(session) => {
                let length = u16::try_from(packet.len() + 2).unwrap().to_be_bytes();
                let kind: [u8; 2] = if packet[0] >> 4 == 4 { [0, 0x21] } else { [0, 0x57] };
                let header = [&[0x11, 0][..], &session.to_be_bytes(), &length, &kind].concat();
                frame(0x8864, &behind(&header, packet), back)
            }
            Self::MacSecUnencrypted => {
                let header = [0x20, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 0, 1];
                let sealed = [&header[..], &inner[12..], &[0xee; 16]].concat();
                frame(0x88e5, &sealed, back)
            }
            Self::IpInIp => in_ip(ipv4(4, packet, back)),
            Self::SixInFour => in_ip(ipv4(41, packet, back)),
            Self::Gre(None) => in_ip(ipv4(
                47,
                &behind(&[0, 0, (kind_of(packet) >> 8) as u8, kind_of(packet) as u8], packet),
                back,
            )),
            Self::Gre(Some(key)) => {
                // A checksum, a key and a sequence number.
                let kind = kind_of(packet).to_be_bytes();
                let header = [&[0xb0, 0][..], &kind, &[1, 2, 0, 0], &word(key), &[0, 0, 0, 1]].concat();
                in_ip(ipv4(47, &behind(&header, packet), back))
            }
            Self::GreEthernet(key) => in_ip(ipv4(
                47,
                &behind(&[&[0x20, 0, 0x65, 0x58][..], &word(key)].concat(), &inner),
                back,
            )),
            Self::Pptp(call) => {
                let ppp = behind(&[0xff, 0x03, 0, if packet[0] >> 4 == 4 { 0x21 } else { 0x57 }], packet);
                let length = u16::try_from(ppp.len()).unwrap().to_be_bytes();
                let header = [
                    &[0x30, 0x81, 0x88, 0x0b][..],
                    &length,
                    &call.to_be_bytes(),
                    &[0, 0, 0, 1, 0, 0, 0, 1],
                ]
                .concat();
                in_ip(ipv4(47, &behind(&header, &ppp), back))
            }
            Self::Erspan(1) => in_ip(ipv4(47, &behind(&[0, 0, 0x88, 0xbe], &inner), back)),
            Self::Erspan(2) => {
                let header = [0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 0, 0, 5, 0, 0, 0, 0];
                in_ip(ipv4(47, &behind(&header, &inner), back))
            }
            Self::Erspan(_) => {
                // With a subheader of the platform's.
                let header = [
                    0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
                ];
                in_ip(ipv4(47, &behind(&header, &inner), back))
            }
            Self::EtherIp => in_ip(ipv4(97, &behind(&[0x30, 0], &inner), back)),
            Self::MplsInUdp(label) => in_ip(udp(6635, &labels(&[label], packet), back)),
            Self::Ah => {
                let next = if packet[0] >> 4 == 4 { 4 } else { 41 };
                let header = [&[next, 4, 0, 0][..], &[0, 0, 1, 7, 0, 0, 0, 1], &[0xaa; 12]].concat();
                in_ip(ipv4(51, &behind(&header, packet), back))
            }
            Self::Vxlan(id) => in_ip(udp(4789, &vni(0x0800_0000, id, &inner), back)),
            Self::VxlanGpe(id) => {
                let next = if packet[0] >> 4 == 4 { 1 } else { 2 };
                in_ip(udp(4790, &vni(0x0c00_0000 | next, id, packet), back))
            }
            Self::Geneve(id) => {
                // With one option of four octets.
                let options = behind(&[1, 2, 3, 1, 9, 9, 9, 9], &inner);
                in_ip(udp(6081, &vni(0x0200_6558, id, &options), back))
            }
            Self::Gue => {
                let protocol = if packet[0] >> 4 == 4 { 4 } else { 41 };
                in_ip(udp(6080, &behind(&[0, protocol, 0, 0], packet), back))
            }
            Self::GtpU(tunnel) => {
                let length = u16::try_from(packet.len() + 8).unwrap().to_be_bytes();
                let header = [
                    &[0x34, 255][..],
                    &length,
                    &word(tunnel),
                    &[0, 0, 0, 0x85, 1, 0x10, 1, 0],
                ]
                .concat();
                in_ip(udp(2152, &behind(&header, packet), back))
            }
            Self::L2tp2(session) => {
                let ppp = behind(&[0xff, 0x03, 0, if packet[0] >> 4 == 4 { 0x21 } else { 0x57 }], packet);
                let length = u16::try_from(ppp.len() + 8).unwrap().to_be_bytes();
                let header = [&[0x40, 2][..], &length, &[0, 1], &session.to_be_bytes()].concat();
                in_ip(udp(1701, &behind(&header, &ppp), back))
            }
            Self::L2tp3 { session, over_udp } => {
                // A cookie of eight octets, no sublayer.
                let message = [&word(session)[..], &[0x77; 8], &inner].concat();
                match over_udp {
                    false => in_ip(ipv4(115, &message, back)),
                    true => in_ip(udp(1701, &behind(&[0, 3, 0, 0], &message), back)),
                }
            }
            Self::Lisp => in_ip(udp(4341, &behind(&[0x80, 1, 2, 3, 0, 0, 0, 1], packet), back)),
            // An origin, as relays add it.
            Self::Teredo => in_ip(udp(3544, &behind(&[0, 0, 1, 2, 3, 4, 5, 6], packet), back)),
            Self::Tzsp => in_ip(udp(37008, &behind(&[1, 0, 0, 1, 10, 1, 0x50, 1], &inner), back)),
            Self::Nsh => {
                let next = if packet[0] >> 4 == 4 { 1 } else { 2 };
                let header = [&[0x0f, 0xc6, 1, next][..], &word(77 << 8 | 255), &[0; 16]].concat();
                frame(0x894f, &behind(&header, packet), back)
            }
        }
    }

    /// Returns true if it can carry this IP packet.
    pub(crate) fn carries(self, packet: &[u8]) -> bool {
        match self {
            Self::Teredo => packet[0] >> 4 == 6,
            // A length takes the place of the EtherType.
            Self::Snap => packet.len() <= 1492,
            _ => true,
        }
    }

    /// The encapsulation of the other direction, if that may have other numbers.
    pub(crate) fn other(self) -> Option<Self> {
        Some(match self {
            Self::Vlan(id) => Self::Vlan(id + 1),
            Self::Mpls(_) => Self::Mpls(&[16, 99]),
            Self::GtpU(tunnel) => Self::GtpU(!tunnel),
            Self::L2tp2(session) => Self::L2tp2(session + 1),
            _ => return None,
        })
    }
}
