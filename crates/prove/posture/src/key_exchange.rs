//! Class of a set of IKEv2 key exchange methods together.

use bartizan_registry::{Safety, TRANSFORMS, TransformKind};
use bartizan_wire::ike::KeyExchangeMethod;

bartizan_registry::named! {
    /// Methods whose secrets are mixed: one that holds is enough (RFC 9370, section 4).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum KeyExchangeClass, name {
        /// Post-quantum methods only.
        PostQuantum = "post-quantum",
        /// A post-quantum method together with a classical one, or with an unknown one.
        Hybrid = "hybrid",
        /// Classical methods only.
        Classical = "classical",
        /// No post-quantum method, and one that the registry does not know.
        Unknown = "unknown",
    }
}

impl KeyExchangeClass {
    /// The class of these methods; none where there are none.
    pub fn of(methods: impl IntoIterator<Item = KeyExchangeMethod>) -> Option<Self> {
        let (mut safe, mut broken, mut unknown) = (false, false, false);
        for method in methods {
            match method.safety() {
                Some(Safety::QuantumSafe) => safe = true,
                Some(Safety::Vulnerable) => broken = true,
                None => unknown = true,
            }
        }
        Some(match (safe, broken, unknown) {
            (false, false, false) => return None,
            (true, false, false) => Self::PostQuantum,
            (true, _, _) => Self::Hybrid,
            (false, _, true) => Self::Unknown,
            (false, true, false) => Self::Classical,
        })
    }
}

/// Methods that fit into an encrypted exchange by its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// Less than any post-quantum method needs.
    NoPostQuantum,
    /// More than any classical method fills.
    PostQuantum,
    /// Either would fit.
    Either,
}

impl Room {
    /// From the bytes in request and response.
    pub(crate) fn of((request, response): (u64, u64)) -> Self {
        let fits_post_quantum =
            sizes(Safety::QuantumSafe).any(|(initiator, responder)| request >= initiator && response >= responder);
        let classical = sizes(Safety::Vulnerable)
            .map(|(initiator, responder)| initiator.max(responder))
            .max();
        if !fits_post_quantum {
            Self::NoPostQuantum
        } else if classical.is_some_and(|most| request.min(response) > most) {
            Self::PostQuantum
        } else {
            Self::Either
        }
    }
}

/// Sizes of the key exchange data of each method of that safety, from the initiator and from the responder; without those whose data no payload has room for.
fn sizes(safety: Safety) -> impl Iterator<Item = (u64, u64)> {
    TRANSFORMS
        .iter()
        .filter(move |known| known.kind == TransformKind::KeyExchange && known.recording == Some(safety))
        .filter_map(|known| Some((known.initiator?.into(), known.responder?.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_post_quantum_method_makes_a_hybrid_and_an_unknown_one_never_does() {
        let class = |methods: &[u16]| KeyExchangeClass::of(methods.iter().map(|&number| KeyExchangeMethod(number)));
        assert_eq!(class(&[]), None);
        assert_eq!(class(&[36]), Some(KeyExchangeClass::PostQuantum));
        assert_eq!(class(&[31, 36]), Some(KeyExchangeClass::Hybrid));
        assert_eq!(class(&[31, 19]), Some(KeyExchangeClass::Classical));
        assert_eq!(class(&[31, 999]), Some(KeyExchangeClass::Unknown));
        assert_eq!(class(&[999, 37]), Some(KeyExchangeClass::Hybrid));
    }

    #[test]
    fn room_between_ml_kem_512_and_the_largest_classical_method_decides_nothing() {
        assert_eq!(Room::of((799, 2000)), Room::NoPostQuantum);
        assert_eq!(Room::of((2000, 767)), Room::NoPostQuantum);
        assert_eq!(Room::of((800, 768)), Room::Either);
        assert_eq!(Room::of((1024, 1024)), Room::Either);
        assert_eq!(Room::of((1184, 1088)), Room::PostQuantum);
    }
}
