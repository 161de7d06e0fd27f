//! The messages between two ends inside of their TLS connection: a JSON object behind its length in two octets.

use serde::{Deserialize, Serialize};

use crate::{An, KeyId};

/// The version of all this; ends of different versions have no keys in common.
pub const VERSION: u32 = 1;
/// Longest message: a sender of more is none of ours.
const LONGEST: usize = 1024;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Message {
    /// The first of each end.
    Hello {
        /// Its version.
        version: u32,
        /// The channel that it sends on, in hexadecimal.
        sci: String,
        /// The cipher suite of its device.
        suite: String,
        /// If MKA distributes the keys: the name of the CAK that runs, empty if none does or
        /// another is wanted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mka: Option<String>,
    },
    /// "I will send with this key: install it." Generations are counted from 0 in each exchange and direction.
    Install {
        /// Which key of the exchange.
        generation: u64,
        /// The association number.
        an: An,
        /// The name of the key, in hexadecimal: ends that derive different keys notice before any frame is lost.
        key: String,
    },
    /// "It is installed."
    Installed {
        /// Which.
        generation: u64,
    },
    /// "I send with it now, and no longer with those before."
    Using {
        /// Which.
        generation: u64,
    },
    /// "Begin another exchange." Only the end that is the TLS server says so.
    Renew,
    /// "I am here."
    Alive,
}

impl Message {
    /// Asks for a key to be installed.
    pub fn install(generation: u64, an: An, key: KeyId) -> Self {
        Self::Install {
            generation,
            an,
            key: key.to_string(),
        }
    }

    /// As it is sent.
    pub fn encode(&self) -> Vec<u8> {
        let text = serde_json::to_vec(self).expect("a message has no map with keys that are no text");
        let mut encoded = u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes().to_vec();
        encoded.extend(text);
        encoded
    }
}

/// Input that is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the peer sent what is no message of this protocol: {0}")]
pub struct Malformed(String);

/// Takes messages out of a stream as they are complete.
#[derive(Debug, Default)]
pub struct Messages {
    buffer: Vec<u8>,
}

impl Messages {
    /// Adds what came.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend(bytes);
    }

    /// The next one; none where it is not complete yet.
    ///
    /// # Errors
    ///
    /// [`Malformed`]: nothing that follows can be read.
    pub fn take(&mut self) -> Result<Option<Message>, Malformed> {
        let Some((length, rest)) = self.buffer.split_first_chunk::<2>() else {
            return Ok(None);
        };
        let length = usize::from(u16::from_be_bytes(*length));
        if length > LONGEST {
            return Err(Malformed(format!("{length} octets, and at most {LONGEST} are one")));
        }
        let Some(text) = rest.get(..length) else {
            return Ok(None);
        };
        let message = serde_json::from_slice(text).map_err(|error| Malformed(error.to_string()))?;
        self.buffer.drain(..2 + length);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_message() -> impl Strategy<Value = Message> {
        let an = (0..4u8).prop_map(|number| An::try_from(number).unwrap());
        prop_oneof![
            (
                any::<u32>(),
                "[0-9a-f]{16}",
                ".{0,20}",
                proptest::option::of("[0-9a-f]{0,32}")
            )
                .prop_map(|(version, sci, suite, mka)| Message::Hello {
                    version,
                    sci,
                    suite,
                    mka
                }),
            (any::<u64>(), an, any::<[u8; 16]>()).prop_map(|(generation, an, key)| Message::install(
                generation,
                an,
                KeyId(key)
            )),
            any::<u64>().prop_map(|generation| Message::Installed { generation }),
            any::<u64>().prop_map(|generation| Message::Using { generation }),
            Just(Message::Renew),
            Just(Message::Alive),
        ]
    }

    proptest! {
        #[test]
        fn messages_are_read_as_they_were_written_however_they_are_cut(
            sent in proptest::collection::vec(any_message(), 0..6), cut in 1..40usize,
        ) {
            let bytes: Vec<u8> = sent.iter().flat_map(Message::encode).collect();
            let (mut messages, mut read) = (Messages::default(), Vec::new());
            for part in bytes.chunks(cut) {
                messages.push(part);
                while let Some(message) = messages.take().unwrap() {
                    read.push(message);
                }
            }
            prop_assert_eq!(read, sent);
        }

        #[test]
        fn any_bytes_are_a_message_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let mut messages = Messages::default();
            messages.push(&bytes);
            while let Ok(Some(_)) = messages.take() {}
        }
    }

    #[test]
    fn more_than_a_message_is_refused_before_it_is_kept() {
        let mut messages = Messages::default();
        messages.push(&[0xff, 0xff]);
        assert!(messages.take().is_err());
    }
}
