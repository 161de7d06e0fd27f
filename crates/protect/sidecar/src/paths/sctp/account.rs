//! The account of one association: what the admin port shows while it lives, and what is recorded at its end.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Instant, SystemTime};

use bartizan_gateway::{End, Ending, Streams, Totals};
use bartizan_ledger::{self as ledger, Bytes, Direction, Event, Key, StreamCounts};
use prometheus_client::metrics::counter::Counter;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::answers::failure::{Failure, Why};
use crate::metrics::Side;
use crate::shared::Shared;

/// The associations that a sidecar carries.
#[derive(Debug, Default)]
pub(crate) struct Accounts(Mutex<Vec<Weak<Account>>>);

/// The account of one association.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) shared: Arc<Shared>,
    pub(super) direction: Direction,
    pub(super) interface: &'static str,
    pub(super) peer: String,
    /// The function's end of its own association with the sidecar.
    function: SocketAddr,
    began: Instant,
    since: SystemTime,
    /// Messages sent and received, of all associations with this peer.
    messages: [Counter; 2],
    progress: Mutex<Progress>,
}

/// What changes while an association lives.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    /// The handshake of the connection that carries it.
    key: Option<Key>,
    streams: Option<Streams>,
    totals: Totals,
}

impl Accounts {
    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Account>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every association that is carried now.
    pub(crate) fn describe(&self) -> Vec<Value> {
        let open: Vec<_> = self.lock().iter().filter_map(Weak::upgrade).collect();
        open.iter().map(|account| account.describe()).collect()
    }
}

impl Account {
    pub(super) fn open(
        shared: &Arc<Shared>,
        direction: Direction,
        interface: &'static str,
        peer: &str,
        function: SocketAddr,
    ) -> Arc<Self> {
        let account = Arc::new(Self {
            shared: Arc::clone(shared),
            direction,
            interface,
            peer: peer.to_owned(),
            function,
            began: Instant::now(),
            since: SystemTime::now(),
            messages: shared.metrics.association_messages(Side::from(direction), peer),
            progress: Mutex::default(),
        });
        let mut open = shared.associations.lock();
        // Each pass over the list is paid for by as many associations that were opened since.
        if open.len() == open.capacity() {
            open.retain(|known| known.strong_count() > 0);
        }
        open.push(Arc::downgrade(&account));
        drop(open);
        account
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection of this handshake carries it from now on.
    pub(super) fn carried_by(&self, key: Option<Key>) {
        self.progress().key = key;
    }

    /// Counts what has passed since the last call.
    pub(super) fn count(&self, streams: Option<Streams>, totals: &Totals) {
        let mut progress = self.progress();
        let before = std::mem::replace(&mut progress.totals, *totals);
        progress.streams = streams;
        drop(progress);
        let [sent, received] = &self.messages;
        sent.inc_by(totals.sent - before.sent);
        received.inc_by(totals.received - before.received);
    }

    fn describe(&self) -> Value {
        let Progress { key, streams, totals } = *self.progress();
        let client_random = match key {
            Some(Key::Tls { client_random }) => Some(client_random),
            Some(Key::Ike { .. }) | None => None,
        };
        json!({
            "peer": self.peer,
            "interface": self.interface,
            "direction": self.direction,
            "function": self.function,
            "since": OffsetDateTime::from(self.since).format(&Rfc3339).ok(),
            "streams": streams.map(counts),
            "messages_sent": totals.sent,
            "messages_received": totals.received,
            "unacknowledged": totals.unacknowledged,
            "client_random": client_random,
        })
    }

    /// Records the end.
    pub(super) fn close(&self, end: &End, streams: Option<Streams>) {
        let End { ending, totals } = end;
        self.count(streams, totals);
        let side = Side::from(self.direction);
        let detail = ending.cause().to_string();
        self.shared
            .metrics
            .association(side, &self.peer, ending.as_str(), totals.unacknowledged);
        let key = self.progress().key;
        self.shared
            .recorder
            .record(Event::Association(Box::new(ledger::Association {
                key,
                interface: self.interface.to_owned(),
                direction: self.direction,
                peer: self.peer.clone(),
                function: Some(self.function),
                streams: streams.map(counts),
                ending: ending.as_str().to_owned(),
                detail: detail.clone(),
                messages: Bytes {
                    sent: totals.sent,
                    received: totals.received,
                },
                bytes: Bytes {
                    sent: totals.sent_octets,
                    received: totals.received_octets,
                },
                unacknowledged: totals.unacknowledged,
                undelivered: totals.undelivered,
                lasted_us: u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX),
            })));
        match ending {
            // The failure is logged with its hint.
            Ending::ShutDown | Ending::NoCarrier(_) => {}
            _ => self.shared.failure_log.log(
                "an association was aborted",
                &Failure {
                    peer: self.peer.clone(),
                    why: Why::Association(ending.as_str()),
                    detail: format!(
                        "{}: {detail} ({} messages not acknowledged, {} not delivered)",
                        self.interface, totals.unacknowledged, totals.undelivered
                    ),
                    hint: hint(ending, &self.peer),
                },
            ),
        }
    }
}

const fn counts(Streams { outbound, inbound }: Streams) -> StreamCounts {
    StreamCounts { outbound, inbound }
}

fn hint(ending: &Ending, peer: &str) -> String {
    match ending {
        Ending::Aborted(_) => "see the log of this node's network function".to_owned(),
        Ending::Dismissed(_) => "see how associations end in docs/gateway.md".to_owned(),
        Ending::NoStream { .. } | Ending::TooLarge => "see the limits in docs/gateway.md".to_owned(),
        _ => format!("see the logs of {peer} and of its sidecar"),
    }
}
