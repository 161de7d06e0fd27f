//! How bad a finding is, and what to do about it, in one line.

use bartizan_posture::{Concern, HoleKind, Kind, Link, Verdict};

/// How soon a finding wants something to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Somebody can read it today.
    Critical,
    /// Harvest now, decrypt later; or evidence contradicts itself.
    High,
    /// Future forgery of authentication, or nothing shows that it is safe.
    Medium,
}

impl Severity {
    /// Of a concern.
    #[must_use]
    pub fn of(concern: Concern) -> Self {
        match concern {
            Concern::ReadableNow => Self::Critical,
            Concern::Confidentiality | Concern::Downgrade | Concern::Contradiction => Self::High,
            Concern::Authenticity
            | Concern::Regression
            | Concern::Policy
            | Concern::Unlisted
            | Concern::Unseen
            | Concern::Unproven
            | Concern::AboveTransport => Self::Medium,
        }
    }

    /// As reports write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Medium => "medium",
        }
    }
}

/// What to do about a finding; `kind` is what it concerns, where one thing is. [`of_hole`] has it for what is exposed above the transport.
pub(crate) fn remedy(concern: Concern, kind: Option<Kind>) -> &'static str {
    match concern {
        Concern::ReadableNow => readable(kind),
        Concern::Confidentiality => classical(kind),
        Concern::Authenticity => forgeable(kind),
        Concern::Regression => "propose the additional key exchange for CHILD_SAs too",
        Concern::Downgrade => "refuse what is weaker at both ends, as the policy `hybrid` does",
        Concern::Policy => "let both ends negotiate what the policy names, or change it",
        Concern::Unlisted => "add the link to the deployment file, or stop it",
        Concern::Unseen => "capture where it passes, or take it out of the file",
        Concern::Unproven => unproven(kind),
        Concern::AboveTransport => "carry it in TLS, and conceal or sign it by post-quantum algorithms",
        Concern::Contradiction => "look for a foreign ledger, wrong keys or a forged packet",
    }
}

/// What to do about what is exposed above the transport.
pub(crate) fn of_hole(kind: HoleKind) -> &'static str {
    match kind {
        HoleKind::Suci => "protect the link that carries it, and use no null scheme",
        HoleKind::Token => "sign tokens with ML-DSA, or keep their lifetimes short",
        HoleKind::ProxyCredentials => PROXY_BY_TLS,
        HoleKind::Tunnel => "capture behind the proxy too: what is in its streams passes there",
        HoleKind::BehindProxy => "let the ends behind the proxy require X25519MLKEM768",
    }
}

/// For secrets that a client sends to a proxy, and what it asks for.
const PROXY_BY_TLS: &str = "reach the proxy by TLS with X25519MLKEM768";

fn readable(kind: Option<Kind>) -> &'static str {
    match kind {
        Some(Kind::ClearHttp1 | Kind::ClearHttp2) => "run a sidecar at both ends (`bartizan sidecar`)",
        Some(Kind::ClearSctp | Kind::GtpU | Kind::Pfcp | Kind::GtpC) => "carry it in IPsec with ML-KEM (`bartizan up`)",
        Some(Kind::Esp | Kind::EspUnencrypted) => "propose AES-256-GCM for the CHILD_SA, and no NULL",
        Some(Kind::Ike | Kind::IkeNotSeen) => "propose AES-256-GCM for the IKE_SA",
        Some(Kind::Tls13 | Kind::TlsLegacy(_) | Kind::DtlsOverSctp) => {
            "switch off cipher suites that do not encrypt, at both ends"
        }
        Some(Kind::Ssh) => "switch off the cipher `none` at both ends",
        Some(Kind::Proxy(_)) => PROXY_BY_TLS,
        _ => "encrypt it: a sidecar for TCP, IPsec with ML-KEM for the rest",
    }
}

