//! Why a link did not come up, out of what charon logged while it tried.

use std::fmt;

bartizan_registry::named! {
    /// Why a link did not come up, as ledger, metrics and `status` have it. docs/up.md lists them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Cause, as_str {
        /// The certificate is on a revocation list.
        Revoked = "revoked",
        /// There is no current revocation list where the policy requires one.
        RevocationUnknown = "revocation-unknown",
        /// A certificate is outside its dates.
        Expired = "expired",
        /// No root trusted here signed the chain.
        UnknownCa = "unknown-ca",
        /// The certificate or signature is none that the policy accepts.
        NotAccepted = "not-accepted",
        /// The identity is not the one of the file.
        WrongName = "wrong-name",
        /// No link of this node is between the two addresses.
        NoConnection = "no-connection",
        /// The peer did not accept this node.
        PeerRefused = "peer-refused",
        /// No proposal in common.
        NoCommonProposal = "no-common-proposal",
        /// The ends protect different packets.
        NoCommonTraffic = "no-common-traffic",
        /// Another first key exchange than any in the policy is asked for.
        NoCommonKeyExchange = "no-common-key-exchange",
        /// An exchange of the other end's was under way.
        TemporaryFailure = "temporary-failure",
        /// The private key is missing or belongs to another certificate.
        NoKey = "no-key",
        /// No answer.
        Unreachable = "unreachable",
        /// The peer made no CHILD_SA.
        ChildRefused = "child-refused",
        /// A proof of identity failed, and nothing says more.
        NotAuthenticated = "not-authenticated",
        /// The kernel did not take the SA.
        NotInstalled = "not-installed",
        /// The peer began and did not go on.
        Unfinished = "unfinished",
        /// Anything else.
        Failed = "failed",
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Its cause and a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// For counting.
    pub cause: Cause,
    /// For people.
    pub sentence: String,
    /// The next step for the operator.
    pub hint: &'static str,
}

/// The cause, what charon's line contains, and what to do. The first that is found is the cause: what follows from it comes below.
const KNOWN: [(Cause, &str, &str); 21] = [
    (
        Cause::Revoked,
        "certificate was revoked",
        "the peer needs a new certificate: `bartizan ca issue --dns NAME`",
    ),
    (
        Cause::RevocationUnknown,
        "certificate status is unknown",
        "the policy requires a current revocation list: `bartizan ca crl`",
    ),
    (
        Cause::Expired,
        "certificate invalid (valid from",
        "renew it with `bartizan ca issue --dns NAME`, and compare the clocks of both hosts",
    ),
    (
        Cause::UnknownCa,
        "no issuer certificate found",
        "the peer's certificate must come from a root that this node trusts",
    ),
    (
        Cause::NotAccepted,
        "constraint check failed",
        "the peer's certificate or signature is not what the policy accepts",
    ),
    (
        Cause::WrongName,
        "no trusted",
        "the peer's certificate must carry the identity that the deployment file gives it",
    ),
    (
        Cause::NotAuthenticated,
        "IKE_INTERMEDIATE exchanges in the wrong order",
        "give Libreswan 5.4 no additional key exchange and no `intermediate=yes`: a `ppk` (RFC 8784) and a policy \
         `transition` work, and so does a release that mends this",
    ),
    (
        Cause::NoConnection,
        "no IKE config found for",
        "no link of this node is between these two addresses: compare the files of both ends, and whether `bartizan up` has loaded them",
    ),
    (
        Cause::WrongName,
        "no matching peer config found",
        "no link of this node is to a peer of that name: compare `names` in the files of both ends",
    ),
    (
        Cause::PeerRefused,
        "received AUTHENTICATION_FAILED",
        "the peer did not accept this node: `bartizan status` there, its ledger and the log of its `up` name the reason",
    ),
    (
        Cause::NoCommonProposal,
        "received proposals: ",
        "the peer offers nothing that the policy accepts, as one that has only classical key exchanges; `configured proposals` in \
         this node's log are its own",
    ),
    (
        Cause::NoCommonTraffic,
        "traffic selectors ",
        "both ends must name the same inner networks and ports",
    ),
    (
        Cause::NoCommonProposal,
        "received NO_PROPOSAL_CHOSEN",
        "the peer accepts none of the policy's key exchanges, as one that has only classical ones, or has no connection for these two \
         addresses: `bartizan status` there says which, and what is loaded",
    ),
    (
        Cause::NoCommonKeyExchange,
        "INVALID_KE_PAYLOAD",
        "the peer asks for another first key exchange than any in the policy",
    ),
    (
        Cause::NoCommonTraffic,
        "received TS_UNACCEPTABLE",
        "both ends must name the same inner networks and ports",
    ),
    (Cause::TemporaryFailure, "received TEMPORARY_FAILURE notify", BUSY),
    (Cause::TemporaryFailure, "unable to create CHILD_SA while ", BUSY),
    (Cause::TemporaryFailure, "unable to rekey CHILD_SA ", BUSY),
    (
        Cause::NoKey,
        "no private key found",
        "the key must belong to the certificate",
    ),
    (Cause::Unreachable, "giving up after", UNREACHABLE),
    (
        Cause::ChildRefused,
        " notify, no CHILD_SA built",
        "the peer did not make the CHILD_SA: its log says why",
    ),
];

