//! The load client: one HTTP/2 connection, one thread, blocking. Nothing has a lower floor on one
//! core: a request costs it one write and one read.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::Error;
use crate::stand_in::proxies::frame::{
    ACK, DATA, END_HEADERS, END_STREAM, Frame, GOAWAY, HEADERS, Inbox, PING, PREFACE, RST_STREAM, Received, SETTINGS,
    SETTINGS_HEADER_TABLE_SIZE, SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_UPDATE, put, put_literal, put_named, put_opening,
};
use crate::stand_in::proxies::{ANSWER_BYTES, REQUEST_BYTES};

/// Time limit for a response. After it the trial counts as failed.
const PATIENCE: Duration = Duration::from_secs(10);
/// Initial send window of a connection and of a stream (section 6.9.2), in bytes.
const INITIAL_WINDOW: i64 = 65_535;
/// `:status 200` in the static table of HPACK, which every encoder uses.
const STATUS_200: u8 = 0x88;

/// One unencrypted HTTP/2 connection.
#[derive(Debug)]
pub(super) struct Client {
    socket: TcpStream,
    inbox: Inbox,
    out: Vec<u8>,
    next_stream: u32,
    headers: Headers,
    body: Vec<u8>,
    /// Send window of the connection.
    send_window: i64,
    received: Received,
    /// Streams without an answer yet, with the bytes received of it.
    open: Vec<(u32, usize)>,
    answered: u64,
    /// The field that each request has besides, whose value is another one each time.
    traced: bool,
}

/// `traceparent` of a sampled trace, as applications send it.
const TRACE_PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Encoding of the next header block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Headers {
    /// With its fields put into the dynamic table.
    First,
    /// By reference to the dynamic table.
    Indexed,
    /// After the other side has made the table smaller: the block begins with that, and nothing is
    /// referred to any more.
    Emptied,
    /// Without any table.
    Literal,
}

impl Client {
    /// Connects and puts the opening of the connection before the first request.
    pub(super) fn connect(address: SocketAddr) -> Result<Self, Error> {
        let failed = |source| Error::Connection { address, source };
        let socket = TcpStream::connect(address).map_err(failed)?;
        socket.set_nodelay(true).map_err(failed)?;
        socket.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        socket.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
        let mut out = PREFACE.to_vec();
        put_opening(&mut out);
        Ok(Self {
            socket,
            inbox: Inbox::new(),
            out,
            next_stream: 1,
            headers: Headers::First,
            body: request_body(),
            send_window: INITIAL_WINDOW,
            received: Received::default(),
            open: Vec::new(),
            answered: 0,
            traced: false,
        })
    }

    /// Has each request belong to a trace.
    pub(super) fn traced(self) -> Self {
        Self { traced: true, ..self }
    }

    /// Sends one request and waits for the whole answer.
    pub(super) fn exchange(&mut self) -> Result<Duration, Error> {
        let began = Instant::now();
        self.keep_busy(1, 1)?;
        Ok(began.elapsed())
    }

    /// Sends `requests`, keeping so many under way at once.
    pub(super) fn load(&mut self, streams: usize, requests: u64) -> Result<Duration, Error> {
        let began = Instant::now();
        self.keep_busy(streams, requests)?;
        Ok(began.elapsed())
    }

    fn keep_busy(&mut self, streams: usize, requests: u64) -> Result<(), Error> {
        let until = self.answered + requests;
        let mut unsent = requests;
        while self.answered < until {
            while unsent > 0 && self.open.len() < streams && self.send_window >= REQUEST_BYTES as i64 {
                self.put_request();
                unsent -= 1;
            }
            self.send()?;
            self.receive()?;
        }
        // Acknowledgements that came with the last answer.
        self.send()
    }

    fn put_request(&mut self) {
        let stream = self.next_stream;
        // A connection has 2^30 streams, hours of load.
        self.next_stream += 2;
        let mut block = header_block(self.headers);
        if self.traced {
            put_named(&mut block, "traceparent", TRACE_PARENT);
        }
        self.headers = match self.headers {
            Headers::First => Headers::Indexed,
            Headers::Emptied => Headers::Literal,
            same => same,
        };
        put(&mut self.out, HEADERS, END_HEADERS, stream, &block);
        put(&mut self.out, DATA, END_STREAM, stream, &self.body);
        self.send_window -= REQUEST_BYTES as i64;
        self.open.push((stream, 0));
    }

    fn send(&mut self) -> Result<(), Error> {
        if !self.out.is_empty() {
            self.socket.write_all(&self.out).map_err(Error::Broken)?;
            self.out.clear();
        }
        Ok(())
    }

