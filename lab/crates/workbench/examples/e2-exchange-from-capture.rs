//! Makes the file of an E2 exchange from a capture of clear SCTP between an E2 node and its RIC.
//!
//! usage: e2-exchange-from-capture CAPTURE DESCRIPTION RIC-PORT > exchange.json
//!
//! Packets, chunks and their order are read by the wire crate; what a message is called, by tshark.
//! A message that is not whole, comes twice or has no name is an error, so that nothing is left out
//! in silence. How the file in this repository was made: lab/experiments/e2-kpm/README.md.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use bartizan_wire::ip::{SCTP, datagram};
use bartizan_wire::link::{Network, network};
use bartizan_wire::sctp::{self, Data};
use bartizan_wire::{CaptureReader, Timestamp};
use bartizan_workbench::stand_in::e2::exchange::{End, File, Procedure, Recorded, SCHEMA};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [capture, description, port] = arguments.as_slice() else {
        eprintln!("usage: e2-exchange-from-capture CAPTURE DESCRIPTION RIC-PORT > exchange.json");
        return ExitCode::from(64);
    };
    match exchange(Path::new(capture), description, port).and_then(|file| {
        let text = serde_json::to_string_pretty(&file).map_err(|error| error.to_string())?;
        println!("{text}");
        Ok(())
    }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// A DATA chunk with the packet it came in.
struct Piece {
    packet: u64,
    at: Timestamp,
    stream: u16,
    payload_protocol: u32,
    begins: bool,
    ends: bool,
    bytes: Vec<u8>,
}

pub(crate) fn exchange(capture: &Path, description: &str, port: &str) -> Result<File, String> {
    let port: u16 = port.parse().map_err(|error| format!("port `{port}`: {error}"))?;
    let bytes = fs::read(capture).map_err(|error| format!("{}: {error}", capture.display()))?;
    let mut reader = CaptureReader::new();
    reader.push(&bytes);
    let mut began = None;
    let mut pieces: BTreeMap<(bool, u32), Piece> = BTreeMap::new();
    while let Some(packet) = reader.next_packet().map_err(|error| error.to_string())? {
        let Network::Ip(ip) = network(packet.link, packet.data) else {
            continue;
        };
        let Some(datagram) = datagram(ip).filter(|datagram| datagram.protocol == SCTP) else {
            continue;
        };
        let Some(read) = sctp::packet(datagram.payload, datagram.missing) else {
            return Err(format!("packet {}: not SCTP", packet.number));
        };
        began.get_or_insert(packet.time);
        let from_ric = read.source_port == port;
        for data in read.chunks().filter_map(|chunk| Data::read(&chunk)) {
            if data.missing > 0 {
                return Err(format!("packet {}: not all of it was captured", packet.number));
            }
            let piece = Piece {
                packet: packet.number,
                at: packet.time,
                stream: data.stream,
                payload_protocol: data.payload_protocol.unwrap_or_default(),
                begins: data.begins,
                ends: data.ends,
                bytes: data.payload.to_vec(),
            };
            if pieces.insert((from_ric, data.tsn), piece).is_some() {
                return Err(format!("packet {}: TSN {} came before", packet.number, data.tsn));
            }
        }
    }
    let began = began.ok_or("no SCTP")?;
    let names = names(capture, port)?;
    let mut messages: Vec<(u64, Recorded)> = Vec::new();
    let mut open: Option<(u64, Recorded)> = None;
    for ((from_ric, _), piece) in pieces {
        if piece.begins != open.is_none() {
            return Err(format!("packet {}: a message is not whole", piece.packet));
        }
        let (first, recorded) = open.get_or_insert_with(|| {
            let recorded = Recorded {
                at_us: piece.at.since(began) / 1000,
                from: if from_ric { End::Ric } else { End::Node },
                procedure: Procedure::Indication,
                stream: piece.stream,
                payload_protocol: piece.payload_protocol,
                chunks: 0,
                bytes: String::new(),
            };
            (piece.packet, recorded)
        });
        let first = *first;
        recorded.chunks += 1;
        recorded
            .bytes
            .extend(piece.bytes.iter().map(|byte| format!("{byte:02x}")));
        if piece.ends {
            let name = names.get(&piece.packet);
            recorded.procedure = *name.ok_or_else(|| format!("packet {}: tshark names no procedure", piece.packet))?;
            messages.extend(open.take().map(|(_, recorded)| (first, recorded)));
        }
    }
    if open.is_some() {
        return Err("the last message is not whole".to_owned());
    }
    messages.sort_by_key(|(packet, _)| *packet);
    let name = capture.file_name().ok_or("the capture has no file name")?;
    Ok(File {
        schema: SCHEMA.to_owned(),
        description: description.to_owned(),
        capture: name.to_string_lossy().into_owned(),
        messages: messages.into_iter().map(|(_, recorded)| recorded).collect(),
    })
}

/// Names that tshark prints for messages, by the packet in which each message ends.
fn names(capture: &Path, port: u16) -> Result<BTreeMap<u64, Procedure>, String> {
    const KNOWN: [(&str, Procedure); 7] = [
        ("E2setupRequest", Procedure::SetupRequest),
        ("E2setupResponse", Procedure::SetupResponse),
        ("RICsubscriptionRequest", Procedure::SubscriptionRequest),
        ("RICsubscriptionResponse", Procedure::SubscriptionResponse),
        ("RICindication", Procedure::Indication),
        ("RICsubscriptionDeleteRequest", Procedure::DeleteRequest),
        ("RICsubscriptionDeleteResponse", Procedure::DeleteResponse),
    ];
    let output = Command::new("tshark")
        .args(["-n", "-d", &format!("sctp.port=={port},e2ap"), "-r"])
        .arg(capture)
        .args(["-Y", "e2ap", "-T", "fields", "-e", "frame.number", "-e", "_ws.col.Info"])
        .output()
        .map_err(|error| format!("tshark: {error}"))?;
    if !output.status.success() {
        return Err(format!("tshark: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let mut names = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some((number, information)) = line.split_once('\t') else {
            continue;
        };
        // A name may go on: `RICsubscriptionRequest[Malformed Packet]`.
        let words = information.split(|letter: char| !letter.is_ascii_alphanumeric());
        let mut known = words.filter_map(|word| KNOWN.iter().find(|(name, _)| *name == word));
        if let (Ok(number), Some((_, procedure))) = (number.parse(), known.next_back()) {
            names.insert(number, *procedure);
        }
    }
    Ok(names)
}
