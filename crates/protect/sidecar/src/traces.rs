//! A span for each request that passes the `http2` path and is traced. The request itself names its
//! trace (`traceparent`, W3C Trace Context), or the trace is begun here for a share of the requests
//! of the sidecar's own function.
//!
//! A span is made where its request ends and waits in a bounded queue for the thread that sends it. A request never waits for that: where the queue is
//! full, the span is dropped and counted.

mod context;
mod encoding;
mod hop;

use std::sync::Arc;

use bartizan_http2::{Fields, Indexing};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tokio::sync::mpsc;

use crate::metrics::Side;
use context::{PARENT, Parent, STATE, random};
pub use encoding::{body, resource};
pub(crate) use hop::Hop;
pub use hop::Span;

/// Spans that wait for the thread that sends them: two seconds of 4,000 requests a second, some 3 MB.
const WAITING: usize = 8_192;

/// Numbers of spans by their fate.
#[derive(Debug, Clone, Default)]
struct Counts(Family<OutcomeLabels, Counter>);

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

impl Counts {
    fn add(&self, outcome: &'static str, spans: u64) {
        self.0.get_or_create(&OutcomeLabels { outcome }).inc_by(spans);
    }
}

/// Decides which requests have a span, and takes those that have ended. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Tracer {
    /// The share of requests of the own function that begin a trace where they belong to none, of 2^56.
    begun_below: u64,
    ended: mpsc::Sender<Span>,
    counts: Counts,
}

/// Spans that have ended, for the thread that sends them.
#[derive(Debug)]
pub struct Spans {
    ended: mpsc::Receiver<Span>,
    counts: Counts,
}

/// A tracer, and where its spans come out. `share` of the requests of the sidecar's own function, from 0 to 1, begin a trace where they belong to none.
pub fn tracer(share: f64) -> (Tracer, Spans) {
    let (sender, receiver) = mpsc::channel(WAITING);
    let counts = Counts::default();
    // All are there from the start, so that a first one is a rise.
    for outcome in ["sent", "dropped", "refused"] {
        counts.add(outcome, 0);
    }
    let tracer = Tracer {
        begun_below: (share.clamp(0.0, 1.0) * context::SHARES as f64) as u64,
        ended: sender,
        counts: counts.clone(),
    };
    (
        tracer,
        Spans {
            ended: receiver,
            counts,
        },
    )
}

impl Tracer {
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.sub_registry_with_prefix("bartizan_sidecar").register(
            "spans",
            "Spans of requests, by whether the collector took them",
            self.counts.0.clone(),
        );
    }

    /// The span of a request whose head was read, where it has one; the head then says that what follows is below it.
    pub(crate) fn begin(&self, head: &mut Fields, side: Side) -> Option<Box<Hop>> {
        let parent = Parent::of(head);
        match &parent {
            Some(parent) if parent.is_sampled() => {}
            Some(_) => return None,
            // The peer's sidecar has decided for those from there.
            None if side == Side::Inbound || self.begun_below == 0 => return None,
            None => {}
        }
        let mut hop = match parent {
            Some(parent) => Hop::below(parent, random(), state(head)),
            None => {
                let trace: [u8; 16] = random();
                if !context::is_below(trace, self.begun_below) {
                    return None;
                }
                Hop::first(trace, random())
            }
        };
        // A header that cannot be read names no trace, nor does the state with it.
        let begins = !hop.is_below_another();
        head.remove(|name| name == PARENT || (begins && name == STATE));
        // Another one for each request: not worth keeping.
        head.push(PARENT, hop.parent_of_others().as_bytes(), Indexing::Plain);
        hop.method = head.value(b":method").map_or("", hop::method);
        hop.tracer = Some(self.clone());
        Some(Box::new(hop))
    }

    fn take(&self, span: Span) {
        if self.ended.try_send(span).is_err() {
            self.counts.add("dropped", 1);
        }
    }
}

/// `tracestate`, which is passed on as it is.
fn state(head: &Fields) -> Option<Arc<str>> {
    let value = head
        .value(STATE)
        .filter(|value| value.len() <= context::LONGEST_STATE)?;
    std::str::from_utf8(value).ok().map(Arc::from)
}

impl Spans {
    /// The next spans, at most so many: waits for the first. None where there is no sidecar any more.
    pub async fn next(&mut self, most: usize) -> Option<Vec<Span>> {
        let mut spans = Vec::new();
        match self.ended.recv_many(&mut spans, most).await {
            0 => None,
            _ => Some(spans),
        }
    }

    /// Number of spans that wait.
    pub fn waiting(&self) -> usize {
        self.ended.len()
    }

    /// The collector took so many.
    pub fn sent(&self, spans: u64) {
        self.counts.add("sent", spans);
    }

    /// It refused so many.
    pub fn refused(&self, spans: u64) {
        self.counts.add("refused", spans);
    }

    /// So many were given up.
    pub fn dropped(&self, spans: u64) {
        self.counts.add("dropped", spans);
    }
}

#[cfg(test)]
mod tests;
