//! Invitations, what is issued for them, and updates.

use super::*;
use crate::{ForeignCertificate, InvitationState, Invite, Vendor};

pub(super) fn invite(name: &str) -> Invite {
    Invite {
        name: name.parse().unwrap(),
        names: vec![AlternativeName::dns(&format!("{name}.ran")).unwrap()],
        functions: vec!["AMF".parse().unwrap()],
        profile: Profile::NetworkFunction,
        days: 30,
        long_life: false,
        classical: false,
        open_for: DAY,
        vendor: None,
    }
}

pub(super) fn key(algorithm: Algorithm) -> crate::PublicKey {
    PrivateKey::generate(algorithm).unwrap().public_key().clone()
}

#[test]
fn an_invitation_gives_one_key_its_certificate_as_often_as_it_asks() {
    let (_dir, mut authority) = authority(quick());
    let invitation = authority.invite(&invite("gnb"), now()).unwrap();
    assert_eq!(invitation.state_at(now()), InvitationState::Open);
    assert_eq!(invitation.secret().unwrap().len(), 32);
    let key = key(Algorithm::MlDsa65);
    let first = authority.enrol(&invitation, &key, now()).unwrap();
    assert_eq!(first.certificate.public_key(), &key);
    assert_eq!(first.certificate.names(), ["DNS:gnb.ran"]);
    assert_eq!(first.certificate.functions(), ["AMF"]);
    let again = authority.enrol(&invitation, &key, now() + DAY / 2).unwrap();
    assert_eq!(again.certificate.der(), first.certificate.der());
    let other = self::key(Algorithm::MlDsa65);
    assert!(matches!(
        authority.enrol(&invitation, &other, now()),
        Err(Error::InvitationUsed(_))
    ));
    assert_eq!(authority.list().unwrap().len(), 2);
}

#[test]
fn a_closed_or_expired_invitation_opens_nothing_and_its_secret_is_gone() {
    let (dir, mut authority) = authority(quick());
    let (one, two) = (
        authority.invite(&invite("one"), now()).unwrap(),
        authority.invite(&invite("two"), now()).unwrap(),
    );
    assert!(authority.close_invitation(one.reference(), now()).unwrap());
    assert!(!authority.close_invitation(one.reference(), now()).unwrap());
    assert!(authority.invitation(one.reference(), now()).unwrap().is_none());
    let late = now() + DAY + Duration::from_secs(1);
    assert!(authority.invitation(two.reference(), late).unwrap().is_none());
    assert!(matches!(
        authority.enrol(&two, &key(Algorithm::Ed25519), late),
        Err(Error::NotInvited(_))
    ));
    // Later invitations clear expired ones away.
    authority.invite(&invite("three"), late).unwrap();
    let late = late + DAY + Duration::from_secs(1);
    authority.invite(&invite("four"), late).unwrap();
    let path = dir.path().join("ca");
    let register = Register::open(&path).unwrap();
    let states: Vec<_> = register
        .invitations()
        .unwrap()
        .iter()
        .map(|invitation| (invitation.state_at(late), invitation.secret().is_some()))
        .collect();
    assert_eq!(
        states,
        [
            (InvitationState::Closed, false),
            (InvitationState::Expired, false),
            (InvitationState::Expired, true),
            (InvitationState::Open, true)
        ]
    );
    drop((register, authority));
    let database = fs::read(path.join("ca.sqlite")).unwrap();
    for gone in [&one, &two] {
        let secret = gone.secret().unwrap().as_bytes();
        assert!(!database.windows(secret.len()).any(|octets| octets == secret));
    }
}

#[test]
fn a_quantum_safe_authority_certifies_no_classical_key_unless_it_was_said() {
    let (_dir, mut authority) = authority(InitOptions::new(Algorithm::MlDsa44));
    let strict = authority.invite(&invite("strict"), now()).unwrap();
    let classical = key(Algorithm::EcdsaP256);
    assert!(matches!(
        authority.enrol(&strict, &classical, now()),
        Err(Error::ClassicalKey(Algorithm::EcdsaP256))
    ));
    let lenient = Invite {
        classical: true,
        ..invite("lenient")
    };
    let lenient = authority.invite(&lenient, now()).unwrap();
    let issued = authority.enrol(&lenient, &classical, now()).unwrap();
    let updated = authority.update(issued.serial, &key(Algorithm::EcdsaP256), now());
    assert!(updated.is_ok());
    let safe = authority.enrol(&strict, &key(Algorithm::MlDsa44), now()).unwrap();
    assert!(matches!(
        authority.update(safe.serial, &classical, now()),
        Err(Error::ClassicalKey(_))
    ));
}

