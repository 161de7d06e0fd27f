//! `bartizan up`: a node's IPsec or MACsec links are brought up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use bartizan_deployment::IkeEngine;
use bartizan_ipsec::drive::{self, Attempt, Keeper, Kept, SetUp, Step};
use bartizan_ipsec::guard::Guard;
use bartizan_ipsec::render::{Connection, Credentials, Means};
use bartizan_ipsec::vici::Client;
use bartizan_ipsec::watch::Expectations;
use bartizan_ipsec::{Charon, Instance};
use bartizan_registry::object;
use bartizan_sidecar::handover::Notify;
use serde::Serialize;

use super::guarding::{self, Cleartext};
use super::monitor::{Opened, WatchArgs, start_log};
use super::node::{IpsecHost, NodeArgs, Place, links};
use super::report::Report;
use super::{failed, own, reloading, show};
use crate::commands::fetching::Lists;
use crate::commands::guard::{Kind, of_ipsec, stays};
use crate::commands::macsec;
use crate::commands::watched::Watched;
use crate::interrupt::Interrupt;
use crate::output::errln;
use crate::{Failure, Outcome};

/// Interval of checks that a charon of our own still runs.
const LOOK: Duration = Duration::from_millis(100);

/// Bring a node's IPsec or MACsec links up, and say what was negotiated.
///
/// IPsec links: credentials and connections of the node are loaded into charon and every link that this node initiates is set up. Where the file
/// names no VICI socket, a charon of our own is started, kept and watched until SIGTERM or SIGINT, and nothing is left of it. From
/// before the first load until `bartizan down --unguard`, whatever becomes of charon and of this command, packets of the links that
/// are not encrypted are dropped. A link that does not come up, or breaks its policy, is a finding: exit code 1.
///
/// MACsec links: keys are exchanged with the peer over the port itself, and changed for as long as this runs. From before the first exchange
/// until `bartizan down --unguard` the ports pass EAPOL, the exchange and MACsec, and nothing else. When it ends by a signal, or is
/// killed, frames pass under the last keys, and the next `up` takes over without losing any.
///
/// Links `with: sidecar` or `with: gateway` are brought up by `bartizan sidecar`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan up ran.yaml --node cu --vici /run/charon.vici    in the system's charon, once\n  \
    bartizan up ran.yaml --node cu --watch                    and watched from then on\n  \
    bartizan up ran.yaml --node cu                            in one of our own, where the file names no socket\n  \
    bartizan up ran.yaml --node odu --ledger odu.ledger       MACsec links of the fronthaul")]
pub(crate) struct Args {
    #[command(flatten)]
    node: NodeArgs,
    /// Stay, and monitor every SA continuously, as `bartizan watch` does.
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    watching: WatchArgs,
    /// Let packets of these links leave and arrive unencrypted wherever charon does not keep them: no rules are set.
    #[arg(long)]
    no_guard: bool,
    /// Time allowed for each link, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    if let Some(host) = args.node.macsec()? {
        if args.watching.metrics() {
            return Err(Failure::usage("--metrics: MACsec links have none yet").hint("`bartizan status --json` counts"));
        }
        let options = macsec::up::Options {
            ledger: args.watching.ledger.as_deref(),
            no_guard: args.no_guard,
            json: args.json,
        };
        return macsec::up::run(&host, &options);
    }
    let interrupt = Interrupt::install()?;
    let systemd = Notify::from_environment();
    // Before files, charon and locks: whatever of them fails, packets of the links do not pass unencrypted.
    let guard = match args.no_guard {
        true => None,
        false => Some(of_ipsec(&args.node.file, &args.node.node)?),
    };
    let without =
        |failure: Failure| failure.hint("--no-guard does without: what no SA protects may then leave unencrypted");
    guard.as_ref().map(guarding::first).transpose().map_err(without)?;
    let is_guarded = guard.is_some();
    let outcome = after_the_guard(args, guard, &interrupt, &systemd);
    outcome.map_err(|failure| match is_guarded {
        true => stays(failure, &args.node.node, Kind::Ipsec),
        false => failure,
    })
}

