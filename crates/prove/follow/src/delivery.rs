//! Delivery of events and metrics to a collector: a queue that the loop fills, and a thread that empties it.
//!
//! The loop never waits for the collector. It writes an event to the queue, and the queue is bounded; what is sent, repeated and lost is counted.

mod sender;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use bartizan_inspect::follow::metric::Metric;
use bartizan_inspect::follow::{Event, event, otlp};
use bartizan_otlp::{Client, LARGEST, Losses, Plaintext, Purpose, Queue, Target, host};
use data_encoding::HEXLOWER;
use serde::Serialize;
use tokio::runtime::Builder;
use tokio::sync::{Notify, watch};

use super::metrics::Metrics;
use bartizan_terminal::Failure;
use sender::Sender;

/// A collector, and the queue of what it has not taken yet.
#[derive(Debug, Clone)]
pub struct Collector {
    /// Its address.
    pub target: Target,
    /// Roots that its certificate must lead to; those of the host where there are none.
    pub authority: Option<PathBuf>,
    /// Permission to send without TLS to another host.
    pub plaintext: Plaintext,
    /// Time between two exports of metrics.
    pub interval: Duration,
    /// Folder of the queue; in memory without.
    pub queue: Option<PathBuf>,
    /// Bound of the queue, in bytes.
    pub queue_limit: u64,
}

const PURPOSE: Purpose = Purpose {
    option: "--otlp",
    reads: "which links are vulnerable",
};
/// Longest line of an event: the log record repeats parts of it, and JSON in JSON is longer.
const LONGEST_LINE: usize = LARGEST / 4;

/// State shared by the loop and the thread.
#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    queued: Notify,
    tally: Mutex<Tally>,
}

/// Counts beyond those of the queue, and remarks on the collector.
#[derive(Debug, Default)]
struct Tally {
    sent: u64,
    sent_metrics: u64,
    postponed: [u64; 2],
    refused: [u64; 2],
    too_long: u64,
    /// Last error of each signal; none after an accepted request.
    failing: [Option<String>; 2],
    /// Last message of the collector about events that it refused while it accepted others.
    partly: Option<String>,
    /// True if the queue refused the last event.
    unwritten: bool,
    remarks: Vec<String>,
}

/// Counts for metrics.
#[derive(Debug, Clone)]
pub struct Counts(Arc<Shared>);

/// Delivery to one collector.
pub struct Delivery {
    shared: Arc<Shared>,
    target: Target,
    /// Identifier that separates this process' events from those of others.
    run: String,
    client: Option<Client>,
    resource: String,
    interval: Duration,
    ending: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Delivery {
    /// Opens the queue, where a collector is asked for. Nothing is sent yet.
    pub fn open(collector: &Collector, taps: &[&str]) -> Result<Self, Failure> {
        let client = Client::new(
            &collector.target,
            PURPOSE,
            collector.plaintext,
            collector.authority.clone(),
        )?;
        let resource = otlp::resource(env!("CARGO_PKG_VERSION"), &host(), taps);
        let queue = match &collector.queue {
            Some(folder) => Queue::open(folder, collector.queue_limit, &resource)?,
            None => Queue::memory(collector.queue_limit, &resource),
        };
        let mut run = [0; 8];
        aws_lc_rs::rand::fill(&mut run).map_err(|_| Failure::new("no random numbers"))?;
        Ok(Self {
            shared: Arc::new(Shared {
                queue: Mutex::new(queue),
                queued: Notify::new(),
                tally: Mutex::default(),
            }),
            target: collector.target.clone(),
            run: HEXLOWER.encode(&run),
            client: Some(client),
            resource,
            interval: collector.interval,
            ending: watch::Sender::new(false),
            thread: None,
        })
    }

    /// Counts of its events and requests.
    pub fn counts(&self) -> Counts {
        Counts(Arc::clone(&self.shared))
    }

    /// Address of the collector.
    pub fn target(&self) -> String {
        self.target.to_string()
    }

    /// Begins to send.
    pub fn start(&mut self, metrics: Arc<Metrics>) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::new(format!("--otlp: {error}"));
        let Some(client) = self.client.take() else {
            return Ok(());
        };
        let sender = Sender {
            shared: Arc::clone(&self.shared),
            metrics,
            client,
            resource: self.resource.clone(),
            interval: self.interval,
            ending: self.ending.subscribe(),
        };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let thread = std::thread::Builder::new().name("otlp".to_owned()).spawn(move || {
            runtime.block_on(sender.run());
            // A look-up of a name may still wait.
            runtime.shutdown_background();
        });
        self.thread = Some(thread.map_err(failed)?);
        Ok(())
    }

