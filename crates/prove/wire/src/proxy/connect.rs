//! HTTP CONNECT (RFC 9110, section 9.3.6) of HTTP/1: a request for a tunnel, with the answers that
//! refuse it before one grants it.

use super::begins::CONNECT;
use super::session::{Known, Progress, View};
use super::{Hop, Place, Secret, Stage, printable};
use crate::{Seen, Side, work};

/// Bytes of a head that is read.
const HEAD: usize = 32 << 10;
/// Bytes of a destination, and of the name of a scheme, that are kept.
const TARGET: usize = 260;
const SCHEME: usize = 32;
/// Answers that grant nothing before one does.
const ROUNDS: u8 = 32;
/// First bytes of a response.
const ANSWER: &[u8] = b"HTTP/1.";

/// Progress of the search for the ends of the heads at hand.
#[derive(Clone, Default)]
pub(super) struct Connect {
    request: Head,
    answer: Head,
    /// The request at hand was read.
    asked: bool,
    /// Bytes of the chunks of the answer at hand that were passed.
    chunks: usize,
    /// Answers that granted nothing.
    rounds: u8,
}

#[derive(Clone, Copy, Default)]
struct Head {
    searched: usize,
    end: Option<usize>,
}

impl Head {
    /// End of the head that these bytes begin with; none if it has not come.
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        if self.end.is_none() {
            let from = self.searched.saturating_sub(3);
            let fresh = bytes.get(from..).unwrap_or_default();
            // A recipient may accept bare line feeds as well (RFC 9112, section 2.2).
            let whole = fresh.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
            let bare = fresh.windows(2).position(|two| two == b"\n\n").map(|at| at + 2);
            work::steps(fresh.len());
            self.end = whole.into_iter().chain(bare).min().map(|end| from + end);
            self.searched = bytes.len();
        }
        self.end
    }
}

/// Length of a response body.
enum Body {
    Bytes(u64),
    Chunks,
    ToTheEnd,
}

impl Connect {
    /// Reads as far as it goes.
    pub(super) fn read(&mut self, view: &View<'_>, hop: &mut Hop, known: &mut Known) -> Progress {
        let begun = view.client.len().min(CONNECT.len());
        if view.client[..begun] != CONNECT[..begun] {
            // Behind a refusal anything may follow, in plaintext.
            return if known.confirmed {
                Progress::Stop(hop.stage)
            } else {
                Progress::Not
            };
        }
        let Some(request) = self.request.end(view.client).filter(|end| *end <= HEAD) else {
            return short(view.client.len(), known.confirmed);
        };
        if !self.asked {
            let span = view.span(Side::Client, 0, request);
            match asks(&view.client[..request], hop) {
                Some(Asked::Tunnel(secret)) => {
                    if let (None, Some(secret), Some((first, last))) = (&hop.secret, secret, span) {
                        hop.secret = Some(Seen::new(secret, first, last));
                    }
                }
                Some(Asked::WithBody) => return Progress::Stop(Stage::Malformed),
                None => {
                    return if known.confirmed {
                        Progress::Stop(Stage::Malformed)
                    } else {
                        Progress::Not
                    };
                }
            }
            hop.stage = Stage::Unanswered;
            (self.asked, known.confirmed) = (true, true);
            known.asked = request;
        }
        let begun = view.server.len().min(ANSWER.len());
        if view.server[..begun] != ANSWER[..begun] {
            return Progress::Stop(Stage::Malformed);
        }
        let Some(answer) = self.answer.end(view.server).filter(|end| *end <= HEAD) else {
            return short(view.server.len(), true);
        };
        let Some((status, body)) = answers(&view.server[..answer]) else {
            return Progress::Stop(Stage::Malformed);
        };
        match status {
            100..=199 if self.rounds >= ROUNDS => return Progress::Stop(Stage::TooLong),
            // Switching protocols is no answer to it.
            100 | 102..=199 => {
                self.answer = Head::default();
                self.rounds += 1;
                return Progress::Again([0, answer], 0);
            }
            200..=299 => return Progress::Open([request, answer]),
            _ if self.rounds >= ROUNDS => return Progress::Stop(Stage::TooLong),
            _ => {}
        }
        let (used, skip) = match body {
            Body::Bytes(bytes) => (answer, bytes),
            Body::Chunks => match chunks(&view.server[answer..], &mut self.chunks) {
                Chunks::End(length) => (answer + length, 0),
                Chunks::More => return Progress::More,
                Chunks::Malformed => return Progress::Stop(Stage::Malformed),
            },
            Body::ToTheEnd => return Progress::Stop(Stage::Refused(status)),
        };
        hop.stage = Stage::Refused(status);
        hop.refusals = hop.refusals.saturating_add(1);
        *self = Self {
            rounds: self.rounds + 1,
            ..Self::default()
        };
        Progress::Again([request, used], skip)
    }
}

