//! State of a running sidecar that the admin port shows, beyond its counters.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use bartizan_ledger::{Direction, Key, Verdict};
use bartizan_registry::{NamedGroup, Safety, group};
use bartizan_server::contained_panics;
use bartizan_tls::{Flaw, OwnCertificate, Weight};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::admin::paging::Page;
use crate::admin::process::{Process, encode_gauge};
use crate::admin::rules::Rules;
use crate::dialling::session::Session;
use crate::dialling::warm::Kept;
use crate::life::drain::Phase;
use crate::paths::http2::Occupancy;
use crate::shared::Shared;

bartizan_registry::made! {
    /// A running sidecar as its admin port sees it.
    #[derive(Debug)]
    pub(crate) struct State, pub(crate) new(shared: &Arc<Shared>) {
        pub(crate) shared: Arc<Shared> = Arc::clone(shared),
        pools: Mutex<Vec<Arc<Occupancy>>> = Mutex::default(),
        warm_pools: Mutex<Vec<Arc<dyn Kept>>> = Mutex::default(),
        listening: AtomicBool = AtomicBool::new(false),
        pub(crate) rules: Arc<Rules> = Arc::default(),
        /// Configuration in effect, for people to look at.
        config: Mutex<Value> = Mutex::default(),
        /// Cause for which files that have changed are not in effect.
        not_applied: Mutex<Option<String>> = Mutex::default(),
        /// The reason why revocation lists were not fetched the last time.
        not_fetched: Mutex<Option<String>> = Mutex::default(),
    }
}

