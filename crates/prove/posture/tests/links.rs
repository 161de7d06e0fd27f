//! Links: what captures of real peers amount to, with and without a deployment file.

use std::path::Path;

use bartizan_deployment::Deployment;
use bartizan_posture::{
    Answer, Carrier, Concern, Evidence, Hint, Ipsec, Kind, Ledgers, Link, Links, Listing, Network, Occasion, Part,
    Verdict, association_posture, datagrams_posture,
};
use bartizan_wire::datagrams::Datagrams;
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::IkeSa;
use bartizan_wire::link::LinkType;
use bartizan_wire::sctp::Association;
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Packet, Side, Sink, Timestamp};

use crate::towards_classical::frame::{self, Capture, Frame};
use crate::{ike_ledger, spoken};

const STRONGSWAN: &[u8] = include_bytes!("../../wire/tests/data/strongswan-6.1.0.pcap");
const FLEXRIC: &[u8] = include_bytes!("../../wire/tests/data/e2-flexric-kpm.pcap");
const N2: &[u8] = include_bytes!("../../wire/tests/data/n2-free5gc-two-registrations.pcap");
const SBI: &[u8] = include_bytes!("../../wire/tests/data/sbi-free5gc-two-registrations.pcap");
const SIDECAR: &[u8] = include_bytes!("../../wire/tests/data/sidecar-hybrid.pcap");

#[derive(Default)]
struct Gathered {
    ledgers: Ledgers,
    links: Links,
    ipsec: Ipsec,
}

impl Sink for Gathered {
    fn connection(&mut self, connection: Connection) {
        let posture = Evidence::new(&connection, &self.ledgers).posture();
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

fn network(files: &[&[u8]], deployment: Option<&str>) -> Network {
    let mut gathered = Gathered::default();
    for file in files {
        let mut reader = CaptureReader::new();
        reader.push(file);
        let mut observer = Observer::new(Limits::default());
        while let Ok(Some(packet)) = reader.next_packet() {
            observer.observe(&packet, &mut gathered);
        }
        observer.finish_into(&mut gathered);
    }
    let (ike, esp) = gathered.ipsec.judge(&gathered.ledgers);
    ike.iter().map(Part::ike).for_each(|part| gathered.links.add(&part));
    esp.iter().map(Part::esp).for_each(|part| gathered.links.add(&part));
    let deployment = deployment.map(|text| Deployment::parse(text, "network.yaml", Path::new("")).unwrap());
    gathered.links.finish(deployment.as_ref())
}

fn between<'a>(network: &'a Network, one: &str, other: &str) -> &'a Link {
    let ends = |link: &Link| link.ends.each_ref().map(|end| end.address.to_string());
    let mut found = network.links.iter().filter(|link| {
        let [a, b] = ends(link);
        (a == one && b == other) || (a == other && b == one)
    });
    let link = found.next().unwrap();
    assert_eq!(found.next(), None, "one link between {one} and {other}");
    link
}

fn concerns(link: &Link) -> Vec<Concern> {
    link.objections.iter().map(|objection| objection.concern).collect()
}

#[test]
fn connections_between_two_hosts_are_one_link_and_its_answers_name_packets() {
    let network = network(&[SBI], None);
    assert_eq!(network.links.len(), 6);
    let link = between(&network, "127.0.0.1", "127.0.0.10");
    assert_eq!((link.parts, link.attempts), (19, 0));
    assert_eq!(link.listing, Listing::NoDeployment);
    assert_eq!(link.confidentiality.verdict(), Verdict::ReadableNow);
    assert!(!link.confidentiality.sources().is_empty());
    for direction in &link.directions {
        for (question, reply) in direction.questions() {
            let expected = if question == "clear" { Answer::Yes } else { Answer::No };
            assert_eq!(reply.answer(), expected, "{question}");
            assert!(!reply.sources().is_empty(), "{question}");
        }
    }
    assert_eq!(concerns(link), [Concern::ReadableNow, Concern::Authenticity]);
}

/// A connection to this port in which two ends say this in turn.
fn to_port(port: u16, said: &[(Side, Vec<u8>)]) -> Vec<Vec<u8>> {
    let mut packets = spoken::connection(said);
    for packet in &mut packets {
        for at in [20, 22] {
            if packet[at..at + 2] == 9999u16.to_be_bytes() {
                packet[at..at + 2].copy_from_slice(&port.to_be_bytes());
            }
        }
    }
    packets
}

