//! Counters and their names. `docs/sidecar-reference.md` has the same list in words.

#[cfg(test)]
mod tests {
    mod families;
}
mod labels;
mod requests;

use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use labels::{
    AssociationLabels, BytesLabels, ClientErrorLabels, HandshakeLabels, LimitLabels, LocalLabels, PeerReasonLabels,
    RequestLabels, ResultLabels, RulesLabels, SideLabels, SidePeerLabels,
};
pub(crate) use labels::{ServiceLabels, Side};
pub(crate) use requests::{Account, Outcome, Requests};

/// The label of the bound on pending connections.
pub(crate) const UNAUTHENTICATED: &str = "unauthenticated";

bartizan_registry::metric_families! {
    /// Counters and histograms of one sidecar. Cheap to clone: clones count together.
    #[derive(Debug, Clone)]
    pub(crate) struct Metrics {
        handshakes: Family<HandshakeLabels, Counter>;
            "handshakes", "TLS handshakes that ended well, by what was negotiated";
        handshake_failures: Family<PeerReasonLabels, Counter>;
            "handshake_failures", "TLS handshakes that did not end well, by reason";
        handshake_seconds: Histograms<SideLabels>, by Family::new_with_constructor(handshake_histogram);
            "handshake_seconds", "First byte to the end of a TLS handshake that ended well";
        hello_retry_requests: Family<SidePeerLabels, Counter>;
            "hello_retry_requests", "Handshakes that took a second ClientHello";
        requests: Family<RequestLabels, Counter>;
            "requests", "Requests on the http2 path, by pair, service and status";
        requests_in_flight: Family<SidePeerLabels, Gauge>;
            "requests_in_flight", "Requests under way on the http2 path";
        request_seconds: Histograms<ServiceLabels>, by Family::new_with_constructor(request_histogram);
            "request_seconds", "Head of the request read to the end of the response handed on";
        request_own_seconds: Histograms<ServiceLabels>, by Family::new_with_constructor(own_histogram);
            "request_own_seconds", "Share of request_seconds that this sidecar took itself";
        problems: Family<PeerReasonLabels, Counter>;
            "problems", "Errors answered by this sidecar in place of the producer";
        retries: Family<PeerReasonLabels, Counter>;
            "retries", "Requests sent again because the first connection had not processed them";
        bytes: Family<BytesLabels, Counter>; "tls_plain_bytes", "Bytes of plain text carried over TLS";
        local_connections: Family<LocalLabels, Counter>;
            "local_connections", "Connections between the sidecar and its network function";
        limits_reached: Family<LimitLabels, Counter>;
            "limits_reached", "Times a bound of the deployment file's limits was reached";
        rules_installed: Family<RulesLabels, Gauge>;
            "rules_installed", "Whether the packet filter's rules are installed, as asked every second";
        client_errors: Family<ClientErrorLabels, Counter>;
            "client_errors", "Connections of clients that ended in an error of HTTP/2, by error code";
        dismissed: Family<PeerReasonLabels, Counter>;
            "connections_dismissed", "Open connections that were closed because their peer would be refused now, by reason";
        associations: Family<AssociationLabels, Counter>;
            "associations", "SCTP associations that have ended, by how";
        takeovers: Family<PeerReasonLabels, Counter>;
            "association_takeovers",
            "SCTP associations of the process before this one that were taken over, or why not";
        association_messages: Family<BytesLabels, Counter>;
            "association_messages", "User messages of SCTP associations";
        unacknowledged: Family<SidePeerLabels, Counter>;
            "association_unacknowledged",
            "User messages sent that the other function was not known to have acknowledged when the association ended";
    }
    and { reloads: Family<ResultLabels, Counter>, refusals: Refusals }
}

type Histograms<Labels> = Family<Labels, Histogram, fn() -> Histogram>;

