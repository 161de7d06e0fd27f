//! IKEv2 and ESP algorithms as a policy names them: strongSwan's keywords, which operators know.

use std::fmt;

use bartizan_registry::{
    Category, Safety, TRANSFORMS, Transform, TransformKind, primitive, transform, transform_named,
};

use crate::error::Fault;
use crate::nearest::nearest;
use crate::policy::listed;
use crate::schema::{Ciphers, Integrity, KeyExchanges, Prfs, Text};

/// Key exchanges that a policy may name: those of TS 33.310, of RFC 8031 and of RFC 9370, and FrodoKEM, which unreleased
/// strongSwan has. Groups below 128 bits of strength are left out. The last are those that the engine of Bartizan has for research.
const KEY_EXCHANGES: [&str; 26] = [
    "x25519",
    "x448",
    "ecp256",
    "ecp384",
    "ecp521",
    "modp3072",
    "modp4096",
    "modp6144",
    "modp8192",
    "mlkem512",
    "mlkem768",
    "mlkem1024",
    "frodoa1",
    "frodoa3",
    "frodoa5",
    "frodos1",
    "frodos3",
    "frodos5",
    "efrodo640",
    "efrodo976",
    "efrodo1344",
    "bike1r4",
    "bike3r4",
    "hqc128r4",
    "hqc192r4",
    "hqc256r4",
];

/// Ciphers that a policy may name: TS 33.210 and the ones of the published measurements. None that does not encrypt.
pub(crate) const CIPHERS: [&str; 11] = [
    "aes256gcm16",
    "aes192gcm16",
    "aes128gcm16",
    "aes256ccm16",
    "aes192ccm16",
    "aes128ccm16",
    "chacha20poly1305",
    "aes256ctr",
    "aes128ctr",
    "aes256",
    "aes128",
];

/// Pseudo-random functions that a policy may name: TS 33.310 excludes SHA-1 and what is older.
pub(crate) const PRFS: [&str; 3] = ["prfsha384", "prfsha512", "prfsha256"];

/// Integrity algorithms that a policy may name, for ciphers that do not authenticate.
pub(crate) const INTEGRITY: [&str; 3] = ["sha384", "sha512", "sha256"];

/// Hybrids that people have a name for.
const USUAL_HYBRIDS: [&str; 3] = ["x25519-ke1_mlkem768", "ecp256-ke1_mlkem768", "ecp384-ke1_mlkem1024"];

/// The usual hybrids, and the key exchanges that others are put together from.
pub(crate) fn key_exchange_names() -> impl Iterator<Item = &'static str> {
    USUAL_HYBRIDS.into_iter().chain(KEY_EXCHANGES)
}

/// Additional key exchanges that one proposal may hold (RFC 9370, section 2.1).
const MOST_ADDITIONAL: usize = 7;

/// One algorithm of an IKEv2 proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IkeAlgorithm {
    kind: TransformKind,
    id: u16,
    /// Bits of key where the proposal says them.
    key_bits: Option<u16>,
}

impl IkeAlgorithm {
    /// The algorithm of this kind that strongSwan knows by this keyword.
    pub fn named(kind: TransformKind, keyword: &str) -> Option<Self> {
        if kind == TransformKind::Encryption {
            let keyed = TRANSFORMS.iter().filter(|known| known.kind == kind).find_map(|known| {
                let bits = [128, 192, 256].into_iter();
                let mut bits = bits.filter(|bits| {
                    known
                        .strongswan_with_key(*bits)
                        .is_some_and(|name| name.eq_ignore_ascii_case(keyword))
                });
                bits.next().map(|bits| (known, bits))
            });
            if let Some((known, bits)) = keyed {
                return Some(Self {
                    kind,
                    id: known.id,
                    key_bits: Some(bits),
                });
            }
        }
        transform_named(kind, keyword).map(|known| Self {
            kind,
            id: known.id,
            key_bits: None,
        })
    }

