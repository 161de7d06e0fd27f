//! Frames as they are written.

use super::{
    Delivery, FRAGMENT, Frame, LAST, OF_LANE, Order, PPID, PathState, RECEIVED_HEAD, RECEIVED_LANE, RESUME_HEAD,
    Received, Streams, Token, UNORDERED, kind,
};

impl Streams {
    fn octets(self) -> [u8; 4] {
        let [a, b] = self.outbound.to_be_bytes();
        let [c, d] = self.inbound.to_be_bytes();
        [a, b, c, d]
    }
}

impl Received {
    fn length(&self) -> usize {
        RECEIVED_HEAD + self.lanes.len() * RECEIVED_LANE
    }

    fn encode(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.restarts.to_be_bytes());
        to.extend_from_slice(&self.life.to_be_bytes());
        for (lane, octets) in &self.lanes {
            to.extend_from_slice(&lane.stream.to_be_bytes());
            to.push(order_flag(lane.order));
            to.extend_from_slice(&octets.to_be_bytes());
        }
    }
}

impl Frame {
    /// Appends the frame as it goes over the carrier.
    ///
    /// # Panics
    /// Panics if a fragment has more than [`FRAGMENT`] octets: a fault of the caller.
    pub fn encode(&self, to: &mut Vec<u8>) {
        match self {
            Self::Open {
                version,
                token,
                streams,
            } => {
                header(to, kind::OPEN, 0, 0, 6 + Token::LENGTH);
                to.extend_from_slice(&version.to_be_bytes());
                to.extend_from_slice(&token.0);
                to.extend_from_slice(&streams.octets());
            }
            Self::Opened { restarts, streams } => {
                header(to, kind::OPENED, 0, 0, 8);
                to.extend_from_slice(&restarts.to_be_bytes());
                to.extend_from_slice(&streams.octets());
            }
            Self::Message(fragment) => encode_fragment(to, fragment.delivery, &fragment.bytes, fragment.last),
            Self::Credit(octets) => {
                header(to, kind::CREDIT, 0, 0, 4);
                to.extend_from_slice(&octets.to_be_bytes());
            }
            Self::Delivered(messages) => {
                header(to, kind::DELIVERED, 0, 0, 8);
                to.extend_from_slice(&messages.to_be_bytes());
            }
            Self::Alive => header(to, kind::ALIVE, 0, 0, 0),
            Self::Shutdown => header(to, kind::SHUTDOWN, 0, 0, 0),
            Self::Closed => header(to, kind::CLOSED, 0, 0, 0),
            Self::Abort(cause) => {
                let text = cause.text.as_bytes();
                header(to, kind::ABORT, 0, 0, 2 + text.len());
                to.extend_from_slice(&cause.code.to_be_bytes());
                to.extend_from_slice(text);
            }
            Self::Restart(streams) => {
                header(to, kind::RESTART, 0, 0, 4);
                to.extend_from_slice(&streams.octets());
            }
            Self::Path(state) => {
                let number = PathState::ALL.iter().position(|known| known == state);
                header(to, kind::PATH, number.unwrap_or_default() as u8, 0, 0);
            }
            Self::SendFailed { stream, code } => {
                header(to, kind::SEND_FAILED, 0, *stream, 2);
                to.extend_from_slice(&code.to_be_bytes());
            }
            Self::Lane { lane, restarts } => {
                header(to, kind::LANE, order_flag(lane.order), lane.stream, 4);
                to.extend_from_slice(&restarts.to_be_bytes());
            }
            Self::ShutdownAfter(messages) => {
                header(to, kind::SHUTDOWN_AFTER, 0, 0, 8);
                to.extend_from_slice(&messages.to_be_bytes());
            }
            Self::Resume { version, resume } => {
                header(to, kind::RESUME, 0, 0, RESUME_HEAD + resume.received.length());
                to.extend_from_slice(&version.to_be_bytes());
                to.extend_from_slice(&resume.token.0);
                to.extend_from_slice(&resume.attempt.to_be_bytes());
                resume.received.encode(to);
            }
            Self::Resumed(received) => {
                header(to, kind::RESUMED, 0, 0, received.length());
                received.encode(to);
            }
            Self::Unknown => header(to, kind::UNKNOWN, 0, 0, 0),
            Self::Received { lane, octets } => {
                let of_lane = lane.map_or(0, |lane| OF_LANE | order_flag(lane.order));
                let stream = lane.map_or(0, |lane| lane.stream);
                header(to, kind::RECEIVED, of_lane, stream, 8);
                to.extend_from_slice(&octets.to_be_bytes());
            }
            Self::Move => header(to, kind::MOVE, 0, 0, 0),
        }
    }
}

/// Appends a piece of a message without a copy of its own.
pub(crate) fn encode_fragment(to: &mut Vec<u8>, delivery: Delivery, bytes: &[u8], last: bool) {
    assert!(bytes.len() <= FRAGMENT, "a fragment of {} octets", bytes.len());
    let flags = order_flag(delivery.order) | if last { LAST } else { 0 };
    header(to, kind::MESSAGE, flags, delivery.stream, PPID + bytes.len());
    to.extend_from_slice(&delivery.payload_protocol.to_be_bytes());
    to.extend_from_slice(bytes);
}

const fn order_flag(order: Order) -> u8 {
    match order {
        Order::Ordered => 0,
        Order::Unordered => UNORDERED,
    }
}

fn header(to: &mut Vec<u8>, kind: u8, flags: u8, stream: u16, length: usize) {
    to.extend_from_slice(&[kind, flags]);
    to.extend_from_slice(&stream.to_be_bytes());
    // No frame is longer than a fragment.
    to.extend_from_slice(&(length as u32).to_be_bytes());
}
