//! Contents of an IKE_SA that keys opened.

use bartizan_registry::{authentication_method, object};
use bartizan_wire::ike::{Made, Opened, Party, Proof};
use bartizan_wire::{Seen, ike};
use data_encoding::HEXLOWER;
use serde::Serialize;

use super::opened::shown;
use super::{code, list};

pub(super) fn ike_opened_facts(opened: &Opened) -> impl Serialize {
    let [initiator, responder] = &opened.proofs;
    let exchanged = |seen: &Seen<(Party, ike::KeyExchangeData)>| {
        let (from, data) = &seen.value;
        object!(Exchanged {
            from: from.to_string(),
            code: data.method.0,
            name: data.method.to_string(),
            bytes: data.length,
            packet: seen.last.packet,
        })
    };
    object!(IkeOpened {
        initiator: proof_facts(initiator),
        responder: proof_facts(responder),
        intermediate: list(&opened.intermediate.first, exchanged),
        made: list(&opened.made.first, made_facts),
        made_not_listed: opened.made.omitted,
        deleted: opened.deleted,
        refused: list(&opened.refused.first, |seen| seen.value.to_string()),
        messages_from_initiator: opened.messages[0],
        messages_from_responder: opened.messages[1],
        messages_not_opened: opened.unopened,
        wrong_keys: opened.wrong.clone(),
    })
}

fn proof_facts(proof: &Proof) -> impl Serialize {
    let method = |seen: &Seen<u8>| {
        code(
            seen.value,
            authentication_method(seen.value).map_or("unknown", |known| known.name),
        )
    };
    object!(Proof {
        method: proof.method.as_ref().map(method),
        signature_algorithm: proof.algorithm.clone(),
        packet: proof.method.as_ref().map(|seen| seen.last.packet),
        certificates: shown(&proof.certificates),
    })
}

fn made_facts(seen: &Seen<Made>) -> impl Serialize {
    let made = &seen.value;

    object!(Made {
        by: made.by.to_string(),
        requester: made.requester.to_string(),
        protocol: made.protocol(),
        rekey: made.is_rekey,
        requester_spi: HEXLOWER.encode(&made.requester_spi),
        responder_spi: HEXLOWER.encode(&made.chosen.spi),
        proposal: made.chosen.to_string(),
        key_exchanges: list(&made.key_exchanges, |method| code(method.0, method)),
        first_packet: seen.first.packet,
        last_packet: seen.last.packet,
    })
}
