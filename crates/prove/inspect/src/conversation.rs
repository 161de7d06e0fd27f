//! A conversation: one connection, association, security association or protocol over UDP, judged,
//! and its likeness to others. Several of them between two ends are a link, of `posture`.

use std::net::SocketAddr;

use bartizan_posture::{Interface, JudgedEspSa, JudgedIkeSa, Kind, Posture, Verdict};
use bartizan_registry::{NamedGroup, SignatureScheme};
use bartizan_wire::datagrams::{Datagrams, DatagramsSent};
use bartizan_wire::esp::{Carrier, EspSa};
use bartizan_wire::http2::Http2;
use bartizan_wire::ike::{IkeSa, Origin};
use bartizan_wire::keys::Certificate;
use bartizan_wire::path::Path;
use bartizan_wire::proxy::Hop;
use bartizan_wire::sctp::{self, Association, Begun};
use bartizan_wire::ssh::Ssh;
use bartizan_wire::tls::{Certificates, ClientHello, Flight, Opened, Protected, Tls};
use bartizan_wire::{Address, Captured, Connection, Content, End, Ending, Moment, Roles, Seen, Start, Traffic};

/// A connection, association or security association and what follows from it, without what only readers needed.
#[derive(Debug, Clone)]
pub struct Conversation {
    pub(crate) number: u64,
    pub(crate) client: End,
    pub(crate) server: End,
    /// The evidence by which the two were distinguished.
    pub(crate) roles: &'static str,
    /// Carriers of its packets, and those on the way back, where that differs.
    pub(crate) path: Path,
    pub(crate) path_back: Option<Path>,
    /// Packets of the capture that belong to it, and to nothing in it.
    pub(crate) captured: Captured,
    pub(crate) first: Moment,
    pub(crate) last: Moment,
    pub(crate) start: &'static str,
    pub(crate) ending: &'static str,
    pub(crate) from_client: Traffic,
    pub(crate) from_server: Traffic,
    pub(crate) tls: Option<TlsFacts>,
    pub(crate) http2: Option<Http2>,
    pub(crate) ssh: Option<Box<Ssh>>,
    pub(crate) ike: Option<Box<IkeSa>>,
    pub(crate) esp: Option<Box<EspSa>>,
    pub(crate) sctp: Option<Box<Association>>,
    pub(crate) datagrams: Option<Box<Datagrams>>,
    /// Negotiations with proxies that its stream begins with.
    pub(crate) proxies: Box<[Hop]>,
    pub(crate) posture: Posture,
}

/// Carriers of the responder's messages, where they differ.
fn back_of(sa: &IkeSa) -> Option<Path> {
    match &sa.paths {
        [Some(there), Some(back)] if there != back => Some(back.clone()),
        _ => None,
    }
}

fn ending(ending: Ending) -> &'static str {
    match ending {
        Ending::Closed => "closed",
        Ending::Reset => "reset",
        Ending::Replaced => "replaced",
        Ending::Open => "open",
    }
}

/// Packets and bytes of one direction, of a protocol that is no byte stream.
fn traffic(packets: u64, bytes: u64, missing: u64) -> Traffic {
    let mut traffic = Traffic::default();
    traffic.packets = packets;
    traffic.stream.bytes = bytes;
    traffic.stream.gaps = missing;
    traffic
}

/// Evidence of a TLS connection.
#[derive(Debug, Clone)]
pub(crate) struct TlsFacts {
    /// The ClientHello that counts: the second where the server asked for one.
    pub(crate) hello: Option<ClientHello>,
    pub(crate) cipher_suite: Option<u16>,
    /// The group a HelloRetryRequest asked for, if there was one.
    pub(crate) hello_retry_request: Option<Option<NamedGroup>>,
    pub(crate) resumed: bool,
    /// Certificates in plaintext, as before TLS 1.3; none where no message with them was seen.
    pub(crate) server_certificates: Option<Box<[Certificate]>>,
    pub(crate) client_certificates: Option<Box<[Certificate]>>,
    pub(crate) flights: Vec<Flight>,
    pub(crate) protected_client: Protected,
    pub(crate) protected_server: Protected,
    pub(crate) alerts: Vec<String>,
    pub(crate) faults: Vec<String>,
    pub(crate) opened: Option<Box<Opened>>,
}

