//! A policy in effect, as what rustls and the checks here need.

use std::sync::Arc;
use std::time::Duration;

use bartizan_deployment::{CipherSuite, Policy, PostQuantum, Resumption, Revocation};
use bartizan_registry::{NamedGroup, Safety, SignatureScheme, group as known_group};
use rustls::SupportedCipherSuite;
use rustls::crypto::aws_lc_rs::{cipher_suite, default_provider};
use rustls::crypto::{CryptoProvider, SupportedKxGroup, WebPkiSupportedAlgorithms};
use webpki::aws_lc_rs as algorithm;

use crate::{group, scheme};

/// Terms that one handshake offers and accepts.
#[derive(Debug)]
pub(crate) struct Terms {
    /// The profile, for messages.
    pub(crate) profile: &'static str,
    pub(crate) groups: Vec<NamedGroup>,
    pub(crate) signatures: Vec<SignatureScheme>,
    pub(crate) chain_signatures: Vec<SignatureScheme>,
    pub(crate) ciphers: Vec<CipherSuite>,
    pub(crate) revocation: Revocation,
    /// Longest time from its full handshake to a session's resumption.
    pub(crate) resumption: Option<Duration>,
    /// The written reason for which classical handshakes pass, while it holds.
    pub(crate) exception: Option<String>,
    /// Provider with exactly these groups and cipher suites.
    pub(crate) provider: Arc<CryptoProvider>,
    /// The same without classical groups, where the terms have both kinds and want post-quantum first.
    pub(crate) post_quantum_provider: Option<Arc<CryptoProvider>>,
    /// Classical comes first by choice.
    classical_first: bool,
}

/// The signature algorithms of the provider. Certificates and CertificateVerify are judged by the checks of this crate, against
/// the policy; this list bounds what anything else in rustls could accept: no RSA, no curve that no policy can name.
static VERIFIABLE: WebPkiSupportedAlgorithms = WebPkiSupportedAlgorithms {
    all: &[
        algorithm::ML_DSA_44,
        algorithm::ML_DSA_65,
        algorithm::ML_DSA_87,
        algorithm::ECDSA_P256_SHA256,
        algorithm::ECDSA_P384_SHA384,
        algorithm::ED25519,
    ],
    mapping: &[
        (rustls::SignatureScheme::ML_DSA_44, &[algorithm::ML_DSA_44]),
        (rustls::SignatureScheme::ML_DSA_65, &[algorithm::ML_DSA_65]),
        (rustls::SignatureScheme::ML_DSA_87, &[algorithm::ML_DSA_87]),
        (
            rustls::SignatureScheme::ECDSA_NISTP256_SHA256,
            &[algorithm::ECDSA_P256_SHA256],
        ),
        (
            rustls::SignatureScheme::ECDSA_NISTP384_SHA384,
            &[algorithm::ECDSA_P384_SHA384],
        ),
        (rustls::SignatureScheme::ED25519, &[algorithm::ED25519]),
    ],
};

impl Terms {
    /// Terms of a policy that is in effect. None where it leaves nothing to negotiate with.
    pub(crate) fn of(policy: &Policy, classical: Classical) -> Option<Self> {
        let exception = policy.exception.as_ref().map(|exception| exception.reason.clone());
        Self {
            profile: policy.profile.name(),
            groups: policy.groups.clone(),
            signatures: policy.signatures.clone(),
            chain_signatures: policy.chain_signatures.clone(),
            ciphers: policy.ciphers.clone(),
            revocation: policy.revocation,
            resumption: match policy.resumption {
                Resumption::Off => None,
                Resumption::Within(within) => Some(within),
            },
            exception: exception.filter(|_| classical == Classical::Admitted),
            classical_first: policy.post_quantum == PostQuantum::Allow,
            provider: Arc::new(default_provider()),
            post_quantum_provider: None,
        }
        .with_provider()
    }

    /// Terms of a listener that does not know yet which of these peers connects. Post-quantum
    /// groups and schemes first. Where there is no peer, it offers terms that authorise no client.
    pub(crate) fn of_listener(peers: &[Arc<Self>]) -> Self {
        let union = Self::union(peers.iter().map(Arc::as_ref));
        union
            .or_else(|| Self::of(&Policy::hybrid(), Classical::Excluded))
            .expect("the profile hybrid names groups, signatures and cipher suites")
    }

