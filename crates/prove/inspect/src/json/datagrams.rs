//! GTP-U, PFCP, GTPv2-C, QUIC and DTLS over UDP in the report for programs.

use data_encoding::HEXLOWER;

use bartizan_posture::Posture;
use bartizan_registry::object;
use bartizan_wire::datagrams::{DatagramProtocol, Datagrams, Port};
use bartizan_wire::quic::Quic;
use serde::Serialize;

use super::dtls::{codes, dtls_facts};
use super::opened::opened_facts;
use super::port::{eap_facts, mac_sec_facts, mka_facts};
use super::{Code, list, version_code};

/// Evidence of the Initial packets of a QUIC connection.
fn quic_facts(quic: &Quic, posture: &Posture) -> impl Serialize {
    let tls = &quic.tls;
    let hello = tls.second_client_hello.as_ref().or(tls.client_hello.as_ref());
    let hello = hello.map(|seen| &seen.value);
    let [protected_from_client, protected_from_server] = quic.protected;
    object!(Quic {
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
        opened: tls.opened.as_deref().map(opened_facts),
    })
}

pub(super) fn datagram_facts(datagrams: &Datagrams, posture: &Posture) -> impl Serialize {
    let seen = &datagrams.messages;
    let digits = match datagrams.protocol {
        DatagramProtocol::Pfcp => 16,
        _ => 8,
    };
    let endpoint = |&(number, messages): &(u64, u64)| {
        object!(Endpoint {
            number: format!("{number:0digits$x}"),
            messages,
        })
    };
    let endpoints = |from: usize| list(&seen.endpoints[from], endpoint);

    let port = datagrams.port.as_deref();
    object!(Datagram {
        protocol: datagrams.protocol.name(),
        messages: list(&seen.types, |&(kind, [from_client, from_server])| object!(OfType {
            r#type: kind,
            from_client,
            from_server,
        })),
        messages_of_other_types: seen.other_types,
        // The sender of a message names an endpoint of the other.
        endpoints_at_server: endpoints(0),
        endpoints_at_client: endpoints(1),
        messages_for_other_endpoints_at_server: seen.other_endpoints[0],
        messages_for_other_endpoints_at_client: seen.other_endpoints[1],
        user_packets: datagrams.user_packets,
        user_packets_in_plaintext: datagrams.user_packets_in_plaintext,
        controlled_by: datagrams.controlled_by.map(|side| side.to_string()),
        quic: datagrams.quic.as_deref().map(|quic| quic_facts(quic, posture)),
        // Its client is that of the conversation.
        dtls: datagrams.dtls.as_deref().map(|dtls| dtls_facts(dtls, posture, None)),
        // The protocol of an Ethernet port stands under its own name.
        #[serde(flatten)]
        eap: match port {
            Some(Port::Eap(eap)) => Some(object!(Eap { eap: eap_facts(eap) })),
            _ => None,
        },
        #[serde(flatten)]
        mka: match port {
            Some(Port::Mka(mka)) => Some(object!(Mka { mka: mka_facts(mka) })),
            _ => None,
        },
        #[serde(flatten)]
        macsec: match port {
            Some(Port::MacSec(seen)) => Some(object!(MacSec {
                macsec: mac_sec_facts(seen)
            })),
            _ => None,
        },
    })
}
