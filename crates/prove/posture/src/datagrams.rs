//! Posture of packets without a connection: GTP-U, PFCP, GTPv2-C, QUIC and unrecognised protocols.

use bartizan_registry::UDP_APPLICATIONS;
use bartizan_wire::datagrams::{DatagramProtocol, Datagrams, Named};

use crate::dtls::dtls_posture;
use crate::port;
use crate::quic::{self, quic_posture};
use crate::{Answer, Hint, Interface, Judgement, Kind, Ledgers, Posture, Reply, Source, Verdict};

/// Judges a protocol over UDP between two ends. QUIC is joined with ledger records of the same
/// client random.
#[must_use]
pub fn datagrams_posture(datagrams: &Datagrams, ledgers: &Ledgers) -> Posture {
    let posture = match datagrams.protocol {
        DatagramProtocol::Quic => match &datagrams.quic {
            Some(quic) => quic_posture(datagrams, quic, ledgers),
            None => hidden(datagrams),
        },
        DatagramProtocol::Dtls => match &datagrams.dtls {
            Some(dtls) => dtls_posture(datagrams, dtls),
            None => not_read(datagrams),
        },
        DatagramProtocol::Eapol | DatagramProtocol::EapInRadius | DatagramProtocol::Mka | DatagramProtocol::MacSec => {
            match datagrams.port.as_deref() {
                Some(port) => port::posture(datagrams, port),
                None => not_read(datagrams),
            }
        }
        DatagramProtocol::Named(named) if !named.is_plaintext() => closed(datagrams, named),
        DatagramProtocol::Udp
        | DatagramProtocol::Ip(_)
        | DatagramProtocol::Unreadable(_)
        | DatagramProtocol::Fragments(_)
        | DatagramProtocol::Surplus
        | DatagramProtocol::Frame(_)
        | DatagramProtocol::Tunnel(_) => not_read(datagrams),
        DatagramProtocol::GtpU if datagrams.user_packets > 0 && datagrams.user_packets_in_plaintext == 0 => {
            outer(datagrams)
        }
        _ => plain(datagrams),
    };
    if let Some(interface) = quic::interface(datagrams, ledgers) {
        return Posture {
            interface: Some(interface),
            ..posture
        };
    }
    let interface = interface(datagrams);
    Posture {
        interface,
        named_by: interface.map(|_| Source::between(datagrams.first, datagrams.first)),
        ..posture
    }
}

/// By port: a protocol that serves several interfaces is named by all of them until something tells which.
fn interface(datagrams: &Datagrams) -> Option<Interface> {
    let protocol = datagrams.protocol;
    if protocol == DatagramProtocol::GtpC
        && let Some(name) = by_messages(datagrams)
    {
        return Some(Interface {
            name,
            by: Hint::Content,
        });
    }
    if protocol == DatagramProtocol::Named(Named::Ecpri) {
        return Some(Interface {
            name: port::FRONTHAUL,
            by: Hint::Content,
        });
    }
    let known = UDP_APPLICATIONS
        .iter()
        .find(|known| protocol.name() == known.protocol)?;
    let name = match known.interfaces {
        [one] => one,
        _ => known.protocol,
    };
    Some(Interface { name, by: Hint::Port })
}

/// Message types that only one interface of GTPv2-C has (TS 29.274, table 6.1-1): relocation and
/// contexts between control planes, sessions towards gateways.
fn by_messages(datagrams: &Datagrams) -> Option<&'static str> {
    let types = || datagrams.messages.types.iter().map(|(kind, _)| *kind);
    let relocates = types().any(|kind| matches!(kind, 128..=141));
    let sessions = types().any(|kind| matches!(kind, 32..=39 | 64..=73 | 95..=100 | 170 | 171 | 176 | 177));
    match (relocates, sessions) {
        (true, false) => Some("N26"),
        (false, true) => Some("S11 or S5"),
        _ => None,
    }
}

pub(crate) fn all(datagrams: &Datagrams) -> Vec<Source> {
    vec![Source::between(datagrams.first, datagrams.last)]
}

pub(crate) fn uniform(
    kind: Kind,
    confidentiality: Judgement,
    authenticity: Judgement,
    reply: &Reply,
    clear: Reply,
) -> Posture {
    Posture {
        offered: reply.clone(),
        preferred: reply.clone(),
        negotiated: reply.clone(),
        server_authenticated: reply.clone(),
        client_authenticated: reply.clone(),
        stayed: reply.clone(),
        clear,
        ..Posture::bare(kind, confidentiality, authenticity)
    }
}