fn classical(kind: Option<Kind>) -> &'static str {
    match kind {
        Some(Kind::Tls13) => "let both ends require X25519MLKEM768, or run sidecars",
        Some(Kind::TlsLegacy(_)) => "move both ends to TLS 1.3 with X25519MLKEM768, or run sidecars",
        Some(Kind::DtlsOverSctp) => "carry it in IPsec with ML-KEM (`bartizan up`)",
        Some(Kind::IkeV1) => "replace IKEv1 by IKEv2 with ML-KEM (`bartizan up`)",
        Some(Kind::Ike | Kind::IkeNotSeen | Kind::Esp) => "add ML-KEM-768 as additional key exchange (`bartizan up`)",
        Some(Kind::Ssh) => "let both ends agree on mlkem768x25519-sha256",
        _ => "let both ends require a post-quantum key exchange",
    }
}

fn forgeable(kind: Option<Kind>) -> &'static str {
    match kind {
        Some(Kind::Tls13 | Kind::TlsLegacy(_)) => "give both ends ML-DSA certificates (`bartizan ca`), by TLS 1.3",
        Some(Kind::Ike | Kind::IkeNotSeen | Kind::IkeV1 | Kind::Esp) => {
            "use ML-DSA certificates as soon as both daemons take them"
        }
        Some(Kind::Ssh) => "carry it in TLS or IPsec: SSH has no post-quantum host keys",
        Some(Kind::DtlsOverSctp) => "carry it in IPsec (`bartizan up`)",
        _ => "authenticate both ends: sidecars and IPsec do",
    }
}

fn unproven(kind: Option<Kind>) -> &'static str {
    match kind {
        Some(Kind::TlsNotSeen) => "restart an end, or its sidecar, to see handshakes",
        Some(Kind::IkeNotSeen | Kind::Esp) => "set it up anew while capturing, or give ledgers (`--ledger`)",
        Some(Kind::SshNotSeen) => "reconnect while capturing, to see the key exchange",
        Some(Kind::Tls13 | Kind::TlsLegacy(_)) => "require a key exchange on resumption, and no early data",
        Some(Kind::GtpU) => "carry it in IPsec with ML-KEM (`bartizan up`)",
        _ => "find out what it is, and carry it in TLS or IPsec with ML-KEM",
    }
}

/// What of a link a concern is about: the kind of the first part that shows it.
pub(crate) fn kind_of(link: &Link, concern: Concern) -> Option<Kind> {
    let (confidentiality, authenticity) = (link.confidentiality.verdict(), link.authenticity.verdict());
    let phase = link.phases.iter().find(|phase| match concern {
        Concern::Authenticity => phase.authenticity == authenticity,
        _ => phase.confidentiality == confidentiality,
    });
    phase.map(|phase| phase.kind)
}

/// Whether a capture that began after this was set up could show more: the note says how.
pub(crate) fn begun_before(kind: Kind, confidentiality: Verdict) -> bool {
    confidentiality == Verdict::NotSeen && matches!(kind, Kind::TlsNotSeen | Kind::SshNotSeen | Kind::IkeNotSeen)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONCERNS: [Concern; 11] = [
        Concern::ReadableNow,
        Concern::Confidentiality,
        Concern::Authenticity,
        Concern::Regression,
        Concern::Downgrade,
        Concern::Policy,
        Concern::Unlisted,
        Concern::Unseen,
        Concern::Unproven,
        Concern::AboveTransport,
        Concern::Contradiction,
    ];

    #[test]
    fn each_concern_has_a_remedy_of_one_line_and_a_severity() {
        for concern in CONCERNS {
            for kind in [
                None,
                Some(Kind::Tls13),
                Some(Kind::Esp),
                Some(Kind::ClearSctp),
                Some(Kind::Unknown),
            ] {
                let remedy = remedy(concern, kind);
                assert!(
                    !remedy.is_empty() && remedy.len() <= 66 && !remedy.contains('\n'),
                    "{remedy}"
                );
            }
        }
        for kind in HoleKind::ALL {
            let remedy = of_hole(kind);
            assert!(!remedy.is_empty() && remedy.len() <= 66, "{kind}: {remedy}");
        }
        for kind in [HoleKind::ProxyCredentials, HoleKind::Tunnel, HoleKind::BehindProxy] {
            assert!(of_hole(kind).contains("proxy"), "{kind}");
        }
        assert_eq!(Severity::of(Concern::ReadableNow), Severity::Critical);
        assert!(Severity::of(Concern::Confidentiality) < Severity::of(Concern::Authenticity));
    }
}
