//! The order of a run: every repetition takes each route once, in random order by the recorded seed, so that whatever else
//! happens on the machine meets all routes alike.

mod trial;

use std::collections::BTreeMap;
use std::path::PathBuf;

use bartizan_stats::Random;

use crate::bench::environment::{self, Environment};
use crate::bench::handshake::Ends;
use crate::bench::pair::{Pair, Server};
use crate::bench::papers::Papers;
use crate::bench::peer::Reuse;
use crate::bench::record::{Measured, Record, SCHEMA};
use crate::bench::{Error, Mode, Placement, Proxy, Route, Tools, What};
pub(crate) use trial::Site;

/// Streams at once that throughput is measured with.
const STREAMS: [usize; 3] = [1, 16, 64];

/// How much is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Repetitions of latency and of new connections.
    pub repetitions: usize,
    /// Requests of one repetition on a kept connection.
    pub requests: usize,
    /// New connections of one repetition.
    pub connections: usize,
    /// Requests of one repetition of throughput, for each number of streams.
    pub load: u64,
    /// Handshakes of one repetition.
    pub handshakes: u64,
    /// Whether this is only a look.
    pub quick: bool,
}

impl Extent {
    /// With so many repetitions.
    #[must_use]
    pub fn full(repetitions: usize) -> Self {
        Self {
            repetitions,
            requests: 100,
            connections: 20,
            load: 4_000,
            handshakes: 40,
            quick: false,
        }
    }

    /// A look within seconds, which proves nothing.
    #[must_use]
    pub fn quick() -> Self {
        Self {
            repetitions: 5,
            requests: 30,
            connections: 5,
            load: 500,
            handshakes: 5,
            quick: true,
        }
    }

    /// Handshakes of one repetition before each of which both ends are made anew.
    fn first_contacts(&self) -> u64 {
        self.handshakes.div_ceil(8)
    }

    /// Repetitions of what takes long and varies little.
    fn few(&self) -> usize {
        self.repetitions.div_ceil(10)
    }
}

/// What shall be measured.
#[derive(Debug)]
pub struct Options {
    /// Proxies, each of which must be there ([`Tools::missing`]).
    pub proxies: Vec<Proxy>,
    /// What of them.
    pub what: Vec<What>,
    /// Where.
    pub placements: Vec<Placement>,
    /// How much.
    pub extent: Extent,
    /// Decides every order.
    pub seed: u64,
    /// The programs.
    pub tools: Tools,
    /// A folder for keys, configurations and logs.
    pub folder: PathBuf,
}

/// Who watches a run.
pub trait Observer {
    /// Something begins that takes `trials` trials.
    fn step(&mut self, what: &str, trials: usize);
    /// A trial is over.
    ///
    /// # Errors
    /// Ends the run.
    fn record(&mut self, record: Record) -> Result<(), Error>;
    /// Whether the run shall end now.
    fn interrupted(&self) -> bool;
}

/// Measures, and hands over each record as it is taken.
///
/// # Errors
/// [`Error::Interrupted`]; where programs cannot be started, or a ledger does not show what was measured. A trial that fails
/// is a record and does not end the run.
pub fn run(options: &Options, observer: &mut dyn Observer) -> Result<(), Error> {
    let programs = options.proxies.iter().filter_map(|&proxy| options.tools.version(proxy));
    let mut programs: Vec<String> = programs.collect();
    programs.dedup();
    let (environment, _priority) = Environment::enter(programs)?;
    let server = Server::start(&options.tools)?;
    let mut run = Run {
        options,
        observer,
        papers: Mode::ALL
            .map(|mode| Papers::make(&options.folder, mode))
            .into_iter()
            .collect::<Result<_, _>>()?,
        random: Random::seeded(options.seed),
        environment,
        server,
        started: 0,
    };
    let measured = options
        .placements
        .iter()
        .try_for_each(|&placement| run.placement(placement));
    // Also after an end that came early: what follows needs no place of its own.
    bartizan_host::pin_this_thread(&run.environment.processors)?;
    measured
}

struct Run<'a> {
    options: &'a Options,
    observer: &'a mut dyn Observer,
    papers: Vec<Papers>,
    random: Random,
    environment: Environment,
    server: Server,
    /// Pairs so far: each has a folder of its own.
    started: usize,
}

