//! Why a link did not come up, out of what charon logged while it tried.

/// A stable word and a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// For counting: `no-common-proposal`, `expired` ...
    pub word: &'static str,
    /// For people.
    pub sentence: String,
    /// What to do next.
    pub hint: &'static str,
}

/// Words, what charon's line contains, and what to do. The first that is found is the cause: what follows from it comes below.
const KNOWN: [(&str, &str, &str); 12] = [
    (
        "revoked",
        "certificate was revoked",
        "the peer needs a new certificate: `bartizan ca issue`",
    ),
    (
        "revocation-unknown",
        "certificate status is unknown",
        "the policy requires a current revocation list: `bartizan ca crl`",
    ),
    (
        "expired",
        "certificate invalid (valid from",
        "renew it with `bartizan ca issue`, and compare the clocks of both hosts",
    ),
    (
        "unknown-ca",
        "no issuer certificate found",
        "the peer's certificate must come from a root that this node trusts",
    ),
    (
        "not-accepted",
        "constraint check failed",
        "the peer's certificate or signature is not what the policy accepts",
    ),
    (
        "wrong-name",
        "no trusted",
        "the peer's certificate must carry the identity that the deployment file gives it",
    ),
    (
        "peer-refused",
        "received AUTHENTICATION_FAILED",
        "the peer did not accept this node: its log names the certificate and the reason",
    ),
    (
        "no-common-proposal",
        "received NO_PROPOSAL_CHOSEN",
        "the peer accepts none of the policy's key exchanges, as one that has only classical ones, or has no connection for these two \
         addresses: its log says which, and `bartizan status` there what is loaded",
    ),
    (
        "no-common-key-exchange",
        "INVALID_KE_PAYLOAD",
        "the peer asks for another first key exchange than any in the policy",
    ),
    (
        "no-common-traffic",
        "received TS_UNACCEPTABLE",
        "both ends must name the same inner networks and ports",
    ),
    (
        "no-key",
        "no private key found",
        "the key must belong to the certificate",
    ),
    (
        "unreachable",
        "giving up after",
        "UDP ports 500 and 4500 must pass in both directions, and a charon must run there",
    ),
];

/// The reason in these lines of charon's log, with `otherwise` for the rest.
#[must_use]
pub fn reason<'a>(lines: impl Iterator<Item = &'a str> + Clone, otherwise: &str) -> Reason {
    let found = KNOWN.iter().find_map(|(word, sign, hint)| {
        let line = lines.clone().find(|line| line.contains(sign))?;
        Some(Reason {
            word,
            sentence: line.trim().to_owned(),
            hint,
        })
    });
    found.unwrap_or_else(|| {
        let silent = lines.clone().any(|line| line.contains("retransmit "));
        Reason {
            word: if silent { "unreachable" } else { "failed" },
            sentence: otherwise.to_owned(),
            hint: if silent {
                KNOWN[KNOWN.len() - 1].2
            } else {
                "charon's log at both ends says more"
            },
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_comes_before_what_follows_from_it() {
        let word = |lines: &[&str]| reason(lines.iter().copied(), "not established").word;
        assert_eq!(
            word(&["received NO_PROPOSAL_CHOSEN notify error"]),
            "no-common-proposal"
        );
        let revoked = [
            "certificate was revoked on Nov 21",
            "no trusted ECDSA public key found for 'ric'",
        ];
        assert_eq!(word(&revoked), "revoked");
        assert_eq!(word(&["retransmit 1 of request with message ID 0"]), "unreachable");
        assert_eq!(word(&["something else"]), "failed");
        assert_eq!(word(&[]), "failed");
    }
}
