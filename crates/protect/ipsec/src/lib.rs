//! IKEv2 and ESP links: an IKE daemon, strongSwan's or [our own](daemon), driven and watched through VICI. [`xfrm`] gives the kernel what ours
//! negotiates.
#![forbid(unsafe_code)]

mod charon;
pub mod daemon;
pub mod drive;
pub mod drops;
pub mod guard;
mod instance;
pub mod judge;
pub mod lint;
mod metrics;
pub mod proposal;
pub mod render;
mod reqid;
pub mod sa;
mod selector;
pub mod swanctl;
mod traffic;
pub mod userspace;
pub mod vici;
pub mod watch;
pub mod xfrm;

pub use charon::{Charon, OwnEsp};
pub use instance::{Engine, Instance, Kernel, Settings, StartError};
pub use metrics::Metrics;
pub use selector::TrafficSelector;
