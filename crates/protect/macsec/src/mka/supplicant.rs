//! wpa_supplicant as the MKA entity of a port: its configuration, its start and end, and what a successor finds of it.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bartizan_host::{Daemon, Program, private_directory};
use bartizan_registry::NamedGroup;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::ability::{Ability, DRIVER, STANDARD_INPUT};
use super::{Cak, Ckn, EapPeer, Library};
use crate::Error;
use crate::boot::Boot;
use crate::kernel::{Confidentiality, Replay, Settings};

/// Time limit of its start, on a machine that is busy.
const START: Duration = Duration::from_secs(30);
/// Time limit of its end: it removes its associations from the kernel.
const END: Duration = Duration::from_secs(3);
/// Octets of its log: any host on the wire can have it write errors.
const LONGEST_LOG: u64 = 1 << 20;
/// Octets at the end of the log that say why it did not start.
const LAST_WORDS: u64 = 2048;
/// Octets of the log that are read at once.
const NEW_WORDS: u64 = 64 * 1024;
/// Events of its log: EAP ended well, and with a failure. A failure follows at once where a
/// certificate is refused.
const SUCCESS: &str = "CTRL-EVENT-EAP-SUCCESS ";
const FAILURES: [&str; 2] = ["CTRL-EVENT-EAP-FAILURE ", "CTRL-EVENT-EAP-TLS-CERT-ERROR "];

/// Which end is the key server of MKA: that with the lower number (IEEE 802.1X, clause 9.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// This end, unless the other has a lower number still.
    KeyServer,
    /// The other end.
    Other,
}

impl Role {
    const fn priority(self) -> u8 {
        match self {
            Self::KeyServer => 0x10,
            Self::Other => 0x20,
        }
    }
}

/// Origin of the CAK that wpa_supplicant begins with.
#[derive(Debug, Clone, Copy)]
pub enum KeyedBy<'a> {
    /// It is given one.
    Cak(&'a Cak),
    /// It derives one when it is authenticated.
    Eap(&'a EapPeer),
}

/// wpa_supplicant at one port.
#[derive(Debug)]
pub struct Supplicant {
    program: Option<PathBuf>,
    port: String,
    settings: Settings,
    role: Role,
    /// The number of the MACsec device.
    device: u32,
    directory: PathBuf,
    /// Its OpenSSL, where it is authenticated by it.
    library: Option<Library>,
    running: Option<Running>,
    /// Groups that EAP-TLS can have used: its OpenSSL was allowed no other. Empty where a predecessor started it.
    groups: Vec<NamedGroup>,
    /// Octets of the log that were read.
    read: u64,
    /// The log has a success, behind which no failure stands yet.
    succeeded: bool,
}

/// Stored state of a running wpa_supplicant. It contains no key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Running {
    daemon: Daemon,
    /// The name of its CAK; none where it derives one by EAP.
    ckn: Option<Ckn>,
    /// The number of the device that it keys: one that was made anew is another.
    device: u32,
    /// Seconds since the kernel started.
    since_s: u64,
}

impl Running {
    /// Reads the stored state. None if it does not run any more.
    fn read(place: &Path) -> Option<Self> {
        let file = File::open(place).ok()?;
        let running: Self = serde_json::from_reader(file.take(LAST_WORDS)).ok()?;
        running.daemon.is_alive().then_some(running)
    }
}

