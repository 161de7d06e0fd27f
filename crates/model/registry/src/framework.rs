//! Frameworks that ask for post-quantum cryptography: their demands and deadlines.
//!
//! None of these texts is of 3GPP or O-RAN, and none of them was read here itself: editions,
//! algorithms and dates are as pages about the documents give them (second hand, in the words of
//! `docs/interfaces`).

use serde::Serialize;

use crate::Category;

/// The part of a link that a framework is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// Key exchange, which harvest now, decrypt later depends on.
    KeyExchange,
    /// Authentication of the ends.
    Signature,
}

/// Algorithms that a remedy brings in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Means {
    /// A classical key exchange and ML-KEM-768 together: X25519MLKEM768, or an additional key
    /// exchange of IKE or SSH.
    HybridMlKem768,
    /// ML-DSA-65 alone.
    MlDsa65,
}

/// Algorithms of a key exchange, or of a signature with its certificates, as frameworks judge them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strength<'a> {
    /// The name of one of them, in any spelling.
    pub name: &'a str,
    /// Its NIST category; none of a classical one, and of one that NIST did not choose.
    pub category: Option<Category>,
    /// True if a classical algorithm takes part as well.
    pub is_hybrid: bool,
}

impl Means {
    const fn strength(self) -> (Subject, Strength<'static>) {
        let (subject, name) = match self {
            Self::HybridMlKem768 => (Subject::KeyExchange, "X25519MLKEM768"),
            Self::MlDsa65 => (Subject::Signature, "ML-DSA-65"),
        };
        let strength = Strength {
            name,
            category: Some(Category(3)),
            is_hybrid: matches!(self, Self::HybridMlKem768),
        };
        (subject, strength)
    }
}

/// A document that operators are held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Framework {
    /// Its name in options.
    pub key: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The edition that the rest is of.
    pub edition: &'static str,
    key_exchange: &'static str,
    signature: &'static str,
    /// Places in the document, for key exchanges and for signatures.
    places: [&'static str; 2],
    /// The only algorithms of both subjects, where it names some.
    only: Option<[&'static str; 2]>,
    /// True where it asks for a classical algorithm next to a post-quantum one.
    hybrid: bool,
}

impl Framework {
    /// Its demand on key exchanges, or on signatures.
    pub const fn asks(&self, subject: Subject) -> &'static str {
        match subject {
            Subject::KeyExchange => self.key_exchange,
            Subject::Signature => self.signature,
        }
    }

    /// The part of the document that says so.
    pub const fn place(&self, subject: Subject) -> &'static str {
        match subject {
            Subject::KeyExchange => self.places[0],
            Subject::Signature => self.places[1],
        }
    }

    /// True where these algorithms are what it asks for.
    #[must_use]
    pub fn is_met_by(&self, means: Means) -> bool {
        let (subject, strength) = means.strength();
        self.accepts(subject, strength)
    }

    /// True where this algorithm is what it asks for of the subject.
    #[must_use]
    pub fn accepts(&self, subject: Subject, strength: Strength<'_>) -> bool {
        let plain = |name: &str| name.to_ascii_lowercase().replace(['-', '_', ' '], "");
        let only = self.only.map(|[key_exchange, signature]| match subject {
            Subject::KeyExchange => key_exchange,
            Subject::Signature => signature,
        });
        let is_named = only.is_none_or(|only| plain(strength.name).contains(only));
        strength.category.is_some() && is_named && (strength.is_hybrid || !self.hybrid)
    }
}

/// A demand of a framework that is not met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// The framework.
    pub name: &'static str,
    /// Its edition.
    pub edition: &'static str,
    /// The part of it that says so.
    pub place: &'static str,
    /// Its demand and its deadline.
    pub asks: &'static str,
}

/// The demand of each framework on key exchanges, or on signatures.
pub fn asked(subject: Subject) -> impl Iterator<Item = Asked> {
    FRAMEWORKS.iter().map(move |framework| Asked {
        name: framework.name,
        edition: framework.edition,
        place: framework.place(subject),
        asks: framework.asks(subject),
    })
}

/// The frameworks that findings name.
pub const FRAMEWORKS: &[Framework] = &[
    Framework {
        key: "cnsa2",
        name: "CNSA 2.0",
        edition: "FAQ 2.1, 2024-12",
        key_exchange: "ML-KEM-1024 (policy `cnsa2`): new acquisitions from 2027, network equipment by 2030",
        signature: "ML-DSA-87 (policy `cnsa2`): new acquisitions from 2027, network equipment by 2030",
        places: ["table of algorithms"; 2],
        only: Some(["mlkem1024", "mldsa87"]),
        hybrid: false,
    },
    Framework {
        key: "nist",
        name: "NIST IR 8547",
        edition: "draft, 2024-11",
        key_exchange: "classical key exchange of 112 bits is deprecated after 2030, any is disallowed after 2035",
        signature: "classical signatures of 112 bits are deprecated after 2030, any are disallowed after 2035",
        places: ["key establishment", "signatures"],
        only: None,
        hybrid: false,
    },
    Framework {
        key: "bsi",
        name: "BSI TR-02102-1",
        edition: "2026-01",
        key_exchange: "classical key agreement alone until the end of 2031 (very high protection: 2030), then hybrid",
        signature: "classical signatures alone until the end of 2035",
        places: ["section 2.1"; 2],
        only: None,
        hybrid: true,
    },
    Framework {
        key: "anssi",
        name: "ANSSI",
        edition: "views, 2023 follow-up",
        key_exchange: "hybrid key establishment is strongly recommended",
        signature: "hybrid signatures are strongly recommended; hash-based ones may stand alone",
        places: ["hybridation"; 2],
        only: None,
        hybrid: true,
    },
    Framework {
        key: "gsma",
        name: "GSMA PQ.03",
        edition: "1.0, 2024-02",
        key_exchange: "guidance for operators: find and replace classical key exchange; dates are national",
        signature: "guidance for operators: find and replace classical signatures; dates are national",
        places: ["sections 3.1, 3.2"; 2],
        only: None,
        hybrid: false,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_framework_says_in_one_line_what_it_asks_of_both_subjects() {
        for framework in FRAMEWORKS {
            for asks in [Subject::KeyExchange, Subject::Signature].map(|subject| framework.asks(subject)) {
                assert!(!asks.is_empty() && asks.len() <= 100 && !asks.contains('\n'), "{asks}");
            }
            let places = [Subject::KeyExchange, Subject::Signature].map(|subject| framework.place(subject));
            assert!(
                places.iter().all(|place| !place.is_empty() && place.len() <= 30),
                "{places:?}"
            );
            let once = FRAMEWORKS.iter().filter(|other| other.name == framework.name).count();
            assert_eq!(once, 1, "{}", framework.name);
        }
    }

    #[test]
    fn what_cnsa_asks_for_is_in_the_table_of_primitives() {
        let cnsa = FRAMEWORKS[0];
        for (subject, name) in [(Subject::KeyExchange, "ML-KEM-1024"), (Subject::Signature, "ML-DSA-87")] {
            assert!(cnsa.asks(subject).starts_with(name));
            // The smaller parameter sets are not what it asks for.
            assert!(
                ![Means::HybridMlKem768, Means::MlDsa65]
                    .into_iter()
                    .any(|means| cnsa.is_met_by(means))
            );
            let note = crate::primitive(name).and_then(|primitive| primitive.note);
            assert!(note.is_some_and(|note| note.contains(cnsa.name)), "{name}");
        }
    }
}
