//! Revocation and the lists that tell of it.

use super::*;

#[test]
fn a_revoked_certificate_is_on_the_next_list_and_list_numbers_grow() {
    let (dir, mut authority) = authority(quick());
    let issued = authority.issue(&leaf("nrf"), now()).unwrap();
    assert_eq!(listed(&authority.crl().unwrap()), []);
    let revoked = authority.revoke("nrf", Reason::KeyCompromise, now()).unwrap();
    assert_eq!((revoked.serial, revoked.list_number), (issued.serial, 2));
    assert_eq!(listed(&authority.crl().unwrap()), [issued.serial]);
    let written = fs::read_to_string(dir.path().join("ca/crl.pem")).unwrap();
    assert_eq!(written, authority.crl().unwrap());
    authority.refresh_lists(7, now()).unwrap();
    assert_eq!(list_numbers(&authority.crl().unwrap()), [3]);
    assert!(matches!(
        authority.revoke(&issued.serial.to_string(), Reason::Unspecified, now()),
        Err(Error::AlreadyRevoked(_))
    ));
}

#[test]
fn an_intermediate_is_revoked_by_the_root_and_issues_no_more() {
    let (_dir, mut authority) = authority(quick().with_intermediate(Algorithm::Ed25519));
    let issued = authority.issue(&leaf("nrf"), now()).unwrap();
    authority.revoke("nrf", Reason::Superseded, now()).unwrap();
    let revoked = authority.revoke("intermediate", Reason::CaCompromise, now()).unwrap();
    // The intermediate's list first, the root's second.
    assert_eq!(listed(&authority.crl().unwrap()), [issued.serial, revoked.serial]);
    assert!(matches!(
        authority.issue(&leaf("amf"), now()),
        Err(Error::Unsuitable { .. })
    ));
}

#[test]
fn a_root_is_not_revoked() {
    let (_dir, mut authority) = authority(quick());
    assert!(matches!(
        authority.revoke("root", Reason::Unspecified, now()),
        Err(Error::Unsuitable { .. })
    ));
}

#[test]
fn the_roots_key_may_be_away_from_daily_work() {
    let (dir, authority) = authority(quick().with_intermediate(Algorithm::Ed25519));
    drop(authority);
    let path = dir.path().join("ca");
    let safe = dir.path().join("root.key.pem");
    fs::rename(path.join("root.key.pem"), &safe).unwrap();
    let mut authority = Authority::open(&path, None, now()).unwrap();
    authority.issue(&leaf("nrf"), now()).unwrap();
    authority.revoke("nrf", Reason::Superseded, now()).unwrap();
    authority.refresh_lists(7, now()).unwrap();
    assert!(matches!(
        authority.revoke("intermediate", Reason::CaCompromise, now()),
        Err(Error::KeyOffline(_))
    ));
    assert_eq!(authority.show("intermediate").unwrap().state, State::Issued);
    fs::rename(safe, path.join("root.key.pem")).unwrap();
    authority.revoke("intermediate", Reason::CaCompromise, now()).unwrap();
}

#[test]
fn a_list_is_signed_anew_before_it_ends() {
    let (_dir, mut authority) = authority(quick());
    authority.issue(&leaf("nrf"), now() + DAY * 3).unwrap();
    assert_eq!(list_numbers(&authority.crl().unwrap()), [1]);
    authority.issue(&leaf("amf"), now() + DAY * 4).unwrap();
    assert_eq!(list_numbers(&authority.crl().unwrap()), [2]);
    assert_eq!(authority.crl_next_update(now()).unwrap(), Some(now() + DAY * 11));
}

/// A clock that was 300 days ahead for a moment: relying parties refuse such a list until its time
/// has come.
#[test]
fn a_list_of_the_future_is_not_fresh() {
    let (_dir, mut authority) = authority(quick());
    authority.refresh_lists(7, now() + DAY * 300).unwrap();
    authority.issue(&leaf("nrf"), now() + DAY).unwrap();
    assert_eq!(list_numbers(&authority.crl().unwrap()), [3]);
    assert_eq!(authority.crl_next_update(now()).unwrap(), Some(now() + DAY * 8));
    authority.issue(&leaf("amf"), now() + DAY).unwrap();
    assert_eq!(list_numbers(&authority.crl().unwrap()), [3]);
}

/// `ca serve` gave a list that had ended, where a week went by in which nothing was issued.
#[test]
fn a_list_is_signed_anew_where_an_authority_is_served_and_issues_nothing() {
    let (dir, authority) = authority(quick().with_intermediate(Algorithm::Ed25519));
    let key = authority.opened_key();
    drop(authority);
    let again = |days: u32| {
        let opened = Authority::open_again(&dir.path().join("ca"), Secrets::default(), &key, now() + DAY * days);
        list_numbers(&opened.unwrap().crl().unwrap())
    };
    assert_eq!(again(3), [1, 1]);
    assert_eq!(again(4), [2, 1], "the root's key is not asked for");
    assert_eq!(again(5), [2, 1]);
}

#[test]
fn two_certificates_of_one_name_are_revoked_by_serial_number() {
    let (_dir, mut authority) = authority(quick());
    let first = authority.issue(&leaf("nrf"), now()).unwrap();
    authority.issue(&leaf("nrf"), now()).unwrap();
    let ambiguous = authority.revoke("nrf", Reason::Superseded, now());
    assert!(matches!(ambiguous, Err(Error::SeveralCertificates { serials, .. }) if serials.len() == 2));
    authority
        .revoke(&first.serial.to_string(), Reason::Superseded, now())
        .unwrap();
    authority.revoke("nrf", Reason::Superseded, now()).unwrap();
}

/// `ca crl` with a clock 300 days ahead left a list that no peer accepted, and that counted as fresh for as long.
#[test]
fn a_list_that_begins_in_the_future_is_signed_anew() {
    let (_dir, mut authority) = authority(quick());
    authority.refresh_lists(7, now() + DAY * 300).unwrap();
    assert_eq!(list_numbers(&authority.crl().unwrap()), [2]);
    authority.renew_lists(&[], now()).unwrap();
    assert_eq!(list_numbers(&authority.crl().unwrap()), [3]);
    assert_eq!(authority.crl_next_update(now()).unwrap(), Some(now() + DAY * 7));
}

#[test]
fn many_certificates_are_revoked_by_one_list_or_none() {
    let (_dir, mut authority) = authority(quick());
    for name in ["amf", "smf", "udm"] {
        authority.issue(&leaf(name), now()).unwrap();
    }
    let unknown = authority.revoke_all(&["amf", "nobody"], Reason::Superseded, now());
    assert!(matches!(unknown, Err(Error::UnknownCertificate(_))));
    assert_eq!(authority.show("amf").unwrap().state, State::Issued);
    let revoked = authority.revoke_all(&["amf", "smf", "udm", "amf"], Reason::Superseded, now());
    let revoked = revoked.unwrap();
    assert!(revoked.len() == 3 && revoked.iter().all(|revoked| revoked.list_number == 2));
    assert_eq!(listed(&authority.crl().unwrap()).len(), 3);
}
