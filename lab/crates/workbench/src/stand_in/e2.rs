//! E2 between nodes of a RAN and a near-real-time RIC: what one node and its RIC said in a
//! recording, played again over the kernel's SCTP at the scale that is asked for, clear or
//! protected by ESP.
//!
//! [`exchange`] is the recording, [`script`] what it becomes at a scale. [`node`] and [`ric`] are
//! the two ends without sockets and without a clock; [`mod@play`] gives them both.
//! [`link`](mod@link) is the cable between two namespaces they meet on, [`protection`] what is set
//! up on it, [`ike`] the two charons that key it where that is asked.

pub mod exchange;
pub mod frames;
pub mod ike;
pub mod link;
pub mod node;
pub mod play;
pub mod protection;
pub mod ric;
pub mod script;
pub mod synthetic;
mod turns;

pub use exchange::{End, Exchange, Procedure};
pub use ike::Ike;
pub use link::Link;
pub use play::{Played, play};
pub use protection::{Protection, Selector};
pub use script::{Load, Script};
