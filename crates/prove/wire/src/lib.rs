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
//! A [`Sink`] given to [`Observer::observe`] receives more than connections: SCTP associations,
//! IKE_SAs and ESP security associations.
//!
//! Layers, outermost first: [`capture`] (pcap, pcapng), [`link`], tags and tunnels (a [`path`]),
//! [`ip`] (with fragments), and then [`tcp`] (segments, reassembly) with [`tls`], [`http2`],
//! [`http1`], [`ssh`] and [`plaintext`], distinguished by [`opening`], behind a [`proxy`] too;
//! [`sctp`] with [`dtls`] in it; [`udp`] with [`ike`], [`quic`], [`dtls`] and [`datagrams`];
//! [`esp`]; frames without IP between stations with [`eap`] and [`mka`] in [`eapol`], and
//! [`macsec`]. Packets that no reader claims are [`datagrams`] between their ends: each packet
//! belongs to something that has a name. With [`keys`], the traffic that they decrypt is read as
//! well. Everything an unauthenticated peer can choose (lengths, counts, order) is bounded; every
//! drop at a bound is counted and reported. Unknown code points are kept as numbers.
#![forbid(unsafe_code)]

mod allocation;
mod application;
pub mod blocks;
pub mod capture;
pub mod checksum;
mod connection;
mod cursor;
pub mod datagrams;
mod decapsulation;
pub mod dtls;
pub mod eap;
pub mod eapol;
mod end;
pub mod esp;
pub mod exposed;
pub mod frames;
mod housekeeping;
pub mod http1;
pub mod http2;
pub mod ike;
pub mod ip;
pub mod keys;
pub mod link;
pub mod macsec;
pub mod mka;
mod moment;
mod nonce;
mod observer;
pub mod opening;
pub mod path;
pub mod plaintext;
pub mod proxy;
pub mod quic;
pub mod reduce;
pub mod sctp;
mod share;
mod side;
mod spread;
pub mod ssh;
pub mod tcp;
pub mod timing;
pub mod tls;
pub mod udp;
pub mod work;

pub use capture::{CaptureError, CapturePart, CaptureReader, Packet};
pub use connection::{Captured, Connection, Content, Ending, Roles, Traffic};
pub use decapsulation::Mark;
pub use end::{Address, End};
pub use ip::FragmentLimits;
pub use moment::{Moment, Seen, Timestamp};
pub use nonce::Reuse;
pub use observer::{Before, FlowKind, Holding, Limits, Observer, Omission, Omitted, Sink, Totals, Unread};
pub use share::NotAKey;
pub use side::{Side, Start};
