//! From evidence to verdicts.
//!
//! [`Evidence`] is a connection that packets showed, joined with what ledgers say of it; only those two can make it.
//! From it comes a [`Posture`]: six questions with one of four answers each, and two verdicts that are never merged:
//! *confidentiality* against an attacker that records today and has a quantum computer later, and
//! *authenticity* against one that forges with it. Unseen is not safe: "not observable" and "not
//! seen" are answers.
//!
//! An SCTP association is judged by [`association_posture`], a protocol over UDP by [`datagrams_posture`]; IKE_SAs and ESP are judged together, by [`Ipsec`].
//!
//! [`Links`] gathers all of these into links between hosts, or between the nodes of a deployment file, each of one
//! interface.
//!
//! The crate does no I/O and reads no clock.
#![forbid(unsafe_code)]

mod alike;
mod answer;
mod authenticity;
mod by_address;
mod confidentiality;
mod datagrams;
mod dtls;
mod esp;
mod established;
mod evidence;
mod hole;
mod ike;
mod ike_opened;
mod interface;
mod ipsec;
mod key_exchange;
mod keying;
mod kind;
mod ledgers;
mod link;
mod negotiation;
mod port;
mod proxy;
mod questions;
mod quic;
mod recorded;
mod requests;
mod sctp;
mod span;
mod spread;
mod ssh;

pub use answer::{Answer, Founded, Judged, Judgement, Reply, Source, Verdict};
pub use datagrams::datagrams_posture;
pub use evidence::{Contradiction, Evidence, Posture};
pub use hole::{Hole, HoleKind};
pub use interface::{Hint, Interface};
pub use ipsec::{Ipsec, JudgedEspSa, JudgedIkeSa, JudgedIpsec};
pub use key_exchange::KeyExchangeClass;
pub use kind::Kind;
pub use ledgers::{Counted, Ledgers};
pub use link::{Carrier, Concern, Direction, Link, LinkEnd, Links, Listing, Network, Objection, Occasion, Part, Phase};
pub use sctp::association_posture;
