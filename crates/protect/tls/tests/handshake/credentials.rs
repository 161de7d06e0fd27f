//! Files that are loaded, and files that are refused with a sentence and a hint.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use bartizan_deployment::{CertificateFiles, Files};
use bartizan_pki::{Algorithm, InitOptions, Leaf, Reason};
use bartizan_registry::SignatureScheme;
use bartizan_tls::{Credentials, Error, Weight};
use proptest::prelude::*;
use rcgen::{PKCS_ECDSA_P256_SHA256, PKCS_ML_DSA_65};
use tempfile::TempDir;
use time::OffsetDateTime;

use crate::authority::{Authority, Wanted, dns};

/// Files of a node called nrf.
struct Laid {
    directory: TempDir,
    files: Files,
}

fn laid() -> Laid {
    let authority = Authority::root("root", &PKCS_ML_DSA_65);
    let issued = authority.issue(Wanted::named([dns("nrf")]));
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        bartizan_pki::write_secret_file(&path, text.as_bytes()).unwrap();
        path
    };
    let list = authority.list(&[], OffsetDateTime::from_unix_timestamp(2_000_000_000).unwrap());
    let files = Files {
        certificates: vec![CertificateFiles {
            certificate: write("nrf.crt.pem", &issued.certificate),
            key: write("nrf.key.pem", &issued.key),
        }],
        roots: write("ca.crt.pem", authority.trusted()),
        crl: Some(write("ca.crl.pem", &list)),
        crl_url: None,
        known_lists: None,
    };
    Laid { directory, files }
}

#[test]
fn the_files_of_a_node_are_loaded() {
    let laid = laid();
    let credentials = Credentials::load(&laid.files).unwrap();
    assert_eq!(credentials.own()[0].chain()[0].names, ["dns:nrf"]);
    assert_eq!(credentials.own()[0].chain()[0].public_key, "id-ml-dsa-65");
    assert_eq!(credentials.own()[0].scheme(), SignatureScheme::MLDSA65);
    let due = credentials.revocation_due().unwrap();
    assert_eq!(
        due.duration_since(std::time::UNIX_EPOCH).unwrap(),
        Duration::from_secs(2_000_000_000)
    );
    assert!(!format!("{credentials:?}").contains("PRIVATE"));
}

