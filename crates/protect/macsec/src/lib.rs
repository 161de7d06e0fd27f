//! MACsec links (IEEE 802.1AE): the kernel's own, keyed by a post-quantum exchange between both ends over the link itself.
#![forbid(unsafe_code)]

mod association;
mod boot;
pub mod control;
mod controller;
pub mod derive;
pub mod eap;
mod error;
pub mod guard;
pub mod kernel;
pub mod link;
pub mod message;
pub mod mka;
pub mod schedule;
pub mod segment;
pub mod session;
pub mod stream;
mod tls;

pub use association::{An, KeyId, Sak, Sci};
pub use controller::Controller;
pub use error::Error;
