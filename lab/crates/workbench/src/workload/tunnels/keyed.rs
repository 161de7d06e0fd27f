//! Influence of a tunnel's key exchange on its throughput: two engines of Bartizan with their own
//! ESP, whose SAs are set up anew for each trial.

use bartizan_pki::Profile;

use super::{METRICS, OFFERED, PARAMETERS, SIZE, Sending, TRAFFIC};
use crate::stand_in::charons::{Papers, lacks_research};
use crate::stand_in::proxies::Tools;
use crate::stand_in::tunnels::{Maker, Tunnel};
use crate::workload::responder::{CIPHER, RESEARCHED};
use crate::workload::{Error, Kind, Lack, Levels, Observation, Setting, Targets, Trial, Workload};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "tunnel-by-key-exchange",
    about: "Sends through a tunnel in user space between two engines of Bartizan, whose SAs each trial sets up anew by another key exchange.",
    factors: &[RESEARCHED, CIPHER, TRAFFIC, SIZE, OFFERED],
    parameters: PARAMETERS,
    metrics: METRICS,
    targets: Targets::Own,
    lacks,
    start,
};

fn lacks(levels: &Levels, tools: &Tools) -> Option<Lack> {
    Maker::Bartizan
        .lacks(tools)
        .or_else(|| lacks_research(RESEARCHED.of(levels)))
}

struct Keyed {
    // Before the certificates.
    tunnel: Tunnel,
    papers: Papers,
    sending: Sending,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let papers = Papers::issue(setting.folder, "ecdsa-p256", ["near", "far"], Profile::Ipsec)?;
    Ok(Box::new(Keyed {
        tunnel: Tunnel::make(Maker::Bartizan, setting.tools, &papers, setting.folder)?,
        papers,
        sending: Sending::of(setting)?,
    }))
}

impl Workload for Keyed {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let [key_exchange, cipher] = [&RESEARCHED, &CIPHER].map(|factor| factor.of(trial.levels));
        self.tunnel.key(&self.papers, key_exchange, cipher)?;
        self.sending.through(&mut self.tunnel, trial)
    }

    fn programs(&self) -> Vec<String> {
        vec![self.tunnel.program().to_owned()]
    }
}
