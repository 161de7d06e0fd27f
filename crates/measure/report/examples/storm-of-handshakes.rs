//! The planner's simulation against real handshakes: so many clients connect to one responder at once, and what was predicted from a few handshakes
//! at a time is drawn with what was measured.
//!
//! Both ends are Bartizan's TLS configurations over loopback: the responder one thread on one processor, all clients another thread on the other. What a
//! handshake takes each of them is measured before, a few at a time; the simulation is given these times and nothing of the storm.
//!
//! `cargo run --locked -p bartizan-report --example storm-of-handshakes -- [CLIENTS] [SVG]`

use std::error::Error;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use bartizan_deployment::{Deployment, InterfaceKind};
use bartizan_lab::calibration::calibrate;
use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Overwrite};
use bartizan_plan::cost::Operation;
use bartizan_plan::simulation::{
    Admission, Exchange, Message, Network, Outcome, Procedure, Procedures, Scenario, Steady, Stop, Storm, StormKind,
    Timers, Variation, run,
};
use bartizan_report::plot::{Axis, Line, Panel, Point, lines};
use bartizan_report::quantity::Shown;
use bartizan_stats::{Interval, Sample};
use bartizan_tls::{Credentials, Endpoint, peers};
use nix::time::{ClockId, clock_gettime};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::{TlsAcceptor, TlsConnector};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const CLIENT: &str = "client";
const SERVER: &str = "server";
/// Handshakes by which the times of both ends are known: one after the other, and a few at a time; after some that fill caches.
const ALONE: usize = 100;
const AT_ONCE: usize = 16;
const BATCHES: usize = 20;
/// Storms; the median of them is compared.
const ROUNDS: usize = 5;
const WARM: usize = 20;
/// Connections that wait for the responder to accept them: all of a storm.
const BACKLOG: u32 = 4096;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let clients: usize = arguments.next().as_deref().unwrap_or("2000").parse()?;
    let picture = arguments.next();
    let folder = tempfile::tempdir()?;
    let (client, server) = endpoints(folder.path())?;
    let cores = bartizan_host::processors()?;
    let (first, last) = (
        *cores.first().ok_or("no processor")?,
        *cores.last().ok_or("no processor")?,
    );
    let responder = Responder::start(server, first)?;
    bartizan_host::pin_this_thread(&[last])?;
    let runtime = runtime()?;
    let connect = |endpoint: &Endpoint| runtime.block_on(handshake(endpoint.clone(), responder.address));
    for _ in 0..WARM {
        connect(&client)?;
    }
    let (ours, theirs, began) = (thread_time()?, responder.spent(), Instant::now());
    for _ in 0..ALONE {
        connect(&client)?;
    }
    let per = |time: Duration, count: usize| time.as_secs_f64() * 1e6 / count as f64;
    let elapsed_us = per(began.elapsed(), ALONE);
    let alone_us = per(thread_time()? - ours, ALONE) + per(responder.spent() - theirs, ALONE);
    // What a handshake takes is measured before every storm: a machine that is slower for a while is so for both.
    let (mut client_us, mut server_us, mut storms) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        // Ends that have something to do all the time do not sleep and wake for every message: what it takes them then counts in a storm.
        let (ours, theirs) = (thread_time()?, responder.spent());
        for _ in 0..BATCHES {
            runtime.block_on(together(&client, responder.address, AT_ONCE))?;
        }
        client_us.push(per(thread_time()? - ours, BATCHES * AT_ONCE));
        server_us.push(per(responder.spent() - theirs, BATCHES * AT_ONCE));
        storms.push(Sample::new(runtime.block_on(together(
            &client,
            responder.address,
            clients,
        ))?)?);
    }
    let alone = Alone {
        client_us: Sample::new(client_us)?.median(),
        server_us: Sample::new(server_us)?.median(),
        way_us: (elapsed_us - alone_us).max(1.0),
    };
    let predicted = predict(clients, &alone)?;
    report(&alone, &predicted, &storms, picture.as_deref())
}

/// Processor time of each end for a handshake when a few are under way, and what one takes beyond it on the clock when there is no other.
struct Alone {
    client_us: f64,
    server_us: f64,
    way_us: f64,
}

/// So many handshakes at once; gives when each was over, in seconds since they began.
async fn together(endpoint: &Endpoint, address: SocketAddr, count: usize) -> Result<Vec<f64>> {
    let began = Instant::now();
    let storm: Vec<_> = (0..count)
        .map(|_| {
            let endpoint = endpoint.clone();
            tokio::task::spawn(async move { handshake(endpoint, address).await.map(|()| began.elapsed()) })
        })
        .collect();
    let mut times = Vec::with_capacity(count);
    for one in storm {
        times.push(one.await??.as_secs_f64());
    }
    Ok(times)
}

