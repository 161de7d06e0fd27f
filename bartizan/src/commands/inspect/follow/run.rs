//! The loop: packets, ledgers and time in, events and a report out.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bartizan_deployment::Deployment;
use bartizan_follow::delivery::Delivery;
use bartizan_follow::event_writer::{EventWriter, Form, since_1970};
use bartizan_follow::ledgers::GrowingLedgers;
use bartizan_follow::metrics::Metrics;
use bartizan_follow::page::Page;
use bartizan_follow::read::Known;
use bartizan_follow::source::{Notice, Source, Turn};
use bartizan_follow::stdout_writer::StdoutWriter;
use bartizan_follow::stream::{Context, Following, Stream};
use bartizan_follow::{folder, keys};
use bartizan_inspect::follow::{Event, LinkName, Tracker, cleared, event, found};
use bartizan_inspect::{Report, json};
use bartizan_keys::Keyring;
use bartizan_page::cbom::Inventory;
use bartizan_posture::{Concern, Ledgers};
use bartizan_wire::Timestamp;

use super::options::FollowArgs;
use crate::commands::bind;
use crate::commands::deployment_file;
use crate::commands::inspect::progress::Progress;
use crate::commands::inspect::{Args, conclude, show};
use crate::interrupt::Interrupt;
use crate::output::{errln, said};
use crate::{Failure, Outcome};
use bartizan_server::Endpoint;

