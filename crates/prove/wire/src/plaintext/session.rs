//! What is said before TLS, and where TLS begins.

use super::{Plaintext, Spoken, begins};
use crate::opening::Opening;
use crate::{Moment, Side};

/// First bytes of each end by which they are held against each other.
const FIRST: usize = 64;
/// Bytes of a line that are looked at: commands are at its beginning.
const LINE: usize = 40;
/// What a client of PostgreSQL asks for TLS with (its protocol's SSLRequest).
const SSL_REQUEST: &[u8] = &[0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f];
/// Bytes of the first request of a client that are looked at.
const REQUEST: usize = 512;
/// The name of LDAP's extended operation StartTLS (RFC 4511, section 4.14).
const LDAP_START_TLS: &[u8] = b"1.3.6.1.4.1.1466.20037";

/// Follows both ends.
#[derive(Clone)]
pub(crate) struct Session {
    spoken: Spoken,
    /// By side: how the line at hand begins, and whether it is over.
    lines: [Line; 2],
    /// By side: the first bytes.
    first: [Vec<u8>; 2],
}

#[derive(Clone, Default)]
struct Line {
    begins: Vec<u8>,
    /// Bytes of it, kept or not.
    length: usize,
}

impl Session {
    pub(crate) fn new(protocol: Plaintext) -> Self {
        Self {
            spoken: Spoken::new(protocol),
            lines: Default::default(),
            first: Default::default(),
        }
    }

    /// Confirms that the other end answered as the protocol does.
    pub(crate) fn is_answered(&self) -> bool {
        let [client, server] = &self.first;
        begins::answered(self.spoken.protocol, client, server)
    }

    /// The first bytes of either end, where one of them has not spoken yet.
    pub(crate) fn unanswered(&self, by: Side) -> Option<&[u8]> {
        let [ours, theirs] = match by {
            Side::Client => [&self.first[0], &self.first[1]],
            Side::Server => [&self.first[1], &self.first[0]],
        };
        ours.is_empty().then_some(theirs)
    }

    /// The first bytes of both ends.
    pub(crate) fn opening(&self) -> Opening {
        let mut opening = Opening::default();
        opening.client.fill(&self.first[0]);
        opening.server.fill(&self.first[1]);
        opening
    }

    /// Bytes it holds on the heap.
    pub(crate) fn held(&self) -> usize {
        let lines = self.lines.iter().map(|line| line.begins.capacity());
        lines.chain(self.first.iter().map(Vec::capacity)).sum()
    }

    pub(crate) fn outcome(self) -> Spoken {
        self.spoken
    }

    /// Bytes are missing.
    pub(crate) fn gap(&mut self, from: Side, at: Moment) {
        if from == Side::Client {
            self.spoken.gap.get_or_insert(at);
        }
        self.lines[from.index()] = Line::default();
    }

    /// Takes bytes of an end, next in order; says where in them TLS begins, if it does.
    pub(crate) fn data(&mut self, from: Side, bytes: &[u8], at: Moment) -> Option<usize> {
        let first = &mut self.first[from.index()];
        first.extend_from_slice(&bytes[..bytes.len().min(FIRST - first.len())]);
        if !self.spoken.protocol.goes_over_to_tls() {
            self.spoken.bytes += bytes.len() as u64;
            return None;
        }
        let found = if self.spoken.protocol.is_text() {
            self.text(from, bytes, at)
        } else {
            self.binary(from, bytes, at)
        };
        self.spoken.bytes += found.unwrap_or(bytes.len()) as u64;
        found
    }

    fn text(&mut self, from: Side, bytes: &[u8], at: Moment) -> Option<usize> {
        /// The first byte of a record of TLS with a handshake, which no text has.
        const HANDSHAKE: u8 = 22;
        for (place, byte) in bytes.iter().enumerate() {
            let line = &mut self.lines[from.index()];
            if line.length == 0 && *byte == HANDSHAKE {
                return Some(place);
            }
            line.length += 1;
            if line.begins.len() < LINE {
                line.begins.push(*byte);
            }
            // XMPP has elements instead of lines.
            let ends = *byte == b'\n' || self.spoken.protocol == Plaintext::Xmpp && *byte == b'>';
            if ends {
                let line = std::mem::take(&mut self.lines[from.index()]);
                if from == Side::Client {
                    self.command(&line.begins, at);
                }
            }
        }
        None
    }

