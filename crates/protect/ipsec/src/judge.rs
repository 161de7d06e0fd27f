//! A policy's verdict on an SA.

use std::fmt;

use bartizan_deployment::{IkeAlgorithm, KeyExchange, Policy};
use bartizan_ledger::{Algorithm, Authentication, Forgery, Verdict};
use bartizan_registry::{Safety, TransformKind, transform, x509_algorithm_named};

use crate::TrafficSelector;
use crate::sa::{ChildSa, IkeSa};
use crate::watch::{Ends, Form};

bartizan_registry::named! {
    /// Policy violations of an SA, by their names in ledger and metrics. docs/ledger.md lists them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Violation, as_str {
        /// The connection belongs to no link in the deployment file.
        UnknownConnection = "unknown-connection",
        /// A rekey without a key exchange of its own.
        NoFreshKeys = "no-fresh-keys",
        /// The peer's identity is not the one of the file.
        OtherPeer = "other-peer",
        /// An end has another address than the file says.
        OtherAddress = "other-address",
        /// It wraps packets otherwise than the file says.
        Mode = "mode",
        /// It is for more packets than the file says.
        Traffic = "traffic",
        /// Its packets can be read.
        NotEncrypted = "not-encrypted",
        /// It encrypts by a cipher that is none of the policy's.
        Cipher = "cipher",
        /// A quantum-safe key exchange that the policy does not name.
        NotInPolicy = "not-in-policy",
        /// No quantum-safe key exchange where the policy requires one.
        Classical = "classical",
        /// No PPK in its keys where the file requires one (RFC 8784).
        NoPpk = "no-ppk",
        /// Its peer was authenticated under roots or revocation lists of before, and not anew
        /// since.
        NotAuthenticatedAnew = "not-authenticated-anew",
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A refusal for this, with a sentence.
pub(crate) fn refused(violation: Violation, detail: String) -> Verdict {
    Verdict::Refused {
        reason: violation.to_string(),
        detail,
    }
}

/// The verdict of the policy in effect on an IKE_SA's keys. `policy` is none for a connection that
/// no interface of the deployment file has.
#[must_use]
pub fn of_ike(sa: &IkeSa, policy: Option<&Policy>) -> Verdict {
    let Some(policy) = policy else {
        let detail = format!("the connection {} is none of the deployment file's", sa.connection);
        return refused(Violation::UnknownConnection, detail);
    };
    let verdict = of_key_exchanges(&sa.key_exchanges, policy);
    with_cipher(verdict, sa.encryption.as_ref(), policy)
}

/// The verdict of the policy in effect on a CHILD_SA's keys, `ike` being the verdict on its IKE_SA.
/// `rekeyed` if it took the place of another, which asks for key exchanges of its own.
#[must_use]
pub fn of_child(child: &ChildSa, rekeyed: bool, ike: &Verdict, policy: Option<&Policy>) -> Verdict {
    let Some(policy) = policy else {
        let detail = format!("the CHILD_SA {} is of no interface of the deployment file", child.name);
        return refused(Violation::UnknownConnection, detail);
    };
    let verdict = match child.key_exchanges.as_slice() {
        // Keyed from the IKE_SA: as safe as that is. A recorder gains nothing by a rekey without a fresh exchange either, but
        // who learns the IKE_SA's key then has all the traffic after it, which is what the rekey is for.
        [] if rekeyed => match ike {
            Verdict::Refused { .. } => ike.clone(),
            _ => refused(
                Violation::NoFreshKeys,
                format!(
                    "rekeyed without a key exchange of its own; the policy asks for {}",
                    wanted(policy)
                ),
            ),
        },
        [] => ike.clone(),
        own => of_key_exchanges(own, policy),
    };
    let verdict = with_cipher(verdict, child.encryption.as_ref(), policy);
    match child.protocol.as_deref() {
        Some(protocol) if !protocol.eq_ignore_ascii_case("ESP") && !is_refused(&verdict) => not_encrypted(
            &format!("its packets are protected by {protocol} and not by ESP"),
            policy,
        ),
        _ => verdict,
    }
}

/// The verdict on an IKE_SA, or that the required PPK is not in its keys.
pub(crate) fn with_ppk(verdict: Verdict, sa: &IkeSa) -> Verdict {
    if sa.ppk || is_refused(&verdict) {
        return verdict;
    }
    let detail = "no PPK is in its keys; the file requires one".to_owned();
    refused(Violation::NoPpk, detail)
}

/// The verdict on an IKE_SA, or that it is between others than the file says.
pub(crate) fn between(verdict: Verdict, sa: &IkeSa, ends: &Ends) -> Verdict {
    if is_refused(&verdict) {
        return verdict;
    }
    if let Some(proven) = sa.peer_identity.as_deref().filter(|proven| *proven != ends.identity) {
        let detail = format!("the peer is {proven}; the file names {}", ends.identity);
        return refused(Violation::OtherPeer, detail);
    }
    for (end, seen, named) in [
        ("this end", sa.local, Some(ends.local)),
        ("the other end", sa.remote, ends.remote),
    ] {
        let Some(named) = named else { continue };
        if let Some(seen) = seen.map(|seen| seen.ip().to_canonical()).filter(|seen| *seen != named) {
            let detail = format!("{end} has the address {seen}; the file says {named}");
            return refused(Violation::OtherAddress, detail);
        }
    }
    verdict
}

/// The verdict on a CHILD_SA, or that it wraps packets otherwise, or is for more packets than the file says. Selectors that cannot be
/// read are not compared.
pub(crate) fn of_form(verdict: Verdict, child: &ChildSa, form: &Form) -> Verdict {
    if is_refused(&verdict) {
        return verdict;
    }
    let wanted = form.mode.name();
    if !child.mode.eq_ignore_ascii_case(wanted) {
        let detail = format!("it is in {} mode; the file says {wanted}", child.mode.to_lowercase());
        return refused(Violation::Mode, detail);
    }
    for (end, seen, allowed) in [
        ("here", &child.local, &form.traffic[0]),
        ("there", &child.remote, &form.traffic[1]),
    ] {
        let more = seen.iter().find(|text| {
            let read = TrafficSelector::parse(text);
            read.is_some_and(|read| !allowed.iter().any(|allowed| allowed.covers(&read)))
        });
        if let Some(more) = more {
            let detail = format!("it is for {more} {end}, which is more than the file says");
            return refused(Violation::Traffic, detail);
        }
    }
    verdict
}

fn is_refused(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Refused { .. })
}

