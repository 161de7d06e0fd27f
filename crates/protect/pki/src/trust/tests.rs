use std::time::{Duration, SystemTime};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use proptest::prelude::*;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::*;
use crate::{Algorithm, Authority, Certificate, InitOptions, Leaf, PrivateKey, Reason, RevocationList};

const DAY: Duration = Duration::from_secs(86_400);

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + DAY * 20_000
}

fn ders(text: &str, label: &str) -> Vec<Vec<u8>> {
    let blocks = pem::parse_many(text).unwrap().into_iter();
    let wanted = blocks.filter(|block| block.tag() == label);
    wanted.map(pem::Pem::into_contents).collect()
}

#[test]
fn a_leaf_is_signed_by_its_own_authority_alone_and_found_on_its_list() {
    for algorithm in Algorithm::ALL {
        // Two authorities of the same name: what differs is the key.
        let [mut one, mut other] = [(); 2].map(|()| {
            let directory = tempfile::tempdir().unwrap();
            let authority = Authority::init(&directory.path().join("ca"), InitOptions::new(algorithm), now()).unwrap();
            (directory, authority)
        });
        let issued = one
            .1
            .issue(&Leaf::new("cu").unwrap().dns("cu.test").unwrap(), now())
            .unwrap();
        let leaf = &ders(&issued.chain_pem(), "CERTIFICATE")[0];
        let [root, of_other] = [&one.1, &other.1].map(|authority| authority.root().der().to_vec());
        let (root, of_other) = (root.as_slice(), of_other.as_slice());
        assert_eq!(signed_by(leaf, root), Signed::Yes, "{algorithm}");
        assert_eq!(signed_by(leaf, of_other), Signed::No, "{algorithm}");
        assert_eq!(signed_by(leaf, leaf), Signed::No, "{algorithm}");
        assert_eq!(signed_by(root, root), Signed::Yes, "{algorithm}");

        let list = |authority: &mut Authority| {
            let lists = authority.refresh_lists(7, now()).unwrap();
            RevocationList::from_der(&ders(&lists, "X509 CRL")[0]).unwrap()
        };
        let before = list(&mut one.1);
        assert!(!before.revokes(leaf));
        assert_eq!(before.next_update(), Some(now() + DAY * 7));
        assert_eq!(
            (before.signed_by(root), before.signed_by(of_other)),
            (Signed::Yes, Signed::No)
        );
        one.1.revoke("cu", Reason::KeyCompromise, now()).unwrap();
        assert!(list(&mut one.1).revokes(leaf));
        assert!(!list(&mut other.1).revokes(leaf));
    }
}

#[test]
fn certificate_that_names_another_algorithm_inside_than_outside_is_not_believed() {
    // ecdsa-with-SHA384 and ecdsa-with-SHA256 (RFC 5758, section 3.2), by their last octets.
    let (inside, outside) = (
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3],
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2],
    );
    let issuer = || {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
    };
    // The issuer's key signs by SHA-256, whatever the part that it signs says.
    let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
    let pkcs8 = key.serialize_der();
    let root = CertifiedIssuer::self_signed(issuer(), key).unwrap();
    let leaf = CertificateParams::new(["cu.test".to_owned()]).unwrap();
    let leaf = leaf.signed_by(&KeyPair::generate().unwrap(), &root).unwrap();
    assert_eq!(signed_by(leaf.der(), root.der()), Signed::Yes);
    let signer = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &pkcs8).unwrap();
    // The inner one is another, and the signature covers it.
    let (_, parsed) = X509Certificate::from_der(leaf.der()).unwrap();
    let first = |bytes: &[u8]| {
        bytes
            .windows(outside.len())
            .position(|window| window == outside)
            .unwrap()
    };
    let mut signed = parsed.tbs_certificate.as_ref().to_vec();
    let at = first(&signed);
    signed[at..at + inside.len()].copy_from_slice(&inside);
    let signature = signer.sign(&SystemRandom::new(), &signed).unwrap();
    let value = [&[0][..], signature.as_ref()].concat();
    let sequence = |tag: u8, content: &[u8]| {
        let [high, low] = (content.len() as u16).to_be_bytes();
        [&[tag, 0x82, high, low], content].concat()
    };
    let algorithm = [&[0x30, 0x0a, 0x06, 0x08], &outside[..]].concat();
    let mixed = sequence(0x30, &[signed, algorithm, sequence(0x03, &value)].concat());
    assert_eq!(signed_by(&mixed, root.der()), Signed::No);
}

