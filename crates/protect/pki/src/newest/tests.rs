use std::time::{Duration, SystemTime};

use super::*;
use crate::{Algorithm, Authority, InitOptions, Leaf, Reason};

const DAY: Duration = Duration::from_secs(86_400);

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + DAY * 20_000
}

/// An authority with an intermediate, and the certificate of `amf` below it.
struct Place {
    directory: tempfile::TempDir,
    authority: Authority,
    amf: Vec<Vec<u8>>,
}

fn ders(text: &str) -> Vec<Vec<u8>> {
    let blocks = pem::parse_many(text).unwrap().into_iter();
    blocks.map(pem::Pem::into_contents).collect()
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = InitOptions::new(Algorithm::EcdsaP256).with_intermediate(Algorithm::EcdsaP256);
        let mut authority = Authority::init(&directory.path().join("ca"), options, now()).unwrap();
        let leaf = Leaf::new("amf").unwrap().dns("amf.test").unwrap();
        let amf = ders(&authority.issue(&leaf, now()).unwrap().chain_pem());
        Self {
            directory,
            authority,
            amf,
        }
    }

    /// The lists after so many days.
    fn lists(&mut self, days: u32) -> Vec<RevocationList> {
        let text = self.authority.refresh_lists(7, now() + DAY * days).unwrap();
        RevocationList::read(text.as_bytes()).unwrap()
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("amf.crl.pem")
    }

    fn decide(&self, newest: &mut NewestLists, given: &[RevocationList], own: &[Vec<u8>]) -> InEffect {
        let own: Vec<&[u8]> = own.iter().map(Vec::as_slice).collect();
        newest.decide(given.to_vec(), &[self.authority.root().der()], &own)
    }
}

fn revokes(found: &InEffect, leaf: &[u8]) -> bool {
    found.lists.iter().any(|list| list.revokes(leaf))
}

#[test]
fn an_older_list_does_not_take_the_place_of_a_newer_one_in_the_process_and_after_a_restart() {
    let mut place = Place::new();
    let (before, leaf) = (place.lists(1), place.amf[0].clone());
    place
        .authority
        .revoke("amf", Reason::KeyCompromise, now() + DAY)
        .unwrap();
    let after = place.lists(1);

    let mut newest = NewestLists::remembered_in(Some(&place.file()), None).unwrap();
    assert!(!revokes(&place.decide(&mut newest, &before, &place.amf), &leaf));
    let found = place.decide(&mut newest, &after, &place.amf);
    assert!(revokes(&found, &leaf) && found.older.is_empty());
    newest.save().unwrap();

    let restarted = NewestLists::remembered_in(Some(&place.file()), None).unwrap();
    let elsewhere = NewestLists::remembered_in(None, Some(&newest)).unwrap();
    for mut newest in [newest, restarted, elsewhere] {
        let found = place.decide(&mut newest, &before, &place.amf);
        assert!(revokes(&found, &leaf));
        let older: Vec<_> = found.older.iter().map(ToString::to_string).collect();
        assert_eq!(older.len(), 2, "of the intermediate and of the root: {older:?}");
        assert!(older[0].contains("(number 2 of "), "{older:?}");
        // A file that lacks the list is older as well.
        let found = place.decide(&mut newest, &after[..0], &place.amf);
        assert!(revokes(&found, &leaf) && found.absent.len() == 2 && found.older.is_empty());
    }
    // Without a file nothing is left of it.
    let mut forgetful = NewestLists::default();
    assert!(!revokes(&place.decide(&mut forgetful, &before, &place.amf), &leaf));
}

#[test]
fn the_list_of_a_former_issuer_is_recognised_once_the_node_has_a_chain_of_the_new_one() {
    let mut place = Place::new();
    let (before, leaf, former) = (place.lists(1), place.amf[0].clone(), place.amf.clone());
    let mut newest = NewestLists::remembered_in(Some(&place.file()), None).unwrap();
    place.decide(&mut newest, &before, &former);
    newest.save().unwrap();

    place
        .authority
        .revoke("amf", Reason::KeyCompromise, now() + DAY)
        .unwrap();
    let after = place.lists(1);
    let mut newest = NewestLists::remembered_in(Some(&place.file()), None).unwrap();
    assert!(revokes(&place.decide(&mut newest, &after, &[]), &leaf));
    let found = place.decide(&mut newest, &before, &[]);
    assert!(revokes(&found, &leaf) && found.older.len() == 2, "{found:?}");
}

#[test]
fn the_list_of_an_issuer_that_no_chain_of_the_node_has_is_remembered_by_the_certificate_next_to_it() {
    let mut place = Place::new();
    let (before, leaf) = (place.lists(1), place.amf[0].clone());
    place
        .authority
        .revoke("amf", Reason::KeyCompromise, now() + DAY)
        .unwrap();
    let after = place.authority.refresh_lists(7, now() + DAY).unwrap();
    let older: String = before.iter().map(|list| to_pem(LABEL, list.der())).collect();
    let root = place.authority.root().der().to_vec();
    let read = |newest: &mut NewestLists, text: &str| {
        let found = newest.in_effect(text.as_bytes(), &[&root], &[]).unwrap();
        newest.save().unwrap();
        found
    };
    let mut newest = NewestLists::remembered_in(Some(&place.file()), None).unwrap();
    let found = read(&mut newest, &after);
    assert!(revokes(&found, &leaf) && found.unknown.is_empty(), "{found:?}");
    let mut restarted = NewestLists::remembered_in(Some(&place.file()), None).unwrap();
    for newest in [&mut newest, &mut restarted] {
        let found = read(newest, &older);
        assert!(revokes(&found, &leaf) && found.older.len() == 2, "{found:?}");
    }
    // Without it the list decides, and that it is not remembered is said.
    let mut newest = NewestLists::default();
    let found = read(&mut newest, &older);
    let unknown: Vec<_> = found.unknown.iter().map(ToString::to_string).collect();
    assert_eq!((found.lists.len(), unknown.len()), (2, 1), "that of the root is known");
    assert!(unknown[0].contains("an older list is accepted"), "{unknown:?}");
}

