//! Deployments between a consumer and an NRF: no protection, native TLS, or a pair of sidecars;
//! each a process of its own.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bartizan_host::{Process, Program};
use bartizan_ledger::{self as ledger, Event, Reader, Verdict};
use bartizan_testing::Listening as _;
use bartizan_testing::{Usage, loopback_addresses};

use super::{Authority, Connections, Error, Papers, Target};

/// The node of the functions that ask, and of the NRF.
pub(crate) const CONSUMER: &str = "consumer";
pub(crate) const NRF: &str = "nrf";

/// Time limit for a program to listen.
const READY: Duration = Duration::from_secs(20);
/// Time limit for a program to end by itself.
const END: Duration = Duration::from_secs(15);

/// Path from a consumer to the NRF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Deployment {
    /// HTTP/2 in plaintext.
    NativeH2c,
    /// TLS of consumer and NRF themselves, classical, both authenticated.
    NativeTls,
    /// The same, post-quantum.
    NativePqc,
    /// A pair of sidecars, path `http2` as by default, classical.
    TlsSidecar,
    /// The same, post-quantum.
    PqcSidecar,
    /// A pair of sidecars, path `splice`, classical.
    TlsSplice,
    /// The same, post-quantum.
    PqcSplice,
}

impl Deployment {
    const ALL: [Self; 7] = [
        Self::NativeH2c,
        Self::NativeTls,
        Self::NativePqc,
        Self::TlsSidecar,
        Self::PqcSidecar,
        Self::TlsSplice,
        Self::PqcSplice,
    ];

    /// The levels of the factor `deployment`, in the order of the variants.
    pub const LEVELS: [&'static str; 7] = [
        "native-h2c",
        "native-tls",
        "native-pqc",
        "tls-sidecar",
        "pqc-sidecar",
        "tls-splice",
        "pqc-splice",
    ];

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let index = Self::LEVELS.iter().position(|level| *level == name)?;
        Self::ALL.get(index).copied()
    }

    /// Its level.
    #[must_use]
    pub fn name(self) -> &'static str {
        let index = Self::ALL.iter().position(|one| *one == self);
        index.map_or("", |index| Self::LEVELS[index])
    }

    /// The path of its sidecars; `None` where there are none.
    #[must_use]
    pub const fn path(self) -> Option<&'static str> {
        match self {
            Self::NativeH2c | Self::NativeTls | Self::NativePqc => None,
            Self::TlsSidecar | Self::PqcSidecar => Some("http2"),
            Self::TlsSplice | Self::PqcSplice => Some("splice"),
        }
    }

    /// Authority of its ends' certificates, if `post_quantum` is that of the post-quantum ones;
    /// `None` in plaintext.
    #[must_use]
    pub const fn authority(self, post_quantum: Authority) -> Option<Authority> {
        match self {
            Self::NativeH2c => None,
            Self::NativeTls | Self::TlsSidecar | Self::TlsSplice => Some(Authority::Classical),
            Self::NativePqc | Self::PqcSidecar | Self::PqcSplice => Some(post_quantum),
        }
    }
}

/// Setting of a stage.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// The binary whose NRF runs, and the one whose sidecar is measured.
    pub own: &'a Path,
    /// The sidecar's binary.
    pub sidecar: &'a Path,
    /// The deployment between consumer and NRF.
    pub deployment: Deployment,
    /// Reuse of connections. Sidecars do not dial ahead if every connection is to be new.
    pub connections: Connections,
    /// Certificates of `consumer` and `nrf`; needed unless in plaintext.
    pub papers: Option<&'a Papers>,
    /// An NRF of the user's instead of our own.
    pub target: Option<&'a Target>,
    /// Processing time of our NRF for each request.
    pub work: Duration,
    /// A folder of its own.
    pub folder: &'a Path,
}

/// Resources used by each process so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// The consumer's sidecar.
    pub consumer: Option<Usage>,
    /// The NRF's sidecar.
    pub producer: Option<Usage>,
    /// Our NRF.
    pub nrf: Option<Usage>,
}

