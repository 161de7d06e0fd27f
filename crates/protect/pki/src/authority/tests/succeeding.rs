//! Intermediates and roots that take each other's place.

use super::*;
use crate::{ForeignCertificate, Phase, RevocationList};

fn next() -> Successor {
    Successor {
        algorithm: None,
        key: KeySource::Fresh,
        out_of_token: false,
        lifetime: Lifetime::Days(1000),
    }
}

fn below() -> Successor {
    Successor {
        lifetime: Lifetime::Days(500),
        ..next()
    }
}

/// Returns true if what was issued leads to this root by what comes with it.
fn leads(issued: &Issued, root: &Certificate) -> bool {
    let foreign = |of: &Certificate| ForeignCertificate::from_der(of.der()).unwrap();
    let at_hand: Vec<_> = issued.between.iter().map(foreign).collect();
    foreign(&issued.certificate).leads_to(&foreign(root), &at_hand, issued.certificate.not_before() + DAY)
}

fn ders(roots: &[Certificate]) -> Vec<&[u8]> {
    roots.iter().map(Certificate::der).collect()
}

fn renewed(authority: &mut Authority, name: &str, at: SystemTime) -> Issued {
    authority.renew(name, &renewal(), None, at).unwrap()
}

#[test]
fn the_next_intermediate_signs_at_once_and_the_one_of_before_its_list() {
    let (dir, mut authority) = authority(quick().with_intermediate(Algorithm::Ed25519));
    let path = dir.path().join("ca");
    let first = authority.issue(&leaf("nrf"), now()).unwrap();
    let made = authority.renew_intermediate(next(), now()).unwrap();
    let second = authority.issue(&leaf("amf"), now()).unwrap();
    assert_eq!(ders(&second.between), [made.der()]);
    assert_ne!(ders(&first.between), ders(&second.between));
    for issued in [&first, &second] {
        assert!(leads(issued, authority.root()));
        assert_eq!(ders(issued.roots()), [authority.root().der()]);
    }
    // Both are revoked by who issued them.
    authority.revoke("nrf", Reason::KeyCompromise, now()).unwrap();
    authority.revoke("amf", Reason::KeyCompromise, now()).unwrap();
    let lists = RevocationList::all_of(authority.crl().unwrap().as_bytes());
    assert_eq!(lists.len(), 3);
    for (issued, list) in [(&second, &lists[0]), (&first, &lists[1])] {
        assert!(list.revokes(issued.certificate.der()));
        assert_eq!(list.signed_by(issued.between[0].der()), crate::Signed::Yes);
    }
    let named = made.serial().unwrap().to_string();
    assert_ne!(
        authority.published().unwrap().list(Some(&named)).map(<[u8]>::to_vec),
        authority.published().unwrap().list(None).map(<[u8]>::to_vec)
    );
    assert!(authority.published().unwrap().list(Some(&named)).is_some());
    drop(authority);
    let mut opened = Authority::open(&path, None, now()).unwrap();
    assert_eq!(opened.intermediate().unwrap().der(), made.der());
    assert_eq!(
        fs::read_to_string(path.join("intermediate.crt.pem")).unwrap(),
        made.to_pem()
    );
    // Once more, with the root's key away: refused, and nothing has changed.
    fs::rename(path.join("root.key.pem"), dir.path().join("root.key.pem")).unwrap();
    assert!(matches!(
        opened.renew_intermediate(next(), now()),
        Err(Error::KeyOffline(_))
    ));
    fs::rename(dir.path().join("root.key.pem"), path.join("root.key.pem")).unwrap();
    opened.renew_intermediate(next(), now()).unwrap();
    opened.refresh_lists(7, now()).unwrap();
    assert_eq!(RevocationList::all_of(opened.crl().unwrap().as_bytes()).len(), 4);
    drop(opened);
    Authority::open(&path, None, now())
        .unwrap()
        .issue(&leaf("smf"), now())
        .unwrap();
}

