//! Agreement on a proposal (RFC 7296, section 3.3.6; additional key exchanges as RFC 9370, section
//! 2.2.1).

use bartizan_esp::{SequenceNumbers, Suite};
use bartizan_registry::{TransformKind, transform};
use bartizan_wire::ike::{KeyExchangeMethod, Proposal, Transform};

use crate::key_exchange::key_exchange;
use crate::schedule::Prf;

/// Protocols of proposals (RFC 7296, section 3.3.1).
pub(crate) const IKE: u8 = 1;
pub(crate) const ESP: u8 = 3;

/// Agreed algorithms of an IKE_SA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreed {
    /// One transform of each type.
    pub transforms: Vec<Transform>,
    /// Cipher and integrity of its messages.
    pub suite: Suite,
    /// Derives its keys.
    pub prf: Prf,
    /// The key exchange of IKE_SA_INIT, or of CREATE_CHILD_SA.
    pub first: KeyExchangeMethod,
    /// Those of IKE_INTERMEDIATE or IKE_FOLLOWUP_KE, in their order.
    pub additional: Vec<KeyExchangeMethod>,
    /// True if a post-quantum pre-shared key went into the keys of CHILD_SAs (RFC 8784, RFC 9867).
    pub ppk: bool,
    /// True if each end has signed IKE_SA_INIT of both
    /// (draft-ietf-ipsecme-ikev2-downgrade-prevention).
    pub full_transcript: bool,
}

impl Agreed {
    /// Reads a proposal that has one transform of each type; none if one is not implemented here.
    pub(crate) fn of(chosen: &Proposal) -> Option<Self> {
        let id = |kind: TransformKind| find(chosen, kind.code()).map(|transform| transform.id);
        let first = KeyExchangeMethod(id(TransformKind::KeyExchange)?);
        let additional: Vec<_> = chosen
            .additional_key_exchanges()
            .filter_map(|one| one.key_exchange())
            .collect();
        key_exchange(first)?;
        for method in &additional {
            key_exchange(*method)?;
        }
        Some(Self {
            suite: suite(chosen)?,
            prf: Prf::of(id(TransformKind::PseudoRandomFunction)?)?,
            first,
            additional,
            ppk: false,
            full_transcript: false,
            transforms: chosen.transforms.clone(),
        })
    }
}

fn find(proposal: &Proposal, kind: u8) -> Option<&Transform> {
    proposal.transforms.iter().find(|transform| transform.kind == kind)
}

/// The suite of a proposal that has one transform of each type.
pub(crate) fn suite(chosen: &Proposal) -> Option<Suite> {
    let encryption = find(chosen, TransformKind::Encryption.code())?;
    let integrity = find(chosen, TransformKind::Integrity.code()).map(|transform| transform.id);
    Suite::of(encryption.id, encryption.key_length, integrity).ok()
}

/// The key exchanges of a proposal for a CHILD_SA: that of CREATE_CHILD_SA, if there is one, and
/// the additional ones. None where one is not implemented here, or there are additional ones alone.
pub(crate) fn exchanges(chosen: &Proposal) -> Option<(Option<KeyExchangeMethod>, Vec<KeyExchangeMethod>)> {
    let first = find(chosen, TransformKind::KeyExchange.code());
    let first = first.and_then(|transform| transform.key_exchange());
    let first = first.filter(|method| *method != KeyExchangeMethod::NONE);
    let additional: Vec<_> = chosen
        .additional_key_exchanges()
        .filter_map(|one| one.key_exchange())
        .collect();
    for method in first.iter().chain(&additional) {
        key_exchange(*method)?;
    }
    (first.is_some() || additional.is_empty()).then_some((first, additional))
}

/// The first key exchange that these proposals name for the exchange that they are sent in.
pub(crate) fn preferred(lists: &[Vec<Transform>]) -> Option<KeyExchangeMethod> {
    let of = |transform: &&Transform| transform.kind == Transform::KE && transform.id != KeyExchangeMethod::NONE.0;
    let first = lists.iter().flatten().find(of)?;
    first.key_exchange()
}

/// Proposals of a CHILD_SA as IKE_AUTH has them: it has no key exchange (RFC 7296, section 1.2).
pub(crate) fn without_key_exchanges(lists: &[Vec<Transform>]) -> Vec<Vec<Transform>> {
    let kept = |list: &Vec<Transform>| {
        let kept = list.iter().filter(|transform| transform.key_exchange().is_none());
        kept.copied().collect()
    };
    lists.iter().map(kept).collect()
}

/// Kind of sequence numbers of a CHILD_SA.
pub(crate) fn numbers(chosen: &Proposal) -> SequenceNumbers {
    const KIND: TransformKind = TransformKind::SequenceNumbers;
    let counted = find(chosen, KIND.code()).and_then(|found| transform(KIND, found.id));
    match counted.map(|known| known.name) {
        Some("Partially Transmitted 64-bit Sequential Numbers") => SequenceNumbers::Extended,
        _ => SequenceNumbers::Bits32,
    }
}