impl State {
    pub(crate) fn add_pool(&self, pool: &Arc<Occupancy>) {
        self.pools
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Arc::clone(pool));
    }

    pub(crate) fn add_warm_pool(&self, warm_pool: Arc<dyn Kept>) {
        self.warm_pools
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(warm_pool);
    }

    pub(crate) fn listening(&self) {
        self.listening.store(true, Ordering::Release);
    }

    pub(crate) fn set_config(&self, config: Value) {
        *self.config.lock().unwrap_or_else(PoisonError::into_inner) = config;
    }

    pub(crate) fn set_not_applied(&self, cause: Option<String>) {
        *self.not_applied.lock().unwrap_or_else(PoisonError::into_inner) = cause;
    }

    pub(crate) fn set_not_fetched(&self, cause: Option<String>) {
        *self.not_fetched.lock().unwrap_or_else(PoisonError::into_inner) = cause;
    }

    fn not_fetched(&self) -> Option<String> {
        self.not_fetched.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn not_applied(&self) -> Option<String> {
        self.not_applied.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn config(&self) -> Value {
        self.config.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces every ready connection to a peer.
    pub(crate) fn renew(&self) {
        for warm_pool in self.warm_pools.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            warm_pool.renew();
        }
    }

    /// Closes connections that are kept ready and are no longer admitted.
    pub(crate) fn close_dismissed(&self) {
        for warm_pool in self.warm_pools.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            warm_pool.close_dismissed();
        }
    }

    /// Closes every ready connection.
    pub(crate) fn close(&self) {
        for warm_pool in self.warm_pools.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            warm_pool.close();
        }
    }

    /// Returns `Ok` if traffic may be sent here, else the reason.
    pub(crate) fn ready(&self) -> Result<(), String> {
        if !self.listening.load(Ordering::Acquire) {
            Err("starting".to_owned())
        } else if self.shared.drain.phase() != Phase::Running {
            Err("draining".to_owned())
        } else if let Some(listener) = self.shared.failed_listener.get() {
            Err(format!("{listener}: nothing is accepted; the log has the cause"))
        } else if let Some(flaw) = self.hopeless() {
            Err(format!("{}: {}", flaw.place, flaw.cause))
        } else {
            self.rules.ready().map_err(str::to_owned)
        }
    }

    /// Lines that follow where traffic may be sent here: certificates with which no handshake
    /// succeeds while another one serves, revocation lists that were refused as newer ones stay in
    /// effect, files that have changed and are not in effect, and lists that could not be fetched.
    pub(crate) fn remarks(&self) -> String {
        let endpoint = self.shared.endpoint.endpoint();
        let flaws = endpoint
            .flaws()
            .into_iter()
            .filter(|flaw| flaw.weight == Weight::Partial);
        let flaws = flaws.map(|flaw| format!("{}: {}\n", flaw.place, flaw.cause));
        let older = endpoint.credentials().older_lists().iter();
        let not_applied = self.not_applied().into_iter();
        let not_applied = not_applied.map(|cause| format!("files that have changed are not in effect: {cause}\n"));
        let not_fetched = self.not_fetched().into_iter();
        let not_fetched = not_fetched.map(|cause| format!("revocation lists are not fetched: {cause}\n"));
        flaws
            .chain(older.map(|older| format!("the file of revocation lists {older}\n")))
            .chain(not_applied)
            .chain(not_fetched)
            .collect()
    }

    /// A flaw of this node's own files that keeps every handshake from succeeding.
    fn hopeless(&self) -> Option<Flaw> {
        let current = &self.shared.endpoint;
        let accepted = |open: &Arc<Session>| open.is_admitted() && !open.is_dismissed();
        let shown = || current.has_succeeded() || self.shared.sessions.list().iter().any(accepted);
        current.endpoint().flaws().into_iter().find(|flaw| match flaw.weight {
            Weight::Fatal => true,
            Weight::FatalAmongEquals => !shown(),
            Weight::Partial | Weight::Warning => false,
        })
    }

    /// A page of the established TLS connections with what they negotiated; on the first one every
    /// SCTP association that is carried.
    pub(crate) fn connections(&self, page: Page) -> Value {
        let Page { from, limit } = page;
        let (sessions, next) = self.shared.sessions.page(from, limit);
        let connections: Vec<_> = sessions.iter().map(|session| describe(session)).collect();
        let mut shown = json!({
            "node": self.shared.node.as_str(),
            "open": self.shared.sessions.count(),
            "connections": connections,
            "next": next.map(|next| format!("/connections?from={next}&limit={limit}")),
        });
        if from == 0 {
            shown["associations"] = self.shared.associations.describe().into();
        }
        shown
    }

    /// Report for an operator of many nodes: links with the parameters that their open connections
    /// negotiated, refused handshakes, and the state of the ledger. It grows with the peers of the
    /// file, and not with connections.
    pub(crate) fn links(&self) -> Value {
        let mut links: BTreeMap<(String, &'static str), [u64; 3]> = BTreeMap::new();
        for session in self.shared.sessions.list() {
            let at = (session.peer.to_string(), session.leg.interface.name());
            let [connections, excepted, classical] = links.entry(at).or_default();
            *connections += 1;
            *excepted += u64::from(matches!(session.verdict, Verdict::Excepted { .. }));
            *classical += u64::from(!is_quantum_safe(session.negotiated.group.code));
        }
        let links: Vec<_> = links
            .into_iter()
            .map(|((peer, interface), [connections, excepted, classical])| {
                json!({
                    "peer": peer, "interface": interface, "connections": connections, "excepted": excepted, "classical": classical,
                })
            })
            .collect();
        let refused = self.shared.metrics.refusals().into_iter();
        let refused: Vec<_> = refused
            .map(|(peer, (handshakes, reason))| json!({ "peer": peer, "handshakes": handshakes, "reason": reason }))
            .collect();
        json!({
            "node": self.shared.node.as_str(),
            "links": links,
            "refused": refused,
            "ledger_lost": self.shared.recorder.lost(),
        })
    }
}

/// Returns true if today's recordings with this group stay secret, by the registry.
fn is_quantum_safe(code: u16) -> bool {
    group(NamedGroup(code)).is_some_and(|known| known.recording == Safety::QuantumSafe)
}