#[test]
fn a_root_is_replaced_in_three_steps_none_of_which_leaves_anybody_behind() {
    for options in [quick(), quick().with_intermediate(Algorithm::Ed25519)] {
        let (dir, mut authority) = authority(options);
        let path = dir.path().join("ca");
        let old = authority.root().clone();
        let later = |days: u32| now() + DAY * days;
        authority.issue(&leaf("nrf"), now()).unwrap();
        authority.issue(&leaf("amf"), now()).unwrap();
        assert!(matches!(
            authority.activate_root(below(), Anyway::No, later(1)),
            Err(Error::Succession(_))
        ));
        let new = authority.publish_root(next(), later(1)).unwrap();
        assert!(matches!(
            authority.publish_root(next(), later(1)),
            Err(Error::Succession(_))
        ));
        assert_eq!(
            fs::read_to_string(path.join("root.crt.pem")).unwrap(),
            old.to_pem() + &new.to_pem()
        );
        let refused = authority.activate_root(below(), Anyway::No, later(2)).unwrap_err();
        assert!(
            matches!(&refused, Error::NotAware(names) if names == &["amf", "nrf"]),
            "{refused}"
        );
        for name in ["nrf", "amf"] {
            let issued = renewed(&mut authority, name, later(2));
            assert_eq!(ders(issued.roots()), [old.der(), new.der()]);
            assert!(leads(&issued, &old) && !leads(&issued, &new));
        }
        authority.activate_root(below(), Anyway::No, later(3)).unwrap();
        drop(authority);
        let mut authority = Authority::open(&path, None, later(3)).unwrap();
        assert_eq!(authority.root().der(), new.der());
        let refused = authority.retire_roots(Anyway::No, later(3)).unwrap_err();
        assert!(
            matches!(&refused, Error::StillInUse(names) if names == &["amf", "nrf"]),
            "{refused}"
        );
        let nrf = renewed(&mut authority, "nrf", later(4));
        assert_eq!(ders(nrf.roots()), [new.der(), old.der()]);
        assert!(leads(&nrf, &new) && !leads(&nrf, &old));
        // A certificate below the old root is revoked by a list that its own issuer signs.
        let own = authority.own.iter().filter(|own| own.phase == Phase::Previous).count();
        assert_eq!(own, if authority.intermediate().is_some() { 2 } else { 1 });
        authority.revoke("amf", Reason::Superseded, later(4)).unwrap_err();
        let amf = authority.show("amf").unwrap();
        authority
            .revoke(&amf.serial.to_string(), Reason::Superseded, later(4))
            .unwrap();
        let lists = RevocationList::all_of(authority.crl().unwrap().as_bytes());
        assert!(lists.iter().any(|list| list.revokes(amf.certificate.der())));
        let oldest = authority
            .list()
            .unwrap()
            .into_iter()
            .find(|entry| &entry.name == "amf")
            .unwrap();
        authority
            .revoke(&oldest.serial.to_string(), Reason::Superseded, later(4))
            .unwrap();
        let retired = authority.retire_roots(Anyway::No, later(5)).unwrap();
        assert_eq!(ders(&retired), [old.der()]);
        let smf = authority.issue(&leaf("smf"), later(5)).unwrap();
        assert_eq!(ders(smf.roots()), [new.der()]);
        assert_eq!(fs::read_to_string(path.join("root.crt.pem")).unwrap(), new.to_pem());
        authority.refresh_lists(7, later(5)).unwrap();
        let lists = RevocationList::all_of(authority.crl().unwrap().as_bytes());
        assert_eq!(lists.len(), if authority.intermediate().is_some() { 2 } else { 1 });
        assert!(matches!(
            authority.retire_roots(Anyway::No, later(5)),
            Err(Error::Succession(_))
        ));
        drop(authority);
        let phases: Vec<_> = Register::open(&path)
            .unwrap()
            .succession()
            .unwrap()
            .into_iter()
            .filter(|(entry, _, _)| entry.role == Role::Root)
            .map(|(_, phase, _)| phase)
            .collect();
        assert_eq!(phases, [Phase::Retired, Phase::Current]);
    }
}

