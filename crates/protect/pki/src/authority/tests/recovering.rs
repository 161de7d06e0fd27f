//! Files that a crash leaves, taken up by the next opening.

use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn a_certificate_whose_key_died_with_the_process_is_revoked() {
    let (dir, mut authority) = authority(quick());
    let out = Destination::new(&dir.path().join("out"));
    let (entry, key) = pending(&mut authority, &out);
    let hidden = files::staging_path(&out.dir.join("nrf.key.pem"), &entry.serial.to_string());
    fs::write(&hidden, &key.to_pem().as_bytes()[..60]).unwrap();
    let authority = reopen(authority);
    let found = authority.show("nrf").unwrap();
    assert_eq!(found.state, State::Abandoned);
    assert_eq!(listed(&authority.crl().unwrap()), [entry.serial]);
    assert_eq!(names_in(&out.dir), Vec::<String>::new());
}

#[test]
fn a_certificate_whose_key_was_written_is_delivered_by_the_next_opening() {
    let (dir, mut authority) = authority(quick());
    let out = Destination::new(&dir.path().join("out"));
    let (entry, key) = pending(&mut authority, &out);
    let hidden = files::staging_path(&out.dir.join("nrf.key.pem"), &entry.serial.to_string());
    fs::write(&hidden, key.to_pem().as_bytes()).unwrap();
    // The mode that was asked for it, which no record has.
    fs::set_permissions(&hidden, fs::Permissions::from_mode(0o640)).unwrap();
    let authority = reopen(authority);
    assert_eq!(authority.show("nrf").unwrap().state, State::Issued);
    let written = fs::metadata(out.dir.join("nrf.key.pem")).unwrap();
    assert_eq!(written.permissions().mode() & 0o777, 0o640);
    assert_eq!(names_in(&out.dir), ["ca.crt.pem", "nrf.crt.pem", "nrf.key.pem"]);
}

#[test]
fn a_half_replaced_pair_is_made_whole_by_the_next_opening() {
    let (dir, mut authority) = authority(quick());
    let out = Destination::new(&dir.path().join("out"));
    authority.issue_to(&leaf("nrf"), &out, now()).unwrap();
    let (entry, key) = pending(&mut authority, &out);
    // The new key took its name, the old certificate is still there.
    fs::write(out.dir.join("nrf.key.pem"), key.to_pem().as_bytes()).unwrap();
    let authority = reopen(authority);
    let chain = fs::read(out.dir.join("nrf.crt.pem")).unwrap();
    let certificate = Certificate::from_pem(&chain, "nrf").unwrap();
    assert_eq!(certificate.der(), entry.certificate.der());
    assert_eq!(authority.show("nrf").unwrap().state, State::Issued);
}

#[test]
fn a_destination_that_cannot_be_written_leaves_an_abandoned_record_and_no_key() {
    let (dir, mut authority) = authority(quick());
    // Directories where the files should be: renaming onto them fails for every user, root too.
    let out = Destination {
        overwrite: Overwrite::Replace,
        ..Destination::new(&dir.path().join("out"))
    };
    fs::create_dir_all(out.dir.join("nrf.key.pem/x")).unwrap();
    assert!(authority.issue_to(&leaf("nrf"), &out, now()).is_err());
    assert_ne!(authority.show("nrf").unwrap().state, State::Issued);
}

#[test]
fn a_lost_certificate_file_is_written_again_from_the_records() {
    let (dir, mut authority) = authority(quick().with_intermediate(Algorithm::Ed25519));
    let out = Destination::new(&dir.path().join("out"));
    authority.issue_to(&leaf("nrf"), &out, now()).unwrap();
    let written = fs::read(out.dir.join("nrf.crt.pem")).unwrap();
    fs::remove_file(out.dir.join("nrf.crt.pem")).unwrap();
    let register = Register::open(&authority.layout.dir).unwrap();
    register.export(&register.find("nrf").unwrap(), &out).unwrap();
    assert_eq!(fs::read(out.dir.join("nrf.crt.pem")).unwrap(), written);
}

#[test]
fn a_stale_list_file_is_replaced_on_opening() {
    let (dir, mut authority) = authority(quick());
    authority.issue(&leaf("nrf"), now()).unwrap();
    authority.revoke("nrf", Reason::Superseded, now()).unwrap();
    let list = dir.path().join("ca/crl.pem");
    fs::write(&list, "half").unwrap();
    let authority = reopen(authority);
    assert_eq!(fs::read_to_string(list).unwrap(), authority.crl().unwrap());
}

#[test]
fn the_database_itself_refuses_a_serial_number_twice() {
    let (dir, mut authority) = authority(quick());
    let out = Destination::new(&dir.path().join("out"));
    let (entry, _) = pending(&mut authority, &out);
    assert!(matches!(authority.record(&entry), Err(Error::Records(_))));
}
