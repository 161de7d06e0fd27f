use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use zeroize::Zeroizing;

use super::*;
use crate::records::{Reason, State};
use crate::{AlternativeName, Lifetime, LongLife, Name, Register, Serial, SigningRequest, files};

const DAY: Duration = Duration::from_secs(86_400);

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + DAY * 20_000
}

fn quick() -> InitOptions {
    InitOptions::new(Algorithm::Ed25519)
}

fn authority(options: InitOptions) -> (TempDir, Authority) {
    let dir = tempfile::tempdir().unwrap();
    let authority = Authority::init(&dir.path().join("ca"), options, now()).unwrap();
    (dir, authority)
}

fn leaf(name: &str) -> Leaf {
    Leaf::new(name).unwrap().dns(&format!("{name}.5gc")).unwrap()
}

fn renewal() -> Renewal {
    Renewal {
        key: RenewalKey::New,
        previous: Previous::Keep,
        lifetime: Lifetime::Days(90),
        long_life: LongLife::Refuse,
    }
}

fn request(name: &str) -> (SigningRequest, Signing) {
    let mut params = rcgen::CertificateParams::new(vec![format!("{name}.asked.5gc")]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = PrivateKey::generate(Algorithm::Ed25519).unwrap();
    let der = params.serialize_request(&key).unwrap();
    let signing = Signing {
        name: name.parse::<Name>().unwrap(),
        names: vec![AlternativeName::dns(&format!("{name}.5gc")).unwrap()],
        requested: RequestedNames::Ignore,
        functions: Vec::new(),
        lifetime: Lifetime::Days(30),
        long_life: LongLife::Refuse,
    };
    (SigningRequest::read(der.der()).unwrap(), signing)
}

/// The serial numbers on a revocation list, from its PEM.
fn listed(pem: &str) -> Vec<Serial> {
    use x509_parser::prelude::{CertificateRevocationList, FromDer};
    pem::parse_many(pem)
        .unwrap()
        .iter()
        .flat_map(|block| {
            let (_, list) = CertificateRevocationList::from_der(block.contents()).unwrap();
            list.iter_revoked_certificates()
                .map(|revoked| Serial::from_bytes(revoked.raw_serial()).unwrap())
                .collect::<Vec<_>>()
        })
        .collect()
}

fn list_numbers(pem: &str) -> Vec<u64> {
    use x509_parser::prelude::{CertificateRevocationList, FromDer};
    pem::parse_many(pem)
        .unwrap()
        .iter()
        .map(|block| {
            let (_, list) = CertificateRevocationList::from_der(block.contents()).unwrap();
            list.crl_number().unwrap().iter_u64_digits().next().unwrap()
        })
        .collect()
}

fn names_in(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_new_authority_is_whole_and_opens_again() {
    let (dir, authority) = authority(quick());
    let root = authority.root().clone();
    drop(authority);
    let path = dir.path().join("ca");
    assert_eq!(
        names_in(&path),
        ["ca.lock", "ca.sqlite", "crl.pem", "root.crt.pem", "root.key.pem"]
    );
    let again = Authority::open(&path, None, now()).unwrap();
    assert_eq!(again.root().der(), root.der());
}

#[test]
fn every_algorithm_issues_under_every_other() {
    for algorithm in Algorithm::ALL {
        let (_dir, mut authority) = authority(InitOptions::new(algorithm).with_intermediate(Algorithm::MlDsa44));
        assert_eq!(authority.root().algorithm(), algorithm);
        let issued = authority.issue(&leaf("nrf").algorithm(algorithm), now()).unwrap();
        assert_eq!(issued.certificate().algorithm(), algorithm);
        assert_eq!(issued.key().unwrap().public_key(), issued.certificate().public_key());
        assert_eq!(pem::parse_many(issued.chain_pem()).unwrap().len(), 2);
    }
}

#[test]
fn the_key_of_a_leaf_is_of_the_issuers_kind_where_none_is_asked_for() {
    let (_dir, mut authority) = authority(quick().with_intermediate(Algorithm::MlDsa65));
    let issued = authority.issue(&leaf("nrf"), now()).unwrap();
    assert_eq!(issued.certificate().algorithm(), Algorithm::MlDsa65);
}

#[test]
fn an_authority_is_never_made_over_another() {
    let (dir, authority) = authority(quick());
    drop(authority);
    let again = Authority::init(&dir.path().join("ca"), quick(), now());
    assert!(matches!(again, Err(Error::AuthorityExists(_))));
}

#[test]
fn a_key_that_lost_its_records_is_not_overwritten() {
    let (dir, authority) = authority(quick());
    drop(authority);
    let path = dir.path().join("ca");
    fs::remove_file(path.join("ca.sqlite")).unwrap();
    let key = fs::read(path.join("root.key.pem")).unwrap();
    assert!(matches!(
        Authority::init(&path, quick(), now()),
        Err(Error::RecordsLost { .. })
    ));
    assert!(matches!(
        Authority::open(&path, None, now()),
        Err(Error::RecordsLost { .. })
    ));
    assert_eq!(fs::read(path.join("root.key.pem")).unwrap(), key);
}

#[test]
fn an_authority_that_was_made_but_not_moved_is_finished_on_opening() {
    let (dir, authority) = authority(quick());
    let root = authority.root().clone();
    drop(authority);
    let path = dir.path().join("ca");
    let complete = path.join("init.complete");
    fs::create_dir(&complete).unwrap();
    for file in ["ca.sqlite", "crl.pem"] {
        fs::rename(path.join(file), complete.join(file)).unwrap();
    }
    assert_eq!(Register::open(&path).unwrap().root().unwrap().der(), root.der());
    assert!(!complete.exists());
}

#[test]
fn a_half_made_authority_is_named_and_cleared_away_by_the_next_attempt() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("init.partial")).unwrap();
    fs::write(dir.path().join("init.partial/root.key.pem"), "half").unwrap();
    assert!(matches!(
        Authority::open(dir.path(), None, now()),
        Err(Error::Unfinished(_))
    ));
    Authority::init(dir.path(), quick(), now()).unwrap();
    assert!(!dir.path().join("init.partial").exists());
}

