//! Common factors and stages of the workloads with an NRF.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bartizan_testing::Usage;

use crate::stand_in::proxies::Tools;
use crate::stand_in::sbi::{
    Authority, Client, Connections, Deployment, Function, Handshakes, Papers, Session, Spent, Stage, Target, Wanted,
};
use crate::workload::Levels;
use crate::workload::{Error, FactorKind, Lack, MetricKind, Observation, Setting, Trial};

pub(super) const DEPLOYMENT: FactorKind = FactorKind {
    name: "deployment",
    about: "what lies between consumer and NRF: nothing, TLS of their own, a pair of sidecars (path http2, or splice)",
    levels: &Deployment::LEVELS,
};

pub(super) const CONNECTION: FactorKind = FactorKind {
    name: "connection",
    about: "one connection for all transactions, or a new one for each, whose opening counts",
    levels: &Connections::LEVELS,
};

pub(super) const CA: FactorKind = FactorKind {
    name: "ca",
    about: "what the authority of post-quantum deployments signs certificates with; the nodes sign with ML-DSA-65",
    // The first is what holds where an experiment does not say.
    levels: &["ml-dsa-65", "ml-dsa-44", "ml-dsa-87"],
};

pub(super) const CONSUMER: FactorKind = FactorKind {
    name: "consumer",
    about: "the type of network function that registers and discovers; the same transactions are played once for each: synthetic",
    levels: &Function::KINDS,
};

pub(super) const PLACEMENT: FactorKind = FactorKind {
    name: "placement",
    about: "where everything runs: the NRF and its sidecar on the first processor and the consumer's side on the last, as on two hosts; all on the last; or wherever the scheduler puts it",
    levels: &["two-ends", "one-core", "unpinned"],
};

/// A level of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Placement {
    TwoEnds,
    OneCore,
    Unpinned,
}

impl Placement {
    /// Processors of the consumer's side, this thread among them, and of the NRF's side.
    fn sides(self, processors: &[usize]) -> [&[usize]; 2] {
        // Interrupts prefer the first.
        let (first, last) = (processors.chunks(1).next(), processors.chunks(1).next_back());
        let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
        match self {
            Self::TwoEnds => [last, first],
            Self::OneCore => [last, last],
            Self::Unpinned => [processors, processors],
        }
    }
}

pub(super) const LATENCY: MetricKind = MetricKind::lower(
    "latency",
    "ms",
    "from just before a request is sent (with `connection: new`: before its connection is opened) until its answer is whole",
);
pub(super) const CPU_CONSUMER: MetricKind = MetricKind::lower(
    "cpu-consumer",
    "us",
    "processor time of the consumer's sidecar per transaction",
);
pub(super) const CPU_PRODUCER: MetricKind = MetricKind::lower(
    "cpu-producer",
    "us",
    "processor time of the NRF's sidecar per transaction",
);
pub(super) const CPU_NRF: MetricKind = MetricKind::lower("cpu-nrf", "us", "processor time of our NRF per transaction");
pub(super) const MEMORY_CONSUMER: MetricKind = MetricKind::lower(
    "memory-consumer",
    "MB",
    "resident memory of the consumer's sidecar after the transactions",
);
pub(super) const MEMORY_PRODUCER: MetricKind = MetricKind::lower(
    "memory-producer",
    "MB",
    "resident memory of the NRF's sidecar after the transactions",
);
pub(super) const MEMORY_NRF: MetricKind =
    MetricKind::lower("memory-nrf", "MB", "resident memory of our NRF after the transactions");

/// Levels of the factors that workloads with an NRF have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Asked {
    pub(super) deployment: Deployment,
    pub(super) new: bool,
    pub(super) ca: Authority,
    pub(super) placement: Placement,
}

