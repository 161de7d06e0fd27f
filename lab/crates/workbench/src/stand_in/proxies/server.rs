//! The server behind every route that is measured: unencrypted HTTP/2, a thread per connection, the
//! same answer to everything.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use crate::Error;
use crate::stand_in::proxies::ANSWER_BYTES;
use crate::stand_in::proxies::frame::{
    ACK, DATA, END_HEADERS, END_STREAM, Frame, HEADERS, Inbox, PING, PREFACE, Received, SETTINGS,
    SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_UPDATE, put, put_literal, put_opening,
};

/// Answers every request of every connection with 200 and 1024 bytes of JSON, until the process ends.
///
/// # Errors
/// Fails when connections can no longer be accepted.
pub fn serve(listener: &TcpListener) -> io::Result<()> {
    let answer = answer();
    loop {
        let (socket, _) = listener.accept()?;
        let answer = answer.clone();
        // A peer that breaks off ends its own thread only.
        thread::Builder::new()
            .stack_size(256 * 1024)
            .spawn(move || Connection::new(socket, answer).serve())?;
    }
}

/// The frames of an answer, whose stream is still to be written in.
#[derive(Debug, Clone)]
struct Answer {
    headers: Vec<u8>,
    body: Vec<u8>,
}

fn answer() -> Answer {
    // :status 200, then names by their index in the static table.
    let mut headers = vec![0x88];
    put_literal(&mut headers, 0x00, 4, 0x1f, "application/json");
    put_literal(&mut headers, 0x00, 4, 0x1c, &ANSWER_BYTES.to_string());
    let (begin, end) = (r#"{"authType":"5G_AKA","authenticationVector":""#, r#""}"#);
    let fill = ANSWER_BYTES - begin.len() - end.len();
    Answer {
        headers,
        body: [begin, &"0".repeat(fill), end].concat().into_bytes(),
    }
}

struct Connection {
    socket: TcpStream,
    inbox: Inbox,
    out: Vec<u8>,
    answer: Answer,
    /// Send window of the connection. A stream may take an answer whole, or we refuse it.
    send_window: i64,
    received: Received,
    /// Streams whose answer waits for the window.
    waiting: VecDeque<u32>,
}

impl Connection {
    fn new(socket: TcpStream, answer: Answer) -> Self {
        let mut out = Vec::new();
        put_opening(&mut out);
        Self {
            socket,
            inbox: Inbox::new(),
            out,
            answer,
            send_window: 65_535,
            received: Received::default(),
            waiting: VecDeque::new(),
        }
    }

    fn serve(mut self) -> Result<(), Error> {
        self.socket.set_nodelay(true).map_err(Error::Broken)?;
        while self.inbox.bytes().len() < PREFACE.len() {
            if !self.inbox.read(&self.socket).map_err(Error::Broken)? {
                return Ok(());
            }
        }
        if !self.inbox.bytes().starts_with(PREFACE) {
            return Err(Error::Protocol("no HTTP/2 preface".to_owned()));
        }
        self.inbox.consume(PREFACE.len());
        loop {
            self.take_frames()?;
            while self.send_window >= ANSWER_BYTES as i64
                && let Some(stream) = self.waiting.pop_front()
            {
                put(&mut self.out, HEADERS, END_HEADERS, stream, &self.answer.headers);
                put(&mut self.out, DATA, END_STREAM, stream, &self.answer.body);
                self.send_window -= ANSWER_BYTES as i64;
            }
            if !self.out.is_empty() {
                self.socket.write_all(&self.out).map_err(Error::Broken)?;
                self.out.clear();
            }
            if !self.inbox.read(&self.socket).map_err(Error::Broken)? {
                return Ok(());
            }
        }
    }

    fn take_frames(&mut self) -> Result<(), Error> {
        while let Some((frame, length)) = Frame::cut(self.inbox.bytes())? {
            match frame.kind {
                HEADERS | DATA => {
                    if frame.kind == DATA {
                        self.received.count(frame.payload.len(), &mut self.out);
                    }
                    if frame.has(END_STREAM) {
                        self.waiting.push_back(frame.stream);
                    }
                }
                SETTINGS if !frame.has(ACK) => {
                    put(&mut self.out, SETTINGS, ACK, 0, &[]);
                    let window = frame
                        .settings()
                        .find(|(parameter, _)| *parameter == SETTINGS_INITIAL_WINDOW_SIZE);
                    if let Some((_, window)) = window.filter(|(_, window)| (*window as usize) < ANSWER_BYTES) {
                        return Err(Error::Protocol(format!("a stream window of {window} bytes")));
                    }
                }
                WINDOW_UPDATE if frame.stream == 0 => self.send_window += i64::from(frame.number()),
                PING if !frame.has(ACK) => {
                    let payload = frame.payload.to_vec();
                    put(&mut self.out, PING, ACK, 0, &payload);
                }
                _ => {}
            }
            self.inbox.consume(length);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::stand_in::proxies::client::Client;

    fn started() -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || serve(&listener));
        address
    }

    #[test]
    fn every_request_is_answered_whatever_the_concurrency() {
        let mut client = Client::connect(started()).unwrap();
        for _ in 0..50 {
            client.exchange().unwrap();
        }
        for streams in [1, 16, 64, 200] {
            client.load(streams, 2_000).unwrap();
        }
        client.exchange().unwrap();
    }

    #[test]
    fn what_is_not_http2_is_hung_up_on() {
        use std::io::Read as _;
        let mut socket = TcpStream::connect(started()).unwrap();
        socket.write_all(b"GET / HTTP/1.1\r\nHost: nobody\r\n\r\n").unwrap();
        let mut said = Vec::new();
        // The rest of what we sent may be unread when the server closes: a reset is as good as an end.
        let _ = socket.read_to_end(&mut said);
        assert!(said.is_empty(), "{said:?}");
    }
}