/// Connections that agree in this are one row of a table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Likeness {
    client: Address,
    server: End,
    path: Path,
    kind: Kind,
    interface: Option<Interface>,
    key_exchange: Option<String>,
    stayed: String,
    offered: Vec<NamedGroup>,
    schemes: Vec<SignatureScheme>,
    group: Option<NamedGroup>,
    hello_retry_request: bool,
    resumed: bool,
    confidentiality: Verdict,
    authenticity: Verdict,
    because: [String; 2],
    contradictions: Vec<String>,
}

impl Conversation {
    /// The end that asks, or sends first, and the other.
    pub fn ends(&self) -> [End; 2] {
        [self.client, self.server]
    }

    /// SPI that distinguishes it from others between the same ends: the initiator's for IKE, the
    /// receiver's for ESP.
    pub fn spi(&self) -> Option<u64> {
        let ike = self.ike.as_ref().map(|sa| sa.initiator_spi);
        ike.or_else(|| self.esp.as_ref().map(|sa| sa.spi.into()))
    }

    /// Packets of the capture that belong to it, and to nothing in it.
    pub fn captured(&self) -> Captured {
        self.captured
    }

    /// Traffic of each of its ends; for a protocol that is no stream its packets and bytes.
    pub fn traffic(&self) -> [&Traffic; 2] {
        [&self.from_client, &self.from_server]
    }

    /// Its posture.
    pub fn posture(&self) -> &Posture {
        &self.posture
    }

    pub(crate) fn new(connection: &Connection, posture: Posture) -> Self {
        let (mut tls, mut http2, mut ssh) = (None, None, None);
        match &connection.content {
            Content::Tls(seen) => tls = Some(TlsFacts::new(seen)),
            Content::Http2(seen) => http2 = Some((**seen).clone()),
            Content::Ssh(seen) => ssh = Some(seen.clone()),
            Content::Proxy(_)
            | Content::Http1(_)
            | Content::Nothing
            | Content::Unknown(_)
            | Content::IkeInTcp(_)
            | Content::Plaintext(_) => {}
        }
        Self {
            number: connection.number,
            client: End::Socket(connection.client),
            server: End::Socket(connection.server),
            roles: match connection.roles {
                Roles::Syn => "syn",
                Roles::Content => "content",
                Roles::Port => "port",
            },
            path: connection.path.clone(),
            path_back: connection.path_back.clone(),
            captured: connection.captured,
            first: connection.first,
            last: connection.last,
            start: match connection.start {
                Start::Syn => "syn",
                Start::Midstream => "midstream",
            },
            ending: ending(connection.ending),
            from_client: connection.from_client,
            from_server: connection.from_server,
            tls,
            http2,
            ssh,
            ike: None,
            esp: None,
            sctp: None,
            datagrams: None,
            proxies: connection.negotiations().cloned().collect(),
            posture,
        }
    }

    /// An SCTP association.
    pub(crate) fn association(association: Association, posture: Posture) -> Self {
        let direction = |sent: &sctp::Sent| traffic(sent.packets, sent.bytes, sent.missing);
        Self {
            number: association.number,
            client: End::Socket(association.initiator),
            server: End::Socket(association.responder),
            roles: match association.roles {
                sctp::Roles::Init => "init",
                sctp::Roles::Port => "port",
            },
            path: association.path.clone(),
            path_back: None,
            captured: association.captured,
            first: association.first,
            last: association.last,
            start: match association.begun {
                Begun::Init => "init",
                Begun::Midstream => "midstream",
            },
            ending: ending(association.ending),
            from_client: direction(&association.from_initiator),
            from_server: direction(&association.from_responder),
            tls: None,
            http2: None,
            ssh: association.ssh.clone(),
            ike: None,
            esp: None,
            posture,
            datagrams: None,
            proxies: Box::default(),
            sctp: Some(Box::new(association)),
        }
    }

    /// An IKE_SA.
    pub(crate) fn ike(judged: JudgedIkeSa) -> Self {
        let JudgedIkeSa { sa, posture } = judged;
        let (ours, theirs) = (&sa.from_initiator, &sa.from_responder);
        Self {
            number: sa.number,
            client: End::Socket(sa.initiator),
            server: End::Socket(sa.responder),
            roles: "initiator flag",
            path: sa.paths.iter().flatten().next().cloned().unwrap_or_default(),
            path_back: back_of(&sa),
            captured: sa.captured,
            first: sa.first,
            last: sa.last,
            start: match sa.origin {
                Origin::Init => "init",
                Origin::Rekey => "rekey",
                Origin::Resumed => "resumed",
                Origin::Midstream => "midstream",
            },
            ending: "open",
            from_client: traffic(ours.packets, ours.ip_bytes, 0),
            from_server: traffic(theirs.packets, theirs.ip_bytes, 0),
            tls: None,
            http2: None,
            ssh: None,
            ike: Some(Box::new(sa)),
            esp: None,
            sctp: None,
            datagrams: None,
            proxies: Box::default(),
            posture,
        }
    }

