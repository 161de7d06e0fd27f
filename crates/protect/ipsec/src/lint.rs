//! Flaws of proposals and links, reported before charon receives them.

mod ability;
mod file;
mod interfaces;
mod limits;
mod link;

use std::fmt;

use bartizan_registry::{Category, Safety, primitive};

pub use file::{Located, file};
pub use interfaces::interfaces;
pub use limits::limits;
pub use link::link;

use crate::proposal::Proposal;

/// Consequence of a remark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// The proposal or link is not loaded.
    Refused,
    /// Its author should know.
    Noted,
}

bartizan_registry::made! {
    /// Something the linter has to say.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Remark, new(severity: Severity, about: impl ToString, cause: impl ToString, hint: impl ToString) {
        /// Consequence of the remark.
        pub severity: Severity,
        /// Subject: a proposal, or a link.
        pub about: String = about.to_string(),
        /// The flaw.
        pub cause: String = cause.to_string(),
        /// Advice to the operator.
        pub hint: String = hint.to_string(),
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.about, self.cause)
    }
}

/// Kind of SA that proposals are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// IKE_SAs.
    Ike,
    /// CHILD_SAs.
    Esp,
}

/// The policy's permission of a classical key exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Classical {
    /// Refused: the policy has no exception that holds.
    Refused,
    /// Admitted, for a written reason.
    Admitted,
}

/// Remarks on a list of proposals. The peer chooses one of them, and one algorithm of each kind in
/// it: a list is as strong as the weakest choice.
#[must_use]
pub fn proposals(protocol: Protocol, texts: &[&str], classical: Classical) -> Vec<Remark> {
    let proposals: Vec<_> = texts.iter().map(|text| Proposal::parse(text)).collect();
    if proposals.is_empty() {
        return vec![by_default("no proposals", classical)];
    }
    let quantum_safe = proposals.iter().find(|proposal| proposal.offers_quantum_safe());
    proposals
        .iter()
        .flat_map(|proposal| of_proposal(protocol, proposal, quantum_safe, classical))
        .collect()
}

fn by_default(about: &str, classical: Classical) -> Remark {
    let severity = match classical {
        Classical::Refused => Severity::Refused,
        Classical::Admitted => Severity::Noted,
    };
    Remark::new(
        severity,
        about,
        "stands for whatever this strongSwan offers by itself, classical key exchanges among it",
        "write the proposals: aes256gcm16-prfsha384-x25519-ke1_mlkem768",
    )
}

