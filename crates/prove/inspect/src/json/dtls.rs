//! The handshake of DTLS in the report for programs.

use bartizan_posture::Posture;
use bartizan_registry::object;
use bartizan_wire::Seen;
use bartizan_wire::sctp::Dtls;
use bartizan_wire::tls::Certificates;
use data_encoding::HEXLOWER;
use serde::Serialize;

use super::opened::shown;
use super::{Code, version_code};

/// The handshake, with the end that is its `client` where the conversation does not tell it.
pub(super) fn dtls_facts(dtls: &Dtls, posture: &Posture, client: Option<&'static str>) -> impl Serialize {
    let hello = dtls.client_hello.as_ref().map(|seen| &seen.value);
    let chain = |seen: &Option<Seen<Certificates>>| seen.as_ref().map(|seen| shown(&seen.value.chain));
    let signed = dtls.server_key_exchange.as_ref().and_then(|seen| seen.value.signature);
    object!(Dtls {
        client,
        client_random: hello.map(|hello| HEXLOWER.encode(&hello.random)),
        versions_offered: codes(hello.map(|hello| &hello.supported_versions), version_code),
        groups_offered: codes(hello.map(|hello| &hello.supported_groups), Code::from),
        signature_schemes_offered: codes(hello.map(|hello| &hello.signature_algorithms), Code::from),
        cipher_suites_offered: hello.map_or_else(Vec::new, |hello| hello.cipher_suites.clone()),
        cipher_suite: dtls.server_hello.as_ref().map(|seen| seen.value.cipher_suite),
        group: posture.group.map(Code::from),
        server_signature: signed.map(Code::from),
        client_signature: dtls.client_signature.as_ref().map(|seen| Code::from(seen.value)),
        server_certificates: chain(&dtls.server_certificates),
        client_certificates: chain(&dtls.client_certificates),
    })
}

pub(super) fn codes<T: Copy>(list: Option<&Vec<T>>, code: fn(T) -> Code) -> Vec<Code> {
    list.into_iter().flatten().copied().map(code).collect()
}