    /// Transform type of the algorithm.
    pub fn kind(&self) -> TransformKind {
        self.kind
    }

    /// Transform identifier on the wire.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// Bits of key, where the proposal says them.
    pub fn key_bits(&self) -> Option<u16> {
        self.key_bits
    }

    /// Registry entry of the algorithm.
    pub fn known(&self) -> &'static Transform {
        // It was found there when it was made, and the registry is constant.
        transform(self.kind, self.id).unwrap_or(&TRANSFORMS[0])
    }

    /// Returns true if recorded traffic stays confidential against a later quantum computer.
    #[must_use]
    pub fn is_quantum_safe(&self) -> bool {
        self.known().recording == Some(Safety::QuantumSafe)
    }
}

impl fmt::Display for IkeAlgorithm {
    /// strongSwan's keyword.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known();
        match self.key_bits.and_then(|bits| known.strongswan_with_key(bits)) {
            Some(keyword) => f.pad(&keyword),
            None => f.pad(known.strongswan.unwrap_or(known.name)),
        }
    }
}

/// A first key exchange, in IKE_SA_INIT or CREATE_CHILD_SA, and those that come in addition to it (RFC 9370), in order. All of
/// them are done: the keys are as strong as the strongest.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyExchange(Vec<IkeAlgorithm>);

impl KeyExchange {
    /// The key exchange in strongSwan's words: `mlkem768`, `x25519-ke1_mlkem768`.
    pub fn named(text: &str) -> Option<Self> {
        Self::parse(text).ok()
    }

    /// The first key exchange, and the additional ones behind it. Never empty.
    pub fn methods(&self) -> &[IkeAlgorithm] {
        &self.0
    }

    /// The first: the one that IKE_SA_INIT carries, which cannot be fragmented by IKE.
    pub fn first(&self) -> IkeAlgorithm {
        self.0[0]
    }

    /// Returns true if at least one of its methods is quantum-safe.
    #[must_use]
    pub fn is_quantum_safe(&self) -> bool {
        self.0.iter().any(IkeAlgorithm::is_quantum_safe)
    }

    /// The NIST category of its strongest post-quantum method.
    pub fn category(&self) -> Option<Category> {
        let safe = self.0.iter().filter(|method| method.is_quantum_safe());
        safe.filter_map(|method| method.known().category)
            .max_by_key(|category| category.0)
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        let mut methods: Vec<IkeAlgorithm> = Vec::new();
        for (index, part) in text.split('-').enumerate() {
            let name = match index {
                0 => part,
                index => part
                    .strip_prefix(&format!("ke{index}_"))
                    .ok_or_else(|| unknown_key_exchange(text))?,
            };
            let known = KEY_EXCHANGES.iter().any(|known| known.eq_ignore_ascii_case(name));
            let method = IkeAlgorithm::named(TransformKind::KeyExchange, name)
                .filter(|_| known)
                .ok_or_else(|| unknown_key_exchange(text))?;
            if methods.contains(&method) {
                let hint = "an additional key exchange is worth something where it is of another kind";
                return Err(Fault::new("", format!("`{text}` exchanges {method} twice"), hint));
            }
            if index > MOST_ADDITIONAL {
                let hint = "RFC 9370 knows seven additional key exchanges";
                return Err(Fault::new("", format!("`{text}` is too long"), hint));
            }
            methods.push(method);
        }
        Ok(Self(methods))
    }
}

impl fmt::Display for KeyExchange {
    /// strongSwan's words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let additional = self.0.iter().enumerate().skip(1);
        let additional: String = additional
            .map(|(index, method)| format!("-ke{index}_{method}"))
            .collect();
        f.pad(&format!("{}{additional}", self.0[0]))
    }
}

