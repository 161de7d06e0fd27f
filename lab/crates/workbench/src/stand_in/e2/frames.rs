//! Frames in a capture of the link, read with the wire crate.

use std::fs;
use std::net::IpAddr;
use std::path::Path;

pub use bartizan_wire::ip::{ESP, SCTP, UDP};
use bartizan_wire::link::{Network, network};
use bartizan_wire::sctp::{self, Data, kind};
use bartizan_wire::{CaptureReader, Packet, ip};

use super::turns::{Turn, Turns};
use crate::Error;

/// A frame with an IP packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Nanoseconds since 1970, by the kernel.
    pub at: u64,
    /// Bytes on the wire.
    pub length: usize,
    /// The sender.
    pub source: IpAddr,
    /// The protocol in it.
    pub protocol: u8,
    /// The SCTP content, if readable.
    pub content: Content,
}

/// SCTP content of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// User data: this many bytes of messages.
    Data(usize),
    /// An acknowledgement and nothing else.
    Sack,
    /// Set-up, end, heartbeats.
    Other,
    /// Not SCTP, or encrypted.
    Unread,
}

/// The frames of a capture, in order, without those that carry no IP.
///
/// # Errors
/// Fails if the file is not a capture of ours.
pub fn read(path: &Path) -> Result<Vec<Frame>, Error> {
    let mut frames = Vec::new();
    each(path, |packet| {
        let Network::Ip(bytes) = network(packet.link, packet.data) else {
            return;
        };
        if let Some(datagram) = ip::datagram(bytes) {
            let sctp = Some(datagram.protocol).filter(|&protocol| protocol == SCTP);
            let read = sctp.and_then(|_| sctp::packet(datagram.payload, datagram.missing));
            frames.push(Frame {
                at: packet.time.0,
                length: packet.original_length as usize,
                source: datagram.source,
                protocol: datagram.protocol,
                content: read.map_or(Content::Unread, |packet| content(&packet)),
            });
        }
    })?;
    Ok(frames)
}

/// The changes of direction among the packets of a protocol.
///
/// # Errors
/// Fails if the file is not a capture of ours.
pub fn turns(path: &Path, protocol: u8) -> Result<Vec<Turn>, Error> {
    let mut turns = Turns::new(protocol);
    let mut given = Vec::new();
    each(path, |packet| given.extend(turns.packet(packet)))?;
    Ok(given)
}

fn each(path: &Path, mut take: impl FnMut(&Packet<'_>)) -> Result<(), Error> {
    let ours = |error: bartizan_wire::CaptureError| Error::Configuration(format!("our own capture: {error}"));
    let bytes = fs::read(path).map_err(Error::file(path))?;
    let mut reader = CaptureReader::new();
    for piece in bytes.chunks(1 << 20) {
        reader.push(piece);
        while let Some(packet) = reader.next_packet().map_err(ours)? {
            take(&packet);
        }
    }
    reader.finish().map_err(ours)
}

fn content(packet: &sctp::Packet<'_>) -> Content {
    let mut bytes = None;
    let mut sacks_only = true;
    for chunk in packet.chunks() {
        sacks_only &= chunk.kind == kind::SACK;
        if let Some(data) = Data::read(&chunk) {
            *bytes.get_or_insert(0) += data.payload.len() + data.missing;
        }
    }
    match bytes {
        Some(bytes) => Content::Data(bytes),
        None if sacks_only => Content::Sack,
        None => Content::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/e2-kpm/e2.pcap")
    }

    #[test]
    fn the_recording_has_sacks_of_62_bytes_and_the_bytes_of_its_messages() {
        let frames = read(&recorded()).unwrap();
        let sacks: Vec<_> = frames.iter().filter(|frame| frame.content == Content::Sack).collect();
        assert!(!sacks.is_empty() && sacks.iter().all(|frame| frame.length == 62));
        let bytes: usize = frames
            .iter()
            .map(|frame| match frame.content {
                Content::Data(bytes) => bytes,
                _ => 0,
            })
            .sum();
        let exchange = crate::stand_in::e2::Exchange::flexric();
        assert_eq!(
            bytes,
            exchange
                .messages()
                .iter()
                .map(|message| message.bytes.len())
                .sum::<usize>()
        );
        assert!(!turns(&recorded(), SCTP).unwrap().is_empty());
        assert!(turns(&recorded(), ESP).unwrap().is_empty());
    }
}
