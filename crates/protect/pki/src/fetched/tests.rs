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

    fn renew(&self, text: impl AsRef<[u8]>) -> Result<Renewed, String> {
        let root = self.authority.root().to_pem();
        let trusted = (root.as_bytes(), self.own.as_bytes());
        renew_lists(&self.file(), text.as_ref(), trusted, now() + DAY)
    }

    fn renewed(&self, text: impl AsRef<[u8]>) {
        let in_order = Renewed {
            pause: LONGEST,
            flaw: None,
            is_behind: false,
        };
        assert_eq!(self.renew(text), Ok(in_order));
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
    place.renewed(&before);
    assert!(!place.revokes());
    place
        .authority
        .revoke("amf", Reason::KeyCompromise, now() + DAY / 12)
        .unwrap();
    let after = place.lists(2);
    place.renewed(&after);
    assert!(place.revokes());

    let file = fs::read(place.file()).unwrap();
    let refused = place.renew(&before).unwrap_err();
    assert!(refused.contains("holds an older revocation list"), "{refused}");
    // One that leaves the issuer's list out does not take it away.
    let blocks = pem::parse_many(&after).unwrap();
    let of_root = blocks.iter().filter(|block| block.tag() == LABEL).nth(1).unwrap();
    place.renewed(of_root.contents());
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

/// A service with one root did not start while the authority had two.
#[test]
fn a_list_that_is_not_in_order_is_reported_next_to_those_that_are() {
    let (mut place, mut foreign) = (Place::new(), Place::new());
    let good = place.lists(1);
    let renewed = place.renew(foreign.lists(1) + &good).unwrap();
    assert!(!renewed.is_behind);
    let flaw = renewed.flaw.unwrap();
    assert!(flaw.contains("no authority that is trusted here has signed"), "{flaw}");
    let file = fs::read(place.file()).unwrap();
    assert_eq!(RevocationList::all_of(&file).len(), 2);

    let begins = place.lists(48);
    let renewed = place.renew(&begins).unwrap();
    assert!(renewed.is_behind);
    let flaw = renewed.flaw.unwrap();
    assert!(flaw.contains("is not current"), "{flaw}");
    assert_ne!(fs::read(place.file()).unwrap(), file);
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let mut place = Place::new();
    let lists = place.lists(1);
    let root = place.authority.root().to_pem();
    let nowhere = place.directory.path().join("absent/crl.pem");
    let failed = renew_lists(&nowhere, lists.as_bytes(), (root.as_bytes(), b""), now() + DAY).unwrap_err();
    assert!(failed.contains("absent"), "{failed}");
    // A service that may not write there fails before a newer list comes: here, as no other name
    // fits next to this one.
    place.renew(&lists).unwrap();
    let full = place.directory.path().join("a".repeat(250));
    fs::copy(place.file(), &full).unwrap();
    let trusted = (root.as_bytes(), place.own.as_bytes());
    let failed = renew_lists(&full, lists.as_bytes(), trusted, now() + DAY).unwrap_err();
    assert!(failed.contains("create"), "{failed}");
}

/// Fetching took away what the node obeys: a revoked peer was accepted.
#[test]
fn lists_of_the_file_that_are_not_remembered_stay() {
    let (mut place, mut vendor, mut foreign) = (Place::new(), Place::new(), Place::new());
    // A distribution point gives lists without the certificates of their issuers.
    let vendors = RevocationList::read(vendor.lists(1).as_bytes()).unwrap();
    let vendors: String = vendors.iter().map(|list| to_pem(LABEL, list.der())).collect();
    let before = vendors + &foreign.lists(1) + &place.lists(1);
    fs::write(place.file(), &before).unwrap();
    let own = place.authority.root().to_pem();
    let roots = own.clone() + &vendor.authority.root().to_pem();
    let named = |text: &[u8]| -> Vec<_> {
        let lists = RevocationList::all_of(text).into_iter();
        let mut named: Vec<_> = lists
            .map(|list| format!("{} {}", list.issuer(), list.named()))
            .collect();
        named.sort();
        named
    };

    let newer = place.lists(2);
    let renew = |roots: &str| {
        let trusted = (roots.as_bytes(), place.own.as_bytes());
        let renewed = renew_lists(&place.file(), newer.as_bytes(), trusted, now() + DAY);
        assert_eq!(renewed.unwrap().flaw, None);
        fs::read(place.file()).unwrap()
    };
    let after = renew(&roots);
    let mut expected = named(before.as_bytes());
    let replacing = named(newer.as_bytes());
    expected.retain(|list| !replacing.contains(&list.replace("number 2", "number 3")));
    expected.extend(replacing);
    expected.sort();
    assert_eq!(expected.len(), 6);
    assert_eq!(named(&after), expected);
    let (had, has) = (certificates(before.as_bytes()), certificates(&after));
    assert!(had.iter().all(|certificate| has.contains(certificate)));
    // A service of the same host with other roots leaves the file as it is.
    assert!(renew(&own) == after);
}
