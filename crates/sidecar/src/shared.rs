//! What all connections of a sidecar share.

use bartizan_deployment::{Limits, NodeName};
use bartizan_ledger::Recorder;
use bartizan_tls::Endpoint;

use crate::complaint::Complaints;
use crate::drain::Drain;
use crate::metrics::Metrics;
use crate::session::Sessions;
use crate::ticks::Ticks;

/// What all connections of a sidecar share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// The node this sidecar stands beside.
    pub(crate) node: NodeName,
    pub(crate) endpoint: Endpoint,
    pub(crate) limits: Limits,
    pub(crate) metrics: Metrics,
    pub(crate) sessions: Sessions,
    pub(crate) recorder: Recorder,
    pub(crate) drain: Drain,
    pub(crate) complaints: Complaints,
    pub(crate) ticks: Ticks,
}
