//! Bytes that one end of an HTTP/1.1 connection sends to a proxy: the cuts between pieces decide
//! nothing, and an independent reader (httparse, and the framing of RFC 9112, section 6) reads the
//! forwarded bytes as the same messages, neither more nor fewer.
//!
//! Input: a byte whose lowest bit is the role of this end, then what the other end sends. A client has asked by GET.

use bartizan_http1::Connection;
use bartizan_http2::{Bounds, Code, Event, Fields, Indexing, Role};

const BOUNDS: Bounds = Bounds {
    streams: 1,
    header_bytes: 4096,
    stream_window: 100_000,
    connection_window: 100_000,
    waiting: 300_000,
};
/// Bytes of the answer to bytes that are refused: one head of a response and its words.
const LAST_WORD: usize = 600;

/// One message as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Message {
    /// Names and values; of requests with `:method` and `:path`, of responses with `:status`.
    fields: Vec<(Vec<u8>, Vec<u8>)>,
    body: Vec<u8>,
    trailers: Option<Vec<(Vec<u8>, Vec<u8>)>>,
    whole: bool,
}

/// Result of a run.
#[derive(Debug, Default, PartialEq, Eq)]
struct Observed {
    /// Interim responses too.
    messages: Vec<Message>,
    fault: Option<&'static str>,
    unused: usize,
}

fn list(fields: &Fields) -> Vec<(Vec<u8>, Vec<u8>)> {
    let list = fields.iter();
    list.map(|(name, value, _)| (name.to_vec(), value.to_vec())).collect()
}

fn fields(list: &[(Vec<u8>, Vec<u8>)]) -> Fields {
    let mut fields = Fields::new();
    list.iter()
        .for_each(|(name, value)| fields.push(name, value, Indexing::Plain));
    fields
}

fn get() -> Vec<(Vec<u8>, Vec<u8>)> {
    let all = [
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/"),
        (":authority", "nrf"),
    ];
    all.map(|(name, value)| (name.into(), value.into())).to_vec()
}

/// One end of a connection.
fn end(role: Role) -> Connection<u8> {
    let mut end = Connection::new(role, BOUNDS);
    if role == Role::Client {
        end.open(&fields(&get()), true, 0).expect("it is new");
        end.wrote(end.output().len());
    }
    end
}

/// Receives what came, in pieces of so many bytes. Each request is answered by 204.
fn receive(role: Role, bytes: &[u8], piece: usize) -> Observed {
    let mut connection = end(role);
    let (mut observed, mut waiting) = (Observed::default(), Vec::new());
    let (mut sent, mut interim) = (0, 0);
    'all: for piece in bytes.chunks(piece.max(1)) {
        waiting.extend_from_slice(piece);
        loop {
            let mut events = Vec::new();
            let received = connection.receive(&waiting, 1, &mut events);
            let mut ended = None;
            for event in events {
                match event {
                    Event::Head {
                        stream,
                        fields,
                        status,
                        end,
                    } => {
                        assert!(fields.size() <= BOUNDS.header_bytes as usize, "a head beyond its bound");
                        interim += if (100..200).contains(&status) { fields.size() } else { 0 };
                        assert!(interim <= BOUNDS.header_bytes as usize, "interim responses without end");
                        observed.messages.push(Message {
                            fields: list(&fields),
                            whole: end || (100..200).contains(&status),
                            ..Message::default()
                        });
                        ended = end.then_some(stream);
                    }
                    Event::Data { stream, from, to, end } => {
                        let message = observed.messages.last_mut().expect("a body has a head");
                        message.body.extend_from_slice(&waiting[from..to]);
                        message.whole = end;
                        connection.release(stream, to - from);
                        ended = end.then_some(stream);
                    }
                    Event::Trailers { stream, fields } => {
                        let message = observed.messages.last_mut().expect("trailers have a head");
                        (message.trailers, message.whole) = (Some(list(&fields)), true);
                        ended = Some(stream);
                    }
                    Event::Reset { .. } | Event::Unprocessed { .. } => panic!("nobody asked for that"),
                    Event::Moved { .. } => {}
                }
            }
            connection.seen();
            if let (Some(stream), Role::Server) = (ended, role) {
                let none = [(b":status".to_vec(), b"204".to_vec())];
                connection.send_head(stream, &fields(&none), true).expect("it is open");
                sent += connection.output().len();
                assert!(connection.output().len() < LAST_WORD);
                connection.wrote(connection.output().len());
            }
            match received {
                Err(fault) => {
                    connection.fail(Code::PROTOCOL_ERROR, fault.why);
                    observed.fault = Some(fault.why);
                    break 'all;
                }
                Ok(received) => {
                    waiting.drain(..received.used);
                    if received.used == 0 && !connection.take_resumed() {
                        break;
                    }
                }
            }
        }
        assert!(connection.open_streams() <= 1);
    }
    sent += connection.output().len();
    assert!(
        sent <= LAST_WORD * (1 + observed.messages.len()),
        "{sent} bytes were sent"
    );
    // The number of bytes that had come behind a refusal is a matter of pieces.
    observed.unused = if observed.fault.is_some() { 0 } else { waiting.len() };
    observed
}

