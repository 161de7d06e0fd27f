//! A recorded exchange between an E2 node and a near-real-time RIC. E2AP stays opaque: a message is bytes with a name.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::stand_in::exchange::file::bytes;

/// Name and version of the shape of a file.
pub const SCHEMA: &str = "bartizan-e2-exchange/1";

/// The sending end of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The E2 node (CU, DU), which opens the association.
    Node,
    /// The near-real-time RIC.
    Ric,
}

/// The messages of E2AP that the recording has (O-RAN WG3 E2AP), by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Procedure {
    /// E2 Setup Request.
    SetupRequest,
    /// E2 Setup Response.
    SetupResponse,
    /// RIC Subscription Request.
    SubscriptionRequest,
    /// RIC Subscription Response.
    SubscriptionResponse,
    /// RIC Indication.
    Indication,
    /// RIC Subscription Delete Request.
    DeleteRequest,
    /// RIC Subscription Delete Response.
    DeleteResponse,
}

/// All messages, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    description: String,
    messages: Vec<Message>,
}

/// One user message of the association.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Time at which the first packet was sent, since the association's first packet.
    pub at: Duration,
    /// The sender.
    pub from: End,
    /// Type of the message.
    pub procedure: Procedure,
    /// The stream it was sent on.
    pub stream: u16,
    /// Payload protocol identifier.
    pub payload_protocol: u32,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// The file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// [`SCHEMA`].
    pub schema: String,
    /// One-sentence description of the recording.
    pub description: String,
    /// Name of the capture it was made from.
    pub capture: String,
    /// The messages, in the order of their first packets.
    pub messages: Vec<Recorded>,
}

/// One message of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// Time at which the first packet was sent, in microseconds since the association's first
    /// packet.
    pub at_us: u64,
    /// The sender.
    pub from: End,
    /// Type of the message.
    pub procedure: Procedure,
    /// Stream.
    pub stream: u16,
    /// Payload protocol identifier.
    pub payload_protocol: u32,
    /// DATA chunks it came in.
    pub chunks: u32,
    /// Its bytes, hexadecimal.
    pub bytes: String,
}

/// Reason why a text is not an exchange.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is not JSON of this shape.
    #[error("{0}")]
    Shape(#[from] serde_json::Error),
    /// It is of a version we do not know.
    #[error("schema `{0}`, expected `{SCHEMA}`")]
    Schema(String),
    /// A message cannot be.
    #[error("message {number}: {reason}")]
    Message {
        /// Counted from 0.
        number: usize,
        /// Description of the fault.
        reason: &'static str,
    },
    /// It is not a set-up, a subscription, indications and a delete, each answered.
    #[error("the messages are not a set-up, a subscription, at least two indications and a delete")]
    Order,
}

impl Exchange {
    /// The exchange that Bartizan brings along: `lab/experiments/e2-kpm/exchange.json`, FlexRIC and
    /// an emulated gNB.
    #[must_use]
    pub fn flexric() -> Self {
        Self::parse(include_str!("../../../../../experiments/e2-kpm/exchange.json"))
            .expect("the file is part of the program and a test reads it")
    }

    /// Reads one.
    ///
    /// # Errors
    /// Fails if it is not of the form of [`File`], or not a whole exchange.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let file: File = serde_json::from_str(text)?;
        if file.schema != SCHEMA {
            return Err(Error::Schema(file.schema));
        }
        let mut messages: Vec<Message> = Vec::with_capacity(file.messages.len());
        for (number, recorded) in file.messages.into_iter().enumerate() {
            let refused = |reason| Error::Message { number, reason };
            let at = Duration::from_micros(recorded.at_us);
            if messages.last().is_some_and(|last| last.at > at) {
                return Err(refused("it is before the one before it"));
            }
            let bytes = bytes(&recorded.bytes).ok_or_else(|| refused("its bytes are not hexadecimal"))?;
            if bytes.is_empty() {
                return Err(refused("it has no bytes"));
            }
            messages.push(Message {
                at,
                from: recorded.from,
                procedure: recorded.procedure,
                stream: recorded.stream,
                payload_protocol: recorded.payload_protocol,
                bytes,
            });
        }
        let exchange = Self {
            description: file.description,
            messages,
        };
        if exchange.is_whole() {
            Ok(exchange)
        } else {
            Err(Error::Order)
        }
    }

    /// One-sentence description of the recording.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The messages, in the order in which they were sent.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The indications, in order.
    pub fn indications(&self) -> impl Iterator<Item = &Message> {
        let is = |message: &&Message| message.procedure == Procedure::Indication;
        self.messages.iter().filter(is)
    }

    /// The first message of this kind with the time since the one before it; an exchange that was read has one of each.
    #[must_use]
    pub fn first(&self, procedure: Procedure) -> Option<(&Message, Duration)> {
        let place = self
            .messages
            .iter()
            .position(|message| message.procedure == procedure)?;
        let message = &self.messages[place];
        let before = place
            .checked_sub(1)
            .map_or(Duration::ZERO, |place| self.messages[place].at);
        Some((message, message.at.saturating_sub(before)))
    }

    fn is_whole(&self) -> bool {
        use Procedure::{
            DeleteRequest, DeleteResponse, Indication, SetupRequest, SetupResponse, SubscriptionRequest,
            SubscriptionResponse,
        };
        let said: Vec<_> = self
            .messages
            .iter()
            .map(|message| (message.from, message.procedure))
            .collect();
        let head = [
            (End::Node, SetupRequest),
            (End::Ric, SetupResponse),
            (End::Ric, SubscriptionRequest),
            (End::Node, SubscriptionResponse),
        ];
        let tail = [(End::Ric, DeleteRequest), (End::Node, DeleteResponse)];
        let middle = said.strip_prefix(&head).and_then(|rest| rest.strip_suffix(&tail));
        middle.is_some_and(|middle| middle.len() >= 2 && middle.iter().all(|&one| one == (End::Node, Indication)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exchange_we_bring_has_the_sizes_of_the_recording() {
        let exchange = Exchange::flexric();
        let sizes: Vec<usize> = exchange.messages().iter().map(|message| message.bytes.len()).collect();
        assert_eq!(sizes[0], 2809, "E2 Setup Request");
        assert_eq!(exchange.indications().map(|one| one.bytes.len()).min(), Some(283));
        assert_eq!(exchange.indications().map(|one| one.bytes.len()).max(), Some(1743));
        assert!(exchange.messages().iter().all(|message| message.payload_protocol == 0));
        let (response, think) = exchange.first(Procedure::SetupResponse).unwrap();
        assert_eq!((response.from, think.as_millis()), (End::Ric, 1));
    }

    #[test]
    fn what_is_no_exchange_is_refused_with_its_reason() {
        let whole = include_str!("../../../../../experiments/e2-kpm/exchange.json");
        let mut file: File = serde_json::from_str(whole).unwrap();
        let text = |file: &File| serde_json::to_string(file).unwrap();
        assert!(matches!(Exchange::parse("{}"), Err(Error::Shape(_))));
        file.messages[3].bytes.push('x');
        assert!(matches!(
            Exchange::parse(&text(&file)),
            Err(Error::Message { number: 3, .. })
        ));
        file.messages.truncate(3);
        assert!(matches!(Exchange::parse(&text(&file)), Err(Error::Order)));
        file.messages[2].at_us = 0;
        assert!(matches!(
            Exchange::parse(&text(&file)),
            Err(Error::Message { number: 2, .. })
        ));
        file.schema.push('x');
        assert!(matches!(Exchange::parse(&text(&file)), Err(Error::Schema(_))));
    }
}