/// Where and when a trial is.
#[derive(Clone, Copy)]
struct Place {
    what: What,
    placement: Placement,
    repetition: usize,
    position: usize,
}

impl Run<'_> {
    fn placement(&mut self, placement: Placement) -> Result<(), Error> {
        let cores = self.cores(placement);
        bartizan_host::pin_this_thread(&cores)?;
        self.server.pin(&cores)?;
        let whats = self.options.what.clone();
        let wants = |what| whats.contains(&what);
        if wants(What::Latency) || wants(What::Throughput) {
            self.kept(placement, wants(What::Latency), wants(What::Throughput))?;
        }
        if wants(What::NewConnection) {
            self.new_connections(placement)?;
        }
        if wants(What::Handshakes) {
            // Both halves are one thread: where it runs says nothing.
            if placement == self.options.placements[0] {
                self.handshakes_in_memory(placement)?;
            }
            self.handshakes_over_tcp(placement)?;
        }
        if wants(What::Memory) && placement == self.options.placements[0] {
            self.memory(placement)?;
        }
        Ok(())
    }

    fn cores(&self, placement: Placement) -> Vec<usize> {
        placement.cores(&self.environment.processors).to_vec()
    }

    fn routes(&self) -> Vec<Route> {
        let through = |&proxy: &Proxy| Mode::ALL.map(|mode| Route::Through(proxy, mode));
        self.options.proxies.iter().flat_map(through).collect()
    }

    fn papers(&self, mode: Mode) -> &Papers {
        &self.papers[usize::from(mode == Mode::PostQuantum)]
    }

    fn start(&mut self, proxy: Proxy, mode: Mode, reuse: Reuse, placement: Placement) -> Result<Pair, Error> {
        self.started += 1;
        let name = format!("{}-{}-{}", self.started, proxy.name(), mode.name());
        let folder = self.options.folder.join(name);
        let (tools, server) = (&self.options.tools, self.server.address);
        let pair = Pair::start(tools, proxy, self.papers(mode), reuse, server, &folder)?;
        pair.pin(&self.cores(placement))?;
        Ok(pair)
    }

    /// Starts a pair for every route; the direct route is one without.
    fn start_all(
        &mut self,
        routes: &[Route],
        reuse: Reuse,
        placement: Placement,
    ) -> Result<BTreeMap<Route, Site>, Error> {
        let mut sites = BTreeMap::new();
        for &route in routes {
            self.check()?;
            let pair = match route {
                Route::Direct => None,
                Route::Through(proxy, mode) => Some(self.start(proxy, mode, reuse, placement)?),
            };
            sites.insert(route, Site::new(pair, self.server.address));
        }
        Ok(sites)
    }

    /// Takes every route once per repetition, in random order.
    fn interleave(
        &mut self,
        what: What,
        placement: Placement,
        repetitions: usize,
        sites: &mut BTreeMap<Route, Site>,
        mut trials: impl FnMut(&mut Site) -> Vec<Measured>,
    ) -> Result<(), Error> {
        let title = format!("{}, {}", what.name(), placement.name());
        self.observer.step(&title, repetitions * sites.len());
        let mut order: Vec<Route> = sites.keys().copied().collect();
        for repetition in 0..repetitions {
            self.random.shuffle(&mut order);
            for (position, route) in order.iter().enumerate() {
                self.check()?;
                let Some(site) = sites.get_mut(route) else { continue };
                let place = Place {
                    what,
                    placement,
                    repetition,
                    position,
                };
                let at_us = environment::now_us();
                // A route that hangs would hold all others up at every repetition.
                if site.is_given_up() {
                    continue;
                }
                for measured in trials(site) {
                    site.note(&measured);
                    self.take(*route, place, at_us, measured)?;
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, route: Route, place: Place, at_us: u64, measured: Measured) -> Result<(), Error> {
        let (proxy, mode) = match route {
            Route::Direct => (None, None),
            Route::Through(proxy, mode) => (Some(proxy), Some(mode)),
        };
        let record = Record {
            schema: SCHEMA,
            at_us,
            seed: self.options.seed,
            quick: self.options.extent.quick,
            what: place.what,
            proxy,
            mode,
            placement: place.placement,
            cores: self.cores(place.placement),
            repetition: place.repetition,
            position: place.position,
            load: environment::load_average(),
            environment: self.environment.clone(),
            measured,
        };
        self.observer.record(record)
    }

    fn check(&self) -> Result<(), Error> {
        if self.observer.interrupted() {
            Err(Error::Interrupted)
        } else {
            Ok(())
        }
    }

    fn kept(&mut self, placement: Placement, latency: bool, throughput: bool) -> Result<(), Error> {
        let extent = self.options.extent;
        let routes = [vec![Route::Direct], self.routes()].concat();
        let mut sites = self.start_all(&routes, Reuse::Kept, placement)?;
        if latency {
            self.interleave(What::Latency, placement, extent.repetitions, &mut sites, |site| {
                vec![site.latency(extent.requests)]
            })?;
        }
        if throughput {
            self.interleave(What::Throughput, placement, extent.few(), &mut sites, |site| {
                STREAMS.map(|streams| site.throughput(streams, extent.load)).into()
            })?;
        }
        sites.into_values().try_for_each(|site| site.stop().map(drop))
    }

    fn new_connections(&mut self, placement: Placement) -> Result<(), Error> {
        let extent = self.options.extent;
        let fresh = |route: &Route| !matches!(route, Route::Through(proxy, _) if proxy.always_pools().is_some());
        let routes: Vec<Route> = [vec![Route::Direct], self.routes()]
            .concat()
            .into_iter()
            .filter(fresh)
            .collect();
        let mut sites = self.start_all(&routes, Reuse::Fresh, placement)?;
        let what = What::NewConnection;
        self.interleave(what, placement, extent.repetitions, &mut sites, |site| {
            vec![site.new_connections(extent.connections)]
        })?;
        for (route, site) in sites {
            let connections = site.connections();
            let Some((full, others)) = site.stop()? else { continue };
            let place = Place {
                what,
                placement,
                repetition: extent.repetitions,
                position: 0,
            };
            let measured = Measured::Ledger {
                connections,
                full_handshakes: full,
                others,
            };
            self.take(route, place, environment::now_us(), measured)?;
        }
        Ok(())
    }

    fn handshakes_in_memory(&mut self, placement: Placement) -> Result<(), Error> {
        let extent = self.options.extent;
        let mut sites = BTreeMap::new();
        for mode in Mode::ALL {
            let mut site = Site::new(None, self.server.address);
            site.ends = Some(Ends::new(self.papers(mode), &self.options.folder)?);
            // They are of our own code whatever the path.
            sites.insert(Route::Through(Proxy::Splice, mode), site);
        }
        self.interleave(What::Handshakes, placement, extent.repetitions, &mut sites, |site| {
            vec![
                site.handshakes_in_memory(extent.handshakes),
                site.first_contacts(extent.first_contacts()),
            ]
        })
    }

    fn handshakes_over_tcp(&mut self, placement: Placement) -> Result<(), Error> {
        let extent = self.options.extent;
        let routes = self.routes();
        let mut sites = self.start_all(&routes, Reuse::Fresh, placement)?;
        for (route, site) in &mut sites {
            if let Route::Through(_, mode) = route {
                site.ends = Some(Ends::new(self.papers(*mode), &self.options.folder)?);
            }
        }
        self.interleave(What::Handshakes, placement, extent.few(), &mut sites, |site| {
            vec![site.handshakes_over_tcp(extent.handshakes)]
        })?;
        sites.into_values().try_for_each(|site| site.stop().map(drop))
    }

    /// A pair of its own for each trial, so that what came before does not count.
    fn memory(&mut self, placement: Placement) -> Result<(), Error> {
        let extent = self.options.extent;
        let mut routes = self.routes();
        let repetitions = extent.few().min(5);
        self.observer.step("memory", repetitions * routes.len());
        for repetition in 0..repetitions {
            self.random.shuffle(&mut routes);
            for (position, &route) in routes.iter().enumerate() {
                self.check()?;
                let Route::Through(proxy, mode) = route else { continue };
                let at_us = environment::now_us();
                let pair = self.start(proxy, mode, Reuse::Kept, placement)?;
                let mut site = Site::new(Some(pair), self.server.address);
                let measured = site.memory(extent.load);
                site.stop()?;
                let place = Place {
                    what: What::Memory,
                    placement,
                    repetition,
                    position,
                };
                self.take(route, place, at_us, measured)?;
            }
        }
        Ok(())
    }
}
