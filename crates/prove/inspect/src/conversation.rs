//! A conversation: one connection, association, security association or protocol over UDP, judged,
//! and its likeness to others. Several of them between two ends are a link, of `posture`.

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
use bartizan_wire::tcp::StreamCounts;
use bartizan_wire::tls::{Certificates, ClientHello, Flight, Opened, Protected, Tls};
use bartizan_wire::{Address, Captured, Connection, Content, End, Ending, Moment, Roles, Seen, Start, Traffic};

use crate::json::at_packet;

bartizan_registry::made! {
    /// A connection, association or security association and what follows from it, without what only readers needed.
    #[derive(Debug, Clone)]
    pub struct Conversation,
    /// Fields that all kinds have, and of the rest the values that most have.
    bare(
        number: u64,
        [client, server]: [End; 2],
        path: Path,
        captured: Captured,
        [first, last]: [Moment; 2],
        posture: Posture,
    ) {
        pub(crate) number: u64 = number,
        pub(crate) client: End = client,
        pub(crate) server: End = server,
        /// The evidence by which the two were distinguished.
        pub(crate) roles: &'static str = "sender",
        /// Carriers of its packets, and those on the way back, where that differs.
        pub(crate) path: Path = path,
        pub(crate) path_back: Option<Path> = None,
        /// Packets of the capture that belong to it, and to nothing in it.
        pub(crate) captured: Captured = captured,
        pub(crate) first: Moment = first,
        pub(crate) last: Moment = last,
        pub(crate) start: &'static str = "first packet",
        pub(crate) ending: &'static str = "open",
        pub(crate) from_client: Traffic = Traffic::default(),
        pub(crate) from_server: Traffic = Traffic::default(),
        pub(crate) tls: Option<TlsFacts> = None,
        pub(crate) http2: Option<Http2> = None,
        pub(crate) ssh: Option<Box<Ssh>> = None,
        pub(crate) ike: Option<Box<IkeSa>> = None,
        pub(crate) esp: Option<Box<EspSa>> = None,
        pub(crate) sctp: Option<Box<Association>> = None,
        pub(crate) datagrams: Option<Box<Datagrams>> = None,
        /// Negotiations with proxies that its stream begins with.
        pub(crate) proxies: Box<[Hop]> = Box::default(),
        pub(crate) posture: Posture = posture,
    }
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
    let mut stream = StreamCounts::default();
    (stream.bytes, stream.gaps) = (bytes, missing);
    Traffic { packets, stream }
}

bartizan_registry::made! {
    /// Evidence of a TLS connection.
    #[derive(Debug, Clone)]
    pub(crate) struct TlsFacts, new(tls: &Tls) {
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
        /// The ClientHello that counts: the second where the server asked for one.
        pub(crate) hello: Option<ClientHello> = hello.map(|seen| seen.value.clone()),
        pub(crate) cipher_suite: Option<u16> = server.map(|server| server.cipher_suite),
        /// The group a HelloRetryRequest asked for, if there was one.
        pub(crate) hello_retry_request: Option<Option<NamedGroup>> = tls
            .hello_retry_request
            .as_ref()
            .map(|seen| seen.value.key_share.map(|share| share.group)),
        pub(crate) resumed: bool = resumed,
        /// Certificates in plaintext, as before TLS 1.3; none where no message with them was seen.
        pub(crate) server_certificates: Option<Box<[Certificate]>> =
            chain(&tls.server_certificates),
        pub(crate) client_certificates: Option<Box<[Certificate]>> =
            chain(&tls.client_certificates),
        pub(crate) flights: Vec<Flight> = tls.handshake_flights().to_vec(),
        pub(crate) protected_client: Protected = tls.from_client,
        pub(crate) protected_server: Protected = tls.from_server,
        pub(crate) alerts: Vec<String> =
            tls.alerts.iter().map(|seen| seen.value.to_string()).collect(),
        pub(crate) faults: Vec<String> = tls.faults.iter().map(at_packet).collect(),
        pub(crate) opened: Option<Box<Opened>> = tls.opened.clone(),
    }
}