#[test]
fn unnamed_services_between_two_hosts_are_a_link_each() {
    let mail = spoken::lines(&[
        (Side::Server, "220 mail.example.test ready\r\n"),
        (Side::Client, "EHLO here\r\n"),
        (Side::Server, "250 mail.example.test\r\n"),
        (Side::Client, "MAIL FROM:<a@example.test>\r\n"),
    ]);
    let packets = [
        to_port(25, &mail),
        to_port(8443, &spoken::handshake()),
        // A port that is chosen at random is no service, and what carried nothing neither.
        to_port(50_123, &mail),
        to_port(50_124, &mail),
        to_port(81, &[]),
    ];
    let mut gathered = Gathered::default();
    let mut observer = Observer::new(Limits::default());
    for (index, data) in packets.concat().iter().enumerate() {
        let packet = Packet {
            number: index as u64 + 1,
            time: Timestamp(index as u64 * 1000),
            link: LinkType::RAW,
            data,
            original_length: data.len() as u32,
            interface: 0,
        };
        observer.observe(&packet, &mut gathered);
    }
    observer.finish_into(&mut gathered);
    let links = gathered.links.finish(None).links;
    let found: Vec<_> = links
        .iter()
        .map(|link| (link.service, link.parts, link.attempts, link.confidentiality.verdict()))
        .collect();
    use Verdict::{QuantumSafe, ReadableNow};
    assert_eq!(
        found,
        [
            (Some(25), 1, 0, ReadableNow),
            (Some(8443), 1, 0, QuantumSafe),
            (None, 2, 1, ReadableNow)
        ]
    );
}

#[test]
fn associations_are_named_by_what_packets_say() {
    for (file, name, by) in [(N2, "N2", Hint::PayloadProtocol), (FLEXRIC, "E2", Hint::Content)] {
        let network = network(&[file], None);
        let [link] = &network.links[..] else { panic!("one link") };
        let interface = link.interface.unwrap();
        assert_eq!((interface.name, interface.by), (name, by));
        assert!(link.directions.iter().all(|direction| direction.packets > 0));
    }
}

#[test]
fn an_ike_sa_and_the_esp_it_keyed_are_one_link_with_its_rekeys() {
    let network = network(&[STRONGSWAN], None);
    let link = between(&network, "10.77.3.1", "10.77.3.2");
    assert_eq!(link.confidentiality.verdict(), Verdict::QuantumSafe);
    assert_eq!(link.authenticity.verdict(), Verdict::NotObservable);
    let occasions: Vec<Occasion> = link.phases.iter().map(|phase| phase.occasion).collect();
    assert!(occasions.contains(&Occasion::SetUp) && occasions.contains(&Occasion::Rekeyed));
    assert!(link.phases.iter().any(|phase| phase.rekeys > 0));
    for direction in &link.directions {
        assert_eq!(direction.negotiated.answer(), Answer::Yes);
        assert_eq!(direction.stayed.answer(), Answer::Yes);
        assert_eq!(direction.clear.answer(), Answer::No);
    }
    assert_eq!(concerns(link), []);
    // Hybrid, and rekeyed without a post-quantum exchange.
    let link = between(&network, "10.77.5.1", "10.77.5.2");
    assert_eq!(link.confidentiality.verdict(), Verdict::QuantumSafe);
    assert_eq!(concerns(link), [Concern::Regression]);
    let link = between(&network, "10.77.1.1", "10.77.1.2");
    assert_eq!(link.confidentiality.verdict(), Verdict::Vulnerable);
}

const FILE: &str = "
nodes:
  amf: { function: AMF, address: 127.0.0.18 }
  gnb: { function: gNB, address: 127.0.0.100 }
  cu: { function: O-CU-CP, address: 10.9.1.2 }
  ric: { function: near-RT RIC, address: 10.9.0.1 }
  secure-cu: { function: O-CU-CP, address: 10.77.3.1 }
  secure-ric: { function: near-RT RIC, address: 10.77.3.2 }
interfaces:
  - { kind: N2, between: [amf, gnb], with: nothing, policy: { profile: transition, reason: lab, expires: 2099-01-01 } }
  - { kind: E2, between: [cu, ric], with: ipsec }
  - { kind: E2, between: [secure-cu, secure-ric], with: ipsec }
  - { kind: SBI, between: [amf, ric], with: sidecar }
";