/// What the simulation says of a storm, from times of one handshake at a time.
fn predict(clients: usize, alone: &Alone) -> Result<Outcome> {
    let (primitives, _) = calibrate(100, 1, &mut |_| true)?;
    let time = |primitive: &str, operation: Operation| {
        let found = primitives
            .iter()
            .find(|cost| cost.primitive == primitive && cost.operation == operation);
        found.map(|cost| cost.time.median_us).ok_or("no such primitive")
    };
    let agreement = time("X25519", Operation::KeyGeneration)? + time("X25519", Operation::Agreement)?;
    let sign = time("ML-DSA-65", Operation::Signing)?;
    // Of a chain that is known already only CertificateVerify is verified.
    let verify = time("ML-DSA-65", Operation::Verification)?;
    let server_hello = agreement + time("ML-KEM-768", Operation::Encapsulation)? + sign;
    let client_hello = time("X25519", Operation::KeyGeneration)? + time("ML-KEM-768", Operation::KeyGeneration)?;
    let client_finish =
        time("X25519", Operation::Agreement)? + time("ML-KEM-768", Operation::Decapsulation)? + sign + verify;
    // What is not a primitive is shared by the two flights.
    let server_own = (alone.server_us - server_hello - verify).max(0.0) / 2.0;
    let client_own = (alone.client_us - client_hello - client_finish).max(0.0) / 2.0;
    let exchange = |name: &str, site_us: f64, gateway_us: f64| Exchange {
        name: name.to_owned(),
        request: Message { bytes: 60, packets: 1 },
        answer: Message { bytes: 60, packets: 1 },
        site_ns: (site_us * 1e3) as u64,
        gateway_ns: (gateway_us * 1e3) as u64,
        keeps: true,
    };
    let of = |exchanges: Vec<Exchange>| Procedure { exchanges, after_ns: 0 };
    let none = || of(vec![exchange("none", 0.0, 0.0)]);
    // Two round trips.
    let elapsed = (alone.way_us * 1e3) as u64 / 2;
    let scenario = Scenario {
        network: Network {
            sites: clients as u64,
            gateways: 1,
            cores: 1,
            round_trip_from_ns: elapsed,
            round_trip_to_ns: elapsed,
            loss_ppm: 0,
            site_rate: 100_000_000_000,
            gateway_rate: 100_000_000_000,
            site_cores: 1,
        },
        procedures: Procedures {
            set_up: of(vec![
                exchange("ClientHello", client_hello + client_own, server_hello + server_own),
                exchange("Finished", client_finish + client_own, verify + server_own),
            ]),
            resume: None,
            dead_peer: none(),
            rekey_child: none(),
            rekey_ike: none(),
            renew: none(),
            fetch_list: none(),
        },
        retransmission: bartizan_plan::simulation::Retransmission {
            first_ns: 60_000_000_000,
            ..Timers::Tcp.retransmission()
        },
        retry: Timers::Tcp.retry(),
        admission: Admission {
            half_open_ns: 600_000_000_000,
            ..Timers::Tcp.admission(clients as u64)
        },
        steady: Steady::default(),
        storm: Storm {
            kind: StormKind::Reattach,
            share_ppm: 1_000_000,
            window_ns: 0,
        },
        resumes: false,
        cost_permille: 1000,
        variation: Variation::Constant,
        horizon_ns: 600_000_000_000,
    };
    Ok(run(&scenario, 1, &mut |_| Stop::No)?)
}

fn report(alone: &Alone, predicted: &Outcome, storms: &[Sample], picture: Option<&str>) -> Result<()> {
    println!(
        "{AT_ONCE} at a time: client {:.0} us, responder {:.0} us of processor time for each; {:.0} us beyond it on the clock when alone",
        alone.client_us, alone.server_us, alone.way_us
    );
    println!("share      predicted   measured  error");
    let mut errors = Vec::new();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for percent in (5..=100).step_by(5).chain([99]) {
        let said = predicted.reached(percent).ok_or("not all came back")? as f64 / 1e9;
        let each = storms.iter().map(|storm| storm.quantile(percent as f64 / 100.0));
        let each = Sample::new(each)?;
        let was = each.median();
        let error = said / was - 1.0;
        errors.push(error.abs());
        let point = |value, interval| Point {
            x: percent as f64,
            value,
            interval,
            published: Vec::new(),
        };
        if percent != 99 {
            ours.push(point(said, None));
            let ends = Interval {
                low: each.quantile(0.0),
                high: each.quantile(1.0),
            };
            theirs.push(point(was, Some(ends)));
        }
        if [50, 95, 99, 100].contains(&percent) {
            println!(
                "{percent:>4} % {said:>11.3} s {was:>8.3} s {:>+5.1} %  (of {} storms {:.3} to {:.3} s)",
                error * 100.0,
                each.n(),
                each.quantile(0.0),
                each.quantile(1.0)
            );
        }
    }
    let median = Sample::new(errors)?.median();
    println!("median absolute error: {:.1} %", median * 100.0);
    if let Some(path) = picture {
        let line = |name: &str, tone, points| Line {
            name: name.to_owned(),
            tone,
            points,
        };
        let panel = Panel {
            heading: None,
            items: vec![line("predicted", 0, ours), line("measured", 1, theirs)],
        };
        let axis = Axis {
            quantity: "time until they are connected".to_owned(),
            unit: Shown::in_unit("s"),
        };
        let clients = storms.first().map_or(0, Sample::n);
        let title = format!("{clients} handshakes at once with one responder");
        let note = format!(
            "Median absolute error {:.1} %; whiskers reach from the fastest to the slowest of {} storms.",
            median * 100.0,
            storms.len()
        );
        fs::write(
            path,
            lines(&title, &axis, "share of the clients (%)", &[panel]).standalone(&note),
        )?;
    }
    Ok(())
}