/// Writes a message as the other end of the proxy does.
fn forward(role: Role, message: &Message) -> Option<Vec<u8>> {
    let head = fields(&message.fields);
    let bare = message.body.is_empty() && message.trailers.is_none();
    let mut out = match role {
        // A request to a function.
        Role::Server => {
            let mut out: Connection<u8> = Connection::new(Role::Client, BOUNDS);
            out.open(&head, bare, 0).ok()?;
            out
        }
        Role::Client => {
            let mut out: Connection<u8> = Connection::new(Role::Server, BOUNDS);
            let mut events = Vec::new();
            let asked = out.receive(b"GET / HTTP/1.1\r\nHost: nrf\r\n\r\n", 1, &mut events);
            asked.expect("a request");
            out.seen();
            out.send_head(1, &head, bare).ok()?;
            out
        }
    };
    if !bare {
        if message.trailers.is_none() {
            out.send_data(1, &message.body, true).ok()?;
        } else {
            out.send_data(1, &message.body, false).ok()?;
        }
    }
    if let Some(trailers) = &message.trailers {
        out.send_trailers(1, fields(trailers)).ok()?;
    }
    (!out.output().is_empty()).then(|| out.output().to_vec())
}

/// Result of an independent reader: start line, body, and what is left over.
fn read_elsewhere(role: Role, wire: &[u8]) -> (String, Vec<u8>, usize) {
    let mut room = [httparse::EMPTY_HEADER; 1000];
    let (line, length, headers, none) = match role {
        Role::Server => {
            let mut request = httparse::Request::new(&mut room);
            let length = request.parse(wire).expect("a request").unwrap();
            let line = format!("{} {}", request.method.unwrap_or(""), request.path.unwrap_or(""));
            (line, length, request.headers.to_vec(), false)
        }
        Role::Client => {
            let mut response = httparse::Response::new(&mut room);
            let length = response.parse(wire).expect("a response").unwrap();
            let code = response.code.expect("a status");
            let none = code < 200 || code == 204 || code == 304;
            (code.to_string(), length, response.headers.to_vec(), none)
        }
    };
    let values = |wanted: &str| -> Vec<String> {
        let named = headers.iter().filter(|header| header.name.eq_ignore_ascii_case(wanted));
        named
            .map(|header| String::from_utf8_lossy(header.value).into_owned())
            .collect()
    };
    let (lengths, codings) = (values("content-length"), values("transfer-encoding"));
    assert!(
        lengths.len() + codings.len() <= 1,
        "two lengths: {lengths:?} {codings:?}"
    );
    let mut rest = &wire[length..];
    let mut body = Vec::new();
    if none {
        return (line, body, rest.len());
    }
    if codings.is_empty() {
        let length = lengths.first().map_or(0, |length| length.parse().expect("a length"));
        body.extend_from_slice(&rest[..length]);
        return (line, body, rest.len() - length);
    }
    assert_eq!(codings, ["chunked"]);
    loop {
        let (line, size) = httparse::parse_chunk_size(rest).expect("a chunk").unwrap();
        rest = &rest[line..];
        if size == 0 {
            break;
        }
        let size = usize::try_from(size).expect("it is there");
        body.extend_from_slice(&rest[..size]);
        assert_eq!(&rest[size..size + 2], b"\r\n");
        rest = &rest[size + 2..];
    }
    let mut room = [httparse::EMPTY_HEADER; 1000];
    let (trailers, _) = httparse::parse_headers(rest, &mut room).expect("trailers").unwrap();
    (line, body, rest.len() - trailers)
}

fn sorted(message: &Message) -> Message {
    let mut sorted = message.clone();
    sorted.fields.sort();
    sorted
}

fn value<'a>(message: &'a Message, name: &[u8]) -> &'a [u8] {
    let found = message.fields.iter().find(|(known, _)| known == name);
    found.map_or(b"", |(_, value)| value)
}

pub(super) fn run(bytes: &[u8]) {
    let Some((first, said)) = bytes.split_first() else {
        return;
    };
    let role = if first & 1 == 0 { Role::Server } else { Role::Client };
    let whole = receive(role, said, said.len());
    let bodies: usize = whole.messages.iter().map(|message| message.body.len()).sum();
    assert!(bodies <= said.len());
    for piece in [1, 7] {
        assert_eq!(receive(role, said, piece), whole, "in pieces of {piece}");
    }
    let mut all = Vec::new();
    for message in whole.messages.iter().filter(|message| message.whole) {
        let Some(wire) = forward(role, message) else { continue };
        let (line, body, left) = read_elsewhere(role, &wire);
        assert_eq!(left, 0, "bytes behind a message: {}", String::from_utf8_lossy(&wire));
        assert_eq!(body, message.body, "{line}");
        let start = match role {
            Role::Server => [value(message, b":method"), b" ", value(message, b":path")].concat(),
            Role::Client => value(message, b":status").to_vec(),
        };
        assert_eq!(line.as_bytes(), start);
        let again = receive(role, &wire, wire.len());
        assert_eq!((again.messages.len(), again.fault, again.unused), (1, None, 0));
        // A length that was added stands elsewhere the second time: the order of fields of
        // different names means nothing.
        let twice = forward(role, &again.messages[0]).expect("it was written once");
        let third = receive(role, &twice, twice.len());
        assert_eq!(sorted(&third.messages[0]), sorted(&again.messages[0]), "written twice");
        all.push((wire, again));
    }
    // One behind the other on one connection they are still so many.
    if role == Role::Server {
        let line: Vec<u8> = all.iter().flat_map(|(wire, _)| wire.clone()).collect();
        let observed = receive(role, &line, line.len());
        assert_eq!((observed.messages.len(), observed.fault), (all.len(), None));
    }
}

/// Messages and bytes of bodies in what was said: a corpus without them would leave most of the target unread.
pub fn messages_of_http1(bytes: &[u8]) -> (usize, usize) {
    let role = if bytes.first().is_some_and(|first| first & 1 == 1) {
        Role::Client
    } else {
        Role::Server
    };
    let observed = receive(role, bytes.get(1..).unwrap_or_default(), bytes.len());
    let bodies = observed.messages.iter().map(|message| message.body.len()).sum();
    (observed.messages.iter().filter(|message| message.whole).count(), bodies)
}
