//! A link that two controllers key: what `bartizan up` does at both ends.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use bartizan_deployment::Deployment;
use bartizan_host::LabRoot;
use bartizan_ledger::Ledger;
use bartizan_macsec::Controller;
use bartizan_macsec::control::{self, Control, Question};
use bartizan_macsec::link::{Setting, Status, endpoint};
use bartizan_macsec::mka::Supplicant;
use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Overwrite};
use bartizan_testing::RootPrograms as _;
use bartizan_tls::Credentials;

use super::link::{Link, PORT};
use crate::Error;

/// The nodes, as the deployment file calls them: the O-DU's end is the first.
const NODES: [&str; 2] = ["odu", "oru"];
/// Time limit for a link to come up, or for a new key.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at a controller.
const TURN: Duration = Duration::from_millis(5);

/// Keying of a link.
#[derive(Debug, Clone)]
pub struct Keying {
    /// The word in the deployment file: `direct`, `mka` or `eap-tls`.
    pub name: String,
    /// The algorithm of certificates.
    pub algorithm: Algorithm,
    /// The policy, as the deployment file has it.
    pub policy: &'static str,
    /// The cipher suite.
    pub cipher: &'static str,
    /// Keys that an exchange gives to each direction; none for the default, and where MKA distributes them.
    pub keys_per_exchange: Option<u64>,
    /// wpa_supplicant, where it takes part.
    pub wpa_supplicant: Option<PathBuf>,
}

impl Keying {
    /// By this way, with X25519MLKEM768 and ML-DSA-65.
    #[must_use]
    pub fn hybrid(name: &str, wpa_supplicant: Option<&WpaSupplicant>) -> Self {
        Self {
            name: name.to_owned(),
            algorithm: Algorithm::MlDsa65,
            policy: "hybrid",
            // The cipher suite of keys that wpa_supplicant 2.10 distributes.
            cipher: if name == "direct" { "gcm-aes-256" } else { "gcm-aes-128" },
            keys_per_exchange: None,
            wpa_supplicant: wpa_supplicant.map(|found| found.program.clone()),
        }
    }
}

/// wpa_supplicant of the lab root.
#[derive(Debug)]
pub struct WpaSupplicant {
    /// The program that starts it.
    pub program: PathBuf,
    /// Its package's version.
    pub version: String,
}

impl WpaSupplicant {
    /// That of a lab root, started by a script in `folder`.
    ///
    /// # Errors
    /// Fails if the script cannot be written.
    pub fn of(root: &LabRoot, folder: &Path) -> Result<Self, Error> {
        let program = folder.join("wpa_supplicant");
        root.write_script("wpa_supplicant", &program)?;
        let version = root.packages().find(|(name, _)| *name == "wpasupplicant");
        Ok(Self {
            program,
            version: version.map_or_else(String::new, |(_, version)| version.to_owned()),
        })
    }
}

/// Both controllers, while they run.
#[derive(Debug)]
pub struct Controllers<'a> {
    folder: &'a Path,
}

