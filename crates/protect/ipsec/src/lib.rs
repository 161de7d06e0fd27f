//! IKEv2 and ESP links: an IKE daemon, strongSwan's or that of `bartizan-engine`, driven and watched
//! through VICI. [`xfrm`] has the kernel's SAs, which that engine installs.
#![forbid(unsafe_code)]

mod charon;
mod device;
pub mod drive;
pub mod drops;
mod echo;
pub mod guard;
mod instance;
pub mod judge;
pub mod lint;
mod metrics;
pub mod offload;
pub mod proposal;
pub mod render;
mod reqid;
pub mod sa;
mod selector;
pub mod swanctl;
mod traffic;
pub mod vici;
pub mod watch;
pub mod xfrm;

pub use charon::{BARTIZAN, Charon, OwnEsp, USERSPACE};
pub use device::device_name;
pub use echo::{Echo, InKernel};
pub use instance::{Engine, Instance, Kernel, Settings, StartError};
pub use metrics::Metrics;
pub use reqid::fingerprint;
pub use selector::TrafficSelector;
