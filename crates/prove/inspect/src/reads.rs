//! Protocols that `inspect` reads, those it knows by name, and those it leaves unread, with the
//! verdicts that can come of each: from the tables and enums that the readers go by, so that a list
//! in a document cannot say anything else.

use std::fmt::Write as _;

use bartizan_posture::{Kind, Verdict};
use bartizan_registry::SCTP_APPLICATIONS;
use bartizan_wire::datagrams::{DatagramProtocol, ETHERTYPE_ECPRI, ETHERTYPE_PTP, Named};
use bartizan_wire::frames::FrameProtocol;
use bartizan_wire::link::ETHERTYPE_MACSEC;
use bartizan_wire::path::Encapsulation;
use bartizan_wire::plaintext::Plaintext;
use bartizan_wire::proxy::ProxyProtocol;
use bartizan_wire::{eapol, ip, link, sctp, udp};
use serde_json::{Value, json};

use crate::text::wrapped;

bartizan_registry::named! {
    /// Depth to which a protocol is followed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Reading, name {
        /// Its handshake or its messages are read, and the verdict follows from them.
        Read = "read",
        /// It is known by its name, and the verdict follows from that.
        Named = "named",
        /// Nothing of it is read: unproven by name.
        Unread = "unread",
    }
}

/// One protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protocol {
    /// Its carrier: `TCP`.
    pub over: &'static str,
    /// Its name: `TLS`.
    pub name: String,
    /// Depth to which it is followed.
    pub reading: Reading,
    /// Marks that distinguish it from others.
    pub recognised_by: String,
    /// Possible verdicts on its confidentiality.
    pub verdicts: Vec<Verdict>,
}

const STRUCTURE: &str = "structure";

/// A conversation of this kind, by its protocol. Each kind has its place here, or this does not compile.
fn of(kind: Kind) -> (&'static str, String, Reading, String) {
    use Reading::{Named, Read, Unread};
    let (over, name, reading, sign) = match kind {
        Kind::Tls13 | Kind::TlsLegacy(_) | Kind::TlsNotAgreed | Kind::TlsNotSeen => {
            ("TCP", "TLS".into(), Read, STRUCTURE.to_owned())
        }
        Kind::ClearHttp2 => ("TCP", "HTTP/2".into(), Read, STRUCTURE.into()),
        Kind::ClearHttp1 => ("TCP", "HTTP/1".into(), Read, STRUCTURE.into()),
        Kind::Ssh | Kind::SshNotAgreed | Kind::SshNotSeen => ("TCP", "SSH".into(), Read, STRUCTURE.into()),
        Kind::Plaintext(named) | Kind::Protected(named) => {
            let sign = match named.goes_over_to_tls() {
                true => "structure; followed into TLS",
                false => STRUCTURE,
            };
            ("TCP", named.name().to_owned(), Named, sign.into())
        }
        Kind::Proxy(protocol) => {
            let sign = format!("{}; followed into what is behind it", protocol.recognised_by());
            ("TCP", protocol.name().to_owned(), Read, sign)
        }
        Kind::IkeInTcp => ("TCP", "IKE and ESP".into(), Read, "the prefix IKETCP".into()),
        Kind::Unknown | Kind::Silent => ("TCP", "anything else".into(), Unread, "nothing above".into()),
        Kind::Ike | Kind::IkeNotAgreed | Kind::IkeNotSeen => ("UDP", "IKEv2".into(), Read, ike_ports()),
        Kind::IkeV1 => ("UDP", "IKEv1".into(), Read, ike_ports()),
        Kind::Esp | Kind::EspUnencrypted => {
            let sign = format!("IP protocol {}; UDP port {}", ip::ESP, udp::IKE_NAT);
            ("IP, UDP", "ESP".into(), Read, sign)
        }
        Kind::DtlsOverSctp => ("SCTP", "DTLS".into(), Read, STRUCTURE.into()),
        Kind::SshOverSctp => ("SCTP", "SSH".into(), Read, STRUCTURE.into()),
        Kind::DtlsChunks => ("SCTP", "DTLS chunks".into(), Unread, "chunk type".into()),
        Kind::ClearSctp | Kind::SctpSilent => ("SCTP", "user messages".into(), Named, payload_protocols()),
        Kind::GtpU => datagrams(DatagramProtocol::GtpU),
        Kind::Pfcp => datagrams(DatagramProtocol::Pfcp),
        Kind::GtpC => datagrams(DatagramProtocol::GtpC),
        Kind::Quic | Kind::QuicNotAgreed | Kind::QuicNotSeen => datagrams(DatagramProtocol::Quic),
        Kind::Dtls(_) | Kind::DtlsNotAgreed | Kind::DtlsNotSeen => datagrams(DatagramProtocol::Dtls),
        Kind::Named(named) => datagrams(DatagramProtocol::Named(named)),
        Kind::EapTls | Kind::EapTlsNotAgreed | Kind::EapTlsNotSeen | Kind::Eap | Kind::EapSilent => {
            datagrams(DatagramProtocol::Eapol)
        }
        Kind::Mka => datagrams(DatagramProtocol::Mka),
        Kind::MacSec => datagrams(DatagramProtocol::MacSec),
        Kind::NotRead(protocol) => datagrams(protocol),
    };
    (over, name, reading, sign)
}