#[test]
fn a_second_process_waits_and_is_told() {
    let (dir, _held) = authority(quick());
    let second = Layout::new(&dir.path().join("ca")).lock();
    assert!(matches!(second, Err(Error::Busy(_))));
}

#[test]
fn keys_under_a_passphrase_open_with_it_only() {
    let passphrase = Passphrase::new(Zeroizing::new("correct horse".to_owned())).unwrap();
    let wrong = Passphrase::new(Zeroizing::new("battery staple".to_owned())).unwrap();
    let mut options = quick().with_intermediate(Algorithm::Ed25519);
    options.passphrase = Some(passphrase.clone());
    let (dir, authority) = authority(options);
    drop(authority);
    let path = dir.path().join("ca");
    for key in ["root.key.pem", "intermediate.key.pem"] {
        assert!(fs::read_to_string(path.join(key)).unwrap().contains("ENCRYPTED"));
    }
    assert!(matches!(
        Authority::open(&path, None, now()),
        Err(Error::PassphraseNeeded(_))
    ));
    assert!(matches!(
        Authority::open(&path, Some(&wrong), now()),
        Err(Error::WrongPassphrase(_))
    ));
    let mut authority = Authority::open(&path, Some(&passphrase), now()).unwrap();
    authority.revoke("intermediate", Reason::Superseded, now()).unwrap();
    // The register needs no passphrase.
    assert_eq!(Register::open(&path).unwrap().entries().unwrap().len(), 2);
}

#[test]
fn a_key_of_another_authority_is_refused() {
    let (dir, first) = authority(quick());
    let (other, second) = authority(quick());
    drop((first, second));
    fs::copy(other.path().join("ca/root.key.pem"), dir.path().join("ca/root.key.pem")).unwrap();
    let opened = Authority::open(&dir.path().join("ca"), None, now());
    assert!(matches!(opened, Err(Error::KeyMismatch { .. })));
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
    assert_eq!(authority.show("nrf").unwrap().state(), State::Issued);
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
    assert!(matches!(foreign, Err(Error::FileExists(path)) if path.ends_with("ca.crt.pem")));
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
    assert_eq!(issued.certificate().not_after(), now() - DAY);
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
        issued.certificate().names(),
        [
            "DNS:nrf.5gc",
            "IP:10.0.0.2",
            "IP:2001:db8::2",
            "URI:urn:uuid:4947a69a-f61b-4bc1-b9da-47c9c5d14b64"
        ]
    );
    assert_eq!(issued.certificate().functions(), ["NRF", "SCP"]);
}