#[test]
fn what_could_not_be_certified_is_not_invited() {
    let (_dir, mut authority) = authority(quick());
    let nameless = Invite {
        names: Vec::new(),
        ..invite("gnb")
    };
    assert!(matches!(authority.invite(&nameless, now()), Err(Error::NoNames)));
    let long = Invite {
        days: 4000,
        ..invite("gnb")
    };
    assert!(matches!(authority.invite(&long, now()), Err(Error::Lifetime(_))));
}

#[test]
fn an_update_keeps_the_names_and_is_given_once_for_a_key() {
    let (_dir, mut authority) = authority(quick());
    let invitation = authority.invite(&invite("gnb"), now()).unwrap();
    let old = authority.enrol(&invitation, &key(Algorithm::MlDsa65), now()).unwrap();
    let (next, later) = (key(Algorithm::MlDsa65), now() + DAY * 20);
    let new = authority.update(old.serial, &next, later).unwrap();
    assert_eq!(new.certificate.names(), old.certificate.names());
    assert_eq!(new.certificate.functions(), ["AMF"]);
    assert_eq!(new.certificate.not_after(), later + DAY * 30);
    let again = authority.update(old.serial, &next, later).unwrap();
    assert_eq!(again.serial, new.serial);
    assert_eq!(authority.show("gnb").unwrap().replaces, Some(old.serial));
    let over = now() + DAY * 31;
    assert!(matches!(
        authority.update(old.serial, &key(Algorithm::MlDsa65), over),
        Err(Error::Unsuitable { .. })
    ));
}

/// A request for an update that an attacker had recorded was answered by a new certificate for a
/// key that was revoked as compromised, for as long as the certificate that signed the request was
/// valid.
#[test]
fn a_key_that_was_revoked_is_certified_by_no_update_and_no_invitation() {
    let (_dir, mut authority) = authority(quick());
    let invitation = authority.invite(&invite("gnb"), now()).unwrap();
    let old = authority.enrol(&invitation, &key(Algorithm::MlDsa65), now()).unwrap();
    let (next, other) = (key(Algorithm::MlDsa65), key(Algorithm::MlDsa65));
    let new = authority.update(old.serial, &next, now()).unwrap();
    let serial = new.serial.to_string();
    authority.revoke(&serial, Reason::KeyCompromise, now()).unwrap();
    let refused = authority.update(old.serial, &next, now());
    assert!(matches!(refused, Err(Error::RevokedKey(serial)) if serial == new.serial));
    let second = authority.invite(&invite("gnb"), now()).unwrap();
    assert!(matches!(
        authority.enrol(&second, &next, now()),
        Err(Error::RevokedKey(_))
    ));
    assert_eq!(authority.list().unwrap().len(), 3, "nothing was issued");
    // The holder of the old certificate goes on with another key, and so does one whose receiver
    // refused its certificate.
    let third = authority.update(old.serial, &other, now()).unwrap();
    authority.revoke_refused(third.serial, now()).unwrap();
    assert!(authority.update(old.serial, &other, now()).is_ok());
}

/// The reason of a unit that was taken out of service let its recorded request be answered again.
#[test]
fn no_reason_of_a_revocation_lets_the_key_be_certified_again() {
    let (_dir, mut authority) = authority(quick());
    let invitation = authority.invite(&invite("gnb"), now()).unwrap();
    let old = authority.enrol(&invitation, &key(Algorithm::Ed25519), now()).unwrap();
    for reason in [Reason::Unspecified, Reason::CessationOfOperation, Reason::Superseded] {
        let next = key(Algorithm::Ed25519);
        let new = authority.update(old.serial, &next, now()).unwrap();
        authority.revoke(&new.serial.to_string(), reason, now()).unwrap();
        let again = authority.update(old.serial, &next, now());
        assert!(matches!(again, Err(Error::RevokedKey(_))), "{reason}");
    }
}

