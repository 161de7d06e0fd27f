//! Plaintext before TLS, and the point at which TLS begins.

use super::{Own, Plaintext, Spoken, begins};
use crate::opening::Opening;
use crate::{Moment, Side};

/// First bytes of each end by which they are held against each other.
const FIRST: usize = 64;
/// Bytes of a line that are looked at: commands are at its beginning.
const LINE: usize = 40;
/// Request for TLS of a PostgreSQL client (SSLRequest).
const SSL_REQUEST: &[u8] = &[0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f];
/// Bytes of the first request of a client that are looked at.
const REQUEST: usize = 512;
/// Bytes that both ends say before TLS at most, and the client alone: capabilities, and a look at the
/// root of a directory.
const PREAMBLE: u64 = 8 << 10;
const CLIENTS_PREAMBLE: usize = 1 << 10;
/// The name of LDAP's extended operation StartTLS (RFC 4511, section 4.14).
const LDAP_START_TLS: &[u8] = b"1.3.6.1.4.1.1466.20037";

bartizan_registry::made! {
    /// Follows both ends.
    #[derive(Clone)]
    pub(crate) struct Session, pub(crate) new(protocol: Plaintext) {
        spoken: Spoken = Spoken::new(protocol),
        /// By side: how the line at hand begins, and whether it is over.
        lines: [Line; 2] = Default::default(),
        /// By side: the first bytes.
        first: [Vec<u8>; 2] = Default::default(),
        /// By side: bytes of the message at hand that are still to come, of LDAP.
        left: [u64; 2] = [0; 2],
        last: Option<Moment> = None,
        /// LDAP's client binds by SASL.
        sasl: bool = false,
        /// RDP's server chooses no encryption.
        unencrypted: bool = false,
    }
}

#[derive(Clone, Default)]
struct Line {
    begins: Vec<u8>,
    /// Bytes of it, kept or not.
    length: usize,
}

impl Session {
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

    pub(crate) fn outcome(mut self) -> Spoken {
        // Bytes of both ends behind the connection request may be encrypted.
        let more = |side: Side| self.lines[side.index()].length > FIRST;
        if let (Plaintext::Rdp, None, true, Some(at)) = (
            self.spoken.protocol,
            self.spoken.own,
            more(Side::Client) && more(Side::Server) && !self.unencrypted,
            self.last,
        ) {
            self.spoken.own = Some((Own::NotShown, at));
        }
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
        self.last = Some(at);
        let found = if matches!(self.spoken.own, Some((Own::SecurityLayer, _))) {
            None
        } else if self.spoken.protocol.is_text() {
            self.text(from, bytes, at)
        } else {
            self.binary(from, bytes, at)
        };
        self.spoken.bytes += found.unwrap_or(bytes.len()) as u64;
        let clients = self.lines[Side::Client.index()].length;
        if self.spoken.bytes > PREAMBLE || clients > CLIENTS_PREAMBLE {
            self.spoken.content.get_or_insert(at);
        }
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
            // Lengths of wrapped messages begin with zero: a receiver takes no 16 MB at once.
            if line.length == 0 && *byte == 0 && self.spoken.credentials.is_some() && is_wrapped(&bytes[place..]) {
                self.spoken.own = Some((Own::SecurityLayer, at));
                return None;
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
        } else if self.spoken.credentials.is_none() && !is_preamble(self.spoken.protocol, word) {
            self.spoken.content.get_or_insert(at);
        }
    }