/// Handshakes that were refused, by the node at the other end: how many, and why the last.
type Refusals = Arc<Mutex<BTreeMap<String, (u64, &'static str)>>>;

impl Metrics {
    /// Makes the metrics and registers them.
    pub(crate) fn new(registry: &mut Registry, version: &'static str, module: &'static str) -> Self {
        let metrics = Self::unregistered();
        let process = registry.sub_registry_with_prefix("bartizan");
        process.register(
            "build",
            "Version of Bartizan and the cryptographic module in use",
            Info::new(vec![("version", version), ("module", module)]),
        );
        process.register(
            "reloads",
            "Times certificates and policies were read again, by whether they were applied",
            metrics.reloads.clone(),
        );
        // Both results are there from the start, so that a first refusal is a rise.
        for result in ["done", "refused"] {
            let _ = metrics.reloads.get_or_create(&ResultLabels { result });
        }
        metrics.register(registry.sub_registry_with_prefix("bartizan_sidecar"));
        metrics
    }

    /// An SCTP association has ended.
    pub(crate) fn association(&self, side: Side, peer: &str, ending: &'static str, unacknowledged: u64) {
        count(&self.associations, &AssociationLabels::new(side, peer, ending));
        self.unacknowledged
            .get_or_create(&SidePeerLabels::new(side, peer))
            .inc_by(unacknowledged);
    }

    /// An SCTP association of the process before was taken over, or not.
    pub(crate) fn takeover(&self, side: Side, peer: &str, reason: &'static str) {
        count(&self.takeovers, &PeerReasonLabels::new(side, peer, reason));
    }

    /// Counters of user messages of SCTP associations sent to and received from `peer`.
    pub(crate) fn association_messages(&self, side: Side, peer: &str) -> [Counter; 2] {
        ["sent", "received"].map(|direction| {
            let labels = BytesLabels::new(side, peer, direction);
            self.association_messages.get_or_create_owned(&labels)
        })
    }

    /// An open connection was judged again and has to end.
    pub(crate) fn dismissed(&self, side: Side, peer: &str, reason: &'static str) {
        count(&self.dismissed, &PeerReasonLabels::new(side, peer, reason));
    }

    /// A handshake that ended well.
    pub(crate) fn handshake(
        &self,
        side: Side,
        peer: &str,
        negotiated: &bartizan_ledger::Negotiated,
        excepted: bool,
        seconds: f64,
    ) {
        count(&self.handshakes, &HandshakeLabels::of(side, peer, negotiated, excepted));
        self.handshake_seconds
            .get_or_create(&SideLabels { side })
            .observe(seconds);
        if negotiated.hello_retry {
            count(&self.hello_retry_requests, &SidePeerLabels::new(side, peer));
        }
    }

    /// A handshake that did not.
    pub(crate) fn handshake_failed(&self, side: Side, peer: &str, reason: &'static str) {
        count(&self.handshake_failures, &PeerReasonLabels::new(side, peer, reason));
    }

    /// Number of such handshakes.
    #[cfg(test)]
    pub(crate) fn failed_handshakes(&self, side: Side, peer: &str, reason: &'static str) -> u64 {
        self.handshake_failures
            .get_or_create(&PeerReasonLabels::new(side, peer, reason))
            .get()
    }

    /// The same for a handshake that was judged, by either end, with a node of the deployment file.
    pub(crate) fn refused(&self, peer: &str, reason: &'static str) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, last) = refusals.entry(peer.to_owned()).or_insert((0, reason));
        *count += 1;
        *last = reason;
    }

    pub(crate) fn refusals(&self) -> BTreeMap<String, (u64, &'static str)> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// An error answered in place of the producer.
    pub(crate) fn problem(&self, side: Side, peer: &str, reason: &'static str) {
        count(&self.problems, &PeerReasonLabels::new(side, peer, reason));
    }

    /// A request sent again.
    pub(crate) fn retry(&self, side: Side, peer: &str, reason: &'static str) {
        count(&self.retries, &PeerReasonLabels::new(side, peer, reason));
    }

    /// Counters of plain text sent to and received from `peer`.
    pub(crate) fn bytes(&self, side: Side, peer: &str) -> (Counter, Counter) {
        let of = |direction| self.bytes.get_or_create_owned(&BytesLabels::new(side, peer, direction));
        (of("sent"), of("received"))
    }

    /// A connection from (outbound) or to (inbound) the network function.
    pub(crate) fn local_connection(&self, side: Side, path: &'static str) {
        count(&self.local_connections, &LocalLabels { side, path });
    }

    /// A client's connection did not end as HTTP/2 wants it.
    pub(crate) fn client_error(&self, side: Side, reason: &'static str) {
        count(&self.client_errors, &ClientErrorLabels { side, reason });
    }

    /// A bound was reached.
    pub(crate) fn limit_reached(&self, limit: &'static str) {
        count(&self.limits_reached, &LimitLabels { limit });
    }

    /// Certificates and policies were read again.
    pub(crate) fn reloaded(&self, result: &'static str) {
        count(&self.reloads, &ResultLabels { result });
    }

    /// Records the state of one of the packet filter's tables.
    pub(crate) fn rules_installed(&self, rules: &'static str, installed: bool) {
        self.rules_installed
            .get_or_create(&RulesLabels { rules })
            .set(installed.into());
    }

    /// Number of requests to (outbound) or from (inbound) `peer` that are under way.
    pub(crate) fn in_flight(&self, side: Side, peer: &str) -> Gauge {
        self.requests_in_flight
            .get_or_create_owned(&SidePeerLabels::new(side, peer))
    }
}

/// 100 us to 5 s: in memory a hybrid handshake takes 0.7 ms, over a slow path with a lost packet a second.
fn count<Labels: Clone + Hash + Eq>(family: &Family<Labels, Counter>, labels: &Labels) {
    family.get_or_create(labels).inc();
}

fn handshake_histogram() -> Histogram {
    Histogram::new([
        0.0001, 0.00025, 0.0005, 0.001, 0.0015, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0,
    ])
}

/// 50 us, a loopback round trip, to 10 s, an AMF's patience.
fn request_histogram() -> Histogram {
    Histogram::new([
        0.00005, 0.0001, 0.00015, 0.0002, 0.0003, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0,
        2.5, 5.0, 10.0,
    ])
}

/// From 2 us: the own share is tens of microseconds, or a handshake where no connection was warm.
fn own_histogram() -> Histogram {
    Histogram::new([
        0.000_002, 0.000_005, 0.000_01, 0.000_02, 0.000_03, 0.000_05, 0.0001, 0.0002, 0.0005, 0.001, 0.0025, 0.005,
        0.01, 0.1, 1.0,
    ])
}
