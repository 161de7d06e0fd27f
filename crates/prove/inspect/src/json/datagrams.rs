//! GTP-U, PFCP, GTPv2-C, QUIC and DTLS over UDP in the report for programs.

use data_encoding::HEXLOWER;
use std::borrow::Cow;

use bartizan_posture::Posture;
use bartizan_wire::datagrams::{DatagramProtocol, Datagrams};
use bartizan_wire::quic::Quic;
use serde::Serialize;

use super::dtls::{DtlsFacts, codes};
use super::opened::Opened;
use super::port::PortFacts;
use super::{Code, version_code};

#[derive(Serialize)]
pub(super) struct DatagramFacts {
    protocol: Cow<'static, str>,
    messages: Vec<OfType>,
    messages_of_other_types: u64,
    endpoints_at_server: Vec<Endpoint>,
    endpoints_at_client: Vec<Endpoint>,
    messages_for_other_endpoints_at_server: u64,
    messages_for_other_endpoints_at_client: u64,
    user_packets: u64,
    user_packets_in_plaintext: u64,
    controlled_by: Option<String>,
    quic: Option<QuicFacts>,
    dtls: Option<DtlsFacts>,
    #[serde(flatten)]
    port: Option<PortFacts>,
}

/// Evidence of the Initial packets of a QUIC connection.
#[derive(Serialize)]
struct QuicFacts {
    version: Option<String>,
    initial_packets_opened: u64,
    initial_packets_not_opened: u64,
    protected_from_client: u64,
    protected_from_server: u64,
    retry: bool,
    version_negotiation: bool,
    early_data: bool,
    closed: Option<String>,
    client_random: Option<String>,
    versions_offered: Vec<Code>,
    groups_offered: Vec<Code>,
    signature_schemes_offered: Vec<Code>,
    cipher_suites_offered: Vec<u16>,
    cipher_suite: Option<u16>,
    group: Option<Code>,
    handshake_packets_opened_from_client: u64,
    handshake_packets_opened_from_server: u64,
    short_packets_opened_from_client: u64,
    short_packets_opened_from_server: u64,
    opened: Option<Opened>,
}

impl QuicFacts {
    fn new(quic: &Quic, posture: &Posture) -> Self {
        let tls = &quic.tls;
        let hello = tls.second_client_hello.as_ref().or(tls.client_hello.as_ref());
        let hello = hello.map(|seen| &seen.value);
        let [protected_from_client, protected_from_server] = quic.protected;
        Self {
            version: quic.version.map(|version| format!("{version:08x}")),
            initial_packets_opened: quic.opened,
            initial_packets_not_opened: quic.unopened,
            protected_from_client,
            protected_from_server,
            retry: quic.retry.is_some(),
            version_negotiation: quic.version_negotiation.is_some(),
            early_data: quic.early_data.is_some(),
            closed: quic.closed.as_ref().map(|closed| closed.value.to_string()),
            client_random: hello.map(|hello| HEXLOWER.encode(&hello.random)),
            versions_offered: codes(hello.map(|hello| &hello.supported_versions), version_code),
            groups_offered: codes(hello.map(|hello| &hello.supported_groups), Code::from),
            signature_schemes_offered: codes(hello.map(|hello| &hello.signature_algorithms), Code::from),
            cipher_suites_offered: hello.map_or_else(Vec::new, |hello| hello.cipher_suites.clone()),
            cipher_suite: tls.server_hello.as_ref().map(|seen| seen.value.cipher_suite),
            group: posture.group.map(Code::from),
            handshake_packets_opened_from_client: quic.opened_handshake[0],
            handshake_packets_opened_from_server: quic.opened_handshake[1],
            short_packets_opened_from_client: quic.opened_short[0],
            short_packets_opened_from_server: quic.opened_short[1],
            opened: tls.opened.as_deref().map(Opened::new),
        }
    }
}

/// Messages of one type.
#[derive(Serialize)]
struct OfType {
    r#type: u8,
    from_client: u64,
    from_server: u64,
}

/// A tunnel or session, by the number that the end gave it where it is.
#[derive(Serialize)]
struct Endpoint {
    number: String,
    messages: u64,
}

impl DatagramFacts {
    pub(super) fn new(datagrams: &Datagrams, posture: &Posture) -> Self {
        let seen = &datagrams.messages;
        let digits = match datagrams.protocol {
            DatagramProtocol::Pfcp => 16,
            _ => 8,
        };
        let endpoint = |&(number, messages): &(u64, u64)| Endpoint {
            number: format!("{number:0digits$x}"),
            messages,
        };
        let endpoints = |from: usize| seen.endpoints[from].iter().map(endpoint).collect();
        let types = seen.types.iter();
        Self {
            protocol: datagrams.protocol.name(),
            messages: types
                .map(|&(kind, [from_client, from_server])| OfType {
                    r#type: kind,
                    from_client,
                    from_server,
                })
                .collect(),
            messages_of_other_types: seen.other_types,
            // The sender of a message names an endpoint of the other.
            endpoints_at_server: endpoints(0),
            endpoints_at_client: endpoints(1),
            messages_for_other_endpoints_at_server: seen.other_endpoints[0],
            messages_for_other_endpoints_at_client: seen.other_endpoints[1],
            user_packets: datagrams.user_packets,
            user_packets_in_plaintext: datagrams.user_packets_in_plaintext,
            controlled_by: datagrams.controlled_by.map(|side| side.to_string()),
            quic: datagrams.quic.as_deref().map(|quic| QuicFacts::new(quic, posture)),
            dtls: datagrams
                .dtls
                .as_deref()
                .map(|dtls| DtlsFacts::new(dtls, posture).over_udp()),
            port: datagrams.port.as_deref().map(PortFacts::new),
        }
    }
}