fn of_proposal(
    protocol: Protocol,
    proposal: &Proposal,
    quantum_safe: Option<&Proposal>,
    classical: Classical,
) -> Vec<Remark> {
    if proposal.is_default {
        return vec![by_default(&proposal.to_string(), classical)];
    }
    let say = |severity, cause: String, hint: &str| Remark::new(severity, proposal, cause, hint);
    let mut remarks = Vec::new();
    for word in &proposal.unknown {
        let name = word.split_once('_').map_or(word.as_str(), |(_, name)| name);
        let cause = match primitive(name) {
            Some(known) => format!("no release of strongSwan 6 has {}", known.name),
            None => format!("`{word}` is no algorithm of strongSwan"),
        };
        remarks.push(say(
            Severity::Refused,
            cause,
            "the post-quantum key exchanges are mlkem768 and mlkem1024",
        ));
    }
    for cipher in &proposal.ciphers {
        if cipher.known().recording != Some(Safety::QuantumSafe) {
            let hint = "write aes256gcm16";
            remarks.push(say(Severity::Refused, format!("{cipher} does not encrypt"), hint));
        }
    }
    for method in proposal.methods() {
        if method.is_quantum_safe() && method.known().category == Some(Category(1)) {
            let hint = "write mlkem768 or mlkem1024, outside of measurements";
            remarks.push(say(Severity::Noted, format!("{method} is of NIST category 1"), hint));
        }
    }
    if !proposal.has_key_exchange() {
        // An IKE proposal without one is no proposal: charon says so itself.
        if protocol == Protocol::Esp {
            remarks.push(say(
                Severity::Noted,
                "has no key exchange: a rekey takes its keys from the IKE_SA, and who learns those learns them all"
                    .to_owned(),
                "add one: aes256gcm16-x25519-ke1_mlkem768",
            ));
        }
        return remarks;
    }
    if let Some(methods) = proposal.classical_choice() {
        let names: Vec<_> = methods.iter().map(ToString::to_string).collect();
        let chosen = if names.is_empty() {
            "nothing".to_owned()
        } else {
            names.join(" and ")
        };
        let cause = match quantum_safe {
            Some(other) if other == proposal => {
                format!("a peer can choose {chosen} from it and leave the post-quantum exchange out")
            }
            Some(other) => format!("a peer can choose {chosen}, besides {other}"),
            None => format!("{chosen} is classical"),
        };
        remarks.push(match classical {
            Classical::Refused => say(
                Severity::Refused,
                cause,
                "keep proposals in which every choice is post-quantum; a policy `transition` admits others, for a reason and until a day",
            ),
            Classical::Admitted => say(Severity::Noted, cause, "the policy's exception admits it until it ends"),
        });
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(protocol: Protocol, texts: &[&str], classical: Classical) -> Vec<String> {
        let remarks = proposals(protocol, texts, classical);
        let line = |remark: &Remark| format!("{:?} {remark}", remark.severity);
        remarks.iter().map(line).collect()
    }

    const HYBRID: &str = "aes256gcm16-prfsha384-x25519-ke1_mlkem768";

    #[test]
    fn a_list_in_which_every_choice_is_post_quantum_is_clean() {
        for texts in [&[HYBRID][..], &[HYBRID, "aes256gcm16-prfsha384-mlkem1024"]] {
            assert_eq!(said(Protocol::Ike, texts, Classical::Refused), Vec::<String>::new());
        }
    }

    #[test]
    fn a_list_in_which_a_classical_choice_can_win_is_refused_without_an_exception() {
        let refused = |texts: &[&str]| said(Protocol::Ike, texts, Classical::Refused);
        assert_eq!(
            refused(&[HYBRID, "aes256gcm16-prfsha384-x25519"]),
            [format!(
                "Refused aes256gcm16-prfsha384-x25519: a peer can choose x25519, besides {HYBRID}"
            )]
        );
        let optional = "aes256gcm16-prfsha384-x25519-ke1_mlkem768-ke1_none";
        let either = "aes256gcm16-prfsha384-x25519-mlkem768";
        for text in [optional, either] {
            let expected = "a peer can choose x25519 from it and leave the post-quantum exchange out";
            assert_eq!(refused(&[text]), [format!("Refused {text}: {expected}")]);
        }
        assert_eq!(
            refused(&["aes128-sha256-ecp256"]),
            ["Refused aes128-sha256-ecp256: ecp256 is classical"]
        );
        let offers = "stands for whatever this strongSwan offers by itself, classical key exchanges among it";
        assert_eq!(refused(&[HYBRID, "default"]), [format!("Refused default: {offers}")]);
        assert_eq!(refused(&[]), [format!("Refused no proposals: {offers}")]);
        let admitted = said(
            Protocol::Ike,
            &[HYBRID, "aes256gcm16-prfsha384-x25519"],
            Classical::Admitted,
        );
        assert!(admitted.len() == 1 && admitted[0].starts_with("Noted "), "{admitted:?}");
    }

    #[test]
    fn what_no_release_has_and_what_does_not_encrypt_is_refused() {
        let refused = |text: &str| said(Protocol::Ike, &[text], Classical::Refused).join("; ");
        assert!(
            refused("aes256gcm16-x25519-ke1_hqc128-ke2_mlkem768").contains("no release of strongSwan 6 has HQC-128")
        );
        assert!(
            refused("aes256gcm16-x25519-ke1_bikel1-ke2_mlkem768").contains("no release of strongSwan 6 has BIKE-L1")
        );
        assert!(refused("aes256gcm16-mlkem786").contains("`mlkem786` is no algorithm of strongSwan"));
        assert!(refused("null-sha256-mlkem768").contains("null does not encrypt"));
        assert!(
            refused("aes256gcm16-prfsha384-mlkem512")
                .contains("Noted aes256gcm16-prfsha384-mlkem512: mlkem512 is of NIST category 1")
        );
    }

    #[test]
    fn an_esp_proposal_without_a_key_exchange_is_reported() {
        let noted = said(Protocol::Esp, &["aes256gcm16"], Classical::Refused);
        assert!(
            noted.len() == 1 && noted[0].starts_with("Noted aes256gcm16: has no key exchange"),
            "{noted:?}"
        );
        assert_eq!(
            said(
                Protocol::Esp,
                &["aes256gcm16-x25519-ke1_mlkem768-esn"],
                Classical::Refused
            ),
            Vec::<String>::new()
        );
    }
}
