//! Tokens of SoftHSM in the directory of a test.

use std::process::Command;

use super::{Place, Said, said};

/// Path of the module in Debian's package.
pub(crate) const MODULE: &str = "/usr/lib/softhsm/libsofthsm2.so";
pub(crate) const PIN: &str = "1234";

impl Place {
    /// Makes a token; the first one makes its directory and configuration too.
    pub(crate) fn token(&self, label: &str) {
        std::fs::create_dir_all(self.path("tokens")).expect("a directory");
        let configuration = format!(
            "directories.tokendir = {}\nobjectstore.backend = file\nlog.level = ERROR\n",
            self.path("tokens").display()
        );
        std::fs::write(self.path("softhsm2.conf"), configuration).expect("written");
        self.softhsm(&format!(
            "--init-token --free --label {label} --pin {PIN} --so-pin 12345678"
        ));
    }

    /// Runs SoftHSM's own program.
    pub(crate) fn softhsm(&self, arguments: &str) -> String {
        let ran = self.with_token("softhsm2-util", arguments);
        assert_eq!(ran.code, 0, "softhsm2-util {arguments}: {ran:?}");
        ran.out
    }

    /// Runs OpenSC's program, logged in.
    pub(crate) fn pkcs11_tool(&self, arguments: &str) -> Said {
        self.with_token(
            "pkcs11-tool",
            &format!("--module {MODULE} --login --pin {PIN} {arguments}"),
        )
    }

    fn with_token(&self, program: &str, arguments: &str) -> Said {
        let ran = Command::new(program)
            .args(arguments.split_whitespace())
            .current_dir(self.dir.path())
            .env("SOFTHSM2_CONF", self.path("softhsm2.conf"))
            .output();
        said(ran.unwrap_or_else(|error| panic!("{program}: {error}: scripts/setup test installs it")))
    }

    /// `bartizan ca` with a PIN for the tokens.
    pub(crate) fn ca_by_pin(&self, arguments: &str, pin: &str) -> Said {
        let ran = self.command(arguments).env("BARTIZAN_CA_PIN", pin).output();
        said(ran.expect("the binary runs"))
    }

    /// The same with the right PIN, which must succeed.
    pub(crate) fn token_works(&self, arguments: &str) -> String {
        let said = self.ca_by_pin(arguments, PIN);
        assert_eq!(said.code, 0, "bartizan ca {arguments}: {said:?}");
        said.out
    }
}