/// Papers of ML-DSA-65 and both ends' terms, with one group.
fn endpoints(folder: &Path) -> Result<(Endpoint, Endpoint)> {
    let now = SystemTime::now();
    let mut authority = Authority::init(&folder.join("ca"), InitOptions::new(Algorithm::MlDsa65), now)?;
    for node in [CLIENT, SERVER] {
        authority
            .issue(&Leaf::new(node)?.dns(node)?, now)?
            .write_to(folder, Overwrite::Replace)?;
    }
    let text = format!(
        "policy: {{ profile: hybrid }}\nnodes:\n  {CLIENT}: {{ function: AMF, address: 10.84.0.1 }}\n  {SERVER}: {{ function: NRF, address: 10.84.0.2 }}\n\
         interfaces: [{{ kind: SBI, between: [{CLIENT}, {SERVER}], with: sidecar }}]\n"
    );
    let deployment = Deployment::parse(&text, "storm", folder)?;
    let endpoint = |node: &str| -> Result<Endpoint> {
        let read = |name: String| fs::read(folder.join(name));
        let (certificate, key) = (read(format!("{node}.crt.pem"))?, read(format!("{node}.key.pem"))?);
        let credentials = Credentials::from_pem(&certificate, &key, &read("ca.crt.pem".to_owned())?, None)?;
        Ok(Endpoint::new(credentials, peers(&deployment, node))?)
    };
    Ok((endpoint(CLIENT)?, endpoint(SERVER)?))
}

/// The responder: a thread with a runtime of its own.
struct Responder {
    address: SocketAddr,
    /// Processor time of its thread so far, in nanoseconds.
    spent: Arc<AtomicU64>,
}

impl Responder {
    fn start(endpoint: Endpoint, core: usize) -> Result<Self> {
        let spent = Arc::new(AtomicU64::new(0));
        let (send, receive) = std::sync::mpsc::channel();
        let counted = Arc::clone(&spent);
        std::thread::spawn(move || {
            if let Err(error) = respond(&endpoint, core, &counted, &send) {
                eprintln!("responder: {error}");
            }
        });
        Ok(Self {
            address: receive.recv()?,
            spent,
        })
    }

    /// It is alone with its last connection when this is read.
    fn spent(&self) -> Duration {
        std::thread::sleep(Duration::from_millis(50));
        Duration::from_nanos(self.spent.load(Ordering::Relaxed))
    }
}

fn respond(
    endpoint: &Endpoint,
    core: usize,
    spent: &Arc<AtomicU64>,
    bound: &std::sync::mpsc::Sender<SocketAddr>,
) -> Result<()> {
    bartizan_host::pin_this_thread(&[core])?;
    runtime()?.block_on(async {
        let socket = TcpSocket::new_v4()?;
        socket.bind("127.0.0.1:0".parse()?)?;
        let listener = socket.listen(BACKLOG)?;
        bound.send(listener.local_addr()?)?;
        loop {
            let (stream, _) = listener.accept().await?;
            let (endpoint, spent) = (endpoint.clone(), Arc::clone(spent));
            tokio::task::spawn(async move {
                // A client that fails says so.
                let _ = answer(&endpoint, stream).await;
                if let Ok(time) = thread_time() {
                    spent.store(time.as_nanos() as u64, Ordering::Relaxed);
                }
            });
        }
    })
}

/// The responder's half: handshake, judgement, one byte, the end.
async fn answer(endpoint: &Endpoint, stream: TcpStream) -> Result<()> {
    stream.set_nodelay(true)?;
    let accepting = endpoint.accept(InterfaceKind::Sbi);
    let mut tls = TlsAcceptor::from(accepting.config).accept(stream).await?;
    accepting
        .watch
        .finish_server(tls.get_ref().1)
        .map_err(|refused| refused.to_string())?;
    tls.write_all(b".").await?;
    tls.shutdown().await?;
    Ok(())
}

/// The client's half, until the responder's byte: it has judged.
async fn handshake(endpoint: Endpoint, address: SocketAddr) -> Result<()> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let connecting = endpoint.connect(SERVER, InterfaceKind::Sbi)?;
    let mut tls = TlsConnector::from(connecting.config)
        .connect(connecting.name, stream)
        .await?;
    connecting
        .watch
        .finish_client(tls.get_ref().1)
        .map_err(|refused| refused.to_string())?;
    let mut byte = [0];
    tls.read_exact(&mut byte).await?;
    Ok(())
}

fn runtime() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

fn thread_time() -> Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from)?)
}