impl Asked {
    /// Levels that are not named are the first of their factor.
    pub(super) fn of(levels: &Levels) -> Result<Self, Error> {
        let level = |factor: &FactorKind| levels.level(factor.name).unwrap_or(factor.levels[0]).to_owned();
        let unknown = |factor: &FactorKind| Error::Configuration(format!("`{}` is no {}", level(factor), factor.name));
        Ok(Self {
            deployment: Deployment::named(&level(&DEPLOYMENT)).ok_or_else(|| unknown(&DEPLOYMENT))?,
            new: Connections::named(&level(&CONNECTION)).ok_or_else(|| unknown(&CONNECTION))? == Connections::New,
            ca: Authority::named(&level(&CA)).ok_or_else(|| unknown(&CA))?,
            placement: match level(&PLACEMENT).as_str() {
                "two-ends" => Placement::TwoEnds,
                "one-core" => Placement::OneCore,
                "unpinned" => Placement::Unpinned,
                _ => return Err(unknown(&PLACEMENT)),
            },
        })
    }

    pub(super) fn connections(self) -> Connections {
        if self.new { Connections::New } else { Connections::Kept }
    }
}

/// The function of a trial.
pub(super) fn function(levels: &Levels) -> Result<Function, Error> {
    let kind = levels.level(CONSUMER.name).unwrap_or(CONSUMER.levels[0]);
    Function::named(kind).ok_or_else(|| Error::Configuration(format!("`{kind}` does not register")))
}

/// Stages are kept warm between trials, one for each that is asked for.
#[derive(Debug)]
pub(super) struct Stages {
    own: PathBuf,
    sidecar: PathBuf,
    folder: PathBuf,
    processors: Vec<usize>,
    target: Option<Target>,
    work: Duration,
    papers: BTreeMap<Authority, Papers>,
    running: BTreeMap<Asked, (Client, Stage)>,
    started: usize,
}

impl Stages {
    pub(super) fn new(setting: &Setting<'_>) -> Result<Self, Error> {
        let target = setting
            .target
            .map(|target| Target::to_url(&target.uri.to_string(), target.ca.as_deref()));
        Ok(Self {
            own: setting.tools.own.clone(),
            sidecar: setting.tools.sidecar.clone(),
            folder: setting.folder.to_owned(),
            processors: setting.processors.to_vec(),
            target: target.transpose()?,
            work: Duration::ZERO,
            papers: BTreeMap::new(),
            running: BTreeMap::new(),
            started: 0,
        })
    }

    /// Our NRF works so long on each request.
    pub(super) fn working(mut self, work: Duration) -> Self {
        self.work = work;
        self
    }

    pub(super) fn has_target(&self) -> bool {
        self.target.is_some()
    }

    /// Makes certificates, which is no part of any trial.
    pub(super) fn prepare(&mut self, combinations: &[Levels]) -> Result<(), Error> {
        for levels in combinations {
            let asked = Asked::of(levels)?;
            self.certify(asked)?;
        }
        Ok(())
    }

    fn certify(&mut self, asked: Asked) -> Result<Option<&Papers>, Error> {
        let Some(authority) = asked.deployment.authority(asked.ca) else {
            return Ok(None);
        };
        if !self.papers.contains_key(&authority) {
            let nodes = [crate::stand_in::sbi::CONSUMER, crate::stand_in::sbi::NRF];
            let papers = Papers::make(&self.folder, authority, &nodes)?;
            self.papers.insert(authority, papers);
        }
        Ok(self.papers.get(&authority))
    }

    /// The stage that is asked for, started unless it runs, and a client on its target.
    pub(super) fn take(&mut self, asked: Asked) -> Result<(Client, Stage), Error> {
        let [consumers, producers] = asked.placement.sides(&self.processors).map(<[usize]>::to_vec);
        bartizan_machine::pin_this_thread(&consumers)?;
        if let Some(running) = self.running.remove(&asked) {
            return Ok(running);
        }
        self.started += 1;
        let folder = self
            .folder
            .join(format!("{}-{}", self.started, asked.deployment.name()));
        self.certify(asked)?;
        let papers = asked
            .deployment
            .authority(asked.ca)
            .and_then(|authority| self.papers.get(&authority));
        let stage = Stage::start(&Wanted {
            own: &self.own,
            sidecar: &self.sidecar,
            deployment: asked.deployment,
            connections: asked.connections(),
            papers,
            target: self.target.as_ref(),
            work: self.work,
            folder: &folder,
        })?;
        stage.pin(&consumers, &producers)?;
        let client = Client::new(stage.target().clone(), asked.connections())?;
        Ok((client, stage))
    }