/// Pause where no source has anything.
const PAUSE: Duration = Duration::from_millis(20);
/// Between two views where something came, and where nothing did.
const BUSY_TICK: Duration = Duration::from_millis(250);
const QUIET_TICK: Duration = Duration::from_secs(1);
/// A view may take this part of the time between two: one tenth.
const SHARE: u32 = 10;
/// Time for sources to hand over packets that had arrived when the end was requested.
const DRAIN: Duration = Duration::from_secs(30);
/// Number of recorded handshakes beyond which those without a held connection are dropped, and the
/// interval of that check.
const REMEMBERED: usize = 50_000;
const REMEMBERING: Duration = Duration::from_secs(60);

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
        args.files.clone()
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
    let stream = Stream::new(
        name,
        args.detail(),
        args.shares(sources),
        following,
        live.packets,
        keys,
        inventory,
    );
    let stream = match live.http {
        Some(_) => stream.with_handshakes(),
        None => stream,
    };
    Ok(Watched {
        tracker: Tracker::new(stream.name()),
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

    fn begin(&mut self, metrics: Option<SocketAddr>) -> Result<(), Failure> {
        let sources: Vec<&str> = self.watched.iter().map(|watched| watched.stream.name()).collect();
        let names = sources.join(", ");
        let live = &self.args.live;
        if self.teller.is_none() {
            errln!("capturing on {names}; Ctrl-C ends it");
            return Ok(());
        }
        let mut words = format!("following {names}; Ctrl-C ends it");
        if let Some(address) = metrics {
            words = format!("{words}; metrics at http://{address}/metrics");
        }
        let page = self.page.as_ref().and_then(Page::address);
        if let Some(address) = page {
            words = format!("{words}; page at http://{address}/");
        }
        let otlp = self.delivery.as_ref().map(Delivery::target);
        if let Some(target) = &otlp {
            words = format!("{words}; events and metrics to {target}");
        }
        let event = Event::new("begin", words)
            .with("sources", sources)
            .with("version", env!("CARGO_PKG_VERSION"))
            .with("metrics", metrics.map(|address| address.to_string()))
            .with("http", page.map(|address| address.to_string()))
            .with("otlp", otlp)
            .with("window_s", live.window.as_secs())
            .with("grace_s", live.grace.as_secs())
            .with("forget_s", live.forget.as_secs());
        self.tell(&event)
    }

    /// Until there is a reason to end.
    fn go(&mut self, interrupt: &Interrupt) -> Result<Reason, Failure> {
        let (mut ticked, mut changed) = (Instant::now(), true);
        loop {
            let busy = self.turn()?;
            changed |= busy;
            let pause = if changed { BUSY_TICK } else { QUIET_TICK };
            if ticked.elapsed() >= pause.max(self.view_took * SHARE) {
                self.tick(false)?;
                (ticked, changed) = (Instant::now(), false);
            }
            if interrupt.asked() {
                return Ok(Reason::Signal);
            }
            if self
                .args
                .live
                .lasting
                .is_some_and(|lasting| self.begun.elapsed() >= lasting)
            {
                return Ok(Reason::Time);
            }
            if self.teller.as_ref().is_some_and(|teller| teller.unheard) {
                return Ok(Reason::Unheard);
            }
            if self
                .watched
                .iter()
                .all(|watched| watched.ended || watched.stream.is_full())
            {
                let full = self.watched.iter().all(|watched| watched.stream.is_full());
                return Ok(if full { Reason::Packets } else { Reason::Sources });
            }
            if !busy {
                thread::sleep(PAUSE);
            }
        }
    }

    /// Each source's turn; says whether there was anything.
    fn turn(&mut self) -> Result<bool, Failure> {
        let (mut busy, mut reported, mut failed) = (false, Vec::new(), Vec::new());
        for (place, watched) in self.watched.iter_mut().enumerate() {
            if watched.ended || watched.stream.is_full() {
                continue;
            }
            let mut context = Context {
                ledgers: &self.ledgers,
                keys: &self.keys,
                inventory: self.inventory.as_mut(),
            };
            let turn = watched.source.turn(&mut watched.stream, &mut context, |notice| {
                reported.push((place, notice));
            });
            match turn {
                Ok(Turn::Busy) => busy = true,
                Ok(Turn::Quiet) => {}
                Ok(Turn::Ended) => watched.ended = true,
                // The findings of the other sources must not be lost by it.
                Err(failure) => {
                    watched.ended = true;
                    failed.push((place, failure));
                }
            }
        }
        for (place, notice) in reported {
            self.noticed(place, &notice)?;
        }
        for (place, failure) in failed {
            self.failed(place, failure)?;
        }
        Ok(busy)
    }

    /// Nothing more comes of a source. The others may go on for months: it is reported now, and not only at the end.
    fn failed(&mut self, place: usize, failure: Failure) -> Result<(), Failure> {
        let watched = &mut self.watched[place];
        let because = failure.message().to_owned();
        if watched.source.is_interface() {
            watched.stream.remark(format!("nothing more was read: {because}"));
        }
        let mut event = Event::of(watched.stream.name(), "source-failed", &*because).with("because", &*because);
        event.packet_ns = Some(watched.stream.newest().0).filter(|newest| *newest > 0);
        self.failures.push(failure);
        // Without events standard error says it.
        if self.teller.is_none() && self.failures.len() < self.watched.len() {
            errln!("warning: {because}");
        }
        self.tell(&event)
    }

    fn noticed(&mut self, place: usize, notice: &Notice) -> Result<(), Failure> {
        let watched = &mut self.watched[place];
        let name = watched.stream.name().to_owned();
        let event = match notice {
            Notice::Lost(packets) => {
                let words = format!("{packets} packets had no room in the kernel: nothing is said of them");
                Event::of(&name, "loss", words)
                    .with("packets", *packets)
                    .with("where", "capture")
            }
            Notice::Down => Event::of(&name, "interface-down", "the interface went down, or is gone"),
            Notice::Back => Event::of(&name, "interface-back", "the interface gives packets again"),
            Notice::Replaced { incomplete } => {
                let cut = if *incomplete {
                    ", the last record of the old one is cut"
                } else {
                    ""
                };
                Event::of(&name, "rotation", format!("another file stands in its place{cut}"))
                    .with("incomplete", *incomplete)
            }
        };
        if self.teller.is_none() && *notice == Notice::Down {
            let first = watched.stream.packets();
            let remark =
                format!("the interface went down, or is gone, after {first} packets: what came before is here");
            errln!("warning: {name}: {remark}");
            watched.stream.remark(remark);
            watched.source.stop();
        }
        self.tell(&event)
    }

    fn tell(&mut self, event: &Event) -> Result<(), Failure> {
        let at = since_1970();
        // Queued first: after a kill here the event is delivered twice rather than never.
        if let (Some(teller), Some(delivery)) = (&self.teller, &self.delivery) {
            delivery.event(event, teller.upcoming(), at)?;
        }
        self.say(event, at)
    }

    /// Reports an event that is queued, reported at this time since 1970.
    fn say(&mut self, event: &Event, at: Duration) -> Result<(), Failure> {
        debug_assert!(event::NAMES.contains(&event.name), "{}", event.name);
        *self.events.entry(event.name).or_default() += 1;
        if let Some(page) = &mut self.page {
            page.event(event, at);
        }
        match &mut self.teller {
            Some(teller) => {
                teller.advance();
                self.progress.aside(|| teller.tell(event, at))
            }
            None => Ok(()),
        }
    }

    /// Reports the fate of events on their way to a collector.
    fn delivered(&mut self, last: bool) -> Result<(), Failure> {
        let (Some(delivery), Some(teller)) = (&self.delivery, &self.teller) else {
            return Ok(());
        };
        for remark in delivery.remarks() {
            self.progress.aside(|| errln!("warning: {remark}"));
        }
        let at = since_1970();
        match delivery.lost(last, teller.upcoming(), at)? {
            Some(event) => self.say(&event, at),
            None => Ok(()),
        }
    }

    /// Reads ledgers on, lets go what is old, and tells what has changed. The last one waits for nothing that may come yet.
    fn tick(&mut self, last: bool) -> Result<(), Failure> {
        self.growing.read_on(&mut self.ledgers);
        let mut events = Vec::new();
        let begun = Instant::now();
        for (place, watched) in self.watched.iter_mut().enumerate() {
            let mut context = Context {
                ledgers: &self.ledgers,
                keys: &self.keys,
                inventory: self.inventory.as_mut(),
            };
            watched.stream.age(&mut context);
            if self.teller.is_some() {
                let mut view = watched.stream.view(&self.ledgers, self.deployment, last);
                let newest = watched.stream.newest();
                let forget = u64::try_from(self.args.live.forget.as_nanos()).unwrap_or(u64::MAX);
                let forget = Timestamp(newest.0.saturating_sub(forget));
                events.extend(watched.tracker.compare(&view, watched.stream.totals(), newest, forget));
                if let Some(page) = &mut self.page {
                    page.look(place, &mut view, &mut watched.stream, &watched.tracker);
                }
            }
        }
        self.view_took = begun.elapsed();
        if self.teller.is_some() {
            events.extend(self.listed(last));
        }
        let lost = self.ledgers.lost();
        if lost > self.lost_by_ledger {
            let records = lost - self.lost_by_ledger;
            self.lost_by_ledger = lost;
            let words = format!("{records} records were lost by the ledgers, as they say themselves");
            events.push(
                Event::new("loss", words)
                    .with("records", records)
                    .with("where", "ledger"),
            );
        }
        for event in &events {
            self.tell(event)?;
        }
        self.delivered(last)?;
        self.forget_records();
        let numbers = self.numbers();
        self.progress.show(&numbers.sources, numbers.findings.values().sum());
        if let Some(page) = &mut self.page {
            page.publish(&numbers);
        }
        self.metrics.set(numbers);
        Ok(())
    }

    /// Returns events about interfaces of the deployment file: not seen, or seen after all.
    fn listed(&mut self, last: bool) -> Vec<Event> {
        let Some(deployment) = self.deployment else {
            return Vec::new();
        };
        let seen: BTreeSet<usize> = self
            .watched
            .iter()
            .flat_map(|watched| watched.tracker.listed())
            .copied()
            .collect();
        let late = last || self.begun.elapsed() >= self.args.live.grace;
        let mut events = Vec::new();
        for (place, listed) in deployment.interfaces().iter().enumerate() {
            let because = "in the deployment file, and not in the packets";
            let mut event = match (seen.contains(&place), self.unseen.contains(&place)) {
                (true, true) => {
                    self.unseen.remove(&place);
                    cleared(Concern::Unseen, because)
                }
                (false, false) if late => {
                    self.unseen.insert(place);
                    found(Concern::Unseen, because)
                }
                _ => continue,
            };
            event.link = Some(LinkName {
                ends: listed.between.clone().map(|node| node.to_string()),
                interface: Some(listed.kind.name()),
                service: None,
                path: None,
            });
            events.push(event);
        }
        events
    }

    /// Drops recorded handshakes of unseen connections: ledgers report every handshake.
    fn forget_records(&mut self) {
        if self.ledgers.handshakes() < REMEMBERED || self.remembered.elapsed() < REMEMBERING {
            return;
        }
        self.remembered = Instant::now();
        let newest = self.watched.iter().map(|watched| watched.stream.newest()).min();
        let wanted: HashSet<[u8; 32]> = self
            .watched
            .iter()
            .flat_map(|watched| watched.stream.client_randoms())
            .collect();
        let grace = u64::try_from(self.args.live.grace.as_micros()).unwrap_or(u64::MAX);
        let since = newest.map_or(0, |newest| (newest.0 / 1000).saturating_sub(grace.saturating_mul(2)));
        self.ledgers.forget_handshakes(since, |random| wanted.contains(random));
    }

    /// Takes what had arrived when the end was asked for.
    fn drain(&mut self, reason: Reason) -> Result<(), Failure> {
        self.watched.iter_mut().for_each(|watched| watched.source.stop());
        let until = Instant::now() + DRAIN;
        while reason != Reason::Packets && Instant::now() < until {
            let busy = self.turn()?;
            let open = |watched: &Watched| !watched.ended && !watched.stream.is_full();
            let waits = self
                .watched
                .iter()
                .any(|watched| open(watched) && watched.source.is_interface());
            if !busy && !waits {
                break;
            }
            if !busy {
                thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    fn end(mut self, reason: Reason) -> Result<Outcome, Failure> {
        self.progress.finish();
        let open_findings = self.open_findings();
        if self.teller.is_some() {
            let count: u64 = open_findings.values().sum();
            let words = format!("{}; {count} findings stand", reason.name());
            let event = Event::new("end", words)
                .with("reason", reason.name())
                .with("open", serde_json::json!(open_findings));
            self.tell(&event)?;
        }
        let numbers = self.numbers();
        if let Some(page) = &mut self.page {
            page.publish(&numbers);
        }
        let known = Known {
            ledgers: &self.ledgers,
            deployment: self.deployment,
            keys: &self.keys,
        };
        let mut inventory = self.inventory;
        if let Some(inventory) = &mut inventory {
            self.growing.reported(inventory);
        }
        let reports = self
            .watched
            .into_iter()
            .map(|watched| watched.stream.finish(known, inventory.as_mut()));
        let mut reports: Vec<Report> = reports.collect();
        let mut failures = self.failures;
        // A failure to write the page must not cost the report, which cannot be made again.
        failures.extend(conclude(self.args, &mut reports, inventory.as_ref(), self.deployment).err());
        let at = since_1970();
        if let Some(teller) = &mut self.teller {
            let sequence = teller.advance();
            if let Some(delivery) = &self.delivery {
                delivery.report(&json::document(&reports), sequence, at);
            }
        }
        let shown = match (&mut self.teller, self.args.json) {
            (Some(teller), true) => teller.report(&json::document(&reports), at),
            (Some(teller), false) => teller.put(|out| show(self.args, &reports, self.deployment, out)),
            (None, _) => said(show(self.args, &reports, self.deployment, &mut io::stdout().lock())),
        };
        let stalled = self.teller.as_ref().and_then(EventWriter::left);
        if let Some(left) = self.delivery.and_then(Delivery::finish) {
            errln!("warning: {left}");
        }
        failures.extend(shown.err().or(stalled));
        let mut failures = failures.into_iter();
        if let Some(first) = failures.next() {
            return Err(failures.fold(first, |first, other| first.hint(other.message())));
        }
        let finding = match self.teller {
            Some(_) => !open_findings.is_empty(),
            None => reports.iter().any(|report| !report.findings().is_empty()),
        };
        Ok(if finding { Outcome::Finding } else { Outcome::Clean })
    }
}