/// An update rounded up to whole days.
#[test]
fn an_update_is_valid_no_longer_than_what_it_replaces() {
    let (_dir, mut authority) = authority(quick());
    let hour = Duration::from_secs(3_600);
    let old = leaf("gnb").lifetime(Lifetime::Between {
        not_before: now() - hour,
        not_after: now() + hour,
    });
    let old = authority.issue(&old, now()).unwrap();
    let later = now() + hour / 2;
    let new = authority.update(old.serial, &key(Algorithm::Ed25519), later).unwrap();
    assert_eq!(new.certificate.not_after(), later + hour);
}

/// The oldest open invitation was taken, used by a key that was lost, and the new one was of no use
/// until the old one had ended.
#[test]
fn who_is_invited_again_by_a_vendors_certificate_comes_by_the_newer_invitation() {
    let (_vendors, mut vendor) = authority(InitOptions::new(Algorithm::EcdsaP256));
    let shown = vendor.issue(&leaf("SN-0815"), now()).unwrap();
    let shown = ForeignCertificate::from_der(shown.certificate.der()).unwrap();
    let invite = Invite {
        vendor: Some(Vendor {
            root: ForeignCertificate::from_der(vendor.root().der()).unwrap(),
            name: "SN-0815".to_owned(),
        }),
        ..invite("gnb")
    };
    let (_dir, mut authority) = authority(quick());
    let come = |authority: &mut Authority, key| {
        let invitation = authority.invitation_of_vendor(&shown, &[], now()).unwrap().unwrap();
        authority.enrol(&invitation, key, now())
    };
    let (lost, another) = (key(Algorithm::MlDsa65), key(Algorithm::MlDsa65));
    authority.invite(&invite, now()).unwrap();
    come(&mut authority, &lost).unwrap();
    assert!(matches!(come(&mut authority, &another), Err(Error::InvitationUsed(_))));
    authority.invite(&invite, now()).unwrap();
    assert_eq!(
        come(&mut authority, &another).unwrap().certificate.public_key(),
        &another
    );
}

/// One request with 8000 names and 15 authorities of one name kept the authority busy for minutes.
#[test]
fn certificates_that_a_sender_makes_cost_a_bounded_number_of_signatures() {
    let (_vendors, vendor) = authority(InitOptions::new(Algorithm::EcdsaP256));
    let by_vendor = Invite {
        vendor: Some(Vendor {
            root: ForeignCertificate::from_der(vendor.root().der()).unwrap(),
            name: "SN-0815".to_owned(),
        }),
        ..invite("gnb")
    };
    let (_dir, mut authority) = authority(quick());
    for _ in 0..3 {
        authority.invite(&by_vendor, now()).unwrap();
    }
    let params = |names: &[&str]| {
        let mut params = rcgen::CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        for (at, name) in names.iter().enumerate() {
            let kind = match at {
                0 => rcgen::DnType::CommonName,
                _ => rcgen::DnType::CustomDnType(vec![2, 5, 4, 5]),
            };
            params.distinguished_name.push(kind, *name);
        }
        params
    };
    let mut above = params(&["X"]);
    above.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let keys: Vec<_> = (0..40).map(|_| rcgen::KeyPair::generate().unwrap()).collect();
    let read = |certificate: rcgen::Certificate| ForeignCertificate::from_der(certificate.der()).unwrap();
    let issuer = |at: usize| rcgen::Issuer::new(above.clone(), &keys[at]);
    // Every one of them has signed another of the same name.
    let at_hand: Vec<_> = (0..39)
        .flat_map(|at| [at, at + 1].map(|by| read(above.signed_by(&keys[at], &issuer(by)).unwrap())))
        .collect();
    let shown = params(&["SN-0815", "SN-0815"])
        .signed_by(&keys[39], &issuer(0))
        .unwrap();
    let before = crate::trust::VERIFIED.get();
    let found = authority.invitation_of_vendor(&read(shown), &at_hand, now()).unwrap();
    assert!(found.is_none());
    let verified = crate::trust::VERIFIED.get() - before;
    assert!((1..=64).contains(&verified), "{verified}");
}

