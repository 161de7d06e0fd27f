//! Contents of an IKE_SA that keys opened.

use bartizan_registry::authentication_method;
use bartizan_wire::ike::{KeyExchangeMethod, Made, Opened, Party, Proof};
use bartizan_wire::{Seen, ike};
use data_encoding::HEXLOWER;
use serde::Serialize;

use super::Code;
use super::opened::Shown;

#[derive(Serialize)]
pub(super) struct IkeOpened {
    initiator: ProofFacts,
    responder: ProofFacts,
    intermediate: Vec<Exchanged>,
    made: Vec<MadeFacts>,
    made_not_listed: u64,
    deleted: u64,
    refused: Vec<String>,
    messages_from_initiator: u64,
    messages_from_responder: u64,
    messages_not_opened: u64,
    wrong_keys: Vec<String>,
}

#[derive(Serialize)]
struct ProofFacts {
    method: Option<Code>,
    signature_algorithm: Option<String>,
    packet: Option<u64>,
    certificates: Vec<Shown>,
}

#[derive(Serialize)]
struct Exchanged {
    from: String,
    code: u16,
    name: String,
    bytes: usize,
    packet: u64,
}

#[derive(Serialize)]
struct MadeFacts {
    by: String,
    requester: String,
    protocol: &'static str,
    rekey: bool,
    requester_spi: String,
    responder_spi: String,
    proposal: String,
    key_exchanges: Vec<Code>,
    first_packet: u64,
    last_packet: u64,
}

impl IkeOpened {
    pub(super) fn new(opened: &Opened) -> Self {
        let [initiator, responder] = &opened.proofs;
        let exchanged = |seen: &Seen<(Party, ike::KeyExchangeData)>| {
            let (from, data) = &seen.value;
            Exchanged {
                from: from.to_string(),
                code: data.method.0,
                name: data.method.to_string(),
                bytes: data.length.into(),
                packet: seen.last.packet,
            }
        };
        Self {
            initiator: ProofFacts::new(initiator),
            responder: ProofFacts::new(responder),
            intermediate: opened.intermediate.first.iter().map(exchanged).collect(),
            made: opened.made.first.iter().map(MadeFacts::new).collect(),
            made_not_listed: opened.made.omitted,
            deleted: opened.deleted,
            refused: opened.refused.first.iter().map(|seen| seen.value.to_string()).collect(),
            messages_from_initiator: opened.messages[0],
            messages_from_responder: opened.messages[1],
            messages_not_opened: opened.unopened,
            wrong_keys: opened.wrong.clone(),
        }
    }
}

impl ProofFacts {
    fn new(proof: &Proof) -> Self {
        let method = |seen: &Seen<u8>| Code {
            code: u16::from(seen.value),
            name: authentication_method(seen.value).map_or_else(|| "unknown".into(), |known| known.name.to_owned()),
        };
        Self {
            method: proof.method.as_ref().map(method),
            signature_algorithm: proof.algorithm.clone(),
            packet: proof.method.as_ref().map(|seen| seen.last.packet),
            certificates: proof.certificates.iter().map(Shown::new).collect(),
        }
    }
}

impl MadeFacts {
    fn new(seen: &Seen<Made>) -> Self {
        let made = &seen.value;
        let code = |method: &KeyExchangeMethod| Code {
            code: method.0,
            name: method.to_string(),
        };
        Self {
            by: made.by.to_string(),
            requester: made.requester.to_string(),
            protocol: made.protocol(),
            rekey: made.is_rekey,
            requester_spi: HEXLOWER.encode(&made.requester_spi),
            responder_spi: HEXLOWER.encode(&made.chosen.spi),
            proposal: made.chosen.to_string(),
            key_exchanges: made.key_exchanges.iter().map(code).collect(),
            first_packet: seen.first.packet,
            last_packet: seen.last.packet,
        }
    }
}