#[test]
fn a_deployment_file_names_links_and_judges_them_by_its_policies() {
    let network = network(&[N2, FLEXRIC, STRONGSWAN], Some(FILE));
    assert_eq!(network.unseen, [3]);
    let n2 = between(&network, "127.0.0.18", "127.0.0.100");
    assert_eq!(n2.listing, Listing::Listed(0));
    assert_eq!(n2.interface.unwrap().by, Hint::Deployment);
    assert_eq!(n2.ends.each_ref().map(ToString::to_string), ["amf", "gnb"]);
    assert_eq!(
        n2.confidentiality.verdict(),
        Verdict::ReadableNow,
        "an exception changes no verdict"
    );
    assert_eq!(concerns(n2), []);
    assert_eq!(n2.exception.as_deref(), Some("allowed until 2099-01-01: lab"));
    // The gNB asks, and stands second in the file.
    assert!(n2.directions.iter().all(|direction| direction.packets > 0));

    let e2 = between(&network, "10.9.1.2", "10.9.0.1");
    assert_eq!((&e2.listing, e2.name()), (&Listing::Listed(1), "E2"));
    assert_eq!(concerns(e2), [Concern::ReadableNow, Concern::Authenticity]);

    let secure = between(&network, "10.77.3.1", "10.77.3.2");
    assert_eq!((&secure.listing, secure.name()), (&Listing::Listed(2), "E2"));
    assert_eq!(concerns(secure), []);

    let other = between(&network, "10.77.1.1", "10.77.1.2");
    assert_eq!(other.listing, Listing::Unlisted);
    assert_eq!(concerns(other)[0], Concern::Unlisted);
}

#[test]
fn an_exception_that_had_ended_when_the_packets_passed_excuses_nothing() {
    let ended = FILE.replace("2099-01-01", "2020-01-01");
    let network = network(&[N2], Some(&ended));
    let n2 = between(&network, "127.0.0.18", "127.0.0.100");
    assert_eq!(concerns(n2), [Concern::ReadableNow, Concern::Authenticity]);
    assert_eq!(n2.exception, None);
}

/// Nonces used twice are readable today; "the vendor delivers ML-KEM in May" excuses a key exchange.
#[test]
fn an_exception_for_a_classical_key_exchange_excuses_nothing_that_is_readable_today() {
    let exception = "policy: { profile: transition, reason: lab, expires: 2099-01-01 }";
    let link = "between: [secure-cu, secure-ric], with: ipsec";
    let file = FILE.replace(link, &format!("{link}, {exception}"));
    let (_, esp) = ike_ledger::situation(3, 0, &[]);
    let mut left = 9;
    let twice = ike_ledger::changed(esp[0].sa.spi, |packet| {
        let is_one = left > 0;
        left -= i32::from(is_one);
        *packet.last_mut().unwrap() ^= u8::from(is_one);
        is_one
    });
    let judged = |capture: &[u8]| {
        let network = network(&[capture], Some(&file));
        let link = between(&network, "10.77.3.1", "10.77.3.2");
        (link.confidentiality.verdict(), concerns(link))
    };
    assert_eq!(judged(STRONGSWAN), (Verdict::QuantumSafe, vec![]));
    let (verdict, concerns) = judged(&twice);
    assert_eq!((verdict, concerns[0]), (Verdict::ReadableNow, Concern::ReadableNow));
}

#[test]
fn what_packets_say_of_themselves_outweighs_another_link_between_the_same_nodes() {
    let file = FILE.replace("kind: N2, between: [amf, gnb]", "kind: E1, between: [amf, gnb]");
    let network = network(&[N2], Some(&file));
    let link = between(&network, "127.0.0.18", "127.0.0.100");
    assert_eq!((&link.listing, link.name()), (&Listing::Unlisted, "N2"));
    assert!(network.unseen.contains(&0));
}

#[test]
fn hybrid_connections_of_sidecars_are_safe_from_recording() {
    let network = network(&[SIDECAR], None);
    for link in network.links.iter().filter(|link| link.carried()) {
        assert_eq!(link.confidentiality.verdict(), Verdict::QuantumSafe, "{:?}", link.ends);
        assert!(
            link.directions
                .iter()
                .all(|direction| direction.negotiated.answer() == Answer::Yes)
        );
    }
}

/// Two nodes have the address, and the listener of its own TLS tells which is meant.
#[test]
fn a_link_to_a_node_with_tls_of_its_own_is_named_by_its_listener() {
    let text = "
trust: { roots: ca.pem }
nodes:
  amf: { function: AMF, address: 10.200.0.1, certificate: a, key: b, sidecar: { outbound: [ { listen: '127.0.0.1:1' } ] } }
  nrf: { function: NRF, address: 10.200.0.12 }
  udm: { function: UDM, address: 10.200.0.12, tls: [ { listen: '0.0.0.0:8443' } ] }
interfaces:
  - { kind: SBI, between: [amf, [nrf, udm]], with: sidecar }
";
    let network = network(&[SIDECAR], Some(text));
    let link = between(&network, "10.200.0.1", "10.200.0.12");
    let mut nodes = link
        .ends
        .each_ref()
        .map(|end| end.node.as_ref().map(ToString::to_string));
    nodes.sort();
    assert_eq!(
        nodes,
        [Some("amf".to_owned()), Some("udm".to_owned())],
        "{:?}",
        link.listing
    );
}