    /// Queues an event, the `sequence`-th, reported `at` since 1970.
    pub fn event(&self, event: &Event, sequence: u64, at: Duration) -> Result<(), Failure> {
        let line = serde_json::to_string(&event::json(event, sequence, at)).map_err(Failure::new)?;
        self.line(event, &line, sequence, at);
        Ok(())
    }

    /// Queues the report, or says in its place that it is too long.
    pub fn report(&self, report: &impl Serialize, sequence: u64, at: Duration) {
        let event = Event::new("report", "");
        let mut line = Bounded(Vec::new());
        match serde_json::to_writer(&mut line, &event::json_report(report, sequence, at)) {
            Ok(()) => self.line(&event, &String::from_utf8_lossy(&line.0), sequence, at),
            Err(_) => self.too_long(&event, sequence, at),
        }
    }

    fn line(&self, event: &Event, line: &str, sequence: u64, at: Duration) {
        if line.len() > LONGEST_LINE {
            return self.too_long(event, sequence, at);
        }
        let id = format!("{}-{sequence}", self.run);
        self.push(&otlp::log_record(event, line, &id, sequence, at));
    }

    /// An event whose fields are left out is better than none.
    fn too_long(&self, event: &Event, sequence: u64, at: Duration) {
        self.shared.tally().too_long += 1;
        let mut short = Event::new(event.name, "").with("omitted", true);
        short.source.clone_from(&event.source);
        short.link.clone_from(&event.link);
        short.packet_ns = event.packet_ns;
        let Ok(line) = serde_json::to_string(&event::json(&short, sequence, at)) else {
            return;
        };
        let id = format!("{}-{sequence}", self.run);
        self.push(&otlp::log_record(&short, &line, &id, sequence, at));
    }

    fn push(&self, record: &str) {
        if record.len() <= LARGEST {
            let pushed = self.shared.queue().push(record);
            self.shared.tally().queued(pushed.err());
        } else {
            self.shared.queue().count_unwritten();
        }
        self.shared.queued.notify_one();
    }

    /// An event of what was lost on the way to the collector, once the collector takes events again, or `last`: the `sequence`-th, reported `at`
    /// since 1970, and queued. A queue that can take nothing, as on a full disk, cannot take this event either: it comes when it can, so that it
    /// is not lost itself, and followed by another one that reports that.
    pub fn lost(&self, last: bool, sequence: u64, at: Duration) -> Result<Option<Event>, Failure> {
        let is_failing = self.shared.tally().failing[LOGS].is_some();
        let records = self.shared.queue().unreported();
        if records == 0 || (is_failing && !last) {
            return Ok(None);
        }
        let words = format!("{records} events were lost on the way to the collector");
        let event = Event::new("loss", words)
            .with("records", records)
            .with("where", "delivery");
        let line = serde_json::to_string(&event::json(&event, sequence, at)).map_err(Failure::new)?;
        let record = otlp::log_record(&event, &line, &format!("{}-{sequence}", self.run), sequence, at);
        let mut queue = self.shared.queue();
        if queue.try_push(&record).is_err() {
            // Standard output has it at the end; the collector has it by the next start.
            return Ok(last.then_some(event));
        }
        queue.reported(records);
        drop(queue);
        self.shared.tally().queued(None);
        self.shared.queued.notify_one();
        Ok(Some(event))
    }

    /// Remarks on the collector, once each.
    pub fn remarks(&self) -> Vec<String> {
        let remarks = std::mem::take(&mut self.shared.tally().remarks);
        remarks
            .into_iter()
            .map(|remark| format!("--otlp {}: {remark}", self.target))
            .collect()
    }

    /// Sends what waits, for a short time, and says what is left.
    pub fn finish(mut self) -> Option<String> {
        self.ending.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
        let queue = self.shared.queue();
        let left = queue.records();
        match (left, queue.is_durable()) {
            (0, _) => None,
            (_, true) => Some(format!("{left} events wait for the collector until the next start")),
            (_, false) => Some(format!(
                "{left} events are lost, which the collector did not take; --queue DIR keeps them over restarts"
            )),
        }
    }
}

