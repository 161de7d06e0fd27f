//! Work of the authority among many records, in steps of SQLite's virtual machine: the same number
//! in each run, on each machine.

use std::sync::atomic::Ordering;

use super::enrolling::{invite, key};
use super::*;
use crate::{ForeignCertificate, Invite, Vendor};

/// Functions of a small network, and of a large one.
const FEW: usize = 100;
const MANY: usize = 10_000;

/// Copies the only certificate of a network function, and each invitation, so often.
fn fill(authority: &mut Authority, count: usize) {
    let numbers = format!("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})");
    let certificates = "INSERT INTO certificate
        SELECT NULL, randomblob(16), role, issuer, name || i, origin, state, created, ends, revoked, reason,
            destination, carries_key, randomblob(20), replaces
        FROM n, certificate WHERE role = 'network-function'";
    let octets = "INSERT INTO certificate_der
        SELECT rowid, (SELECT der FROM certificate_der ORDER BY id DESC LIMIT 1) FROM certificate
        WHERE rowid NOT IN (SELECT id FROM certificate_der)";
    let invitations = "INSERT INTO invitation
        SELECT reference || i, secret, vendor || i, root, name, names, functions, profile, days, long_life,
            classical, created, expires, NULL, closed
        FROM n, invitation";
    let transaction = authority.records.begin().unwrap();
    for copy in [
        format!("{numbers} {certificates}"),
        octets.to_owned(),
        format!("{numbers} {invitations}"),
    ] {
        transaction.execute_batch(&copy).unwrap();
    }
    transaction.commit().unwrap();
}

/// Steps of each operation among so many certificates and twice as many invitations.
fn steps(count: usize) -> Vec<(&'static str, u64)> {
    let (_vendors, mut vendor) = authority(InitOptions::new(Algorithm::EcdsaP256));
    let shown = vendor.issue(&leaf("SN-0815"), now()).unwrap();
    let shown = ForeignCertificate::from_der(shown.certificate.der()).unwrap();
    let by_vendor = Invite {
        vendor: Some(Vendor {
            root: ForeignCertificate::from_der(vendor.root().der()).unwrap(),
            name: "SN-0815".to_owned(),
        }),
        ..invite("gnb")
    };
    let (_dir, mut authority) = authority(quick());
    authority.issue(&leaf("nrf"), now()).unwrap();
    let invitation = authority.invite(&invite("amf"), now()).unwrap();
    authority.invite(&by_vendor, now()).unwrap();
    fill(&mut authority, count);

    let counted = authority.records.count_steps();
    let mut all = Vec::new();
    let mut done = |what| all.push((what, counted.swap(0, Ordering::Relaxed)));
    authority.recover(now()).unwrap();
    done("recover");
    let first = authority.enrol(&invitation, &key(Algorithm::Ed25519), now()).unwrap();
    done("enrol");
    authority.update(first.serial, &key(Algorithm::Ed25519), now()).unwrap();
    done("update");
    assert!(authority.invitation_of_vendor(&shown, &[], now()).unwrap().is_some());
    done("invitation of a vendor's certificate");
    authority.invite(&by_vendor, now()).unwrap();
    done("invite");
    authority.issue(&leaf("smf"), now()).unwrap();
    done("issue");
    authority.published().unwrap();
    done("published");
    let serials: Vec<_> = authority
        .unaudited()
        .unwrap()
        .iter()
        .map(|entry| entry.serial)
        .collect();
    authority.audited(&serials).unwrap();
    done("audited");
    authority.revoke("smf", Reason::KeyCompromise, now()).unwrap();
    done("revoke");
    all
}

/// An enrolment took 5 ms at 20 certificates and 557 ms at 100,000. An invitation, and each message
/// with a vendor's certificate, read all invitations.
#[test]
fn work_of_an_enrolment_does_not_grow_with_certificates_and_invitations() {
    for ((what, few), (_, many)) in steps(FEW).into_iter().zip(steps(MANY)) {
        println!("{what}: {few} steps among {FEW}, {many} among {MANY}");
        assert!(
            few > 0 && 5 * many <= 6 * few,
            "{what}: {few} steps among {FEW}, {many} among {MANY}"
        );
    }
}

/// `ca list` reads each row once.
#[test]
fn work_of_a_list_of_all_certificates_grows_with_their_number() {
    let [few, many] = [FEW, MANY].map(|count| {
        let (_dir, mut authority) = authority(quick());
        authority.issue(&leaf("nrf"), now()).unwrap();
        fill(&mut authority, count);
        let steps = authority.records.count_steps();
        let mut entries = 0;
        let each = |_| -> Result<(), Error> {
            entries += 1;
            Ok(())
        };
        authority.records.each(each).unwrap();
        assert_eq!(entries, count + 2);
        steps.load(Ordering::Relaxed)
    });
    let times = (MANY / FEW) as u64;
    assert!(5 * many <= 6 * times * few, "{few} steps for {FEW}, {many} for {MANY}");
}