/// The processes between a consumer and an NRF. They end with this value.
#[derive(Debug)]
pub struct Stage {
    consumer: Option<Process>,
    producer: Option<Process>,
    nrf: Option<Process>,
    target: Target,
    ledger: Option<PathBuf>,
    places: Places,
}

/// Addresses at which the legs of the target begin.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Places {
    /// The consumer's sidecar, in plaintext.
    pub(crate) entry: Option<SocketAddr>,
    /// The NRF's sidecar, by TLS.
    pub(crate) middle: Option<SocketAddr>,
    pub(crate) nrf: Option<SocketAddr>,
}

impl Stage {
    /// Starts everything, and returns once all of it listens.
    ///
    /// # Errors
    /// Fails if a program cannot be started; [`Error::Unplayable`] if the deployment does not fit
    /// the target.
    pub fn start(wanted: &Wanted<'_>) -> Result<Self, Error> {
        fs::create_dir_all(wanted.folder).map_err(Error::file(wanted.folder))?;
        let [entry, middle, own] = loopback_addresses()?;
        match (wanted.target, wanted.deployment.path()) {
            (Some(target), path) => Self::check_target(wanted.deployment, target, path)?,
            (None, _) if wanted.deployment != Deployment::NativeH2c && wanted.papers.is_none() => {
                return Err(Error::Configuration("no certificates".to_owned()));
            }
            _ => {}
        }
        let server = wanted.target.map_or(own, |target| target.address);
        let nrf = match wanted.target {
            Some(_) => None,
            None => Some(start_nrf(wanted, own)?),
        };
        let mut stage = Self {
            consumer: None,
            producer: None,
            nrf,
            target: Target::clear(server),
            ledger: None,
            places: Places {
                nrf: Some(server),
                ..Places::default()
            },
        };
        match (wanted.deployment.path(), wanted.target, wanted.papers) {
            (None, Some(target), _) => stage.target = target.clone(),
            (None, None, Some(papers)) if wanted.deployment != Deployment::NativeH2c => {
                let endpoint = papers.endpoint(&native(papers), CONSUMER)?;
                stage.target = Target::mutual(server, endpoint, NRF);
            }
            (Some(path), target, Some(papers)) => {
                let text = deployment(papers, path, wanted.connections, [entry, middle, server]);
                stage.start_pair(wanted, &text, entry, middle)?;
                if let Some(target) = target {
                    stage.target.authority.clone_from(&target.authority);
                }
            }
            _ => {}
        }
        Ok(stage)
    }

    /// Fails unless the target can be measured in this deployment.
    fn check_target(deployment: Deployment, target: &Target, path: Option<&str>) -> Result<(), Error> {
        let fits = match deployment {
            Deployment::NativeH2c => target.is_clear(),
            Deployment::NativeTls => !target.is_clear(),
            Deployment::NativePqc => false,
            // The NRF's sidecar ends TLS before a function that speaks in plaintext.
            _ => path.is_some() && target.is_clear(),
        };
        if fits {
            return Ok(());
        }
        let Target { url, .. } = target;
        Err(Error::Unplayable(format!(
            "{} cannot be played against {url}: native-h2c and sidecars need http://, native-tls needs https://, native-pqc our own NRF",
            deployment.name()
        )))
    }

    fn start_pair(
        &mut self,
        wanted: &Wanted<'_>,
        text: &str,
        entry: SocketAddr,
        middle: SocketAddr,
    ) -> Result<(), Error> {
        let folder = wanted.folder;
        let file = folder.join("deployment.yaml");
        fs::write(&file, text).map_err(Error::file(&file))?;
        // Removes the ledger of an earlier start in the same folder.
        let ledger = folder.join(format!("{NRF}.ledger.jsonl"));
        let _ = fs::remove_file(&ledger);
        let program = |node: &str| {
            Program::new(wanted.sidecar)
                .argument("sidecar")
                .argument(&file)
                .arguments(["--node", node, "--log", "warn"])
                .log(folder.join(format!("{node}.log")))
        };
        let mut producer = program(NRF).start()?;
        let mut consumer = program(CONSUMER).start()?;
        producer.wait_for_port(middle, READY)?;
        consumer.wait_for_port(entry, READY)?;
        self.producer = Some(producer);
        self.consumer = Some(consumer);
        self.ledger = Some(ledger);
        self.target = Target::clear(entry);
        self.places.entry = Some(entry);
        self.places.middle = Some(middle);
        Ok(())
    }

