use bartizan_registry::{GROUPS, group};
use proptest::prelude::*;
use rustls::PeerMisbehaved;

use super::*;

#[test]
fn every_group_agrees_on_a_secret_of_the_registered_sizes() {
    for implementation in USABLE {
        let known = group(NamedGroup(u16::from(implementation.name()))).unwrap();
        let client = implementation.start().unwrap();
        assert_eq!(
            client.pub_key().len(),
            usize::from(known.client_share),
            "{}",
            known.name
        );
        assert_eq!(client.group(), implementation.name());
        let server = implementation.start_and_complete(client.pub_key()).unwrap();
        assert_eq!(server.pub_key.len(), usize::from(known.server_share), "{}", known.name);
        assert_eq!(server.group, implementation.name());
        let secret = client.complete(&server.pub_key).unwrap();
        assert_eq!(secret.secret_bytes().len(), usize::from(known.secret), "{}", known.name);
        assert_eq!(secret.secret_bytes(), server.secret.secret_bytes(), "{}", known.name);
    }
}

#[test]
fn what_the_registry_knows_and_nobody_implements_is_not_offered() {
    let usable = GROUPS
        .iter()
        .filter(|known| implementation(known.code).is_some())
        .count();
    assert_eq!(usable, USABLE.len());
    assert!(implementation(NamedGroup(0x0100)).is_none());
    assert!(implementation(NamedGroup::KYBER512).is_none());
}

#[test]
fn a_hybrid_secret_is_the_classical_one_then_the_post_quantum_one() {
    // The same shares given to the parts must give the same secret: ECDH is deterministic once both shares are fixed.
    let hybrid = implementation(NamedGroup::SECP384R1MLKEM1024).unwrap();
    let ours = hybrid.start().unwrap();
    let theirs = kx_group::SECP384R1.start().unwrap();
    let (_, key) = ours.pub_key().split_at(97);
    let kem = kx_group::MLKEM1024.start_and_complete(key).unwrap();
    let our_point = ours.pub_key()[..97].to_vec();
    let share = [theirs.pub_key(), &kem.pub_key].concat();
    let secret = ours.complete(&share).unwrap();
    let classical = theirs.complete(&our_point).unwrap();
    assert_eq!(secret.secret_bytes()[..48], *classical.secret_bytes());
    assert_eq!(secret.secret_bytes()[48..], *kem.secret.secret_bytes());
}

fn own_groups() -> impl Strategy<Value = &'static dyn SupportedKxGroup> {
    prop::sample::select(vec![
        implementation(NamedGroup::MLKEM512).unwrap(),
        implementation(NamedGroup::SECP384R1MLKEM1024).unwrap(),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_as_a_share_are_refused_or_used_and_never_panic(
        group in own_groups(),
        share in prop::collection::vec(any::<u8>(), 0..1800),
    ) {
        let _ = group.start_and_complete(&share);
        let _ = group.start().unwrap().complete(&share);
    }

    #[test]
    fn a_share_of_another_length_is_an_invalid_key_share(group in own_groups(), cut in 1usize..200, grow in any::<bool>()) {
        let client = group.start().unwrap();
        let mut share = client.pub_key().to_vec();
        if grow { share.extend(std::iter::repeat_n(0, cut)) } else { share.truncate(share.len() - cut) }
        let invalid = rustls::Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);
        prop_assert_eq!(group.start_and_complete(&share).err(), Some(invalid.clone()));
        let server = group.start_and_complete(client.pub_key()).unwrap();
        let mut share = server.pub_key;
        if grow { share.extend(std::iter::repeat_n(0, cut)) } else { share.truncate(share.len() - cut) }
        prop_assert_eq!(client.complete(&share).err(), Some(invalid));
    }
}