impl Supplicant {
    /// For a port; what a successor must know is kept in `directory`, which is private to this user. `program` is a path, where it is not that of
    /// the system, and `eap` what it is to be authenticated with, where it is.
    ///
    /// # Errors
    ///
    /// [`Error::Incapable`], and where there is none or the directory cannot be made.
    pub fn new(
        port: &str,
        settings: Settings,
        role: Role,
        device: u32,
        directory: &Path,
        program: Option<PathBuf>,
        eap: Option<&EapPeer>,
    ) -> Result<Self, Error> {
        private_directory(directory)?;
        let mut supplicant = Self {
            program,
            port: port.to_owned(),
            settings,
            role,
            device,
            directory: directory.to_owned(),
            library: None,
            running: None,
            groups: Vec::new(),
            read: 0,
            succeeded: false,
        };
        let ability = Ability::ask(&|| supplicant.program())?;
        if let Some(reason) = ability.lacks(settings.suite) {
            return Err(Error::Incapable {
                version: ability.version,
                suite: settings.suite.name,
                reason,
            });
        }
        if let Some(peer) = eap {
            let lacks = |reason: String| Error::IncapableOfEap {
                version: ability.version.clone(),
                reason,
            };
            if let Some(reason) = ability.lacks_eap().or_else(|| peer.lacks()) {
                return Err(lacks(reason.to_owned()));
            }
            let library = Library::of(&|| supplicant.program(), &peer.names())?;
            let library = library.ok_or_else(|| lacks("it is not linked with OpenSSL".to_owned()))?;
            if peer.openssl(&|name| library.knows(name)).is_none() {
                let version = &library.version;
                return Err(lacks(format!(
                    "{version}, which it uses, has no group or no signature of the policy"
                )));
            }
            supplicant.library = Some(library);
        }
        Ok(supplicant)
    }

    fn program(&self) -> Program {
        match &self.program {
            Some(path) => Program::new(path).package("wpasupplicant"),
            None => Self::of_system(),
        }
    }

    /// The one of the system.
    pub fn of_system() -> Program {
        Program::of_system("wpa_supplicant").package("wpasupplicant")
    }

    /// Takes over what a predecessor left running at this device: the name of its CAK, where it was given one, and for how long it runs.
    pub fn adopt(&mut self) -> Option<(Option<Ckn>, Duration)> {
        let running = self.left().filter(|running| running.device == self.device)?;
        let age = Boot::now().since_s.saturating_sub(running.since_s);
        let ckn = running.ckn.clone();
        self.running = Some(running);
        self.read = fs::metadata(self.place("log")).map_or(0, |known| known.len());
        Some((ckn, Duration::from_secs(age)))
    }

    /// A predecessor's wpa_supplicant, if it still runs.
    fn left(&self) -> Option<Running> {
        Running::read(&self.place("json"))
    }

    /// Ends what a controller that is gone left running at a port.
    pub fn end_left(directory: &Path, port: &str) {
        let place = |ending: &str| directory.join(format!("{port}.mka.{ending}"));
        if let Some(running) = Running::read(&place("json")) {
            running.daemon.end(END);
        }
        for ending in ["json", "pid"] {
            let _ = fs::remove_file(place(ending));
        }
    }