/// The clock may have been ahead when a certificate was issued, and a second is long.
#[test]
fn who_has_the_next_root_is_known_by_the_order_of_the_records() {
    for ahead in [Duration::ZERO, Duration::from_secs(60)] {
        let (_dir, mut authority) = authority(quick());
        let later = now() + DAY;
        authority.issue(&leaf("nrf"), later + ahead).unwrap();
        authority.publish_root(next(), later).unwrap();
        let refused = authority.activate_root(below(), Anyway::No, later + ahead);
        assert!(
            matches!(&refused, Err(Error::NotAware(names)) if names == &["nrf"]),
            "{refused:?}"
        );
        renewed(&mut authority, "nrf", later);
        authority.activate_root(below(), Anyway::No, later + ahead).unwrap();
    }
}

#[test]
fn roots_next_to_a_certificate_are_replaced_where_they_are_the_authoritys() {
    let (dir, mut authority) = authority(quick());
    let out = Destination::new(&dir.path().join("out"));
    let file = dir.path().join("out/ca.crt.pem");
    let old = authority.root().to_pem();
    authority.issue_to(&leaf("nrf"), &out, now()).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), old);
    let new = authority.publish_root(next(), now()).unwrap().to_pem();
    authority.renew("nrf", &renewal(), Some(&out), now()).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), old.clone() + &new);
    authority.activate_root(below(), Anyway::No, now()).unwrap();
    authority.renew("nrf", &renewal(), Some(&out), now()).unwrap();
    authority.retire_roots(Anyway::No, now()).unwrap();
    authority.renew("nrf", &renewal(), Some(&out), now()).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), new);
    // A root of another authority stays.
    let other = PrivateKey::generate(Algorithm::Ed25519).unwrap();
    let foreign = rcgen::CertificateParams::default().self_signed(&other).unwrap().pem();
    fs::write(&file, new.clone() + &foreign).unwrap();
    authority.renew("nrf", &renewal(), Some(&out), now()).unwrap();
    assert_eq!(
        pem::parse_many(fs::read(&file).unwrap()).unwrap(),
        pem::parse_many(new + &foreign).unwrap()
    );
}

#[test]
fn what_a_crash_left_between_record_and_file_is_moved_by_the_next_opening() {
    let (dir, mut authority) = authority(quick().with_intermediate(Algorithm::Ed25519));
    let path = dir.path().join("ca");
    let made = authority.renew_intermediate(next(), now()).unwrap();
    drop(authority);
    let key = path.join(format!("intermediate-{}.key.pem", made.serial().unwrap()));
    let stage = path.join("succession.partial");
    assert!(!stage.exists());
    fs::create_dir(&stage).unwrap();
    fs::rename(&key, stage.join("intermediate.key.pem")).unwrap();
    fs::write(stage.join("intermediate.crt.pem"), made.to_pem()).unwrap();
    let mut opened = Authority::open(&path, None, now()).unwrap();
    assert!(key.exists() && !stage.exists());
    opened.issue(&leaf("nrf"), now()).unwrap();
    // Files that were not recorded were never seen: they are cleared away.
    fs::create_dir(&stage).unwrap();
    fs::write(stage.join("intermediate.key.pem"), "half a k").unwrap();
    drop(opened);
    let opened = Authority::open(&path, None, now()).unwrap();
    assert!(!stage.exists());
    // A token may have made the key that is named.
    fs::create_dir(&stage).unwrap();
    fs::write(
        stage.join("root.key.pem"),
        "pkcs11:token=ca;object=root?module-name=softhsm2\n",
    )
    .unwrap();
    drop(opened);
    Authority::open(&path, None, now()).unwrap();
    assert!(stage.join("root.key.pem").exists());
}

#[test]
fn an_authority_whose_root_signs_has_no_intermediate_to_replace() {
    let (_dir, mut authority) = authority(quick());
    assert!(matches!(
        authority.renew_intermediate(next(), now()),
        Err(Error::NoIntermediate)
    ));
}

