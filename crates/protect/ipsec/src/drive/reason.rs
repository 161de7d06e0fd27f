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
const KNOWN: [(&str, &str, &str); 20] = [
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
        "no-connection",
        "no IKE config found for",
        "no link of this node is between these two addresses: compare the files of both ends, and whether `bartizan up` has loaded them",
    ),
    (
        "wrong-name",
        "no matching peer config found",
        "no link of this node is to a peer of that name: compare `names` in the files of both ends",
    ),
    (
        "peer-refused",
        "received AUTHENTICATION_FAILED",
        "the peer did not accept this node: `bartizan status` there, its ledger and the log of its `up` name the reason",
    ),
    (
        "no-common-proposal",
        "received proposals: ",
        "the peer offers nothing that the policy accepts, as one that has only classical key exchanges; `configured proposals` in \
         charon's log are those of this node",
    ),
    (
        "no-common-traffic",
        "traffic selectors ",
        "both ends must name the same inner networks and ports",
    ),
    (
        "no-common-proposal",
        "received NO_PROPOSAL_CHOSEN",
        "the peer accepts none of the policy's key exchanges, as one that has only classical ones, or has no connection for these two \
         addresses: `bartizan status` there says which, and what is loaded",
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
    ("temporary-failure", "received TEMPORARY_FAILURE notify", BUSY),
    ("temporary-failure", "unable to create CHILD_SA while ", BUSY),
    ("temporary-failure", "unable to rekey CHILD_SA ", BUSY),
    (
        "no-key",
        "no private key found",
        "the key must belong to the certificate",
    ),
    ("unreachable", "giving up after", UNREACHABLE),
    (
        "child-refused",
        " notify, no CHILD_SA built",
        "the peer did not make the CHILD_SA: its log says why",
    ),
];

const UNREACHABLE: &str = "UDP ports 500 and 4500 must pass in both directions, and a charon must run there";

/// What RFC 7296, section 2.25, has for exchanges that cross.
const BUSY: &str = "an exchange of the other end was under way; charon asks again within 30 s. Where none succeeds before the SA's \
                    lifetime is over, messages are lost in one direction: compare both logs";

/// Whether a line of charon's log tells something that a reason is made of.
pub(crate) fn tells(line: &str) -> bool {
    KNOWN.iter().any(|(_, sign, _)| line.contains(sign))
}

/// The reason in these lines of charon's log, where one of them tells it.
pub(crate) fn known<'a>(lines: impl Iterator<Item = &'a str> + Clone) -> Option<Reason> {
    KNOWN.iter().find_map(|(word, sign, hint)| {
        let line = lines.clone().find(|line| line.contains(sign))?;
        Some(Reason {
            word,
            sentence: line.trim().to_owned(),
            hint,
        })
    })
}

/// The reason in these lines of charon's log, with `otherwise` for the rest.
#[must_use]
pub fn reason<'a>(lines: impl Iterator<Item = &'a str> + Clone, otherwise: &str) -> Reason {
    known(lines.clone()).unwrap_or_else(|| {
        let silent = lines.clone().any(|line| line.contains("retransmit "));
        Reason {
            word: if silent { "unreachable" } else { "failed" },
            sentence: otherwise.to_owned(),
            hint: if silent {
                UNREACHABLE
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
        let busy = [
            "received TEMPORARY_FAILURE notify",
            "CHILD_SA rekeying failed, trying again in 23 seconds",
        ];
        assert_eq!(word(&busy), "temporary-failure");
        assert_eq!(
            word(&["received NO_ADDITIONAL_SAS notify, no CHILD_SA built"]),
            "child-refused"
        );
        assert_eq!(word(&["something else"]), "failed");
        assert_eq!(word(&[]), "failed");
    }
}
