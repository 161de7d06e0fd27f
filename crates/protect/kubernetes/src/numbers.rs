//! Metrics of the controller for Prometheus. `docs/kubernetes.md` has the same list in words.

use std::sync::Mutex;
use std::sync::PoisonError;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::api::Problem;

/// Counters and gauges; each is shared with the registry.
#[derive(Default)]
pub(crate) struct Numbers {
    pub(crate) leading: Gauge,
    pub(crate) nodes: Gauge,
    pub(crate) issued: Gauge,
    pub(crate) waiting: Gauge,
    pub(crate) refused: Gauge,
    pub(crate) requests: Gauge,
    pub(crate) skew: Gauge,
    pub(crate) turns: Counter,
    pub(crate) certificates: Counter,
    pub(crate) failures: Counter,
    writes: Family<OfObject, Counter>,
    errors: Family<OfCode, Counter>,
    registry: Mutex<Registry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfObject {
    object: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfCode {
    code: String,
}

impl Numbers {
    pub(crate) fn new() -> Self {
        let numbers = Self::default();
        let mut registry = Registry::with_prefix("bartizan_controller");
        let gauges = [
            ("leading", "1 where this controller holds the Lease", &numbers.leading),
            ("nodes", "Nodes that shall have a certificate", &numbers.nodes),
            (
                "issued",
                "Nodes whose certificate is as the file wants it",
                &numbers.issued,
            ),
            (
                "waiting",
                "Certificates and revocation lists left for later turns",
                &numbers.waiting,
            ),
            (
                "refused_namespaces",
                "Namespaces with a file that is refused",
                &numbers.refused,
            ),
            (
                "certificate_requests",
                "CertificateRequests of cert-manager that are waited for",
                &numbers.requests,
            ),
            (
                "clock_ahead_seconds",
                "How far this clock is ahead of the API server's",
                &numbers.skew,
            ),
        ];
        for (name, help, gauge) in gauges {
            registry.register(name, help, gauge.clone());
        }
        let counters = [
            ("turns", "Turns as the leader", &numbers.turns),
            (
                "certificates",
                "Certificates that were issued and written",
                &numbers.certificates,
            ),
            (
                "failures",
                "Certificates that could not be issued or written",
                &numbers.failures,
            ),
        ];
        for (name, help, counter) in counters {
            registry.register(name, help, counter.clone());
        }
        registry.register("writes", "Objects that were written", numbers.writes.clone());
        registry.register(
            "api_errors",
            "Requests to the API server that failed",
            numbers.errors.clone(),
        );
        *numbers.registry.lock().unwrap_or_else(PoisonError::into_inner) = registry;
        numbers
    }

    pub(crate) fn wrote(&self, object: &'static str) {
        self.writes.get_or_create(&OfObject { object }).inc();
    }

    pub(crate) fn failed(&self, problem: &Problem) {
        self.errors.get_or_create(&OfCode { code: problem.label() }).inc();
    }

    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        match text::encode(&mut out, &registry) {
            Ok(()) => out,
            Err(_) => String::new(),
        }
    }
}