fn describe(session: &Session) -> Value {
    let direction = match session.leg.direction {
        Direction::Inbound => "inbound",
        Direction::Outbound => "outbound",
    };
    let client_random = session.key.and_then(|key| match key {
        Key::Tls { client_random } => Some(client_random),
        Key::Ike { .. } => None,
    });
    let negotiated = &session.negotiated;
    let name = |code: &Option<bartizan_ledger::Code>| code.as_ref().map(|code| code.name.clone());
    let bytes = session.bytes();
    json!({
        "peer": session.peer.as_str(),
        "interface": session.leg.interface.name(),
        "direction": direction,
        "path": session.leg.path.name(),
        "local_address": session.leg.local_address,
        "peer_address": session.leg.peer_address,
        "since": OffsetDateTime::from(session.since).format(&Rfc3339).ok(),
        "version": negotiated.version,
        "group": negotiated.group.name,
        "cipher": negotiated.cipher.name,
        "local_signature": name(&negotiated.local_signature),
        "peer_signature": name(&negotiated.peer_signature),
        "resumed": negotiated.resumed,
        "hello_retry": negotiated.hello_retry,
        "verdict": match &session.verdict {
            Verdict::Accepted => json!("accepted"),
            Verdict::Excepted { reason } => json!({ "excepted": reason }),
            Verdict::Refused { reason, .. } => json!({ "refused": reason }),
        },
        "peer_certificate": session.leaf.as_ref().map(|leaf| json!({
            "subject": leaf.subject, "serial": leaf.serial, "names": leaf.names, "not_after": leaf.not_after,
        })),
        "requests": session.requests(),
        "bytes_sent": bytes.sent,
        "bytes_received": bytes.received,
        "client_random": client_random,
    })
}

impl Collector for State {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        Process.encode_into(&mut encoder)?;
        let endpoint = self.shared.endpoint.endpoint();
        let own = endpoint.credentials().own().iter();
        let chains: BTreeMap<_, _> = own
            .flat_map(OwnCertificate::chain)
            .map(|one| ((one.subject.as_str(), one.serial.as_str()), one.not_after))
            .collect();
        let mut metric = encoder.encode_descriptor(
            "bartizan_sidecar_certificate_not_after_seconds",
            "When each certificate of this node's chains ends, in seconds since 1970",
            None,
            MetricType::Gauge,
        )?;
        // Chains may share a certificate, and a label set may be given once.
        for ((subject, serial), not_after) in chains {
            let labels = [("subject", subject), ("serial", serial)];
            ConstGauge::new(not_after).encode(metric.encode_family(&labels)?)?;
        }
        let mut metric = encoder.encode_descriptor(
            "bartizan_sidecar_connections",
            "Established TLS connections",
            None,
            MetricType::Gauge,
        )?;
        let mut open = BTreeMap::new();
        for session in self.shared.sessions.list() {
            let side = crate::metrics::Side::from(session.leg.direction).as_str();
            *open
                .entry((side, session.peer.clone(), session.leg.path.name()))
                .or_insert(0_i64) += 1;
        }
        for ((side, peer, path), count) in &open {
            let labels = [("side", *side), ("peer", peer.as_str()), ("path", *path)];
            ConstGauge::new(*count).encode(metric.encode_family(&labels)?)?;
        }
        let mut metric = encoder.encode_descriptor(
            "bartizan_sidecar_association_ends_seconds",
            "When the first SCTP association with a peer ends unless it moves to another connection, in seconds since 1970",
            None,
            MetricType::Gauge,
        )?;
        for ((side, peer), ends) in self.shared.associations.ends() {
            let labels = [("side", side), ("peer", peer.as_str())];
            ConstGauge::new(ends).encode(metric.encode_family(&labels)?)?;
        }
        self.encode_workers(&mut encoder)?;
        self.encode_pools(&mut encoder)?;
        let metric = encoder.encode_descriptor(
            "bartizan_sidecar_ledger_lost",
            "Ledger records that could not be written",
            None,
            MetricType::Counter,
        )?;
        ConstCounter::new(self.shared.recorder.lost()).encode(metric)?;
        let metric = encoder.encode_descriptor(
            "bartizan_sidecar_panics",
            "Connections that a fault of the program ended; a panic of anything else ends the process",
            None,
            MetricType::Counter,
        )?;
        ConstCounter::new(contained_panics()).encode(metric)?;
        let older = u32::try_from(endpoint.credentials().older_lists().len()).unwrap_or(u32::MAX);
        encode_gauge(
            &mut encoder,
            "bartizan_sidecar_older_revocation_lists",
            "Revocation lists of the node's file that are refused, as newer ones were seen before",
            older.into(),
        )?;
        encode_gauge(
            &mut encoder,
            "bartizan_sidecar_reload_pending",
            "1 while files that have changed are not in effect, as their reload failed",
            if self.not_applied().is_some() { 1.0 } else { 0.0 },
        )?;
        encode_gauge(
            &mut encoder,
            "bartizan_sidecar_revocation_lists_not_fetched",
            "1 while revocation lists could not be fetched the last time: those of the file stay in effect",
            if self.not_fetched().is_some() { 1.0 } else { 0.0 },
        )?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let left = |end: Option<SystemTime>| match end.map(|end| end.duration_since(UNIX_EPOCH)) {
            Some(Ok(end)) => end.as_secs_f64() - now.as_secs_f64(),
            _ => 0.0,
        };
        let due = endpoint.credentials().revocation_due();
        if due.is_some() {
            encode_gauge(
                &mut encoder,
                "bartizan_sidecar_revocation_list_left_seconds",
                "Until the first revocation list has to be replaced; negative afterwards",
                left(due),
            )?;
        }
        encode_gauge(
            &mut encoder,
            "bartizan_sidecar_certificate_left_seconds",
            "Until the first certificate in use ends; negative afterwards",
            left(endpoint.in_use().map(OwnCertificate::not_after).min()),
        )
    }
}

