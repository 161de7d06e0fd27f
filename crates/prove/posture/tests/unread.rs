//! Packets that no reader claims belong to a link that is named and unproven, and networks that
//! overlap are judged apart.

use bartizan_posture::{
    Answer, Concern, Evidence, Ipsec, Kind, Ledgers, Link, Links, Network, Part, Verdict, association_posture,
    datagrams_posture,
};
use bartizan_wire::datagrams::{DatagramProtocol, Datagrams};
use bartizan_wire::esp::EspSa;
use bartizan_wire::frames::FrameProtocol;
use bartizan_wire::ike::IkeSa;
use bartizan_wire::link::{self, LinkType, Network as Layer3};
use bartizan_wire::sctp::Association;
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Packet, Sink, Timestamp, Totals};

static STRONGSWAN: &[u8] = include_bytes!("../../wire/tests/data/strongswan-6.1.0.pcap");

#[derive(Default)]
struct Gathered {
    links: Links,
    ipsec: Ipsec,
}

impl Sink for Gathered {
    fn connection(&mut self, connection: Connection) {
        let posture = Evidence::new(&connection, &Ledgers::default()).posture();
        self.links.add(&Part::connection(&connection, &posture));
    }

    fn association(&mut self, association: Association) {
        let posture = association_posture(&association);
        self.links.add(&Part::association(&association, &posture));
    }

    fn datagrams(&mut self, datagrams: Datagrams) {
        let posture = datagrams_posture(&datagrams, &Ledgers::default());
        self.links.add(&Part::datagrams(&datagrams, &posture));
    }

    fn ike_sa(&mut self, sa: IkeSa) {
        self.ipsec.add_ike(sa);
    }

    fn esp_sa(&mut self, sa: EspSa) {
        self.ipsec.add_esp(sa);
    }
}

/// The links of Ethernet frames.
fn network(frames: &[Vec<u8>]) -> (Network, Totals) {
    let mut observer = Observer::new(Limits::default());
    let mut gathered = Gathered::default();
    for (number, data) in frames.iter().enumerate() {
        let packet = Packet {
            number: number as u64 + 1,
            time: Timestamp(number as u64 * 1_000_000),
            link: LinkType::ETHERNET,
            data,
            original_length: data.len() as u32,
            interface: 0,
        };
        observer.observe(&packet, &mut gathered);
    }
    observer.finish_into(&mut gathered);
    let (ike, esp) = gathered.ipsec.judge(&Ledgers::default());
    ike.iter().for_each(|sa| gathered.links.add(&Part::ike(sa)));
    esp.iter().for_each(|sa| gathered.links.add(&Part::esp(sa)));
    (gathered.links.finish(None), observer.totals().clone())
}

fn frame(kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    frame.extend(kind.to_be_bytes());
    frame.extend(payload);
    frame
}

fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend(u16::try_from(20 + payload.len()).unwrap().to_be_bytes());
    packet.extend([0, 1, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(payload);
    packet
}

fn udp(ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
    let mut datagram = ports.map(u16::to_be_bytes).concat();
    datagram.extend(u16::try_from(8 + payload.len()).unwrap().to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    ipv4(17, &datagram)
}

fn only(links: &[Link]) -> &Link {
    let [link] = links else { panic!("{} links", links.len()) };
    link
}

#[test]
fn packets_that_no_reader_claims_are_a_link_that_is_unproven_by_name() {
    let cut = &ipv4(6, b"\x1f\x40\x1f\x41\0\0")[..];
    let fragment = {
        let mut packet = ipv4(17, &[7; 40]);
        packet[6] = 0x20;
        packet
    };
    for (frame, protocol, name) in [
        (
            frame(0x0800, &udp([4000, 4001], b"something")),
            DatagramProtocol::Udp,
            "UDP, not recognised",
        ),
        (
            frame(0x0800, &udp([500, 500], b"no IKE")),
            DatagramProtocol::Udp,
            "UDP, not recognised",
        ),
        (
            frame(0x0800, &ipv4(47, b"\0\0\x12\x34")),
            DatagramProtocol::Ip(47),
            "GRE, not read",
        ),
        (
            frame(0x0800, &ipv4(108, b"compressed")),
            DatagramProtocol::Ip(108),
            "IPComp, not read",
        ),
        (
            frame(0x0800, &ipv4(250, b"own")),
            DatagramProtocol::Ip(250),
            "IP protocol 250, not read",
        ),
        (
            frame(0x0800, cut),
            DatagramProtocol::Unreadable(6),
            "TCP without a whole header, not read",
        ),
        (
            frame(0x0800, &ipv4(17, b"\0\x35")),
            DatagramProtocol::Unreadable(17),
            "UDP without a whole header, not read",
        ),
        (
            frame(0x0800, &fragment),
            DatagramProtocol::Fragments(17),
            "UDP fragments, not read",
        ),
        (
            // An unknown revision.
            frame(0xaefe, b"\x20\0\0\x04data"),
            DatagramProtocol::Frame(FrameProtocol::Type(0xaefe)),
            "eCPRI, not read",
        ),
        (
            frame(0x88e5, &[0x8c; 40]),
            DatagramProtocol::Frame(FrameProtocol::Type(0x88e5)),
            "MACsec, not read",
        ),
        (
            frame(0x88b5, b"own"),
            DatagramProtocol::Frame(FrameProtocol::Type(0x88b5)),
            "EtherType 0x88b5, not read",
        ),
    ] {
        let (network, totals) = network(&[frame]);
        let link = only(&network.links);
        assert_eq!(link.by_kind.keys().collect::<Vec<_>>(), [&Kind::NotRead(protocol)]);
        assert_eq!(Kind::NotRead(protocol).name(), name);
        assert_eq!(link.confidentiality.verdict(), Verdict::NotObservable, "{name}");
        let concerns: Vec<_> = link.objections.iter().map(|one| one.concern).collect();
        assert_eq!(concerns, [Concern::Unproven], "{name}");
        let clear = link.directions.iter().map(|one| one.clear.answer());
        assert!(clear.clone().any(|answer| answer == Answer::NotObservable), "{name}");
        assert!(totals.unread.is_empty(), "{name}");
        let ends = link.ends.each_ref().map(ToString::to_string);
        let stations = ["02:00:00:00:00:02", "02:00:00:00:00:01"].map(str::to_owned);
        let hosts = ["10.0.0.1", "10.0.0.2"].map(str::to_owned);
        assert!(ends == stations || ends == hosts, "{ends:?}");
    }
}

#[test]
fn what_keeps_a_network_together_is_counted_and_no_link() {
    let frames = [
        frame(0x0806, &[0; 28]),
        frame(0x88cc, &[0; 20]),
        frame(38, &[0x42, 0x42, 3, 0, 0, 0, 0]),
        frame(0x0800, &ipv4(1, &[8, 0, 0, 0])),
        frame(0x0800, &ipv4(2, &[0x16, 0, 0, 0])),
        frame(
            0x0800,
            &[
                &[0x46, 0, 0, 32, 0, 0, 0, 0, 64, 2, 0, 0][..],
                &[10, 0, 0, 1, 224, 0, 0, 22],
                &[0x94, 4, 0, 0],
                &[0x16, 0, 0, 0, 224, 0, 0, 9],
            ]
            .concat(),
        ),
    ];
    let (network, totals) = network(&frames);
    assert!(network.links.is_empty());
    assert!(totals.unread.keys().all(|unread| unread.is_housekeeping()));
    assert_eq!(totals.unread.values().map(|one| one.packets).sum::<u64>(), 6);
}

fn ipv6(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend(u16::try_from(payload.len()).unwrap().to_be_bytes());
    packet.extend([next_header, 64]);
    for host in [1, 2] {
        packet.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
    }
    packet.extend(payload);
    frame(0x86dd, &packet)
}

/// A part of an IPv6 packet, at a place in units of eight bytes.
fn ipv6_part(claims: u8, place: u16, more: bool, payload: &[u8]) -> Vec<u8> {
    let mut fragment = vec![claims, 0];
    fragment.extend((place << 3 | u16::from(more)).to_be_bytes());
    fragment.extend([0, 0, 0, 9]);
    fragment.extend(payload);
    ipv6(44, &fragment)
}

/// A segment from port 40000 to 22 or back; 40001 is the first number of each.
fn tcp(back: bool, flags: u8, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut ports = [40_000u16, 22];
    if back {
        ports.reverse();
    }
    let mut segment = ports.map(u16::to_be_bytes).concat();
    segment.extend((40_000 + sequence).to_be_bytes());
    segment.extend([0; 4]);
    segment.extend([0x50, flags, 1, 0, 0, 0, 0, 0]);
    segment.extend(payload);
    let mut packet = ipv4(6, &segment);
    if back {
        let (source, destination) = packet[12..20].split_at_mut(4);
        source.swap_with_slice(destination);
    }
    frame(0x0800, &packet)
}

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;

#[test]
fn data_in_what_looks_like_housekeeping_is_unproven() {
    let text = b"imsi-208930000000001";
    for (frames, name) in [
        (vec![ipv6(59, text)], "IPv6 without a next header, not read"),
        (
            vec![ipv6_part(58, 3, false, text)],
            "IP protocol 44 fragments, not read",
        ),
        // A part is missing.
        (
            vec![ipv6_part(58, 0, true, &[128; 24]), ipv6_part(58, 4, false, text)],
            "ICMPv6 fragments, not read",
        ),
        // The type of the first fragment counts: these are parts of a TCP segment.
        (
            vec![ipv6_part(6, 0, true, &[7; 24]), ipv6_part(58, 4, false, text)],
            "TCP fragments, not read",
        ),
        // An echo request after an unknown option, and one after false padding.
        (
            vec![ipv6(
                60,
                &[&[58, 2, 0x1e, 20], &text[..], &[128, 0, 0, 0, 0, 0, 0, 0]].concat(),
            )],
            "IPv6 destination options, not read",
        ),
        (
            vec![ipv6(
                0,
                &[&[58, 2, 1, 20], &text[..], &[128, 0, 0, 0, 0, 0, 0, 0]].concat(),
            )],
            "IPv6 hop-by-hop options, not read",
        ),
        (vec![tcp(false, RST, 1, text)], "unknown protocol"),
        (
            vec![tcp(false, SYN, 0, b""), tcp(true, RST, 1, text)],
            "unknown protocol",
        ),
    ] {
        let (network, _) = network(&frames);
        let link = only(&network.links);
        let kinds: Vec<_> = link.by_kind.keys().map(|kind| kind.name()).collect();
        assert_eq!(kinds, [name]);
        assert!(
            link.objections.iter().any(|one| one.concern == Concern::Unproven),
            "{name}: {:?}",
            link.objections
        );
    }
    // And without data they are what they say.
    for frames in [
        vec![ipv6(59, b"")],
        // Router alert and padding, as of a listener report.
        vec![ipv6(0, &[58, 0, 5, 2, 0, 0, 1, 0, 143, 0, 0, 0, 0, 0, 0, 0])],
        vec![ipv6_part(58, 0, true, &[128; 24]), ipv6_part(58, 3, false, &[128; 8])],
        vec![tcp(false, SYN, 0, b""), tcp(true, RST, 1, b"")],
    ] {
        let (network, totals) = network(&frames);
        assert!(network.links.iter().all(|link| link.objections.is_empty()));
        assert!(totals.unread.keys().all(|unread| unread.is_housekeeping()));
    }
}

#[test]
fn a_packet_in_parts_is_read_behind_the_extension_headers_that_are_in_them() {
    let mut datagram = [40_000u16, 40_001, 28, 0].map(u16::to_be_bytes).concat();
    datagram.extend(b"imsi-208930000000001");
    // Destination options of eight bytes, then UDP.
    let whole = [&[17, 0, 1, 4, 0, 0, 0, 0][..], &datagram].concat();
    let (network, _) = network(&[
        ipv6_part(60, 0, true, &whole[..24]),
        ipv6_part(60, 3, false, &whole[24..]),
    ]);
    let kinds: Vec<_> = only(&network.links).by_kind.keys().copied().collect();
    assert_eq!(kinds, [Kind::NotRead(DatagramProtocol::Udp)]);
}

/// A message of SSH before the keys.
fn ssh_message(number: u8, payload: &[u8]) -> Vec<u8> {
    let padding = 8;
    let length = u32::try_from(2 + payload.len() + padding).unwrap();
    let mut message = length.to_be_bytes().to_vec();
    message.extend([8, number]);
    message.extend(payload);
    message.extend(vec![0; padding]);
    message
}

#[test]
fn data_of_a_channel_before_the_new_keys_of_ssh_is_readable_now() {
    const DISCONNECT: u8 = 1;
    const CHANNEL_DATA: u8 = 94;
    for (number, readable) in [(CHANNEL_DATA, true), (DISCONNECT, false)] {
        let first = b"SSH-2.0-one\r\n".to_vec();
        let said = [first.clone(), ssh_message(number, b"imsi-208930000000001")].concat();
        let end = 1 + u32::try_from(said.len()).unwrap();
        let back = 1 + u32::try_from(first.len()).unwrap();
        let (network, _) = network(&[
            tcp(false, SYN, 0, b""),
            tcp(true, SYN, 0, b""),
            tcp(false, 0, 1, &said),
            tcp(true, 0, 1, &first),
            tcp(false, FIN, end, b""),
            tcp(true, FIN, back, b""),
        ]);
        let link = only(&network.links);
        let kinds: Vec<_> = link.by_kind.keys().copied().collect();
        let (kind, verdict) = match readable {
            true => (Kind::Ssh, Verdict::ReadableNow),
            false => (Kind::SshNotAgreed, Verdict::NotSeen),
        };
        assert_eq!((kinds, link.confidentiality.verdict()), (vec![kind], verdict));
    }
}

/// The packets of one situation of strongSwan's that are ESP, or are not, each in this VLAN.
fn tagged(host: [u8; 3], tag: u8, keep: impl Fn(bool) -> bool) -> Vec<Vec<u8>> {
    let mut reader = CaptureReader::new();
    reader.push(STRONGSWAN);
    let mut frames = Vec::new();
    while let Ok(Some(packet)) = reader.next_packet() {
        let Layer3::Ip(bytes) = link::network(packet.link, packet.data) else {
            continue;
        };
        if bytes[0] >> 4 != 4 || bytes[12..15] != host {
            continue;
        }
        let is_whole = bytes[6] & 0x3f == 0 && bytes[7] == 0;
        let in_udp = bytes[9] == 17 && bytes[20..22] == 4500u16.to_be_bytes() && bytes[28..32] != [0; 4];
        if keep(bytes[9] == 50 || is_whole && in_udp) {
            frames.push(frame(0x8100, &[&[0, tag, 0x08, 0][..], bytes].concat()));
        }
    }
    frames
}

#[test]
fn esp_is_not_keyed_by_an_ike_sa_of_another_vlan_between_the_same_hosts() {
    // A hybrid IKE_SA in VLAN 7, and the ESP it keyed in VLAN 8 alone.
    let frames = tagged([10, 77, 3], 7, |_| true);
    let (whole, _) = network(&frames);
    let safe = |network: &Network| {
        network
            .links
            .iter()
            .all(|link| link.confidentiality.verdict() == Verdict::QuantumSafe)
    };
    assert!(safe(&whole) && !whole.links.is_empty());
    assert!(
        whole
            .links
            .iter()
            .all(|link| link.paths.iter().map(ToString::to_string).eq(["VLAN 7"]))
    );
    let mut apart = tagged([10, 77, 3], 7, |is_esp| !is_esp);
    apart.extend(tagged([10, 77, 3], 8, |is_esp| is_esp));
    let (apart, _) = network(&apart);
    let in_vlan_8: Vec<_> = apart
        .links
        .iter()
        .filter(|link| link.paths.iter().any(|path| path.to_string() == "VLAN 8"))
        .collect();
    assert!(!in_vlan_8.is_empty());
    assert!(
        in_vlan_8
            .iter()
            .all(|link| link.confidentiality.verdict() == Verdict::NotObservable)
    );
    assert!(
        in_vlan_8.iter().all(|link| link.paths.len() == 1),
        "a link of one VLAN holds nothing of another"
    );
}
