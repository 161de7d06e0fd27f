//! One trial on one route.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bartizan_host::Usage;

use crate::bench::Error;
use crate::bench::client::Client;
use crate::bench::handshake::Ends;
use crate::bench::pair::{self, Pair};
use crate::bench::record::{Cpu, Measured, Over};

/// Requests before those that count: another route ran in between and left the caches full of itself.
const WARM_UP: usize = 10;
/// Failures in a row after which a route is given up.
const FAILURES: usize = 3;
/// Streams of the load before memory is read.
const MEMORY_STREAMS: usize = 64;

/// A route with what it needs.
#[derive(Debug)]
pub(crate) struct Site {
    /// Dropped before the pair, which would otherwise wait for it to end.
    client: Option<Client>,
    pair: Option<Pair>,
    server: SocketAddr,
    /// Our half of handshakes over TCP, and both in memory.
    pub(crate) ends: Option<Ends>,
    connections: u64,
    failures: usize,
}

impl Site {
    /// The route of a pair, or the direct one.
    pub(crate) fn new(pair: Option<Pair>, server: SocketAddr) -> Self {
        Self {
            pair,
            server,
            client: None,
            ends: None,
            connections: 0,
            failures: 0,
        }
    }

    /// Whether it failed so often that no more is tried.
    pub(crate) fn is_given_up(&self) -> bool {
        self.failures >= FAILURES
    }

    /// Counts failures in a row.
    pub(crate) fn note(&mut self, measured: &Measured) {
        let failed = matches!(measured, Measured::Failed { .. });
        self.failures = if failed { self.failures + 1 } else { 0 };
    }

    /// Connections that `new_connections` has made.
    pub(crate) fn connections(&self) -> u64 {
        self.connections
    }

    pub(crate) fn stop(self) -> Result<Option<(u64, u64)>, Error> {
        // The client's connection first: nobody waits for it to end.
        drop(self.client);
        self.pair.map_or(Ok(None), Pair::stop)
    }

    /// Puts the pair onto these processors.
    pub(crate) fn pin(&self, cores: &[usize]) -> Result<(), Error> {
        self.pair.as_ref().map_or(Ok(()), |pair| pair.pin(cores))
    }

    /// What the producer's ledger shows so far: full handshakes that were accepted, and others; `None` where none is kept.
    pub(crate) fn ledger(&self) -> Result<Option<(u64, u64)>, Error> {
        self.pair.as_ref().map_or(Ok(None), Pair::ledger)
    }

    fn entry(&self) -> SocketAddr {
        self.pair.as_ref().map_or(self.server, |pair| pair.entry)
    }

    fn usage(&self) -> Result<Option<[Usage; 2]>, Error> {
        self.pair.as_ref().map(Pair::usage).transpose()
    }

    /// Does something with the connection that is kept, and says what the proxies spent meanwhile.
    fn with_client<T>(
        &mut self,
        work: impl FnOnce(&mut Client) -> Result<T, Error>,
    ) -> Result<(T, Option<Cpu>), Error> {
        let mut client = match self.client.take() {
            Some(client) => client,
            None => Client::connect(self.entry())?,
        };
        let before = self.usage()?;
        let done = work(&mut client)?;
        let after = self.usage()?;
        // After a failure the next trial begins with another connection.
        self.client = Some(client);
        Ok((done, before.zip(after).map(|(before, after)| pair::cpu(before, after))))
    }

    /// Requests one after the other on a connection that is kept.
    pub(crate) fn latency(&mut self, requests: usize) -> Measured {
        let measured = self.with_client(|client| {
            for _ in 0..WARM_UP {
                client.exchange()?;
            }
            (0..requests).map(|_| client.exchange()).collect::<Result<Vec<_>, _>>()
        });
        or_failed(measured.map(|(latencies, cpu)| Measured::Latencies {
            latencies_ns: latencies.into_iter().map(nanoseconds).collect(),
            cpu,
            requests: (requests + WARM_UP) as u64,
        }))
    }

