//! Making and opening an authority, and what the tests next to this one need.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use zeroize::Zeroizing;

use super::*;
use crate::records::{Reason, State};
use crate::{
    AlternativeName, Lifetime, Name, Passphrase, PrivateKey, Profile, Register, Serial, SigningRequest, files,
};

mod enrolling;
mod growth;
mod issuing;
mod recovering;
mod revoking;
mod succeeding;

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
        same_key: false,
        revoke_previous: false,
        lifetime: Lifetime::Days(90),
        long_life: false,
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
        accept_names: false,
        profile: Profile::default(),
        functions: Vec::new(),
        lifetime: Lifetime::Days(30),
        long_life: false,
    };
    (SigningRequest::read(der.der()).unwrap(), signing)
}

/// The serial numbers on a revocation list, from its PEM.
fn listed(pem: &str) -> Vec<Serial> {
    use x509_parser::prelude::{CertificateRevocationList, FromDer};
    pem::parse_many(pem)
        .unwrap()
        .iter()
        .filter(|block| block.tag() == "X509 CRL")
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
        .filter(|block| block.tag() == "X509 CRL")
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

/// A certificate as a crash after step 1 leaves it.
fn pending(authority: &mut Authority, out: &Destination) -> (Entry, PrivateKey) {
    let key = PrivateKey::generate(Algorithm::Ed25519).unwrap();
    let leaf = leaf("nrf");
    let order = issue::Order {
        name: "nrf",
        names: &leaf.names,
        functions: &[],
        profile: Profile::default(),
        key: key.public_key(),
        lifetime: leaf.lifetime,
        long_life: false,
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
    let path: PathBuf = authority.layout.dir.to_owned();
    drop(authority);
    Authority::open(&path, None, now() + DAY).unwrap()
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
fn a_second_process_waits_and_is_notified() {
    let (dir, _held) = authority(quick());
    let second = Layout::new(&dir.path().join("ca")).lock();
    assert!(matches!(second, Err(Error::Busy(_))));
}

#[test]
fn keys_under_a_passphrase_open_with_it_only() {
    let passphrase = Passphrase::new(Zeroizing::new("correct horse".to_owned())).unwrap();
    let wrong = Passphrase::new(Zeroizing::new("battery staple".to_owned())).unwrap();
    let mut options = quick().with_intermediate(Algorithm::Ed25519);
    options.secrets.passphrase = Some(passphrase.clone());
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
fn records_of_another_version_are_not_touched() {
    let (dir, authority) = authority(quick());
    drop(authority);
    let path = dir.path().join("ca");
    for other in [0, 2, 5] {
        let records = rusqlite::Connection::open(path.join("ca.sqlite")).unwrap();
        records.pragma_update(None, "user_version", other).unwrap();
        drop(records);
        let before = fs::read(path.join("ca.sqlite")).unwrap();
        let refused = Authority::open(&path, None, now());
        assert!(matches!(refused, Err(Error::RecordsVersion { found, .. }) if found == other));
        let refused = Register::open(&path);
        assert!(matches!(refused, Err(Error::RecordsVersion { found, .. }) if found == other));
        assert_eq!(fs::read(path.join("ca.sqlite")).unwrap(), before);
    }
}

#[test]
fn an_authority_under_a_passphrase_is_opened_again_without_it() {
    let passphrase = Passphrase::new(Zeroizing::new("passphrase".to_owned())).unwrap();
    let mut options = quick();
    options.secrets.passphrase = Some(passphrase.clone());
    let (dir, first) = authority(options);
    let (path, key) = (dir.path().join("ca"), first.opened_key());
    drop(first);
    assert!(matches!(
        Authority::open(&path, None, now()),
        Err(Error::PassphraseNeeded(_))
    ));
    let mut again = Authority::open_again(&path, None, &key, now()).unwrap();
    assert!(again.issue(&leaf("nrf"), now()).is_ok());
    drop(again);
    // A key that is not the issuer's is of no use.
    let other = OpenedKey(AuthorityKey::generate(Algorithm::Ed25519).unwrap());
    assert!(matches!(
        Authority::open_again(&path, None, &other, now()),
        Err(Error::PassphraseNeeded(_))
    ));
    assert!(Authority::open_again(&path, Some(&passphrase), &other, now()).is_ok());
}

#[test]
fn an_authority_is_made_from_an_existing_key() {
    let key = PrivateKey::generate(Algorithm::MlDsa44).unwrap();
    let public = key.public_key().clone();
    let mut options = InitOptions::new(Algorithm::MlDsa44);
    options.root_key = KeySource::File(std::sync::Arc::new(key));
    let (_dir, authority) = authority(options);
    assert_eq!(authority.root().public_key(), &public);
}

#[test]
fn two_authorities_never_have_the_same_name() {
    let (_one, first) = authority(quick());
    let (_two, second) = authority(quick());
    assert_ne!(first.root().subject(), second.root().subject());
}

#[test]
fn an_authority_is_made_and_opened_in_no_directory_that_others_may_write_to() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ca");
    fs::create_dir(&path).unwrap();
    let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    set(0o777);
    let refused = Authority::init(&path, quick(), now()).unwrap_err();
    assert!(refused.to_string().contains("chmod"), "{refused}");
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    set(0o755);
    drop(Authority::init(&path, quick(), now()).unwrap());
    set(0o777);
    assert!(Authority::open(&path, None, now()).is_err());
}