fn after_the_guard(
    args: &Args,
    guard: Option<Guard>,
    interrupt: &Interrupt,
    systemd: &Notify,
) -> Result<Outcome, Failure> {
    // Units ordered after this find the guard; links come up with their peers.
    systemd.status("the guard is installed; no link is up yet");
    systemd.ready();
    let host = IpsecHost::read(&args.node)?;
    let mut fetched = Lists::of_ike(&host.files);
    fetched.as_mut().map(Lists::first).transpose()?;
    let files = reloading::watched(&host);
    // Before a charon is started: files that cannot be used are said at once.
    let (credentials, _) = host.rendered(Means::of(host.files.engine), None)?;
    for flaw in host.flaws(&credentials)? {
        errln!("note: {} {}\nhint: {}", flaw.file.display(), flaw.cause, flaw.hint);
    }
    let mut own = match &host.place {
        Place::System(_) => None,
        Place::Own(directory) => own::start(&host, directory)?,
    };
    let stays = args.watch || own.is_some();
    if stays {
        start_log();
    }
    let mut client = host.client()?;
    let charon = Charon::ask(&mut client).map_err(|error| failed(&error))?;
    for remark in host.lint(&charon)? {
        errln!("note: {remark}\nhint: {}", remark.hint);
    }
    let (credentials, connections) = host.rendered(charon.means(), None)?;
    if let Some(guard) = &guard {
        // As the charon that encrypts needs it.
        guard.close(charon.esp()).map_err(guarding::failed)?;
    }
    let all = Loaded {
        client,
        charon,
        credentials,
        expectations: host.expectations(&connections),
        connections,
        guard,
        files,
    };
    if !stays {
        return bring_up(args, &host, all).map(|(outcome, ..)| outcome);
    }
    let opened = Opened::new(&host, &args.watching)?;
    let metrics = Arc::clone(&opened.metrics);
    let report = move |cause: Option<&str>| metrics.lists_not_fetched(cause.is_some());
    let _fetching = fetched.map(|lists| lists.keep(report)).transpose()?;
    let brought = watched(args, &host, &opened, all, own.as_mut(), (interrupt, systemd));
    systemd.stopping();
    own.map(Instance::stop).transpose().map_err(Failure::new)?;
    brought
}

/// Loaded configuration and its charon.
struct Loaded {
    client: Client,
    charon: Charon,
    credentials: Credentials,
    connections: Vec<Connection>,
    expectations: Expectations,
    guard: Option<Guard>,
    /// The files, as they stood before they were read.
    files: Watched,
}

/// Brings links up under the eyes of a watch, and stays until a signal comes.
fn watched(
    args: &Args,
    host: &IpsecHost,
    opened: &Opened,
    all: Loaded,
    own: Option<&mut Instance>,
    (interrupt, systemd): (&Interrupt, &Notify),
) -> Result<Outcome, Failure> {
    let failed = AtomicBool::new(false);
    let stop = || failed.load(Ordering::Relaxed) || interrupt.asked();
    let expectations = all.expectations.clone();
    let keep = all.guard.as_ref().map(|_| all.charon.esp());
    let (sees, seen) = mpsc::channel();
    thread::scope(|scope| {
        let (stop, expectations) = (&stop, &expectations);
        let sees = move || {
            // The receiver listens only for the first time.
            let _ = sees.send(());
        };
        scope.spawn(move || opened.watch(host, expectations, keep, stop, &sees));
        while !stop() && seen.recv_timeout(Duration::from_millis(100)).is_err() {}
        let keeper = Keeper::new(&host.place.socket(), &links(&all.connections));
        let means = all.charon.means();
        let brought = interrupt.check().and_then(|()| bring_up(args, host, all));
        let brought = brought.map(|(_, credentials, files)| {
            let watched = (&*opened.metrics, &opened.overdue);
            scope.spawn(move || reloading::keep(host, means, credentials, files, watched, stop));
        });
        if brought.is_ok() {
            scope.spawn(move || keeper.run(stop, &mut |kept| reported(kept, systemd)));
        }
        // A link that is not up yet may come: only what cannot be done at all ends the watch.
        let stayed = brought.and_then(|()| stay(own, host.files.engine, interrupt));
        failed.store(stayed.is_err(), Ordering::Relaxed);
        stayed.map(|()| Outcome::Clean)
    })
}

