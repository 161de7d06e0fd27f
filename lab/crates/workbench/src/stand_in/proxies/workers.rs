//! A pair of sidecars of which the producer's has several workers, and clients that keep all of them busy.
//!
//! Client, both sidecars and the server share the machine, so that nothing but the measured sidecar
//! may be what limits them: each of its threads of one kind gets a fixed share of a processor and
//! no more. What two such threads carry together, over what one carries, is then how well the
//! sidecar spreads over threads, whatever number of processors the machine has.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use bartizan_host::Process;
use bartizan_testing::Listening as _;
use bartizan_testing::{Usage, loopback_addresses};

use bartizan_machine::{Quotas, Thread};

use crate::Error;
use crate::stand_in::proxies::client::Client;
use crate::stand_in::proxies::handshake::Ends;
use crate::stand_in::proxies::pair::READY;
use crate::stand_in::proxies::papers::Papers;
use crate::stand_in::proxies::peer::{Link, Reuse};
use crate::stand_in::proxies::{Proxy, Tools};

/// In which a thread has its share. A worker that has used it up waits for a few milliseconds,
/// which clients must have requests for.
const PERIOD: Duration = Duration::from_millis(20);
/// Clients, each with a connection of its own: as many for every number of workers.
const CLIENTS: usize = 8;
/// Requests of a client under way at once.
const STREAMS: usize = 16;
/// Workers of the consumer's sidecar, which has no bound: by `http2` each has a connection of its
/// own to the producer's.
const CONSUMER_WORKERS: &str = "2";
/// Requests that warm up where one after the other is measured.
const WARM_UP: usize = 20;

/// The pair.
#[derive(Debug)]
pub(crate) struct Crowd {
    _consumer: Process,
    producer: Process,
    entry: SocketAddr,
    middle: SocketAddr,
    ends: Ends,
    workers: usize,
}

/// Rate and cost of a number of requests or handshakes.
#[derive(Debug)]
pub(crate) struct Rate {
    pub(crate) per_second: f64,
    /// Processor time of the measured sidecar, with all its threads, for each.
    pub(crate) cpu: Duration,
    /// Processor time of each measured thread that has a bound, by its number.
    pub(crate) of_threads: Vec<Duration>,
}

/// Threads of the measured sidecar that do the same.
#[derive(Debug, Clone, Copy)]
enum Threads {
    Workers,
    Handshakes,
}

impl Threads {
    /// Their names; the first worker is the first thread of the process, whatever that is called.
    fn named(self, threads: &[Thread], workers: usize) -> Result<Vec<&Thread>, Error> {
        let first = match self {
            Self::Workers => threads.first(),
            Self::Handshakes => threads.iter().find(|thread| thread.name == "handshakes"),
        };
        let kind = match self {
            Self::Workers => "worker",
            Self::Handshakes => "handshakes",
        };
        let others = (1..workers).map(|number| {
            let name = format!("{kind}-{number}");
            threads.iter().find(|thread| thread.name == name)
        });
        let all: Option<Vec<_>> = std::iter::once(first).chain(others).collect();
        all.ok_or_else(|| Error::Configuration(format!("the sidecar has no {workers} threads {kind}")))
    }
}

impl Crowd {
    pub(crate) fn start(
        tools: &Tools,
        (path, workers): (Proxy, usize),
        papers: &Papers,
        server: SocketAddr,
        folder: &Path,
    ) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(Error::file(folder))?;
        let [entry, middle] = loopback_addresses()?;
        let link = Link {
            papers,
            reuse: Reuse::Kept,
            entry,
            middle,
            server,
            folder,
        };
        let ends = tools.ends(path, &link)?;
        let mut producer = ends.producer.arguments(["--workers", &workers.to_string()]).start()?;
        producer.wait_for_port(middle, READY)?;
        let mut consumer = ends.consumer.arguments(["--workers", CONSUMER_WORKERS]).start()?;
        consumer.wait_for_port(entry, READY)?;
        Ok(Self {
            _consumer: consumer,
            producer,
            entry,
            middle,
            ends: Ends::new(papers, folder)?,
            workers,
        })
    }

    /// Latencies of this many sequential requests, without a bound.
    pub(crate) fn latencies(&self, requests: usize) -> Result<Vec<Duration>, Error> {
        let mut client = Client::connect(self.entry)?;
        for _ in 0..WARM_UP {
            client.exchange()?;
        }
        (0..requests).map(|_| client.exchange()).collect()
    }

    /// Requests per second of all clients together, while each worker has this share of a
    /// processor, from 0 to 1. Each client sends so many.
    pub(crate) fn requests(&self, requests: u64, share: f64) -> Result<Rate, Error> {
        let clients = (0..CLIENTS).map(|_| {
            let mut client = Client::connect(self.entry)?;
            // It is open, on its worker, and known to the dynamic tables before time counts.
            client.load(STREAMS, 2 * STREAMS as u64)?;
            Ok(client)
        });
        let clients = clients.collect::<Result<Vec<_>, Error>>()?;
        let each = |mut client: Client| client.load(STREAMS, requests).map(drop);
        self.rate((Threads::Workers, share), clients, each, requests)
    }

    /// Full handshakes per second with all clients together, while each thread of handshakes has
    /// this share of a processor. Each client makes so many.
    pub(crate) fn handshakes(&self, handshakes: u64, share: f64) -> Result<Rate, Error> {
        // Chains are known from then on.
        self.ends.over_tcp(self.middle)?;
        let each = |()| (0..handshakes).try_for_each(|_| self.ends.over_tcp(self.middle));
        self.rate((Threads::Handshakes, share), vec![(); CLIENTS], each, handshakes)
    }

    fn rate<T: Send>(
        &self,
        (kind, share): (Threads, f64),
        clients: Vec<T>,
        each: impl Fn(T) -> Result<(), Error> + Sync,
        amount: u64,
    ) -> Result<Rate, Error> {
        let threads = bartizan_machine::threads_of(&self.producer)?;
        let bounded = kind.named(&threads, self.workers)?;
        let spent = || bounded.iter().map(|thread| thread.cpu()).collect::<Result<Vec<_>, _>>();
        let quotas = Quotas::of(&bounded, PERIOD.mul_f64(share), PERIOD)?;
        let (before, used) = (spent()?, Usage::of(self.producer.id())?);
        let began = Instant::now();
        let all = (amount * clients.len() as u64) as f64;
        let ended = thread::scope(|scope| {
            let each = &each;
            let running: Vec<_> = clients
                .into_iter()
                .map(|client| scope.spawn(move || each(client)))
                .collect();
            let gone = || Err(Error::Protocol("a client ended".to_owned()));
            running
                .into_iter()
                .try_for_each(|client| client.join().unwrap_or_else(|_| gone()))
        });
        let took = began.elapsed();
        ended?;
        let (after, using) = (spent()?, Usage::of(self.producer.id())?);
        drop(quotas);
        Ok(Rate {
            per_second: all / took.as_secs_f64(),
            cpu: using.cpu.saturating_sub(used.cpu).div_f64(all),
            of_threads: after
                .iter()
                .zip(before)
                .map(|(after, before)| after.saturating_sub(before))
                .collect(),
        })
    }
}
