//! A small NRF, in the shapes of TS 29.510: what the workloads register with, ask and report to
//! where no other is named.
//!
//! NF management (register, replace, update by JSON Patch, retrieve, list, deregister) and
//! discovery by type, service and instance. No subscriptions, no access tokens, no timers: an
//! instance stays until it is deregistered. Everything but the sockets ([`serve`]) is a pure
//! function of what was asked before.

mod answer;
mod discovery;
mod patch;
mod profile;
mod registry;
mod serve;

pub use answer::{Answer, Asked};
pub use registry::Registry;
pub use serve::{Manner, serve};

/// Seconds between heart-beats that a registered instance receives (`heartBeatTimer`), where it
/// does not ask for others.
pub const HEART_BEAT_TIMER: u64 = 60;
/// Seconds for which a search result may be kept (`validityPeriod`).
pub const VALIDITY_PERIOD: u64 = 100;
/// Path prefix of NF management (clause 6.1).
pub const MANAGEMENT: &str = "/nnrf-nfm/v1/nf-instances";
/// Path prefix of discovery (clause 6.2).
pub const DISCOVERY: &str = "/nnrf-disc/v1/nf-instances";
/// Bytes of a request's body that are read; a profile has one or two thousand.
pub const LARGEST_BODY: usize = 1 << 20;
