//! The account of one association: what the admin port shows while it lives, and what is recorded
//! at its end.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Waker};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bartizan_gateway::{End, Ending, Streams, Totals};
use bartizan_ledger::{self as ledger, Bytes, Direction, Event, Key, StreamCounts};
use prometheus_client::metrics::counter::Counter;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::answers::failure::{Failure, Why};
use crate::dialling::session::Session;
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
    pub(super) function: SocketAddr,
    pub(super) beginning: Beginning,
    /// Messages sent and received, of all associations with this peer.
    messages: [Counter; 2],
    progress: Mutex<Progress>,
    /// It is to continue over a new connection.
    renews: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

/// When an association began, by both clocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Beginning {
    pub(super) began: Instant,
    pub(super) since: SystemTime,
}

/// State that changes while an association lives.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    /// The handshake of the connection that carries it.
    key: Option<Key>,
    /// When the first certificate that the peer showed there ends: the association ends then,
    /// unless it continues over another.
    ends: Option<SystemTime>,
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

    /// When the first association with each peer ends unless it continues over another connection,
    /// in seconds since 1970.
    pub(crate) fn ends(&self) -> BTreeMap<(&'static str, String), i64> {
        let open: Vec<_> = self.lock().iter().filter_map(Weak::upgrade).collect();
        let mut first = BTreeMap::new();
        for account in open {
            let ends = account
                .progress()
                .ends
                .and_then(|ends| ends.duration_since(UNIX_EPOCH).ok());
            let Some(ends) = ends.and_then(|ends| i64::try_from(ends.as_secs()).ok()) else {
                continue;
            };
            let side = Side::from(account.direction).as_str();
            let known = first.entry((side, account.peer.clone())).or_insert(ends);
            *known = ends.min(*known);
        }
        first
    }

    /// This node's certificate has changed: every association continues over a new connection,
    /// which lasts longer.
    pub(crate) fn renew(&self) {
        let open: Vec<_> = self.lock().iter().filter_map(Weak::upgrade).collect();
        for account in open {
            account.renews.store(true, Ordering::Release);
            let waker = account.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(waker) = waker {
                waker.wake();
            }
        }
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
        let beginning = Beginning {
            began: Instant::now(),
            since: SystemTime::now(),
        };
        Self::begun(shared, direction, interface, peer, function, beginning)
    }

    /// The same of an association that began before.
    pub(super) fn begun(
        shared: &Arc<Shared>,
        direction: Direction,
        interface: &'static str,
        peer: &str,
        function: SocketAddr,
        beginning: Beginning,
    ) -> Arc<Self> {
        let account = Arc::new(Self {
            shared: Arc::clone(shared),
            direction,
            interface,
            peer: peer.to_owned(),
            function,
            beginning,
            messages: shared.metrics.association_messages(Side::from(direction), peer),
            progress: Mutex::default(),
            renews: AtomicBool::new(false),
            waker: Mutex::default(),
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

    /// Another process has counted so much of it.
    pub(super) fn continues(&self, streams: Option<Streams>, totals: &Totals) {
        let mut progress = self.progress();
        (progress.streams, progress.totals) = (streams, *totals);
    }

    /// The connection of this handshake carries it from now on.
    pub(super) fn carried_by(&self, session: &Session) {
        let mut progress = self.progress();
        progress.key = session.key;
        progress.ends = Some(session.end.not_after);
    }

    /// Reports, once, a wish to continue over a new connection.
    pub(super) fn renews(&self, context: &Context<'_>) -> bool {
        let mut waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        if !waker.as_ref().is_some_and(|known| known.will_wake(context.waker())) {
            *waker = Some(context.waker().clone());
        }
        drop(waker);
        self.renews.load(Ordering::Acquire) && self.renews.swap(false, Ordering::AcqRel)
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
        let Progress {
            key,
            ends,
            streams,
            totals,
        } = *self.progress();
        let client_random = match key {
            Some(Key::Tls { client_random }) => Some(client_random),
            Some(Key::Ike { .. }) | None => None,
        };
        json!({
            "peer": self.peer,
            "interface": self.interface,
            "direction": self.direction,
            "function": self.function,
            "since": OffsetDateTime::from(self.beginning.since).format(&Rfc3339).ok(),
            "streams": streams.map(counts),
            "messages_sent": totals.sent,
            "messages_received": totals.received,
            "unacknowledged": totals.unacknowledged,
            "ends": ends.and_then(|ends| OffsetDateTime::from(ends).format(&Rfc3339).ok()),
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
                lasted_us: u64::try_from(self.beginning.began.elapsed().as_micros()).unwrap_or(u64::MAX),
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