    /// Reads once, and takes all frames that are whole then.
    fn receive(&mut self) -> Result<(), Error> {
        if !self.inbox.read(&self.socket).map_err(Error::Broken)? {
            return Err(Error::Protocol(
                "the connection was closed before the answer".to_owned(),
            ));
        }
        loop {
            let Some((frame, length)) = Frame::cut(self.inbox.bytes())? else {
                return Ok(());
            };
            match frame.kind {
                HEADERS => {
                    check_status(frame.content()?)?;
                    if frame.has(END_STREAM) {
                        finish(&mut self.open, &mut self.answered, frame.stream, 0)?;
                    }
                }
                DATA => {
                    self.received.count(frame.payload.len(), &mut self.out);
                    let content = frame.content()?.len();
                    if frame.has(END_STREAM) {
                        finish(&mut self.open, &mut self.answered, frame.stream, content)?;
                    } else if let Some((_, bytes)) = self.open.iter_mut().find(|(open, _)| *open == frame.stream) {
                        *bytes += content;
                    }
                }
                SETTINGS if !frame.has(ACK) => {
                    put(&mut self.out, SETTINGS, ACK, 0, &[]);
                    for (parameter, value) in frame.settings() {
                        // Smaller than what we have put into it already.
                        if parameter == SETTINGS_HEADER_TABLE_SIZE && value < 4096 && self.headers != Headers::Literal {
                            self.headers = Headers::Emptied;
                        }
                        if parameter == SETTINGS_INITIAL_WINDOW_SIZE && (value as usize) < REQUEST_BYTES {
                            return Err(Error::Protocol(format!("a stream window of {value} bytes")));
                        }
                    }
                }
                WINDOW_UPDATE if frame.stream == 0 => self.send_window += i64::from(frame.number()),
                PING if !frame.has(ACK) => {
                    let payload = frame.payload.to_vec();
                    put(&mut self.out, PING, ACK, 0, &payload);
                }
                RST_STREAM => {
                    return Err(Error::Protocol(format!(
                        "a stream was reset with code {}",
                        frame.number()
                    )));
                }
                GOAWAY => return Err(Error::Protocol("GOAWAY before the answer".to_owned())),
                _ => {}
            }
            self.inbox.consume(length);
        }
    }
}

fn finish(open: &mut Vec<(u32, usize)>, answered: &mut u64, stream: u32, last: usize) -> Result<(), Error> {
    let index = open.iter().position(|(known, _)| *known == stream);
    let Some(index) = index else {
        return Err(Error::Protocol(format!(
            "an answer on stream {stream}, which is not open"
        )));
    };
    let (_, bytes) = open.swap_remove(index);
    if bytes + last != ANSWER_BYTES {
        return Err(Error::Protocol(format!("an answer of {} bytes", bytes + last)));
    }
    *answered += 1;
    Ok(())
}

/// The status comes first (section 8.3), after changes of the table's size (RFC 7541, section 6.3).
fn check_status(mut block: &[u8]) -> Result<(), Error> {
    while let Some((&first, rest)) = block.split_first() {
        match first {
            STATUS_200 => return Ok(()),
            0x3f => {
                let end = rest
                    .iter()
                    .position(|byte| byte & 0x80 == 0)
                    .map_or(rest.len(), |last| last + 1);
                block = &rest[end..];
            }
            0x20..0x3f => block = rest,
            _ => break,
        }
    }
    Err(Error::Protocol("an answer with another status than 200".to_owned()))
}

/// A request of an AMF to a UDM, as TS 29.503 has it.
fn header_block(headers: Headers) -> Vec<u8> {
    let length = REQUEST_BYTES.to_string();
    // Names by their index in the static table.
    let fields = [
        (
            0x04,
            "/nudm-ueau/v1/imsi-208930000000001/security-information/generate-auth-data",
        ),
        (0x01, "producer.5gc"),
        (0x1f, "application/json"),
        (0x1c, length.as_str()),
    ];
    // :method POST, :scheme http
    let mut block = vec![0x83, 0x86];
    match headers {
        // The newest entry of the dynamic table has the lowest index, 62.
        Headers::Indexed => block.extend_from_slice(&[0x80 | 65, 0x80 | 64, 0x80 | 63, 0x80 | 62]),
        Headers::First => fields
            .into_iter()
            .for_each(|(name, value)| put_literal(&mut block, 0x40, 6, name, value)),
        Headers::Emptied | Headers::Literal => {
            fields
                .into_iter()
                .for_each(|(name, value)| put_literal(&mut block, 0x00, 4, name, value));
        }
    }
    if headers == Headers::Emptied {
        // The size of the dynamic table is now 0.
        block.insert(0, 0x20);
    }
    block
}

/// JSON of the size that requests have, filled up with a string.
fn request_body() -> Vec<u8> {
    let (begin, end) = (
        r#"{"servingNetworkName":"5G:mnc093.mcc208.3gppnetwork.org","ausfInstanceId":""#,
        r#""}"#,
    );
    let fill = REQUEST_BYTES - begin.len() - end.len();
    [begin, &"0".repeat(fill), end].concat().into_bytes()
}
