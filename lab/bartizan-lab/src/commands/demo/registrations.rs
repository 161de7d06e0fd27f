//! Two recorded UE registrations of a real core, played straight and through sidecars.

use std::fs;
use std::io::IsTerminal;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bartizan_estimators::Summary;
use bartizan_ledger::{Event, Reader};
use bartizan_testing::{Capture, Usage};
use bartizan_workbench::Exchange;
use bartizan_workbench::stand_in::replay::{self, Behaviour, Fault, Idle, Responder, Speed, Targets, Think};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::Failure;
use crate::commands::demo::core::{self, CONSUMERS, Core, PRODUCERS, Policy, Variant};
use crate::commands::demo::eavesdropper::{self, View};
use crate::commands::demo::failed;
use crate::commands::demo::sidecars::Sidecars;
use crate::commands::demo::stage::Stage;
use crate::interrupt::Interrupt;

/// Cases in which the registrations are played.
pub(super) static CASES: [Case; 4] = [
    Case {
        id: "straight",
        title: "straight, as in most cores today",
        short: "straight",
        between: None,
    },
    Case {
        id: "classical-http2",
        title: "through a classical pair (http2)",
        short: "classical pair, http2",
        between: Some(Variant {
            policy: Policy::Classical,
            path: "http2",
        }),
    },
    Case {
        id: "hybrid-http2",
        title: "through a post-quantum pair (http2)",
        short: "post-quantum pair, http2",
        between: Some(Variant {
            policy: Policy::Hybrid,
            path: "http2",
        }),
    },
    Case {
        id: "hybrid-splice",
        title: "through a post-quantum pair (splice)",
        short: "post-quantum pair, splice",
        between: Some(Variant {
            policy: Policy::Hybrid,
            path: "splice",
        }),
    },
];

#[derive(Clone, Copy)]
pub(super) struct Case {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// The same in a table.
    pub(super) short: &'static str,
    /// The sidecars between; none where the consumers call the producers themselves.
    pub(super) between: Option<Variant>,
}

/// The recording.
pub(super) struct Recorded(Arc<Exchange>);

#[derive(Debug, Clone, Serialize)]
pub(super) struct Description {
    pub(super) description: String,
    pub(super) connections: usize,
    pub(super) requests: usize,
    /// Those that the recorded network functions answered; the others crossed a GOAWAY and were sent again.
    pub(super) answered: usize,
    pub(super) functions: Vec<String>,
}

/// One playing.
#[derive(Debug, Serialize)]
pub(super) struct Run {
    pub(super) case: &'static str,
    #[serde(skip)]
    pub(super) short: &'static str,
    pub(super) title: &'static str,
    pub(super) requests: usize,
    pub(super) connections: usize,
    /// Latency of a request in microseconds without the time that the recorded network function thought.
    pub(super) latency_us: Option<Summary>,
    /// Opening of a connection to the first hop in microseconds.
    pub(super) setup_us: Option<Summary>,
    pub(super) duration_us: f64,
    /// TLS handshakes that the producers' ledgers accepted; none without sidecars.
    pub(super) handshakes: Option<u64>,
    pub(super) consumers_sidecar: Option<Used>,
    /// Resources of six network functions' sidecars together, and of one that idles.
    pub(super) producers_sidecars: Option<Used>,
    /// The link; none where it cannot be captured.
    pub(super) eavesdropper: Option<View>,
    pub(super) errors: Vec<Fault>,
}

/// Resources that sidecars used while the registrations were played.
#[derive(Debug, Serialize)]
pub(super) struct Used {
    pub(super) cpu_ms: f64,
    pub(super) peak_resident_bytes: u64,
}

impl Recorded {
    pub(super) fn load() -> Self {
        Self(Arc::new(Exchange::two_registrations()))
    }

    pub(super) fn description(&self) -> Description {
        Description {
            description: self.0.description().to_owned(),
            connections: self.0.connections().len(),
            requests: self.0.requests().count(),
            answered: self
                .0
                .requests()
                .filter(|(_, request)| request.answer.is_some())
                .count(),
            functions: self.0.servers().into_iter().map(str::to_owned).collect(),
        }
    }
}

