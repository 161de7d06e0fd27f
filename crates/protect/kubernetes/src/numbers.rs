//! Metrics of the controller for Prometheus. `docs/kubernetes.md` has the same list in words.

use std::sync::{Mutex, PoisonError};

use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::api::Problem;

bartizan_registry::metric_families! {
    /// Counters and gauges; each is shared with the registry.
    pub(crate) struct Numbers {
        pub(crate) leading: Gauge; "leading", "1 where this controller holds the Lease";
        pub(crate) nodes: Gauge; "nodes", "Nodes that shall have a certificate";
        pub(crate) issued: Gauge; "issued", "Nodes whose certificate is as the file wants it";
        pub(crate) waiting: Gauge; "waiting", "Certificates and revocation lists left for later turns";
        pub(crate) refused: Gauge; "refused_namespaces", "Namespaces with a file that is refused";
        pub(crate) requests: Gauge; "certificate_requests", "CertificateRequests of cert-manager that are waited for";
        pub(crate) skew: Gauge; "clock_ahead_seconds", "How far this clock is ahead of the API server's";
        pub(crate) turns: Counter; "turns", "Turns as the leader";
        pub(crate) certificates: Counter; "certificates", "Certificates that were issued and written";
        pub(crate) failures: Counter; "failures", "Certificates that could not be issued or written";
        writes: Family<OfObject, Counter>; "writes", "Objects that were written";
        errors: Family<OfCode, Counter>; "api_errors", "Requests to the API server that failed";
    }
    and { registry: Mutex<Registry> }
}

bartizan_registry::label_sets! {
    OfObject { object: &'static str }
    OfCode { code: String }
}

impl Numbers {
    pub(crate) fn new() -> Self {
        let numbers = Self::unregistered();
        let mut registry = Registry::with_prefix("bartizan_controller");
        numbers.register(&mut registry);
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