/// `ca invite` with a clock 30 days ahead closed all other invitations for good.
#[test]
fn a_clock_that_is_once_ahead_closes_no_invitation() {
    let (_dir, mut authority) = authority(quick());
    let invitation = authority.invite(&invite("gnb"), now()).unwrap();
    authority.invite(&invite("early"), now() + DAY * 30).unwrap();
    authority.invite(&invite("due"), now()).unwrap();
    assert!(authority.enrol(&invitation, &key(Algorithm::Ed25519), now()).is_ok());
}

#[test]
fn a_key_is_certified_under_one_name() {
    let (_dir, mut authority) = authority(quick());
    let come = |authority: &mut Authority, name: &str, key: &crate::PublicKey| {
        let invitation = authority.invite(&invite(name), now()).unwrap();
        authority.enrol(&invitation, key, now())
    };
    let (lost, kept) = (key(Algorithm::Ed25519), key(Algorithm::Ed25519));
    let first = come(&mut authority, "gnba", &lost).unwrap();
    come(&mut authority, "gnba", &kept).unwrap();
    assert!(matches!(
        come(&mut authority, "gnbb", &kept),
        Err(Error::KeyOfAnother(_))
    ));
    let serial = first.serial.to_string();
    authority.revoke(&serial, Reason::KeyCompromise, now()).unwrap();
    for name in ["gnba", "gnbb"] {
        assert!(matches!(come(&mut authority, name, &lost), Err(Error::RevokedKey(_))));
    }
    // Nor is an authority's own key, nor by a signing request.
    let own = authority.root().public_key().clone();
    assert!(matches!(
        come(&mut authority, "gnbc", &own),
        Err(Error::KeyOfAnother(_))
    ));
    let (request, signing) = request("amf");
    authority.sign(&request, &signing, now()).unwrap();
    let other = Signing {
        name: "smf".parse().unwrap(),
        ..signing
    };
    assert!(matches!(
        authority.sign(&request, &other, now()),
        Err(Error::KeyOfAnother(_))
    ));
}

/// A loop of updates and revocations grew the records with the square of its rounds.
#[test]
fn updates_and_revocations_by_a_requester_are_bounded() {
    let (dir, mut authority) = authority(quick());
    let invitation = authority.invite(&invite("gnb"), now()).unwrap();
    let first = authority.enrol(&invitation, &key(Algorithm::Ed25519), now()).unwrap();
    for _ in 0..24 {
        let made = authority.update(first.serial, &key(Algorithm::Ed25519), now()).unwrap();
        authority
            .revoke_on_request(made.serial, Reason::Superseded, now())
            .unwrap();
    }
    let more = authority.update(first.serial, &key(Algorithm::Ed25519), now());
    assert!(matches!(more, Err(Error::TooManyUpdates { .. })), "{more:?}");
    // The list of `init` is of this minute; one list has all of them a minute later, and the next
    // is due at half of its time.
    let minute = Duration::from_secs(60);
    assert!(authority.renew_lists(&[], now() + minute / 2).unwrap().is_empty());
    assert_eq!(list_numbers(&authority.crl().unwrap()), [1]);
    authority.renew_lists(&[], now() + minute).unwrap();
    authority.renew_lists(&[], now() + 2 * minute).unwrap();
    assert_eq!(list_numbers(&authority.crl().unwrap()), [2]);
    assert_eq!(listed(&authority.crl().unwrap()).len(), 24);
    assert!(
        authority
            .update(first.serial, &key(Algorithm::Ed25519), now() + DAY)
            .is_ok()
    );
    for hour in 2..10 {
        authority
            .refresh_lists(7, now() + Duration::from_secs(3_600) * hour)
            .unwrap();
    }
    drop(authority);
    let records = rusqlite::Connection::open(dir.path().join("ca/ca.sqlite")).unwrap();
    let kept: i64 = records
        .query_row("SELECT count(*) FROM revocation_list", [], |row| row.get(0))
        .unwrap();
    assert_eq!(kept, 3);
}

