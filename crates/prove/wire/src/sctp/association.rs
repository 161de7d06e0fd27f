//! An association as packets showed it.

use std::net::{IpAddr, SocketAddr};

use super::{Dtls, Sent, Tracker};
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

bartizan_registry::made! {
    /// An SCTP association, at its end or at the capture's. Only a [`Tracker`](super::Tracker) makes one.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Association, pub(super) of(tracker: Tracker, ending: Ending, mut give: impl FnMut(Event)) {
        let [initiator, responder] = tracker.directions;
        let [initiator_addresses, responder_addresses] = tracker.addresses;
        /// Its place in the order of first packets, from 1, among everything an observer gives.
        pub number: u64 = tracker.number,
        /// The end that began it, at the address it was first seen.
        pub initiator: SocketAddr = tracker.ends[0],
        /// The other end, at the address it was first seen.
        pub responder: SocketAddr = tracker.ends[1],
        /// Encapsulation of its first packet.
        pub path: Path = tracker.path,
        /// Packets of the capture that belong to it.
        pub captured: Captured = tracker.captured,
        /// Evidence for the end that began it.
        pub roles: Roles = tracker.roles,
        /// All addresses of the initiator that were announced or seen, at most 16.
        pub initiator_addresses: Vec<IpAddr> = initiator_addresses,
        /// All addresses of the responder that were announced or seen, at most 16.
        pub responder_addresses: Vec<IpAddr> = responder_addresses,
        /// The tag the initiator chose, in packets to it; none where none was seen.
        pub initiator_tag: Option<u32> = tracker.tags[0],
        /// The tag the responder chose, in packets to it; none where none was seen.
        pub responder_tag: Option<u32> = tracker.tags[1],
        /// The part of its beginning in the capture.
        pub begun: Begun = tracker.begun,
        /// True if both ends agreed: COOKIE ACK, or user data.
        pub established: bool = tracker.established,
        /// End; reset if an end aborted.
        pub ending: Ending = ending,
        /// First packet.
        pub first: Moment = tracker.first,
        /// Last packet.
        pub last: Moment = tracker.last,
        /// Chunks of the initiator.
        pub from_initiator: Sent = initiator.finish(0, &mut give),
        /// Chunks of the responder.
        pub from_responder: Sent = responder.finish(1, &mut give),
        /// The DTLS in its user messages, if there is any.
        pub dtls: Option<Dtls> = tracker.dtls.outcome(),
        /// The SSH in its user messages, where they are that and nothing else.
        pub ssh: Option<Box<Ssh>> = tracker.ssh.outcome(),
        /// User messages that do not begin with a DTLS record.
        pub plain_messages: u64 = tracker.plain,
        /// The first of these.
        pub first_plain: Option<Moment> = tracker.first_plain,
        /// SUCIs in plaintext in its user messages.
        pub exposed: Sightings = tracker.exposed,
    }
}
