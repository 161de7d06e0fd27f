//! TLS: both ends are Bartizan's, over loopback; the responder is one thread on the first
//! processor, all clients another on the last.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bartizan_deployment::InterfaceKind;
use bartizan_tls::Endpoint;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::{Before, Connected, InStorm, METRICS, PARAMETERS, Size, observation};
use crate::cpu_time::thread_time;
use crate::runner::experiment::Levels;
use crate::workload::scale::room_for;
use crate::workload::tls_connections::{CERTIFICATE, Ends, GROUP};
use crate::workload::{Error, Kind, Observation, Setting, Targets, Trial, Workload, lacks_nothing};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "storm-tls",
    about: "Clients that begin a TLS 1.3 handshake with one responder all at once, both ends authenticated, after a few at a time were timed.",
    factors: &[GROUP, CERTIFICATE],
    parameters: PARAMETERS,
    metrics: METRICS,
    targets: Targets::Own,
    lacks: lacks_nothing,
    start,
};

/// Handshakes that fill caches, and handshakes one after the other.
const WARM: usize = 20;
const ALONE: usize = 100;
/// Time limit for a handshake, long enough for a storm of ten thousand on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

struct Storm {
    size: Size,
    responders: Vec<(Levels, Endpoint, Responder)>,
    runtime: Runtime,
    /// Processor of all clients.
    processor: usize,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let size = Size::of(setting)?;
    room_for(size.clients)?;
    let none = || Error::Configuration("no processor".to_owned());
    let first = *setting.processors.first().ok_or_else(none)?;
    let mut responders = Vec::new();
    for levels in setting.combinations {
        let of = |factor: &crate::workload::FactorKind| levels.level(factor.name).unwrap_or(factor.levels[0]);
        let ends = Ends::make(setting.folder, of(&GROUP), of(&CERTIFICATE), "1")?;
        let (client, server) = ends.endpoints();
        responders.push((
            levels.clone(),
            client.clone(),
            Responder::start(server.clone(), first, size.clients)?,
        ));
    }
    Ok(Box::new(Storm {
        size,
        responders,
        runtime: runtime()?,
        processor: *setting.processors.last().ok_or_else(none)?,
    }))
}

fn runtime() -> Result<Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::Broken)
}

impl Workload for Storm {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let unknown = || Error::Configuration("a combination that was not announced".to_owned());
        let (_, client, responder) = self
            .responders
            .iter()
            .find(|(levels, ..)| levels == trial.levels)
            .ok_or_else(unknown)?;
        let all = bartizan_machine::processors()?;
        bartizan_machine::pin_this_thread(&[self.processor])?;
        let outcome = self.storm(client, responder);
        bartizan_machine::pin_this_thread(&all)?;
        let (before, connected, in_storm) = outcome?;
        let outcome = Connected {
            connected_s: connected,
            began_within_s: 0.0,
            retransmissions: 0,
        };
        Ok(observation(self.size, before, outcome, in_storm))
    }
}

impl Storm {
    fn storm(&self, client: &Endpoint, responder: &Responder) -> Result<(Before, Vec<f64>, InStorm), Error> {
        let together = |count| self.runtime.block_on(together(client, responder.address, count));
        for _ in 0..WARM {
            together(1)?;
        }
        let (ours, theirs, began) = (thread_time()?, responder.spent(), Instant::now());
        for _ in 0..ALONE {
            together(1)?;
        }
        let elapsed = began.elapsed();
        let alone = (thread_time()? - ours) + (responder.spent() - theirs);
        // Ends that have something to do all the time do not sleep and wake for every message: what
        // it takes them then counts in a storm.
        let (ours, theirs) = (thread_time()?, responder.spent());
        for _ in 0..self.size.batches {
            together(self.size.at_once)?;
        }
        let count = u32::try_from(self.size.batches * self.size.at_once).unwrap_or(u32::MAX);
        let cpu = [(thread_time()? - ours) / count, (responder.spent() - theirs) / count];
        let before = Before {
            cpu,
            alone: [elapsed / ALONE as u32, alone / ALONE as u32],
        };
        let (ours, theirs) = (thread_time()?, responder.spent());
        let connected = together(self.size.clients)?;
        let count = u32::try_from(self.size.clients).unwrap_or(u32::MAX);
        let in_storm = [(thread_time()? - ours) / count, (responder.spent() - theirs) / count];
        Ok((before, connected, in_storm))
    }
}

