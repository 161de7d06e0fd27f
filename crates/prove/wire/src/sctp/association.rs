//! An association as packets showed it.

use std::net::{IpAddr, SocketAddr};

use super::{Dtls, Sent};
use crate::exposed::Sightings;
use crate::path::Path;
use crate::ssh::Ssh;
use crate::{Captured, Ending, Moment};

/// The part of an association's beginning in the capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Begun {
    /// Its INIT.
    Init,
    /// It was already there.
    Midstream,
}

/// Evidence for the end that began an association.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Roles {
    /// It sent INIT.
    Init,
    /// By the lower port number: a guess, and none where both ports are the same.
    Port,
}

/// Something that happened in an association. `from` is 0 for the initiator, 1 for the responder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A whole user message.
    Message {
        /// Sender.
        from: usize,
        /// Stream.
        stream: u16,
        /// Payload protocol identifier, set by the sender.
        payload_protocol: Option<u32>,
        /// Its length.
        bytes: u64,
        /// DATA chunks it came in.
        chunks: u32,
        /// The packet with its first chunk.
        first: Moment,
        /// The packet with its last chunk.
        last: Moment,
    },
    /// A DATA chunk that was sent once was acknowledged.
    Acknowledged {
        /// Sender of the DATA chunk.
        from: usize,
        /// Its number.
        tsn: u32,
        /// The packet with it.
        data: Moment,
        /// The packet with the SACK.
        sack: Moment,
    },
}

/// An SCTP association, at its end or at the capture's. Only a [`Tracker`](super::Tracker) makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Association {
    /// Its place in the order of first packets, from 1, among everything an observer gives.
    pub number: u64,
    /// The end that began it, at the address it was first seen.
    pub initiator: SocketAddr,
    /// The other end, at the address it was first seen.
    pub responder: SocketAddr,
    /// Encapsulation of its first packet.
    pub path: Path,
    /// Packets of the capture that belong to it.
    pub captured: Captured,
    /// Evidence for the end that began it.
    pub roles: Roles,
    /// All addresses of the initiator that were announced or seen, at most 16.
    pub initiator_addresses: Vec<IpAddr>,
    /// All addresses of the responder that were announced or seen, at most 16.
    pub responder_addresses: Vec<IpAddr>,
    /// The tag the initiator chose, in packets to it; none where none was seen.
    pub initiator_tag: Option<u32>,
    /// The tag the responder chose, in packets to it; none where none was seen.
    pub responder_tag: Option<u32>,
    /// The part of its beginning in the capture.
    pub begun: Begun,
    /// True if both ends agreed: COOKIE ACK, or user data.
    pub established: bool,
    /// End; reset if an end aborted.
    pub ending: Ending,
    /// First packet.
    pub first: Moment,
    /// Last packet.
    pub last: Moment,
    /// Chunks of the initiator.
    pub from_initiator: Sent,
    /// Chunks of the responder.
    pub from_responder: Sent,
    /// The DTLS in its user messages, if there is any.
    pub dtls: Option<Dtls>,
    /// The SSH in its user messages, where they are that and nothing else.
    pub ssh: Option<Box<Ssh>>,
    /// User messages that do not begin with a DTLS record.
    pub plain_messages: u64,
    /// The first of these.
    pub first_plain: Option<Moment>,
    /// SUCIs in plaintext in its user messages.
    pub exposed: Sightings,
}
