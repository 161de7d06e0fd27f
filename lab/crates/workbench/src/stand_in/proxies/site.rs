//! One trial on one route, and what it gives.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bartizan_testing::Usage;

use crate::Error;
use crate::stand_in::proxies::client::Client;
use crate::stand_in::proxies::handshake::Ends;
use crate::stand_in::proxies::pair::{self, Pair};

/// Requests before those that count: another route ran in between and left the caches full of itself.
const WARM_UP: usize = 10;
/// Streams of the load before memory is read.
const MEMORY_STREAMS: usize = 64;

/// Measurements of a trial.
#[derive(Debug)]
pub(crate) enum Measured {
    /// Sequential requests.
    Latencies {
        /// Latency of each request in nanoseconds, in order, without warm-up.
        latencies_ns: Vec<u64>,
        /// Processor time of the proxies while they ran, warm-up included; absent on the direct route.
        cpu: Option<Cpu>,
        /// Requests within that time.
        requests: u64,
    },
    /// Concurrent requests.
    Load {
        /// Requests answered.
        requests: u64,
        /// In how long.
        elapsed_ns: u64,
        /// Processor time of the proxies meanwhile; absent on the direct route.
        cpu: Option<Cpu>,
    },
    /// Handshakes only.
    Handshakes {
        handshakes: u64,
        /// Processor time of the server's side for all of them.
        server_cpu_ns: u64,
    },
    /// Bytes resident after load, all processes of an end together.
    Memory {
        /// The consumer's proxy.
        consumer_bytes: u64,
        /// The producer's proxy.
        producer_bytes: u64,
    },
}

/// Processor time of the two proxies of a route, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cpu {
    pub(crate) consumer_ns: u64,
    pub(crate) producer_ns: u64,
}

/// A route with what it needs.
#[derive(Debug)]
pub(crate) struct Site {
    /// Dropped before the pair, which would otherwise wait for it to end.
    client: Option<Client>,
    pair: Option<Pair>,
    server: SocketAddr,
    /// Our half of handshakes over TCP.
    pub(crate) ends: Option<Ends>,
    connections: u64,
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
        }
    }

    /// Connections that `new_connections` has made.
    pub(crate) fn connections(&self) -> u64 {
        self.connections
    }

    pub(crate) fn stop(self) -> Result<Option<(u64, u64)>, Error> {
        // The client's connection first: it needs no graceful end.
        drop(self.client);
        self.pair.map_or(Ok(None), Pair::stop)
    }

    /// Puts the pair onto these processors.
    pub(crate) fn pin(&self, cores: &[usize]) -> Result<(), Error> {
        self.pair.as_ref().map_or(Ok(()), |pair| pair.pin(cores))
    }

    /// Handshakes in the producer's ledger so far: accepted full ones, and others; `None` without a
    /// ledger.
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
    pub(crate) fn latency(&mut self, requests: usize) -> Result<Measured, Error> {
        let (latencies, cpu) = self.with_client(|client| {
            for _ in 0..WARM_UP {
                client.exchange()?;
            }
            (0..requests).map(|_| client.exchange()).collect::<Result<Vec<_>, _>>()
        })?;
        Ok(Measured::Latencies {
            latencies_ns: latencies.into_iter().map(nanoseconds).collect(),
            cpu,
            requests: (requests + WARM_UP) as u64,
        })
    }

    /// As many requests at once as there are streams.
    pub(crate) fn throughput(&mut self, streams: usize, requests: u64) -> Result<Measured, Error> {
        // Sequential requests take as long each as several of many streams.
        let requests = if streams == 1 { requests / 8 } else { requests };
        let (elapsed, cpu) = self.with_client(|client| {
            client.load(streams, 20 * streams as u64)?;
            client.load(streams, requests)
        })?;
        Ok(Measured::Load {
            requests,
            elapsed_ns: nanoseconds(elapsed),
            cpu,
        })
    }

    /// Requests each on a connection of its own, from before it is opened until the whole answer is there.
    pub(crate) fn new_connections(&mut self, connections: usize) -> Result<Measured, Error> {
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

    /// Full handshakes with the producer's proxy, by its processor time.
    pub(crate) fn handshakes_over_tcp(&self, handshakes: u64) -> Result<Measured, Error> {
        let (Some(ends), Some(pair)) = (&self.ends, &self.pair) else {
            return Err(Error::Configuration("no ends for handshakes".to_owned()));
        };
        ends.over_tcp(pair.middle)?;
        let before = pair.usage()?;
        for _ in 0..handshakes {
            ends.over_tcp(pair.middle)?;
        }
        let cpu = pair::cpu(before, pair.usage()?);
        Ok(Measured::Handshakes {
            handshakes,
            server_cpu_ns: cpu.producer_ns,
        })
    }

    /// Memory of the proxies after load.
    pub(crate) fn memory(&mut self, requests: u64) -> Result<Measured, Error> {
        self.with_client(|client| client.load(MEMORY_STREAMS, requests))?;
        let [consumer, producer] = self.usage()?.unwrap_or_default();
        Ok(Measured::Memory {
            consumer_bytes: consumer.resident,
            producer_bytes: producer.resident,
        })
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
