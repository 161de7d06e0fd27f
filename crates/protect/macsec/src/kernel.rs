//! The kernel's MACsec by netlink: devices, channels, associations, and what they count.

mod codes;
mod link;
mod secy;
mod state;

pub use link::Interface;
#[cfg(test)]
pub(crate) use secy::REFUSED;
pub use secy::{Confidentiality, Replay, SecY, Settings};
pub use state::{ChannelState, Counters, SaState, State};
