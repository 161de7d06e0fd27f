//! Proposals in strongSwan's words: `aes256gcm16-prfsha384-x25519-ke1_mlkem768`.

use std::fmt;

use bartizan_deployment::{IkeAlgorithm, IpsecPolicy, KeyExchange};
use bartizan_registry::TransformKind;

/// Additional key exchanges that a proposal may have (RFC 9370, section 2.1).
const ADDITIONAL: usize = 7;

/// Longer texts are no proposal: strongSwan's own default has some 400 characters.
const LONGEST: usize = 4096;

/// One alternative for a key exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// This method.
    Method(IkeAlgorithm),
    /// It may be left out: `ke1_none`.
    Nothing,
}

/// A proposal as it is read. Of each kind the peer chooses one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    text: String,
    /// Ciphers.
    pub ciphers: Vec<IkeAlgorithm>,
    /// Integrity algorithms.
    pub integrity: Vec<IkeAlgorithm>,
    /// Pseudo-random functions.
    pub prfs: Vec<IkeAlgorithm>,
    /// The first key exchange, then the additional ones; empty where the proposal has none.
    pub key_exchanges: [Vec<Choice>; ADDITIONAL + 1],
    /// Words that no algorithm of the registry has.
    pub unknown: Vec<String>,
    /// True for `default`, the strongSwan version's own proposal.
    pub is_default: bool,
}

impl Proposal {
    /// Reads a proposal. Nothing is refused: what is not known is kept as [`Proposal::unknown`].
    pub fn parse(text: &str) -> Self {
        let text: String = text.trim().chars().take(LONGEST).collect();
        let mut proposal = Self {
            ciphers: Vec::new(),
            integrity: Vec::new(),
            prfs: Vec::new(),
            key_exchanges: Default::default(),
            unknown: Vec::new(),
            is_default: text.eq_ignore_ascii_case("default"),
            text,
        };
        if !proposal.is_default {
            let text = proposal.text.clone();
            for word in text.split('-').filter(|word| !word.is_empty()) {
                proposal.take(&word.to_ascii_lowercase());
            }
        }
        proposal
    }

    fn take(&mut self, word: &str) {
        if let Some((number, method)) = additional(word) {
            if method == "none" {
                self.key_exchanges[number].push(Choice::Nothing);
            } else if let Some(method) = IkeAlgorithm::named(TransformKind::KeyExchange, method) {
                self.key_exchanges[number].push(Choice::Method(method));
            } else {
                self.unknown.push(word.to_owned());
            }
            return;
        }
        // Sequence numbers protect nothing that a linter of key exchanges has to say.
        if IkeAlgorithm::named(TransformKind::SequenceNumbers, word).is_some() {
            return;
        }
        if let Some(method) = IkeAlgorithm::named(TransformKind::KeyExchange, word) {
            self.key_exchanges[0].push(Choice::Method(method));
            return;
        }
        for (kind, found) in [
            (TransformKind::Encryption, &mut self.ciphers),
            (TransformKind::PseudoRandomFunction, &mut self.prfs),
            (TransformKind::Integrity, &mut self.integrity),
        ] {
            if let Some(algorithm) = IkeAlgorithm::named(kind, word) {
                found.push(algorithm);
                return;
            }
        }
        self.unknown.push(word.to_owned());
    }

    /// Returns true if it has a key exchange at all. An ESP proposal without one takes its keys
    /// from the IKE_SA, at every rekey too.
    #[must_use]
    pub fn has_key_exchange(&self) -> bool {
        self.key_exchanges.iter().any(|choices| !choices.is_empty())
    }

    /// The weakest that a peer can choose from it: none where each choice holds a quantum-safe method, else the classical methods
    /// that remain.
    pub fn classical_choice(&self) -> Option<Vec<IkeAlgorithm>> {
        if !self.has_key_exchange() {
            return None;
        }
        let mut chosen = Vec::new();
        for choices in self.key_exchanges.iter().filter(|choices| !choices.is_empty()) {
            let classical = choices.iter().find(|choice| match choice {
                Choice::Method(method) => !method.is_quantum_safe(),
                Choice::Nothing => true,
            })?;
            if let Choice::Method(method) = classical {
                chosen.push(*method);
            }
        }
        Some(chosen)
    }

    /// Returns true if a peer can choose a quantum-safe method from it.
    #[must_use]
    pub fn offers_quantum_safe(&self) -> bool {
        self.methods().any(|method| method.is_quantum_safe())
    }

    /// Every method in it.
    pub fn methods(&self) -> impl Iterator<Item = IkeAlgorithm> + '_ {
        self.key_exchanges.iter().flatten().filter_map(|choice| match choice {
            Choice::Method(method) => Some(*method),
            Choice::Nothing => None,
        })
    }
}

