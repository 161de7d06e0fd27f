//! Requests by pair and service, with everything a request touches looked up beforehand.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::Metrics;
use super::labels::{RequestLabels, ServiceLabels, Side};
use crate::dialling::session::Session;
use crate::traces::{Hop, Span};

/// More services than this on one pair are counted together as `other`: Release 18 has some sixty in the whole core, and a
/// client that makes up paths must not fill the memory.
const SERVICES_AT_MOST: usize = 64;
/// The longest service name kept, in bytes; the longest of TS 29.501 is half of it.
const SERVICE_BYTES_AT_MOST: usize = 64;

bartizan_registry::made! {
    /// Requests of one pair of network functions.
    #[derive(Debug)]
    pub(crate) struct Requests, pub(crate) new(metrics: &Metrics, side: Side, consumer: &str, producer: &str) {
        let peer = match side {
            Side::Inbound => consumer,
            Side::Outbound => producer,
        };
        metrics: Metrics = metrics.clone(),
        side: Side,
        consumer: String = consumer.to_owned(),
        producer: String = producer.to_owned(),
        services: Mutex<HashMap<Box<str>, Arc<Service>>> = Mutex::default(),
        in_flight: Gauge = metrics.in_flight(side, peer),
    }
}

/// Requests of one pair for one service.
#[derive(Debug)]
struct Service {
    labels: Arc<ServiceLabels>,
    statuses: Mutex<Vec<(Outcome, Counter)>>,
    requests: Family<RequestLabels, Counter>,
    total: Histogram,
    own: Histogram,
    in_flight: Gauge,
}

/// Outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With this status code, from the producer or from a sidecar.
    Status(u16),
    /// The consumer's side reset the stream or closed its connection.
    ConsumerReset,
    /// The producer's side reset the stream.
    ProducerReset,
    /// A connection broke after the head of the response.
    Broken,
    /// The consumer did not take the response.
    Stalled,
}

/// One request under way; counted when dropped, as [`Outcome::ConsumerReset`] where no other outcome was set.
///
/// The sidecar's own share is the time from the head read to the request handed on, and from the response's head arrived to the
/// same handed back. Waiting for a connection counts as own, because a request that finds a warm one does not wait.
#[derive(Debug)]
pub(crate) struct Account {
    service: Arc<Service>,
    began: Instant,
    handed: Option<Instant>,
    arrived: Option<Instant>,
    answered: Option<Instant>,
    outcome: Outcome,
    /// Its span, where a tracer or its trace asks for one.
    hop: Option<Box<Hop>>,
}

impl Requests {
    /// The head of a request for `path` has been read.
    pub(crate) fn begin(&self, path: &str) -> Account {
        let began = Instant::now();
        self.in_flight.inc();
        Account {
            service: self.service(service_of(path)),
            began,
            handed: None,
            arrived: None,
            answered: None,
            outcome: Outcome::ConsumerReset,
            hop: None,
        }
    }

    fn service(&self, name: &str) -> Arc<Service> {
        let mut services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(service) = services.get(name) {
            return Arc::clone(service);
        }
        let name = if services.len() < SERVICES_AT_MOST {
            name
        } else {
            "other"
        };
        let service = services.entry(name.into()).or_insert_with(|| {
            let labels = Arc::new(ServiceLabels {
                side: self.side,
                consumer: self.consumer.clone(),
                producer: self.producer.clone(),
                service: name.to_owned(),
            });
            Arc::new(Service {
                requests: self.metrics.requests.clone(),
                total: self.metrics.request_seconds.get_or_create_owned(&labels),
                own: self.metrics.request_own_seconds.get_or_create_owned(&labels),
                in_flight: self.in_flight.clone(),
                statuses: Mutex::default(),
                labels,
            })
        });
        Arc::clone(service)
    }
}

impl Account {
    /// Has the request have a span, which came by this connection over TLS if by any.
    pub(crate) fn traced(&mut self, mut hop: Box<Hop>, session: Option<&Session>) {
        session.into_iter().for_each(|session| hop.carried_by(session));
        self.hop = Some(hop);
    }

    /// The request was handed to the connection that carries it on; `session` where that is over TLS.
    pub(crate) fn handed(&mut self, session: Option<&Session>) {
        self.handed = Some(Instant::now());
        if let Some(hop) = &mut self.hop {
            hop.handed();
            session.into_iter().for_each(|session| hop.carried_by(session));
        }
    }

