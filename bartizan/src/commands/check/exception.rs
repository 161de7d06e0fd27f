//! The peers that an exception admits, given the certificates of this node.

use std::time::SystemTime;

use bartizan_deployment::{Node, day_of};
use bartizan_registry::{Safety, SignatureScheme, signature};
use bartizan_tls::{Credentials, OwnCertificate, Peer};

use super::findings::Finding;

/// The peers that the exception towards `peer` admits today, in one line, or the finding that it
/// admits no classical one. None where no exception is in effect.
pub(super) fn of(
    node: &Node,
    credentials: &Credentials,
    peer: &Peer,
    now: SystemTime,
) -> Option<Result<String, Finding>> {
    let today = day_of(now);
    let policy = &peer.policy;
    let exception = policy.exception.as_ref().filter(|_| policy.admits_classical(today))?;
    let (kind, name) = (peer.interface.name(), &peer.node);
    let own = credentials.own().iter();
    let own: Vec<_> = own
        .filter(|own| own.suits(&policy.signatures, &policy.chain_signatures))
        .collect();
    // A node without any is refused, which is a finding of its own.
    if own.is_empty() {
        return None;
    }
    let signs_by = list(own.iter().map(|own| own.scheme()));
    if own.iter().copied().all(OwnCertificate::is_quantum_safe) {
        let lacking = policy.signatures.iter().find(|&&code| is_classical(code));
        let lacking = lacking.copied().unwrap_or(SignatureScheme::ECDSA_SECP256R1_SHA256);
        let hint = match policy.signatures.contains(&lacking) && policy.chain_signatures.contains(&lacking) {
            true => format!(
                "issue {} a second certificate by a CA with a classical key, list both in `certificates`, and add that CA to \
                 `trust.roots`: bartizan ca init --algorithm ecdsa-p256, then bartizan ca issue",
                node.name
            ),
            false => format!("add {lacking} to `signatures` and `chain-signatures`, and a certificate of that kind"),
        };
        return Some(Err(Finding::new(
            format!("{kind} {} -- {name}", node.name),
            format!(
                "its exception admits no classical peer: {} signs by {signs_by}, which no classical peer verifies",
                node.name
            ),
            hint,
        )));
    }
    Some(Ok(format!(
        "{kind} {name}, until {}: a peer that has a group of {}, verifies {signs_by} and signs by one of {}",
        exception.expires,
        list(policy.groups.iter()),
        list(policy.signatures.iter())
    )))
}

fn is_classical(code: SignatureScheme) -> bool {
    signature(code).is_none_or(|known| known.forgery == Safety::Vulnerable)
}

fn list<T: ToString>(codes: impl Iterator<Item = T>) -> String {
    codes.map(|code| code.to_string()).collect::<Vec<_>>().join(", ")
}
