//! Many IKE_SAs that stand, in a process of their own: memory that a process has taken once it keeps.

use std::path::PathBuf;
use std::time::Instant;

use bartizan_host::Program;

use super::{AUTHENTICATION, KEY_EXCHANGE, named};
use crate::stand_in::responder::{Held, MOST};
use crate::workload::{
    Default, Error, FactorKind, Kind, MetricKind, Observation, ParameterKind, Setting, Targets, Trial, Workload,
    lacks_nothing,
};

const KEPT: FactorKind = FactorKind {
    name: "kept",
    about: "what the process has of each: the IKE_SA, as where the kernel does ESP, or the ESP of its CHILD_SA too, as in user space",
    levels: &["ike", "ike-and-esp"],
};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "responder-standing",
    about: "IKE_SAs with a CHILD_SA each that stand at a responder of Bartizan's engine in memory, each of an initiator of its own: what they take of its memory, and whether they make a set-up slower.",
    factors: &[KEY_EXCHANGE, AUTHENTICATION, KEPT],
    parameters: &[ParameterKind {
        name: "sas",
        about: "IKE_SAs that stand in the end, 10 to 1000000",
        default: Some(Default::Number(100_000.0)),
    }],
    metrics: &[
        MetricKind::lower(
            "per-sa",
            "kB",
            "what resident memory grew by, over IKE_SAs: the peer's own acceptor of first requests is in it",
        ),
        MetricKind::lower("all", "MB", "resident memory with all of them"),
        MetricKind::lower(
            "first-cpu",
            "us",
            "processor time of the responder for a set-up, of the first tenth",
        ),
        MetricKind::lower(
            "last-cpu",
            "us",
            "the same of the last tenth, next to which the others stand",
        ),
    ],
    targets: Targets::Own,
    lacks: lacks_nothing,
    start,
};

struct Stands {
    own: PathBuf,
    folder: PathBuf,
    sas: usize,
    /// Trials begun: each process has a folder of its own for its certificates.
    begun: usize,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let sas = setting.parameters.count("sas")?;
    if !(10..=MOST).contains(&sas) {
        return Err(Error::Configuration(format!("`sas` is 10 to {MOST}")));
    }
    Ok(Box::new(Stands {
        own: setting.tools.own.clone(),
        folder: setting.folder.to_owned(),
        sas,
        begun: 0,
    }))
}

impl Workload for Stands {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let [key_exchange, authentication] = named(trial.levels);
        let esp: &[&str] = match KEPT.of(trial.levels) {
            "ike" => &[],
            _ => &["--esp"],
        };
        self.begun += 1;
        let folder = self.folder.join(self.begun.to_string());
        std::fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        let program = Program::new(&self.own)
            .arguments(["responder", "--key-exchange", key_exchange])
            .arguments(["--authentication", authentication, "--sas", &self.sas.to_string()])
            .arguments(esp)
            .argument("--folder")
            .argument(&folder);
        let finished = program.run(trial.deadline.saturating_duration_since(Instant::now()))?;
        let text = finished.text();
        let held: Held = serde_json::from_str(&text)
            .map_err(|error| Error::Protocol(format!("`bartizan-lab responder` printed `{text}`: {error}")))?;
        let mut observation = Observation::default();
        let grown = held.after.saturating_sub(held.before) as f64;
        observation.values.extend([
            ("per-sa", vec![grown / 1e3 / held.sas as f64]),
            ("all", vec![held.after as f64 / 1e6]),
            ("first-cpu", vec![held.first_us]),
            ("last-cpu", vec![held.last_us]),
        ]);
        observation.facts.insert("sas".to_owned(), held.sas.into());
        Ok(observation)
    }
}
