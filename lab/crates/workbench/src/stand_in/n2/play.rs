//! The recording, said again by the two ends of an association.

use std::time::Instant;

use super::exchange::{End, Exchange};
use super::function::{Function, Message};
use crate::Error;

/// Counts of messages that arrived otherwise than they were sent.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Changed {
    /// Those that did not arrive as one message with their octets.
    pub boundaries: usize,
    /// Those that arrived on another stream.
    pub streams: usize,
    /// Those that arrived with another payload protocol identifier.
    pub payload_protocols: usize,
}

/// Observation of an exchange at one end.
#[derive(Debug)]
pub struct Seen {
    /// Time at which each message of the exchange was sent or received.
    pub at: Vec<Instant>,
    /// Changes of the received messages.
    pub changed: Changed,
}

/// Says an end's part of the exchange, and waits for the other's, in the order of the recording: a
/// message is sent as soon as all before it have come.
///
/// # Errors
/// Fails if the association ends, the deadline passes, or other octets come than were recorded.
pub fn play(exchange: &Exchange, end: End, association: &mut Function, deadline: Instant) -> Result<Seen, Error> {
    let mut seen = Seen {
        at: Vec::with_capacity(exchange.messages().len()),
        changed: Changed::default(),
    };
    // Messages of one end that follow each other: of several streams they may overtake each other.
    for run in exchange.messages().chunk_by(|(one, _), (other, _)| one == other) {
        if run.iter().all(|(from, _)| *from == end) {
            for (_, message) in run {
                seen.at.push(Instant::now());
                association.send(message, deadline)?;
            }
            continue;
        }
        let expected: Vec<&Message> = run.iter().map(|(_, message)| message).collect();
        let octets: usize = expected.iter().map(|message| message.octets.len()).sum();
        let mut arrived: Vec<Message> = Vec::new();
        while arrived.iter().map(|message| message.octets.len()).sum::<usize>() < octets {
            let Some(message) = association.receive(deadline)? else {
                return Err(Error::Protocol(
                    "the association ended in the middle of the exchange".to_owned(),
                ));
            };
            arrived.push(message);
        }
        let now = Instant::now();
        seen.at.extend(run.iter().map(|_| now));
        seen.changed.compare(&expected, arrived)?;
    }
    Ok(seen)
}

impl Changed {
    /// With what another end saw.
    pub fn add(&mut self, other: Self) {
        self.boundaries += other.boundaries;
        self.streams += other.streams;
        self.payload_protocols += other.payload_protocols;
    }

    /// Compares what arrived with a run of messages that was to; other octets than those of the run are an error.
    fn compare(&mut self, expected: &[&Message], mut arrived: Vec<Message>) -> Result<(), Error> {
        let mut lacking = 0;
        for message in expected {
            let Some(place) = arrived.iter().position(|one| one.octets == message.octets) else {
                self.boundaries += 1;
                lacking += message.octets.len();
                continue;
            };
            let one = arrived.remove(place);
            self.streams += usize::from(one.stream != message.stream);
            self.payload_protocols += usize::from(one.payload_protocol != message.payload_protocol);
        }
        // The remaining octets are those of the missing messages, split or merged.
        if arrived.iter().map(|one| one.octets.len()).sum::<usize>() == lacking {
            Ok(())
        } else {
            Err(Error::Protocol("what arrived is not what was recorded".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_put_together_and_moved_to_another_stream_are_counted() {
        let exchange = Exchange::free5gc();
        let messages: Vec<&Message> = exchange.messages().iter().map(|(_, message)| message).collect();
        let run = &messages[2..5];
        let whole = || run.iter().map(|message| (*message).clone());
        let compared = |arrived: Vec<Message>| {
            let mut changed = Changed::default();
            changed.compare(run, arrived).map(|()| changed)
        };
        assert_eq!(compared(whole().rev().collect()).unwrap(), Changed::default());
        let moved = whole().map(|message| Message {
            stream: 7,
            payload_protocol: 0,
            ..message
        });
        let expected = Changed {
            streams: 3,
            payload_protocols: 3,
            ..Changed::default()
        };
        assert_eq!(compared(moved.collect()).unwrap(), expected);
        let octets = whole().flat_map(|message| message.octets).collect();
        let together = Message {
            octets,
            ..run[0].clone()
        };
        let expected = Changed {
            boundaries: 3,
            ..Changed::default()
        };
        assert_eq!(compared(vec![together]).unwrap(), expected);
        assert!(compared(whole().chain([run[0].clone()]).collect()).is_err());
    }
}