/// The same of user messages of SCTP that are known by name.
fn sctp(named: sctp::Named) -> (&'static str, String, Reading, String) {
    let mut sign = STRUCTURE.to_owned();
    for protocol in named.payload_protocols() {
        let _ = write!(sign, ", PPID {protocol}");
    }
    ("SCTP", named.name().to_owned(), Reading::Named, sign)
}

/// The same of what has no connection.
fn datagrams(protocol: DatagramProtocol) -> (&'static str, String, Reading, String) {
    let at = |port: &u16| format!("structure on port {port}");
    let name = protocol.name().into_owned();
    match protocol {
        DatagramProtocol::GtpU | DatagramProtocol::Pfcp | DatagramProtocol::GtpC => {
            let sign = protocol.port().map_or(STRUCTURE.into(), |port| at(&port));
            ("UDP", name, Reading::Read, sign)
        }
        DatagramProtocol::Quic | DatagramProtocol::Dtls => ("UDP", name, Reading::Read, STRUCTURE.into()),
        DatagramProtocol::Eapol | DatagramProtocol::EapInRadius => {
            let sign = format!("EtherType 0x{:04x}; TLS in EAP read", eapol::ETHERTYPE);
            ("frames", name, Reading::Read, sign)
        }
        DatagramProtocol::Mka => {
            let sign = format!("EtherType 0x{:04x}, packet type {}", eapol::ETHERTYPE, eapol::kind::MKA);
            ("frames", name, Reading::Read, sign)
        }
        DatagramProtocol::MacSec => {
            let sign = format!("EtherType 0x{ETHERTYPE_MACSEC:04x}; followed into what it does not encrypt");
            ("frames", name, Reading::Read, sign)
        }
        DatagramProtocol::Named(named) => {
            let ports: Vec<String> = named.ports().iter().map(u16::to_string).collect();
            let sign = match ports.is_empty() {
                true => STRUCTURE.into(),
                false => format!("structure on port {}", ports.join(" or ")),
            };
            let in_frames = match named {
                Named::Ecpri => Some(ETHERTYPE_ECPRI),
                Named::Ptp => Some(ETHERTYPE_PTP),
                _ => None,
            };
            match in_frames {
                Some(kind) => (
                    "UDP, frames",
                    name,
                    Reading::Named,
                    format!("{sign}; EtherType 0x{kind:04x}"),
                ),
                None => ("UDP", name, Reading::Named, sign),
            }
        }
        DatagramProtocol::Udp => ("UDP", "anything else".into(), Reading::Unread, "nothing above".into()),
        DatagramProtocol::Ip(number) => ("IP", name, Reading::Unread, format!("IP protocol {number}")),
        DatagramProtocol::Unreadable(_) => {
            let name = "packets without a whole header".into();
            ("IP", name, Reading::Unread, STRUCTURE.into())
        }
        DatagramProtocol::Fragments(_) => {
            let name = "fragments that do not make a packet".into();
            ("IP", name, Reading::Unread, STRUCTURE.into())
        }
        DatagramProtocol::Surplus => ("IP", name, Reading::Unread, STRUCTURE.into()),
        DatagramProtocol::Frame(frame) => {
            let sign = match frame {
                FrameProtocol::Type(kind) => format!("EtherType 0x{kind:04x}"),
                FrameProtocol::Llc(point) => format!("LLC 0x{point:02x}"),
                FrameProtocol::Cisco(kind) | FrameProtocol::Snap(kind) => format!("SNAP 0x{kind:04x}"),
                FrameProtocol::Ppp(kind) => format!("PPP 0x{kind:04x}"),
                FrameProtocol::PseudoWire | FrameProtocol::AssociatedChannel | FrameProtocol::Deep => STRUCTURE.into(),
            };
            ("frames", name, Reading::Unread, sign)
        }
        DatagramProtocol::Tunnel(_) => {
            let name = "a tunnel in which no packet can be read".into();
            ("IP, UDP", name, Reading::Unread, "as tunnels are recognised".into())
        }
    }
}