/// A key of mode 0600 was taken from a folder in which every user can put another in its place.
#[test]
fn a_folder_of_keys_that_every_user_may_write_in_is_warned_of() {
    let laid = laid();
    let of_folder = || -> Vec<Weight> {
        let flaws = Credentials::load(&laid.files).unwrap().flaws(&[], SystemTime::now());
        let folder = laid.directory.path().to_str().unwrap();
        let found = flaws.iter().filter(|flaw| flaw.place == folder);
        found.map(|flaw| flaw.weight).collect()
    };
    assert_eq!(of_folder(), []);
    fs::set_permissions(laid.directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(of_folder(), [Weight::Warning]);
}

#[test]
fn the_key_of_stateless_resets_is_that_of_the_private_key() {
    let (ours, others) = (laid(), laid());
    let signed = |files: &Files| {
        let mut signature = [0; 32];
        let key = Credentials::load(files).unwrap().reset_key();
        key.sign(b"connection", &mut signature);
        signature
    };
    assert_eq!(signed(&ours.files), signed(&ours.files));
    assert_ne!(signed(&ours.files), signed(&others.files));
}

#[test]
fn a_missing_file_is_named() {
    let laid = laid();
    for part in 0..4 {
        let mut files = laid.files.clone();
        let gone = laid.directory.path().join("gone.pem");
        match part {
            0 => files.certificates[0].certificate.clone_from(&gone),
            1 => files.certificates[0].key.clone_from(&gone),
            2 => files.roots.clone_from(&gone),
            _ => files.crl = Some(gone.clone()),
        }
        let error = Credentials::load(&files).unwrap_err();
        assert!(
            matches!(&error, Error::Unreadable { file, .. } if *file == gone),
            "{error}"
        );
        assert!(error.hint().is_some());
    }
}

#[test]
fn a_directory_in_the_place_of_a_file_is_named() {
    let laid = laid();
    let mut files = laid.files.clone();
    files.certificates[0].key = laid.directory.path().to_owned();
    assert!(
        Credentials::load(&files)
            .unwrap_err()
            .to_string()
            .contains("not a file")
    );
}

/// Files of nrf by an authority of this project, and its lists before and after it has revoked amf.
fn with_lists() -> (Laid, [String; 2]) {
    let mut laid = laid();
    let (ca, now) = (laid.directory.path().join("ca"), SystemTime::now());
    let mut authority = bartizan_pki::Authority::init(&ca, InitOptions::new(Algorithm::MlDsa65), now).unwrap();
    let mut issue = |name: &str| {
        authority
            .issue(&Leaf::new(name).unwrap().dns(name).unwrap(), now)
            .unwrap()
    };
    let (nrf, _) = (issue("nrf"), issue("amf"));
    fs::write(&laid.files.certificates[0].certificate, nrf.chain_pem()).unwrap();
    fs::write(&laid.files.certificates[0].key, nrf.key_pem().unwrap()).unwrap();
    fs::write(&laid.files.roots, nrf.root_pem()).unwrap();
    let before = authority.crl().unwrap();
    authority.revoke("amf", Reason::KeyCompromise, now).unwrap();
    laid.files.known_lists = Some(laid.directory.path().join("nrf.tls.crl.pem"));
    (laid, [before, authority.crl().unwrap()])
}

#[test]
fn an_older_revocation_list_is_refused_and_reported_in_the_process_and_after_a_restart() {
    let (laid, [before, after]) = with_lists();
    let write = |text: &str| fs::write(laid.files.crl.as_ref().unwrap(), text).unwrap();
    write(&after);
    let first = Credentials::load(&laid.files).unwrap();
    first.remember_lists().unwrap();
    write(&before);
    let restarted = || Credentials::load(&laid.files);
    for credentials in [first.load_again(&laid.files).unwrap(), restarted().unwrap()] {
        let [older] = credentials.older_lists() else {
            panic!("{:?}", credentials.older_lists());
        };
        assert!(older.given.starts_with("number 1 of ") && older.known.starts_with("number 2 of "));
        let flaws = credentials.flaws(&[], SystemTime::now());
        assert_eq!((flaws.len(), flaws[0].weight), (1, Weight::Warning), "{flaws:?}");
        assert!(flaws[0].cause.contains("the newer one stays in effect"), "{flaws:?}");
    }
    // The newest again: all is well.
    write(&after);
    assert_eq!(restarted().unwrap().flaws(&[], SystemTime::now()), []);
    // Without a file a restart knows of nothing.
    let mut files = laid.files.clone();
    files.known_lists = None;
    write(&before);
    assert!(Credentials::load(&files).unwrap().older_lists().is_empty());
}

/// The error of a node one of whose files holds this text.
fn said(part: impl Fn(&Files) -> PathBuf, text: &str) -> String {
    let laid = laid();
    fs::write(part(&laid.files), text).unwrap();
    let error = Credentials::load(&laid.files).unwrap_err();
    let text = format!("{error}\nhint: {}", error.hint().unwrap());
    text.replace(laid.directory.path().to_str().unwrap(), "DIR")
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_what_to_do() {
    let certificate = |files: &Files| files.certificates[0].certificate.clone();
    let key = |files: &Files| files.certificates[0].key.clone();
    let roots = |files: &Files| files.roots.clone();
    let crl = |files: &Files| files.crl.clone().unwrap();
    let other = Authority::root("root", &PKCS_ML_DSA_65).issue(Wanted::named([dns("nrf")]));
    let classical = Authority::root("root", &PKCS_ECDSA_P256_SHA256).issue(Wanted::named([dns("nrf")]));
    let rubbish = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let bad_key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    // ML-DSA-65, a seed without its tag: some releases of OpenSSL write it.
    let bare = "-----BEGIN PRIVATE KEY-----\nMDICAQAwCwYJYIZIAWUDBAMSBCAHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBw==\n-----END PRIVATE KEY-----\n";
    let bad_list = "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n";
    for (said, cause, hint) in [
        (
            said(certificate, ""),
            "DIR/nrf.crt.pem: holds no certificate",
            "DER is not read",
        ),
        (
            said(certificate, rubbish),
            "DIR/nrf.crt.pem: the first certificate is not a certificate",
            "leaf first",
        ),
        (
            said(certificate, "-----BEGIN CERTIFICATE-----\n!"),
            "DIR/nrf.crt.pem: is not PEM",
            "BEGIN CERTIFICATE",
        ),
        (
            said(key, ""),
            "DIR/nrf.key.pem: holds no private key",
            "BEGIN PRIVATE KEY",
        ),
        (
            said(key, encrypted),
            "DIR/nrf.key.pem: the key is encrypted",
            "openssl pkey",
        ),
        (
            said(key, bad_key),
            "DIR/nrf.key.pem: the key cannot be read: ",
            "PKCS#8",
        ),
        (
            said(key, bare),
            "DIR/nrf.key.pem: the key cannot be read: ml-dsa-65 key is a bare seed",
            "PKCS#8",
        ),
        (
            said(key, &other.key),
            "DIR/nrf.key.pem: the key is not the one of the certificate in DIR/nrf.crt.pem",
            "written together",
        ),
        (
            said(key, &classical.key),
            "DIR/nrf.key.pem: the key is not the one of the certificate",
            "written together",
        ),
        (said(roots, ""), "DIR/ca.crt.pem: holds no certificate", "ca.crt.pem"),
        (
            said(roots, rubbish),
            "DIR/ca.crt.pem: certificate 1 is not a certificate",
            "roots",
        ),
        (
            said(crl, ""),
            "DIR/ca.crl.pem: holds no revocation list",
            "bartizan ca crl",
        ),
        (
            said(crl, bad_list),
            "DIR/ca.crl.pem: list 1 cannot be used",
            "bartizan ca crl",
        ),
    ] {
        let (error, reported) = said.split_once("\nhint: ").unwrap();
        assert!(error.starts_with(cause), "{error}");
        assert!(reported.contains(hint), "{reported}");
    }
}

#[test]
fn a_key_of_a_kind_no_policy_names_is_refused_with_its_name() {
    let authority = Authority::root("root", &PKCS_ML_DSA_65);
    let mut wanted = Wanted::named([dns("nrf")]);
    wanted.algorithm = Some(&rcgen::PKCS_ECDSA_P521_SHA512);
    let issued = authority.issue(wanted);
    let (certificate, key) = (issued.certificate.as_bytes(), issued.key.as_bytes());
    let error = Credentials::from_pem(certificate, key, authority.trusted().as_bytes(), None).unwrap_err();
    assert!(error.to_string().contains("P-521"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_bytes_in_any_file_make_it_panic(
        part in 0usize..4,
        at in 0usize..20_000,
        bytes in prop::collection::vec(any::<u8>(), 0..64),
        keep in any::<bool>(),
    ) {
        use std::sync::LazyLock;
        static GOOD: LazyLock<[Vec<u8>; 4]> = LazyLock::new(|| {
            let laid = laid();
            let files = &laid.files;
            [&files.certificates[0].certificate, &files.certificates[0].key, &files.roots, files.crl.as_ref().unwrap()].map(|path| fs::read(path).unwrap())
        });
        let mut parts = GOOD.clone();
        let text = &mut parts[part];
        let start = at.min(text.len());
        let end = (start + bytes.len()).min(text.len());
        text.splice(start..end, bytes);
        if !keep { text.truncate(start) }
        let _ = Credentials::from_pem(&parts[0], &parts[1], &parts[2], Some(&parts[3]));
    }

    #[test]
    fn no_der_behind_good_pem_makes_it_panic(
        part in 0usize..4,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        use std::sync::LazyLock;
        static GOOD: LazyLock<[pem::Pem; 4]> = LazyLock::new(|| {
            let laid = laid();
            let files = &laid.files;
            [&files.certificates[0].certificate, &files.certificates[0].key, &files.roots, files.crl.as_ref().unwrap()]
                .map(|path| pem::parse(fs::read(path).unwrap()).unwrap())
        });
        let mut parts = GOOD.clone();
        let mut der = parts[part].contents().to_vec();
        for (index, byte) in flips {
            let at = index.index(der.len());
            der[at] = byte;
        }
        parts[part] = pem::Pem::new(parts[part].tag(), der);
        let armoured = parts.map(|part| pem::encode(&part).into_bytes());
        let _ = Credentials::from_pem(&armoured[0], &armoured[1], &armoured[2], Some(&armoured[3]));
    }
}