    /// An ESP security association: one direction, its sender in the place of the client.
    pub(crate) fn esp(judged: JudgedEspSa) -> Self {
        let JudgedEspSa { sa, posture, .. } = judged;
        let (client, server) = match sa.carrier {
            Carrier::Ip => (End::Host(sa.source), End::Host(sa.destination)),
            Carrier::Udp { source, destination } | Carrier::Tcp { source, destination } => (
                End::Socket(SocketAddr::new(sa.source, source)),
                End::Socket(SocketAddr::new(sa.destination, destination)),
            ),
        };
        Self {
            number: sa.number,
            client,
            server,
            roles: "sender",
            path: sa.path.clone(),
            path_back: None,
            captured: sa.captured,
            first: sa.first,
            last: sa.last,
            start: if sa.first_sequence == 1 {
                "first packet"
            } else {
                "midstream"
            },
            ending: "open",
            from_client: traffic(sa.packets, sa.bytes, sa.missing),
            from_server: Traffic::default(),
            tls: None,
            http2: None,
            ssh: None,
            ike: None,
            esp: Some(Box::new(sa)),
            sctp: None,
            datagrams: None,
            proxies: Box::default(),
            posture,
        }
    }

    /// A protocol over UDP between two ends.
    pub(crate) fn datagrams(datagrams: Datagrams, posture: Posture) -> Self {
        let direction = |sent: &DatagramsSent| traffic(sent.packets, sent.bytes, 0);
        Self {
            number: datagrams.number,
            client: datagrams.client,
            server: datagrams.server,
            roles: "sender",
            path: datagrams.path.clone(),
            path_back: None,
            captured: datagrams.captured,
            first: datagrams.first,
            last: datagrams.last,
            start: "first packet",
            ending: "open",
            from_client: direction(&datagrams.from_client),
            from_server: direction(&datagrams.from_server),
            tls: datagrams
                .eap()
                .and_then(|eap| eap.tls.as_ref())
                .map(|tls| TlsFacts::new(tls)),
            http2: None,
            ssh: None,
            ike: None,
            esp: None,
            sctp: None,
            datagrams: Some(Box::new(datagrams)),
            proxies: Box::default(),
            posture,
        }
    }

    /// Bytes it holds, about.
    pub(crate) fn held(&self) -> usize {
        // Reasons, sources and what an allocator adds, of ten statements; measured.
        const POSTURE: usize = 1000;
        let hello = self.tls.as_ref().and_then(|tls| tls.hello.as_ref());
        let hello = hello.map_or(0, |hello| {
            let two = hello.cipher_suites.len()
                + hello.supported_groups.len()
                + hello.signature_algorithms.len()
                + hello.signature_algorithms_cert.len()
                + hello.supported_versions.len()
                + 2 * hello.key_shares.len();
            let names = hello.alpn.iter().map(|name| name.len() + 32).sum::<usize>();
            2 * two + names + hello.server_name.as_ref().map_or(0, String::len) + 8 * 16
        });
        let tls = self.tls.as_ref().map_or(0, |tls| {
            let texts = tls.alerts.iter().chain(&tls.faults).map(|text| text.len() + 40);
            let shown = tls.server_certificates.iter().chain(&tls.client_certificates);
            let shown = shown.flatten().map(|one| one.held() + 16).sum::<usize>();
            tls.flights.len() * size_of::<Flight>() + texts.sum::<usize>() + shown
        });
        let ike = self.ike.as_ref().map_or(0, |sa| sa.held());
        let esp = self.esp.as_ref().map_or(0, |_| size_of::<EspSa>() + 16);
        let sctp = self.sctp.as_ref().map_or(0, |association| {
            let addresses = association.initiator_addresses.len() + association.responder_addresses.len();
            let dtls = association.dtls.as_ref().map_or(0, sctp::Dtls::held);
            size_of::<Association>() + 32 * addresses + 128 + dtls
        });
        let datagrams = self.datagrams.as_ref().map_or(0, |one| {
            let quic = one.quic.as_ref().map_or(0, |quic| size_of_val(&**quic) + quic.held());
            let dtls = one.dtls.as_ref().map_or(0, |dtls| size_of_val(&**dtls) + dtls.held());
            size_of::<Datagrams>() + one.messages.held() + quic + dtls
        });
        let proxies = self
            .proxies
            .iter()
            .map(|hop| size_of::<Hop>() + hop.held())
            .sum::<usize>();
        let texts = self.posture.contradictions.iter().map(|found| found.what.len() + 80);
        let holes = self.posture.holes.len() * 200;
        size_of::<Self>()
            + POSTURE
            + hello
            + tls
            + ike
            + esp
            + sctp
            + datagrams
            + proxies
            + texts.sum::<usize>()
            + holes
    }

