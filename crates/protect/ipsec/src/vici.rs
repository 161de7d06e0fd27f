//! VICI, the control protocol of strongSwan: a tree of values, its packets and their framing.
//!
//! The codec is sans-IO: bytes in, values out. The protocol is described in `src/libcharon/plugins/vici/README.md` of strongSwan;
//! its numbers belong to that protocol alone and stand next to the code that reads them.

mod client;
mod error;
mod frame;
mod message;
mod packet;
mod section;

pub use client::{Client, Event};
pub use error::Error;
pub use frame::{Frames, LARGEST_PACKET, framed};
pub use message::{Malformed, TooLong};
pub use packet::Packet;
pub use section::{Section, Value};

/// A VICI message: the section that has no name.
pub type Message = Section;
