//! IKEv2 and ESP requirements of a policy.

use bartizan_registry::{SignatureScheme, TransformKind};

use super::algorithm::{self, IkeAlgorithm, KeyExchange};
use crate::error::Fault;
use crate::policy::{self, PostQuantum, Profile};
use crate::raw::RawIpsecPolicy;
use crate::word::{Word, words};

bartizan_registry::named! {
    /// Acceptance of classical signatures in peer authentication.
    ///
    /// It is a question apart from that of the key exchange: who records traffic today gains nothing by forging a signature
    /// later, and who forges one must be there while an SA is set up.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum IkeAuthentication, name {
        /// Classical signatures are accepted besides post-quantum ones: what released strongSwan can do.
        ClassicalAccepted = "classical-accepted",
        /// Only post-quantum signatures.
        PostQuantum = "post-quantum",
    }
}

bartizan_registry::named! {
    /// Reaction to an SA that violates the policy.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Breach, name {
        /// It is taken down and reported. The default.
        Down = "down",
        /// It is reported.
        Report = "report",
    }
}

/// IKEv2 and ESP requirements of a policy. Its lists are never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IpsecPolicy {
    /// Key exchanges of IKE_SAs and, at every rekey, of CHILD_SAs; most wanted first.
    pub key_exchanges: Vec<KeyExchange>,
    /// Ciphers of IKE and ESP, most wanted first.
    pub ciphers: Vec<IkeAlgorithm>,
    /// Pseudo-random functions of IKE, most wanted first.
    pub prfs: Vec<IkeAlgorithm>,
    /// Integrity algorithms, for ciphers that do not authenticate.
    pub integrity: Vec<IkeAlgorithm>,
    /// Acceptance of classical signatures.
    pub authentication: IkeAuthentication,
    /// Schemes accepted in the AUTH payload, most wanted first.
    pub signatures: Vec<SignatureScheme>,
    /// Reaction to an SA that violates the policy.
    pub breach: Breach,
}

words!(IkeAuthentication, Breach);

/// Names that stand in this file; what the registry does not have is left out, which a test forbids.
fn known(names: &[&str]) -> Vec<KeyExchange> {
    names.iter().filter_map(|name| KeyExchange::named(name)).collect()
}

fn algorithms(kind: TransformKind, names: &[&str]) -> Vec<IkeAlgorithm> {
    names
        .iter()
        .filter_map(|name| IkeAlgorithm::named(kind, name))
        .collect()
}

impl IpsecPolicy {
    /// Returns the defaults of a profile, for fields that the file omits.
    pub fn of(profile: Profile) -> Self {
        let hybrid = ["x25519-ke1_mlkem768"];
        let classical = ["x25519", "ecp256", "ecp384"];
        let key_exchanges = match profile {
            Profile::Hybrid => known(&hybrid),
            // The first keeps IKE_SA_INIT within one packet; the second is for peers that do without the classical part.
            Profile::Cnsa2 => known(&["ecp384-ke1_mlkem1024", "mlkem1024"]),
            Profile::Transition => known(&[&hybrid[..], &classical[..]].concat()),
            Profile::Classical => known(&classical),
        };
        let authentication = match profile {
            Profile::Cnsa2 => IkeAuthentication::PostQuantum,
            _ => IkeAuthentication::ClassicalAccepted,
        };
        Self {
            key_exchanges,
            // One of each: the fewer there are, the less there is to be talked down to.
            ciphers: algorithms(TransformKind::Encryption, &["aes256gcm16"]),
            prfs: algorithms(TransformKind::PseudoRandomFunction, &["prfsha384"]),
            integrity: algorithms(TransformKind::Integrity, &["sha384"]),
            authentication,
            signatures: signatures(profile, authentication),
            breach: Breach::Down,
        }
    }

    /// The policy once classical key exchanges are not let through any more.
    pub(crate) fn without_classical(&mut self) {
        self.key_exchanges.retain(KeyExchange::is_quantum_safe);
    }

    /// Reads what a policy's map says besides its profile. `lab` admits what protects too little.
    pub(crate) fn parse(
        raw: Option<&RawIpsecPolicy>,
        profile: Profile,
        post_quantum: PostQuantum,
        lab: bool,
    ) -> Result<Self, Fault> {
        let mut policy = Self::of(profile);
        if post_quantum == PostQuantum::Allow {
            policy.key_exchanges.sort_by_key(KeyExchange::is_quantum_safe);
        }
        let Some(raw) = raw else { return Ok(policy) };
        if let Some(names) = &raw.key_exchanges {
            policy.key_exchanges = algorithm::key_exchanges(names)?;
        }
        if let Some(names) = &raw.ciphers {
            policy.ciphers = algorithm::ciphers(names)?;
        }
        if let Some(names) = &raw.prfs {
            policy.prfs = algorithm::prfs(names)?;
        }
        if let Some(names) = &raw.integrity {
            policy.integrity = algorithm::integrity(names)?;
        }
        policy.authentication =
            IkeAuthentication::read("authentication", raw.authentication.as_deref(), policy.authentication)?;
        policy.signatures = match &raw.signatures {
            None => signatures(profile, policy.authentication),
            Some(names) => policy::signature_list(names, "signatures")?,
        };
        policy.breach = Breach::read("breach", raw.breach.as_deref(), Breach::Down)?;
        policy.check(profile, post_quantum, lab)?;
        Ok(policy)
    }

