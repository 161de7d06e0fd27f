use proptest::prelude::*;

use super::*;
use crate::Algorithm;

fn passphrase(text: &str) -> Passphrase {
    Passphrase::new(Zeroizing::new(text.to_owned())).unwrap()
}

/// `SEQUENCE { INTEGER 0, SEQUENCE { OID }, OCTET STRING contents }` for an ML-DSA key.
fn ml_dsa_document(algorithm: Algorithm, contents: &[u8]) -> Vec<u8> {
    let last = match algorithm {
        Algorithm::MlDsa44 => 0x11,
        Algorithm::MlDsa65 => 0x12,
        _ => 0x13,
    };
    let oid = [0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, last];
    let parts = [tlv(0x02, &[0]), tlv(0x30, &oid), tlv(0x04, contents)];
    tlv(0x30, &parts.concat())
}

fn tlv(tag: u8, contents: &[u8]) -> Vec<u8> {
    let length = contents.len();
    let header = match length {
        0..=0x7f => vec![tag, length as u8],
        0x80..=0xff => vec![tag, 0x81, length as u8],
        _ => vec![tag, 0x82, (length >> 8) as u8, length as u8],
    };
    [header, contents.to_vec()].concat()
}

fn expanded(algorithm: Algorithm, seed: &[u8; 32]) -> Vec<u8> {
    use aws_lc_rs::encoding::AsRawBytes;
    let Kind::MlDsa(signing) = kind(algorithm) else {
        unreachable!("only called for ML-DSA")
    };
    let pair = PqdsaKeyPair::from_seed(signing, seed).unwrap();
    pair.private_key().as_raw_bytes().unwrap().as_ref().to_vec()
}

const ML_DSA: [Algorithm; 3] = [Algorithm::MlDsa44, Algorithm::MlDsa65, Algorithm::MlDsa87];

#[test]
fn a_generated_key_is_read_back_from_its_own_pem() {
    for algorithm in Algorithm::ALL {
        let key = PrivateKey::generate(algorithm).unwrap();
        let read = PrivateKey::from_pem(key.to_pem().as_bytes(), None).unwrap();
        assert_eq!(read.public_key(), key.public_key(), "{algorithm}");
        assert_eq!(read.to_pkcs8(), key.to_pkcs8(), "{algorithm}");
    }
}

#[test]
fn an_ml_dsa_key_is_written_as_the_54_octets_of_its_seed() {
    for algorithm in ML_DSA {
        let key = PrivateKey::generate(algorithm).unwrap();
        assert_eq!(key.to_pkcs8().len(), 54, "{algorithm}");
        assert_eq!(&key.to_pkcs8()[20..22], [0x80, 0x20], "{algorithm}");
    }
}

#[test]
fn seed_expanded_key_and_both_give_the_same_public_key() {
    for algorithm in ML_DSA {
        let seed = [7u8; 32];
        let expanded = expanded(algorithm, &seed);
        let forms = [
            tlv(0x80, &seed),
            tlv(0x04, &expanded),
            tlv(0x30, &[tlv(0x04, &seed), tlv(0x04, &expanded)].concat()),
        ];
        let keys: Vec<_> = forms
            .iter()
            .map(|form| PrivateKey::from_pkcs8(&ml_dsa_document(algorithm, form)).unwrap())
            .collect();
        assert_eq!(keys[0].public_key(), keys[1].public_key());
        assert_eq!(keys[0].public_key(), keys[2].public_key());
        assert_eq!(keys[2].to_pkcs8().len(), 54, "a key read as both is written as a seed");
        assert_eq!(keys[1].to_pkcs8(), ml_dsa_document(algorithm, &forms[1]));
    }
}

#[test]
fn a_seed_that_does_not_belong_to_its_expanded_key_is_refused() {
    for algorithm in ML_DSA {
        let unrelated = expanded(algorithm, &[8; 32]);
        let both = tlv(0x30, &[tlv(0x04, &[7; 32]), tlv(0x04, &unrelated)].concat());
        let error = PrivateKey::from_pkcs8(&ml_dsa_document(algorithm, &both)).unwrap_err();
        assert!(error.to_string().contains("do not belong together"), "{error}");
    }
}

#[test]
fn bare_forms_are_refused_by_name() {
    for algorithm in ML_DSA {
        for first in [0x80, 0x04, 0x30, 0x17] {
            let error = PrivateKey::from_pkcs8(&ml_dsa_document(algorithm, &[first; 32])).unwrap_err();
            assert!(error.to_string().contains("bare seed"), "{error}");
            let why = PrivateKey::fault(&ml_dsa_document(algorithm, &[first; 32])).unwrap();
            assert!(why.contains("bare seed"), "{why}");
        }
        let bare = expanded(algorithm, &[7; 32]);
        let error = PrivateKey::from_pkcs8(&ml_dsa_document(algorithm, &bare)).unwrap_err();
        assert!(error.to_string().contains("bare expanded key"), "{error}");
    }
}

#[test]
fn a_seed_of_another_length_is_refused() {
    for form in [tlv(0x80, &[7; 31]), tlv(0x80, &[7; 64]), tlv(0x04, &[7; 40]), vec![]] {
        assert!(PrivateKey::from_pkcs8(&ml_dsa_document(Algorithm::MlDsa65, &form)).is_err());
    }
}

#[test]
fn an_expanded_key_with_a_changed_octet_is_refused() {
    let mut key = expanded(Algorithm::MlDsa65, &[7; 32]);
    // tr, the hash of the public key (FIPS 204, section 7.2), is octets 64 to 128.
    key[70] ^= 1;
    assert!(PrivateKey::from_pkcs8(&ml_dsa_document(Algorithm::MlDsa65, &tlv(0x04, &key))).is_err());
}

