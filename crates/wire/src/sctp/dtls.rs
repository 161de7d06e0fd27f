//! DTLS in SCTP user messages (RFC 6083): recognised, and its ServerHello read.

use crate::tls::ServerHello;
use crate::{Moment, Seen};

/// Bytes of a DTLS record's header before version 1.3.
const RECORD: usize = 13;
/// Bytes of a DTLS handshake message's header.
const HANDSHAKE: usize = 12;
/// Records of one message that are looked at.
const RECORDS: usize = 16;

/// What the DTLS of an association shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dtls {
    /// The first record.
    pub first: Option<Moment>,
    /// User messages that are DTLS records.
    pub messages: u64,
    /// Encrypted records with the header that DTLS 1.3 gave up: those of 1.2 or 1.0.
    pub legacy_protected: u64,
    /// What the server chose; its version is that of DTLS: `0xfefd` for 1.2, `0xfefc` for 1.3.
    pub server_hello: Option<Seen<ServerHello>>,
}

impl Dtls {
    /// Looks at the beginning of a user message; says whether it is a DTLS record.
    pub(super) fn message(&mut self, bytes: &[u8], at: Moment) -> bool {
        // DTLS 1.3 shortens the header of encrypted records to one that begins with 001 (RFC 9147, section 4): without
        // a handshake before, that may be anything.
        let short = self.messages > 0 && bytes.first().is_some_and(|byte| byte >> 5 == 1);
        if !short && !is_record(bytes) {
            return false;
        }
        self.first.get_or_insert(at);
        self.messages += 1;
        let epoch = bytes.get(3..5).is_some_and(|epoch| epoch != [0, 0]);
        self.legacy_protected += u64::from(!short && epoch);
        if self.server_hello.is_none() && !short {
            self.server_hello = server_hello(bytes).map(|hello| Seen::new(hello, at, at));
        }
        true
    }
}

/// Whether bytes begin with a DTLS record: content type, version 1.0 or 1.2 (1.3 says 1.2), a length that can be.
fn is_record(bytes: &[u8]) -> bool {
    let Some(header) = bytes.first_chunk::<RECORD>() else {
        return false;
    };
    let length = u16::from_be_bytes([header[11], header[12]]);
    matches!(header[0], 20..=26) && header[1] == 0xfe && matches!(header[2], 0xfd | 0xff) && length <= (1 << 14) + 2048
}

/// The ServerHello in these records, where it is whole.
fn server_hello(mut bytes: &[u8]) -> Option<ServerHello> {
    const HANDSHAKE_RECORD: u8 = 22;
    const SERVER_HELLO: u8 = 2;
    for _ in 0..RECORDS {
        let (header, rest) = bytes.split_first_chunk::<RECORD>()?;
        let length = usize::from(u16::from_be_bytes([header[11], header[12]]));
        let body = rest.get(..length)?;
        let epoch = u16::from_be_bytes([header[3], header[4]]);
        if is_record(bytes) && header[0] == HANDSHAKE_RECORD && epoch == 0 {
            let (message, data) = body.split_first_chunk::<HANDSHAKE>()?;
            let number = |at: usize| u32::from_be_bytes([0, message[at], message[at + 1], message[at + 2]]) as usize;
            let (whole, offset, part) = (number(1), number(6), number(9));
            if message[0] == SERVER_HELLO && offset == 0 && part == whole {
                let hello = ServerHello::read(data.get(..whole)?).ok()?;
                return (!hello.is_hello_retry_request()).then_some(hello);
            }
        }
        bytes = &rest[length..];
    }
    None
}