#[test]
fn a_revoked_certificate_is_on_the_next_list_and_list_numbers_grow() {
    let (dir, mut authority) = authority(quick());
    let issued = authority.issue(&leaf("nrf"), now()).unwrap();
    assert_eq!(listed(&authority.crl().unwrap()), []);
    let revoked = authority.revoke("nrf", Reason::KeyCompromise, now()).unwrap();
    assert_eq!((revoked.serial, revoked.list_number), (issued.serial(), 2));
    assert_eq!(listed(&authority.crl().unwrap()), [issued.serial()]);
    let written = fs::read_to_string(dir.path().join("ca/crl.pem")).unwrap();
    assert_eq!(written, authority.crl().unwrap());
    authority.refresh_lists(7, now()).unwrap();
    assert_eq!(list_numbers(&authority.crl().unwrap()), [3]);
    assert!(matches!(
        authority.revoke(&issued.serial().to_string(), Reason::Unspecified, now()),
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
    assert_eq!(listed(&authority.crl().unwrap()), [issued.serial(), revoked.serial]);
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
    assert_eq!(authority.show("intermediate").unwrap().state(), State::Issued);
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
    assert_eq!(authority.crl_next_update().unwrap(), Some(now() + DAY * 11));
}

#[test]
fn two_certificates_of_one_name_are_revoked_by_serial_number() {
    let (_dir, mut authority) = authority(quick());
    let first = authority.issue(&leaf("nrf"), now()).unwrap();
    authority.issue(&leaf("nrf"), now()).unwrap();
    let ambiguous = authority.revoke("nrf", Reason::Superseded, now());
    assert!(matches!(ambiguous, Err(Error::SeveralCertificates { serials, .. }) if serials.len() == 2));
    authority
        .revoke(&first.serial().to_string(), Reason::Superseded, now())
        .unwrap();
    authority.revoke("nrf", Reason::Superseded, now()).unwrap();
}

#[test]
fn a_renewed_certificate_has_the_old_names_and_a_new_key() {
    let (dir, mut authority) = authority(quick());
    let out = Destination::new(&dir.path().join("out"));
    let mut leaf = leaf("nrf").ip("10.0.0.2").unwrap();
    leaf.functions = vec!["NRF".parse().unwrap()];
    let old = authority.issue_to(&leaf, &out, now()).unwrap();
    let new = authority.renew("nrf", &renewal(), Some(&out), now()).unwrap();
    assert_eq!(new.certificate().names(), old.certificate().names());
    assert_eq!(new.certificate().functions(), ["NRF"]);
    assert_ne!(new.certificate().public_key(), old.certificate().public_key());
    let key = PrivateKey::from_pem(&fs::read(out.dir.join("nrf.key.pem")).unwrap(), None).unwrap();
    assert_eq!(key.public_key(), new.certificate().public_key());
    let entry = authority.show("nrf").unwrap();
    assert_eq!(entry.replaces(), Some(old.serial()));
    assert!(authority.show(&old.serial().to_string()).unwrap().is_valid_at(now()));
}

#[test]
fn a_renewal_can_keep_the_key_and_revoke_the_old_certificate() {
    let (dir, mut authority) = authority(quick());
    let out = Destination::new(&dir.path().join("out"));
    let old = authority.issue_to(&leaf("nrf"), &out, now()).unwrap();
    let key = fs::read(out.dir.join("nrf.key.pem")).unwrap();
    let same = Renewal {
        key: RenewalKey::Same,
        previous: Previous::Revoke,
        ..renewal()
    };
    let new = authority.renew("nrf", &same, Some(&out), now()).unwrap();
    assert_eq!(new.certificate().public_key(), old.certificate().public_key());
    assert_eq!(fs::read(out.dir.join("nrf.key.pem")).unwrap(), key);
    assert_eq!(listed(&authority.crl().unwrap()), [old.serial()]);
}

#[test]
fn a_certificate_is_not_put_beside_the_key_of_another() {
    let (dir, mut authority) = authority(quick());
    let out = Destination::new(&dir.path().join("out"));
    let old = authority.issue(&leaf("nrf"), now()).unwrap();
    authority.issue_to(&leaf("nrf"), &out, now()).unwrap();
    let same = Renewal {
        key: RenewalKey::Same,
        ..renewal()
    };
    let replace = Destination {
        overwrite: Overwrite::Replace,
        ..out
    };
    let renewed = authority.renew(&old.serial().to_string(), &same, Some(&replace), now());
    assert!(matches!(renewed, Err(Error::KeyMismatch { .. })));
}

#[test]
fn a_signed_request_gets_only_the_names_it_was_granted() {
    let (dir, mut authority) = authority(quick());
    let out = Destination::new(&dir.path().join("out"));
    let (asked, mut signing) = request("amf");
    let issued = authority.sign_to(&asked, &signing, &out, now()).unwrap();
    assert_eq!(issued.certificate().names(), ["DNS:amf.5gc"]);
    assert_eq!(names_in(&out.dir), ["amf.crt.pem", "ca.crt.pem"]);
    let (_, parsed) = x509_parser::parse_x509_certificate(issued.certificate().der()).unwrap();
    assert!(!parsed.is_ca(), "a request to be an authority is not granted");

    signing.requested = RequestedNames::Accept;
    let issued = authority.sign(&asked, &signing, now()).unwrap();
    assert_eq!(issued.certificate().names(), ["DNS:amf.5gc", "DNS:amf.asked.5gc"]);
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
        key: RenewalKey::Same,
        ..renewal()
    };
    let new = authority.renew("amf", &same, None, now()).unwrap();
    assert_eq!(new.certificate().public_key(), old.certificate().public_key());
}

/// A certificate as a crash after step 1 leaves it.
fn pending(authority: &mut Authority, out: &Destination) -> (Entry, PrivateKey) {
    let key = PrivateKey::generate(Algorithm::Ed25519).unwrap();
    let leaf = leaf("nrf");
    let order = issue::Order {
        name: "nrf",
        names: &leaf.names,
        functions: &[],
        key: key.public_key(),
        lifetime: leaf.lifetime,
        long_life: LongLife::Refuse,
        origin: crate::Origin::Generated,
        carries_key: true,
        replaces: None,
    };
    let entry = authority.certify(&order, Some(out), now()).unwrap();
    authority.record(&entry).unwrap();
    files::create_directory(&out.dir).unwrap();
    (entry, key)
}

fn reopen(authority: Authority) -> Authority {
    let path: PathBuf = authority.layout.dir().to_owned();
    drop(authority);
    Authority::open(&path, None, now() + DAY).unwrap()
}

#[test]
fn a_certificate_whose_key_died_with_the_process_is_revoked() {
    let (dir, mut authority) = authority(quick());
    let out = Destination::new(&dir.path().join("out"));
    let (entry, key) = pending(&mut authority, &out);
    let hidden = files::staging_path(&out.dir.join("nrf.key.pem"), &entry.serial.to_string());
    fs::write(&hidden, &key.to_pem().as_bytes()[..60]).unwrap();
    let authority = reopen(authority);
    let found = authority.show("nrf").unwrap();
    assert_eq!(found.state(), State::Abandoned);
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
    let authority = reopen(authority);
    assert_eq!(authority.show("nrf").unwrap().state(), State::Issued);
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
    assert_eq!(authority.show("nrf").unwrap().state(), State::Issued);
}

#[test]
fn a_destination_that_cannot_be_written_leaves_an_abandoned_record_and_no_key() {
    let (dir, mut authority) = authority(quick());
    // Directories where the files should be: renaming onto them fails whoever runs the test.
    let out = Destination {
        dir: dir.path().join("out"),
        overwrite: Overwrite::Replace,
    };
    fs::create_dir_all(out.dir.join("nrf.key.pem/x")).unwrap();
    assert!(authority.issue_to(&leaf("nrf"), &out, now()).is_err());
    assert_ne!(authority.show("nrf").unwrap().state(), State::Issued);
}

#[test]
fn a_lost_certificate_file_is_written_again_from_the_records() {
    let (dir, mut authority) = authority(quick().with_intermediate(Algorithm::Ed25519));
    let out = Destination::new(&dir.path().join("out"));
    authority.issue_to(&leaf("nrf"), &out, now()).unwrap();
    let written = fs::read(out.dir.join("nrf.crt.pem")).unwrap();
    fs::remove_file(out.dir.join("nrf.crt.pem")).unwrap();
    let register = Register::open(authority.layout.dir()).unwrap();
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
fn records_of_a_newer_version_are_not_touched() {
    let (dir, authority) = authority(quick());
    drop(authority);
    let path = dir.path().join("ca");
    let records = rusqlite::Connection::open(path.join("ca.sqlite")).unwrap();
    records.pragma_update(None, "user_version", 2).unwrap();
    drop(records);
    assert!(matches!(
        Authority::open(&path, None, now()),
        Err(Error::RecordsVersion { found: 2, .. })
    ));
}

#[test]
fn the_database_itself_refuses_a_serial_number_twice() {
    let (dir, mut authority) = authority(quick());
    let out = Destination::new(&dir.path().join("out"));
    let (entry, _) = pending(&mut authority, &out);
    assert!(matches!(authority.record(&entry), Err(Error::Records(_))));
}

#[test]
fn an_authority_is_made_from_an_existing_key() {
    let key = PrivateKey::generate(Algorithm::MlDsa44).unwrap();
    let public = key.public_key().clone();
    let mut options = InitOptions::new(Algorithm::MlDsa44);
    options.root_key = Some(key);
    let (_dir, authority) = authority(options);
    assert_eq!(authority.root().public_key(), &public);
}

#[test]
fn two_authorities_never_have_the_same_name() {
    let (_one, first) = authority(quick());
    let (_two, second) = authority(quick());
    assert_ne!(first.root().subject(), second.root().subject());
}