#[test]
fn a_classical_part_makes_the_whole_link_fall_and_says_how_many() {
    // The same hosts: strongSwan's classical pair moved to the addresses of the hybrid one.
    let mut moved = STRONGSWAN.to_vec();
    let mut at = 24;
    while at < moved.len() {
        let length = u32::from_le_bytes(moved[at + 8..at + 12].try_into().unwrap()) as usize;
        let frame = &mut moved[at + 16..at + 16 + length];
        if frame[12..14] == [8, 0] {
            for address in [26, 30] {
                if frame[address..address + 3] == [10, 77, 1] {
                    frame[address + 2] = 3;
                }
            }
        }
        at += 16 + length;
    }
    let network = network(&[&moved], None);
    let link = between(&network, "10.77.3.1", "10.77.3.2");
    assert_eq!(link.confidentiality.verdict(), Verdict::Vulnerable);
    let because = link.confidentiality.because();
    assert!(because.contains(" of "), "{because}");
    assert!(concerns(link).contains(&Concern::Confidentiality));
}

/// A capture of raw IP packets with UDP: source, destination, port at both ends, payload.
fn udp(datagrams: &[(&str, &str, u16, &[u8])]) -> Vec<u8> {
    let mut file = vec![
        0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0,
    ];
    for (source, destination, port, payload) in datagrams {
        let address = |text: &str| text.parse::<std::net::Ipv4Addr>().unwrap().octets();
        let length = u16::try_from(payload.len() + 28).unwrap();
        let mut packet = vec![0x45, 0];
        packet.extend(length.to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 17, 0, 0]);
        packet.extend(address(source));
        packet.extend(address(destination));
        packet.extend(port.to_be_bytes());
        packet.extend(port.to_be_bytes());
        packet.extend((length - 20).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(*payload);
        file.extend([0; 8]);
        file.extend(u32::from(length).to_le_bytes());
        file.extend(u32::from(length).to_le_bytes());
        file.extend(packet);
    }
    file
}

