//! Match of answers to requests.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Method;

use crate::Exchange;
use crate::stand_in::exchange::Answer;

/// Identity of a request: everything that a network function would look at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) server: String,
    pub(super) method: Method,
    /// With its query.
    pub(super) path: String,
    pub(super) body: Bytes,
}

/// An answer and how long the network function thought about it.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) answer: Answer,
    pub(super) think: Duration,
}

/// All answers of an exchange.
#[derive(Debug)]
pub(super) struct Script {
    lines: HashMap<Key, Lines>,
}

/// The answers to one request in the order in which they were given; after the last comes the first again, so that an
/// exchange can be played twice.
#[derive(Debug, Default)]
struct Lines {
    lines: Vec<Line>,
    next: AtomicUsize,
}

impl Script {
    pub(super) fn of(exchange: &Exchange) -> Self {
        let mut requests: Vec<_> = exchange.requests().collect();
        requests.sort_by_key(|(_, request)| request.sent);
        let mut lines: HashMap<Key, Lines> = HashMap::new();
        for (server, request) in requests {
            let Some((answer, think)) = request.answer.clone().zip(request.think()) else {
                continue;
            };
            let key = Key {
                server: server.to_owned(),
                method: request.method.clone(),
                path: request.path.as_str().to_owned(),
                body: request.body.clone(),
            };
            lines.entry(key).or_default().lines.push(Line { answer, think });
        }
        Self { lines }
    }

    /// The answer whose turn it is.
    pub(super) fn next(&self, key: &Key) -> Option<&Line> {
        let lines = self.lines.get(key)?;
        let turn = lines.next.fetch_add(1, Ordering::Relaxed);
        lines.lines.get(turn % lines.lines.len().max(1))
    }
}
