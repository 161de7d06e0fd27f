//! Trust of a connection: its roots and lists at the time of day, and only signatures that its
//! policy allows.

use std::time::Duration;

use bartizan_ike::{Anchors, Claim, Identity, Revocation, RevocationList, Trust};
use bartizan_registry::{SignatureScheme, signature_named, x509_algorithm};
use rustls_pki_types::{SignatureVerificationAlgorithm, UnixTime};
use webpki::aws_lc_rs as algorithm;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// Signatures of IKE and of certificates by their names in policies, and as charon writes them in
/// its log.
static SIGNATURES: [(SignatureScheme, &dyn SignatureVerificationAlgorithm, &str); 6] = [
    (SignatureScheme::MLDSA65, algorithm::ML_DSA_65, "ML_DSA_65"),
    (SignatureScheme::MLDSA87, algorithm::ML_DSA_87, "ML_DSA_87"),
    (SignatureScheme::MLDSA44, algorithm::ML_DSA_44, "ML_DSA_44"),
    (
        SignatureScheme::ECDSA_SECP256R1_SHA256,
        algorithm::ECDSA_P256_SHA256,
        "ECDSA_WITH_SHA256_DER",
    ),
    (
        SignatureScheme::ECDSA_SECP384R1_SHA384,
        algorithm::ECDSA_P384_SHA384,
        "ECDSA_WITH_SHA384_DER",
    ),
    (SignatureScheme::ED25519, algorithm::ED25519, "ED25519"),
];

/// The name of a signature by its AlgorithmIdentifier in DER, as charon writes it.
pub(crate) fn name(identifier: &[u8]) -> &'static str {
    // The SEQUENCE around the contents takes two bytes.
    let contents = identifier.get(2..).unwrap_or_default();
    let known = SIGNATURES
        .iter()
        .find(|(_, known, _)| *known.signature_alg_id() == *contents);
    known.map_or("a signature of another kind", |(.., name)| name)
}

/// Signature algorithms of certificates, by their names in the registry.
pub(crate) fn signed(certificates: &[Vec<u8>]) -> String {
    let name = |der: &Vec<u8>| {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let oid = certificate.signature_algorithm.algorithm.to_id_string();
        Some(x509_algorithm(&oid, None).map_or(oid, |known| known.name.to_owned()))
    };
    let names: Vec<_> = certificates.iter().filter_map(name).collect();
    names.join(", ")
}

/// Trust anchors of a connection.
pub(crate) struct Believed(Anchors);

impl Believed {
    /// These roots and lists, signatures of these names, and of these on certificates and lists.
    /// Without names for certificates they are signed as peers sign.
    pub(crate) fn new<'a>(
        roots: Vec<Vec<u8>>,
        lists: Vec<RevocationList>,
        revocation: Revocation,
        names: impl Iterator<Item = &'a str>,
        of_chains: impl Iterator<Item = &'a str>,
    ) -> Result<Self, String> {
        let accepted = verifiers(names)?;
        if accepted.is_empty() {
            return Err("no signatures are named".to_owned());
        }
        let mut of_chains = verifiers(of_chains)?;
        if of_chains.is_empty() {
            of_chains.clone_from(&accepted);
        }
        let anchors = Anchors::new(roots, UnixTime::since_unix_epoch(Duration::ZERO));
        let accepted = accepted.iter().map(|known| known.signature_alg_id());
        let anchors = anchors.revoking(lists, revocation).accepting(accepted.collect());
        Ok(Self(anchors.accepting_of_chains(of_chains)))
    }
}

/// Verification of the signatures of these names.
fn verifiers<'a>(
    names: impl Iterator<Item = &'a str>,
) -> Result<Vec<&'static dyn SignatureVerificationAlgorithm>, String> {
    let known = names.map(|name| {
        let scheme = signature_named(name).map(|known| known.code);
        let known = SIGNATURES.iter().find(|(known, ..)| Some(*known) == scheme);
        known
            .map(|(_, verifier, _)| *verifier)
            .ok_or_else(|| format!("no signatures of {name}"))
    });
    known.collect()
}

impl Trust for Believed {
    fn authorities(&self) -> Vec<[u8; 20]> {
        self.0.authorities()
    }

    fn verify(&self, claim: Claim<'_>) -> Result<(), &'static str> {
        self.0.verify_at(claim, UnixTime::now())
    }

    fn certify(&self, identity: &Identity, certificates: &[Vec<u8>]) -> Result<(), &'static str> {
        self.0.certify_at(identity, certificates, UnixTime::now())
    }
}
