//! The span of one request at one sidecar.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bartizan_deployment::InterfaceKind;
use bartizan_ledger::Negotiated;

use super::Tracer;
use super::context::{Parent, written};
use crate::dialling::session::Session;
use crate::metrics::{Outcome, ServiceLabels};

/// Methods that are repeated in a span; any other is [`OTHER`].
const METHODS: [&str; 9] = [
    "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "TRACE",
];
/// `http.request.method` of any other, as OpenTelemetry's conventions have it.
pub(super) const OTHER: &str = "_OTHER";

bartizan_registry::made! {
    /// The span of a request under way.
    #[derive(Debug, Clone)]
    pub(crate) struct Hop,
    /// The first span of a trace.
    pub(super) first(trace: [u8; 16], span: [u8; 8]) {
        trace: [u8; 16],
        span: [u8; 8],
        parent: Option<[u8; 8]> = None,
        pub(super) state: Option<Arc<str>> = None,
        pub(super) began: SystemTime = SystemTime::now(),
        pub(super) method: &'static str = "",
        /// Interface and negotiated parameters of the TLS connection that it came or goes by.
        pub(super) negotiated: Option<(InterfaceKind, Arc<Negotiated>)> = None,
        /// Number of times it was handed to a connection.
        handed: u32 = 0,
        /// Why it was answered in place of the producer.
        pub(super) problem: Option<&'static str> = None,
        /// The tracer that takes it when it has ended.
        pub(super) tracer: Option<Tracer> = None,
    }
}

/// A span that has ended.
#[derive(Debug)]
pub struct Span {
    pub(crate) hop: Hop,
    pub(crate) labels: Arc<ServiceLabels>,
    pub(crate) outcome: Outcome,
    pub(crate) total: Duration,
    /// Time that the sidecar itself took for it: for the request, and for the response.
    pub(crate) own: [Duration; 2],
}

impl Hop {
    /// A span below another one.
    pub(super) fn below(parent: Parent, span: [u8; 8], state: Option<Arc<str>>) -> Self {
        Self {
            parent: Some(parent.span),
            state,
            ..Self::first(parent.trace, span)
        }
    }

    pub(super) fn is_below_another(&self) -> bool {
        self.parent.is_some()
    }

    /// `traceparent` of what is below this one.
    pub(super) fn parent_of_others(&self) -> String {
        written(self.trace, self.span)
    }

    /// It came by this connection over TLS, or is handed to it.
    pub(crate) fn carried_by(&mut self, session: &Session) {
        self.negotiated = Some((session.leg.interface, Arc::clone(&session.negotiated)));
    }

    pub(crate) fn handed(&mut self) {
        self.handed += 1;
    }

    pub(crate) fn answered_in_place(&mut self, problem: &'static str) {
        self.problem = Some(problem);
    }

    /// It has ended.
    pub(crate) fn end(mut self, end: impl FnOnce(Self) -> Span) {
        if let Some(tracer) = self.tracer.take() {
            tracer.take(end(self));
        }
    }

    pub(super) fn trace(&self) -> &[u8; 16] {
        &self.trace
    }

    pub(super) fn span(&self) -> &[u8; 8] {
        &self.span
    }

    pub(super) fn parent(&self) -> Option<&[u8; 8]> {
        self.parent.as_ref()
    }

    /// Number of times it was sent again.
    pub(super) fn sent_again(&self) -> u32 {
        self.handed.saturating_sub(1)
    }
}

/// The name of a method, of those that are known.
pub(super) fn method(value: &[u8]) -> &'static str {
    let known = METHODS.iter().find(|known| known.as_bytes() == value);
    known.copied().unwrap_or(OTHER)
}