#[test]
fn lists_of_any_number_of_issuers_are_remembered_and_what_is_too_large_is_refused() {
    let place = Place::new();
    let mut newest = NewestLists::remembered_in(Some(&place.file()), None).unwrap();
    let (mut roots, mut text) = (Vec::new(), String::new());
    for number in 0..66 {
        let options = InitOptions::new(Algorithm::Ed25519);
        let directory = place.directory.path().join(number.to_string());
        let other = Authority::init(&directory, options, now()).unwrap();
        roots.push(other.root().der().to_vec());
        text += &other.crl().unwrap();
    }
    let roots: Vec<&[u8]> = roots.iter().map(Vec::as_slice).collect();
    let found = newest.in_effect(text.as_bytes(), &roots, &[]).unwrap();
    assert!(found.lists.len() == 66 && newest.lists.len() == 66);
    newest.save().unwrap();
    let held = fs::read(place.file()).unwrap();
    // More than a node's file may have, and more than is read again.
    let large = usize::try_from(LARGEST_LISTS).unwrap();
    newest.issuers = vec![vec![0x30; large]];
    newest.save().unwrap();
    assert!(fs::metadata(place.file()).unwrap().len() > LARGEST_LISTS);
    fs::write(place.file(), &held).unwrap();
    newest.issuers = vec![vec![0x30; 3 * large]];
    let error = newest.save().unwrap_err().to_string();
    assert!(error.contains("are remembered at most"), "{error}");
    assert_eq!(fs::read(place.file()).unwrap(), held);
}

#[test]
fn lists_that_no_trusted_issuer_has_signed_are_not_remembered() {
    let (mut place, mut other) = (Place::new(), Place::new());
    // The same names, another key: an authority that was made anew, or an impostor.
    other.lists(1);
    let (own, foreign) = (place.lists(1), other.lists(1));
    let mut newest = NewestLists::remembered_in(Some(&place.file()), None).unwrap();
    assert_eq!(place.decide(&mut newest, &foreign, &place.amf).lists.len(), 2);
    newest.save().unwrap();
    assert!(!place.file().exists());
    let found = place.decide(&mut newest, &own, &place.amf);
    assert!(found.older.is_empty() && found.lists.len() == 2);
    // Nor do those of an authority that is no longer trusted stay in effect.
    let found = other.decide(&mut newest, &foreign, &other.amf);
    assert!(found.absent.is_empty() && found.lists.len() == 2, "{found:?}");
}

#[test]
fn a_number_decides_before_a_date_and_of_two_lists_in_a_file_the_newest_alone() {
    let mut place = Place::new();
    // Signed with a clock that was ahead.
    let ahead = place.lists(300);
    let corrected = place.lists(2);
    assert!(corrected[0].is_newer_than(&ahead[0]) && ahead[0].is_of_the_future(now() + DAY * 2));
    let pem = |lists: &[RevocationList]| -> String { lists.iter().map(|list| to_pem(LABEL, list.der())).collect() };
    for text in [pem(&ahead) + &pem(&corrected), pem(&corrected) + &pem(&ahead)] {
        let read = RevocationList::read(text.as_bytes()).unwrap();
        let ders: Vec<_> = read.iter().map(RevocationList::der).collect();
        assert_eq!(ders.len(), 2);
        assert!(corrected.iter().all(|list| ders.contains(&list.der())));
    }
}

#[test]
fn a_file_that_holds_something_else_is_refused_and_not_overwritten() {
    let place = Place::new();
    std::fs::write(place.file(), "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n").unwrap();
    let error = NewestLists::remembered_in(Some(&place.file()), None)
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("cannot use ") && error.contains("list 1 cannot be used"),
        "{error}"
    );
    std::fs::remove_file(place.file()).unwrap();
    std::fs::create_dir(place.file()).unwrap();
    let error = NewestLists::remembered_in(Some(&place.file()), None)
        .unwrap_err()
        .to_string();
    assert!(error.ends_with("not a file"), "{error}");
}

/// A start with the clock at 1970 dropped the lists of all issuers that were known by certificates
/// next to them, and saved the rest: the older list was accepted once the clock was set.
#[test]
fn no_date_decides_which_lists_are_remembered() {
    // The issuers have ended, and their time is still to come.
    for day in [1_000, 40_000] {
        let at = SystemTime::UNIX_EPOCH + DAY * day;
        let directory = tempfile::tempdir().unwrap();
        let options = InitOptions::new(Algorithm::EcdsaP256).with_intermediate(Algorithm::EcdsaP256);
        let mut authority = Authority::init(&directory.path().join("ca"), options, at).unwrap();
        let root = authority.root().der().to_vec();
        let [older, newer] = [(); 2].map(|()| authority.refresh_lists(7, at).unwrap());
        let file = directory.path().join("remembered");
        for (given, refused) in [(newer.as_str(), 0), (older.as_str(), 2), (older.as_str(), 2)] {
            let mut newest = NewestLists::remembered_in(Some(&file), None).unwrap();
            let found = newest.in_effect(given.as_bytes(), &[&root], &[]).unwrap();
            assert_eq!((found.older.len(), found.unknown.len()), (refused, 0), "{found:?}");
            newest.save().unwrap();
        }
    }
}
