//! Contents of PEM text: a chain, its key, roots. Each is refused with its place, the cause and a
//! hint.

use bartizan_pki::{NoAnchor, PrivateKey, TrustAnchors};
use bartizan_registry::SignatureScheme;
use rustls::DistinguishedName;
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use webpki::EndEntityCert;
use zeroize::Zeroize;

use super::{Pair, fault};
use crate::{Error, certificate, scheme};

pub(super) fn certificates(text: &[u8], place: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let mut chain = chain.map_err(|error| {
        fault(
            place,
            format!("is not PEM: {error}"),
            "it begins -----BEGIN CERTIFICATE-----",
        )
    })?;
    if chain.is_empty() {
        return Err(fault(
            place,
            "holds no certificate",
            "it begins -----BEGIN CERTIFICATE-----; DER is not read",
        ));
    }
    // A root in the chain costs every handshake its bytes and convinces no peer: it is trusted from
    // a file or not at all.
    while chain.len() > 1 && chain.last().is_some_and(certificate::is_self_issued) {
        chain.pop();
    }
    Ok(chain)
}

pub(super) fn certified(
    chain: Vec<CertificateDer<'static>>,
    scheme: SignatureScheme,
    pair: &Pair<'_>,
) -> Result<CertifiedKey, Error> {
    let mut der = PrivateKeyDer::from_pem_slice(pair.key).map_err(|_| {
        if contains(pair.key, b"ENCRYPTED") {
            let hint = "a sidecar starts unattended: decrypt it with `openssl pkey` and protect the file by mode 0600";
            fault(pair.key_place, "the key is encrypted", hint)
        } else {
            fault(
                pair.key_place,
                "holds no private key",
                "it begins -----BEGIN PRIVATE KEY-----",
            )
        }
    })?;
    let parsed = any_supported_type(&der);
    let why = parsed.is_err().then(|| PrivateKey::fault(der.secret_der())).flatten();
    der.zeroize();
    let key = parsed.map_err(|_| {
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        fault(
            pair.key_place,
            format!("the key cannot be read{why}"),
            "PKCS#8 of ML-DSA (seed, expanded or both), ECDSA on P-256 or P-384, or Ed25519 is read",
        )
    })?;
    let mismatch = || {
        fault(
            pair.key_place,
            format!(
                "the key is not the one of the certificate in {}",
                pair.certificate_place
            ),
            "both are written together by `bartizan ca issue --dns NAME`",
        )
    };
    // A signature made and verified proves the pair for every kind of key.
    let probe = b"bartizan: does this key belong to this certificate?";
    let signer = key
        .choose_scheme(&[scheme::to_rustls(scheme)])
        .filter(|signer| signer.scheme() == scheme::to_rustls(scheme));
    let signature = signer.and_then(|signer| signer.sign(probe).ok()).ok_or_else(mismatch)?;
    let verifier = scheme::verifier(scheme).ok_or_else(mismatch)?;
    let leaf = EndEntityCert::try_from(&chain[0]).map_err(|error| {
        fault(
            pair.certificate_place,
            format!("the leaf cannot be read: {error}"),
            "reissue it",
        )
    })?;
    leaf.verify_signature(verifier, probe, &signature)
        .map_err(|_| mismatch())?;
    Ok(CertifiedKey::new(chain, key))
}

/// Contents of a file of roots.
#[derive(Default)]
pub(super) struct Trusted {
    pub(super) anchors: TrustAnchors,
    pub(super) subjects: Vec<DistinguishedName>,
    pub(super) certificates: Vec<CertificateDer<'static>>,
    /// Certificates that are none of an authority, by their subjects.
    pub(super) not_authorities: Vec<String>,
}

pub(super) fn trusted(text: &[u8], place: &str) -> Result<Trusted, Error> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let certificates = certificates.map_err(|error| {
        fault(
            place,
            format!("is not PEM: {error}"),
            "it begins -----BEGIN CERTIFICATE-----",
        )
    })?;
    let mut trusted = Trusted::default();
    for (index, der) in certificates.iter().enumerate() {
        let number = index + 1;
        let unusable = |cause: String| fault(place, format!("certificate {number} {cause}"), "list roots of your CAs");
        match trusted.anchors.add(der) {
            Ok(()) => trusted.certificates.push(der.clone()),
            Err(NoAnchor::Unreadable(cause)) => return Err(unusable(cause)),
            Err(NoAnchor::NotOfAnAuthority(subject)) => trusted.not_authorities.push(subject),
        }
    }
    let anchors = trusted.anchors.all().iter();
    trusted.subjects = anchors
        .map(|anchor| DistinguishedName::in_sequence(anchor.subject.as_ref()))
        .collect();
    if trusted.certificates.is_empty() {
        let hint = "put the root's certificate there: `bartizan ca issue --dns NAME` writes it as ca.crt.pem";
        let cause = match &trusted.not_authorities[..] {
            [] => "holds no certificate".to_owned(),
            others => format!("holds no certificate of an authority, only {}", others.join(" and ")),
        };
        return Err(fault(place, cause, hint));
    }
    Ok(trusted)
}

fn contains(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|window| window == wanted)
}
