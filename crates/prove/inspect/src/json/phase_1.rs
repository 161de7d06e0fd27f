//! Negotiation of phase 1 of IKEv1 in the report for programs.

use bartizan_registry::{IKEV1_AUTHENTICATION, IKEV1_CIPHERS, Ikev1Value, ikev1_value, object};
use bartizan_wire::ike::{KeyExchangeMethod, Mode, Negotiation, Phase1};
use serde::Serialize;

use super::{code, list};

pub(super) fn negotiated_facts(phase_1: &Negotiation) -> impl Serialize {
    object!(Negotiated {
        mode: phase_1.mode.map(|mode| match mode {
            Mode::Main => "main",
            Mode::Aggressive => "aggressive",
        }),
        offered: list(phase_1.offered.iter().flat_map(|seen| &seen.value), transform_facts),
        chosen: phase_1.chosen.as_ref().map(|seen| transform_facts(&seen.value)),
    })
}

fn transform_facts(read: &Phase1) -> impl Serialize {
    let named = |table: &'static [Ikev1Value], id: u16| match ikev1_value(table, id) {
        Some(known) => code(id, known.name),
        None => code(id, format_args!("unknown({id})")),
    };
    object!(Transform {
        cipher: read.encryption.map(|id| named(IKEV1_CIPHERS, id)),
        key_bits: read.key_length,
        hash: read.hash,
        authentication: read.authentication.map(|id| named(IKEV1_AUTHENTICATION, id)),
        group: read.group.map(|id| code(id, KeyExchangeMethod(id))),
    })
}
