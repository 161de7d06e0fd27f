//! The loop: packets, ledgers and time in, events and a report out.

mod end;
mod events;
mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bartizan_deployment::Deployment;
use bartizan_follow::delivery::Delivery;
use bartizan_follow::distinct::Distinct;
use bartizan_follow::event_writer::{EventWriter, Form};
use bartizan_follow::ledgers::GrowingLedgers;
use bartizan_follow::metrics::Metrics;
use bartizan_follow::page::Page;
use bartizan_follow::source::Source;
use bartizan_follow::stdout_writer::StdoutWriter;
use bartizan_follow::stream::{Following, Stream};
use bartizan_follow::{folder, keys};
use bartizan_inspect::follow::{Tracker, event};
use bartizan_keys::Keyring;
use bartizan_page::cbom::Inventory;
use bartizan_posture::Ledgers;

use super::options::FollowArgs;
use crate::commands::accept::Accepted;
use crate::commands::bind;
use crate::commands::deployment_file;
use crate::commands::inspect::Args;
use crate::commands::inspect::progress::Progress;
use crate::interrupt::Interrupt;
use crate::{Failure, Outcome};
use bartizan_server::Endpoint;

/// One source with what was reported of it.
pub(super) struct Watched {
    pub(super) source: Source,
    pub(super) stream: Stream,
    pub(super) tracker: Tracker,
    ended: bool,
}

bartizan_registry::named! {
    /// Why it ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Reason, name {
        Signal = "signal",
        Time = "time",
        Packets = "packets",
        Sources = "nothing more to read",
        Unheard = "nobody reads",
    }
}

pub(super) struct Run<'a> {
    args: &'a Args,
    deployment: Option<&'a Deployment>,
    accepted: Accepted,
    ledgers: Ledgers,
    keys: Arc<Keyring>,
    pub(super) growing: GrowingLedgers,
    inventory: Option<Inventory>,
    pub(super) watched: Vec<Watched>,
    /// With `--follow`.
    teller: Option<EventWriter>,
    progress: Progress,
    metrics: Arc<Metrics>,
    /// With `--http`.
    page: Option<Page>,
    /// With `--otlp`.
    delivery: Option<Delivery>,
    pub(super) events: BTreeMap<&'static str, u64>,
    begun: Instant,
    /// Interfaces of the deployment file reported as not seen.
    pub(super) unseen: BTreeSet<usize>,
    lost_by_ledger: u64,
    remembered: Instant,
    pub(super) view_took: Duration,
    failures: Vec<Failure>,
}