/// A head is not whole, or too long.
fn short(length: usize, confirmed: bool) -> Progress {
    match (length > HEAD, confirmed) {
        (false, _) => Progress::More,
        (true, false) => Progress::Not,
        (true, true) => Progress::Stop(Stage::TooLong),
    }
}

fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii)
}

/// The fields of a head: name and value.
fn fields(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    lines(head).skip(1).filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        Some((line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()))
    })
}

enum Asked {
    Tunnel(Option<Secret>),
    /// A request with a body, whose end is unknown.
    WithBody,
}

/// Reads a request; none where it is none for a tunnel.
fn asks(head: &[u8], hop: &mut Hop) -> Option<Asked> {
    let line = lines(head).next()?;
    let mut words = line.strip_prefix(CONNECT)?.split(|byte| *byte == b' ');
    // Some clients put a path between them, and proxies take it.
    let (target, version) = (words.next()?, words.next_back()?);
    if target.is_empty() || !version.starts_with(ANSWER) {
        return None;
    }
    hop.destination = Some(destination(target));
    let mut secret = None;
    for (name, value) in fields(head) {
        if name.eq_ignore_ascii_case(b"content-length") && value != b"0"
            || name.eq_ignore_ascii_case(b"transfer-encoding")
        {
            return Some(Asked::WithBody);
        }
        if name.eq_ignore_ascii_case(b"proxy-authorization") || name.eq_ignore_ascii_case(b"authorization") {
            let scheme = value.split(|byte| *byte == b' ').next().unwrap_or_default();
            let scheme = printable(&scheme[..scheme.len().min(SCHEME)]);
            secret.get_or_insert(Secret::Http(scheme));
        }
    }
    Some(Asked::Tunnel(secret))
}

/// Host and port as CONNECT names them; a port that is none is 0.
fn destination(target: &[u8]) -> Place {
    let text = std::str::from_utf8(target).ok();
    if let Some(socket) = text.and_then(|text| text.parse().ok()) {
        return Place::Socket(socket);
    }
    let colon = target.iter().rposition(|byte| *byte == b':');
    let (name, port) = match colon {
        Some(colon) => (&target[..colon], &target[colon + 1..]),
        None => (target, &[][..]),
    };
    let port = std::str::from_utf8(port).ok().and_then(|port| port.parse().ok());
    Place::name(&name[..name.len().min(TARGET)], port.unwrap_or(0))
}

/// The status of an answer, and how long its body is.
fn answers(head: &[u8]) -> Option<(u16, Body)> {
    let line = lines(head).next()?.strip_prefix(ANSWER)?;
    let mut words = line.split(|byte| *byte == b' ');
    words.next()?;
    let status: u16 = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
    if !(100..=999).contains(&status) {
        return None;
    }
    let mut body = match status {
        204 | 304 => Body::Bytes(0),
        _ => Body::ToTheEnd,
    };
    for (name, value) in fields(head) {
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            return Some((status, Body::Chunks));
        }
        if name.eq_ignore_ascii_case(b"content-length")
            && let Some(length) = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok())
        {
            body = Body::Bytes(length);
        }
    }
    Some((status, body))
}

enum Chunks {
    /// They end behind so many bytes.
    End(usize),
    More,
    Malformed,
}

/// Passes a body in chunks (RFC 9112, section 7.1), of which the first `passed` bytes were passed before.
fn chunks(body: &[u8], passed: &mut usize) -> Chunks {
    /// Bytes of the line with a chunk's size, and of all trailers.
    const LINE: usize = 256;
    const TRAILERS: usize = 4 << 10;
    let line = |place: usize| {
        let rest = body.get(place..).unwrap_or_default();
        let looked_at = &rest[..rest.len().min(LINE)];
        let end = looked_at.iter().position(|byte| *byte == b'\n');
        match end {
            Some(end) => Ok(&rest[..=end]),
            None if looked_at.len() == LINE => Err(Chunks::Malformed),
            None => Err(Chunks::More),
        }
    };
    loop {
        work::steps(1);
        let mut place = *passed;
        let size = match line(place) {
            Ok(size) => size,
            Err(halt) => return halt,
        };
        place += size.len();
        let digits = size.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.len() <= 8);
        let Some(length) = digits.and_then(|digits| usize::from_str_radix(digits, 16).ok()) else {
            return Chunks::Malformed;
        };
        if length > 0 {
            // With the line end behind it.
            place = place.saturating_add(length).saturating_add(2);
            if place > body.len() {
                return Chunks::More;
            }
            *passed = place;
            continue;
        }
        // Trailers end with an empty line.
        let end = place + TRAILERS;
        while place < end {
            match line(place) {
                Ok(trailer) => {
                    place += trailer.len();
                    if trailer.trim_ascii().is_empty() {
                        return Chunks::End(place);
                    }
                }
                Err(halt) => return halt,
            }
        }
        return Chunks::Malformed;
    }
}
