//! A pair of sidecars that send spans of requests to a collector, which takes them and counts.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bartizan_testing::loopback_addresses;

use crate::Error;
use crate::stand_in::proxies::client::Client;
use crate::stand_in::proxies::{Pair, Papers, Proxy, Reuse, Tools};

/// Requests under way at once where as many as pass are measured.
const STREAMS: usize = 16;
/// Requests that warm up.
const WARM_UP: usize = 20;
/// Time limit for spans that have not arrived yet.
const LATE: Duration = Duration::from_secs(3);
/// Longer than a sidecar gathers.
const STILL: Duration = Duration::from_millis(500);

/// Both sidecars, by `http2`.
#[derive(Debug)]
pub(crate) struct Traced {
    pair: Pair,
    /// True if the client's requests belong to a trace.
    header: bool,
    collector: Option<Collector>,
}

/// Cost of a number of requests.
#[derive(Debug)]
pub(crate) struct Took {
    pub(crate) per_second: f64,
    /// Processor time of both sidecars, with the threads that send, for each.
    pub(crate) cpu: Duration,
    /// Spans that the collector got, for each.
    pub(crate) spans: f64,
}

impl Traced {
    /// With `share` of the requests in a trace that the consumer's sidecar begins, or without the
    /// option; `header` has the client's requests belong to a trace.
    pub(crate) fn start(
        tools: &Tools,
        papers: &Papers,
        server: SocketAddr,
        (share, header): (Option<&str>, bool),
        folder: &Path,
    ) -> Result<Self, Error> {
        let [collected] = loopback_addresses()?;
        let collector = share.map(|_| Collector::listen(collected)).transpose()?;
        let url = format!("http://{collected}");
        let begins = share.map(|share| ["--traces", &url, "--traces-share", share]);
        let goes_on = share.map(|_| ["--traces", &url]);
        let arguments = [
            begins.as_ref().map_or(&[][..], |all| &all[..]),
            goes_on.as_ref().map_or(&[][..], |all| &all[..]),
        ];
        let pair = Pair::start_with(tools, Proxy::Http2, papers, Reuse::Kept, server, folder, arguments)?;
        Ok(Self {
            pair,
            header,
            collector,
        })
    }

    fn client(&self) -> Result<Client, Error> {
        let client = Client::connect(self.pair.entry)?;
        Ok(if self.header { client.traced() } else { client })
    }

    /// Latencies of this many sequential requests.
    pub(crate) fn latencies(&self, requests: usize) -> Result<Vec<Duration>, Error> {
        let mut client = self.client()?;
        for _ in 0..WARM_UP {
            client.exchange()?;
        }
        (0..requests).map(|_| client.exchange()).collect()
    }

    /// Cost of this many requests, with 16 at a time on one connection.
    pub(crate) fn requests(&self, requests: u64) -> Result<Took, Error> {
        let mut client = self.client()?;
        client.load(STREAMS, 2 * STREAMS as u64)?;
        // Spans of earlier requests are already at the collector.
        let before = self.settled();
        let used = self.usage()?;
        let took = client.load(STREAMS, requests)?;
        let spans = self.settled() - before;
        let cpu = self.usage()?.saturating_sub(used);
        Ok(Took {
            per_second: requests as f64 / took.as_secs_f64(),
            cpu: cpu.div_f64(requests as f64),
            spans: spans as f64 / requests as f64,
        })
    }

    fn usage(&self) -> Result<Duration, Error> {
        Ok(self.pair.usage()?.iter().map(|end| end.cpu).sum())
    }

    /// Spans at the collector, once no more come. Where there is none as long is waited: what
    /// sidecars do meanwhile is done in every trial.
    fn settled(&self) -> u64 {
        let Some(collector) = &self.collector else {
            thread::sleep(STILL);
            return 0;
        };
        let began = Instant::now();
        let mut last = (collector.spans(), Instant::now());
        while began.elapsed() < LATE && last.1.elapsed() < STILL {
            thread::sleep(Duration::from_millis(10));
            let spans = collector.spans();
            if spans != last.0 {
                last = (spans, Instant::now());
            }
        }
        last.0
    }
}

/// It takes what is sent, and counts spans.
#[derive(Debug)]
struct Collector {
    address: SocketAddr,
    state: Arc<State>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    spans: AtomicU64,
    ending: AtomicBool,
    connections: Mutex<Vec<TcpStream>>,
}

impl Collector {
    fn listen(address: SocketAddr) -> Result<Self, Error> {
        let failed = |source| Error::Connection { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let state = Arc::<State>::default();
        let accepted = Arc::clone(&state);
        let accepting = thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if accepted.ending.load(Ordering::SeqCst) {
                    return;
                }
                let kept = stream.try_clone();
                let mut connections = accepted.connections.lock().unwrap_or_else(PoisonError::into_inner);
                connections.extend(kept);
                let state = Arc::clone(&accepted);
                thread::spawn(move || serve(stream, &state.spans));
            }
        });
        Ok(Self {
            address,
            state,
            accepting: Some(accepting),
        })
    }

    fn spans(&self) -> u64 {
        self.state.spans.load(Ordering::SeqCst)
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.state.ending.store(true, Ordering::SeqCst);
        // Accepting ends with the next connection.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        let connections = self.state.connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.iter().for_each(|connection| {
            let _ = connection.shutdown(Shutdown::Both);
        });
    }
}

/// The requests of a connection, until it ends or is no HTTP.
fn serve(stream: TcpStream, spans: &AtomicU64) -> Option<()> {
    const SPAN: &[u8] = b"\"spanId\"";
    let mut writer = stream.try_clone().ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let found = body.windows(SPAN.len()).filter(|at| *at == SPAN).count();
        spans.fetch_add(found as u64, Ordering::SeqCst);
        writer
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
            .ok()?;
    }
}
