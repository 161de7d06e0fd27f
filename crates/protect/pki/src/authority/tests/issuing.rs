//! Issuing, signing requests, renewing.

use super::*;

#[test]
fn every_algorithm_issues_under_every_other() {
    for algorithm in Algorithm::ALL {
        let (_dir, mut authority) = authority(InitOptions::new(algorithm).with_intermediate(Algorithm::MlDsa44));
        assert_eq!(authority.root().algorithm(), algorithm);
        let issued = authority.issue(&leaf("nrf").algorithm(algorithm), now()).unwrap();
        assert_eq!(issued.certificate.algorithm(), algorithm);
        assert_eq!(
            issued.key.as_ref().unwrap().public_key(),
            issued.certificate.public_key()
        );
        assert_eq!(pem::parse_many(issued.chain_pem()).unwrap().len(), 2);
    }
}

#[test]
fn the_key_of_a_leaf_is_of_the_issuers_kind_where_none_is_asked_for() {
    let (_dir, mut authority) = authority(quick().with_intermediate(Algorithm::MlDsa65));
    let issued = authority.issue(&leaf("nrf"), now()).unwrap();
    assert_eq!(issued.certificate.algorithm(), Algorithm::MlDsa65);
}

#[test]
fn the_files_of_a_certificate_are_whole_and_the_key_is_its_owners() {
    use std::os::unix::fs::PermissionsExt;
    let (dir, mut authority) = authority(quick());
    let out = dir.path().join("out");
    authority
        .issue_to(&leaf("nrf"), &Destination::new(&out), now())
        .unwrap();
    assert_eq!(names_in(&out), ["ca.crt.pem", "nrf.crt.pem", "nrf.key.pem"]);
    let mode = |name: &str| fs::metadata(out.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("nrf.key.pem"), 0o600);
    assert_eq!(authority.show("nrf").unwrap().state, State::Issued);
}

#[test]
fn files_in_the_way_are_left_alone_and_nothing_is_recorded() {
    let (dir, mut authority) = authority(quick());
    let out = Destination::new(&dir.path().join("out"));
    authority.issue_to(&leaf("nrf"), &out, now()).unwrap();
    let key = fs::read(out.dir.join("nrf.key.pem")).unwrap();
    let again = authority.issue_to(&leaf("nrf"), &out, now());
    assert!(matches!(again, Err(Error::FileExists(_))));
    assert_eq!(fs::read(out.dir.join("nrf.key.pem")).unwrap(), key);
    assert_eq!(authority.list().unwrap().len(), 2);
    let replaced = Destination {
        overwrite: Overwrite::Replace,
        ..out
    };
    authority.issue_to(&leaf("nrf"), &replaced, now()).unwrap();
    assert_ne!(fs::read(replaced.dir.join("nrf.key.pem")).unwrap(), key);
}

#[test]
fn the_root_of_another_authority_is_not_replaced_unasked() {
    let (dir, mut first) = authority(quick());
    let (_other, mut second) = authority(quick());
    let out = Destination::new(&dir.path().join("out"));
    first.issue_to(&leaf("nrf"), &out, now()).unwrap();
    let foreign = second.issue_to(&leaf("amf"), &out, now());
    let named = |roots: &[String]| roots == [first.root().subject()];
    assert!(
        matches!(foreign, Err(Error::ForeignRoots { path, roots }) if path.ends_with("ca.crt.pem") && named(&roots))
    );
}

/// A renewal hinted at `--force`, which took the other authority's root from the function.
#[test]
fn a_renewal_keeps_roots_of_other_authorities() {
    let (dir, mut authority) = authority(quick());
    let (_other, second) = self::authority(quick());
    let mut out = Destination::new(&dir.path().join("out"));
    authority.issue_to(&leaf("nrf"), &out, now()).unwrap();
    let roots = out.dir.join("ca.crt.pem");
    fs::write(&roots, authority.root().to_pem() + &second.root().to_pem()).unwrap();
    let mut by_hand = fs::read(&roots).unwrap();
    for overwrite in [Overwrite::Refuse, Overwrite::Replace] {
        out.overwrite = overwrite;
        let issued = authority.renew("nrf", &renewal(), Some(&out), now()).unwrap();
        assert_eq!(fs::read(&roots).unwrap(), by_hand);
        assert_eq!(issued.foreign_roots(&out.dir).unwrap(), [second.root().subject()]);
    }
    // Nothing is lost of a file in another order.
    fs::write(&roots, second.root().to_pem()).unwrap();
    authority.renew("nrf", &renewal(), Some(&out), now()).unwrap();
    by_hand = (authority.root().to_pem() + &second.root().to_pem()).into_bytes();
    assert_eq!(fs::read(&roots).unwrap(), by_hand);
}

