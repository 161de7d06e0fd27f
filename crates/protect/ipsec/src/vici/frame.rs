//! Framing on a stream: four bytes of length, big-endian, before each packet.

use zeroize::{Zeroize as _, Zeroizing};

use super::message::{Malformed, TooLong};
use super::packet::Packet;

/// Room that is made at once: a buffer that grew would leave a copy behind of the private key that may be in it.
const ROOM: usize = 64 * 1024;

/// The largest packet charon sends or reads, in bytes (`VICI_MESSAGE_SIZE_MAX`).
pub const LARGEST_PACKET: usize = 512 * 1024;

/// The bytes of a packet behind their length, ready for a stream.
///
/// # Errors
///
/// When it is longer than the protocol allows.
pub fn framed(packet: &Packet) -> Result<Vec<u8>, TooLong> {
    let bytes = packet.encode()?;
    // At most LARGEST_PACKET, which `encode` has seen to.
    let length = u32::try_from(bytes.len()).map_err(|_| TooLong::new("packet", bytes.len(), LARGEST_PACKET))?;
    Ok([length.to_be_bytes().as_slice(), &bytes].concat())
}

/// Packets out of the bytes of a stream, however they are cut.
///
/// Holds at most one packet and what was handed over with it, and wipes it: a private key may be in it.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Zeroizing<Vec<u8>>,
    at: usize,
}

impl Frames {
    /// Bytes that came in.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.at == self.bytes.len() {
            self.bytes.zeroize();
            self.at = 0;
            self.bytes.reserve(ROOM);
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next packet that is whole; `None` until more bytes come. After an error the stream has no meaning any more.
    ///
    /// # Errors
    ///
    /// Fails if a length is out of bounds or the bytes are no packet.
    pub fn next_packet(&mut self) -> Result<Option<Packet>, Malformed> {
        let Some((length, rest)) = self.bytes[self.at..].split_first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*length) as usize;
        if length == 0 || length > LARGEST_PACKET {
            return Err(Malformed {
                at: 0,
                reason: "a length that no packet has",
            });
        }
        let Some(packet) = rest.get(..length) else {
            // Consumed bytes are dropped while more are awaited.
            self.bytes.drain(..self.at);
            self.at = 0;
            return Ok(None);
        };
        let packet = Packet::decode(packet)?;
        self.at += 4 + length;
        Ok(Some(packet))
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::message::tests::section;
    use super::*;

    #[test]
    fn a_length_out_of_bounds_is_refused_before_its_bytes_come() {
        for length in [0, LARGEST_PACKET as u32 + 1, u32::MAX] {
            let mut frames = Frames::default();
            frames.push(&length.to_be_bytes());
            assert!(frames.next_packet().is_err(), "{length}");
        }
        let mut frames = Frames::default();
        frames.push(&(LARGEST_PACKET as u32).to_be_bytes());
        assert_eq!(frames.next_packet(), Ok(None));
    }

    proptest! {
        #[test]
        fn packets_come_out_whole_however_the_stream_is_cut(
            messages in vec(section(), 1..5),
            cuts in vec(1usize..60, 1..40),
        ) {
            let packets: Vec<_> = messages.into_iter().map(Packet::Response).collect();
            let stream: Vec<_> = packets.iter().flat_map(|packet| framed(packet).expect("small")).collect();
            let mut frames = Frames::default();
            let mut found = Vec::new();
            let (mut rest, mut cuts) = (stream.as_slice(), cuts.into_iter().cycle());
            while !rest.is_empty() {
                let cut = cuts.next().unwrap_or(1).min(rest.len());
                frames.push(&rest[..cut]);
                rest = &rest[cut..];
                while let Some(packet) = frames.next_packet().expect("well-formed") {
                    found.push(packet);
                }
            }
            prop_assert_eq!(found, packets);
        }

        #[test]
        fn any_stream_gives_packets_or_an_error(stream in vec(any::<u8>(), 0..300)) {
            let mut frames = Frames::default();
            frames.push(&stream);
            while let Ok(Some(_)) = frames.next_packet() {}
        }
    }
}
