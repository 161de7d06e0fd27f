//! The pairs that run side by side, and the trials on them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::levels::STREAMS;
use super::observation;
use crate::stand_in::proxies::{
    Ends, Measured, Mode, Pair, Papers, Placement, Reuse, Route, Server, Site, Tools, What,
};
use crate::workload::{Error, Observation, Setting, Trial, Workload};

/// Time that a ledger may lag behind its handshakes: a separate thread writes it.
const LEDGER: Duration = Duration::from_secs(2);

pub(super) fn start(setting: &Setting<'_>, what: What) -> Result<Box<dyn Workload>, Error> {
    let count = |name: &str| setting.parameters.count(name);
    let papers = Mode::ALL.map(|mode| Papers::make(setting.folder, mode));
    let mut sites = Sites {
        what,
        amount: match what {
            What::Latency | What::Throughput | What::Memory => count("requests")?,
            What::NewConnection => count("connections")?,
            What::Handshakes => count("handshakes")?,
        },
        papers: papers.into_iter().collect::<Result<_, _>>()?,
        server: Server::start(setting.tools)?,
        tools: setting.tools.clone(),
        folder: setting.folder.to_owned(),
        processors: setting.processors.to_vec(),
        started: 0,
        sites: BTreeMap::new(),
        here: None,
        programs: Vec::new(),
    };
    for levels in setting.combinations {
        let route = Route::of(levels)?;
        if let Route::Through(proxy, _) = route {
            sites.programs.extend(sites.tools.version(proxy));
        }
        // A pair that does not come up is a matter of its own trials.
        if what != What::Memory
            && !sites.sites.contains_key(&route)
            && let Ok(site) = sites.site(route)
        {
            sites.sites.insert(route, site);
        }
    }
    sites.programs.sort_unstable();
    sites.programs.dedup();
    Ok(Box::new(sites))
}

/// Every route with what it needs.
struct Sites {
    what: What,
    /// Requests, connections or handshakes of a trial.
    amount: usize,
    papers: Vec<Papers>,
    /// Dropped before the server, which they lead to.
    sites: BTreeMap<Route, Running>,
    server: Server,
    tools: Tools,
    folder: PathBuf,
    processors: Vec<usize>,
    /// Pairs so far: each has a folder of its own.
    started: usize,
    /// Placement of the server.
    here: Option<Placement>,
    programs: Vec<String>,
}

struct Running {
    site: Site,
    placement: Option<Placement>,
    /// Handshakes that its ledger showed before.
    shown: u64,
}

impl Workload for Sites {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let (route, placement) = (Route::of(trial.levels)?, Placement::of(trial.levels));
        let mut running = match self.sites.remove(&route) {
            Some(running) => running,
            None => self.site(route)?,
        };
        self.place(&mut running, placement)?;
        // One that fails is dropped: the next trial begins with another pair.
        let measured = self.measure(&mut running.site, trial)?;
        let mut observation = observation(measured, route);
        if self.what == What::NewConnection {
            let shown = verify(&mut running)?;
            observation.facts.extend(shown);
        }
        // Memory is that of a pair which has done nothing before.
        if self.what == What::Memory {
            running.site.stop()?;
        } else {
            self.sites.insert(route, running);
        }
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.programs.clone()
    }
}

impl Sites {
    fn measure(&self, site: &mut Site, trial: &Trial<'_>) -> Result<Measured, Error> {
        let amount = self.amount;
        match self.what {
            What::Latency => site.latency(amount),
            What::Throughput => {
                let level = trial.levels.level(STREAMS).unwrap_or("1");
                let streams: usize = level
                    .parse()
                    .map_err(|_| Error::Configuration(format!("{level} is no number of streams")))?;
                site.throughput(streams, amount as u64)
            }
            What::NewConnection => site.new_connections(amount),
            What::Handshakes => site.handshakes_over_tcp(amount as u64),
            What::Memory => site.memory(amount as u64),
        }
    }

    fn site(&mut self, route: Route) -> Result<Running, Error> {
        let site = match route {
            Route::Direct => Site::new(None, self.server.address),
            Route::Through(proxy, mode) => {
                self.started += 1;
                let name = format!("{}-{}-{}", self.started, proxy.name(), mode.name());
                let reuse = match self.what {
                    What::NewConnection | What::Handshakes => Reuse::Fresh,
                    What::Latency | What::Throughput | What::Memory => Reuse::Kept,
                };
                let papers = &self.papers[usize::from(mode == Mode::PostQuantum)];
                let folder = self.folder.join(name);
                let pair = Pair::start(&self.tools, proxy, papers, reuse, self.server.address, &folder)?;
                let mut site = Site::new(Some(pair), self.server.address);
                if self.what == What::Handshakes {
                    site.ends = Some(Ends::new(papers, &self.folder)?);
                }
                site
            }
        };
        Ok(Running {
            site,
            placement: None,
            shown: 0,
        })
    }

    /// Puts client, server and pair onto the processors of a placement.
    fn place(&mut self, running: &mut Running, placement: Placement) -> Result<(), Error> {
        let cores = placement.cores(&self.processors);
        // Calibrating has put this thread elsewhere.
        bartizan_machine::pin_this_thread(cores)?;
        if self.here != Some(placement) {
            self.server.pin(cores)?;
            self.here = Some(placement);
        }
        if running.placement != Some(placement) {
            running.site.pin(cores)?;
            running.placement = Some(placement);
        }
        Ok(())
    }
}

/// Holds the connections of a trial against the producer's ledger, where it keeps one: each was a full handshake.
fn verify(running: &mut Running) -> Result<Vec<(String, Value)>, Error> {
    let made = running.site.connections();
    let deadline = Instant::now() + LEDGER;
    let (full, others) = loop {
        let late = Instant::now() >= deadline;
        match running.site.ledger() {
            Ok(None) => return Ok(Vec::new()),
            Ok(Some((full, others))) if late || full + others >= made => break (full, others),
            Err(error) if late => return Err(error),
            // Its last line is being written.
            Ok(Some(_)) | Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    };
    if (full, others) != (made, 0) {
        return Err(Error::Handshake(format!(
            "the ledger shows {full} full handshakes and {others} others for {made} connections"
        )));
    }
    let new = full - running.shown;
    running.shown = full;
    Ok(vec![("full-handshakes".to_owned(), Value::from(new))])
}