fn unknown_key_exchange(text: &str) -> Fault {
    let shown: String = text.chars().take(64).collect();
    let hint = if let Some(known) = primitive(text) {
        format!(
            "{} has no number in IKEv2; the post-quantum ones are mlkem768 and mlkem1024",
            known.name
        )
    } else if let Some(meant) = nearest(text, key_exchange_names()) {
        format!("did you mean {meant}?")
    } else {
        "write the first, then the others: x25519-ke1_mlkem768; or one alone: mlkem768".to_owned()
    };
    Fault::new("", format!("`{shown}` is not a key exchange of IKEv2"), hint)
}

/// The key exchanges of a list, each once; at least one.
pub(super) fn key_exchanges(names: &[Text<KeyExchanges>]) -> Result<Vec<KeyExchange>, Fault> {
    listed(names, "key-exchanges", KeyExchange::parse)
}

/// The ciphers of a list.
pub(super) fn ciphers(names: &[Text<Ciphers>]) -> Result<Vec<IkeAlgorithm>, Fault> {
    listed(names, "ciphers", |name| {
        one_of(name, TransformKind::Encryption, &CIPHERS)
    })
}

/// The pseudo-random functions of a list.
pub(super) fn prfs(names: &[Text<Prfs>]) -> Result<Vec<IkeAlgorithm>, Fault> {
    listed(names, "prfs", |name| {
        one_of(name, TransformKind::PseudoRandomFunction, &PRFS)
    })
}

/// The integrity algorithms of a list.
pub(super) fn integrity(names: &[Text<Integrity>]) -> Result<Vec<IkeAlgorithm>, Fault> {
    listed(names, "integrity", |name| {
        one_of(name, TransformKind::Integrity, &INTEGRITY)
    })
}

fn one_of(name: &str, kind: TransformKind, usable: &[&'static str]) -> Result<IkeAlgorithm, Fault> {
    let listed = usable.iter().any(|known| known.eq_ignore_ascii_case(name));
    if let Some(found) = IkeAlgorithm::named(kind, name) {
        if listed {
            return Ok(found);
        }
        let why = found.known().note.map(|note| format!(" ({note})")).unwrap_or_default();
        let cause = format!("`{name}` is recognised in captures and cannot be used{why}");
        return Err(Fault::new("", cause, format!("one of {}", usable.join(", "))));
    }
    let shown: String = name.chars().take(64).collect();
    let hint = match nearest(name, usable.iter().copied()) {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("one of {}", usable.join(", ")),
    };
    Err(Fault::new("", format!("`{shown}` is not known"), hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_usable_name_is_read_back() {
        for name in KEY_EXCHANGES {
            assert_eq!(KeyExchange::named(name).unwrap().to_string(), name);
        }
        for (kind, names) in [
            (TransformKind::Encryption, &CIPHERS[..]),
            (TransformKind::PseudoRandomFunction, &PRFS),
            (TransformKind::Integrity, &INTEGRITY),
        ] {
            for name in names {
                assert_eq!(IkeAlgorithm::named(kind, name).unwrap().to_string(), *name);
            }
        }
    }

    #[test]
    fn a_hybrid_is_as_strong_as_its_strongest_and_begins_with_its_first() {
        let hybrid = KeyExchange::named("x25519-ke1_mlkem768").unwrap();
        assert!(hybrid.is_quantum_safe());
        assert_eq!(hybrid.category(), Some(Category(3)));
        assert_eq!(hybrid.first().to_string(), "x25519");
        assert_eq!(hybrid.to_string(), "x25519-ke1_mlkem768");
        assert!(!KeyExchange::named("x25519").unwrap().is_quantum_safe());
        assert!(!KeyExchange::named("x25519-ke1_ecp256").unwrap().is_quantum_safe());
        for wrong in [
            "",
            "x25519-mlkem768",
            "x25519-ke2_mlkem768",
            "x25519-ke1_",
            "ke1_mlkem768",
            "x25519-ke1_x25519",
        ] {
            assert_eq!(KeyExchange::named(wrong), None, "{wrong}");
        }
    }
}