#[test]
fn a_key_in_a_file_is_under_the_passphrase_of_the_one_whose_place_it_takes() {
    let passphrase = Passphrase::new(Zeroizing::new("correct horse".to_owned())).unwrap();
    let mut options = quick().with_intermediate(Algorithm::Ed25519);
    options.secrets.passphrase = Some(passphrase.clone());
    let (dir, authority) = authority(options);
    drop(authority);
    let path = dir.path().join("ca");
    // The key that signs is decrypted; that of the root stays encrypted.
    let text = fs::read(path.join("intermediate.key.pem")).unwrap();
    let key = PrivateKey::from_pem(&text, Some(&passphrase)).unwrap();
    fs::write(path.join("intermediate.key.pem"), key.to_pem().as_bytes()).unwrap();
    let mut opened = Authority::open(&path, None, now()).unwrap();
    let refused = opened.publish_root(next(), now());
    assert!(matches!(refused, Err(Error::PassphraseNeeded(_))), "{refused:?}");
    let wrong = Passphrase::new(Zeroizing::new("battery staple".to_owned())).unwrap();
    drop(opened);
    let mut opened = Authority::open(&path, Some(&wrong), now()).unwrap();
    assert!(matches!(
        opened.publish_root(next(), now()),
        Err(Error::WrongPassphrase(_))
    ));
    drop(opened);
    let mut opened = Authority::open(&path, Some(&passphrase), now()).unwrap();
    let made = opened.publish_root(next(), now()).unwrap();
    let file = path.join(format!("root-{}.key.pem", made.serial().unwrap()));
    assert!(fs::read_to_string(file).unwrap().contains("ENCRYPTED"));
}

/// `ca serve` let the list of the former intermediate end, and relying parties refused every certificate of before.
#[test]
fn the_lists_of_all_live_issuers_are_renewed_at_half_of_their_time() {
    let (dir, mut authority) = authority(quick().with_intermediate(Algorithm::Ed25519));
    authority.renew_intermediate(next(), now()).unwrap();
    let at = |authority: &mut Authority, days: u32| {
        let unrenewed = authority.renew_lists(&[], now() + DAY * days).unwrap();
        (list_numbers(&authority.crl().unwrap()), unrenewed)
    };
    assert_eq!(at(&mut authority, 3).0, [1, 1, 1]);
    assert_eq!(at(&mut authority, 4).0, [2, 2, 1]);
    assert_eq!(at(&mut authority, 91).0, [3, 3, 2], "the root's is good for 180 days");
    // A key that is elsewhere is named, and the other lists are renewed.
    let path = dir.path().join("ca");
    fs::rename(path.join("intermediate.key.pem"), dir.path().join("away.pem")).unwrap();
    let (numbers, unrenewed) = at(&mut authority, 95);
    assert_eq!(numbers, [4, 3, 2]);
    assert!(matches!(unrenewed.as_slice(), [one] if matches!(one.error, Error::KeyOffline(_))));
    // Nor does it keep them waiting while another attempt is not due.
    let waiting = [unrenewed[0].serial];
    assert!(authority.renew_lists(&waiting, now() + DAY * 99).unwrap().is_empty());
    assert_eq!(list_numbers(&authority.crl().unwrap()), [5, 3, 2]);
}

/// Its list was missed for ever where its key was elsewhere.
#[test]
fn an_issuer_of_before_that_has_ended_needs_no_list() {
    let (dir, mut authority) = authority(quick().with_intermediate(Algorithm::Ed25519));
    let ends = SystemTime::from(authority.intermediate().unwrap().ends());
    authority.renew_intermediate(next(), now() + DAY * 100).unwrap();
    fs::rename(dir.path().join("ca/intermediate.key.pem"), dir.path().join("away.pem")).unwrap();
    let before = authority.renew_lists(&[], ends - DAY).unwrap();
    assert!(matches!(before.as_slice(), [one] if matches!(one.error, Error::KeyOffline(_))));
    let due = authority.crl_next_update(ends - DAY).unwrap();
    assert!(authority.renew_lists(&[], ends).unwrap().is_empty());
    assert!(authority.crl_next_update(ends).unwrap() > due);
}