    /// Keeps a stage for the next trial that asks for it.
    pub(super) fn keep(&mut self, asked: Asked, client: Client, stage: Stage) {
        self.running.insert(asked, (client, stage));
    }
}

/// Deregisters everything, so that no trial meets what another has left.
pub(super) fn tidy(client: &mut Client, session: &mut Session) -> Result<(), Error> {
    while let Some(question) = session.deregistration() {
        let exchanged = client.exchange(&question)?;
        Session::judge(&question, &exchanged.said, &client.target().url)?;
    }
    Ok(())
}

/// Registers the function that `session` discovers: our own NRF starts empty. A user's NRF is left
/// as it is.
pub(super) fn populate(
    client: &mut Client,
    stages: &Stages,
    looks_for: &str,
    seed: u64,
) -> Result<Option<Session>, Error> {
    let Some(function) = Function::named(looks_for).filter(|_| !stages.has_target()) else {
        return Ok(None);
    };
    let mut producer = Session::new(function, !seed);
    let question = producer.registration();
    let exchanged = client.exchange(&question)?;
    Session::judge(&question, &exchanged.said, &client.target().url)?;
    Ok(Some(producer))
}

/// Puts what processes used between two looks into an observation.
pub(super) fn note_spent(observation: &mut Observation, before: Spent, after: Spent, transactions: usize) {
    let pairs = [
        (before.consumer, after.consumer, CPU_CONSUMER.name, MEMORY_CONSUMER.name),
        (before.producer, after.producer, CPU_PRODUCER.name, MEMORY_PRODUCER.name),
        (before.nrf, after.nrf, CPU_NRF.name, MEMORY_NRF.name),
    ];
    for (before, after, cpu, memory) in pairs {
        let (Some(before), Some(after)) = (before, after) else {
            continue;
        };
        let spent = after.cpu.saturating_sub(before.cpu).as_secs_f64() * 1e6;
        observation.values.insert(cpu, vec![spent / transactions.max(1) as f64]);
        observation.values.insert(memory, vec![megabytes(after)]);
    }
}

fn megabytes(usage: Usage) -> f64 {
    usage.resident as f64 / 1e6
}

pub(super) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Handshakes in the ledger of a running stage. The ledger is written with a delay, so this waits
/// until it has the expected number, at most a minute.
pub(super) fn settled(stage: &Stage, expected: u64) -> Result<Option<Handshakes>, Error> {
    const PATIENCE: Duration = Duration::from_secs(60);
    let begun = Instant::now();
    loop {
        let found = stage.handshakes()?;
        if found.as_ref().is_none_or(|found| found.full >= expected) || begun.elapsed() > PATIENCE {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Facts of a ledger.
pub(super) fn note_handshakes(observation: &mut Observation, handshakes: &Handshakes) {
    let facts = &mut observation.facts;
    facts.insert("handshakes-others".to_owned(), handshakes.others.into());
    facts.insert("negotiated".to_owned(), handshakes.negotiated.clone().into());
}

/// True if the trial's deadline has not passed.
pub(super) fn in_time(trial: &Trial<'_>) -> bool {
    // A worker beyond its bound is killed with everything it has: it is better to say so.
    Instant::now() < trial.deadline
}

pub(super) fn late() -> Error {
    Error::Configuration("the trial's bound was reached; raise `bound` or ask for fewer transactions".to_owned())
}

/// For kinds that need sidecars.
pub(super) fn lacks_sidecar(_: &Levels, tools: &Tools) -> Option<Lack> {
    (!tools.sidecar.is_file()).then(|| Lack {
        what: "the sidecar".to_owned(),
        reason: format!("there is no file {}", tools.sidecar.display()),
        hint: "--binary takes a bartizan, for example target/release/bartizan".to_owned(),
        feature: None,
    })
}