fn not_encrypted(cause: &str, policy: &Policy) -> Verdict {
    let detail = format!("{cause}; the policy asks for {}", ciphers(policy));
    refused(Violation::NotEncrypted, detail)
}

fn ciphers(policy: &Policy) -> String {
    let wanted: Vec<_> = policy.ipsec.ciphers.iter().map(ToString::to_string).collect();
    wanted.join(" or ")
}

/// The verdict, or that the cipher is none of the policy's. An SA without a cipher is one of AH
/// (RFC 4302): whatever key exchange keyed it, any attacker on the path reads its packets.
fn with_cipher(verdict: Verdict, encryption: Option<&Algorithm>, policy: &Policy) -> Verdict {
    let Some(encryption) = encryption else {
        return if is_refused(&verdict) {
            verdict
        } else {
            not_encrypted("it has no cipher: its packets can be read", policy)
        };
    };
    let is = |cipher: &IkeAlgorithm| Some(cipher.id()) == encryption.code && cipher.key_bits() == encryption.bits;
    let fixed = |cipher: &IkeAlgorithm| Some(cipher.id()) == encryption.code && cipher.key_bits().is_none();
    if is_refused(&verdict) || policy.ipsec.ciphers.iter().any(|cipher| is(cipher) || fixed(cipher)) {
        return verdict;
    }
    let bits = encryption
        .bits
        .map(|bits| format!(" with {bits} bits"))
        .unwrap_or_default();
    let detail = format!(
        "it encrypts by {}{bits}; the policy asks for {}",
        encryption.name,
        ciphers(policy)
    );
    refused(Violation::Cipher, detail)
}