/// Waits for a signal. A system charon that goes away is waited for. The end of our own charon is a
/// failure, so that the service manager restarts both.
fn stay(own: Option<&mut Instance>, engine: IkeEngine, interrupt: &Interrupt) -> Result<(), Failure> {
    let Some(instance) = own else {
        interrupt.wait();
        return Ok(());
    };
    while !interrupt.asked() {
        let ended = match instance.process() {
            Some(process) => process.ended().map_err(Failure::new)?,
            None => None,
        };
        if let Some(status) = ended {
            let what = match engine {
                IkeEngine::Strongswan => "charon",
                IkeEngine::Bartizan => "the engine of Bartizan",
            };
            return Err(Failure::new(format!("{what} ended by itself: {status}")));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

fn reported(kept: Kept<'_>, systemd: &Notify) {
    match kept {
        Kept::Count(up, all) => systemd.status(&format!("{up} of {all} links up")),
        Kept::Down(link) => tracing::warn!(link, "the link is down; it is set up again"),
        Kept::Awaited(link) => tracing::warn!(
            link,
            "the link is down; its peer is behind a NAT and alone can set it up"
        ),
        Kept::Up(link) => tracing::info!(link, "the link is up again"),
    }
}

fn bring_up(args: &Args, host: &IpsecHost, all: Loaded) -> Result<(Outcome, Credentials, Watched), Failure> {
    let Loaded {
        mut client,
        credentials,
        connections,
        expectations,
        guard,
        files,
        ..
    } = all;
    let socket = host.place.socket();
    let lock = host.lock()?;
    let timeout = Duration::from_secs(args.timeout);
    let progress = |step: Step| {
        if let Step::Ended(attempt) = step
            && !args.json
        {
            errln!("{}", said(&attempt));
        }
    };
    let attempts = drive::bring_up(&socket, credentials.load(), &links(&connections), timeout, &progress)
        .map_err(|error| failed(&error))?;
    drop(lock);
    if let Err(error) = credentials.remember_lists() {
        errln!("note: the newest revocation lists are not remembered: {error}");
    }
    let status = drive::status(&mut client, &expectations).map_err(|error| failed(&error))?;
    // The userspace ESP engine is configured for the loaded links.
    let charon = Charon::ask(&mut client).map_err(|error| failed(&error))?;
    let cleartext = guard.map(|guard| Cleartext::of(&guard)).transpose()?;
    let report = Report::new(&host.node, &charon, status, cleartext);
    let outcome = |attempt: &Attempt| !matches!(attempt.outcome, SetUp::Failed(_));
    // A link that the peer sets up may come later: it is no finding here.
    let well = attempts.iter().all(outcome) && !report.breaks() && report.is_guarded();
    let text = report.text();
    let brought = object!(Brought {
        #[serde(flatten)]
        report,
        attempts: attempts.iter().map(tried).collect::<Vec<_>>(),
    });
    let outcome = show(&brought, args.json, || text, well)?;
    Ok((outcome, credentials, files))
}

fn said(attempt: &Attempt) -> String {
    let name = format!("{}/{}", attempt.connection, attempt.child);
    match &attempt.outcome {
        SetUp::Up(took) => format!("{name}: up in {:.1} ms", took.as_secs_f64() * 1e3),
        SetUp::Stood => format!("{name}: stood already"),
        SetUp::Waits => format!("{name}: loaded; the peer sets it up"),
        SetUp::Failed(reason) => format!(
            "{name}: not up ({}): {}\nhint: {}",
            reason.cause, reason.sentence, reason.hint
        ),
    }
}

fn tried(attempt: &Attempt) -> impl Serialize {
    let (outcome, took_us, reason) = match &attempt.outcome {
        SetUp::Up(took) => ("up", Some(took.as_micros()), None),
        SetUp::Stood => ("stood", None, None),
        SetUp::Waits => ("waits", None, None),
        SetUp::Failed(reason) => ("failed", None, Some(reason)),
    };
    object!(Tried {
        connection: attempt.connection.clone(),
        child: attempt.child.clone(),
        // `up`, `stood`, `waits` or `failed`.
        outcome,
        // Duration of charon's answer, in microseconds.
        took_us,
        reason: reason.map(|reason| reason.cause.as_str()),
        detail: reason.map(|reason| reason.sentence.clone()),
        hint: reason.map(|reason| reason.hint),
    })
}
