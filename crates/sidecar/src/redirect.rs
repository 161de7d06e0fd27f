//! The transparent way in: what a network function sends to its peers' real addresses is led to its own sidecar.
//!
//! An NRF hands out producers' own addresses, so consumers call producers directly. Three mechanisms of the host's kernel, each
//! able to stop clear bytes without the others, keep that from going round the sidecar:
//!
//! 1. the table `inet bartizan-redirect` rewrites the destination to the sidecar's transparent listener; the sidecar reads the
//!    original one with [`original_destination`];
//! 2. the table `inet bartizan-guard` refuses what goes to a peer's function in clear all the same, whoever sends it;
//! 3. the fence, policy routing outside nftables, has no way out of the host for it.
//!
//! [`Plan::new`] derives them from the deployment file before anything is written. `docs/redirect.md` says what each one holds
//! against and what none does.

mod destination;
mod error;
pub mod fence;
mod nft;
mod plan;
mod probe;
mod program;
mod ruleset;
mod watch;

pub use destination::original_destination;
pub use error::Error;
pub use nft::{Standing, Tables, install, remove, standing};
pub use plan::{Bystander, Plan, Service};
pub(crate) use probe::listener as probed;
pub use probe::{Probed, is_probe, probe};
pub use watch::{EVERY, watch};

#[cfg(test)]
mod tests;