    /// Lists written by hand must not undermine the profile's promise.
    fn check(&self, profile: Profile, post_quantum: PostQuantum, lab: bool) -> Result<(), Fault> {
        for (index, exchange) in self.key_exchanges.iter().enumerate() {
            let find = |cause: String, hint: &str| Err(Fault::new(format!("key-exchanges[{index}]"), cause, hint));
            if post_quantum == PostQuantum::Require && !exchange.is_quantum_safe() {
                return find(
                    format!(
                        "{exchange} is classical, and the profile {} requires post-quantum",
                        profile.name()
                    ),
                    "add to it, as in x25519-ke1_mlkem768; or use the profile transition with a reason and an end",
                );
            }
            if exchange.is_quantum_safe() && exchange.category().is_none_or(|category| category.0 < 2) && !lab {
                return find(
                    format!("{exchange} is of NIST category 1, below what any profile accepts"),
                    "add `lab: true` to the policy for a measurement",
                );
            }
            if profile == Profile::Cnsa2 && exchange.category().is_none_or(|category| category.0 < 5) {
                return find(
                    format!("CNSA 2.0 does not accept {exchange}"),
                    "mlkem1024, and ecp384-ke1_mlkem1024 while migrating, are accepted",
                );
            }
            if profile == Profile::Classical && exchange.is_quantum_safe() {
                return find(
                    format!("{exchange} is post-quantum, and the profile classical is the baseline without"),
                    "leave it out, or use another profile",
                );
            }
        }
        if profile == Profile::Transition && !self.key_exchanges.iter().any(KeyExchange::is_quantum_safe) {
            let cause = "leaves nothing post-quantum to move to";
            let hint = "add x25519-ke1_mlkem768 in addition to what must pass for now";
            return Err(Fault::new("key-exchanges", cause, hint));
        }
        if profile == Profile::Cnsa2 {
            let weak = |algorithm: &&IkeAlgorithm| !algorithm.to_string().contains("aes256");
            if let Some(cipher) = self.ciphers.iter().find(weak) {
                let cause = format!("CNSA 2.0 does not accept {cipher}");
                return Err(Fault::new("ciphers", cause, "use aes256gcm16"));
            }
            let weak = |algorithm: &&IkeAlgorithm| algorithm.to_string().ends_with("sha256");
            if let Some(weak) = self.prfs.iter().chain(&self.integrity).find(weak) {
                let cause = format!("CNSA 2.0 does not accept {weak}");
                return Err(Fault::new("prfs", cause, "use prfsha384 and sha384"));
            }
        }
        if self.authentication == IkeAuthentication::PostQuantum
            && let Some(code) = self
                .signatures
                .iter()
                .find(|code| !policy::quantum_safe_signature(**code))
        {
            let cause = format!("{code} is classical, and `authentication: post-quantum` does not accept it");
            let hint = "leave it out, or write `authentication: classical-accepted`";
            return Err(Fault::new("signatures", cause, hint));
        }
        Ok(())
    }
}

fn signatures(profile: Profile, authentication: IkeAuthentication) -> Vec<SignatureScheme> {
    let (post_quantum, classical): (&[_], &[_]) = match profile {
        Profile::Cnsa2 => (&[SignatureScheme::MLDSA87], &[SignatureScheme::ECDSA_SECP384R1_SHA384]),
        Profile::Classical => (
            &[],
            &[
                SignatureScheme::ECDSA_SECP256R1_SHA256,
                SignatureScheme::ECDSA_SECP384R1_SHA384,
                SignatureScheme::ED25519,
            ],
        ),
        Profile::Hybrid | Profile::Transition => (
            &[SignatureScheme::MLDSA65, SignatureScheme::MLDSA87],
            &[
                SignatureScheme::ECDSA_SECP256R1_SHA256,
                SignatureScheme::ECDSA_SECP384R1_SHA384,
                SignatureScheme::ED25519,
            ],
        ),
    };
    match authentication {
        IkeAuthentication::PostQuantum if post_quantum.is_empty() => vec![SignatureScheme::MLDSA65],
        IkeAuthentication::PostQuantum => post_quantum.to_vec(),
        IkeAuthentication::ClassicalAccepted => [post_quantum, classical].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_whole() {
        for (profile, exchanges) in [
            (Profile::Hybrid, 1),
            (Profile::Cnsa2, 2),
            (Profile::Transition, 4),
            (Profile::Classical, 3),
        ] {
            let policy = IpsecPolicy::of(profile);
            assert_eq!(policy.key_exchanges.len(), exchanges, "{profile:?}");
            let single = [&policy.ciphers, &policy.prfs, &policy.integrity];
            assert!(single.iter().all(|list| list.len() == 1), "{profile:?}");
            assert!(!policy.signatures.is_empty(), "{profile:?}");
        }
    }
}
