//! Limits of one charon.

use bartizan_deployment::{IkeAlgorithm, IkeEngine};
use bartizan_registry::TransformKind;

use crate::Charon;

/// Octets of a message that charon takes by default, without `max_packet` (strongswan.conf).
pub(super) const MAX_PACKET: u16 = 10_000;

/// That it lacks an algorithm, and what to do; none where it has it.
pub(super) fn lacks(charon: &Charon, algorithm: IkeAlgorithm) -> Option<(String, &'static str)> {
    if charon.has(algorithm) {
        return None;
    }
    let is_research = algorithm.known().is_research();
    if charon.engine == IkeEngine::Bartizan {
        if is_research {
            let hint = "it is for research: a build with `--features research-kems` has it, but Classic McEliece, whose key no payload of IKE has room for";
            return Some((format!("{} has no {algorithm}", charon.shown()), hint));
        }
        let hint = "it has x25519, ecp256, ecp384, ecp521 and ML-KEM, AES-GCM, AES-CCM, AES-CBC with HMAC and ChaCha20-Poly1305";
        return Some((format!("{} has no {algorithm}", charon.shown()), hint));
    }
    let cause = format!(
        "no plugin that strongSwan {} has loaded knows {algorithm}",
        charon.version
    );
    let hint = match algorithm.known().note {
        _ if is_research => {
            "it is for research, by the engine of Bartizan alone: `engine: bartizan` of both nodes, in a build with `--features research-kems`"
        }
        // FrodoKEM: the registry says it is in no release.
        Some("in no release") => "it is in no release of strongSwan: write mlkem768 or mlkem1024",
        _ if algorithm.kind() == TransformKind::KeyExchange && algorithm.is_quantum_safe() => {
            "6.0.2 and later have it by the plugin openssl over OpenSSL 3.5, any 6 by the plugin ml; Debian trixie's 6.0.1 has neither"
        }
        _ => "load one that does: `swanctl --list-algs` says which are",
    };
    Some((cause, hint))
}

/// That it knows no additional key exchanges, and what to do; none where it does.
pub(super) fn lacks_additional(charon: &Charon) -> Option<(String, &'static str)> {
    let cause = format!("strongSwan {} knows no additional key exchanges", charon.version);
    (!charon.has_additional_exchanges()).then_some((cause, "they came with 6.0.0 (RFC 9370)"))
}
