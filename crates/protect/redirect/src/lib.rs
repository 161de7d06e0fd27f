//! Transparent redirection: traffic of a network function to its peers' real addresses is led to its
//! own sidecar.
//!
//! An NRF hands out producers' own addresses, so consumers call producers directly. Three mechanisms
//! of the host's kernel keep that from bypassing the sidecar:
//!
//! 1. the table `inet bartizan-redirect` rewrites the destination to the sidecar's transparent
//!    listener; the sidecar reads the original one with [`original_destination`];
//! 2. the table `inet bartizan-guard` refuses unencrypted traffic to a peer's function, from every
//!    sender, and unencrypted traffic that reaches the own one;
//! 3. the fence, outside nftables, has no way out of the host for either: it stops the bytes when
//!    all of nftables is flushed.
//!
//! [`Plan::new`] derives them from the deployment file before anything is written.
//! `docs/redirect.md` lists the limits of each one and of all together.
#![forbid(unsafe_code)]

mod destination;
mod earlier;
mod error;
mod fence;
mod gateway;
mod installed;
mod plan;
mod probe;
mod rules_monitor;
mod ruleset;
mod strict;
mod unprotected_peer;
mod watch;

pub use destination::original_destination;
pub use earlier::Earlier;
pub use error::Error;
pub use gateway::Association;
pub use installed::{Installed, Options, Part, RuleState, Tables, is_strict, remove};
pub use plan::{Plan, Service};
pub use probe::{Probed, is_probe, listener as probed, probe};
pub use rules_monitor::RulesMonitor;
pub use strict::Refused;
pub use unprotected_peer::UnprotectedPeer;
pub use watch::{EVERY, watch};

#[cfg(test)]
mod tests;