#[test]
fn a_certificate_without_a_name_is_refused() {
    let (_dir, mut authority) = authority(quick());
    let nameless = Leaf::new("nrf").unwrap();
    assert!(matches!(authority.issue(&nameless, now()), Err(Error::NoNames)));
}

#[test]
fn no_certificate_outlives_its_issuer() {
    let mut options = quick();
    options.lifetime = Lifetime::Days(30);
    let (_dir, mut authority) = authority(options);
    let long = leaf("nrf").lifetime(Lifetime::Days(31));
    assert!(matches!(authority.issue(&long, now()), Err(Error::Lifetime(_))));
    assert!(
        authority
            .issue(&leaf("nrf").lifetime(Lifetime::Days(30)), now())
            .is_ok()
    );
}

#[test]
fn an_ended_certificate_can_be_made_for_a_test() {
    let (_dir, mut authority) = authority(quick());
    let ended = leaf("nrf").lifetime(Lifetime::Between {
        not_before: now() - DAY * 2,
        not_after: now() - DAY,
    });
    let issued = authority.issue(&ended, now()).unwrap();
    assert_eq!(issued.certificate.not_after(), now() - DAY);
    assert!(!authority.show("nrf").unwrap().is_valid_at(now()));
}

#[test]
fn names_and_function_types_survive_in_the_certificate() {
    let (_dir, mut authority) = authority(quick());
    let mut leaf = leaf("nrf")
        .ip("10.0.0.2")
        .unwrap()
        .ip("2001:db8::2")
        .unwrap()
        .uri("urn:uuid:4947a69a-f61b-4bc1-b9da-47c9c5d14b64")
        .unwrap();
    leaf.functions = vec!["NRF".parse().unwrap(), "scp".parse().unwrap()];
    let issued = authority.issue(&leaf, now()).unwrap();
    assert_eq!(
        issued.certificate.names(),
        [
            "DNS:nrf.5gc",
            "IP:10.0.0.2",
            "IP:2001:db8::2",
            "URI:urn:uuid:4947a69a-f61b-4bc1-b9da-47c9c5d14b64"
        ]
    );
    assert_eq!(issued.certificate.functions(), ["NRF", "SCP"]);
}

#[test]
fn a_renewed_certificate_has_the_old_names_and_a_new_key() {
    let (dir, mut authority) = authority(quick());
    let out = Destination::new(&dir.path().join("out"));
    let mut leaf = leaf("nrf").ip("10.0.0.2").unwrap();
    leaf.functions = vec!["NRF".parse().unwrap()];
    let old = authority.issue_to(&leaf, &out, now()).unwrap();
    let new = authority.renew("nrf", &renewal(), Some(&out), now()).unwrap();
    assert_eq!(new.certificate.names(), old.certificate.names());
    assert_eq!(new.certificate.functions(), ["NRF"]);
    assert_ne!(new.certificate.public_key(), old.certificate.public_key());
    let key = PrivateKey::from_pem(&fs::read(out.dir.join("nrf.key.pem")).unwrap(), None).unwrap();
    assert_eq!(key.public_key(), new.certificate.public_key());
    let entry = authority.show("nrf").unwrap();
    assert_eq!(entry.replaces, Some(old.serial));
    assert!(authority.show(&old.serial.to_string()).unwrap().is_valid_at(now()));
}

#[test]
fn a_renewal_can_keep_the_key_and_revoke_the_old_certificate() {
    let (dir, mut authority) = authority(quick());
    let out = Destination::new(&dir.path().join("out"));
    let old = authority.issue_to(&leaf("nrf"), &out, now()).unwrap();
    let key = fs::read(out.dir.join("nrf.key.pem")).unwrap();
    let same = Renewal {
        same_key: true,
        revoke_previous: true,
        ..renewal()
    };
    let new = authority.renew("nrf", &same, Some(&out), now()).unwrap();
    assert_eq!(new.certificate.public_key(), old.certificate.public_key());
    assert_eq!(fs::read(out.dir.join("nrf.key.pem")).unwrap(), key);
    assert_eq!(listed(&authority.crl().unwrap()), [old.serial]);
}

#[test]
fn a_certificate_is_not_put_next_to_the_key_of_another() {
    let (dir, mut authority) = authority(quick());
    let out = Destination::new(&dir.path().join("out"));
    let old = authority.issue(&leaf("nrf"), now()).unwrap();
    authority.issue_to(&leaf("nrf"), &out, now()).unwrap();
    let same = Renewal {
        same_key: true,
        ..renewal()
    };
    let replace = Destination {
        overwrite: Overwrite::Replace,
        ..out
    };
    let renewed = authority.renew(&old.serial.to_string(), &same, Some(&replace), now());
    assert!(matches!(renewed, Err(Error::KeyMismatch { .. })));
}

