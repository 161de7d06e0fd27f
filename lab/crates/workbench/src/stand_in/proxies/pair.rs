//! Two proxies that run, and the server behind them.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bartizan_host::{Process, Program};
use bartizan_ledger::{Direction, Event, Reader, Verdict};
use bartizan_testing::Listening as _;
use bartizan_testing::{Usage, loopback_addresses};

use crate::Error;
use crate::stand_in::proxies::papers::Papers;
use crate::stand_in::proxies::peer::{Link, Reuse};
use crate::stand_in::proxies::site::Cpu;
use crate::stand_in::proxies::{Proxy, Tools};

/// Time limit for a program to listen.
pub(super) const READY: Duration = Duration::from_secs(20);
/// Time limit for a program to end by itself.
const END: Duration = Duration::from_secs(15);

/// The server, a process of this same binary.
#[derive(Debug)]
pub(crate) struct Server {
    process: Process,
    pub(crate) address: SocketAddr,
}

impl Server {
    pub(crate) fn start(tools: &Tools) -> Result<Self, Error> {
        let [address] = loopback_addresses()?;
        let program = Program::new(&tools.own)
            .arguments(["bench", "server", "--listen"])
            .argument(address.to_string());
        let mut process = program.start()?;
        process.wait_for_port(address, READY)?;
        Ok(Self { process, address })
    }

    pub(crate) fn pin(&self, cores: &[usize]) -> Result<(), Error> {
        Ok(bartizan_machine::pin(&self.process, cores)?)
    }
}

/// Two proxies with a link between them.
#[derive(Debug)]
pub(crate) struct Pair {
    consumer: Process,
    producer: Process,
    /// Address to which the client connects.
    pub(crate) entry: SocketAddr,
    /// TLS listening address of the producer's proxy.
    pub(crate) middle: SocketAddr,
    ledger: Option<PathBuf>,
}

impl Pair {
    pub(crate) fn start(
        tools: &Tools,
        proxy: Proxy,
        papers: &Papers,
        reuse: Reuse,
        server: SocketAddr,
        folder: &Path,
    ) -> Result<Self, Error> {
        Self::start_with(tools, proxy, papers, reuse, server, folder, [&[], &[]])
    }

    /// The same with these arguments to the consumer's, and to the producer's.
    pub(crate) fn start_with(
        tools: &Tools,
        proxy: Proxy,
        papers: &Papers,
        reuse: Reuse,
        server: SocketAddr,
        folder: &Path,
        [to_consumer, to_producer]: [&[&str]; 2],
    ) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(Error::file(folder))?;
        let [entry, middle] = loopback_addresses()?;
        let link = Link {
            papers,
            reuse,
            entry,
            middle,
            server,
            folder,
        };
        let ends = tools.ends(proxy, &link)?;
        let mut producer = ends.producer.arguments(to_producer).start()?;
        producer.wait_for_port(middle, READY)?;
        let mut consumer = ends.consumer.arguments(to_consumer).start()?;
        consumer.wait_for_port(entry, READY)?;
        Ok(Self {
            consumer,
            producer,
            entry,
            middle,
            ledger: ends.ledger,
        })
    }

    pub(crate) fn pin(&self, cores: &[usize]) -> Result<(), Error> {
        bartizan_machine::pin(&self.consumer, cores)?;
        Ok(bartizan_machine::pin(&self.producer, cores)?)
    }

    /// Resources used by its two ends: the consumer's, then the producer's.
    pub(crate) fn usage(&self) -> Result<[Usage; 2], Error> {
        Ok([
            Usage::of_group(self.consumer.id())?,
            Usage::of_group(self.producer.id())?,
        ])
    }

    /// Ends it in order, and counts what the producer's ledger says: full handshakes that were accepted, and others.
    /// `None` where no ledger is kept.
    pub(crate) fn stop(self) -> Result<Option<(u64, u64)>, Error> {
        self.consumer.terminate(END)?;
        self.producer.terminate(END)?;
        self.ledger.as_deref().map(handshakes).transpose()
    }

    /// The same while it runs.
    pub(crate) fn ledger(&self) -> Result<Option<(u64, u64)>, Error> {
        self.ledger.as_deref().map(handshakes).transpose()
    }
}

/// Between two readings of [`Pair::usage`].
pub(crate) fn cpu(before: [Usage; 2], after: [Usage; 2]) -> Cpu {
    let spent = |index: usize| {
        let spent = after[index].cpu.saturating_sub(before[index].cpu);
        u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX)
    };
    Cpu {
        consumer_ns: spent(0),
        producer_ns: spent(1),
    }
}

fn handshakes(ledger: &Path) -> Result<(u64, u64), Error> {
    let file = fs::File::open(ledger).map_err(Error::file(ledger))?;
    let (mut full, mut other) = (0, 0);
    for record in Reader::new(std::io::BufReader::new(file)) {
        let record = record.map_err(|error| Error::Configuration(format!("{}: {error}", ledger.display())))?;
        if let Event::Handshake(handshake) = record.event
            && handshake.direction == Direction::Inbound
        {
            let resumed = handshake
                .negotiated
                .as_ref()
                .is_none_or(|negotiated| negotiated.resumed);
            if handshake.verdict == Verdict::Accepted && !resumed {
                full += 1;
            } else {
                other += 1;
            }
        }
    }
    Ok((full, other))
}
