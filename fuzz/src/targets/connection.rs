//! Bytes that one end of an HTTP/2 connection sends to a proxy: the cuts between pieces decide
//! nothing, and no end sends or holds more for them than they are worth.
//!
//! Input: a byte whose lowest bit is the role of this end, then what the other end sends, without a preface.

use bartizan_http2::{Bounds, Connection, Event, PREFACE, Role};

const BOUNDS: Bounds = Bounds {
    streams: 8,
    header_bytes: 4096,
    stream_window: 100_000,
    connection_window: 200_000,
    waiting: 300_000,
};

/// Result of a run, bodies in one piece.
#[derive(Debug, Default, PartialEq, Eq)]
struct Observed {
    heads: Vec<(u32, String, bool)>,
    body: Vec<u8>,
    trailers: u64,
    resets: u64,
    unprocessed: u64,
    fault: Option<&'static str>,
}

/// Receives what came, in pieces of so many bytes; how much it sent, too.
fn receive(role: Role, bytes: &[u8], piece: usize) -> (Observed, usize) {
    let mut connection: Connection<u8> = Connection::new(role, BOUNDS);
    let opening = connection.output().len();
    let (mut observed, mut waiting) = (Observed::default(), Vec::new());
    'all: for piece in bytes.chunks(piece) {
        waiting.extend_from_slice(piece);
        loop {
            let mut events = Vec::new();
            let received = connection.receive(&waiting, usize::MAX, &mut events);
            for event in events {
                match event {
                    Event::Head {
                        stream, fields, end, ..
                    } => observed.heads.push((stream, format!("{fields:?}"), end)),
                    Event::Data { stream, from, to, .. } => {
                        observed.body.extend_from_slice(&waiting[from..to]);
                        connection.release(stream, to - from);
                    }
                    Event::Trailers { .. } => observed.trailers += 1,
                    Event::Reset { .. } => observed.resets += 1,
                    Event::Unprocessed { .. } => observed.unprocessed += 1,
                    Event::Moved { .. } => {}
                }
            }
            connection.seen();
            match received {
                Err(fault) => {
                    observed.fault = Some(fault.why);
                    break 'all;
                }
                Ok(received) => {
                    waiting.drain(..received.used);
                    if received.used == 0 {
                        break;
                    }
                }
            }
        }
        assert!(
            connection.open_streams() <= BOUNDS.streams as usize,
            "more streams than allowed"
        );
    }
    (observed, connection.output().len() - opening)
}

pub(super) fn run(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else {
        return;
    };
    let role = if first & 1 == 0 { Role::Server } else { Role::Client };
    let mut said = if role == Role::Server {
        PREFACE.to_vec()
    } else {
        Vec::new()
    };
    said.extend(rest);
    let (whole, sent) = receive(role, &said, said.len().max(1));
    assert!(sent <= 4 * said.len() + 100, "{sent} bytes for {}", said.len());
    assert!(whole.body.len() <= said.len());
    for piece in [1, 7] {
        assert_eq!(receive(role, &said, piece).0, whole, "in pieces of {piece}");
    }
}

/// Heads and bytes of bodies in what was said: a corpus without them would leave most of the target unread.
pub fn messages_of_http2(bytes: &[u8]) -> (usize, usize) {
    let said = [PREFACE, bytes.get(1..).unwrap_or_default()].concat();
    let (observed, _) = receive(Role::Server, &said, said.len());
    (observed.heads.len(), observed.body.len())
}