    /// Returns true if it runs.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.daemon.is_alive())
    }

    /// Groups that EAP-TLS can have used; none where that is not known.
    pub(crate) fn groups(&self) -> &[NamedGroup] {
        &self.groups
    }

    /// Its process id, while it runs.
    pub fn id(&self) -> Option<u32> {
        let running = self.running.as_ref().filter(|running| running.daemon.is_alive());
        running.map(|running| running.daemon.id())
    }

    /// Starts it. It outlives this process. A CAK reaches it through memory, not by a file, and is wiped here; its private key it reads itself.
    ///
    /// # Errors
    ///
    /// [`Error::Supplicant`], with its last words.
    pub fn start(&mut self, by: KeyedBy<'_>) -> Result<(), Error> {
        self.stop();
        let (log, pid) = (self.place("log"), self.place("pid"));
        let io = |action: &str, path: &Path| {
            let action = format!("{action} {}", path.display());
            |source| bartizan_host::Error::Io { action, source }
        };
        // Its umask is not ours to choose: the file is there before it is.
        let made = File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&log);
        made.map_err(io("making", &log))?;
        self.read = 0;
        let configuration = configuration(&self.settings, self.role, by);
        let mut program = self.program();
        if let KeyedBy::Eap(peer) = by {
            // It holds no secret, and is not read again.
            let place = self.place("openssl.cnf");
            let knows = |name: &str| self.library.as_ref().is_some_and(|library| library.knows(name));
            // Once an exception has ended, nothing may be left: then there is no way to
            // authenticate.
            let (text, groups) = peer
                .openssl(&knows)
                .ok_or_else(|| Error::Supplicant("its OpenSSL has nothing that the policy admits today".to_owned()))?;
            fs::write(&place, text).map_err(io("writing", &place))?;
            self.groups = groups;
            program = program.environment("OPENSSL_CONF", place);
        }
        let program = program
            .arguments(["-B", "-t", "-D", DRIVER, "-i", &self.port, "-c", STANDARD_INPUT, "-P"])
            .argument(&pid)
            .argument("-f")
            .argument(&log)
            .text(&configuration)?;
        let daemon = program.daemonize(&pid, START).map_err(|error| {
            Error::Supplicant(match last_words(&log) {
                said if said.is_empty() => error.to_string(),
                said => said,
            })
        })?;
        let running = Running {
            daemon,
            ckn: match by {
                KeyedBy::Cak(cak) => Some(cak.ckn.clone()),
                KeyedBy::Eap(_) => None,
            },
            device: self.device,
            since_s: Boot::now().since_s,
        };
        let (next, place) = (self.place("json.next"), self.place("json"));
        let text = serde_json::to_vec(&running).expect("numbers and a text");
        fs::write(&next, text)
            .and_then(|()| fs::rename(&next, &place))
            .map_err(io("writing", &place))?;
        self.running = Some(running);
        Ok(())
    }

    /// Ends it, also one of a predecessor's. It removes its associations from the kernel where it is not killed.
    pub fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.daemon.end(END);
        }
        Self::end_left(&self.directory, &self.port);
    }

    /// Keeps its log from growing without bound.
    pub fn bound_log(&mut self) {
        let log = self.place("log");
        if fs::metadata(&log).is_ok_and(|known| known.len() > LONGEST_LOG)
            && let Ok(file) = File::options().write(true).open(&log)
        {
            // It appends: what comes next stands at the beginning, and is read from there also where
            // it is more by then than was read before.
            if file.set_len(0).is_ok() {
                self.read = 0;
            }
        }
    }

    /// Ends of EAP, by wpa_supplicant's own log: true if one was a success that stood last when this
    /// was called before, and if one since was a failure.
    ///
    /// Names in a certificate that is about to be refused stand in the log as they came, with the
    /// ends of lines in them: such a success has a failure right behind it.
    pub fn ends_of_eap(&mut self) -> [bool; 2] {
        let mut read = || {
            let mut file = File::open(self.place("log")).ok()?;
            // One that was cut begins anew.
            if file.metadata().ok()?.len() < self.read {
                self.read = 0;
            }
            file.seek(SeekFrom::Start(self.read)).ok()?;
            let mut bytes = Vec::new();
            file.take(NEW_WORDS).read_to_end(&mut bytes).ok()?;
            // The rest of a line comes later; one that is longer than any is passed over.
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            let whole = if bytes.len() as u64 == NEW_WORDS {
                bytes.len()
            } else {
                whole
            };
            bytes.truncate(whole);
            self.read += whole as u64;
            Some(bytes)
        };
        let log = read().unwrap_or_default();
        // Time and port stand before the event; texts of certificates stand behind others.
        let log = String::from_utf8_lossy(&log);
        let said = || {
            log.lines()
                .filter_map(|line| line.split_once(": ").map(|(_, said)| said))
        };
        let port = format!("{}: ", self.port);
        let (earlier, mut failed) = (std::mem::take(&mut self.succeeded), false);
        for event in said().filter_map(|said| said.strip_prefix(&*port)) {
            if event.starts_with(SUCCESS) {
                self.succeeded = true;
            } else if FAILURES.iter().any(|failure| event.starts_with(failure)) {
                (self.succeeded, failed) = (false, true);
            }
        }
        [earlier && !failed, failed]
    }

    /// Path of a file of the port.
    fn place(&self, ending: &str) -> PathBuf {
        self.directory.join(format!("{}.mka.{ending}", self.port))
    }
}