bartizan_registry::made! {
    /// Connections that agree in this are one row of a table.
    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    pub(crate) struct Likeness, of(conversation: &Conversation) {
        let posture = &conversation.posture;
        let hello = conversation.tls.as_ref().and_then(|tls| tls.hello.as_ref());
        client: Address = conversation.client.address(),
        server: End = conversation.server,
        path: Path = conversation.path.clone(),
        kind: Kind = posture.kind,
        interface: Option<Interface> = posture.interface,
        key_exchange: Option<String> = posture.key_exchange(),
        // For TLS the reason follows from what is compared anyway; for IPsec it has sizes of
        // its own.
        stayed: String = conversation
            .ike
            .as_ref()
            .map_or_else(String::new, |_| posture.stayed.because().to_owned()),
        offered: Vec<NamedGroup> =
            hello.map_or_else(Vec::new, |hello| hello.supported_groups.clone()),
        schemes: Vec<SignatureScheme> =
            hello.map_or_else(Vec::new, |hello| hello.signature_algorithms.clone()),
        group: Option<NamedGroup> = posture.group,
        hello_retry_request: bool =
            conversation.tls.as_ref().is_some_and(|tls| tls.hello_retry_request.is_some()),
        resumed: bool = conversation.tls.as_ref().is_some_and(|tls| tls.resumed),
        confidentiality: Verdict = posture.confidentiality.verdict(),
        authenticity: Verdict = posture.authenticity.verdict(),
        because: [String; 2] = [
            posture.confidentiality.because().to_owned(),
            posture.authenticity.because().to_owned(),
        ],
        contradictions: Vec<String> =
            posture.contradictions.iter().map(|found| found.what.clone()).collect(),
    }
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
        let ends = [connection.client, connection.server].map(End::Socket);
        let (path, span) = (connection.path.clone(), [connection.first, connection.last]);
        Self {
            roles: match connection.roles {
                Roles::Syn => "syn",
                Roles::Content => "content",
                Roles::Port => "port",
            },
            path_back: connection.path_back.clone(),
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
            proxies: connection.negotiations().cloned().collect(),
            ..Self::bare(connection.number, ends, path, connection.captured, span, posture)
        }
    }

    /// An SCTP association.
    pub(crate) fn association(association: Association, posture: Posture) -> Self {
        let direction = |sent: &sctp::Sent| traffic(sent.packets, sent.bytes, sent.missing);
        let ends = [association.initiator, association.responder].map(End::Socket);
        let (path, span) = (association.path.clone(), [association.first, association.last]);
        let bare = Self::bare(association.number, ends, path, association.captured, span, posture);
        Self {
            roles: match association.roles {
                sctp::Roles::Init => "init",
                sctp::Roles::Port => "port",
            },
            start: match association.begun {
                Begun::Init => "init",
                Begun::Midstream => "midstream",
            },
            ending: ending(association.ending),
            from_client: direction(&association.from_initiator),
            from_server: direction(&association.from_responder),
            ssh: association.ssh.clone(),
            sctp: Some(Box::new(association)),
            ..bare
        }
    }

    /// An IKE_SA.
    pub(crate) fn ike(JudgedIkeSa { sa, posture }: JudgedIkeSa) -> Self {
        let (ours, theirs) = (&sa.from_initiator, &sa.from_responder);
        let path = sa.paths.iter().flatten().next().cloned().unwrap_or_default();
        let ends = [sa.initiator, sa.responder].map(End::Socket);
        let bare = Self::bare(sa.number, ends, path, sa.captured, [sa.first, sa.last], posture);
        Self {
            roles: "initiator flag",
            path_back: back_of(&sa),
            start: match sa.origin {
                Origin::Init => "init",
                Origin::Rekey => "rekey",
                Origin::Resumed => "resumed",
                Origin::Midstream => "midstream",
            },
            from_client: traffic(ours.packets, ours.ip_bytes, 0),
            from_server: traffic(theirs.packets, theirs.ip_bytes, 0),
            ike: Some(Box::new(sa)),
            ..bare
        }
    }

    /// An ESP security association: one direction, its sender in the place of the client.
    pub(crate) fn esp(JudgedEspSa { sa, posture, .. }: JudgedEspSa) -> Self {
        let ends = match sa.carrier {
            Carrier::Ip => [sa.source, sa.destination].map(End::Host),
            Carrier::Udp { source, destination } | Carrier::Tcp { source, destination } => {
                [(sa.source, source), (sa.destination, destination)].map(|end| End::Socket(end.into()))
            }
        };
        let bare = Self::bare(
            sa.number,
            ends,
            sa.path.clone(),
            sa.captured,
            [sa.first, sa.last],
            posture,
        );
        Self {
            start: if sa.first_sequence == 1 {
                "first packet"
            } else {
                "midstream"
            },
            from_client: traffic(sa.packets, sa.bytes, sa.missing),
            esp: Some(Box::new(sa)),
            ..bare
        }
    }

    /// A protocol over UDP between two ends.
    pub(crate) fn datagrams(datagrams: Datagrams, posture: Posture) -> Self {
        let direction = |sent: &DatagramsSent| traffic(sent.packets, sent.bytes, 0);
        let ends = [datagrams.client, datagrams.server];
        let (path, span) = (datagrams.path.clone(), [datagrams.first, datagrams.last]);
        let bare = Self::bare(datagrams.number, ends, path, datagrams.captured, span, posture);
        Self {
            from_client: direction(&datagrams.from_client),
            from_server: direction(&datagrams.from_server),
            tls: datagrams
                .eap()
                .and_then(|eap| eap.tls.as_ref())
                .map(|tls| TlsFacts::new(tls)),
            datagrams: Some(Box::new(datagrams)),
            ..bare
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
        Likeness::of(self)
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
