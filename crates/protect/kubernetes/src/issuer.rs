//! The issuer of cert-manager that certificates are asked of, and what is asked of it.

use std::fmt;
use std::str::FromStr;

use bartizan_pki::Algorithm;
use bartizan_registry::SignatureScheme;

use bartizan_terminal::Failure;

/// cert-manager's own.
const GROUP: &str = "cert-manager.io";

/// `issuerRef` of a CertificateRequest, written `KIND/NAME` or `KIND.GROUP/NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerReference {
    pub(crate) kind: String,
    pub(crate) group: String,
    pub(crate) name: String,
}

impl FromStr for IssuerReference {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = "KIND/NAME is meant, as ClusterIssuer/core, or KIND.GROUP/NAME for an issuer that is not cert-manager's own";
        let (what, name) = text.split_once('/').ok_or(wrong)?;
        let (kind, group) = what.split_once('.').unwrap_or((what, GROUP));
        let is_kind =
            kind.starts_with(|c: char| c.is_ascii_uppercase()) && kind.bytes().all(|c| c.is_ascii_alphanumeric());
        let is_subdomain = |text: &str| {
            let byte = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-' || c == b'.';
            !text.is_empty() && text.len() <= 253 && text.bytes().all(byte)
        };
        if !is_kind || !is_subdomain(group) || !is_subdomain(name) {
            return Err(wrong.to_owned());
        }
        if group == GROUP && !["Issuer", "ClusterIssuer"].contains(&kind) {
            return Err(format!(
                "{GROUP} has the kinds Issuer and ClusterIssuer, not {kind}: {wrong}"
            ));
        }
        Ok(Self {
            kind: kind.to_owned(),
            group: group.to_owned(),
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for IssuerReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}/{}", self.kind, self.group, self.name)
    }
}

impl IssuerReference {
    /// Checks that the issuer can sign a certificate for such a key.
    pub(crate) fn check(&self, algorithm: Algorithm) -> Result<(), Failure> {
        if self.group == GROUP && algorithm.is_quantum_safe() {
            return Err(Failure::usage(format!(
                "--key-algorithm {algorithm}: cert-manager's own issuers verify requests by the library of Go, which up to Go 1.26 knows no ML-DSA"
            ))
            .hint("an external issuer may: --issuer KIND.GROUP/NAME; or `bartizan ca`: --ca DIR"));
        }
        Ok(())
    }
}

/// The scheme in which such a key signs handshakes.
pub(crate) fn scheme(algorithm: Algorithm) -> SignatureScheme {
    match algorithm {
        Algorithm::MlDsa44 => SignatureScheme::MLDSA44,
        Algorithm::MlDsa65 => SignatureScheme::MLDSA65,
        Algorithm::MlDsa87 => SignatureScheme::MLDSA87,
        Algorithm::EcdsaP256 => SignatureScheme::ECDSA_SECP256R1_SHA256,
        Algorithm::EcdsaP384 => SignatureScheme::ECDSA_SECP384R1_SHA384,
        Algorithm::Ed25519 => SignatureScheme::ED25519,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        text.parse::<IssuerReference>().map(|one| one.to_string())
    }

    #[test]
    fn an_issuer_is_a_kind_with_or_without_its_group_and_a_name() {
        assert_eq!(read("Issuer/core"), Ok("Issuer.cert-manager.io/core".to_owned()));
        assert_eq!(
            read("ClusterIssuer/a.b-1"),
            Ok("ClusterIssuer.cert-manager.io/a.b-1".to_owned())
        );
        assert_eq!(
            read("StepIssuer.certmanager.step.sm/core"),
            Ok("StepIssuer.certmanager.step.sm/core".to_owned())
        );
        for wrong in [
            "",
            "core",
            "Issuer",
            "Issuer/",
            "/core",
            "issuer/core",
            "Issuer./core",
            "Issuer/a/b",
            "Isuer/core",
            "Issuer/Core",
            "Issuer/a b",
            "A.b?c/d",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ml_dsa_is_not_asked_of_issuers_that_cannot_sign_it() {
        let own: IssuerReference = "Issuer/core".parse().unwrap();
        let other: IssuerReference = "Issuer.pki.5gc/core".parse().unwrap();
        for algorithm in Algorithm::ALL {
            assert_eq!(own.check(algorithm).is_ok(), !algorithm.is_quantum_safe());
            assert!(other.check(algorithm).is_ok());
        }
    }
}