    /// Address to which a consumer connects.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    pub(crate) fn places(&self) -> Places {
        self.places
    }

    /// Resources used by its processes so far; none for an NRF of the user's.
    ///
    /// # Errors
    /// Fails if one of them has ended.
    pub fn spent(&self) -> Result<Spent, Error> {
        let of = |process: &Option<Process>| {
            process
                .as_ref()
                .map(|process| Usage::of_group(process.id()))
                .transpose()
        };
        Ok(Spent {
            consumer: of(&self.consumer)?,
            producer: of(&self.producer)?,
            nrf: of(&self.nrf)?,
        })
    }

    /// Lets the consumer's sidecar run on these processors only, and the NRF with its sidecar on those.
    ///
    /// # Errors
    /// Fails if none of the processors is allowed for them.
    pub fn pin(&self, consumers: &[usize], producers: &[usize]) -> Result<(), Error> {
        if let Some(consumer) = &self.consumer {
            bartizan_machine::pin(consumer, consumers)?;
        }
        let side = [&self.producer, &self.nrf].into_iter().flatten();
        Ok(side
            .into_iter()
            .try_for_each(|process| bartizan_machine::pin(process, producers))?)
    }

    /// Ends everything in order, and reads the ledger of the NRF's sidecar: handshakes it accepted,
    /// with the microseconds each took there. `None` where there is no sidecar.
    ///
    /// # Errors
    /// Fails if a process does not end, or the ledger cannot be read.
    pub fn stop(self) -> Result<Option<Handshakes>, Error> {
        for process in [self.consumer, self.producer, self.nrf].into_iter().flatten() {
            process.terminate(END)?;
        }
        self.ledger.as_deref().map(Handshakes::read).transpose()
    }

    /// The same while it runs; what the sidecar has not written yet is not counted.
    ///
    /// # Errors
    /// Fails if the ledger cannot be read.
    pub fn handshakes(&self) -> Result<Option<Handshakes>, Error> {
        self.ledger.as_deref().map(Handshakes::read).transpose()
    }
}

/// Handshakes in the ledger of the NRF's sidecar.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Handshakes {
    /// Full handshakes that were accepted.
    pub full: u64,
    /// Those that were resumed or refused.
    pub others: u64,
    /// Duration of each full handshake there, in microseconds.
    pub took_us: Vec<u64>,
    /// Groups and signatures that were negotiated, each once.
    pub negotiated: Vec<String>,
}

impl Handshakes {
    fn read(path: &Path) -> Result<Self, Error> {
        let file = fs::File::open(path).map_err(Error::file(path))?;
        let mut found = Self::default();
        for record in Reader::new(std::io::BufReader::new(file)) {
            // The last line may be half written while the sidecar runs.
            let Ok(record) = record else { break };
            let Event::Handshake(handshake) = record.event else {
                continue;
            };
            if handshake.direction != ledger::Direction::Inbound {
                continue;
            }
            match &handshake.negotiated {
                Some(negotiated) if handshake.verdict == Verdict::Accepted && !negotiated.resumed => {
                    found.full += 1;
                    found.took_us.push(handshake.times.handshake_us);
                    let signature = negotiated.peer_signature.as_ref().map_or("-", |code| &*code.name);
                    let name = format!("{} {signature}", negotiated.group.name);
                    if !found.negotiated.contains(&name) {
                        found.negotiated.push(name);
                    }
                }
                _ => found.others += 1,
            }
        }
        Ok(found)
    }
}

