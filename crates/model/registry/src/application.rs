//! Algorithms above the transport: how SUCI conceals a subscriber's identifier, and how JSON web tokens are signed.

use crate::Safety;

/// A protection scheme of SUCI (TS 33.501, annex C).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SuciScheme {
    /// Its identifier.
    pub code: u8,
    /// Its name.
    pub name: &'static str,
    /// Safety of the identifier from a recorder with a quantum computer; none where it is not
    /// concealed at all.
    pub recording: Option<Safety>,
}

/// Every scheme this project knows; 12 to 15 are the operators' own.
pub static SUCI_SCHEMES: &[SuciScheme] = &[
    SuciScheme {
        code: 0,
        name: "null scheme",
        recording: None,
    },
    SuciScheme {
        code: 1,
        name: "profile A (ECIES with X25519)",
        recording: Some(Safety::Vulnerable),
    },
    SuciScheme {
        code: 2,
        name: "profile B (ECIES with secp256r1)",
        recording: Some(Safety::Vulnerable),
    },
];

/// A signature algorithm of JSON web signatures (RFC 7518, RFC 8037), by its `alg`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JwsAlgorithm {
    /// The value of `alg`.
    pub name: &'static str,
    /// Safety of the signature from a forger with a quantum computer; none where it depends on a
    /// shared key.
    pub forgery: Option<Safety>,
}

/// Every algorithm this project knows.
pub static JWS_ALGORITHMS: &[JwsAlgorithm] = &{
    const fn classical(name: &'static str) -> JwsAlgorithm {
        JwsAlgorithm {
            name,
            forgery: Some(Safety::Vulnerable),
        }
    }
    const fn safe(name: &'static str) -> JwsAlgorithm {
        JwsAlgorithm {
            name,
            forgery: Some(Safety::QuantumSafe),
        }
    }
    const fn shared(name: &'static str) -> JwsAlgorithm {
        JwsAlgorithm { name, forgery: None }
    }
    [
        classical("none"),
        classical("RS256"),
        classical("RS384"),
        classical("RS512"),
        classical("PS256"),
        classical("PS384"),
        classical("PS512"),
        classical("ES256"),
        classical("ES384"),
        classical("ES512"),
        classical("ES256K"),
        classical("EdDSA"),
        shared("HS256"),
        shared("HS384"),
        shared("HS512"),
        safe("ML-DSA-44"),
        safe("ML-DSA-65"),
        safe("ML-DSA-87"),
    ]
};

/// The scheme with this identifier.
pub fn suci_scheme(code: u8) -> Option<&'static SuciScheme> {
    SUCI_SCHEMES.iter().find(|known| known.code == code)
}

/// The algorithm with this `alg`.
pub fn jws_algorithm(name: &str) -> Option<&'static JwsAlgorithm> {
    JWS_ALGORITHMS.iter().find(|known| known.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_and_algorithms_are_found_by_what_stands_on_the_wire() {
        assert_eq!(suci_scheme(0).and_then(|known| known.recording), None);
        assert_eq!(
            suci_scheme(2).and_then(|known| known.recording),
            Some(Safety::Vulnerable)
        );
        assert!(suci_scheme(12).is_none());
        assert_eq!(
            jws_algorithm("ES256").and_then(|known| known.forgery),
            Some(Safety::Vulnerable)
        );
        assert_eq!(
            jws_algorithm("ML-DSA-65").and_then(|known| known.forgery),
            Some(Safety::QuantumSafe)
        );
        assert!(jws_algorithm("es256").is_none());
    }
}