#[test]
fn way_to_a_root_is_found_past_a_certificate_of_the_same_authority_that_leads_elsewhere() {
    // An authority that is renewed or cross-signed has one name and one key in several
    // certificates.
    let named = |name: &str| {
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
    };
    let root = |name: &str| CertifiedIssuer::self_signed(named(name), KeyPair::generate().unwrap()).unwrap();
    let (old, new) = (root("old"), root("new"));
    let middle = KeyPair::generate().unwrap();
    let by = |root: &CertifiedIssuer<'_, KeyPair>| named("middle").signed_by(&middle, root).unwrap();
    let (by_old, by_new) = (by(&old), by(&new));
    let issuer = rcgen::Issuer::new(named("middle"), &middle);
    let leaf = CertificateParams::new(["cu.test".to_owned()]).unwrap();
    let leaf = leaf.signed_by(&KeyPair::generate().unwrap(), &issuer).unwrap();
    let at_hand = [&by_old.der()[..], by_new.der()];
    assert_eq!(chain_to(leaf.der(), &at_hand, &[old.der()]), Some(vec![0]));
    assert_eq!(chain_to(leaf.der(), &at_hand, &[new.der()]), Some(vec![1]));
    assert_eq!(chain_to(leaf.der(), &at_hand[..1], &[new.der()]), None);
    assert_eq!(chain_to(by_new.der(), &at_hand, &[new.der()]), Some(vec![]));
    // Certificates of one name that sign each other lead nowhere, and end.
    assert_eq!(chain_to(leaf.der(), &[&by_old.der()[..]; 40], &[new.der()]), None);
    let read = |der: &[u8]| ForeignCertificate::from_der(der).unwrap();
    let (foreign, at_hand) = (read(leaf.der()), at_hand.map(read));
    let today = SystemTime::now();
    assert!(foreign.leads_to(&read(old.der()), &at_hand, today) && foreign.leads_to(&read(new.der()), &at_hand, today));
}

/// Certificates of two authorities below each other and one below both: root, first, second, leaf.
fn below_each_other(change: impl Fn(usize, &mut CertificateParams)) -> Vec<ForeignCertificate> {
    let params = |at: usize| {
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        let name = format!("vendor {at}");
        params.distinguished_name.push(DnType::CommonName, name);
        if at < 3 {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        } else {
            params.not_after = rcgen::date_time_ymd(9999, 12, 31);
        }
        change(at, &mut params);
        params
    };
    let keys = [(); 4].map(|()| KeyPair::generate().unwrap());
    let root = params(0).self_signed(&keys[0]).unwrap();
    let below = (1..4).map(|at| {
        let issuer = rcgen::Issuer::new(params(at - 1), &keys[at - 1]);
        params(at).signed_by(&keys[at], &issuer).unwrap().der().to_vec()
    });
    let all = [root.der().to_vec()].into_iter().chain(below);
    all.map(|der| ForeignCertificate::from_der(&der).unwrap()).collect()
}