    fn union<'a>(all: impl Iterator<Item = &'a Self> + Clone) -> Option<Self> {
        let mut groups = merged(all.clone().map(|terms| &terms.groups));
        groups.sort_by_key(|&code| !quantum_safe_group(code));
        let mut signatures = merged(all.clone().map(|terms| &terms.signatures));
        signatures.sort_by_key(|&code| !scheme::quantum_safe(code));
        let strict = all.clone().all(|terms| terms.revocation == Revocation::Require);
        Self {
            profile: "of any peer",
            groups,
            signatures,
            chain_signatures: merged(all.clone().map(|terms| &terms.chain_signatures)),
            ciphers: merged(all.clone().map(|terms| &terms.ciphers)),
            revocation: if strict {
                Revocation::Require
            } else {
                Revocation::IfPresent
            },
            resumption: all.clone().filter_map(|terms| terms.resumption).max(),
            exception: None,
            classical_first: all.clone().any(|terms| terms.classical_first),
            provider: Arc::new(default_provider()),
            post_quantum_provider: None,
        }
        .with_provider()
    }

    fn with_provider(mut self) -> Option<Self> {
        let groups: Vec<_> = self
            .groups
            .iter()
            .filter_map(|&code| group::implementation(code))
            .collect();
        let nothing = groups.is_empty()
            || self.signatures.is_empty()
            || self.chain_signatures.is_empty()
            || self.ciphers.is_empty();
        let (safe, classical): (Vec<_>, Vec<_>) = groups
            .iter()
            .partition(|group| quantum_safe_group(NamedGroup(u16::from(group.name()))));
        if !safe.is_empty() && !classical.is_empty() && !self.classical_first {
            self.post_quantum_provider = Some(self.provider_of(safe));
        }
        self.provider = self.provider_of(groups);
        (!nothing).then_some(self)
    }

    fn provider_of(&self, groups: Vec<&'static dyn SupportedKxGroup>) -> Arc<CryptoProvider> {
        Arc::new(CryptoProvider {
            cipher_suites: self.ciphers.iter().map(|&cipher| suite(cipher)).collect(),
            kx_groups: groups,
            signature_verification_algorithms: VERIFIABLE,
            ..default_provider()
        })
    }

    /// Schemes of CertificateVerify as rustls offers them.
    pub(crate) fn offered_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.signatures.iter().map(|&code| scheme::to_rustls(code)).collect()
    }
}

/// State of a policy's exception on the day in question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Classical {
    /// It holds, or the policy has none to hold.
    Admitted,
    /// It has ended, or the policy never had one.
    Excluded,
}

fn merged<'a, T: Copy + PartialEq + 'a>(lists: impl Iterator<Item = &'a Vec<T>>) -> Vec<T> {
    let mut merged = Vec::new();
    for &item in lists.flatten() {
        if !merged.contains(&item) {
            merged.push(item);
        }
    }
    merged
}

fn suite(cipher: CipherSuite) -> SupportedCipherSuite {
    match cipher {
        CipherSuite::Aes256Gcm => cipher_suite::TLS13_AES_256_GCM_SHA384,
        CipherSuite::Aes128Gcm => cipher_suite::TLS13_AES_128_GCM_SHA256,
    }
}

/// The code point of a cipher suite (RFC 9846, appendix B.4).
pub(crate) const fn cipher_code(cipher: CipherSuite) -> u16 {
    match cipher {
        CipherSuite::Aes256Gcm => 0x1302,
        CipherSuite::Aes128Gcm => 0x1301,
    }
}

/// Returns true if a recording of the exchange stays closed to a quantum computer.
pub(crate) fn quantum_safe_group(code: NamedGroup) -> bool {
    known_group(code).is_some_and(|known| known.recording == Safety::QuantumSafe)
}

/// Names of code points in a sentence. A peer may offer thousands: the first few are named, the others counted.
pub(crate) fn names<T: std::fmt::Display>(codes: &[T]) -> String {
    const NAMED: usize = 12;
    let mut named: Vec<_> = codes.iter().take(NAMED).map(ToString::to_string).collect();
    if codes.len() > NAMED {
        named.push(format!("and {} more", codes.len() - NAMED));
    }
    named.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_stays_short_however_much_a_peer_offers() {
        let many: Vec<_> = (0..u16::MAX).map(NamedGroup).collect();
        let text = names(&many);
        assert!(text.len() < 400 && text.ends_with(", and 65523 more"), "{text}");
        assert_eq!(names(&[NamedGroup::X25519, NamedGroup::MLKEM768]), "x25519, MLKEM768");
        assert_eq!(names::<NamedGroup>(&[]), "");
    }

    #[test]
    fn a_listener_offers_what_any_peer_may_and_post_quantum_first() {
        let terms = |policy: &Policy| Arc::new(Terms::of(policy, Classical::Excluded).unwrap());
        let union = Terms::of_listener(&[
            terms(&Policy::classical()),
            terms(&Policy::cnsa2()),
            terms(&Policy::hybrid()),
        ]);
        let wanted = [
            NamedGroup::MLKEM1024,
            NamedGroup::X25519MLKEM768,
            NamedGroup::X25519,
            NamedGroup::SECP256R1,
            NamedGroup::SECP384R1,
        ];
        assert_eq!(union.groups, wanted);
        assert_eq!(union.provider.kx_groups.len(), wanted.len());
        assert_eq!(union.post_quantum_provider.unwrap().kx_groups.len(), 2);
        assert_eq!(
            union.signatures[..2],
            [SignatureScheme::MLDSA87, SignatureScheme::MLDSA65]
        );
    }

    #[test]
    fn a_listener_without_peers_offers_the_profile_hybrid() {
        assert_eq!(Terms::of_listener(&[]).groups, [NamedGroup::X25519MLKEM768]);
    }

    #[test]
    fn cnsa2_has_one_cipher_suite_and_hybrid_two() {
        for (policy, suites) in [
            (Policy::cnsa2(), vec![0x1302]),
            (Policy::hybrid(), vec![0x1302, 0x1301]),
        ] {
            let terms = Terms::of(&policy, Classical::Excluded).unwrap();
            let offered: Vec<_> = terms
                .provider
                .cipher_suites
                .iter()
                .map(|suite| u16::from(suite.suite()))
                .collect();
            assert_eq!(offered, suites);
            let named: Vec<_> = policy.ciphers.iter().map(|&cipher| cipher_code(cipher)).collect();
            assert_eq!(named, suites);
        }
    }
}