/// Runs a controller at either end of a link while `work` does; it begins when the link is up.
///
/// # Errors
/// A kernel without MACsec, a link that is not up in time, and what `work` gives.
pub fn keyed<T>(
    link: &Link,
    folder: &Path,
    how: &Keying,
    work: impl FnOnce(&Controllers<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    keying(link, folder, how, |controllers| {
        controllers.until_up()?;
        work(controllers)
    })
}

/// Runs a controller at either end of a link while `work` does; it begins when they do.
///
/// # Errors
/// A kernel without MACsec, and what `work` gives.
pub fn keying<T>(
    link: &Link,
    folder: &Path,
    keying: &Keying,
    work: impl FnOnce(&Controllers<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let now = SystemTime::now();
    let options = InitOptions::new(keying.algorithm);
    let mut authority = Authority::init(&folder.join("ca"), options, now)?;
    for node in NODES {
        let leaf = Leaf::new(node)?.dns(node)?.algorithm(keying.algorithm);
        authority
            .issue(&leaf, now)?
            .write_to(&folder.join(node), Overwrite::Replace)?;
    }
    let deployment = Deployment::parse(&file(keying), "fronthaul.yaml", folder).map_err(ours)?;
    let controllers = Controllers { folder };
    // All of it before either runs: what fails here leaves nothing that would have to be ended.
    let mut ends = Vec::new();
    for node in NODES {
        let mut settings = Setting::all(&deployment, node);
        for setting in &mut settings {
            setting.directory = controllers.directory(node);
            if let Some(mka) = &mut setting.mka {
                mka.program.clone_from(&keying.wpa_supplicant);
            }
        }
        let files = deployment.node(node).and_then(|node| node.files.as_ref());
        let files = files.ok_or_else(|| Error::Configuration(format!("{node} has no certificate")))?;
        let credentials = Credentials::load(files).map_err(ours)?;
        let endpoint = endpoint(&deployment, node, credentials).map_err(ours)?;
        let ledger = Ledger::open(&folder.join(format!("{node}.ledger")), node).map_err(ours)?;
        let control = Control::open(&controllers.directory(node))?;
        let control = control.ok_or_else(|| Error::Configuration(format!("{node} has a controller already")))?;
        ends.push((settings, endpoint, ledger, control));
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let stopping = Stopping(&stop);
        let mut running = Vec::new();
        for ((settings, endpoint, ledger, control), place) in ends.into_iter().zip([link.du(), link.ru()]) {
            let stop = &stop;
            running.push(scope.spawn(move || {
                place.enter_this_thread()?;
                let controller = Controller::new(settings, endpoint, ledger.recorder());
                controller.run(Some(&control), &|| stop.load(Ordering::Relaxed), &mut |_| ());
                Ok::<_, Error>(())
            }));
        }
        let done = work(&controllers);
        drop(stopping);
        for controller in running {
            let ended = controller.join();
            ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        // wpa_supplicant outlives a controller, so that the controller's successor finds it
        // running.
        for node in NODES {
            Supplicant::end_left(&controllers.directory(node), PORT);
        }
        done
    })
}

/// Ends both controllers, also where the work panics.
struct Stopping<'a>(&'a AtomicBool);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Controllers<'_> {
    fn directory(&self, node: &str) -> PathBuf {
        self.folder.join(format!("run-{node}"))
    }

    /// The answer of the controller of the O-DU (0) or the O-RU (1).
    fn ask(&self, end: usize, question: Question) -> Result<Status, Error> {
        let answer = control::ask(&self.directory(NODES[end]), question).map_err(Error::Broken)?;
        let status = answer.and_then(|answer| answer.links.into_iter().next());
        status.ok_or_else(|| Error::Protocol(format!("the controller of {} does not answer", NODES[end])))
    }

    /// The state of the O-DU's end.
    ///
    /// # Errors
    /// Fails if its controller does not answer.
    pub fn status(&self) -> Result<Status, Error> {
        self.ask(0, Question::Status)
    }

    /// The state of the O-RU's end.
    ///
    /// # Errors
    /// Fails if its controller does not answer.
    pub fn peer_status(&self) -> Result<Status, Error> {
        self.ask(1, Question::Status)
    }

    fn until_up(&self) -> Result<(), Error> {
        for end in [0, 1] {
            self.until(end, |status| status.up && status.peer_answers)?;
        }
        Ok(())
    }

    fn until(&self, end: usize, condition: impl Fn(&Status) -> bool) -> Result<Status, Error> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.ask(end, Question::Status) {
                Ok(status) if condition(&status) => return Ok(status),
                Ok(status) if Instant::now() >= deadline => {
                    let trouble = status.trouble.unwrap_or_else(|| "it gives no reason".to_owned());
                    return Err(Error::Protocol(format!(
                        "the link of {} is not up in time: {trouble}",
                        NODES[end]
                    )));
                }
                Err(error) if Instant::now() >= deadline => return Err(error),
                _ => thread::sleep(TURN),
            }
        }
    }

    /// Has the O-DU send with another key, by another exchange or from the one there was, and waits
    /// until it does. Where MKA distributes the key, the O-RU must have the same as well.
    ///
    /// # Errors
    /// Fails if the key does not change in time.
    pub fn rekey(&self, fresh: bool) -> Result<(), Error> {
        let key = |status: &Status| status.sends.as_ref().map(|sends| sends.key_id.clone());
        let before = key(&self.status()?);
        let another = |status: &Status| status.up && key(status).is_some() && key(status) != before;
        self.ask(0, Question::Rekey { fresh })?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let one = self.until(0, another)?;
            if one.mka.is_none() || key(&one) == key(&self.until(1, another)?) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(Error::Protocol("MKA gives the two ends different keys".to_owned()));
            }
            thread::sleep(TURN);
        }
    }
}

/// The deployment of the link, on the device that is the default; keys change when they are asked to.
fn file(keying: &Keying) -> String {
    let Keying {
        name, policy, cipher, ..
    } = keying;
    let exchange = keying.keys_per_exchange;
    let exchange = exchange.map_or_else(String::new, |keys| format!(", keys-per-exchange: {keys}"));
    let node = |name: &str, function: &str, address: u8| {
        format!(
            "  {name}: {{ function: {function}, address: 10.77.0.{address}, certificate: {name}/{name}.crt.pem, key: {name}/{name}.key.pem }}\n"
        )
    };
    format!(
        "policy: {policy}\ntrust: {{ roots: ca/root.crt.pem }}\nnodes:\n{}{}interfaces:\n  - {{ kind: FH, between: [odu, oru], with: macsec, \
         macsec: {{ port: {{ odu: {PORT}, oru: {PORT} }}, keying: {name}, cipher: {cipher}{exchange} }} }}\n",
        node("odu", "O-DU", 1),
        node("oru", "O-RU", 2)
    )
}

fn ours(error: impl std::fmt::Display) -> Error {
    Error::Configuration(error.to_string())
}
