use proptest::prelude::*;

use super::*;

const ROOTS: &str = "/cache/roots";

fn diagnosis(said: &str) -> Option<Error> {
    diagnose(said, "", Some("http://mirror.example/debian"), Path::new(ROOTS))
}

#[test]
fn words_of_debootstrap_become_causes() {
    let no_network =
        diagnosis("E: Failed getting release file http://mirror.example/debian/dists/trixie/Release").unwrap();
    assert!(matches!(no_network, Error::NoNetwork { .. }), "{no_network:?}");
    assert!(no_network.hint().unwrap().contains("BARTIZAN_DEBIAN_MIRROR"));
    let full = diagnosis("tar: ./usr/bin/tshark: Cannot write: No space left on device").unwrap();
    assert!(matches!(full, Error::DiskFull { .. }), "{full:?}");
    let unsigned = diagnosis("E: Release signed by unknown key (key id 123)").unwrap();
    assert!(unsigned.to_string().contains("debian-archive-keyring"), "{unsigned}");
    assert!(diagnosis("E: something else").is_none());
}

#[test]
fn mirror_is_debian_itself_and_not_its_security_archive() {
    let targets = "Debian|Debian-Security|http://a.example/debian-security\n\
        Example|Example|http://b.example/tools\nDebian|Debian|http://c.example/debian\n";
    assert_eq!(debian_site(targets).as_deref(), Some("http://c.example/debian"));
    assert_eq!(debian_site("Ubuntu|Ubuntu|http://d.example/ubuntu"), None);
}

#[test]
fn a_directory_without_a_fitting_stamp_is_not_a_lab_root() {
    let cache = tempfile::tempdir().unwrap();
    let of = |packages, besides| Blueprint {
        suite: "trixie",
        name: "trixie",
        version: 1,
        packages,
        besides,
        cache: cache.path().to_owned(),
    };
    let blueprint = of(&["openssl"], &[]);
    let root = blueprint.directory();
    fs::create_dir_all(root.join("var/lib/dpkg")).unwrap();
    assert!(blueprint.present().is_none());
    fs::write(
        root.join("var/lib/dpkg/status"),
        "Package: openssl\nStatus: install ok installed\nVersion: 3.5.7-1\n",
    )
    .unwrap();
    stamp(&root, &blueprint, BTreeMap::new(), None).unwrap();
    assert!(blueprint.present().is_some());
    let grown = of(&["curl", "openssl"], &[]);
    assert!(
        grown.present().is_none(),
        "a root with fewer packages than asked for is stale"
    );
    let besides = of(&["openssl"], &["libreswan"]);
    assert!(besides.present().is_none(), "so is one without what it has besides");
}

proptest! {
    #[test]
    fn no_text_makes_the_readers_panic(text: String) {
        let _ = diagnosis(&text);
        let _ = debian_site(&text);
    }
}
