//! The kernel's MACsec by netlink: devices, channels, associations, and what they count.

mod codes;
mod link;
mod secy;
mod state;

pub use bartizan_host::Interface;
pub(crate) use codes::FAMILY;
pub use link::{ethernet_address, interface, set_up, under};
#[cfg(test)]
pub(crate) use secy::REFUSED;
pub use secy::{Confidentiality, Replay, SecY, Settings};
pub use state::{ChannelState, Counters, SaState, State};