fn start_nrf(wanted: &Wanted<'_>, address: SocketAddr) -> Result<Process, Error> {
    let mut program = Program::new(wanted.own)
        .arguments(["nrf", "--listen"])
        .argument(address.to_string())
        .log(wanted.folder.join("nrf.log"));
    if !wanted.work.is_zero() {
        program = program.arguments(["--work-us", &wanted.work.as_micros().to_string()]);
    }
    let native_tls = matches!(wanted.deployment, Deployment::NativeTls | Deployment::NativePqc);
    if let (true, Some(papers)) = (native_tls, wanted.papers) {
        let file = wanted.folder.join("native.yaml");
        fs::write(&file, native(papers)).map_err(Error::file(&file))?;
        program = program
            .argument("--deployment")
            .argument(file)
            .arguments(["--node", NRF]);
    }
    let mut process = program.start()?;
    process.wait_for_port(address, READY)?;
    Ok(process)
}

/// Two nodes that protect their interface themselves.
fn native(papers: &Papers) -> String {
    format!(
        "{}nodes:\n\
         \x20 {CONSUMER}: {{ function: AMF, address: 127.78.0.1, names: {{ dns: [{CONSUMER}.5gc] }}, {} }}\n\
         \x20 {NRF}: {{ function: NRF, address: 127.78.0.2, names: {{ dns: [{NRF}.5gc] }}, {} }}\n\
         interfaces:\n  - {{ kind: SBI, between: [{CONSUMER}, {NRF}], with: sidecar }}\n",
        papers.preamble(None),
        papers.files(CONSUMER),
        papers.files(NRF),
    )
}

/// Two nodes with a sidecar each: metrics, ledger, revocation list and name checks are on, as shipped.
fn deployment(papers: &Papers, path: &str, connections: Connections, places: [SocketAddr; 3]) -> String {
    let [entry, middle, server] = places;
    let warm = match connections {
        Connections::Kept => 1,
        // A connection dialled ahead would hide its handshake.
        Connections::New => 0,
    };
    format!(
        "{}nodes:\n\
         \x20 {CONSUMER}:\n\
         \x20   {{ function: AMF, address: 127.78.0.1, names: {{ dns: [{CONSUMER}.5gc] }}, {},\n\
         \x20     sidecar: {{ admin: \"127.0.0.1:0\", ledger: {CONSUMER}.ledger.jsonl,\n\
         \x20       outbound: [{{ listen: \"{entry}\", to: {NRF}, path: {path}, warm: {warm} }}] }} }}\n\
         \x20 {NRF}:\n\
         \x20   {{ function: NRF, address: 127.78.0.2, names: {{ dns: [{NRF}.5gc] }}, {},\n\
         \x20     sidecar: {{ admin: \"127.0.0.1:0\", ledger: {NRF}.ledger.jsonl,\n\
         \x20       inbound: [{{ listen: \"{middle}\", forward: \"{server}\", path: {path} }}] }} }}\n\
         interfaces:\n\
         \x20 - {{ kind: SBI, between: [{CONSUMER}, {NRF}], with: sidecar }}\n",
        papers.preamble(None),
        papers.files(CONSUMER),
        papers.files(NRF),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_names_its_deployment() {
        for (level, deployment) in Deployment::LEVELS.into_iter().zip(Deployment::ALL) {
            assert_eq!(Deployment::named(level), Some(deployment));
            assert_eq!(deployment.name(), level);
            assert_eq!(
                deployment.path().is_some(),
                level.contains("sidecar") || level.contains("splice")
            );
        }
        assert_eq!(Deployment::named("native"), None);
    }

    #[test]
    fn deployment_files_are_understood_whoever_certifies() {
        let folder = tempfile::tempdir().unwrap();
        let all = [
            Authority::Classical,
            Authority::MlDsa44,
            Authority::MlDsa65,
            Authority::MlDsa87,
        ];
        for authority in all {
            let papers = Papers::make(folder.path(), authority, &[CONSUMER, NRF]).unwrap();
            let places = ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"].map(|place| place.parse().unwrap());
            for text in [native(&papers), deployment(&papers, "http2", Connections::New, places)] {
                for node in [CONSUMER, NRF] {
                    papers.endpoint(&text, node).unwrap();
                }
            }
        }
    }
}