#[test]
fn a_key_under_a_passphrase_opens_with_that_passphrase_only() {
    let key = PrivateKey::generate(Algorithm::MlDsa44).unwrap();
    let pem = key.to_encrypted_pem(&passphrase("correct horse")).unwrap();
    assert!(pem.starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----"));
    let read = PrivateKey::from_pem(pem.as_bytes(), Some(&passphrase("correct horse"))).unwrap();
    assert_eq!(read.public_key(), key.public_key());
    let wrong = PrivateKey::from_pem(pem.as_bytes(), Some(&passphrase("battery staple")));
    assert!(matches!(wrong, Err(Error::WrongPassphrase(_))));
    let none = PrivateKey::from_pem(pem.as_bytes(), None);
    assert!(matches!(none, Err(Error::PassphraseNeeded(_))));
}

#[test]
fn a_key_with_hours_of_key_derivation_is_refused_at_once() {
    let pass = passphrase("correct horse");
    let document = encryption::encrypt_with_rounds(b"x", &pass, 1).unwrap();
    // The only INTEGER 1 of the document is the number of rounds; four octets of it are four thousand million.
    let at = document.windows(3).position(|w| w == [0x02, 0x01, 0x01]).unwrap();
    assert!(encryption::decrypt(&document, &pass).is_err());
    let mut slow = document.to_vec();
    slow[at + 2] = 0x7f;
    assert!(encryption::decrypt(&slow, &pass).is_err());
}

#[test]
fn a_short_passphrase_is_refused() {
    assert!(Passphrase::new(Zeroizing::new("seven77".to_owned())).is_err());
    assert!(Passphrase::new(Zeroizing::new("two\nlines of it".to_owned())).is_err());
}

#[test]
fn a_file_of_another_kind_says_what_it_holds() {
    let pem = "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n";
    let error = PrivateKey::from_pem(pem.as_bytes(), None).unwrap_err();
    assert!(error.to_string().contains("EC PRIVATE KEY"), "{error}");
    assert!(PrivateKey::from_pem(b"", None).is_err());
}

#[test]
fn debug_output_shows_nothing_secret() {
    let key = PrivateKey::generate(Algorithm::Ed25519).unwrap();
    assert_eq!(format!("{key:?}"), "PrivateKey { algorithm: Ed25519, .. }");
    assert_eq!(format!("{:?}", passphrase("correct horse")), "Passphrase(..)");
}

proptest! {
    #[test]
    fn no_octets_panic_the_pkcs8_reader(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = PrivateKey::from_pkcs8(&octets);
    }

    #[test]
    fn no_contents_of_an_ml_dsa_key_panic(contents in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = PrivateKey::from_pkcs8(&ml_dsa_document(Algorithm::MlDsa65, &contents));
    }

    #[test]
    fn no_text_panics_the_pem_reader(text in "(-----BEGIN [A-Z ]{0,20}-----\n)?[A-Za-z0-9+/=\n ]{0,200}(-----END [A-Z ]{0,20}-----\n)?") {
        let _ = PrivateKey::from_pem(text.as_bytes(), None);
    }

    #[test]
    fn no_octets_panic_the_decryption(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = encryption::decrypt(&octets, &passphrase("correct horse"));
    }

    #[test]
    fn a_changed_octet_never_panics_and_never_gives_another_key(at in 0usize..54, bit in 0u8..8) {
        let mut document = ml_dsa_document(Algorithm::MlDsa44, &tlv(0x80, &[7; 32]));
        let whole = PrivateKey::from_pkcs8(&document).unwrap();
        document[at] ^= 1 << bit;
        // A changed seed is another key, and a changed algorithm another key of the same seed;
        // anything else is refused.
        if let Ok(key) = PrivateKey::from_pkcs8(&document) {
            prop_assert_ne!(key.public_key(), whole.public_key());
        }
    }

    #[test]
    fn a_damaged_key_of_any_form_never_panics(which in 0usize..5, at: usize, octet: u8, keep: usize) {
        let seed = [7u8; 32];
        let expanded = expanded(Algorithm::MlDsa44, &seed);
        let mut document = match which {
            0 => ml_dsa_document(Algorithm::MlDsa44, &tlv(0x04, &expanded)),
            1 => ml_dsa_document(Algorithm::MlDsa44, &tlv(0x30, &[tlv(0x04, &seed), tlv(0x04, &expanded)].concat())),
            2 => PrivateKey::generate(Algorithm::EcdsaP256).unwrap().to_pkcs8().to_vec(),
            3 => PrivateKey::generate(Algorithm::Ed25519).unwrap().to_pkcs8().to_vec(),
            _ => encryption::encrypt_with_rounds(&seed, &passphrase("correct horse"), 1).unwrap().to_vec(),
        };
        let at = at % document.len();
        document[at] = octet;
        document.truncate(1 + keep % (2 * document.len()));
        let _ = PrivateKey::from_pkcs8(&document);
        // A damaged round number may be large but valid, which is slow and not a fault.
        if which < 4 {
            let _ = encryption::decrypt(&document, &passphrase("correct horse"));
        }
        let _ = PrivateKey::from_pem(encoding::pem(PRIVATE_KEY, &document).as_bytes(), None);
    }

    #[test]
    fn every_seed_survives_the_round_trip(seed: [u8; 32]) {
        let document = ml_dsa_document(Algorithm::MlDsa44, &tlv(0x80, &seed));
        let key = PrivateKey::from_pkcs8(&document).unwrap();
        prop_assert_eq!(key.to_pkcs8(), document.as_slice());
    }
}