    pub(crate) fn likeness(&self) -> Likeness {
        let hello = self.tls.as_ref().and_then(|tls| tls.hello.as_ref());
        Likeness {
            client: self.client.address(),
            server: self.server,
            path: self.path.clone(),
            kind: self.posture.kind,
            interface: self.posture.interface,
            key_exchange: self.posture.key_exchange(),
            // For TLS the reason follows from what is compared anyway; for IPsec it has sizes of
            // its own.
            stayed: self
                .ike
                .as_ref()
                .map_or_else(String::new, |_| self.posture.stayed.because().to_owned()),
            offered: hello.map_or_else(Vec::new, |hello| hello.supported_groups.clone()),
            schemes: hello.map_or_else(Vec::new, |hello| hello.signature_algorithms.clone()),
            group: self.posture.group,
            hello_retry_request: self.tls.as_ref().is_some_and(|tls| tls.hello_retry_request.is_some()),
            resumed: self.tls.as_ref().is_some_and(|tls| tls.resumed),
            confidentiality: self.posture.confidentiality.verdict(),
            authenticity: self.posture.authenticity.verdict(),
            because: [
                self.posture.confidentiality.because().to_owned(),
                self.posture.authenticity.because().to_owned(),
            ],
            contradictions: self
                .posture
                .contradictions
                .iter()
                .map(|found| found.what.clone())
                .collect(),
        }
    }

    /// Bytes of each flight of the handshake, in order.
    pub(crate) fn flights(&self) -> impl Iterator<Item = &Flight> {
        self.tls.iter().flat_map(|tls| &tls.flights)
    }

    /// Its kind, with the interface where packets tell it.
    pub(crate) fn what(&self) -> String {
        let kind = self.posture.kind.name();
        match self.posture.interface {
            Some(interface) => format!("{kind} ({})", interface.name),
            None => kind,
        }
    }

    /// Bytes of application payload on the wire, both directions, as far as reassembled; of IKE the bytes of its IP
    /// packets, of ESP what IP carries.
    pub(crate) fn bytes(&self) -> u64 {
        self.from_client.stream.bytes + self.from_server.stream.bytes
    }

    pub(crate) fn gaps(&self) -> u64 {
        self.from_client.stream.gaps + self.from_server.stream.gaps
    }
}

impl TlsFacts {
    fn new(tls: &Tls) -> Self {
        let hello = tls.second_client_hello.as_ref().or(tls.client_hello.as_ref());
        let server = tls.server_hello.as_ref().map(|seen| &seen.value);
        let resumed_12 = || {
            let (Some(client), Some(server)) = (hello, server) else {
                return false;
            };
            !server.session_id.is_empty() && server.session_id == client.value.session_id
        };
        let resumed = match tls.version() {
            Some(bartizan_wire::tls::Version::TLS13) => server.is_some_and(|server| server.pre_shared_key.is_some()),
            Some(_) => resumed_12(),
            None => false,
        };
        let chain = |seen: &Option<Seen<Certificates>>| Some(seen.as_ref()?.value.chain.clone().into_boxed_slice());
        Self {
            hello: hello.map(|seen| seen.value.clone()),
            cipher_suite: server.map(|server| server.cipher_suite),
            hello_retry_request: tls
                .hello_retry_request
                .as_ref()
                .map(|seen| seen.value.key_share.map(|share| share.group)),
            resumed,
            server_certificates: chain(&tls.server_certificates),
            client_certificates: chain(&tls.client_certificates),
            flights: tls.handshake_flights().to_vec(),
            protected_client: tls.from_client,
            protected_server: tls.from_server,
            alerts: tls.alerts.iter().map(|seen| seen.value.to_string()).collect(),
            opened: tls.opened.clone(),
            faults: tls
                .faults
                .iter()
                .map(|seen| format!("{} (packet {})", seen.value, seen.last.packet))
                .collect(),
        }
    }
}
