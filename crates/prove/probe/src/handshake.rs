//! Answers of whole TLS 1.3 handshakes, over TCP or in QUIC.

use bartizan_registry::{NamedGroup, SignatureScheme};
use bartizan_registry::{Safety, group, signature, x509_algorithm_named};
use bartizan_tls::Shown;
use time::OffsetDateTime;

use crate::Answer;

/// Safety of a recording under this group.
pub(crate) fn safety(code: NamedGroup) -> Option<Safety> {
    group(code).map(|known| known.recording)
}

/// Groups in the order in which this project prefers them: post-quantum first, the largest of a kind first.
pub(crate) fn by_safety(groups: impl Iterator<Item = NamedGroup>) -> Vec<NamedGroup> {
    let mut groups: Vec<_> = groups.collect();
    groups.sort_by_key(|&code| (safety(code) != Some(Safety::QuantumSafe), std::cmp::Reverse(code.0)));
    groups
}

/// Signature, chain, resumption and early data of a server, or the reason for which it refused.
pub(crate) fn answers(shown: &Shown, refused: Option<String>) -> Vec<Answer> {
    let safe = |scheme: SignatureScheme| signature(scheme).map(|known| known.forgery) == Some(Safety::QuantumSafe);
    let issued = |name: &str| x509_algorithm_named(name).map(|known| known.safety) == Some(Safety::QuantumSafe);
    let mut answers = Vec::new();
    if let Some(scheme) = shown.signature {
        answers.push(
            Answer::new("signature", [scheme]).finding(!safe(scheme), "a quantum computer can forge the signature"),
        );
        let certificate = |one: &bartizan_ledger::Certificate| {
            let (subject, key, signature) = (&one.subject, &one.public_key, &one.signature);
            format!(
                "{subject}: key {key}, signed with {signature}, ends {}",
                date(one.not_after)
            )
        };
        // A root signs itself: peers trust it, whatever its signature is.
        let issuers = shown.chain.iter().filter(|one| issued(&one.signature)).count();
        answers.push(
            Answer::new("certificates", shown.chain.iter().map(certificate))
                .finding(
                    shown.sent > shown.chain.len(),
                    "the chain is longer than what is shown of it",
                )
                .finding(issuers < shown.chain.len(), "a quantum computer can forge the chain"),
        );
    }
    if refused.is_some() {
        answers.push(Answer::new("handshake", refused));
        return answers;
    }
    let tickets = match shown.tickets {
        0 => "no tickets".to_owned(),
        1 => "1 ticket".to_owned(),
        many => format!("{many} tickets"),
    };
    answers.push(Answer::new("resumption", [tickets]));
    let early = match shown.early_data {
        0 => "not permitted".to_owned(),
        u32::MAX => "permitted".to_owned(),
        most => format!("permitted, {most} bytes at most: it can be replayed"),
    };
    answers.push(Answer::new("0-RTT", [early]));
    answers
}

/// A day, from seconds since 1970.
fn date(seconds: i64) -> String {
    OffsetDateTime::from_unix_timestamp(seconds).map_or_else(|_| "never".to_owned(), |at| at.date().to_string())
}
