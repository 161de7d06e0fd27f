//! Common parts of the tests of `bartizan ca`: the binary under test, and OpenSSL of the lab root
//! to judge it.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use bartizan_host::LabRoot;

pub(crate) mod nss;
pub(crate) mod softhsm;

/// Long enough for a machine that builds something else during the tests.
const PATIENCE: Duration = bartizan_testing::PATIENCE;

pub(crate) const ALGORITHMS: [&str; 6] = [
    "ml-dsa-44",
    "ml-dsa-65",
    "ml-dsa-87",
    "ecdsa-p256",
    "ecdsa-p384",
    "ed25519",
];

/// A directory for one test, with the two programs.
pub(crate) struct Place {
    dir: tempfile::TempDir,
    root: Option<LabRoot>,
}

/// Exit and output of a program.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    /// A place without OpenSSL.
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
            root: None,
        }
    }

    /// A place with OpenSSL, in memory where the machine has such a place. A process that is killed
    /// loses nothing the kernel has taken already, so that it does not matter where the files lie,
    /// and nothing waits for a disk.
    pub(crate) fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        match tempfile::tempdir_in(memory) {
            Ok(dir) => Self {
                dir,
                ..Self::with_openssl()
            },
            Err(_) => Self::with_openssl(),
        }
    }

    /// A place with the OpenSSL of the lab root.
    pub(crate) fn with_openssl() -> Self {
        let root = LabRoot::trixie().expect("a cache directory").present();
        Self {
            root: Some(root.expect("no lab root: scripts/prepare-root builds it, and `make test` does so first")),
            ..Self::new()
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bartizan"));
        command
            .arg("ca")
            .args(arguments.split_whitespace())
            .current_dir(self.dir.path())
            .env_remove("BARTIZAN_CA_PASSPHRASE")
            .env_remove("BARTIZAN_CA_PIN")
            .env("SOFTHSM2_CONF", self.path("softhsm2.conf"))
            .stdin(std::process::Stdio::null());
        command
    }

    /// Runs `bartizan ca` in the directory.
    pub(crate) fn ca(&self, arguments: &str) -> Said {
        said(self.command(arguments).output().expect("the binary runs"))
    }

    /// Runs `bartizan ca` and wants it to succeed.
    pub(crate) fn ca_works(&self, arguments: &str) -> String {
        let said = self.ca(arguments);
        assert_eq!(said.code, 0, "bartizan ca {arguments}: {said:?}");
        said.out
    }

    /// Runs OpenSSL in the directory.
    pub(crate) fn openssl(&self, arguments: &str) -> Said {
        self.tool("openssl", arguments)
    }

    /// Runs a program of the lab root in the directory.
    pub(crate) fn tool(&self, program: &str, arguments: &str) -> Said {
        let root = self.root.as_ref().expect("a place with a lab root");
        let finished = root
            .command(program)
            .expect("the lab root has it")
            .arguments(arguments.split_whitespace())
            .directory(self.dir.path())
            .run(PATIENCE);
        match finished {
            Ok(finished) => Said {
                code: 0,
                out: String::from_utf8_lossy(&finished.stdout).into_owned(),
                err: String::from_utf8_lossy(&finished.stderr).into_owned(),
            },
            Err(bartizan_host::Error::Failed { status, tail, .. }) => Said {
                code: status.code().unwrap_or(-1),
                out: String::new(),
                err: tail,
            },
            Err(other) => panic!("{program} {arguments}: {other}"),
        }
    }

    /// Starts OpenSSL in the directory.
    pub(crate) fn openssl_in_background(&self, arguments: &str) -> bartizan_host::Process {
        let root = self.root.as_ref().expect("a place with OpenSSL");
        root.command("openssl")
            .expect("the lab root has OpenSSL")
            .arguments(arguments.split_whitespace())
            .directory(self.dir.path())
            .start()
            .expect("it starts")
    }

    /// Runs OpenSSL and wants it to succeed.
    pub(crate) fn openssl_works(&self, arguments: &str) -> String {
        let said = self.openssl(arguments);
        assert_eq!(said.code, 0, "openssl {arguments}: {said:?}");
        said.out
    }
}

impl AsRef<Path> for Place {
    fn as_ref(&self) -> &Path {
        self.dir.path()
    }
}

fn said(output: Output) -> Said {
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