    /// As many requests at once as there are streams.
    pub(crate) fn throughput(&mut self, streams: usize, requests: u64) -> Measured {
        // Sequential requests take as long each as several of many streams.
        let requests = if streams == 1 { requests / 8 } else { requests };
        let measured = self.with_client(|client| {
            client.load(streams, 20 * streams as u64)?;
            client.load(streams, requests)
        });
        or_failed(measured.map(|(elapsed, cpu)| Measured::Load {
            streams,
            requests,
            elapsed_ns: nanoseconds(elapsed),
            cpu,
        }))
    }

    /// Requests each on a connection of its own, from before it is opened until the whole answer is there.
    pub(crate) fn new_connections(&mut self, connections: usize) -> Measured {
        or_failed(self.try_new_connections(connections))
    }

    fn try_new_connections(&mut self, connections: usize) -> Result<Measured, Error> {
        let before = self.usage()?;
        let mut latencies_ns = Vec::with_capacity(connections);
        for number in 0..=connections {
            let began = Instant::now();
            let mut client = Client::connect(self.entry())?;
            self.connections += 1;
            client.exchange()?;
            // The first warms up.
            if number > 0 {
                latencies_ns.push(nanoseconds(began.elapsed()));
            }
        }
        let after = self.usage()?;
        Ok(Measured::Latencies {
            latencies_ns,
            cpu: before.zip(after).map(|(before, after)| pair::cpu(before, after)),
            requests: connections as u64 + 1,
        })
    }

    pub(crate) fn handshakes_in_memory(&self, handshakes: u64) -> Measured {
        let Some(ends) = &self.ends else {
            return nothing_to_shake();
        };
        let mut server = Duration::ZERO;
        for number in 0..=handshakes {
            match ends.in_memory() {
                // The first warms up.
                Ok(time) if number > 0 => server += time,
                Ok(_) => {}
                Err(error) => return failed(&error),
            }
        }
        Measured::Handshakes {
            over: Over::Memory,
            handshakes,
            server_cpu_ns: nanoseconds(server),
        }
    }

    /// The same, each between ends that have not met before.
    pub(crate) fn first_contacts(&self, handshakes: u64) -> Measured {
        let Some(ends) = &self.ends else {
            return nothing_to_shake();
        };
        let mut server = Duration::ZERO;
        for _ in 0..handshakes {
            match ends.strangers().and_then(|ends| ends.in_memory()) {
                Ok(time) => server += time,
                Err(error) => return failed(&error),
            }
        }
        Measured::Handshakes {
            over: Over::MemoryFirstContact,
            handshakes,
            server_cpu_ns: nanoseconds(server),
        }
    }

    pub(crate) fn handshakes_over_tcp(&self, handshakes: u64) -> Measured {
        let (Some(ends), Some(pair)) = (&self.ends, &self.pair) else {
            return nothing_to_shake();
        };
        or_failed(try_handshakes(ends, pair, handshakes))
    }

    /// What the proxies hold after load.
    pub(crate) fn memory(&mut self, requests: u64) -> Measured {
        let loaded = self.with_client(|client| client.load(MEMORY_STREAMS, requests));
        or_failed(loaded.and_then(|_| {
            let [consumer, producer] = self.usage()?.unwrap_or_default();
            Ok(Measured::Memory {
                requests,
                consumer_bytes: consumer.resident,
                producer_bytes: producer.resident,
            })
        }))
    }
}

fn try_handshakes(ends: &Ends, pair: &Pair, handshakes: u64) -> Result<Measured, Error> {
    ends.over_tcp(pair.middle)?;
    let before = pair.usage()?;
    for _ in 0..handshakes {
        ends.over_tcp(pair.middle)?;
    }
    let cpu = pair::cpu(before, pair.usage()?);
    Ok(Measured::Handshakes {
        over: Over::Tcp,
        handshakes,
        server_cpu_ns: cpu.producer_ns,
    })
}

fn nothing_to_shake() -> Measured {
    failed(&Error::Configuration("no ends for handshakes".to_owned()))
}

fn failed(error: &Error) -> Measured {
    Measured::Failed {
        error: error.to_string(),
    }
}

fn or_failed(measured: Result<Measured, Error>) -> Measured {
    measured.unwrap_or_else(|error| failed(&error))
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