/// Captures, or follows, until asked to end; then reports.
pub(in super::super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let live = &args.live;
    let names: Vec<PathBuf> = if live.interface.is_empty() {
        Distinct::growing(&args.files).warned()
    } else {
        live.interface.iter().map(PathBuf::from).collect()
    };
    if args.cbom.is_some() && names.len() > 1 {
        return Err(
            Failure::usage("--cbom takes one interface, or one file that is followed")
                .hint("a bill of materials names each capture's packets in turn: run one for each"),
        );
    }
    let deployment = args.deployment.as_deref().map(deployment_file::read).transpose()?;
    let accepted = Accepted::read(args.accept.as_deref(), SystemTime::now())?;
    let mut growing = GrowingLedgers::open(&folder::ledgers(&args.ledger)?)?;
    let mut ledgers = Ledgers::default();
    while growing.read_on(&mut ledgers) {}
    let keys = keys::read(&args.keylog, &args.ike_keys)?;
    let endpoint = live.metrics.map(|address| bind("--metrics", address)).transpose()?;
    let page = page(live)?;
    let taps: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
    let taps: Vec<&str> = taps.iter().map(AsRef::as_ref).collect();
    let collector = live.delivery.collector();
    let mut delivery = collector
        .map(|collector| Delivery::open(&collector, &taps))
        .transpose()?;
    let interrupt = Interrupt::install()?;
    let mut inventory = args.cbom.is_some().then(Inventory::default);
    let watched = names
        .iter()
        .map(|name| watch(args, name, names.len(), &growing, &keys, inventory.as_mut()));
    let watched = watched.collect::<Result<Vec<_>, Failure>>()?;
    let metrics = Arc::new(Metrics::new(delivery.as_ref().map(Delivery::counts)));
    if let Some(delivery) = &mut delivery {
        delivery.start(Arc::clone(&metrics))?;
    }
    let begun = Instant::now();
    let teller = match live.follow {
        true => {
            let (interrupt, lasting) = (interrupt.clone(), live.lasting);
            let ending = move || interrupt.asked() || lasting.is_some_and(|lasting| begun.elapsed() >= lasting);
            let out = StdoutWriter::stdout(Box::new(ending));
            let out = out.map_err(|error| Failure::new(format!("standard output: {error}")))?;
            Some(EventWriter::new(if args.json { Form::Json } else { Form::Text }, out))
        }
        false => None,
    };
    let run = Run {
        args,
        deployment: deployment.as_ref(),
        accepted,
        ledgers,
        keys,
        growing,
        inventory,
        watched,
        teller,
        progress: Progress::new(),
        metrics: Arc::clone(&metrics),
        page,
        delivery,
        // A counter that begins with its first event has no increase then.
        events: event::NAMES.map(|name| (name, 0)).into(),
        begun,
        unseen: BTreeSet::new(),
        lost_by_ledger: 0,
        remembered: Instant::now(),
        view_took: Duration::ZERO,
        failures: Vec::new(),
    };
    let address = endpoint.as_ref().and_then(Endpoint::address);
    let _serving = endpoint.map(|endpoint| endpoint.serve(bartizan_server::metrics(move || metrics.text())));
    run.run(&interrupt, address)
}

/// Binds the page and begins to serve it, where one is asked for.
fn page(args: &FollowArgs) -> Result<Option<Page>, Failure> {
    let Some(asked) = args.http else {
        return Ok(None);
    };
    if !asked.ip().to_canonical().is_loopback() && !args.http_allow_remote {
        let port = asked.port();
        return Err(Failure::usage(format!(
            "--http {asked} would be reached by other hosts, and the page has no login and no TLS: every user of them sees which \
             nodes talk, and what can be read"
        ))
        .hint(format!("listen on 127.0.0.1:{port}, and reach it by `ssh -L {port}:127.0.0.1:{port} HOST`"))
        .hint("say --http-allow-remote where the network itself keeps others away"));
    }
    Ok(Some(Page::serve(bind("--http", asked)?, args.http_name.clone())))
}

fn watch(
    args: &Args,
    name: &Path,
    sources: usize,
    growing: &GrowingLedgers,
    keys: &Arc<Keyring>,
    inventory: Option<&mut Inventory>,
) -> Result<Watched, Failure> {
    let live = &args.live;
    let source = if live.interface.is_empty() {
        Source::file(name)?
    } else {
        Source::interface(&name.to_string_lossy())?
    };
    let following = Following {
        window: live.follow.then_some(live.window),
        hold: (!growing.is_empty()).then_some(live.grace),
        idle: live.follow.then_some(live.forget),
    };
    let stream = Stream::new(name, args.detail(), args.shares(sources), following, live.packets, keys);
    if let Some(inventory) = inventory {
        inventory.begin(&stream.name);
    }
    let stream = match live.http {
        Some(_) => stream.with_handshakes(),
        None => stream,
    };
    Ok(Watched {
        tracker: Tracker::new(&stream.name),
        source,
        stream,
        ended: false,
    })
}

impl Run<'_> {
    fn run(mut self, interrupt: &Interrupt, metrics: Option<SocketAddr>) -> Result<Outcome, Failure> {
        self.begin(metrics)?;
        let reason = self.go(interrupt)?;
        self.drain(reason)?;
        self.tick(true)?;
        self.end(reason)
    }
}