/// Basic constraints were all that made an authority.
#[test]
fn a_chain_that_breaks_a_rule_of_rfc_5280_leads_nowhere() {
    let leads = |change: &dyn Fn(usize, &mut CertificateParams)| {
        let all = below_each_other(change);
        all[3].leads_to(&all[0], &all[1..3], SystemTime::now())
    };
    let length = |at: usize, length: u8| {
        move |place: usize, params: &mut CertificateParams| {
            if place == at {
                params.is_ca = IsCa::Ca(BasicConstraints::Constrained(length));
            }
        }
    };
    assert!(leads(&|_, _| {}));
    assert!(leads(&length(0, 2)) && leads(&length(1, 1)) && leads(&length(2, 0)));
    assert!(!leads(&length(0, 1)), "the root's path length");
    assert!(!leads(&length(1, 0)), "an authority's path length");
    for purpose in [
        rcgen::KeyUsagePurpose::KeyCertSign,
        rcgen::KeyUsagePurpose::DigitalSignature,
    ] {
        let signs = purpose == rcgen::KeyUsagePurpose::KeyCertSign;
        for at in 0..3 {
            let usage = |place: usize, params: &mut CertificateParams| {
                if place == at {
                    params.key_usages = vec![purpose];
                }
            };
            assert_eq!(leads(&usage), signs, "key usage of {at}");
        }
    }
    for at in 1..4 {
        for critical in [false, true] {
            let extension = |place: usize, params: &mut CertificateParams| {
                if place == at {
                    let mut extension = rcgen::CustomExtension::from_oid_content(&[1, 3, 6, 1, 4, 1, 99], vec![5, 0]);
                    extension.set_criticality(critical);
                    params.custom_extensions.push(extension);
                }
            };
            assert_eq!(leads(&extension), !critical, "an unknown extension of {at}");
        }
    }
    let named = |place: usize, params: &mut CertificateParams| {
        if place == 3 {
            params.subject_alt_names = vec![rcgen::SanType::DnsName("gnb.other".try_into().unwrap())];
        }
    };
    assert!(leads(&named));
    let constrained = |place: usize, params: &mut CertificateParams| {
        named(place, params);
        if place == 1 {
            params.name_constraints = Some(rcgen::NameConstraints {
                permitted_subtrees: vec![rcgen::GeneralSubtree::DnsName("vendor".to_owned())],
                excluded_subtrees: Vec::new(),
            });
        }
    };
    assert!(!leads(&constrained));
}

/// Chains of peers: webpki passes both over.
#[test]
fn key_usage_of_authorities_and_the_path_length_of_a_root_count_for_peers_too() {
    let leads = |change: &dyn Fn(usize, &mut CertificateParams)| {
        let all = below_each_other(change);
        let mut anchors = TrustAnchors::default();
        anchors.add(all[0].der()).unwrap();
        let leaf = CertificateDer::from(all[3].der());
        let leaf = EndEntityCert::try_from(&leaf).unwrap();
        let between: Vec<_> = all[1..3]
            .iter()
            .rev()
            .map(|one| CertificateDer::from(one.der()))
            .collect();
        let now = UnixTime::now();
        let path = anchors.verify(&leaf, ALL_VERIFICATION_ALGS, &between, now, AnyPurpose, None);
        path.is_ok()
    };
    assert!(leads(&|_, _| {}));
    for (length, is_trusted) in [(1, false), (2, true)] {
        let limited = |at: usize, params: &mut CertificateParams| {
            if at == 0 {
                params.is_ca = IsCa::Ca(BasicConstraints::Constrained(length));
            }
        };
        assert_eq!(leads(&limited), is_trusted);
    }
    for at in 1..3 {
        let no_signer = |place: usize, params: &mut CertificateParams| {
            if place == at {
                params.key_usages = vec![rcgen::KeyUsagePurpose::DigitalSignature];
            }
        };
        assert!(!leads(&no_signer), "{at}");
    }
}

/// The first way to a root was the only one: an authority that is renewed has several certificates.
#[test]
fn one_of_two_certificates_of_an_authority_that_is_revoked_does_not_hide_the_other() {
    let named = |name: &str, serial: u64| {
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.serial_number = Some(serial.into());
        params
    };
    let [root, upper, lower, own] = [(); 4].map(|()| KeyPair::generate().unwrap());
    let root = CertifiedIssuer::self_signed(named("root", 1), root).unwrap();
    let upper = CertifiedIssuer::signed_by(named("upper", 2), upper, &root).unwrap();
    let copies = [3, 4].map(|serial| named("lower", serial).signed_by(&lower, &upper).unwrap());
    let issuer = rcgen::Issuer::new(named("lower", 3), &lower);
    let leaf = CertificateParams::new([]).unwrap().signed_by(&own, &issuer).unwrap();
    let list = |serials: &[u64]| {
        let time = rcgen::date_time_ymd(2024, 1, 1);
        let revoked = serials.iter().map(|&serial| rcgen::RevokedCertParams {
            serial_number: serial.into(),
            revocation_time: time,
            reason_code: None,
            invalidity_date: None,
        });
        let list = rcgen::CertificateRevocationListParams {
            this_update: time,
            next_update: time + DAY,
            crl_number: 1.into(),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: rcgen::KeyIdMethod::Sha256,
        };
        RevocationList::from_der(list.signed_by(&upper).unwrap().der()).unwrap()
    };
    let [three, four, upper] = [&copies[0].der()[..], copies[1].der(), upper.der()];
    for at_hand in [[three, four, upper], [four, three, upper], [upper, three, four]] {
        let found = |serials: &[u64]| {
            let lists = [list(serials)];
            let found = trusted_chain(leaf.der(), &at_hand, &[root.der()], &lists, SystemTime::now());
            found.map(|places| places.into_iter().map(|at| at_hand[at]).collect::<Vec<_>>())
        };
        assert_eq!(found(&[3]), Ok(vec![four, upper]));
        assert_eq!(found(&[4]), Ok(vec![three, upper]));
        assert_eq!(found(&[3, 4]), Err(NoChain::Revoked));
    }
}

