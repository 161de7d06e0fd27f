//! The token of NSS, which has ML-DSA: softoken of Debian sid, in a process that runs with that release's libraries.

use std::process::Command;

use bartizan_host::LabRoot;
use bartizan_testing::Build as _;

use super::{Place, Said, said};

const PIN: &str = "1234";

/// Loader and library folder of a release, for this machine.
const PLACES: [&str; 2] = if cfg!(target_arch = "aarch64") {
    ["lib/ld-linux-aarch64.so.1", "usr/lib/aarch64-linux-gnu"]
} else {
    ["lib64/ld-linux-x86-64.so.2", "usr/lib/x86_64-linux-gnu"]
};

pub(crate) struct Nss<'a> {
    place: &'a Place,
    root: LabRoot,
}

impl<'a> Nss<'a> {
    /// A new database, which is a token with the label that NSS gives it.
    pub(crate) fn new(place: &'a Place) -> Self {
        let root = LabRoot::sid()
            .and_then(|root| root.ensure(&mut |_| {}))
            .expect("the lab root sid");
        std::fs::create_dir(place.path("nss")).expect("a directory");
        std::fs::write(place.path("pin"), format!("{PIN}\n")).expect("written");
        let made = root
            .command("certutil")
            .expect("it comes with Libreswan")
            .arguments(["-N", "-d", "sql:nss", "-f", "pin"])
            .directory(place)
            .run(super::PATIENCE);
        made.expect("a database");
        Self { place, root }
    }

    /// The URI of a key.
    pub(crate) fn uri(&self, object: &str) -> String {
        let library = self.root.directory().join(PLACES[1]).join("libsoftokn3.so");
        format!(
            "pkcs11:token=NSS%20Certificate%20DB;object={object}?module-path={}",
            library.display()
        )
    }

    /// `bartizan ca` with the PIN.
    pub(crate) fn ca(&self, arguments: &str) -> Said {
        let [loader, libraries] = PLACES.map(|place| self.root.directory().join(place));
        let ran = Command::new(loader)
            .arg("--library-path")
            .arg(libraries)
            .args([env!("CARGO_BIN_EXE_bartizan"), "ca"])
            .args(arguments.split_whitespace())
            .current_dir(self.place)
            .env("NSS_LIB_PARAMS", "configDir=sql:nss")
            .env("BARTIZAN_CA_PIN", PIN)
            .stdin(std::process::Stdio::null())
            .output();
        said(ran.expect("the binary runs"))
    }

    pub(crate) fn works(&self, arguments: &str) -> String {
        let said = self.ca(arguments);
        assert_eq!(said.code, 0, "bartizan ca {arguments}: {said:?}");
        said.out
    }
}
