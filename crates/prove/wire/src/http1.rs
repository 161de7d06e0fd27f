//! HTTP/1 in plaintext (RFC 9112): the head of the first request is kept, all of it is looked
//! through for what is unencrypted above the transport.

use crate::exposed::{Scanner, Sightings};
use crate::{Moment, Seen, Side};

/// Bytes kept of a request's head.
const KEPT: usize = 1024;
/// Ends of a head (section 2.1); a recipient may accept bare line feeds as well (section 2.2).
const ENDS: [&[u8]; 2] = [b"\r\n\r\n", b"\n\n"];

/// Content of an HTTP/1 connection in plaintext.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Http1 {
    /// Request line and header fields of the first request, as they stand, with what ends them; of a head longer than a
    /// kilobyte, or one that bytes are missing from, its beginning. None where the connection was picked up behind it.
    pub request: Option<Seen<Box<[u8]>>>,
    /// SUCIs and tokens in its plaintext.
    pub exposed: Option<Box<Sightings>>,
}

bartizan_registry::made! {
    /// Reads both directions.
    #[derive(Clone)]
    pub(crate) struct Session, pub(crate) new() {
        head: Head = Head::Before,
        scanners: [Scanner; 2] = Default::default(),
        http1: Http1 = Http1::default(),
    }
}

#[derive(Clone)]
enum Head {
    Before,
    Within {
        bytes: Vec<u8>,
        first: Moment,
        last: Moment,
    },
    Behind,
}

impl Session {
    /// Takes the next bytes of a direction. Returns where HTTP/2 begins in them, behind the answer
    /// that switches to it (RFC 7540, section 3.2; the JDK's client asks for it).
    pub(crate) fn data(&mut self, from: Side, bytes: &[u8], at: Moment) -> Option<usize> {
        let asked = from == Side::Server && self.has_asked();
        let upgraded = asked.then(|| upgrade(bytes)).flatten();
        let text = &bytes[..upgraded.unwrap_or(bytes.len())];
        self.scanners[from.index()].text(text, at, &mut self.http1.exposed);
        if from == Side::Client {
            self.request(bytes, at);
        }
        upgraded
    }

    /// Returns true if the first request asks for HTTP/2: what a server alone says changes nothing.
    fn has_asked(&self) -> bool {
        let head = match &self.head {
            Head::Within { bytes, .. } => bytes,
            Head::Before | Head::Behind => self.http1.request.as_ref().map_or(&[][..], |head| &head.value),
        };
        names_h2c(head)
    }

    fn request(&mut self, bytes: &[u8], at: Moment) {
        if bytes.is_empty() {
            return;
        }
        if let Head::Before = self.head {
            self.head = Head::Within {
                bytes: Vec::new(),
                first: at,
                last: at,
            };
        }
        let Head::Within { bytes: head, last, .. } = &mut self.head else {
            return;
        };
        *last = at;
        // Byte by byte, so that its end is found wherever segments end.
        for byte in bytes {
            head.push(*byte);
            if head.len() >= KEPT || ENDS.iter().any(|end| head.ends_with(end)) {
                self.head_ends();
                return;
            }
        }
    }

    pub(crate) fn gap(&mut self, from: Side) {
        self.scanners[from.index()].gap();
        if from == Side::Client {
            self.head_ends();
        }
    }

    pub(crate) fn outcome(mut self) -> Http1 {
        self.head_ends();
        self.http1
    }

    /// Bytes it holds on the heap, about.
    pub(crate) fn held(&self) -> usize {
        let head = match &self.head {
            Head::Within { bytes, .. } => bytes.capacity(),
            Head::Before | Head::Behind => self.http1.request.as_ref().map_or(0, |head| head.value.len()),
        };
        let exposed = self
            .http1
            .exposed
            .as_deref()
            .map_or(0, |seen| size_of_val(seen) + seen.held());
        head + exposed + self.scanners.iter().map(Scanner::held).sum::<usize>()
    }

    fn head_ends(&mut self) {
        if let Head::Within { bytes, first, last } = std::mem::replace(&mut self.head, Head::Behind) {
            self.http1.request = Some(Seen::new(bytes.into_boxed_slice(), first, last));
        }
    }
}

/// Length of an answer that switches to HTTP/2, at the beginning of a segment.
fn upgrade(bytes: &[u8]) -> Option<usize> {
    let head = bytes
        .get(..bytes.len().min(KEPT))
        .filter(|head| head.starts_with(b"HTTP/1.1 101"))?;
    let end = head.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    names_h2c(&head[..end]).then_some(end)
}

/// Returns true if a head has the field `Upgrade: h2c`.
fn names_h2c(head: &[u8]) -> bool {
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.any(|line| {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or_default();
        line[..colon].eq_ignore_ascii_case(b"upgrade") && line[colon + 1..].trim_ascii().eq_ignore_ascii_case(b"h2c")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;
    use crate::exposed::Exposed;

    fn moment(packet: u64) -> Moment {
        Moment {
            packet,
            time: Timestamp(packet),
        }
    }

    const REQUEST: &[u8] = b"PUT /A1-P/v2/policytypes/1/policies/2 HTTP/1.1\r\nHost: ric\r\n\
        Authorization: Bearer eyJhbGciOiJFUzI1NiJ9.e30.c2ln\r\n\r\n{\"body\":1}";

    #[test]
    fn the_head_of_the_first_request_is_kept_however_it_arrives() {
        for size in [1, 2, 7, 1000] {
            let mut session = Session::new();
            for (index, piece) in REQUEST.chunks(size).enumerate() {
                session.data(Side::Client, piece, moment(index as u64));
            }
            session.data(Side::Server, b"HTTP/1.1 201 Created\r\n\r\n", moment(5000));
            let http1 = session.outcome();
            let head = http1.request.unwrap();
            assert_eq!(head.value.last_chunk(), Some(b"\r\n\r\n"));
            assert_eq!(head.value.len(), REQUEST.len() - 10);
            assert_eq!(head.last, moment(((head.value.len() - 1) / size) as u64));
            let seen = http1.exposed.unwrap();
            assert_eq!(seen.all()[0].what, Exposed::Token("ES256".into()));
            assert_eq!(seen.all()[0].count, 1);
        }
    }

    #[test]
    fn a_head_without_end_is_cut() {
        let mut session = Session::new();
        session.data(Side::Client, &[b'x'; 5000], moment(1));
        assert!(session.held() <= 2 * KEPT);
        session.data(Side::Client, &[b'x'; 5000], moment(2));
        assert_eq!(session.outcome().request.unwrap().value.len(), KEPT);
    }

    #[test]
    fn what_stands_before_missing_bytes_is_kept() {
        let mut session = Session::new();
        session.data(Side::Client, &REQUEST[..50], moment(1));
        session.gap(Side::Client);
        session.data(Side::Client, &REQUEST[60..], moment(2));
        assert_eq!(&*session.outcome().request.unwrap().value, &REQUEST[..50]);
    }
}