impl fmt::Display for Proposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// The number and the method of `ke1_mlkem768`.
fn additional(word: &str) -> Option<(usize, &str)> {
    let (number, method) = word.strip_prefix("ke")?.split_once('_')?;
    let number: usize = number.parse().ok()?;
    (1..=ADDITIONAL).contains(&number).then_some((number, method))
}

/// The IKE proposals of a policy, most wanted first: one for each key exchange and cipher, so that nothing can be combined that
/// the policy does not name.
pub fn ike(policy: &IpsecPolicy) -> Vec<String> {
    each(policy, |cipher, exchange| {
        let mut words = vec![cipher.to_string()];
        if !cipher.known().is_aead() {
            words.extend(policy.integrity.iter().map(ToString::to_string));
        }
        words.extend(policy.prfs.iter().map(ToString::to_string));
        words.push(exchange.to_string());
        words
    })
}

/// The ESP proposals of a policy. Each has the key exchange: with it every rekey is as fresh as the first set-up.
pub fn esp(policy: &IpsecPolicy, extended_sequence_numbers: bool) -> Vec<String> {
    each(policy, |cipher, exchange| {
        let mut words = vec![cipher.to_string()];
        if !cipher.known().is_aead() {
            words.extend(policy.integrity.iter().map(ToString::to_string));
        }
        words.push(exchange.to_string());
        words.push(if extended_sequence_numbers { "esn" } else { "noesn" }.to_owned());
        words
    })
}

fn each(policy: &IpsecPolicy, words: impl Fn(&IkeAlgorithm, &KeyExchange) -> Vec<String>) -> Vec<String> {
    let exchanges = policy.key_exchanges.iter();
    exchanges
        .flat_map(|exchange| policy.ciphers.iter().map(move |cipher| (cipher, exchange)))
        .map(|(cipher, exchange)| words(cipher, exchange).join("-"))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use bartizan_deployment::Profile;

    #[test]
    fn a_policy_becomes_proposals_without_a_mixture() {
        let hybrid = IpsecPolicy::of(Profile::Hybrid);
        assert_eq!(ike(&hybrid), ["aes256gcm16-prfsha384-x25519-ke1_mlkem768"]);
        assert_eq!(esp(&hybrid, true), ["aes256gcm16-x25519-ke1_mlkem768-esn"]);
        let transition = IpsecPolicy::of(Profile::Transition);
        assert_eq!(
            esp(&transition, false),
            [
                "aes256gcm16-x25519-ke1_mlkem768-noesn",
                "aes256gcm16-x25519-noesn",
                "aes256gcm16-ecp256-noesn",
                "aes256gcm16-ecp384-noesn"
            ]
        );
        let mut without_aead = hybrid;
        without_aead.ciphers = vec![IkeAlgorithm::named(TransformKind::Encryption, "aes128").unwrap()];
        assert_eq!(ike(&without_aead), ["aes128-sha384-prfsha384-x25519-ke1_mlkem768"]);
        assert_eq!(esp(&without_aead, true), ["aes128-sha384-x25519-ke1_mlkem768-esn"]);
    }

    #[test]
    fn the_weakest_choice_of_a_proposal_is_found() {
        for (text, classical) in [
            ("aes256gcm16-prfsha384-x25519-ke1_mlkem768", None),
            ("aes256gcm16-prfsha384-mlkem768", None),
            ("aes256gcm16-prfsha384-x25519", Some("x25519")),
            ("aes256gcm16-prfsha384-x25519-mlkem768", Some("x25519")),
            ("aes256gcm16-x25519-ke1_mlkem768-ke1_none", Some("x25519")),
            ("aes256gcm16-x25519-ke1_ecp384", Some("x25519 ecp384")),
            ("aes256gcm16-x25519-ke1_mlkem768-ke2_none", None),
            ("aes256gcm16", None),
        ] {
            let found = Proposal::parse(text).classical_choice();
            let found = found.map(|methods| methods.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
            assert_eq!(found.as_deref(), classical, "{text}");
        }
        assert!(Proposal::parse("Default").is_default);
        assert_eq!(
            Proposal::parse("aes256gcm16-hqc128-ke1_bike1").unknown,
            ["hqc128", "ke1_bike1"]
        );
        assert!(!Proposal::parse("aes256-sha256-esn").has_key_exchange());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(?s).{0,200}") {
            let _ = Proposal::parse(&text).classical_choice();
        }

        #[test]
        fn words_of_proposals_do_not_either(words in proptest::collection::vec("(ke[0-9]{1,3}_)?(none|x25519|mlkem768|aes256|sha1|esn|[a-z]{0,4})", 0..40)) {
            let proposal = Proposal::parse(&words.join("-"));
            prop_assert!(proposal.classical_choice().is_none() || proposal.has_key_exchange());
        }
    }
}