fn of_key_exchanges(negotiated: &[Algorithm], policy: &Policy) -> Verdict {
    let named = negotiated.iter().all(|method| method.code.is_some());
    let in_policy = named && policy.ipsec.key_exchanges.iter().any(|wanted| same(wanted, negotiated));
    let safe = negotiated.iter().any(is_quantum_safe);
    match (in_policy, safe, &policy.exception) {
        (true, true, _) => Verdict::Accepted,
        (true, false, Some(exception)) => Verdict::Excepted {
            reason: exception.reason.clone(),
        },
        // The baseline of measurements asks for nothing else.
        (true, false, None) => Verdict::Accepted,
        (false, safe, _) => {
            let violation = if safe {
                Violation::NotInPolicy
            } else {
                Violation::Classical
            };
            let detail = format!("keyed by {}; the policy asks for {}", shown(negotiated), wanted(policy));
            refused(violation, detail)
        }
    }
}

/// Returns true if the same methods were done. Their order decides nothing.
fn same(wanted: &KeyExchange, negotiated: &[Algorithm]) -> bool {
    let done = |method: &IkeAlgorithm| negotiated.iter().any(|known| known.code == Some(method.id()));
    wanted.methods().len() == negotiated.len() && wanted.methods().iter().all(done)
}

fn is_quantum_safe(method: &Algorithm) -> bool {
    let known = method.code.and_then(|code| transform(TransformKind::KeyExchange, code));
    known.is_some_and(|known| known.recording == Some(Safety::QuantumSafe))
}

/// Key exchanges in a sentence.
pub fn shown(key_exchanges: &[Algorithm]) -> String {
    match key_exchanges {
        [] => "its IKE_SA".to_owned(),
        [one] => format!("{} alone", one.name),
        several => several
            .iter()
            .map(|one| one.name.as_str())
            .collect::<Vec<_>>()
            .join(" and "),
    }
}

fn wanted(policy: &Policy) -> String {
    let names: Vec<_> = policy.ipsec.key_exchanges.iter().map(ToString::to_string).collect();
    names.join(" or ")
}

/// Both ends' authentication as charon reports it, and the verdict on a future quantum computer's
/// ability to forge it: the weaker of the peer's signature and those on its certificates.
pub fn authentication(
    local: Option<String>,
    peer: Option<String>,
    [local_chain, peer_chain]: [Vec<String>; 2],
) -> Option<Authentication> {
    if local.is_none() && peer.is_none() {
        return None;
    }
    let forgery = match peer.as_deref() {
        None => Forgery::Unknown,
        // charon's words: `ECDSA_WITH_SHA256_DER`, `RSA_EMSA_PSS_SHA256`, `ED25519`, `ML_DSA_65`, `pre-shared key`.
        Some(words) => {
            let is = |names: &[&str]| names.iter().any(|name| bartizan_registry::mentions(words, name));
            if is(&["ml-dsa", "slh-dsa"]) {
                of_chain(&peer_chain)
            } else if is(&["ecdsa", "rsa", "ed25519", "ed448", "dss"]) {
                Forgery::PossibleLater
            } else if is(&["pre-shared key"]) {
                Forgery::AsSecretAsTheKey
            } else {
                Forgery::Unknown
            }
        }
    };
    Some(Authentication {
        local,
        peer,
        peer_chain,
        local_chain,
        forgery,
    })
}

/// Forgery of a certificate below which a peer proves itself by a post-quantum signature.
fn of_chain(chain: &[String]) -> Forgery {
    let is_safe = |name: &String| x509_algorithm_named(name).is_some_and(|known| known.safety == Safety::QuantumSafe);
    match chain {
        [] => Forgery::Unknown,
        signed if signed.iter().all(is_safe) => Forgery::NotKnown,
        _ => Forgery::PossibleLater,
    }
}

#[cfg(test)]
mod tests;
