//! Abilities of an installed wpa_supplicant: tested with configurations that it takes or refuses,
//! not guessed from its version.

use std::time::Duration;

use bartizan_host::Program;
use bartizan_registry::MacsecSuite;

use crate::Error;

/// Time limit for wpa_supplicant to read a configuration and end.
const PATIENCE: Duration = Duration::from_secs(30);
/// An interface that no host has: wpa_supplicant ends when it does not find it, and nothing is keyed.
pub(super) const NOWHERE: &str = "bartizan-none";

bartizan_registry::made! {
    /// Abilities of a wpa_supplicant.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Ability,
    /// Asks it. `program` makes one, without arguments.
    ///
    /// # Errors
    ///
    /// [`Error::Host`]: it is not there, or does not answer.
    pub ask(program: &dyn Fn() -> Program) -> Result<Self, Error> {
        let said = program().argument("-v").start()?.finish(PATIENCE)?.text();
        let version = said
            .split_whitespace()
            .find_map(|word| word.strip_prefix('v'))
            .unwrap_or("unknown")
            .to_owned();
        let (_, drivers) = {
            let asked = program().argument("-h").start()?.finish(PATIENCE)?;
            (asked.status, asked.text())
        };
        let driver = |line: &str| line.trim_start().starts_with(&format!("{DRIVER} ="));
        /// `2.10`.
        pub version: String,
        /// It has the driver that keys the kernel's MACsec.
        pub kernel_macsec: bool = drivers.lines().any(driver),
        /// Its key server can distribute keys of 256 bits (`macsec_csindex`, from 2.11 on):
        /// otherwise of 128 alone.
        pub keys_of_256_bits: bool = !answers(program, " key_mgmt=NONE\n macsec_csindex=1")?
            .contains("unknown network field 'macsec_csindex'"),
        /// It can be the peer of EAP-TLS.
        pub eap_tls: bool = !answers(program, " key_mgmt=IEEE8021X\n eap=TLS")?.contains("unknown EAP method 'TLS'"),
    }
}

impl Ability {
    /// Why it cannot be the peer of EAP-TLS; none where it can.
    pub fn lacks_eap(&self) -> Option<&'static str> {
        (!self.eap_tls).then_some("it was built without EAP-TLS (CONFIG_EAP_TLS)")
    }

    /// Why keys of a suite cannot be had from it; none where they can.
    #[must_use]
    pub fn lacks(&self, suite: &MacsecSuite) -> Option<&'static str> {
        if !self.kernel_macsec {
            Some("it was built without its driver for the kernel's MACsec (CONFIG_DRIVER_MACSEC_LINUX)")
        } else if suite.key > 16 && !self.keys_of_256_bits {
            Some("its key server distributes keys of 128 bits alone, whatever the CAK")
        } else {
            None
        }
    }
}

/// The driver of wpa_supplicant for the kernel's MACsec.
pub(super) const DRIVER: &str = "macsec_linux";

/// Its output for these lines of a network.
fn answers(program: &dyn Fn() -> Program, lines: &str) -> Result<String, Error> {
    let configuration = format!("ap_scan=0\nnetwork={{\n macsec_policy=1\n{lines}\n}}\n");
    let asked = program()
        .arguments(["-D", DRIVER, "-i", NOWHERE, "-c", STANDARD_INPUT])
        .text(&configuration)?
        .start()?
        .finish(PATIENCE)?;
    // It ends with 255 either way: there is no such interface.
    Ok(asked.text())
}

/// Standard input by a name that wpa_supplicant can open; /dev/stdin is not there everywhere.
pub(super) const STANDARD_INPUT: &str = "/proc/self/fd/0";

#[cfg(test)]
mod tests {
    use bartizan_registry::macsec_suite_named;

    use super::*;

    #[test]
    fn suite_that_cannot_be_had_is_refused_with_the_reason() {
        let suite = |name| macsec_suite_named(name).unwrap();
        let of_2_10 = Ability {
            version: "2.10".to_owned(),
            kernel_macsec: true,
            keys_of_256_bits: false,
            eap_tls: true,
        };
        assert_eq!(of_2_10.lacks_eap(), None);
        assert_eq!(of_2_10.lacks(suite("GCM-AES-128")), None);
        assert!(of_2_10.lacks(suite("GCM-AES-256")).unwrap().contains("128 bits alone"));
        let of_2_11 = Ability {
            keys_of_256_bits: true,
            ..of_2_10.clone()
        };
        assert_eq!(of_2_11.lacks(suite("GCM-AES-256")), None);
        let without = Ability {
            kernel_macsec: false,
            ..of_2_11
        };
        assert!(
            without
                .lacks(suite("GCM-AES-128"))
                .unwrap()
                .contains("without its driver")
        );
    }

    /// Answers of wpa_supplicant 2.10, by a program in its place.
    #[test]
    fn answers_of_2_10_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("answers");
        let text = "case \"$1\" in -v) echo 'wpa_supplicant v2.10';; -h) printf 'drivers:\\n  wired = Wired\\n  macsec_linux = MACsec\\n';;\n\
                    *) cat > /dev/null; echo \"Line 5: unknown network field 'macsec_csindex'.\"; exit 255;; esac\n";
        std::fs::write(&script, text).unwrap();
        let ability = Ability::ask(&|| Program::new("sh").argument(&script)).unwrap();
        assert_eq!(
            ability,
            Ability {
                version: "2.10".to_owned(),
                kernel_macsec: true,
                keys_of_256_bits: false,
                eap_tls: true,
            }
        );
    }
}
