//! Negotiation of phase 1 of IKEv1 in the report for programs.

use bartizan_registry::{IKEV1_AUTHENTICATION, IKEV1_CIPHERS, Ikev1Value, ikev1_value};
use bartizan_wire::ike::{KeyExchangeMethod, Mode, Negotiation, Phase1};
use serde::Serialize;

use super::Code;

#[derive(Serialize)]
pub(super) struct Negotiated {
    mode: Option<&'static str>,
    offered: Vec<Transform>,
    chosen: Option<Transform>,
}

#[derive(Serialize)]
struct Transform {
    cipher: Option<Code>,
    key_bits: Option<u16>,
    hash: Option<u16>,
    authentication: Option<Code>,
    group: Option<Code>,
}

impl Negotiated {
    pub(super) fn new(phase_1: &Negotiation) -> Self {
        Self {
            mode: phase_1.mode.map(|mode| match mode {
                Mode::Main => "main",
                Mode::Aggressive => "aggressive",
            }),
            offered: phase_1
                .offered
                .iter()
                .flat_map(|seen| &seen.value)
                .map(Transform::new)
                .collect(),
            chosen: phase_1.chosen.as_ref().map(|seen| Transform::new(&seen.value)),
        }
    }
}

impl Transform {
    fn new(read: &Phase1) -> Self {
        let named = |table: &'static [Ikev1Value], id: u16| Code {
            code: id,
            name: ikev1_value(table, id).map_or_else(|| format!("unknown({id})"), |known| known.name.to_owned()),
        };
        Self {
            cipher: read.encryption.map(|id| named(IKEV1_CIPHERS, id)),
            key_bits: read.key_length,
            hash: read.hash,
            authentication: read.authentication.map(|id| named(IKEV1_AUTHENTICATION, id)),
            group: read.group.map(|id| Code {
                code: id,
                name: KeyExchangeMethod(id).to_string(),
            }),
        }
    }
}
