//! A token that is lost between two signatures, with SoftHSM. Its configuration is read from the
//! environment, which a test must not change for others of its process: so each of these runs in a
//! process of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::session::UserType;
use cryptoki::types::AuthPin;
use zeroize::Zeroizing;

use super::*;

const MODULE: &str = "/usr/lib/softhsm/libsofthsm2.so";

/// Set in the process of a test's own only: where its tokens are.
const TOKENS: &str = "BARTIZAN_TOKENS";

/// Runs the test of this name in a process of its own, with a directory for its tokens; false in that process.
fn in_a_process_of_its_own(test: &str) -> bool {
    if std::env::var_os(TOKENS).is_some() {
        return false;
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("tokens")).unwrap();
    let configuration = dir.path().join("softhsm2.conf");
    std::fs::write(
        &configuration,
        format!("directories.tokendir = {}/tokens\n", dir.path().display()),
    )
    .unwrap();
    let ran = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("token::key::tests::{test}")])
        .env("SOFTHSM2_CONF", &configuration)
        .env(TOKENS, dir.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("1 passed"), "{test}: {said}");
    true
}

fn directory() -> PathBuf {
    std::env::var_os(TOKENS).expect("a test that another one runs").into()
}

/// SoftHSM's own program.
fn softhsm(arguments: &[&str]) {
    let ran = Command::new("softhsm2-util").args(arguments).output();
    let ran = ran.expect("no SoftHSM: scripts/setup test installs it");
    assert!(ran.status.success(), "{arguments:?}: {ran:?}");
}

fn initialise(pin: &str) {
    softhsm(&[
        "--init-token",
        "--free",
        "--label",
        "ca",
        "--pin",
        pin,
        "--so-pin",
        "12345678",
    ]);
}

fn pin(text: &str) -> Pin {
    Pin::new(Zeroizing::new(text.to_owned())).unwrap()
}

fn uri(rest: &str) -> Pkcs11Uri {
    format!("pkcs11:token=ca;object=root?module-path={MODULE}{rest}")
        .parse()
        .unwrap()
}

fn fault(result: Result<Vec<u8>, Error>) -> TokenFault {
    match result {
        Err(Error::Token { fault, .. }) => fault,
        other => panic!("{other:?}"),
    }
}

/// The library as another part of the process has it.
fn library() -> Pkcs11 {
    Pkcs11::new(Path::new(MODULE)).unwrap()
}

/// Does something with the session of a key.
fn with<T>(key: &TokenKey, what: impl FnOnce(&Open) -> Result<T, CryptokiError>) {
    what(key.session.lock().unwrap().as_ref().expect("a session")).unwrap();
}

fn log_out(key: &TokenKey) {
    with(key, |open| open.token.session.logout());
}

/// Gives the token of the only slot with one another PIN.
fn change_pin(old: &str, new: &str) {
    let (functions, [old, new]) = (library(), [old, new].map(AuthPin::from));
    let slot = functions.get_slots_with_initialized_token().unwrap()[0];
    let session = functions.open_rw_session(slot).unwrap();
    session.login(UserType::User, Some(&old)).unwrap();
    session.set_pin(&old, &new).unwrap();
    session.logout().unwrap();
}

#[test]
fn a_lost_session_is_opened_again_once() {
    if in_a_process_of_its_own("a_lost_session_is_opened_again_once") {
        return;
    }
    initialise("1234");
    let key = TokenKey::generate(&uri(""), Some(&pin("1234")), Algorithm::EcdsaP256).unwrap();
    let signs = |why: &str| {
        let signature = key.sign(b"message").unwrap_or_else(|error| panic!("{why}: {error}"));
        let verifies = key
            .public_key()
            .has_signed(Algorithm::EcdsaP256.signature_oid(), b"message", &signature);
        assert!(verifies, "{why}");
    };
    signs("at first");
    log_out(&key);
    signs("after CKR_USER_NOT_LOGGED_IN");
    with(&key, |open| {
        let mechanism = mechanism::signing(Algorithm::EcdsaP256);
        open.token.session.sign_init(&mechanism, open.key)
    });
    signs("after CKR_OPERATION_ACTIVE");
    library().finalize().unwrap();
    signs("after CKR_CRYPTOKI_NOT_INITIALIZED");
    library().finalize().unwrap();
    library()
        .initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK))
        .unwrap();
    signs("after CKR_SESSION_HANDLE_INVALID");
    // The token is taken away, and comes back.
    let (tokens, away) = (directory().join("tokens"), directory().join("away"));
    library().finalize().unwrap();
    std::fs::rename(&tokens, &away).unwrap();
    std::fs::create_dir(&tokens).unwrap();
    assert_eq!(fault(key.sign(b"message")), TokenFault::NoToken(Vec::new()));
    std::fs::remove_dir(&tokens).unwrap();
    std::fs::rename(&away, &tokens).unwrap();
    library().finalize().unwrap();
    signs("when the token is back");
}

/// Each opening of another key of the token tried it once more.
#[test]
fn a_pin_that_was_refused_is_tried_for_no_key_again() {
    if in_a_process_of_its_own("a_pin_that_was_refused_is_tried_for_no_key_again") {
        return;
    }
    initialise("1234");
    let file = directory().join("pin");
    std::fs::write(&file, "1234\n").unwrap();
    let uri = uri(&format!("&pin-source=file:{}", file.display()));
    let key = TokenKey::generate(&uri, None, Algorithm::EcdsaP384).unwrap();
    std::fs::write(&file, "9999\n").unwrap();
    key.sign(b"message").expect("the session needs no PIN");
    log_out(&key);
    let wrong = TokenFault::WrongPin("ca".to_owned());
    assert_eq!(fault(key.sign(b"message")), wrong);
    // It would be accepted: that it is not shows that nothing was tried.
    change_pin("1234", "9999");
    assert_eq!(fault(key.sign(b"message")), wrong);
    let other = TokenKey::open(&uri, None, key.public_key());
    assert_eq!(fault(other.map(|_| Vec::new())), wrong);
    std::fs::write(&file, "2345\n").unwrap();
    change_pin("9999", "2345");
    key.sign(b"message").expect("another PIN is tried");
}

#[test]
fn another_key_of_the_same_name_signs_nothing() {
    if in_a_process_of_its_own("another_key_of_the_same_name_signs_nothing") {
        return;
    }
    initialise("1234");
    let given = pin("1234");
    let key = TokenKey::generate(&uri(""), Some(&given), Algorithm::EcdsaP256).unwrap();
    let found = TokenKey::find(&uri(""), Some(&given)).unwrap_err();
    assert!(
        found.to_string().contains("no public key with the same CKA_ID"),
        "{found}"
    );
    library().finalize().unwrap();
    softhsm(&["--delete-token", "--token", "ca"]);
    initialise("1234");
    let other = TokenKey::generate(&uri(""), Some(&given), Algorithm::EcdsaP256).unwrap();
    assert_eq!(fault(key.sign(b"message")), TokenFault::OtherKey);
    assert!(TokenKey::open(&uri(""), Some(&given), key.public_key()).is_err());
    assert!(TokenKey::open(&uri(""), Some(&given), other.public_key()).is_ok());
}
