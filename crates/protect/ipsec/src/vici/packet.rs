//! Packets: requests, answers, events.

use super::frame::LARGEST_PACKET;
use super::message::{Malformed, Reader, TooLong, put_name};
use super::section::Section;

const CMD_REQUEST: u8 = 0;
const CMD_RESPONSE: u8 = 1;
const CMD_UNKNOWN: u8 = 2;
const EVENT_REGISTER: u8 = 3;
const EVENT_UNREGISTER: u8 = 4;
const EVENT_CONFIRM: u8 = 5;
const EVENT_UNKNOWN: u8 = 6;
const EVENT: u8 = 7;

/// One packet of either direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Packet {
    /// To charon: run this command.
    Request {
        /// Its name, `initiate`.
        command: String,
        /// Its arguments.
        message: Section,
    },
    /// From charon: what came of the command.
    Response(Section),
    /// From charon: it has no such command.
    UnknownCommand,
    /// To charon: send these events from now on.
    Register(String),
    /// To charon: send them no more.
    Unregister(String),
    /// From charon: registered, or no longer.
    Confirm,
    /// From charon: it has no such event.
    UnknownEvent,
    /// From charon.
    Event {
        /// Its name, `child-rekey`.
        name: String,
        /// Its content.
        message: Section,
    },
}

impl Packet {
    /// Its bytes, without the length that precedes them on a stream.
    ///
    /// # Errors
    ///
    /// When a name, a value or the whole is longer than the protocol allows.
    pub fn encode(&self) -> Result<Vec<u8>, TooLong> {
        let mut out = Vec::new();
        let (number, name, message) = match self {
            Self::Request { command, message } => (CMD_REQUEST, Some(command), Some(message)),
            Self::Response(message) => (CMD_RESPONSE, None, Some(message)),
            Self::UnknownCommand => (CMD_UNKNOWN, None, None),
            Self::Register(name) => (EVENT_REGISTER, Some(name), None),
            Self::Unregister(name) => (EVENT_UNREGISTER, Some(name), None),
            Self::Confirm => (EVENT_CONFIRM, None, None),
            Self::UnknownEvent => (EVENT_UNKNOWN, None, None),
            Self::Event { name, message } => (EVENT, Some(name), Some(message)),
        };
        out.push(number);
        if let Some(name) = name {
            put_name(&mut out, name)?;
        }
        if let Some(message) = message {
            message.encode(&mut out)?;
        }
        if out.len() > LARGEST_PACKET {
            let name = name.map_or("message", String::as_str);
            return Err(TooLong::new(name, out.len(), LARGEST_PACKET));
        }
        Ok(out)
    }

    /// Reads a packet from all of `bytes`.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are no packet.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader { bytes, at: 0, start: 0 };
        let Some(number) = reader.byte() else {
            return Err(reader.malformed("an empty packet"));
        };
        let message = |reader: &Reader<'_>| Section::decode(&bytes[reader.at..], reader.at);
        let packet = match number {
            CMD_REQUEST => Self::Request {
                command: reader.name()?,
                message: message(&reader)?,
            },
            CMD_RESPONSE => Self::Response(message(&reader)?),
            EVENT => Self::Event {
                name: reader.name()?,
                message: message(&reader)?,
            },
            CMD_UNKNOWN => Self::UnknownCommand,
            EVENT_REGISTER => Self::Register(reader.name()?),
            EVENT_UNREGISTER => Self::Unregister(reader.name()?),
            EVENT_CONFIRM => Self::Confirm,
            EVENT_UNKNOWN => Self::UnknownEvent,
            _ => {
                reader.at = 0;
                return Err(reader.malformed("no packet has this number"));
            }
        };
        // Packets without a message must end here.
        match packet {
            Self::Request { .. } | Self::Response(_) | Self::Event { .. } => Ok(packet),
            _ if reader.at == bytes.len() => Ok(packet),
            _ => Err(reader.malformed("more bytes than the packet has")),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::message::tests::section;
    use super::*;

    fn packet() -> impl Strategy<Value = Packet> {
        let name = || "[a-z-]{1,20}";
        prop_oneof![
            (name(), section()).prop_map(|(command, message)| Packet::Request { command, message }),
            section().prop_map(Packet::Response),
            Just(Packet::UnknownCommand),
            name().prop_map(Packet::Register),
            name().prop_map(Packet::Unregister),
            Just(Packet::Confirm),
            Just(Packet::UnknownEvent),
            (name(), section()).prop_map(|(name, message)| Packet::Event { name, message }),
        ]
    }

    #[test]
    fn an_answer_with_bytes_behind_it_is_malformed() {
        assert_eq!(Packet::decode(&[EVENT_CONFIRM]), Ok(Packet::Confirm));
        assert!(Packet::decode(&[EVENT_CONFIRM, 0]).is_err());
        assert!(Packet::decode(&[]).is_err());
        assert_eq!(Packet::decode(&[8]).map_err(|error| error.at), Err(0));
    }

    #[test]
    fn a_packet_larger_than_charon_reads_is_not_written() {
        let big = "v".repeat(65_535);
        let message = (0..9).fold(Section::new(), |message, _| message.with("v", &big));
        assert!(Packet::Response(message).encode().is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(packet in packet()) {
            let bytes = packet.encode().expect("small");
            prop_assert_eq!(Packet::decode(&bytes), Ok(packet));
        }

        #[test]
        fn any_bytes_are_a_packet_or_malformed(bytes in vec(any::<u8>(), 0..300)) {
            let _ = Packet::decode(&bytes);
        }
    }
}