/// 500 rounds of an update and a revocation took 4.5 MB, as each list with all before it was kept.
#[test]
fn the_records_grow_with_what_is_granted_and_not_with_its_square() {
    let (dir, mut authority) = authority(quick());
    let invitation = authority.invite(&invite("gnb"), now()).unwrap();
    let first = authority.enrol(&invitation, &key(Algorithm::Ed25519), now()).unwrap();
    let size = || fs::metadata(dir.path().join("ca/ca.sqlite")).unwrap().len();
    let mut round = |at: SystemTime| {
        if let Ok(made) = authority.update(first.serial, &key(Algorithm::Ed25519), at) {
            authority
                .revoke_on_request(made.serial, Reason::Superseded, at)
                .unwrap();
        }
        authority.renew_lists(&[], at).unwrap();
    };
    // Within an hour all but the first 24 are refused, and cost nothing.
    let second = Duration::from_secs(1);
    (0..100).for_each(|time| round(now() + second * 7 * time));
    let early = size();
    (100..500).for_each(|time| round(now() + second * 7 * time));
    assert_eq!(size(), early);
    // Two minutes apart each round has its list.
    let mut days = |days: std::ops::Range<u32>| {
        for day in days {
            (0..24).for_each(|time| round(now() + DAY * day + second * 120 * time));
        }
        size()
    };
    let (half, all) = (days(1..6), days(6..11));
    let grown = [half - early, all - half];
    assert!(grown[1] * 2 < grown[0] * 3, "{grown:?} octets in five days each");
    assert!(all < 1_000_000, "{all} octets");
}

#[test]
fn certificates_without_a_line_in_the_audit_log_are_known() {
    let (dir, mut authority) = authority(quick());
    let invitation = authority.invite(&invite("gnb"), now()).unwrap();
    let first = authority.enrol(&invitation, &key(Algorithm::Ed25519), now()).unwrap();
    let second = authority.update(first.serial, &key(Algorithm::Ed25519), now()).unwrap();
    authority.issue(&leaf("nrf"), now()).unwrap();
    drop(authority);
    let mut opened = Authority::open(&dir.path().join("ca"), None, now()).unwrap();
    let serials: Vec<Serial> = opened.unaudited().unwrap().iter().map(|entry| entry.serial).collect();
    assert_eq!(serials, [first.serial, second.serial]);
    opened.audited(&serials[..1]).unwrap();
    assert_eq!(opened.unaudited().unwrap().len(), 1);
}

/// Nothing was enrolled or updated from one lifetime before the issuer's end on.
#[test]
fn what_is_enrolled_and_updated_ends_with_its_issuer_at_the_latest_and_lasts_as_before_under_the_next_one() {
    let mut options = quick().with_intermediate(Algorithm::Ed25519);
    options.intermediate.as_mut().unwrap().lifetime = Lifetime::Days(40);
    let (_dir, mut authority) = authority(options);
    let invited = authority.invite(&invite("gnb"), now()).unwrap();
    let first = authority.enrol(&invited, &key(Algorithm::Ed25519), now()).unwrap();
    assert_eq!(first.certificate.not_after(), now() + DAY * 30);
    let mut serial = first.serial;
    for day in [20, 25] {
        let next = authority
            .update(serial, &key(Algorithm::Ed25519), now() + DAY * day)
            .unwrap();
        assert_eq!(next.certificate.not_after(), now() + DAY * 40);
        serial = next.serial;
    }
    // An invitation that could be certified when it was made.
    let invited = authority.invite(&invite("late"), now() + DAY * 10).unwrap();
    let late = authority
        .enrol(&invited, &key(Algorithm::Ed25519), now() + DAY * 11)
        .unwrap();
    assert_eq!(late.certificate.not_after(), now() + DAY * 40);
    let last = now() + DAY * 40 - Duration::from_secs(1800);
    let refused = authority.update(serial, &key(Algorithm::Ed25519), last);
    assert!(matches!(refused, Err(Error::Lifetime(_))), "{refused:?}");
    let next = Successor {
        algorithm: None,
        key: KeySource::Fresh,
        out_of_token: false,
        lifetime: Lifetime::Days(300),
    };
    authority.renew_intermediate(next, last).unwrap();
    let renewed = authority.update(serial, &key(Algorithm::Ed25519), last).unwrap();
    assert_eq!(renewed.certificate.not_after(), last + DAY * 30);
}
