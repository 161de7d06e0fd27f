use bartizan_host::LabRoot;
use proptest::prelude::*;

use super::*;

const STATUS: &str = "Package: openssl\nStatus: install ok installed\nVersion: 3.5.7-1\nDescription: tools\n \
    Package: not-this\n\nPackage: half\nStatus: install ok half-configured\nVersion: 1\n";

#[test]
fn only_fully_installed_packages_count() {
    let packages = installed(STATUS);
    assert_eq!(
        packages.into_iter().collect::<Vec<_>>(),
        [("openssl".to_owned(), "3.5.7-1".to_owned())]
    );
}

#[test]
fn stamp_is_refused_when_a_package_that_was_asked_for_is_missing() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("var/lib/dpkg")).unwrap();
    fs::write(root.path().join("var/lib/dpkg/status"), STATUS).unwrap();
    let asked = |packages| Blueprint {
        suite: "trixie",
        name: "trixie",
        version: 1,
        packages,
        besides: &[],
        cache: root.path().to_owned(),
    };
    let error = stamp(root.path(), &asked(&["openssl", "half"]), BTreeMap::new(), None).unwrap_err();
    assert!(
        error.to_string().ends_with("the package half is not installed in it"),
        "{error}"
    );
    assert!(LabRoot::read(root.path()).is_none());
    let besides = BTreeMap::from([("libreswan".to_owned(), "5.2-2.5".to_owned())]);
    stamp(root.path(), &asked(&["openssl", "libreswan"]), besides, None).unwrap();
    let packages = LabRoot::read(root.path()).unwrap();
    assert!(
        packages
            .packages()
            .eq([("libreswan", "5.2-2.5"), ("openssl", "3.5.7-1")])
    );
}

proptest! {
    #[test]
    fn no_status_file_makes_the_reader_panic(status: String) {
        installed(&status);
    }
}
