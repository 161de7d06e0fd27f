//! The profiles: named starting points for a policy.

use bartizan_registry::{NamedGroup, SignatureScheme};

use super::{CipherSuite, Exception, Module, Policy, PostQuantum, Resumption, Revocation};
use crate::error::Fault;
use crate::ipsec::IpsecPolicy;
use crate::word::{Word, words};

bartizan_registry::named! {
    /// A named starting point for a policy.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Profile, name {
        /// X25519MLKEM768 and ML-DSA-65, required.
        Hybrid = "hybrid",
        /// ML-KEM-1024, ML-DSA-87 and AES-256 as CNSA 2.0 asks, required.
        Cnsa2 = "cnsa2",
        /// Hybrid preferred; classical allowed for a written reason until a date.
        Transition = "transition",
        /// No post-quantum algorithm: the baseline of measurements, lab only.
        Classical = "classical",
    }
}

words!(Profile);

impl Profile {
    pub(super) fn parse(text: &str) -> Result<Self, Fault> {
        Self::named(text).ok_or_else(|| {
            let hint = "profiles are hybrid, cnsa2, transition and classical";
            Fault::new("profile", format!("no profile is called `{text}`"), hint)
        })
    }
}

impl Policy {
    /// The profile `hybrid` as it stands: what holds where a file names no policy.
    pub fn hybrid() -> Self {
        Self {
            profile: Profile::Hybrid,
            post_quantum: PostQuantum::Require,
            groups: vec![NamedGroup::X25519MLKEM768],
            signatures: vec![SignatureScheme::MLDSA65],
            chain_signatures: vec![SignatureScheme::MLDSA65, SignatureScheme::MLDSA87],
            ciphers: vec![CipherSuite::Aes256Gcm, CipherSuite::Aes128Gcm],
            exception: None,
            resumption: Resumption::Off,
            revocation: Revocation::IfPresent,
            module: Module::Any,
            ipsec: IpsecPolicy::of(Profile::Hybrid),
        }
    }

    /// The profile `cnsa2` as it stands.
    pub fn cnsa2() -> Self {
        Self {
            profile: Profile::Cnsa2,
            groups: vec![NamedGroup::MLKEM1024],
            signatures: vec![SignatureScheme::MLDSA87],
            chain_signatures: vec![SignatureScheme::MLDSA87],
            ciphers: vec![CipherSuite::Aes256Gcm],
            ipsec: IpsecPolicy::of(Profile::Cnsa2),
            ..Self::hybrid()
        }
    }

    /// The profile `transition` with its exception.
    pub fn transition(exception: Exception) -> Self {
        let classical = Self::classical();
        let hybrid = Self::hybrid();
        Self {
            profile: Profile::Transition,
            post_quantum: PostQuantum::Prefer,
            groups: [hybrid.groups, classical.groups].concat(),
            signatures: [hybrid.signatures, classical.signatures].concat(),
            chain_signatures: [hybrid.chain_signatures, classical.chain_signatures].concat(),
            ciphers: hybrid.ciphers,
            exception: Some(exception),
            resumption: hybrid.resumption,
            revocation: hybrid.revocation,
            module: hybrid.module,
            ipsec: IpsecPolicy::of(Profile::Transition),
        }
    }

    /// The profile `classical`: the baseline of measurements.
    pub fn classical() -> Self {
        let signatures = vec![
            SignatureScheme::ECDSA_SECP256R1_SHA256,
            SignatureScheme::ECDSA_SECP384R1_SHA384,
            SignatureScheme::ED25519,
        ];
        Self {
            profile: Profile::Classical,
            post_quantum: PostQuantum::Forbid,
            groups: vec![NamedGroup::X25519, NamedGroup::SECP256R1, NamedGroup::SECP384R1],
            signatures: signatures.clone(),
            chain_signatures: signatures,
            ipsec: IpsecPolicy::of(Profile::Classical),
            ..Self::hybrid()
        }
    }
}