const UNREACHABLE: &str = "UDP ports 500 and 4500 must pass in both directions, and an IKE engine must run there";

/// Explanation of crossing exchanges (RFC 7296, section 2.25).
const BUSY: &str = "an exchange of the other end was under way; this end asks again within 30 s. Where none succeeds before the SA's \
                    lifetime is over, messages are lost in one direction: compare both logs";

/// Returns true if a line of charon's log contains a sign of a reason.
pub(crate) fn tells(line: &str) -> bool {
    KNOWN.iter().any(|(_, sign, _)| line.contains(sign))
}

/// The reason in these lines of charon's log, if one of them contains it.
pub(crate) fn known<'a>(lines: impl Iterator<Item = &'a str> + Clone) -> Option<Reason> {
    KNOWN.iter().find_map(|(cause, sign, hint)| {
        let line = lines.clone().find(|line| line.contains(sign))?;
        Some(Reason {
            cause: *cause,
            sentence: line.trim().to_owned(),
            hint,
        })
    })
}

/// The reason in these lines of charon's log, with `otherwise` for the rest.
pub fn reason<'a>(lines: impl Iterator<Item = &'a str> + Clone, otherwise: &str) -> Reason {
    known(lines.clone()).unwrap_or_else(|| {
        let silent = lines.clone().any(|line| line.contains("retransmit "));
        Reason {
            cause: if silent { Cause::Unreachable } else { Cause::Failed },
            sentence: otherwise.to_owned(),
            hint: if silent {
                UNREACHABLE
            } else {
                "the logs of the IKE engines at both ends say more"
            },
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_comes_before_what_follows_from_it() {
        let cause = |lines: &[&str]| reason(lines.iter().copied(), "not established").cause;
        assert_eq!(
            cause(&["received NO_PROPOSAL_CHOSEN notify error"]),
            Cause::NoCommonProposal
        );
        let revoked = [
            "certificate was revoked on Nov 21",
            "no trusted ECDSA public key found for 'ric'",
        ];
        assert_eq!(cause(&revoked), Cause::Revoked);
        assert_eq!(
            cause(&["retransmit 1 of request with message ID 0"]),
            Cause::Unreachable
        );
        let busy = [
            "received TEMPORARY_FAILURE notify",
            "CHILD_SA rekeying failed, trying again in 23 seconds",
        ];
        assert_eq!(cause(&busy), Cause::TemporaryFailure);
        assert_eq!(
            cause(&["received NO_ADDITIONAL_SAS notify, no CHILD_SA built"]),
            Cause::ChildRefused
        );
        assert_eq!(cause(&["something else"]), Cause::Failed);
        assert_eq!(cause(&[]), Cause::Failed);
    }

    #[test]
    fn every_cause_is_in_the_table_of_the_page_that_documents_them() {
        let page = include_str!("../../../../../docs/up.md");
        for cause in Cause::ALL {
            assert!(page.contains(&format!("`{cause}`")), "docs/up.md lacks {cause}");
        }
        let names: std::collections::BTreeSet<_> = Cause::ALL.map(Cause::as_str).into();
        assert_eq!(names.len(), Cause::ALL.len());
    }
}