/// Our proposals as they are offered, numbered from 1.
pub(crate) fn offer(lists: &[Vec<Transform>], protocol: u8, spi: &[u8]) -> Vec<Proposal> {
    let numbered = lists.iter().zip(1..);
    let proposal = |(transforms, number): (&Vec<Transform>, u8)| Proposal {
        number,
        protocol,
        spi: spi.to_vec(),
        transforms: transforms.clone(),
    };
    numbered.map(proposal).collect()
}

/// The first of the peer's proposals that one of ours allows, with one transform of each type: ours
/// decides which, by its order.
pub(crate) fn choose(offered: &[Proposal], ours: &[Vec<Transform>], protocol: u8) -> Option<Proposal> {
    let candidates = offered.iter().filter(|proposal| proposal.protocol == protocol);
    let mut chosen = candidates.flat_map(|proposal| ours.iter().filter_map(|list| agree(proposal, list)));
    chosen.next()
}

fn agree(proposal: &Proposal, ours: &[Transform]) -> Option<Proposal> {
    let mut kinds: Vec<u8> = proposal
        .transforms
        .iter()
        .chain(ours)
        .map(|transform| transform.kind)
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut transforms = Vec::new();
    for kind in kinds {
        let of = |list: &[Transform]| -> Vec<Transform> {
            let same = list.iter().filter(|transform| transform.kind == kind);
            same.copied().collect()
        };
        let (theirs, ours) = (of(&proposal.transforms), of(ours));
        // A type that one end does not name: NONE, or for integrity none besides an AEAD, must be
        // acceptable to the other.
        let none = |list: &[Transform]| list.is_empty() || list.iter().any(|transform| transform.id == 0);
        match ours.iter().find(|transform| theirs.contains(transform)) {
            Some(both) => transforms.push(*both),
            None if none(&theirs) && none(&ours) && kind != TransformKind::Encryption.code() => {}
            None => return None,
        }
    }
    Some(Proposal {
        number: proposal.number,
        protocol: proposal.protocol,
        spi: proposal.spi.clone(),
        transforms,
    })
}

/// Returns true if a responder's choice is one of the offers: a proposal of that number, with one
/// transform of each of its types.
pub(crate) fn is_of(chosen: &Proposal, offered: &[Proposal]) -> bool {
    let Some(proposal) = offered.iter().find(|proposal| proposal.number == chosen.number) else {
        return false;
    };
    let Some(own) = agree(chosen, &proposal.transforms) else {
        return false;
    };
    let mut kinds: Vec<u8> = chosen.transforms.iter().map(|transform| transform.kind).collect();
    kinds.sort_unstable();
    chosen.protocol == proposal.protocol
        && kinds.windows(2).all(|pair| pair[0] != pair[1])
        && own.transforms.len() == chosen.transforms.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transform(kind: u8, id: u16, key_length: Option<u16>) -> Transform {
        Transform { kind, id, key_length }
    }

    /// AES-GCM-256, SHA-384, x25519, and ML-KEM-768 as first additional key exchange.
    fn hybrid() -> Vec<Transform> {
        vec![
            transform(1, 20, Some(256)),
            transform(2, 6, None),
            transform(4, 31, None),
            transform(6, 36, None),
        ]
    }

    #[test]
    fn the_same_transforms_are_agreed_on_whatever_their_order() {
        let mut reversed = hybrid();
        reversed.reverse();
        let chosen = choose(&offer(&[reversed], IKE, &[]), &[hybrid()], IKE).unwrap();
        assert_eq!(chosen.transforms, hybrid());
        let agreed = Agreed::of(&chosen).unwrap();
        assert_eq!((agreed.first.0, agreed.additional), (31, vec![KeyExchangeMethod(36)]));
    }

    #[test]
    fn an_additional_key_exchange_is_not_left_out_unless_both_allow_that() {
        let classical = hybrid()[..3].to_vec();
        let offered = offer(std::slice::from_ref(&classical), IKE, &[]);
        assert_eq!(choose(&offered, &[hybrid()], IKE), None);
        // An initiator that also offers NONE allows it (RFC 9370, section 2.2.2).
        let mut optional = hybrid();
        optional.push(transform(6, 0, None));
        let chosen = choose(&offered, &[optional], IKE).unwrap();
        assert_eq!(chosen.transforms, classical);
    }

    #[test]
    fn an_answer_that_was_not_offered_is_recognised() {
        let offered = offer(&[hybrid()], IKE, &[]);
        let answer = |transforms: Vec<Transform>| Proposal {
            transforms,
            ..offered[0].clone()
        };
        assert!(is_of(&offered[0], &offered));
        // Without the post-quantum exchange, with a weaker one, with one twice, with another number.
        assert!(!is_of(&answer(hybrid()[..3].to_vec()), &offered));
        let mut weaker = hybrid();
        weaker[3].id = 35;
        assert!(!is_of(&answer(weaker), &offered));
        let mut twice = hybrid();
        twice.push(twice[2]);
        assert!(!is_of(&answer(twice), &offered));
        let other = Proposal {
            number: 2,
            ..offered[0].clone()
        };
        assert!(!is_of(&other, &offered));
    }
}