/// wpa_supplicant's configuration, with its one secret.
fn configuration(settings: &Settings, role: Role, by: KeyedBy<'_>) -> Zeroizing<String> {
    // Longer than it gets with a CAK: a text that grows leaves copies behind.
    let mut text = Zeroizing::new(String::with_capacity(1024));
    let mut line = |words: &[&str]| {
        for word in words {
            text.push_str(word);
        }
        text.push('\n');
    };
    let integrity_alone = match settings.confidentiality {
        Confidentiality::Encrypted => "0",
        Confidentiality::IntegrityOnly => "1",
    };
    let management = match by {
        KeyedBy::Cak(_) => "NONE",
        KeyedBy::Eap(_) => "IEEE8021X",
    };
    line(&[
        "eapol_version=3\nap_scan=0\nfast_reauth=0\nnetwork={\n key_mgmt=",
        management,
    ]);
    line(&[" eapol_flags=0\n macsec_policy=1\n macsec_port=1"]);
    line(&[" macsec_integ_only=", integrity_alone]);
    match settings.replay {
        Replay::Window(window) => line(&[" macsec_replay_protect=1\n macsec_replay_window=", &window.to_string()]),
        Replay::Unprotected => line(&[" macsec_replay_protect=0"]),
    }
    if settings.suite.key > 16 {
        line(&[" macsec_csindex=1"]);
    }
    line(&[" mka_priority=", &role.priority().to_string()]);
    match by {
        KeyedBy::Cak(cak) => {
            line(&[" mka_ckn=", &cak.ckn.to_string()]);
            line(&[" mka_cak=", &cak.digits]);
        }
        KeyedBy::Eap(peer) => peer.network(&mut line),
    }
    line(&["}"]);
    text
}

/// The end of a log, on one line, without keys: wpa_supplicant logs those with `-K` alone.
fn last_words(log: &Path) -> String {
    let read = || {
        let mut file = File::open(log).ok()?;
        let length = file.metadata().ok()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS))).ok()?;
        let mut bytes = Vec::new();
        file.take(LAST_WORDS).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = read().unwrap_or_default();
    // Each line begins with its time.
    let lines = text
        .lines()
        .rev()
        .map(|line| line.split_once(": ").map_or(line, |(_, said)| said));
    let mut last: Vec<_> = lines.filter(|line| !line.contains("CTRL-EVENT")).take(3).collect();
    last.reverse();
    last.join("; ")
}

#[cfg(test)]
mod tests {
    use bartizan_registry::macsec_suite_named;

    use super::*;

    fn cak() -> Cak {
        Cak::of(&Zeroizing::new([0xab; 32]), [0xcd; 16])
    }

    fn settings(suite: &str) -> Settings {
        Settings {
            suite: macsec_suite_named(suite).unwrap(),
            confidentiality: Confidentiality::Encrypted,
            replay: Replay::Window(32),
        }
    }

    #[test]
    fn configuration_says_what_the_file_asks_for() {
        let text = configuration(&settings("GCM-AES-128"), Role::KeyServer, KeyedBy::Cak(&cak()));
        for line in [
            "mka_priority=16",
            "macsec_integ_only=0",
            "macsec_replay_window=32",
            &format!("mka_cak={}", "ab".repeat(32)),
            &format!("mka_ckn={}", "cd".repeat(16)),
        ] {
            assert!(text.lines().any(|one| one.trim() == line), "{line}: {}", &**text);
        }
        assert!(!text.contains("csindex") && text.len() < 1024);
        let integrity = Settings {
            confidentiality: Confidentiality::IntegrityOnly,
            ..settings("GCM-AES-256")
        };
        let text = configuration(&integrity, Role::Other, KeyedBy::Cak(&cak()));
        assert!(
            text.contains("macsec_csindex=1")
                && text.contains("macsec_integ_only=1")
                && text.contains("mka_priority=32")
        );
    }

    /// A program in the place of wpa_supplicant: it answers, and goes into the background with its standard input read.
    const STAND_IN: &str = r#"#!/bin/sh
case "$1" in
-v) echo 'wpa_supplicant v2.10';;
-h) echo '  macsec_linux = MACsec';;
-D) cat > /dev/null; echo "unknown network field 'macsec_csindex'"; exit 255;;
-B) while [ "$1" != -P ]; do shift; done
    case "$(cat /proc/self/fd/0)" in *mka_cak=abab*) ;; *) echo '1.5: no key' > "$4"; exit 255;; esac
    setsid sh -c 'echo $$ > "$0"; exec sleep 1000' "$2" > /dev/null 2>&1 < /dev/null &;;