fn plain(datagrams: &Datagrams) -> Posture {
    let name = datagrams.protocol.name();
    let sources = match datagrams.first_in_plaintext {
        Some(at) => vec![Source::between(at, at)],
        None => all(datagrams),
    };
    let users = match datagrams.user_packets_in_plaintext {
        0 => String::new(),
        users => format!(", with {users} packets of users"),
    };
    let (without, what) = match port::planes(datagrams) {
        Some(planes) => (port::protection(datagrams), format!(" ({planes})")),
        None => ("without IPsec", users.clone()),
    };
    let because = format!("sent unencrypted: {name} {without}{what}");
    let confidentiality = Judgement::new(Verdict::ReadableNow, because, sources);
    let messages = datagrams.from_client.packets + datagrams.from_server.packets;
    let bytes = datagrams.from_client.bytes + datagrams.from_server.bytes;
    let clear = format!("{messages} messages of {name}, {bytes} bytes{users}");
    uniform(
        kind(datagrams.protocol),
        confidentiality,
        forgeable(datagrams),
        &Reply::new(Answer::No, "sent unencrypted", all(datagrams)),
        Reply::new(Answer::Yes, clear, all(datagrams)),
    )
}

/// Tunnels in plaintext, in which no user's packet is unencrypted: on F1-U and Xn-U they hold PDCP, which the radio may
/// encrypt from end to end.
fn outer(datagrams: &Datagrams) -> Posture {
    let because = "GTP-U without IPsec; whether PDCP encrypts what is in it is not shown";
    uniform(
        Kind::GtpU,
        Judgement::new(Verdict::NotObservable, because, all(datagrams)),
        forgeable(datagrams),
        &Reply::new(Answer::No, "GTP-U negotiates nothing", all(datagrams)),
        Reply::new(Answer::Yes, "the headers of GTP-U", all(datagrams)),
    )
}

fn forgeable(datagrams: &Datagrams) -> Judgement {
    if port::is_authenticated(datagrams) {
        let because = "MACsec authenticates its frames; how that is keyed is not shown here";
        return Judgement::new(Verdict::NotObservable, because, all(datagrams));
    }
    let because = "none: sent unencrypted, neither end proves who it is";
    Judgement::new(Verdict::Vulnerable, because, all(datagrams))
}

fn hidden(datagrams: &Datagrams) -> Posture {
    let because = "QUIC, whose handshake is not read";
    let judgement = Judgement::new(Verdict::NotObservable, because, all(datagrams));
    uniform(
        Kind::Quic,
        judgement.clone(),
        judgement,
        &Reply::new(Answer::NotObservable, because, all(datagrams)),
        Reply::new(Answer::No, "QUIC encrypts all but its first packets", all(datagrams)),
    )
}

/// Posture of a protocol that is known by name and not readable, as its name implies.
fn closed(datagrams: &Datagrams, named: Named) -> Posture {
    let name = named.name();
    let (verdict, answer, because) = match named {
        Named::WireGuard => {
            let because = "WireGuard keyed by X25519: whether a pre-shared key takes part is not shown";
            (Verdict::NotObservable, Answer::NotObservable, because.to_owned())
        }
        Named::Snmp3Private => {
            let because = format!("{name}, keyed by passwords: how they came to its ends is not shown");
            (Verdict::NotObservable, Answer::NotObservable, because)
        }
        Named::Rtp | Named::Rtcp => {
            let because = format!("{name}; whether SRTP encrypts it is not shown");
            (Verdict::NotObservable, Answer::NotObservable, because)
        }
        _ => {
            let because = format!("{name}, whose key exchange is not read");
            (Verdict::NotObservable, Answer::NotObservable, because)
        }
    };
    let judgement = Judgement::new(verdict, because.as_str(), all(datagrams));
    let clear = match named {
        Named::WireGuard => Reply::new(Answer::No, "WireGuard encrypts what it carries", all(datagrams)),
        _ => Reply::new(Answer::NotObservable, because.as_str(), all(datagrams)),
    };
    uniform(
        Kind::Named(named),
        judgement.clone(),
        judgement,
        &Reply::new(answer, because.as_str(), all(datagrams)),
        clear,
    )
}

/// Posture of unrecognised packets: they may be anything.
fn not_read(datagrams: &Datagrams) -> Posture {
    let name = datagrams.protocol.name();
    let because = match datagrams.protocol {
        DatagramProtocol::Udp => "UDP that no reader recognises".to_owned(),
        DatagramProtocol::Unreadable(_) => format!("packets of {name} in the capture"),
        DatagramProtocol::Fragments(_) => format!("{name} that do not make a whole packet"),
        DatagramProtocol::Surplus => format!("{name}, next to the packets between these hosts"),
        DatagramProtocol::Tunnel(_) => format!("{name} in which no packet could be read"),
        _ => format!("{name}, which is not read"),
    };
    let judgement = Judgement::new(Verdict::NotObservable, because.as_str(), all(datagrams));
    let reply = Reply::new(Answer::NotObservable, because.as_str(), all(datagrams));
    uniform(
        Kind::NotRead(datagrams.protocol),
        judgement.clone(),
        judgement,
        &reply,
        reply.clone(),
    )
}

fn kind(protocol: DatagramProtocol) -> Kind {
    match protocol {
        DatagramProtocol::GtpU => Kind::GtpU,
        DatagramProtocol::Pfcp => Kind::Pfcp,
        DatagramProtocol::GtpC => Kind::GtpC,
        DatagramProtocol::Quic => Kind::Quic,
        DatagramProtocol::Named(named) => Kind::Named(named),
        other => Kind::NotRead(other),
    }
}