/// So many handshakes at once; when each was over, in seconds since they began.
async fn together(endpoint: &Endpoint, address: SocketAddr, count: usize) -> Result<Vec<f64>, Error> {
    let began = Instant::now();
    let all: Vec<_> = (0..count)
        .map(|_| {
            let endpoint = endpoint.clone();
            tokio::task::spawn(async move {
                let connected = tokio::time::timeout(PATIENCE, connect(&endpoint, address));
                let connected = connected
                    .await
                    .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()));
                connected.map(|()| began.elapsed().as_secs_f64())
            })
        })
        .collect();
    let mut times = Vec::with_capacity(count);
    for one in all {
        let ended = one.await.map_err(|error| Error::Handshake(error.to_string()))?;
        times.push(ended.map_err(Error::Broken)?);
    }
    Ok(times)
}

/// The client's half, until the responder's byte: it has judged the client's certificate.
async fn connect(endpoint: &Endpoint, address: SocketAddr) -> std::io::Result<()> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let connecting = endpoint
        .connect(Ends::SERVER, InterfaceKind::Sbi)
        .map_err(std::io::Error::other)?;
    let mut tls = TlsConnector::from(connecting.config)
        .connect(connecting.name, stream)
        .await?;
    connecting
        .watch
        .finish_client(tls.get_ref().1)
        .map_err(std::io::Error::other)?;
    let mut byte = [0];
    tls.read_exact(&mut byte).await?;
    Ok(())
}

/// A thread with a runtime of its own; it ends when this is dropped.
struct Responder {
    address: SocketAddr,
    /// Processor time of its thread so far, in nanoseconds.
    spent: Arc<AtomicU64>,
    /// Its end stops the thread.
    _stop: tokio::sync::oneshot::Sender<()>,
}

impl Responder {
    fn start(endpoint: Endpoint, processor: usize, backlog: usize) -> Result<Self, Error> {
        let spent = Arc::new(AtomicU64::new(0));
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (bound, address) = std::sync::mpsc::channel();
        let counted = Arc::clone(&spent);
        thread::spawn(move || {
            let served = respond(&endpoint, processor, backlog, &counted, stopped, &bound);
            if let Err(error) = served {
                // If it was bound already, the receiver is gone, and clients see the failure.
                let _ = bound.send(Err(error));
            }
        });
        let gone = |_| Error::Handshake("the responder ended".to_owned());
        Ok(Self {
            address: address.recv().map_err(gone)??,
            spent,
            _stop: stop,
        })
    }

    /// It is done with its last connection when this is read: its client has been answered.
    fn spent(&self) -> Duration {
        thread::sleep(Duration::from_millis(50));
        Duration::from_nanos(self.spent.load(Ordering::Relaxed))
    }
}

fn respond(
    endpoint: &Endpoint,
    processor: usize,
    backlog: usize,
    spent: &Arc<AtomicU64>,
    stopped: tokio::sync::oneshot::Receiver<()>,
    bound: &std::sync::mpsc::Sender<Result<SocketAddr, Error>>,
) -> Result<(), Error> {
    bartizan_machine::pin_this_thread(&[processor])?;
    runtime()?.block_on(async {
        let socket = TcpSocket::new_v4().map_err(Error::Broken)?;
        socket
            .bind((std::net::Ipv4Addr::LOCALHOST, 0).into())
            .map_err(Error::Broken)?;
        // All clients of a storm wait to be accepted.
        let backlog = u32::try_from(backlog).unwrap_or(u32::MAX).max(128);
        let listener = socket.listen(backlog).map_err(Error::Broken)?;
        let _ = bound.send(listener.local_addr().map_err(Error::Broken));
        tokio::select! {
            error = accept(endpoint, &listener, spent) => Err(Error::Broken(error)),
            _ = stopped => Ok(()),
        }
    })
}

/// Answers every connection, until there is an error.
async fn accept(endpoint: &Endpoint, listener: &TcpListener, spent: &Arc<AtomicU64>) -> std::io::Error {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => return error,
        };
        let (endpoint, spent) = (endpoint.clone(), Arc::clone(spent));
        tokio::task::spawn(async move {
            // A client that fails says so.
            let _ = answer(&endpoint, stream).await;
            if let Ok(time) = thread_time() {
                spent.store(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
            }
        });
    }
}

/// The responder's half: handshake, judgement, one byte, the end.
async fn answer(endpoint: &Endpoint, stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let accepting = endpoint.accept_any(InterfaceKind::Sbi);
    let mut tls = TlsAcceptor::from(accepting.config).accept(stream).await?;
    accepting
        .watch
        .finish_server(tls.get_ref().1)
        .map_err(std::io::Error::other)?;
    tls.write_all(b".").await?;
    tls.shutdown().await
}