fn ike_ports() -> String {
    format!("structure on port {} or {}", udp::IKE, udp::IKE_NAT)
}

fn payload_protocols() -> String {
    let known = SCTP_APPLICATIONS
        .iter()
        .filter_map(|known| Some(format!("{} {}", known.protocol, known.payload_protocol?)));
    format!("PPID ({}), first message, port", known.collect::<Vec<_>>().join(", "))
}

/// Kinds that no reader recognises, for those with many names: frames and IP protocols.
fn unread() -> impl Iterator<Item = Kind> {
    // With a header that cannot be right, these are frames like others.
    let read = [eapol::ETHERTYPE, ETHERTYPE_MACSEC, ETHERTYPE_ECPRI, ETHERTYPE_PTP].map(FrameProtocol::Type);
    let frames = FrameProtocol::named()
        .filter(move |frame| !frame.is_housekeeping() && !read.contains(frame))
        .map(DatagramProtocol::Frame);
    let tunnel = Encapsulation::ALL.first().copied().map(DatagramProtocol::Tunnel);
    let others = [
        DatagramProtocol::Unreadable(0),
        DatagramProtocol::Fragments(0),
        DatagramProtocol::Surplus,
    ];
    DatagramProtocol::named_ip()
        .filter(|protocol| {
            !matches!(
                protocol,
                DatagramProtocol::Ip(ip::TCP | ip::UDP | ip::SCTP | ip::ESP | ip::AH)
            )
        })
        .chain(others)
        .chain(tunnel)
        .chain(frames)
        .map(Kind::NotRead)
}

/// Every protocol that a conversation may be of.
pub fn protocols() -> Vec<Protocol> {
    let mut all: Vec<Protocol> = Vec::new();
    let kinds = Kind::all().chain(unread()).map(|kind| (of(kind), kind.verdicts()));
    // In SCTP some of those over TCP are spoken as well.
    let in_sctp = sctp::Named::ALL.iter().filter_map(|named| match named {
        sctp::Named::Diameter => Some((sctp(*named), Kind::Plaintext(Plaintext::Diameter).verdicts())),
        sctp::Named::Sip => Some((sctp(*named), Kind::Plaintext(Plaintext::Sip).verdicts())),
        sctp::Named::Ssh => None,
    });
    for ((over, name, reading, recognised_by), verdicts) in kinds.chain(in_sctp) {
        let at = all.iter().position(|known| known.over == over && known.name == name);
        let protocol = match at {
            Some(at) => &mut all[at],
            None => {
                all.push(Protocol {
                    over,
                    name,
                    reading,
                    recognised_by,
                    verdicts: Vec::new(),
                });
                let last = all.len() - 1;
                &mut all[last]
            }
        };
        protocol.verdicts.extend(verdicts);
        protocol.verdicts.sort_unstable_by_key(|verdict| *verdict as u8);
        protocol.verdicts.dedup();
    }
    let place = |protocol: &Protocol| {
        const ORDER: [&str; 7] = ["TCP", "SCTP", "UDP", "UDP, frames", "IP, UDP", "IP", "frames"];
        let over = ORDER.iter().position(|over| *over == protocol.over);
        (over, protocol.reading as u8)
    };
    all.sort_by_key(place);
    all
}