#[test]
fn a_signed_request_gets_only_the_names_it_was_granted() {
    let (dir, mut authority) = authority(quick());
    let out = Destination::new(&dir.path().join("out"));
    let (asked, mut signing) = request("amf");
    let issued = authority.sign_to(&asked, &signing, &out, now()).unwrap();
    assert_eq!(issued.certificate.names(), ["DNS:amf.5gc"]);
    assert_eq!(names_in(&out.dir), ["amf.crt.pem", "ca.crt.pem"]);
    let (_, parsed) = x509_parser::parse_x509_certificate(issued.certificate.der()).unwrap();
    assert!(!parsed.is_ca(), "a request to be an authority is not granted");

    signing.accept_names = true;
    let issued = authority.sign(&asked, &signing, now()).unwrap();
    assert_eq!(issued.certificate.names(), ["DNS:amf.5gc", "DNS:amf.asked.5gc"]);
}

#[test]
fn a_requesters_key_is_not_replaced_by_a_renewal() {
    let (_dir, mut authority) = authority(quick());
    let (asked, signing) = request("amf");
    let old = authority.sign(&asked, &signing, now()).unwrap();
    assert!(matches!(
        authority.renew("amf", &renewal(), None, now()),
        Err(Error::Unsuitable { .. })
    ));
    let same = Renewal {
        same_key: true,
        ..renewal()
    };
    let new = authority.renew("amf", &same, None, now()).unwrap();
    assert_eq!(new.certificate.public_key(), old.certificate.public_key());
}

#[test]
fn an_ipsec_endpoint_s_certificate_stays_one_when_it_is_renewed() {
    let (_dir, mut authority) = authority(quick());
    let issued = authority.issue(&leaf("cu").profile(Profile::Ipsec), now()).unwrap();
    assert_eq!(issued.certificate.profile(), Profile::Ipsec);
    let renewal = Renewal {
        same_key: false,
        revoke_previous: false,
        lifetime: Lifetime::Days(30),
        long_life: false,
    };
    let renewed = authority.renew("cu", &renewal, None, now()).unwrap();
    assert_eq!(renewed.certificate.profile(), Profile::Ipsec);
    let other = authority.issue(&leaf("nrf"), now()).unwrap();
    assert_eq!(other.certificate.profile(), Profile::NetworkFunction);
}

#[test]
fn what_no_ike_peer_could_use_is_not_issued_for_ipsec() {
    let ipsec = || leaf("cu").profile(Profile::Ipsec);
    let (_dir, mut classical) = authority(quick());
    let quantum_safe = classical.issue(&ipsec().algorithm(Algorithm::MlDsa65), now());
    assert!(
        matches!(
            quantum_safe,
            Err(Error::NotForIpsec {
                what: "the endpoint's key",
                ..
            })
        ),
        "{quantum_safe:?}"
    );
    let mut nameless = Leaf::new("cu").unwrap().uri("https://cu.test/").unwrap();
    nameless.profile = Profile::Ipsec;
    assert!(matches!(classical.issue(&nameless, now()), Err(Error::NoIkeName)));
    for (options, place) in [
        (InitOptions::new(Algorithm::MlDsa44), "the root's key"),
        (
            InitOptions::new(Algorithm::MlDsa44).with_intermediate(Algorithm::EcdsaP256),
            "the root's key",
        ),
        (
            InitOptions::new(Algorithm::EcdsaP256).with_intermediate(Algorithm::MlDsa44),
            "the authority's key",
        ),
    ] {
        let (_dir, mut authority) = authority(options);
        let refused = authority.issue(&ipsec().algorithm(Algorithm::Ed25519), now());
        assert!(
            matches!(refused, Err(Error::NotForIpsec { what, .. }) if what == place),
            "{refused:?}"
        );
    }
}

#[test]
fn an_ipsec_certificate_of_ml_dsa_is_made_where_it_is_asked_for_under_an_authority_of_ml_dsa() {
    let ipsec = || leaf("cu").profile(Profile::Ipsec);
    let (_dir, mut authority) = authority(InitOptions::new(Algorithm::MlDsa65));
    let unasked = authority.issue(&ipsec(), now());
    assert!(
        matches!(
            unasked,
            Err(Error::NotForIpsec {
                what: "the root's key",
                ..
            })
        ),
        "{unasked:?}"
    );
    let issued = authority.issue(&ipsec().algorithm(Algorithm::MlDsa65), now()).unwrap();
    assert_eq!(issued.certificate.profile(), Profile::Ipsec);
    assert_eq!(issued.certificate.algorithm(), Algorithm::MlDsa65);
}