    /// It is answered in place of the producer, for this reason.
    pub(crate) fn answered_in_place(&mut self, status: u16, reason: &'static str) {
        self.ended(Outcome::Status(status));
        if let Some(hop) = &mut self.hop {
            hop.answered_in_place(reason);
        }
    }

    /// The head of the response arrived.
    pub(crate) fn arrived(&mut self) {
        self.arrived = Some(Instant::now());
    }

    /// That head, with what had arrived of the body, was handed back.
    pub(crate) fn answered(&mut self) {
        self.answered = Some(Instant::now());
    }

    pub(crate) fn ended(&mut self, outcome: Outcome) {
        self.outcome = outcome;
    }

    /// Time that the sidecar itself took for the request, and for the response.
    fn own(&self, ended: Instant) -> [Duration; 2] {
        let to = self.handed.unwrap_or(ended).saturating_duration_since(self.began);
        let back = match (self.arrived, self.answered) {
            (Some(arrived), Some(answered)) => answered.saturating_duration_since(arrived),
            _ => Duration::ZERO,
        };
        [to, back]
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let ended = Instant::now();
        self.service.in_flight.dec();
        self.service.count(self.outcome);
        let total = ended.saturating_duration_since(self.began);
        self.service.total.observe(total.as_secs_f64());
        let own = self.own(ended);
        self.service.own.observe(own.iter().sum::<Duration>().as_secs_f64());
        if let Some(hop) = self.hop.take() {
            (*hop).end(|hop| Span {
                hop,
                labels: Arc::clone(&self.service.labels),
                outcome: self.outcome,
                total,
                own,
            });
        }
    }
}

impl Service {
    fn count(&self, outcome: Outcome) {
        let mut statuses = self.statuses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, counter)) = statuses.iter().find(|(known, _)| *known == outcome) {
            counter.inc();
            return;
        }
        let labels = RequestLabels::of(&self.labels, outcome.label());
        let counter = self.requests.get_or_create_owned(&labels);
        counter.inc();
        statuses.push((outcome, counter));
    }
}

impl Outcome {
    pub(crate) fn label(self) -> String {
        match self {
            Self::Status(status) => status.to_string(),
            Self::ConsumerReset => "consumer-reset".to_owned(),
            Self::ProducerReset => "producer-reset".to_owned(),
            Self::Broken => "broken".to_owned(),
            Self::Stalled => "stalled".to_owned(),
        }
    }
}

/// The service of a request: the first segment of its path, as `nnrf-nfm` in `/nnrf-nfm/v1/nf-instances` (TS 29.501, clause
/// 4.4.1). `none` where there is none, `other` where it could not be a service's name.
fn service_of(path: &str) -> &str {
    let path = path.strip_prefix('/').unwrap_or(path);
    let end = path.find(['/', '?', '#']).unwrap_or(path.len());
    let service = &path[..end];
    if service.is_empty() {
        "none"
    } else if service.len() <= SERVICE_BYTES_AT_MOST
        && service
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    {
        service
    } else {
        "other"
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_service_is_the_first_segment_of_the_path() {
        assert_eq!(service_of("/nnrf-nfm/v1/nf-instances"), "nnrf-nfm");
        assert_eq!(service_of("/nnrf-disc/v1/nf-instances?x=/y"), "nnrf-disc");
        assert_eq!(service_of("/oauth2/token"), "oauth2");
        assert_eq!(service_of("/?a"), "none");
        assert_eq!(service_of("*"), "other");
    }

    #[test]
    fn a_client_that_makes_up_services_fills_no_memory() {
        let mut registry = prometheus_client::registry::Registry::default();
        let metrics = Metrics::new(&mut registry, "0", "none");
        let requests = Requests::new(&metrics, Side::Outbound, "amf", "nrf");
        for number in 0..1000 {
            requests.begin(&format!("/n{number}/v1")).ended(Outcome::Status(200));
        }
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        let counted: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("bartizan_sidecar_requests_total"))
            .collect();
        assert_eq!(counted.len(), SERVICES_AT_MOST + 1);
        assert!(
            counted
                .iter()
                .any(|line| line.contains("service=\"other\"") && line.ends_with(" 936"))
        );
    }

    proptest! {
        #[test]
        fn any_path_gives_a_short_plain_service(path in ".{0,200}") {
            let service = service_of(&path);
            prop_assert!(!service.is_empty() && service.len() <= SERVICE_BYTES_AT_MOST);
            prop_assert!(service.bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }
}