/// Carriers of packets that are read through: the name and the marks of each.
pub fn carriers() -> impl Iterator<Item = (&'static str, String)> {
    let tunnels = Encapsulation::ALL.iter().map(|encapsulation| {
        let marks: Vec<String> = encapsulation.marks().iter().map(ToString::to_string).collect();
        (encapsulation.name(), marks.join(", "))
    });
    let proxies = ProxyProtocol::ALL.iter();
    tunnels.chain(proxies.map(|proxy| (proxy.name(), proxy.recognised_by().to_owned())))
}

/// Link types of captured frames.
pub fn links() -> impl Iterator<Item = (&'static str, u16)> {
    link::link_types().map(|(link, name)| (name, link.0))
}

/// Protocols by which hosts and stations keep a network together: they carry no user data, and need
/// no judgement.
pub fn housekeeping() -> Vec<String> {
    let ip = ip::HOUSEKEEPING.iter().map(|(_, name)| (*name).to_owned());
    let frames = FrameProtocol::named().filter(|frame| frame.is_housekeeping());
    ip.chain(frames.map(|frame| frame.name().into_owned())).collect()
}

fn verdicts(protocol: &Protocol) -> String {
    let names: Vec<&str> = protocol.verdicts.iter().map(|verdict| verdict.name()).collect();
    names.join(", ")
}

/// As lines of at most `width` characters.
pub fn text(width: usize) -> String {
    const INDENT: usize = 4;
    let mut out = String::new();
    let mut lines = |line: String| {
        for line in wrapped(&line, width, 2 * INDENT) {
            let _ = writeln!(out, "{line}");
        }
    };
    lines("protocols: over, name, how far; recognised by; what confidentiality can be".into());
    for protocol in protocols() {
        let Protocol {
            over,
            name,
            recognised_by,
            ..
        } = &protocol;
        lines(format!("  {over:<8}{name}: {}", protocol.reading.name()));
        lines(format!("    recognised by {recognised_by}"));
        lines(format!("    {}", verdicts(&protocol)));
    }
    lines("carried in, recognised by".into());
    carriers().for_each(|(name, marks)| lines(format!("  {name}: {marks}")));
    lines("frames begin with, link type".into());
    links().for_each(|(name, number)| lines(format!("  {name}: {number}")));
    lines("needs no judgement".into());
    lines(format!("  {}", housekeeping().join(", ")));
    out
}

/// For a program: schema `bartizan-inspect-reads/2`.
pub fn json() -> Value {
    let protocols: Vec<Value> = protocols()
        .iter()
        .map(|protocol| {
            let verdicts: Vec<&str> = protocol.verdicts.iter().map(|verdict| verdict.name()).collect();
            json!({
                "over": protocol.over,
                "name": protocol.name,
                "reading": protocol.reading.name(),
                "recognised_by": protocol.recognised_by,
                "confidentiality": verdicts,
            })
        })
        .collect();
    let carriers: Vec<Value> = carriers()
        .map(|(name, recognised_by)| json!({ "name": name, "recognised_by": recognised_by }))
        .collect();
    let links: Vec<Value> = links()
        .map(|(name, number)| json!({ "name": name, "link_type": number }))
        .collect();
    json!({
        "schema": "bartizan-inspect-reads/2",
        "protocols": protocols,
        "carriers": carriers,
        "links": links,
        "needs_no_judgement": housekeeping(),
    })
}