/// A G-PDU around an IPv4 packet.
const G_PDU: &[u8] = &[
    0x30, 255, 0, 20, 0, 0, 0, 1, 0x45, 0, 0, 20, 0, 0, 0, 0, 64, 1, 0, 0, 10, 60, 0, 1, 8, 8, 8, 8,
];
/// A G-PDU around what is no IP packet.
const PDCP: &[u8] = &[0x30, 255, 0, 8, 0, 0, 0, 1, 0x80, 1, 2, 3, 4, 5, 6, 7];
/// The header of a PFCP Session Establishment Request, and no more.
const ESTABLISHMENT: &[u8] = &[0x21, 50, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
/// A Forward Relocation Request and a Create Session Request of GTPv2-C: headers, and no more.
const RELOCATION: &[u8] = &[0x48, 133, 0, 8, 0, 0, 0, 7, 0, 0, 1, 0];
const SESSION: &[u8] = &[0x48, 32, 0, 8, 0, 0, 0, 7, 0, 0, 1, 0];
/// A GTPv2-C Echo Request.
const ECHO: &[u8] = &[0x40, 1, 0, 9, 0, 0, 1, 0, 3, 0, 1, 0, 7];

#[test]
fn the_user_plane_and_n4_in_plaintext_are_said_to_be_so_and_named_by_the_roles_of_their_ends() {
    // The gNB of the N2 capture is at 127.0.0.100; two UPFs are controlled by one SMF.
    let file = udp(&[
        ("10.1.0.2", "10.1.0.8", 8805, ESTABLISHMENT),
        ("10.1.0.2", "10.1.0.9", 8805, ESTABLISHMENT),
        ("127.0.0.100", "10.1.0.8", 2152, G_PDU),
        ("10.1.0.8", "127.0.0.100", 2152, G_PDU),
        ("10.1.0.8", "10.1.0.9", 2152, G_PDU),
        ("10.2.0.1", "10.2.0.2", 2152, PDCP),
        ("127.0.0.18", "10.3.0.1", 2123, ECHO),
        ("127.0.0.18", "10.3.0.2", 2123, RELOCATION),
        ("127.0.0.18", "10.3.0.3", 2123, SESSION),
    ]);
    let network = network(&[N2, &file], None);
    for (one, other, name, by, kind) in [
        ("10.1.0.2", "10.1.0.8", "N4", Hint::Port, Kind::Pfcp),
        ("127.0.0.100", "10.1.0.8", "N3", Hint::PeerRole, Kind::GtpU),
        ("10.1.0.8", "10.1.0.9", "N9", Hint::PeerRole, Kind::GtpU),
        ("10.2.0.1", "10.2.0.2", "GTP-U", Hint::Port, Kind::GtpU),
        ("127.0.0.18", "10.3.0.1", "GTPv2-C", Hint::Port, Kind::GtpC),
        ("127.0.0.18", "10.3.0.2", "N26", Hint::Content, Kind::GtpC),
        ("127.0.0.18", "10.3.0.3", "S11 or S5", Hint::Content, Kind::GtpC),
    ] {
        let link = between(&network, one, other);
        let interface = link.interface.unwrap();
        assert_eq!((interface.name, interface.by), (name, by));
        assert!(link.by_kind.contains_key(&kind), "{name}");
        assert!(concerns(link).contains(&Concern::Authenticity), "{name}");
        // F1-U payload may be encrypted by PDCP; its packets do not show that.
        let expected = if name == "GTP-U" {
            Verdict::NotObservable
        } else {
            Verdict::ReadableNow
        };
        assert_eq!(link.confidentiality.verdict(), expected, "{name}");
        assert_eq!(link.directions[0].clear.answer(), Answer::Yes);
    }
    let n3 = between(&network, "127.0.0.100", "10.1.0.8");
    assert!(
        n3.confidentiality.because().contains("packets of users"),
        "{}",
        n3.confidentiality.because()
    );
    assert!(n3.directions.iter().all(|direction| direction.packets == 1));
    let n9 = between(&network, "10.1.0.8", "10.1.0.9");
    assert_eq!(n9.directions[1].clear.answer(), Answer::NotSeen, "nothing came back");
}

#[test]
fn a_deployment_file_tells_which_interface_gtp_u_is() {
    let file = udp(&[("10.4.0.1", "10.4.0.2", 2152, G_PDU)]);
    let text = "
nodes:
  du: { function: O-DU, address: 10.4.0.1 }
  cu: { function: O-CU-UP, address: 10.4.0.2 }
interfaces:
  - { kind: F1-C, between: [du, cu], with: ipsec }
  - { kind: F1-U, between: [du, cu], with: ipsec }
";
    let network = network(&[&file], Some(text));
    let link = between(&network, "10.4.0.1", "10.4.0.2");
    assert_eq!((&link.listing, link.name()), (&Listing::Listed(1), "F1-U"));
    assert_eq!(concerns(link), [Concern::ReadableNow, Concern::Authenticity]);
    assert_eq!(network.unseen, [0]);
}

#[test]
fn quic_is_named_and_its_packets_with_short_headers_belong_to_it() {
    let mut initial = vec![0xc3, 0, 0, 0, 1, 8];
    initial.extend([7; 1200]);
    let mut short = [0xa7; 40];
    short[0] = 0x43;
    let file = udp(&[
        ("10.5.0.1", "10.5.0.2", 443, &initial),
        ("10.5.0.2", "10.5.0.1", 443, &short),
    ]);
    let network = network(&[&file], None);
    let link = between(&network, "10.5.0.1", "10.5.0.2");
    assert_eq!(link.by_kind.keys().collect::<Vec<_>>(), [&Kind::QuicNotSeen]);
    assert!(link.directions.iter().all(|direction| direction.packets == 1));
    assert_eq!(concerns(link), [Concern::Unproven]);
}

fn functions(link: &Link) -> [String; 2] {
    link.functions.each_ref().map(|functions| functions.join(" "))
}

#[test]
fn every_link_of_a_core_in_plaintext_is_named_by_its_requests_with_who_serves_and_who_asks() {
    let network = network(&[SBI], None);
    let mut seen: Vec<[String; 2]> = Vec::new();
    for link in &network.links {
        let interface = link.interface.unwrap();
        assert_eq!((interface.name, interface.by), ("SBI", Hint::RequestPath));
        assert!(link.named_by.is_some());
        seen.push(functions(link));
    }
    let nobody = String::new;
    let asked = ["AUSF", "UDM", "UDR", "PCF", "AMF"].map(|server| [nobody(), server.to_owned()]);
    let mut expected = vec![["AMF AUSF PCF UDM".to_owned(), "NRF".to_owned()]];
    expected.extend(asked);
    assert_eq!(seen, expected);
}

/// Header compression refers to what went before: whatever is missing, a link is named rightly or not at all.
#[test]
fn a_core_that_is_watched_from_the_middle_is_named_rightly_or_not_at_all() {
    let whole = network(&[SBI], None);
    let mut named = 0;
    for skipped in (1..1366).step_by(31) {
        let mut reader = reader_from(SBI);
        let mut gathered = Gathered::default();
        let mut observer = Observer::new(Limits::default());
        while let Ok(Some(packet)) = reader.next_packet() {
            // From the middle, and then without every seventh packet.
            if packet.number > skipped && packet.number % 7 != skipped % 7 {
                observer.observe(&packet, &mut gathered);
            }
        }
        observer.finish_into(&mut gathered);
        for link in gathered.links.finish(None).links {
            let Some(interface) = link.interface else { continue };
            named += 1;
            assert_eq!(interface.name, "SBI");
            let known = between_any(&whole, &link);
            let among = |ours: &[&str], theirs: &[&str]| ours.iter().all(|function| theirs.contains(function));
            let turned = known.ends[0].address != link.ends[0].address;
            for index in 0..2 {
                let theirs = &known.functions[if turned { 1 - index } else { index }];
                assert!(among(&link.functions[index], theirs), "{:?} {theirs:?}", link.functions);
            }
        }
    }
    assert!(named > 50, "{named}");
}

fn reader_from(file: &[u8]) -> CaptureReader {
    let mut reader = CaptureReader::new();
    reader.push(file);
    reader
}

fn between_any<'a>(network: &'a Network, like: &Link) -> &'a Link {
    let [one, other] = like.ends.each_ref().map(|end| end.address.to_string());
    between(network, &one, &other)
}