/// Issuers of lists too.
#[test]
fn an_authority_below_one_that_may_have_none_below_it_is_no_issuer() {
    for (length, is_below) in [(1, false), (2, true)] {
        let all = below_each_other(|at, params| {
            if at == 0 {
                params.is_ca = IsCa::Ca(BasicConstraints::Constrained(length));
            }
        });
        assert_eq!(all[2].is_below(&all[0], &all[1..2]), is_below);
    }
}

/// Kinds of keys that operators' own authorities have, and this one does not.
#[test]
fn signatures_of_rsa_and_p_521_are_verified_too() {
    for algorithm in [
        &rcgen::PKCS_ECDSA_P521_SHA512,
        &rcgen::PKCS_RSA_SHA256,
        &rcgen::PKCS_RSA_SHA384,
    ] {
        let authority = || {
            let mut params = CertificateParams::new([]).unwrap();
            params.distinguished_name.push(DnType::CommonName, "an operator");
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            CertifiedIssuer::self_signed(params, KeyPair::generate_for(algorithm).unwrap()).unwrap()
        };
        let (one, other) = (authority(), authority());
        let leaf = CertificateParams::new(["cu.test".to_owned()]).unwrap();
        let leaf = leaf.signed_by(&KeyPair::generate().unwrap(), &one).unwrap();
        assert_eq!(signed_by(leaf.der(), one.der()), Signed::Yes, "{algorithm:?}");
        assert_eq!(signed_by(leaf.der(), other.der()), Signed::No, "{algorithm:?}");
    }
}

#[test]
fn a_certificate_certifies_its_own_key_and_no_other() {
    let key = KeyPair::generate().unwrap();
    let of_key = CertificateParams::new(["cu.test".to_owned()])
        .unwrap()
        .self_signed(&key)
        .unwrap();
    let certificate = Certificate::from_der(of_key.der(), "test").unwrap();
    assert!(certificate.certifies(&key.serialize_der()));
    for algorithm in [Algorithm::EcdsaP256, Algorithm::EcdsaP384, Algorithm::Ed25519] {
        let other = PrivateKey::generate(algorithm).unwrap();
        assert!(!certificate.certifies(other.to_pkcs8()), "{algorithm}");
    }
    assert!(!certificate.certifies(b"") && !certificate.certifies(of_key.der()));
}

proptest! {
    #[test]
    fn no_octets_panic(octets in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert_eq!(signed_by(&octets, &octets), Signed::No);
        prop_assert!(RevocationList::from_der(&octets).is_err());
    }
}

#[test]
fn a_serial_number_is_named_whoever_gave_it() {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    let octets: Vec<u8> = (1..=20).collect();
    params.serial_number = Some(rcgen::SerialNumber::from_slice(&octets));
    let foreign = Certificate::from_der(params.self_signed(&key).unwrap().der(), "foreign").unwrap();
    assert_eq!(foreign.serial_number(), "0102030405060708090a0b0c0d0e0f1011121314");
    assert_eq!(foreign.serial(), None);
    let directory = tempfile::tempdir().unwrap();
    let options = InitOptions::new(Algorithm::Ed25519);
    let authority = Authority::init(&directory.path().join("ca"), options, now()).unwrap();
    let own = authority.root();
    assert_eq!(own.serial_number(), own.serial().unwrap().to_string());
}
