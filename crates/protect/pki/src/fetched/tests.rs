use std::fs;
use std::path::PathBuf;

use super::*;
use crate::{Algorithm, Authority, InitOptions, Leaf, Reason};

const DAY: Duration = Duration::from_secs(86_400);

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + DAY * 20_000
}

/// An authority with an intermediate, and a relying party below it.
struct Place {
    directory: tempfile::TempDir,
    authority: Authority,
    own: String,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = InitOptions::new(Algorithm::EcdsaP256).with_intermediate(Algorithm::MlDsa44);
        let mut authority = Authority::init(&directory.path().join("ca"), options, now()).unwrap();
        let leaf = Leaf::new("amf").unwrap().dns("amf.test").unwrap();
        let own = authority.issue(&leaf, now()).unwrap().chain_pem();
        Self {
            directory,
            authority,
            own,
        }
    }

    fn lists(&mut self, hours: u32) -> String {
        self.authority.refresh_lists(7, now() + DAY / 24 * hours).unwrap()
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("crl.pem")
    }

    fn renew(&self, text: impl AsRef<[u8]>) -> Result<Duration, String> {
        let root = self.authority.root().to_pem();
        let trusted = (root.as_bytes(), self.own.as_bytes());
        renew_lists(&self.file(), text.as_ref(), trusted, now() + DAY)
    }

    fn revokes(&self) -> bool {
        let leaf = pem::parse(&self.own).unwrap();
        let lists = RevocationList::read(&fs::read(self.file()).unwrap()).unwrap();
        lists.iter().any(|list| list.revokes(leaf.contents()))
    }
}

#[test]
fn a_newer_list_takes_the_place_of_the_file_and_an_older_one_does_not() {
    let mut place = Place::new();
    let before = place.lists(1);
    assert_eq!(place.renew(&before), Ok(LONGEST));
    assert!(!place.revokes());
    place
        .authority
        .revoke("amf", Reason::KeyCompromise, now() + DAY / 12)
        .unwrap();
    let after = place.lists(2);
    assert_eq!(place.renew(&after), Ok(LONGEST));
    assert!(place.revokes());

    let file = fs::read(place.file()).unwrap();
    let refused = place.renew(&before).unwrap_err();
    assert!(refused.contains("holds an older revocation list"), "{refused}");
    // One that leaves the issuer's list out does not take it away.
    let blocks = pem::parse_many(&after).unwrap();
    let of_root = blocks.iter().filter(|block| block.tag() == LABEL).nth(1).unwrap();
    assert_eq!(place.renew(of_root.contents()), Ok(LONGEST), "in DER");
    assert!(place.revokes());
    assert_eq!(fs::read(place.file()).unwrap(), file);
}

#[test]
fn a_text_that_no_trusted_authority_has_signed_leaves_the_file_as_it_is() {
    let (mut place, mut foreign) = (Place::new(), Place::new());
    let (lists, theirs) = (place.lists(1), foreign.lists(20));
    place.renew(&lists).unwrap();
    let file = fs::read(place.file()).unwrap();
    let mut forged = pem::parse(place.lists(20)).unwrap().into_contents();
    *forged.last_mut().unwrap() ^= 1;
    let many = foreign.own.repeat(40) + &theirs;
    for (text, cause) in [
        (
            theirs.into_bytes(),
            "no authority that is trusted here has signed the list of",
        ),
        (forged, "no authority that is trusted here has signed the list of"),
        (many.into_bytes(), "more than 64 certificates and lists"),
        (b"<html>".to_vec(), "holds no revocation list"),
        (Vec::new(), "holds no revocation list"),
    ] {
        let refused = place.renew(text).unwrap_err();
        assert!(refused.contains(cause), "{refused}");
        assert_eq!(fs::read(place.file()).unwrap(), file);
    }
}

#[test]
fn a_list_that_is_not_current_is_kept_and_reported() {
    let mut place = Place::new();
    let begins = place.lists(48);
    let reported = place.renew(&begins).unwrap_err();
    assert!(reported.contains("is not current"), "{reported}");
    assert!(place.file().exists());
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let mut place = Place::new();
    let lists = place.lists(1);
    let root = place.authority.root().to_pem();
    let nowhere = place.directory.path().join("absent/crl.pem");
    let failed = renew_lists(&nowhere, lists.as_bytes(), (root.as_bytes(), b""), now() + DAY).unwrap_err();
    assert!(failed.contains("absent"), "{failed}");
}