const LOGS: usize = 0;

/// Index of a signal's numbers.
fn place(signal: &str) -> usize {
    usize::from(signal != "logs")
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The collector took so many log records, and may have said something about others.
    fn taken(&self, records: u64, message: Option<String>) {
        let mut tally = self.tally();
        tally.sent += records;
        tally.answers(LOGS);
        if message.is_some() && message != tally.partly {
            let words = message.as_deref().unwrap_or_default();
            tally.remarks.push(format!("it took events with a remark: {words}"));
            tally.partly = message;
        }
    }

    fn taken_metrics(&self) {
        let mut tally = self.tally();
        tally.sent_metrics += 1;
        tally.answers(place("metrics"));
    }

    fn postponed(&self, signal: &str, why: String) {
        let mut tally = self.tally();
        tally.postponed[place(signal)] += 1;
        tally.fails(place(signal), format!("{signal} are not taken, and wait: {why}"));
    }

    fn refused(&self, signal: &str, why: String) {
        let mut tally = self.tally();
        tally.refused[place(signal)] += 1;
        tally.fails(place(signal), format!("{signal} are refused, and dropped: {why}"));
    }
}

impl Tally {
    /// An event was queued, or was not. Said when it begins and when it ends: where a disk is full, its log may be on it too.
    fn queued(&mut self, error: Option<io::Error>) {
        match &error {
            Some(error) if !self.unwritten => self
                .remarks
                .push(format!("--queue: events cannot be written and are lost: {error}")),
            None if self.unwritten => self.remarks.push("--queue: events are written again".to_owned()),
            _ => {}
        }
        self.unwritten = error.is_some();
    }

    /// Said when it begins, and not for each request.
    fn fails(&mut self, signal: usize, remark: String) {
        if self.failing[signal].is_none() {
            self.remarks.push(remark.clone());
        }
        self.failing[signal] = Some(remark);
    }

    fn answers(&mut self, signal: usize) {
        if self.failing[signal].take().is_some() {
            let signal = if signal == LOGS { "logs" } else { "metrics" };
            self.remarks.push(format!("{signal} are taken again"));
        }
    }
}

impl Counts {
    /// All of it.
    pub fn metrics(&self) -> Vec<Metric> {
        let (losses, bytes, records) = {
            let queue = self.0.queue();
            (queue.losses(), queue.bytes(), queue.records())
        };
        let tally = self.0.tally();
        let mut sent = Metric::sum(
            "delivery_sent",
            "Log records, and exports of metrics, that the collector took",
        );
        sent.count(&[("signal", "logs")], tally.sent);
        sent.count(&[("signal", "metrics")], tally.sent_metrics);
        let mut retried = Metric::sum("delivery_retried", "Requests to the collector that had to be repeated");
        let mut refused = Metric::sum("delivery_refused", "Requests that the collector refused for good");
        let mut up = Metric::gauge("delivery_up", "1 where the collector took the last request");
        for signal in ["logs", "metrics"] {
            let (labels, place) = ([("signal", signal)], place(signal));
            retried.count(&labels, tally.postponed[place]);
            refused.count(&labels, tally.refused[place]);
            up.count(&labels, u64::from(tally.failing[place].is_none()));
        }
        let mut lost = Metric::sum(
            "events_lost",
            "Events that no collector will get, by reason, and those that were shortened",
        );
        let Losses {
            full,
            refused: by_collector,
            unwritten,
            damaged,
            earlier,
        } = losses;
        for (reason, count) in [
            ("queue-full", full),
            ("refused", by_collector),
            ("unwritten", unwritten),
            ("damaged", damaged),
            ("earlier", earlier),
            ("too-long", tally.too_long),
        ] {
            lost.count(&[("reason", reason)], count);
        }
        let mut queued_bytes = Metric::gauge("delivery_queued_bytes", "Bytes that wait for the collector");
        queued_bytes.count(&[], bytes);
        let mut queued = Metric::gauge("delivery_queued_events", "Events that wait for the collector");
        queued.count(&[], records);
        vec![sent, retried, refused, up, lost, queued_bytes, queued]
    }
}

/// Takes so many bytes as a line may have, and fails then.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > LONGEST_LINE {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
