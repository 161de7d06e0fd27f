//! Makes the file of an exchange from a capture of clear HTTP/2 between network functions.
//!
//! usage: exchange-from-capture CAPTURE DESCRIPTION ADDRESS:PORT=FUNCTION... > exchange.json
//!
//! The capture is dissected by tshark, which also decodes HPACK. Anything in it that the file could not tell (a
//! stream without answer and without GOAWAY, trailers, an unknown server) is an error, so that nothing is left out
//! in silence. How the file in this repository was made: lab/experiments/ue-registration/README.md.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};

use bartizan_workbench::stand_in::exchange::file::{
    Answer, Body, Closed, Connection, End, File, Flag, Goaway, Request, SCHEMA, Server, Source, bytes,
};
use serde_json::Value;

/// HTTP/2 frame types (RFC 9113 section 6).
const DATA: u64 = 0x00;
const HEADERS: u64 = 0x01;
const GOAWAY: u64 = 0x07;
/// Flag of DATA and HEADERS.
const END_STREAM: u64 = 0x01;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [capture, description, servers @ ..] = arguments.as_slice() else {
        eprintln!("usage: exchange-from-capture CAPTURE DESCRIPTION ADDRESS:PORT=FUNCTION... > exchange.json");
        return ExitCode::from(64);
    };
    match exchange(capture, description, servers).and_then(|file| {
        println!(
            "{}",
            serde_json::to_string_pretty(&file).map_err(|error| error.to_string())?
        );
        Ok(())
    }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

pub(crate) fn exchange(capture: &str, description: &str, servers: &[String]) -> Result<File, String> {
    let servers = servers
        .iter()
        .map(|server| {
            let (address, function) = server.split_once('=').ok_or_else(|| format!("`{server}` has no `=`"))?;
            Ok(Server {
                function: function.to_owned(),
                address: address.to_owned(),
            })
        })
        .collect::<Result<Vec<_>, String>>()?;
    let packets = dissect(capture, &servers)?;
    let mut connections: BTreeMap<u64, Recording> = BTreeMap::new();
    for packet in packets.as_array().ok_or("tshark printed no list")? {
        let packet = Packet::of(&packet["_source"]["layers"])?;
        let connection = connections
            .entry(packet.stream)
            .or_insert_with(|| Recording::begin(&packet, &servers));
        connection
            .see(&packet)
            .map_err(|error| format!("TCP stream {}: {error}", packet.stream))?;
    }
    let connections = connections
        .into_iter()
        .map(|(stream, recording)| recording.end().map_err(|error| format!("TCP stream {stream}: {error}")))
        .collect::<Result<Vec<_>, _>>()?;
    let name = Path::new(capture).file_name().ok_or("the capture has no file name")?;
    Ok(File {
        schema: SCHEMA.to_owned(),
        source: Source {
            description: description.to_owned(),
            capture: name.to_string_lossy().into_owned(),
            dissector: dissector()?,
        },
        servers,
        connections,
    })
}

/// All TCP packets, as tshark prints them.
fn dissect(capture: &str, servers: &[Server]) -> Result<Value, String> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-r", capture, "-Y", "tcp", "-T", "json", "--no-duplicate-keys"]);
    // A frame in several segments is shown at the last of them.
    tshark.args(["-o", "tcp.desegment_tcp_streams:TRUE"]);
    for server in servers {
        let (_, port) = server
            .address
            .rsplit_once(':')
            .ok_or_else(|| format!("`{}` has no port", server.address))?;
        tshark.args(["-d", &format!("tcp.port=={port},http2")]);
    }
    let output = tshark.output().map_err(|error| format!("tshark: {error}"))?;
    if !output.status.success() {
        return Err(format!("tshark: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("tshark: {error}"))
}

fn dissector() -> Result<String, String> {
    let output = Command::new("tshark")
        .arg("--version")
        .output()
        .map_err(|error| format!("tshark: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or("tshark").trim().to_owned())
}

/// The relevant fields of a packet.
struct Packet<'a> {
    at_us: u64,
    stream: u64,
    from: String,
    to: String,
    flags: u64,
    frames: Vec<&'a Value>,
}

impl<'a> Packet<'a> {
    fn of(layers: &'a Value) -> Result<Self, String> {
        let tcp = &layers["tcp"];
        let ip = if layers["ip"].is_object() {
            &layers["ip"]
        } else {
            &layers["ipv6"]
        };
        let end = |address: &str, port: &str| -> Result<String, String> {
            let address = ip[format!("ip.{address}")]
                .as_str()
                .or(ip[format!("ipv6.{address}")].as_str());
            Ok(format!(
                "{}:{}",
                address.ok_or("a packet without IP address")?,
                text(&tcp[port])?
            ))
        };
        Ok(Self {
            at_us: microseconds(text(&layers["frame"]["frame.time_relative"])?)?,
            stream: number(&tcp["tcp.stream"])?,
            from: end("src", "tcp.srcport")?,
            to: end("dst", "tcp.dstport")?,
            flags: number(&tcp["tcp.flags"])?,
            frames: list(&layers["http2"])
                .into_iter()
                .flat_map(|layer| list(&layer["http2.stream"]))
                .filter(|frame| frame["http2.type"].is_string())
                .collect(),
        })
    }
}

/// A connection while it is read.
struct Recording {
    client: String,
    server: Option<String>,
    opened_us: u64,
    streams: BTreeMap<u32, Stream>,
    goaway: Option<Goaway>,
    closed: Option<Closed>,
}

#[derive(Default)]
struct Stream {
    request: Option<Message>,
    answer: Option<Message>,
}

/// One direction of a stream.
struct Message {
    sent_us: u64,
    complete_us: Option<u64>,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Recording {
    fn begin(syn: &Packet<'_>, servers: &[Server]) -> Self {
        let server = servers
            .iter()
            .find(|server| server.address == syn.to)
            .map(|server| server.function.clone());
        Self {
            client: syn.from.clone(),
            server,
            opened_us: syn.at_us,
            streams: BTreeMap::new(),
            goaway: None,
            closed: None,
        }
    }

    fn see(&mut self, packet: &Packet<'_>) -> Result<(), String> {
        let by = if packet.from == self.client {
            End::Client
        } else {
            End::Server
        };
        for frame in &packet.frames {
            self.frame(frame, by, packet.at_us)?;
        }
        let with = match packet.flags {
            flags if flags & 0x04 != 0 => Flag::Rst,
            flags if flags & 0x01 != 0 => Flag::Fin,
            _ => return Ok(()),
        };
        self.closed.get_or_insert(Closed {
            at_us: packet.at_us,
            by,
            with,
        });
        Ok(())
    }

    fn frame(&mut self, frame: &Value, by: End, at_us: u64) -> Result<(), String> {
        let stream = u32::try_from(number(&frame["http2.streamid"])?).map_err(|error| error.to_string())?;
        let (kind, flags) = (number(&frame["http2.type"])?, number(&frame["http2.flags"])?);
        match kind {
            GOAWAY if by == End::Server => {
                let field = |name: &str| -> Result<u32, String> {
                    u32::try_from(number(&frame[name])?).map_err(|error| error.to_string())
                };
                let goaway = Goaway {
                    at_us,
                    last_stream: field("http2.goaway.last_stream_id")?,
                    error: field("http2.goaway.error")?,
                };
                self.goaway.get_or_insert(goaway);
            }
            HEADERS => {
                let message = self.message(stream, by);
                if message.is_some() {
                    return Err(format!("stream {stream} has trailers, which the file cannot tell"));
                }
                let fields = list(&frame["http2.header"])
                    .into_iter()
                    .map(|field| Ok((text(&field["http2.header.name"])?.to_owned(), value_of(field)?)))
                    .collect::<Result<_, String>>()?;
                let complete_us = (flags & END_STREAM != 0).then_some(at_us);
                *message = Some(Message {
                    sent_us: at_us,
                    complete_us,
                    fields,
                    body: Vec::new(),
                });
            }
            DATA => {
                let message = self.message(stream, by).as_mut().ok_or("DATA before HEADERS")?;
                if let Some(data) = frame["http2.data.data"].as_str() {
                    message
                        .body
                        .extend(bytes(&data.replace(':', "")).ok_or("DATA is not hexadecimal")?);
                }
                if flags & END_STREAM != 0 {
                    message.complete_us = Some(at_us);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn message(&mut self, stream: u32, by: End) -> &mut Option<Message> {
        let stream = self.streams.entry(stream).or_default();
        match by {
            End::Client => &mut stream.request,
            End::Server => &mut stream.answer,
        }
    }

    fn end(self) -> Result<Connection, String> {
        let last = self.goaway.as_ref().map(|goaway| goaway.last_stream);
        let requests = self
            .streams
            .into_iter()
            .map(|(stream, Stream { request, answer })| {
                let request = request.ok_or_else(|| format!("stream {stream} has no request"))?;
                if answer.is_none() && last.is_none_or(|last| stream <= last) {
                    return Err(format!("stream {stream} was neither answered nor refused"));
                }
                request.into_request(stream, answer)
            })
            .collect::<Result<_, String>>()?;
        Ok(Connection {
            opened_us: self.opened_us,
            server: self.server.ok_or("no network function is named for its server")?,
            requests,
            goaway: self.goaway,
            closed: self.closed,
        })
    }
}

impl Message {
    fn into_request(mut self, stream: u32, answer: Option<Message>) -> Result<Request, String> {
        let [method, scheme, authority, path] =
            [":method", ":scheme", ":authority", ":path"].map(|name| self.take(name));
        let path = path?;
        Ok(Request {
            stream,
            sent_us: self.sent_us,
            complete_us: self
                .complete_us
                .ok_or_else(|| format!("the request of stream {stream} has no end"))?,
            consumer: query(&path, "requester-nf-type"),
            method: method?,
            scheme: scheme?,
            authority: authority?,
            path,
            headers: self.fields,
            body: Body::of(self.body),
            answer: answer.map(|answer| answer.into_answer(stream)).transpose()?,
        })
    }

    fn into_answer(mut self, stream: u32) -> Result<Answer, String> {
        let status = self.take(":status")?;
        Ok(Answer {
            sent_us: self.sent_us,
            complete_us: self
                .complete_us
                .ok_or_else(|| format!("the answer of stream {stream} has no end"))?,
            status: status.parse().map_err(|error| format!("status `{status}`: {error}"))?,
            headers: self.fields,
            body: Body::of(self.body),
        })
    }

    /// A field that is there once.
    fn take(&mut self, name: &str) -> Result<String, String> {
        let index = self
            .fields
            .iter()
            .position(|(field, _)| field == name)
            .ok_or_else(|| format!("no {name}"))?;
        Ok(self.fields.remove(index).1)
    }
}

/// A value in the query of a path.
fn query(path: &str, name: &str) -> Option<String> {
    let (_, query) = path.split_once('?')?;
    query
        .split('&')
        .find_map(|pair| Some(pair.strip_prefix(name)?.strip_prefix('=')?.to_owned()))
}

/// A field without a value is printed without one.
fn value_of(field: &Value) -> Result<String, String> {
    match &field["http2.header.value"] {
        Value::Null => Ok(String::new()),
        value => Ok(text(value)?.to_owned()),
    }
}

/// tshark prints one of a kind as itself and several as a list.
fn list(value: &Value) -> Vec<&Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(values) => values.iter().collect(),
        value => vec![value],
    }
}

fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("expected text, not {value}"))
}

/// tshark prints numbers as text, some of them in base 16.
fn number(value: &Value) -> Result<u64, String> {
    let text = text(value)?;
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|error| format!("`{text}`: {error}"))
}

/// `1.025300000` seconds as microseconds, without the detour over floating point.
fn microseconds(seconds: &str) -> Result<u64, String> {
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let parsed =
        || Some(whole.parse::<u64>().ok()? * 1_000_000 + format!("{fraction:0<6}").get(..6)?.parse::<u64>().ok()?);
    parsed().ok_or_else(|| format!("`{seconds}` is not a time"))
}