/// Two interfaces between these outer addresses, under this policy.
fn behind_gateways(policy: &str, near: &str, far: &str) -> String {
    format!(
        "
policy: {policy}
nodes:
  du1: {{ function: O-DU, address: 10.1.1.1 }}
  du2: {{ function: O-DU, address: 10.1.1.2 }}
  cu: {{ function: O-CU-CP, address: 10.1.2.1 }}
interfaces:
  - {{ kind: F1-C, between: [du1, cu], with: ipsec, ipsec: {{ initiator: cu, outer: {{ du1: {near}, cu: {far} }}, inner: {{ du1: [10.1.1.1], cu: [10.1.2.1] }} }} }}
  - {{ kind: F1-C, between: [cu, du2], with: ipsec, ipsec: {{ initiator: cu, outer: {{ du2: {near}, cu: {far} }}, inner: {{ du2: [10.1.1.2], cu: [10.1.2.1] }} }} }}
"
    )
}

/// A RIC whose address a NAT maps, and CUs that others hide.
fn behind_nat(cus: &[&str]) -> String {
    let node = |name: &&str| format!("  {name}: {{ function: O-CU-CP, address: 192.168.1.2 }}\n");
    let link = |(index, name): (usize, &&str)| {
        format!(
            "  - {{ kind: E2, between: [{name}, ric], with: ipsec, ipsec: {{ inner: {{ {name}: [10.78.1.{index}] }}, \
             external: {{ {name}: any, ric: 10.77.3.2 }} }} }}\n"
        )
    };
    format!(
        "nodes:\n  ric: {{ function: near-RT RIC, address: 10.0.0.5 }}\n{}interfaces:\n{}",
        cus.iter().map(node).collect::<String>(),
        cus.iter().enumerate().map(link).collect::<String>()
    )
}

#[test]
fn ike_and_esp_from_behind_nat_are_the_link_that_they_can_only_be_and_else_nobodys() {
    let network = network(&[STRONGSWAN], Some(&behind_nat(&["cu"])));
    assert!(network.unseen.is_empty(), "{:?}", network.unseen);
    let link = between(&network, "10.77.3.1", "10.77.3.2");
    assert_eq!(link.listing, Listing::Listed(0));
    assert_eq!(link.ends.each_ref().map(ToString::to_string), ["cu", "ric"]);
    assert_eq!(link.ends[0].address.to_string(), "10.77.3.1");
    // Two nodes may have this address, and none is singled out: neither was seen to be protected.
    let network = self::network(&[STRONGSWAN], Some(&behind_nat(&["cu", "du"])));
    assert_eq!(network.unseen, [0, 1]);
    let link = between(&network, "10.77.3.1", "10.77.3.2");
    assert_eq!(link.listing, Listing::Unlisted);
}

#[test]
fn ike_and_esp_between_security_gateways_are_links_of_the_nodes_behind_them() {
    let text = behind_gateways("hybrid", "10.77.3.1", "10.77.3.2");
    let network = network(&[STRONGSWAN], Some(&text));
    assert!(network.unseen.is_empty(), "{:?}", network.unseen);
    for (place, names) in [(0, ["du1", "cu"]), (1, ["cu", "du2"])] {
        let mut links = network.links.iter();
        let link = links.find(|link| link.listing == Listing::Listed(place)).unwrap();
        assert_eq!(link.ends.each_ref().map(ToString::to_string), names);
        assert_eq!(link.confidentiality.verdict(), Verdict::QuantumSafe);
        assert!(!concerns(link).contains(&Concern::Policy));
        // The first direction is the first end's, whichever end of the file that is.
        let first = if place == 0 { "10.77.3.1" } else { "10.77.3.2" };
        assert_eq!(link.ends[0].address.to_string(), first);
    }
    // One gateway for two nodes is neither of them; one for a single node is it.
    let elsewhere = behind_gateways("hybrid", "10.77.3.1", "10.77.99.2");
    let network = self::network(&[STRONGSWAN], Some(&elsewhere));
    assert_eq!(network.unseen, [0, 1]);
    let link = between(&network, "10.77.3.1", "10.77.3.2");
    assert_eq!(link.listing, Listing::Unlisted);
    assert!(link.ends.iter().all(|end| end.node.is_none()));
}