    fn command(&mut self, line: &[u8], at: Moment) {
        let line = line.trim_ascii().to_ascii_uppercase();
        let mut words = line.split(|byte| *byte == b' ');
        let mut word = words.next().unwrap_or_default();
        if self.spoken.protocol == Plaintext::Imap {
            // Behind its tag.
            word = words.next().unwrap_or_default();
        }
        let asks = match self.spoken.protocol {
            Plaintext::Ftp => {
                word == b"AUTH" && words.next().is_some_and(|how| how.starts_with(b"TLS") || how == b"SSL")
            }
            Plaintext::Pop3 => word == b"STLS",
            Plaintext::Xmpp => word.starts_with(b"<STARTTLS"),
            _ => word == b"STARTTLS",
        };
        let proves = match self.spoken.protocol {
            Plaintext::Ftp | Plaintext::Pop3 => matches!(word, b"PASS" | b"APOP") || word == b"AUTH" && !asks,
            Plaintext::Smtp => word == b"AUTH",
            Plaintext::Imap => matches!(word, b"LOGIN" | b"AUTHENTICATE"),
            _ => word.starts_with(b"<AUTH"),
        };
        if asks {
            self.spoken.asked.get_or_insert(at);
        } else if proves {
            self.spoken.credentials.get_or_insert(at);
        }
    }

    fn binary(&mut self, from: Side, bytes: &[u8], at: Moment) -> Option<usize> {
        if self.spoken.asked.is_some() && begins_tls(bytes) {
            return Some(0);
        }
        if from == Side::Server {
            return None;
        }
        let line = &mut self.lines[from.index()];
        let before = line.begins.len();
        // Requests come in pieces: the first bytes of a connection decide what it is, and come apart from the others.
        let request = match self.spoken.protocol {
            Plaintext::Ldap => behind(LDAP_START_TLS, &mut line.begins, bytes),
            Plaintext::PostgreSql => behind(SSL_REQUEST, &mut line.begins, bytes),
            Plaintext::MySql | Plaintext::Rdp if line.length < REQUEST => {
                let taken = bytes.len().min(REQUEST - before);
                line.begins.extend_from_slice(&bytes[..taken]);
                asks(self.spoken.protocol, &line.begins).and_then(|end| end.checked_sub(before))
            }
            _ => None,
        };
        line.length += bytes.len();
        let request = request?;
        self.spoken.asked.get_or_insert(at);
        // The ClientHello may follow at once.
        bytes.get(request..).filter(|rest| begins_tls(rest)).map(|_| request)
    }
}

/// Whether TLS begins, or may: its first byte came alone.
fn begins_tls(bytes: &[u8]) -> bool {
    matches!(bytes, [22] | [22, 3, ..])
}

/// Where in `bytes` stands what is behind a request that may have begun in those before; of these only what may be its beginning is kept.
fn behind(request: &[u8], kept: &mut Vec<u8>, bytes: &[u8]) -> Option<usize> {
    let before = kept.len();
    // What reaches into the bytes before, and then what does not.
    kept.extend_from_slice(&bytes[..bytes.len().min(request.len())]);
    let place = |bytes: &[u8]| bytes.windows(request.len()).position(|window| window == request);
    let across = place(kept).and_then(|at| (at + request.len()).checked_sub(before));
    let found = across.or_else(|| Some(place(bytes)? + request.len()));
    if bytes.len() >= request.len() {
        kept.clear();
        kept.extend_from_slice(&bytes[bytes.len() + 1 - request.len()..]);
    } else {
        kept.drain(..kept.len().saturating_sub(request.len() - 1));
    }
    found
}

/// Where the first request of a client ends that asks for TLS, in the first bytes of it.
fn asks(protocol: Plaintext, begins: &[u8]) -> Option<usize> {
    match (protocol, begins) {
        // Its only packet before TLS: capabilities with CLIENT_SSL, and nothing of the user.
        (Plaintext::MySql, [32, 0, 0, 1, _, high, ..]) if high & 0x08 != 0 => (begins.len() >= 36).then_some(36),
        // RDP_NEG_REQ at its end asks for TLS, or for CredSSP behind it; a cookie may stand before.
        (Plaintext::Rdp, [3, 0, high, low, ..]) => {
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            match begins.get(..length)?.last_chunk::<8>()? {
                [1, _, 8, 0, wanted, ..] if wanted & 0x03 != 0 => Some(length),
                _ => None,
            }
        }
        _ => None,
    }
}
