mod ending;
mod frames;
mod windows;

use super::*;
use crate::fields::Indexing;

const BOUNDS: Bounds = Bounds {
    streams: 8,
    header_bytes: 4096,
    stream_window: 100_000,
    connection_window: 200_000,
    waiting: 300_000,
};
/// Frames in one turn.
const ALL: usize = usize::MAX;

fn request() -> Fields {
    fields(&[
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/x"),
        (":authority", "nrf"),
    ])
}

/// An interim response that compression makes no smaller.
fn early() -> Fields {
    let mut early = fields(&[(":status", "103")]);
    early.push(b"link", &[b'x'; 1000], Indexing::Plain);
    early
}

fn response() -> Fields {
    fields(&[(":status", "200")])
}

fn fields(list: &[(&str, &str)]) -> Fields {
    let mut fields = Fields::new();
    for (name, value) in list {
        fields.push(name.as_bytes(), value.as_bytes(), Indexing::Kept);
    }
    fields
}

/// The events of one end, bodies in one piece.
#[derive(Debug, Default, PartialEq, Eq)]
struct Observed {
    heads: Vec<(u32, Fields, bool)>,
    /// Responses to requests that are gone.
    orphans: usize,
    body: Vec<u8>,
    ended: bool,
    trailers: Vec<Fields>,
    resets: Vec<(Code, Role, Option<u8>)>,
    unprocessed: usize,
    moved: usize,
}

struct Ends {
    client: Connection<u8>,
    server: Connection<u8>,
    /// Bodies are released as soon as they come.
    reads: bool,
}

impl Ends {
    fn new() -> Self {
        let mut ends = Self {
            client: Connection::new(Role::Client, BOUNDS),
            server: Connection::new(Role::Server, BOUNDS),
            reads: true,
        };
        ends.talk(usize::MAX);
        assert!(ends.client.is_settled() && ends.server.is_settled());
        ends
    }

    /// Carries bytes in both directions until neither end has anything to say; at most so many at a
    /// time.
    fn talk(&mut self, piece: usize) -> [Observed; 2] {
        let mut observed = [Observed::default(), Observed::default()];
        let mut rests = [Vec::new(), Vec::new()];
        loop {
            let mut quiet = true;
            for index in 0..2 {
                let (from, to) = match index {
                    0 => (&mut self.server, &mut self.client),
                    _ => (&mut self.client, &mut self.server),
                };
                let mut held = Vec::new();
                from.pump(&mut held);
                let moved = held.iter().map(|event| match event {
                    Event::Moved { bytes, .. } => *bytes,
                    _ => 0,
                });
                observed[1 - index].moved += moved.sum::<usize>();
                let output = from.output();
                if output.is_empty() {
                    continue;
                }
                quiet = false;
                let bytes = output[..output.len().min(piece)].to_vec();
                from.wrote(bytes.len());
                let rest: &mut Vec<u8> = &mut rests[index];
                rest.extend(bytes);
                let mut more = true;
                while more {
                    let mut events = Vec::new();
                    let received = to.receive(rest, ALL, &mut events).expect("the peer keeps to the rules");
                    for event in events {
                        observed[index].take(event, rest, to, self.reads);
                    }
                    to.seen();
                    rest.drain(..received.used);
                    more = received.more;
                }
            }
            if quiet {
                return observed;
            }
        }
    }
}

impl Observed {
    fn take(&mut self, event: Event<u8>, input: &[u8], of: &mut Connection<u8>, reads: bool) {
        match event {
            Event::Head {
                stream, fields, end, ..
            } => {
                self.heads.push((stream, fields, end));
                self.ended |= end;
                match of.role {
                    Role::Server => drop(of.keep(stream, 7)),
                    Role::Client => self.orphans += usize::from(of.kept(stream).is_none()),
                }
            }
            Event::Data { stream, from, to, end } => {
                self.body.extend_from_slice(&input[from..to]);
                self.ended |= end;
                if reads {
                    of.release(stream, to - from);
                }
            }
            Event::Trailers { fields, .. } => {
                self.trailers.push(fields);
                self.ended = true;
            }
            Event::Reset { code, by, kept } => self.resets.push((code, by, kept)),
            Event::Unprocessed { .. } => self.unprocessed += 1,
            Event::Moved { bytes, .. } => self.moved += bytes,
        }
    }
}

#[test]
fn a_request_and_its_response_pass_and_nothing_is_left() {
    let mut ends = Ends::new();
    let id = ends.client.open(&request(), false, 1, 1).unwrap();
    assert_eq!(ends.client.send_data(id, b"question", true), Ok(8));
    let [_, server] = ends.talk(usize::MAX);
    assert_eq!(server.heads, [(id, request(), false)]);
    assert_eq!((server.body.as_slice(), server.ended), (&b"question"[..], true));
    assert_eq!(ends.server.send_head(id, &response(), false), Ok(()));
    assert_eq!(ends.server.send_data(id, b"answer", false), Ok(6));
    assert_eq!(ends.server.send_trailers(id, fields(&[("checksum", "1")])), Ok(()));
    let [client, _] = ends.talk(usize::MAX);
    assert_eq!(client.body, b"answer");
    assert_eq!(client.trailers.len(), 1, "trailers that come with the last of the body");
    assert!(ends.client.is_idle() && ends.server.is_idle());
}

#[test]
fn a_server_that_speaks_http_1_is_recognised_by_its_first_bytes() {
    let mut client: Connection<u8> = Connection::new(Role::Client, BOUNDS);
    let fault = client
        .receive(b"HTTP/1.1 400 Bad Request\r\n", ALL, &mut Vec::new())
        .unwrap_err();
    assert_eq!(fault.code, Code::HTTP_1_1_REQUIRED);
}
