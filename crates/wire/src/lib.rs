//! Sans-IO readers: bytes and a time in, what they say out.
//!
//! The crate opens no file and no socket and reads no clock. A caller feeds the bytes of a capture to a
//! [`CaptureReader`], each [`Packet`] it gives to an [`Observer`], and receives each [`Connection`] when it ends:
//!
//! ```
//! # fn read(pieces: impl Iterator<Item = Vec<u8>>) -> Result<(), bartizan_wire::CaptureError> {
//! use bartizan_wire::{CaptureReader, Limits, Observer};
//!
//! let mut capture = CaptureReader::new();
//! let mut observer = Observer::new(Limits::default());
//! let mut ended = |connection| println!("{connection:?}");
//! for piece in pieces {
//!     capture.push(&piece);
//!     while let Some(packet) = capture.next_packet()? {
//!         observer.packet(&packet, &mut ended);
//!     }
//! }
//! observer.finish(&mut ended);
//! capture.finish()
//! # }
//! ```
//!
//! Layers, outermost first: [`capture`] (pcap, pcapng), [`link`], [`ip`], [`tcp`] (segments, reassembly), and what TCP
//! carries: [`tls`], and [`http2`], told apart by [`opening`]. Everything a stranger can choose (lengths, counts,
//! order) is bounded; what a bound drops is counted and said. Code points nobody knows are kept as the numbers they
//! are.
#![forbid(unsafe_code)]

pub mod capture;
mod connection;
mod cursor;
pub mod http2;
pub mod ip;
pub mod link;
mod moment;
mod observer;
pub mod opening;
pub mod tcp;
pub mod tls;

pub use capture::{CaptureError, CaptureReader, Packet};
pub use connection::{Connection, Content, Ending, Roles, Side, Start, Traffic};
pub use moment::{Moment, Seen, Timestamp};
pub use observer::{Limits, Observer, Totals, Unread};