#[test]
fn key_exchanges_of_ike_are_held_against_what_the_policy_names() {
    for (situation, policy, named) in [
        (3, "hybrid", None),
        (
            3,
            "cnsa2",
            Some("Curve25519+ml-kem-768 negotiated, the policy names ecp384-ke1_mlkem1024, mlkem1024"),
        ),
        (4, "cnsa2", None),
        (
            2,
            "hybrid",
            Some("ml-kem-768 negotiated, the policy names x25519-ke1_mlkem768"),
        ),
        (2, "{ ipsec: { key-exchanges: [x25519-ke1_mlkem768, mlkem768] } }", None),
        (
            10,
            "{ ipsec: { key-exchanges: [x25519-ke1_mlkem768] } }",
            Some("Curve25519+ml-kem-768+ml-kem-512 negotiated, the policy names x25519-ke1_mlkem768"),
        ),
        // While an exception lasts the classical one may pass, and only one that is named.
        (1, "{ profile: transition, reason: lab, expires: 2099-01-01 }", None),
        (
            1,
            "{ profile: transition, reason: lab, expires: 2000-01-01 }",
            Some("Curve25519 negotiated, the policy names x25519-ke1_mlkem768"),
        ),
    ] {
        let [near, far] = [1, 2].map(|end| format!("10.77.{situation}.{end}"));
        let network = network(&[STRONGSWAN], Some(&behind_gateways(policy, &near, &far)));
        let mut links = network.links.iter();
        let link = links.find(|link| link.listing == Listing::Listed(0)).unwrap();
        let mut objections = link.objections.iter();
        let objection = objections.find(|objection| objection.concern == Concern::Policy);
        let because = objection.map(|objection| objection.because.as_str());
        assert_eq!(because, named, "{situation} under {policy}");
    }
}

#[test]
fn an_exception_excuses_nothing_where_packets_have_no_time() {
    let mut without = STRONGSWAN.to_vec();
    let mut record = 24;
    while let Some(header) = without.get_mut(record..).and_then(|rest| rest.first_chunk_mut::<16>()) {
        header[..8].fill(0);
        let length = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
        record += header.len() + length as usize;
    }
    let policy = "{ profile: transition, reason: lab, expires: 2099-01-01 }";
    let deployment = behind_gateways(policy, "10.77.1.1", "10.77.1.2");
    for (file, excused) in [(STRONGSWAN, true), (&without, false)] {
        let network = network(&[file], Some(&deployment));
        let mut links = network.links.iter();
        let link = links.find(|link| link.listing == Listing::Listed(0)).unwrap();
        assert_eq!(link.exception.is_some(), excused);
        assert_eq!(concerns(link).contains(&Concern::Confidentiality), !excused);
    }
}

/// Concerns of confidentiality and authenticity about the link of a capture, with other bytes in it and
/// under an exception.
fn excepted(capture: &[u8], port: Option<u16>, change: impl Fn(&mut Vec<u8>)) -> Vec<Concern> {
    let of_port = |frame: &Frame<'_>| {
        let ports = frame.ends.map(|(from, to)| [from.port(), to.port()]);
        port.is_none_or(|port| ports.is_some_and(|ports| ports.contains(&port)))
    };
    let all = Capture::read(capture);
    let packets = all.packets.iter().filter(|packet| of_port(&Frame::read(&packet.bytes)));
    let packets = packets.map(|packet| {
        let mut bytes = packet.bytes.clone();
        if let Some(port) = port {
            // Both ends of a recording on one host become two.
            let from_server = Frame::read(&bytes).ends.is_some_and(|(from, _)| from.port() == port);
            bytes[if from_server { 29 } else { 33 }] = 9;
        }
        change(&mut bytes);
        packet.with(bytes)
    });
    let file = all.with(packets.collect()).file();
    let seen = network(&[&file], None);
    let addresses = seen.links[0].ends.each_ref().map(|end| end.address.to_string());
    let [one, other] = &addresses;
    let (kind, function, with) = match seen.links[0].carriers.contains(&Carrier::Tcp) {
        true => ("SBI", "NRF", "sidecar"),
        false => ("N2", "gNB", "ipsec"),
    };
    let text = format!(
        "nodes:\n  amf: {{ function: AMF, address: \"{one}\" }}\n  peer: {{ function: {function}, address: \"{other}\" }}\n\
         interfaces:\n  - {{ kind: {kind}, between: [amf, peer], with: {with}, policy: \
         {{ profile: transition, reason: lab, expires: 2099-01-01 }} }}\n"
    );
    let judged = network(&[&file], Some(&text));
    let link = between(&judged, one, other);
    assert_eq!(link.listing, Listing::Listed(0));
    let mut found = concerns(link);
    found.retain(|concern| !matches!(concern, Concern::Policy | Concern::AboveTransport));
    found
}