    fn binary(&mut self, from: Side, bytes: &[u8], at: Moment) -> Option<usize> {
        if self.spoken.asked.is_some() && begins_tls(bytes) {
            return Some(0);
        }
        self.protects(from, bytes, at);
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

impl Session {
    /// Looks for protection of the protocol's own.
    fn protects(&mut self, from: Side, bytes: &[u8], at: Moment) {
        /// Encryption by GSSAPI (PostgreSQL's protocol, section 55.2.11): the request, and the
        /// server's consent.
        const GSSENC_REQUEST: &[u8] = &[0, 0, 0, 8, 4, 0xd2, 0x16, 0x30];
        let [client, server] = &self.first;
        let own = match self.spoken.protocol {
            Plaintext::Ldap => self.is_wrapped_ldap(from, bytes).then_some(Own::SecurityLayer),
            Plaintext::PostgreSql => {
                (client.starts_with(GSSENC_REQUEST) && server.starts_with(b"G")).then_some(Own::SecurityLayer)
            }
            Plaintext::Rdp if from == Side::Server => {
                let line = &mut self.lines[from.index()];
                line.length += bytes.len();
                let room = REQUEST - line.begins.len().min(REQUEST);
                line.begins.extend_from_slice(&bytes[..bytes.len().min(room)]);
                let method = rdp_method(&line.begins);
                self.unencrypted |= method == Some(0);
                method.filter(|method| *method != 0).map(|_| Own::Rsa)
            }
            _ => None,
        };
        if let Some(own) = own {
            self.spoken.own.get_or_insert((own, at));
        }
    }

    /// Follows messages of LDAP from one to the next, to where one is in a security layer instead.
    fn is_wrapped_ldap(&mut self, from: Side, mut bytes: &[u8]) -> bool {
        /// A bind request with SASL credentials: version 3, an empty or short name, and the choice
        /// [3] (RFC 4511, section 4.2).
        const SASL: u8 = 0xa3;
        loop {
            let left = &mut self.left[from.index()];
            let passed = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
            *left -= passed as u64;
            bytes = &bytes[passed..];
            if bytes.is_empty() {
                return false;
            }
            if bytes[0] != 0x30 {
                return self.sasl && is_wrapped(bytes);
            }
            let (header, length) = match *bytes {
                [_, length @ 0..=0x7f, ..] => (2, u64::from(length)),
                [_, count @ 0x81..=0x84, ref rest @ ..] if rest.len() >= usize::from(count & 7) => {
                    let digits = &rest[..usize::from(count & 7)];
                    let length = digits.iter().fold(0, |length, digit| length << 8 | u64::from(*digit));
                    (2 + digits.len(), length)
                }
                _ => return false,
            };
            let message = &bytes[header..];
            if let [2, digits @ 1..=4, rest @ ..] = message
                && let Some([0x60, bind @ ..]) = rest.get(usize::from(*digits)..)
                && bind.iter().take(64).any(|byte| *byte == SASL)
            {
                self.sasl = true;
            }
            self.left[from.index()] = header as u64 + length;
        }
    }
}

/// Returns true if a client says this, in upper case, on its way to TLS.
fn is_preamble(protocol: Plaintext, word: &[u8]) -> bool {
    let words: &[&[u8]] = match protocol {
        Plaintext::Smtp => &[b"EHLO", b"HELO", b"LHLO", b"NOOP", b"RSET", b"HELP", b"QUIT"],
        Plaintext::Imap => &[b"CAPABILITY", b"ID", b"NOOP", b"LOGOUT"],
        Plaintext::Pop3 => &[b"CAPA", b"NOOP", b"QUIT"],
        Plaintext::Ftp => &[
            b"FEAT", b"SYST", b"HOST", b"CLNT", b"OPTS", b"PBSZ", b"PROT", b"NOOP", b"HELP", b"QUIT",
        ],
        _ => &[b"<?XML", b"<STREAM:STREAM", b"<STREAM:STREAM>", b"</STREAM:STREAM>"],
    };
    word.is_empty() || words.contains(&word)
}

/// True where bytes begin with a length of four octets and what a security layer wraps, unless that
/// says that it is not encrypted: tokens of Kerberos do (RFC 4121, section 4.2.2).
fn is_wrapped(bytes: &[u8]) -> bool {
    /// The flag of an encrypted token.
    const SEALED: u8 = 0x02;
    match bytes {
        [0, _, _, _, 5, 4, flags, ..] => flags & SEALED != 0,
        [0, ..] => true,
        _ => false,
    }
}

/// The encryption method of Standard RDP Security that a server of RDP chooses, 0 for none: in its
/// security data, behind the key of T.124 ([MS-RDPBCGR], section 2.2.1.4.3).
fn rdp_method(begins: &[u8]) -> Option<u8> {
    const KEY: &[u8] = b"McDn";
    const SECURITY: [u8; 2] = [0x02, 0x0c];
    let place = begins.windows(KEY.len()).position(|window| window == KEY)?;
    let sound = |block: &&[u8]| {
        block[..2] == SECURITY && matches!(block[4..8], [0 | 1 | 2 | 8 | 16, 0, 0, 0]) && block[8..] <= [4, 0, 0, 0][..]
    };
    begins[place..].windows(12).find(sound).map(|block| block[4])
}

/// Returns true if TLS begins, or may: its first byte came alone.
fn begins_tls(bytes: &[u8]) -> bool {
    matches!(bytes, [22] | [22, 3, ..])
}

/// Offset in `bytes` behind a request, which may have begun in earlier bytes. Only bytes that may
/// be its beginning are kept of those.
fn behind(request: &[u8], kept: &mut Vec<u8>, bytes: &[u8]) -> Option<usize> {
    let before = kept.len();
    // First a request that reaches into the earlier bytes, then one within `bytes`.
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

/// End of the client's first request for TLS in its first bytes.
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
