//! Which interface of a mobile network a link is: hints, weaker than a deployment file.

use bartizan_registry::{sctp_application, sctp_application_at, tcp_application_at};
use bartizan_wire::sctp::Association;
use bartizan_wire::{Connection, Content};

use crate::Source;
use crate::requests::Shown;

bartizan_registry::named! {
    /// Evidence that an interface was recognised by, the strongest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Hint, name {
        /// The deployment file.
        Deployment = "deployment file",
        /// A ledger, of what a gateway carries within TLS.
        Ledger = "ledger",
        /// The payload protocol identifier of SCTP.
        PayloadProtocol = "PPID",
        /// The first message.
        Content = "first message",
        /// The path of a request in plaintext.
        RequestPath = "request path",
        /// A header field of a request in plaintext.
        RequestHeader = "request header",
        /// The name by which a server is asked for, in TLS or in a request.
        ServerName = "server name",
        /// Roles of its ends in other links.
        PeerRole = "role of its ends",
        /// A port: the weakest.
        Port = "port",
    }
}

impl Hint {
    /// Returns true if packets declare it themselves, rather than by a habit.
    pub(crate) fn is_strong(self) -> bool {
        matches!(
            self,
            Self::PayloadProtocol | Self::Content | Self::RequestPath | Self::RequestHeader
        )
    }
}

/// An interface, as far as packets tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interface {
    /// Its name: `N2`.
    pub name: &'static str,
    /// Evidence of the name.
    pub by: Hint,
}

/// Prefixes of an initiator's first message: the octets of an APER-encoded initiatingMessage with
/// its procedure code, criticality, and first information element. Only prefixes that captures of
/// real software confirm are listed.
const FIRST_MESSAGES: [(&str, u8, u16); 2] = [
    // NGSetupRequest, GlobalRANNodeID: captured (free5GC, UERANSIM).
    ("N2", 21, 27),
    // E2setupRequest, TransactionID: captured (FlexRIC).
    ("E2", 1, 49),
];

impl Interface {
    /// The packet of an association that names it so.
    pub(crate) fn source(self, association: &Association) -> Source {
        let data = association.dtls.as_ref().and_then(|dtls| dtls.first);
        let data = [association.first_plain, data].into_iter().flatten();
        let at = match self.by {
            Hint::Port => None,
            _ => data.min_by_key(|at| at.packet),
        };
        let at = at.unwrap_or(association.first);
        Source::between(at, at)
    }

    /// By payload protocol identifier, then by content, then by port.
    pub(crate) fn of(association: &Association) -> Option<Self> {
        let sent = [&association.from_initiator, &association.from_responder];
        let protocols = sent.iter().flat_map(|sent| &sent.payload_protocols);
        let by_protocol = protocols
            .filter_map(|(protocol, _)| sctp_application(*protocol))
            .map(|(known, _)| Self {
                name: known.interface,
                by: Hint::PayloadProtocol,
            })
            .next();
        let by_content = || {
            let message = association.from_initiator.opening.bytes();
            Some(Self {
                name: first_message(message)?,
                by: Hint::Content,
            })
        };
        let by_port = || {
            let ports = [association.responder.port(), association.initiator.port()];
            let known = ports.into_iter().find_map(sctp_application_at)?;
            Some(Self {
                name: known.interface,
                by: Hint::Port,
            })
        };
        by_protocol.or_else(by_content).or_else(by_port)
    }
}

/// Interface and functions of a connection: by requests, by the server's name, by port.
pub(crate) fn shown(connection: &Connection) -> Shown {
    let mut shown = Shown::default();
    let carrier = match &connection.content {
        Content::Http2(http2) => return Shown::by_http2(http2),
        Content::Http1(http1) => return Shown::by_http1(http1),
        Content::Tls(tls) => {
            // Keys that were given show what was asked for.
            if let Some(http2) = tls.opened.as_ref().and_then(|opened| opened.http2.as_ref()) {
                shown = Shown::by_http2(http2);
            }
            if let Some(hello) = &tls.client_hello
                && let Some(name) = &hello.value.server_name
            {
                shown.server_name(name, hello.last);
            }
            "TLS"
        }
        Content::Ssh(_) => "SSH",
        Content::Nothing | Content::Unknown(_) | Content::IkeInTcp(_) | Content::Plaintext(_) | Content::Proxy(_) => {
            return shown;
        }
    };
    // Behind a proxy the port that it was asked for counts, not its own.
    let asked = connection
        .proxies
        .iter()
        .rev()
        .find_map(|hop| hop.destination.as_ref()?.port());
    let ports = match asked {
        Some(port) => [port; 2],
        None => [connection.server.port(), connection.client.port()],
    };
    if shown.interface.is_none()
        && let Some(known) = ports.into_iter().find_map(|port| tcp_application_at(port, carrier))
    {
        let name = known.interface;
        shown.interface = Some((Interface { name, by: Hint::Port }, connection.first));
    }
    shown
}

/// The interface whose set-up request begins so.
fn first_message(message: &[u8]) -> Option<&'static str> {
    // initiatingMessage, procedure code, criticality reject, length (one octet, or two from 128 on), an extension
    // bit, the number of elements, the first element's identifier.
    let [0, procedure, 0, length, rest @ ..] = message else {
        return None;
    };
    let rest = if length & 0x80 != 0 { rest.get(1..)? } else { rest };
    let [0, _, _, high, low, ..] = rest else {
        return None;
    };
    let element = u16::from_be_bytes([*high, *low]);
    FIRST_MESSAGES
        .iter()
        .find(|(_, code, first)| code == procedure && *first == element)
        .map(|(name, _, _)| *name)
}