/// Plays them once, in real time.
pub(super) fn play(
    stage: &Stage,
    folder: &Path,
    case: Case,
    recorded: &Recorded,
    interrupt: &Interrupt,
) -> Result<Run, Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::new(format!("{}: {error}", folder.display())))?;
    let behaviour = Behaviour {
        think: Think::Recorded,
        idle: Idle::FREE5GC,
    };
    let _responder = Responder::start(&recorded.0, listeners(stage, recorded)?, behaviour).map_err(failed)?;
    let pcap = folder.join("link.pcap");
    let (core, sidecars) = match case.between {
        None => (None, None),
        Some(variant) => {
            let core = Core::build(folder.to_owned(), stage, variant)?;
            (Some(core), Some(variant))
        }
    };
    // The capture begins before the sidecars do: it must hold every handshake.
    let capture = stage.eavesdrop(&pcap)?;
    let sidecars = match (&core, sidecars) {
        (Some(core), Some(_)) => Some(Sidecars::start(stage, core)?),
        _ => None,
    };
    let before = sidecars.as_ref().map(Sidecars::usage).transpose()?;
    let outcome = play_in_real_time(stage, recorded, targets(stage, recorded, case), interrupt)?;
    let after = sidecars.as_ref().map(Sidecars::usage).transpose()?;
    if let Some(sidecars) = sidecars {
        sidecars.stop()?;
    }
    let used = |of: fn(&(Usage, Usage)) -> Usage| {
        let (before, after) = (of(before.as_ref()?), of(after.as_ref()?));
        let cpu_ms = after.cpu.saturating_sub(before.cpu).as_secs_f64() * 1e3;
        Some(Used {
            cpu_ms,
            peak_resident_bytes: after.peak_resident,
        })
    };
    let producers = || PRODUCERS.iter().map(|producer| producer.node);
    let ledgers: Vec<PathBuf> = core
        .iter()
        .flat_map(|core| [CONSUMERS].into_iter().chain(producers()).map(|node| core.ledger(node)))
        .collect();
    Ok(Run {
        case: case.id,
        short: case.short,
        title: case.title,
        requests: outcome.requests.len(),
        connections: outcome.connections.len(),
        latency_us: outcome.latency_without_think(),
        setup_us: outcome.setup(),
        duration_us: outcome.duration_us,
        handshakes: core
            .as_ref()
            .map(|core| producers().map(|node| accepted(&core.ledger(node))).sum())
            .transpose()?,
        consumers_sidecar: used(|usage| usage.0),
        producers_sidecars: used(|usage| usage.1),
        eavesdropper: capture.map(|capture| seen(capture, &pcap, &ledgers)).transpose()?,
        errors: outcome.faults,
    })
}

fn seen(capture: Capture, pcap: &Path, ledgers: &[PathBuf]) -> Result<View, Failure> {
    let captured = capture.stop().map_err(failed)?;
    eavesdropper::look(pcap, captured.dropped, ledgers)
}

/// Handshakes that a ledger accepted.
fn accepted(ledger: &Path) -> Result<u64, Failure> {
    let file = fs::File::open(ledger).map_err(|error| Failure::new(format!("{}: {error}", ledger.display())))?;
    let mut count = 0;
    for record in Reader::new(std::io::BufReader::new(file)) {
        let record = record.map_err(|error| Failure::new(format!("{}: {error}", ledger.display())))?;
        if let Event::Handshake(handshake) = record.event
            && matches!(handshake.verdict, bartizan_ledger::Verdict::Accepted)
        {
            count += 1;
        }
    }
    Ok(count)
}

/// Listeners of the recorded network functions: next to their sidecars, on the producers' host.
fn listeners(stage: &Stage, recorded: &Recorded) -> Result<std::collections::BTreeMap<String, TcpListener>, Failure> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            stage.enter_producers()?;
            let mut listeners = std::collections::BTreeMap::new();
            for function in recorded.0.servers() {
                let address = core::function_address(stage, index(function)?);
                let listener = TcpListener::bind(address).map_err(|error| {
                    Failure::new(format!("listening on {address}: {error}")).hint("is another demo running?")
                })?;
                listeners.insert(function.to_owned(), listener);
            }
            Ok(listeners)
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn targets(stage: &Stage, recorded: &Recorded, case: Case) -> Result<Targets, Failure> {
    let address = |index| match case.between {
        None => core::function_address(stage, index),
        Some(_) => core::local_address(stage, index),
    };
    recorded
        .0
        .servers()
        .into_iter()
        .map(|function| Ok((function.to_owned(), address(index(function)?))))
        .collect()
}

fn index(function: &str) -> Result<usize, Failure> {
    let found = PRODUCERS.iter().position(|producer| producer.function == function);
    found.ok_or_else(|| Failure::new(format!("the recording calls {function}, which the demo's core lacks")))
}

/// On a thread of the consumers' host, so that Ctrl-C does not wait for the recording to end.
fn play_in_real_time(
    stage: &Stage,
    recorded: &Recorded,
    targets: Result<Targets, Failure>,
    interrupt: &Interrupt,
) -> Result<replay::Outcome, Failure> {
    let (targets, exchange) = (targets?, Arc::clone(&recorded.0));
    let (entered, ready) = std::sync::mpsc::sync_channel(1);
    let (tell, reported) = std::sync::mpsc::sync_channel(1);
    thread::scope(|scope| {
        // The thread that enters the namespace starts the player, whose threads and sockets then belong there.
        scope.spawn(|| {
            let _ = entered.send(stage.enter_consumers().map(|()| {
                thread::spawn(move || {
                    let _ = tell.send(replay::play(&exchange, &targets, Speed::Recorded));
                });
            }));
        });
    });
    ready.recv().map_err(failed)??;
    let spinner = if std::io::stderr().is_terminal() {
        ProgressBar::new_spinner()
    } else {
        ProgressBar::hidden()
    };
    spinner.enable_steady_tick(Duration::from_millis(120));
    spinner.set_message("playing in real time, 13.5 s");
    loop {
        match reported.recv_timeout(Duration::from_millis(100)) {
            Ok(outcome) => {
                spinner.finish_and_clear();
                return outcome.map_err(failed);
            }
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => interrupt.check()?,
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return Err(Failure::new("the player died")),
        }
    }
}
