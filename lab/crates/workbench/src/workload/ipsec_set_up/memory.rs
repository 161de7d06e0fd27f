//! Memory of charon for an SA: Otero-García et al. 2025 print the memory of IPsec with each KEM.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::Instant;

use bartizan_deployment::IkeEngine;
use bartizan_host::LabRoot;
use bartizan_ipsec::Engine;
use bartizan_ipsec::drive;
use bartizan_ipsec::vici::Section;

use super::kind::{AUTHENTICATION, ENGINE, KEY_EXCHANGE, lacks};
use super::link::{self, Link};
use super::{data_path, engine_of, issue_as, profile};
use crate::stand_in::charons::{self, PATIENCE, Papers, refused};
use crate::workload::{
    Default, Error, Kind, MetricKind, Observation, ParameterKind, Setting, Targets, Trial, Workload,
};

/// MTU of the cable, in bytes.
const MTU: u16 = 1500;
/// Addresses of a network, less that of the network and that for all.
const MOST: usize = 250;

pub(in crate::workload) static KIND: Kind = Kind {
    name: "ipsec-memory",
    about: "IKE_SAs with a CHILD_SA each, set up by two charons or two engines of Bartizan that were just started and kept: what they take of the memory of both.",
    factors: &[KEY_EXCHANGE, AUTHENTICATION, ENGINE],
    parameters: &[ParameterKind {
        name: "sas",
        about: "IKE_SAs that stand in the end, 1 to 250",
        default: Some(Default::Number(100.0)),
    }],
    metrics: &[
        MetricKind::lower(
            "idle",
            "MB",
            "resident memory of the responder's daemon with its connections loaded, after one IKE_SA came and went",
        ),
        MetricKind::lower(
            "initiator-per-sa",
            "kB",
            "what resident memory of the initiator's daemon grew by, over IKE_SAs",
        ),
        MetricKind::lower("responder-per-sa", "kB", "the same of the responder's"),
        MetricKind::lower(
            "kernel-per-sa",
            "kB",
            "what the kernel's slabs that cannot be reclaimed and its per-processor memory grew by, for one end: two SAs of ESP and their policies; only where the kernel does ESP",
        ),
    ],
    targets: Targets::Own,
    lacks,
    start,
};

/// Set-up of each trial's charons. Each trial has new ones, because a process keeps memory that it
/// once took.
struct Memory {
    folder: PathBuf,
    root: LabRoot,
    own: PathBuf,
    papers: BTreeMap<String, Papers>,
    sas: u8,
    program: Option<String>,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let sas = setting.parameters.count("sas")?;
    let sas = u8::try_from(sas)
        .ok()
        .filter(|sas| (1..=MOST).contains(&usize::from(*sas)));
    let mut papers = BTreeMap::new();
    for levels in setting.combinations {
        let authentication = AUTHENTICATION.of(levels);
        if !papers.contains_key(authentication) {
            papers.insert(
                authentication.to_owned(),
                issue_as(setting.folder, authentication, profile(setting.combinations))?,
            );
        }
    }
    Ok(Box::new(Memory {
        folder: setting.folder.to_owned(),
        root: charons::root(setting.tools)?.clone(),
        own: setting.tools.sidecar.clone(),
        papers,
        program: None,
        sas: sas.ok_or_else(|| Error::Configuration(format!("`sas` is 1 to {MOST}")))?,
    }))
}

impl Workload for Memory {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let key_exchange = KEY_EXCHANGE.of(trial.levels);
        let papers = self.papers.get(AUTHENTICATION.of(trial.levels));
        let papers = papers.ok_or_else(|| Error::Configuration("a combination that was not announced".to_owned()))?;
        let kind = engine_of(trial.levels);
        let engine = match kind {
            IkeEngine::Strongswan => Engine::LabRoot(self.root.clone()),
            IkeEngine::Bartizan => Engine::Bartizan(self.own.clone()),
        };
        let place = (&*self.folder, "memory");
        let mut link = Link::make_with(
            (&engine, kind),
            place,
            &self.root,
            |settings| data_path(trial.levels, settings, MTU),
            (MTU, false),
        )?;
        for number in 1..=self.sas {
            link.load(number, key_exchange, [&[key_exchange]; 2], papers)?;
        }
        self.program = Some(link.version()?);
        // Warm-up: one-time allocations are made now.
        set_up(&link, 1)?;
        link.clear()?;
        let before = link.cpu()?;
        let kernel_before = kernel_kilobytes()?;
        for number in 1..=self.sas {
            if Instant::now() >= trial.deadline {
                return Err(Error::Broken(io::ErrorKind::TimedOut.into()));
            }
            set_up(&link, number)?;
        }
        let after = link.cpu()?;
        let kernel_after = kernel_kilobytes()?;
        let established = drive::list_sas(&mut link.client()?).map_err(refused)?.len();
        if established != usize::from(self.sas) {
            return Err(Error::Handshake(format!(
                "{established} IKE_SAs stand instead of {}",
                self.sas
            )));
        }
        let grown = |end: usize| (after[end].resident as f64 - before[end].resident as f64) / 1e3;
        let mut observation = Observation::default();
        let values = &mut observation.values;
        values.insert("idle", vec![before[1].resident as f64 / 1e6]);
        values.insert("initiator-per-sa", vec![grown(0) / f64::from(self.sas)]);
        values.insert("responder-per-sa", vec![grown(1) / f64::from(self.sas)]);
        if link.esp() == "kernel" {
            // Both ends have the same kernel.
            let grown = kernel_after.saturating_sub(kernel_before) as f64;
            values.insert("kernel-per-sa", vec![grown / 2.0 / f64::from(self.sas)]);
        }
        observation.facts.insert("esp".to_owned(), link.esp().into());
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.program.clone().into_iter().collect()
    }
}

/// Memory of the kernel that contains SAs and policies, for the whole machine (proc(5), `meminfo`).
fn kernel_kilobytes() -> Result<u64, Error> {
    let text = std::fs::read_to_string("/proc/meminfo").map_err(Error::file("/proc/meminfo"))?;
    let of = |name: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|rest| rest.split_whitespace().next());
        number.and_then(|number| number.parse().ok()).unwrap_or(0)
    };
    Ok(of("SUnreclaim:") + of("Percpu:"))
}

fn set_up(link: &Link, number: u8) -> Result<(), Error> {
    let ask = Section::new()
        .with("child", link::child("first", number))
        .with("ike", link::connection(number))
        .with("timeout", PATIENCE.as_millis().to_string());
    let mut client = link.client()?;
    client.command_within("initiate", ask, PATIENCE * 2).map_err(refused)?;
    Ok(())
}
