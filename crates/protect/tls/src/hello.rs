//! The random of the first hello in each direction: it names the connection in packets, and tells a HelloRetryRequest.

/// A ServerHello with this random is a HelloRetryRequest: SHA-256 of the text (RFC 9846, section 4.1.3).
pub(crate) const HELLO_RETRY_REQUEST: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11,
    0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];
/// ContentType handshake (RFC 9846, section 5.1).
const HANDSHAKE: u8 = 22;
/// Type and length of a record, with its version between.
const RECORD_HEADER: usize = 5;
/// A hello up to its random: type, length in 3 bytes, version in 2, random in 32.
const MESSAGE: usize = 1 + 3 + 2 + 32;
/// Offset of the random.
const RANDOM: usize = 1 + 3 + 2;

/// Reads a stream of TLS records until the first hello's random is there, however the bytes are cut into segments and the
/// message into records. Holds at most 43 bytes.
#[derive(Debug)]
pub(crate) struct HelloReader {
    /// `client_hello` (1) or `server_hello` (2).
    expected: u8,
    header: [u8; RECORD_HEADER],
    header_len: usize,
    /// Bytes of the record that are still to come.
    record_left: usize,
    message: [u8; MESSAGE],
    message_len: usize,
    ended: bool,
}

impl HelloReader {
    /// For the direction in which the client sends.
    pub(crate) const fn client() -> Self {
        Self::new(1)
    }

    /// For the direction in which the server sends.
    pub(crate) const fn server() -> Self {
        Self::new(2)
    }

    const fn new(expected: u8) -> Self {
        Self {
            expected,
            header: [0; RECORD_HEADER],
            header_len: 0,
            record_left: 0,
            message: [0; MESSAGE],
            message_len: 0,
            ended: false,
        }
    }

    /// Takes the next bytes of the stream.
    pub(crate) fn read(&mut self, mut bytes: &[u8]) {
        while !self.ended && !bytes.is_empty() {
            bytes = if self.record_left == 0 {
                self.read_header(bytes)
            } else {
                self.read_message(bytes)
            };
        }
    }

    /// Takes the next bytes of the messages themselves, as CRYPTO frames of QUIC have them.
    pub(crate) fn read_messages(&mut self, mut bytes: &[u8]) {
        while !self.ended && !bytes.is_empty() {
            self.record_left = bytes.len();
            bytes = self.read_message(bytes);
        }
        self.record_left = 0;
    }

    fn read_header<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (taken, rest) = bytes.split_at(bytes.len().min(RECORD_HEADER - self.header_len));
        self.header[self.header_len..self.header_len + taken.len()].copy_from_slice(taken);
        self.header_len += taken.len();
        if self.header_len == RECORD_HEADER {
            let [content_type, _, _, high, low] = self.header;
            self.record_left = usize::from(u16::from_be_bytes([high, low]));
            self.header_len = 0;
            // A zero-length handshake record is forbidden (section 5.1): whatever this is, it is no hello.
            self.ended = content_type != HANDSHAKE || self.record_left == 0;
        }
        rest
    }

    fn read_message<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let wanted = (MESSAGE - self.message_len).min(self.record_left);
        let (taken, rest) = bytes.split_at(bytes.len().min(wanted));
        self.message[self.message_len..self.message_len + taken.len()].copy_from_slice(taken);
        self.message_len += taken.len();
        self.record_left -= taken.len();
        self.ended = self.message_len == MESSAGE || self.message[0] != self.expected;
        rest
    }

    /// The random, once it was read.
    pub(crate) fn random(&self) -> Option<[u8; 32]> {
        (self.message_len == MESSAGE && self.message[0] == self.expected)
            .then(|| std::array::from_fn(|index| self.message[RANDOM + index]))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hello(message_type: u8, random: [u8; 32]) -> Vec<u8> {
        let mut message = vec![message_type, 0, 0x05, 0xdc, 3, 3];
        message.extend(random);
        message.extend([0x5a; 1500 - 34]);
        message
    }

    fn records(message: &[u8], longest: usize) -> Vec<u8> {
        message
            .chunks(longest)
            .flat_map(|part| {
                let length = u16::try_from(part.len()).unwrap().to_be_bytes();
                [&[22, 3, 1], &length[..], part].concat()
            })
            .collect()
    }

    #[test]
    fn the_random_of_a_hello_retry_request_is_the_hash_the_rfc_names() {
        let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, b"HelloRetryRequest");
        assert_eq!(hash.as_ref(), HELLO_RETRY_REQUEST);
    }

    #[test]
    fn a_hello_without_records_is_read_however_it_is_cut() {
        let message = hello(2, [9; 32]);
        for piece in [1, 5, 37, 38, 2000] {
            let mut reader = HelloReader::server();
            message.chunks(piece).for_each(|piece| reader.read_messages(piece));
            assert_eq!(reader.random(), Some([9; 32]), "{piece}");
        }
        let mut other = HelloReader::server();
        other.read_messages(&hello(1, [9; 32]));
        assert_eq!(other.random(), None);
    }

    #[test]
    fn anything_but_the_expected_hello_has_no_random() {
        for bytes in [
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n0123456789012345678901234567890123456789".to_vec(),
            records(&hello(2, [7; 32]), 16384),
            vec![22, 3, 1, 0, 0, 22, 3, 1, 0, 0],
            vec![21, 3, 3, 0, 2, 2, 40],
            Vec::new(),
        ] {
            let mut reader = HelloReader::client();
            reader.read(&bytes);
            assert_eq!(reader.random(), None);
        }
    }

    proptest! {
        #[test]
        fn a_hello_is_read_however_it_is_cut(
            random: [u8; 32],
            record in 1usize..2000,
            segments in prop::collection::vec(1usize..100, 1..40),
        ) {
            let stream = records(&hello(1, random), record);
            let mut reader = HelloReader::client();
            let mut rest = &stream[..];
            for &segment in segments.iter().cycle() {
                let (now, later) = rest.split_at(segment.min(rest.len()));
                reader.read(now);
                rest = later;
                if rest.is_empty() { break }
            }
            prop_assert_eq!(reader.random(), Some(random));
        }

        #[test]
        fn no_bytes_make_it_panic(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..32)) {
            let mut reader = HelloReader::server();
            for part in &parts { reader.read(part) }
            let _ = reader.random();
        }
    }
}
