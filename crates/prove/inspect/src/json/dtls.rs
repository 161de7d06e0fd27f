//! The handshake of DTLS in the report for programs.

use bartizan_posture::Posture;
use bartizan_wire::Seen;
use bartizan_wire::sctp::Dtls;
use bartizan_wire::tls::Certificates;
use data_encoding::HEXLOWER;
use serde::Serialize;

use super::opened::{Shown, shown};
use super::{Code, version_code};

#[derive(Serialize)]
pub(super) struct DtlsFacts {
    client: Option<&'static str>,
    client_random: Option<String>,
    versions_offered: Vec<Code>,
    groups_offered: Vec<Code>,
    signature_schemes_offered: Vec<Code>,
    cipher_suites_offered: Vec<u16>,
    cipher_suite: Option<u16>,
    group: Option<Code>,
    server_signature: Option<Code>,
    client_signature: Option<Code>,
    server_certificates: Option<Vec<Shown>>,
    client_certificates: Option<Vec<Shown>>,
}

impl DtlsFacts {
    /// Over UDP, where its client is that of the conversation.
    pub(super) fn over_udp(self) -> Self {
        Self { client: None, ..self }
    }

    pub(super) fn new(dtls: &Dtls, posture: &Posture) -> Self {
        let hello = dtls.client_hello.as_ref().map(|seen| &seen.value);
        let chain = |seen: &Option<Seen<Certificates>>| seen.as_ref().map(|seen| shown(&seen.value.chain));
        let signed = dtls.server_key_exchange.as_ref().and_then(|seen| seen.value.signature);
        Self {
            client: dtls.client.map(|end| if end == 0 { "initiator" } else { "responder" }),
            client_random: hello.map(|hello| HEXLOWER.encode(&hello.random)),
            versions_offered: codes(hello.map(|hello| &hello.supported_versions), version_code),
            groups_offered: codes(hello.map(|hello| &hello.supported_groups), Code::from),
            signature_schemes_offered: codes(hello.map(|hello| &hello.signature_algorithms), Code::from),
            cipher_suites_offered: hello.map_or_else(Vec::new, |hello| hello.cipher_suites.clone()),
            cipher_suite: dtls.server_hello.as_ref().map(|seen| seen.value.cipher_suite),
            group: posture.group.map(Code::from),
            server_signature: signed.map(Code::from),
            client_signature: dtls.client_signature.as_ref().map(|seen| seen.value.into()),
            server_certificates: chain(&dtls.server_certificates),
            client_certificates: chain(&dtls.client_certificates),
        }
    }
}

pub(super) fn codes<T: Copy>(list: Option<&Vec<T>>, code: fn(T) -> Code) -> Vec<Code> {
    list.into_iter().flatten().copied().map(code).collect()
}