esac
"#;

    #[test]
    fn authentication_ended_well_where_the_log_says_so_and_once() {
        let directory = tempfile::tempdir().unwrap();
        let mut supplicant = Supplicant {
            program: None,
            port: "eth0".to_owned(),
            settings: settings("GCM-AES-128"),
            role: Role::Other,
            device: 7,
            directory: directory.path().to_owned(),
            library: None,
            groups: Vec::new(),
            running: None,
            read: 0,
            succeeded: false,
        };
        let log = supplicant.place("log");
        let says = |text: &str| {
            let mut file = File::options().append(true).create(true).open(&log).unwrap();
            std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        };
        assert_eq!(supplicant.ends_of_eap(), [false; 2], "no log");
        says("1.5: eth0: CTRL-EVENT-EAP-STARTED EAP authentication started\n1.6: eth0: CTRL-EVENT-EAP-SUC");
        assert_eq!(supplicant.ends_of_eap(), [false; 2], "half a line");
        says("CESS EAP authentication completed successfully\n");
        assert_eq!(supplicant.ends_of_eap(), [false; 2], "nothing may stand behind it");
        assert_eq!(supplicant.ends_of_eap(), [true, false]);
        assert_eq!(supplicant.ends_of_eap(), [false; 2], "once");
        // A name of a certificate that is refused has a line in it.
        says("1.7: eth0: CTRL-EVENT-EAP-PEER-ALT depth=0 DNS:x\n1.7: eth0: CTRL-EVENT-EAP-SUCCESS \n");
        assert_eq!(supplicant.ends_of_eap(), [false; 2], "a name with a line in it");
        says("1.7: eth0: CTRL-EVENT-EAP-TLS-CERT-ERROR reason=1 depth=0\n");
        assert_eq!(supplicant.ends_of_eap(), [false, true]);
        assert_eq!(supplicant.ends_of_eap(), [false; 2]);
        says("1.7: eth0: CTRL-EVENT-EAP-PEER-CERT depth=0 subject='/CN=eth0: CTRL-EVENT-EAP-SUCCESS '\n");
        assert_eq!(supplicant.ends_of_eap(), [false; 2], "a name");
        // A log that was cut.
        fs::write(&log, "1.8: eth0: CTRL-EVENT-EAP-FAILURE EAP authentication failed\n").unwrap();
        assert_eq!(supplicant.ends_of_eap(), [false, true]);
        // One that was cut, and has grown beyond what was read of it since.
        fs::write(&log, vec![b'\n'; LONGEST_LOG as usize + 1]).unwrap();
        supplicant.read = 20;
        supplicant.bound_log();
        says("1.9: eth0: CTRL-EVENT-EAP-SUCCESS EAP authentication completed successfully\n");
        assert_eq!(supplicant.ends_of_eap(), [false; 2]);
        assert_eq!(supplicant.ends_of_eap(), [true, false]);
    }

    #[test]
    fn successor_takes_over_what_runs_and_no_key_is_in_any_file() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("program");
        fs::write(&program, STAND_IN).unwrap();
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let run = directory.path().join("run");
        let open = |suite| {
            Supplicant::new(
                "eth0",
                settings(suite),
                Role::Other,
                7,
                &run,
                Some(program.clone()),
                None,
            )
        };
        let refused = open("GCM-AES-256").unwrap_err();
        assert!(matches!(refused, Error::Incapable { .. }), "{refused}");
        let mut first = open("GCM-AES-128").unwrap();
        assert_eq!(first.adopt(), None);
        first.start(KeyedBy::Cak(&cak())).unwrap();
        let id = first.id().unwrap();
        for entry in fs::read_dir(&run).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            assert!(!text.contains("abab"), "{text}");
        }
        drop(first);
        let mut second = open("GCM-AES-128").unwrap();
        let adopted = second.adopt().and_then(|(ckn, _)| ckn);
        assert_eq!(adopted.map(|ckn| ckn.to_string()), Some("cd".repeat(16)));
        assert_eq!(second.id(), Some(id));
        second.stop();
        assert!(!second.is_alive() && second.adopt().is_none());
        let other = Cak::of(&Zeroizing::new([1; 32]), [1; 16]);
        let said = second.start(KeyedBy::Cak(&other)).unwrap_err().to_string();
        assert!(said.contains("no key"), "{said}");
    }
}