/// The cipher suite of each ServerHello of TLS and DTLS becomes this one.
fn with_suite(suite: u16) -> impl Fn(&mut Vec<u8>) {
    move |bytes| {
        for at in 0..bytes.len() {
            let session = match bytes[at..] {
                [22, 3, _, _, _, 2, ..] => at + 43,
                [22, 0xfe, _, 0, 0, _, _, _, _, _, _, _, _, 2, ..] => at + 59,
                _ => continue,
            };
            let Some(length) = bytes.get(session) else { continue };
            let place = session + 1 + usize::from(*length);
            bytes[place..place + 2].copy_from_slice(&suite.to_be_bytes());
        }
    }
}

fn with_bytes(from: &'static [u8], to: &'static [u8]) -> impl Fn(&mut Vec<u8>) {
    move |bytes| {
        while let Some(at) = bytes.windows(from.len()).position(|window| window == from) {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
    }
}

/// "The vendor delivers ML-KEM in May" excuses a key exchange, and no cipher that falls without a quantum computer.
#[test]
fn an_exception_excuses_a_classical_key_exchange_and_no_cipher() {
    const TLS: &[u8] = include_bytes!("../../wire/tests/data/openssl-3.5.7.pcap");
    const DTLS_IN_SCTP: &[u8] = include_bytes!("../../wire/tests/data/dtls-1.2-in-sctp.pcap");
    const SSH: &[u8] = include_bytes!("../../wire/tests/data/openssh-10.0.pcap");
    let keep = |_: &mut Vec<u8>| {};
    let (vulnerable, unencrypted) = (Concern::Confidentiality, Concern::ReadableNow);
    assert_eq!(excepted(TLS, Some(4404), keep), []);
    for suite in [0x000a, 0x0005, 0x0003, 0xeeee] {
        let found = excepted(TLS, Some(4404), with_suite(suite));
        assert_eq!(found, [vulnerable], "TLS 1.2 with {suite:04x}");
    }
    // Its client has no certificate: no classical signature that an exception could excuse.
    let sctp = first_association(DTLS_IN_SCTP);
    assert_eq!(excepted(&sctp, None, keep), [Concern::Authenticity]);
    for (suite, concern) in [
        (0x000a, vulnerable),
        (0x0005, vulnerable),
        (0xeeee, vulnerable),
        (0x008a, vulnerable),
        (0x003b, unencrypted),
        (0x00b0, unencrypted),
    ] {
        let found = excepted(&sctp, None, with_suite(suite));
        assert_eq!(
            found,
            [concern, Concern::Authenticity],
            "DTLS 1.2 in SCTP with {suite:04x}"
        );
    }
    assert_eq!(excepted(SSH, Some(4503), keep), []);
    for cipher in [b"3des-cbc,", b"arcfour,,", b"mine@home"] {
        let found = excepted(SSH, Some(4503), with_bytes(b"chacha20-poly1305@openssh.com", cipher));
        assert_eq!(found, [vulnerable], "SSH with {cipher:?}");
    }
    let ike = of_network(1);
    assert_eq!(excepted(&ike, None, keep), []);
    for to in [&[1, 0, 0, 3, 0x80, 14, 1, 0], &[1, 0, 3, 231, 0x80, 14, 1, 0]] {
        let found = excepted(&ike, None, with_bytes(&[1, 0, 0, 20, 0x80, 14, 1, 0], to));
        assert!(!found.is_empty(), "IKE with {to:?}");
    }
}

/// The packets of strongSwan between the hosts of one situation.
fn of_network(number: u8) -> Vec<u8> {
    let all = Capture::read(STRONGSWAN);
    let packets = all
        .packets
        .iter()
        .filter(|packet| packet.bytes[26..29] == [10, 77, number]);
    all.with(packets.cloned().collect()).file()
}

/// The packets of raw IP before the second INIT of a capture.
fn first_association(capture: &[u8]) -> Vec<u8> {
    let all = Capture::read(capture);
    let is_init = |packet: &&frame::Packet| packet.bytes[32] == 1;
    let second = all.packets.iter().filter(is_init).nth(1).unwrap();
    let packets = all.packets.iter().take_while(|packet| *packet != second);
    all.with(packets.cloned().collect()).file()
}
