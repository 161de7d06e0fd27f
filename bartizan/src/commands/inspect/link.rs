//! One judged connection, and what makes two of them alike.

use std::net::{IpAddr, SocketAddr};

use bartizan_posture::{Kind, Posture, Verdict};
use bartizan_registry::{NamedGroup, SignatureScheme};
use bartizan_wire::http2::Http2;
use bartizan_wire::tls::{ClientHello, Flight, Protected, Tls};
use bartizan_wire::{Connection, Content, Ending, Moment, Roles, Start, Traffic};

/// A connection and what follows from it, without what only readers needed.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) number: u64,
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
    pub(crate) roles: Roles,
    pub(crate) first: Moment,
    pub(crate) last: Moment,
    pub(crate) start: Start,
    pub(crate) ending: Ending,
    pub(crate) from_client: Traffic,
    pub(crate) from_server: Traffic,
    pub(crate) tls: Option<TlsFacts>,
    pub(crate) http2: Option<Http2>,
    pub(crate) posture: Posture,
}

/// What a TLS connection showed.
#[derive(Debug, Clone)]
pub(crate) struct TlsFacts {
    /// The ClientHello that counts: the second where the server asked for one.
    pub(crate) hello: Option<ClientHello>,
    pub(crate) cipher_suite: Option<u16>,
    /// The group a HelloRetryRequest asked for, if there was one.
    pub(crate) hello_retry_request: Option<Option<NamedGroup>>,
    pub(crate) resumed: bool,
    pub(crate) flights: Vec<Flight>,
    pub(crate) protected_client: Protected,
    pub(crate) protected_server: Protected,
    pub(crate) alerts: Vec<String>,
    pub(crate) faults: Vec<String>,
}

/// Connections that agree in this are one row of a table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Likeness {
    client: IpAddr,
    server: SocketAddr,
    kind: Kind,
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

impl Link {
    pub(crate) fn new(connection: &Connection, posture: Posture) -> Self {
        let (tls, http2) = match &connection.content {
            Content::Tls(tls) => (Some(TlsFacts::new(tls)), None),
            Content::Http2(http2) => (None, Some(**http2)),
            Content::Http1 | Content::Nothing | Content::Unknown(_) => (None, None),
        };
        Self {
            number: connection.number,
            client: connection.client,
            server: connection.server,
            roles: connection.roles,
            first: connection.first,
            last: connection.last,
            start: connection.start,
            ending: connection.ending,
            from_client: connection.from_client,
            from_server: connection.from_server,
            tls,
            http2,
            posture,
        }
    }

    pub(crate) fn likeness(&self) -> Likeness {
        let hello = self.tls.as_ref().and_then(|tls| tls.hello.as_ref());
        Likeness {
            client: self.client.ip(),
            server: self.server,
            kind: self.posture.kind,
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

    /// Bytes of application payload on the wire, both directions, as far as reassembled.
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
        Self {
            hello: hello.map(|seen| seen.value.clone()),
            cipher_suite: server.map(|server| server.cipher_suite),
            hello_retry_request: tls
                .hello_retry_request
                .as_ref()
                .map(|seen| seen.value.key_share.map(|share| share.group)),
            resumed,
            flights: tls.handshake_flights().to_vec(),
            protected_client: tls.from_client,
            protected_server: tls.from_server,
            alerts: tls
                .alerts
                .iter()
                .map(|seen| {
                    let alert = seen.value;
                    let name = bartizan_wire::tls::alert_name(alert.description);
                    format!(
                        "{} from the {}",
                        name.map_or_else(|| alert.description.to_string(), str::to_owned),
                        alert.from
                    )
                })
                .collect(),
            faults: tls
                .faults
                .iter()
                .map(|seen| format!("{} (packet {})", seen.value, seen.last.packet))
                .collect(),
        }
    }
}