impl State {
    fn encode_workers(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let mut metric = encoder.encode_descriptor(
            "bartizan_sidecar_worker_connections",
            "Connections of peers and of the network function that each worker serves",
            None,
            MetricType::Gauge,
        )?;
        for (worker, connections) in self.shared.workers.spread.connections().into_iter().enumerate() {
            let connections = i64::try_from(connections).unwrap_or(i64::MAX);
            ConstGauge::new(connections).encode(metric.encode_family(&[("worker", worker.to_string())])?)?;
        }
        Ok(())
    }

    fn encode_pools(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let mut metric = encoder.encode_descriptor(
            "bartizan_sidecar_pool_connections",
            "HTTP/2 connections open in the pool of a target",
            None,
            MetricType::Gauge,
        )?;
        // A peer may have several listeners, and a label set may be given once.
        let mut occupied = BTreeMap::new();
        for pool in pools.iter() {
            let of_target: &mut (usize, usize) = occupied.entry(pool.target.clone()).or_default();
            of_target.0 += pool.connections();
            of_target.1 += pool.streams();
        }
        for (target, (connections, _)) in &occupied {
            let open = i64::try_from(*connections).unwrap_or(i64::MAX);
            ConstGauge::new(open).encode(metric.encode_family(&[("target", target.as_str())])?)?;
        }
        let mut metric = encoder.encode_descriptor(
            "bartizan_sidecar_pool_streams",
            "Requests under way on the connections of a pool",
            None,
            MetricType::Gauge,
        )?;
        for (target, (_, streams)) in &occupied {
            let streams = i64::try_from(*streams).unwrap_or(i64::MAX);
            ConstGauge::new(streams).encode(metric.encode_family(&[("target", target.as_str())])?)?;
        }
        let mut metric = encoder.encode_descriptor(
            "bartizan_sidecar_ready_connections",
            "Connections dialled ahead for the splice path and not used yet",
            None,
            MetricType::Gauge,
        )?;
        let mut ready = BTreeMap::new();
        let warm_pools = self.warm_pools.lock().unwrap_or_else(PoisonError::into_inner);
        for warm_pool in warm_pools.iter() {
            *ready.entry(warm_pool.peer()).or_insert(0) += warm_pool.ready();
        }
        for (peer, ready) in ready {
            let ready = i64::try_from(ready).unwrap_or(i64::MAX);
            ConstGauge::new(ready).encode(metric.encode_family(&[("peer", peer)])?)?;
        }
        Ok(())
    }
}
