//! Evidence as it is written.

use std::io::{self, Write};

use bartizan_wire::Packet;
use bartizan_wire::reduce::{Hole, SUM};
use serde::Serialize;

use super::{Begin, End, Manifest, tag};

/// Writes evidence; what it is given comes in the order of the capture.
pub struct Writer<W> {
    output: W,
    /// The time of the packet before.
    time: u64,
    bytes: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins with what it is of.
    ///
    /// # Errors
    /// Those of the output, here and below.
    pub fn new(output: W, manifest: &Manifest) -> io::Result<Self> {
        let mut writer = Self {
            output,
            time: 0,
            bytes: Vec::new(),
        };
        writer.document(manifest)?;
        Ok(writer)
    }

    /// A slice of a capture begins.
    pub fn begin(&mut self, begin: &Begin) -> io::Result<()> {
        self.time = 0;
        self.output.write_all(&[tag::BEGIN_SECTION])?;
        self.document(begin)
    }

    /// The next packet, without what is in its holes, which are in order and apart.
    pub fn packet(&mut self, packet: &Packet<'_>, holes: &[Hole]) -> io::Result<()> {
        let bytes = &mut self.bytes;
        bytes.clear();
        bytes.push(tag::PACKET);
        // Clocks are set back as well.
        let ahead = packet.time.0.wrapping_sub(self.time).cast_signed();
        self.time = packet.time.0;
        number(bytes, (ahead << 1 ^ ahead >> 63).cast_unsigned());
        number(bytes, u64::from(packet.interface) << 16 | u64::from(packet.link.0));
        number(bytes, u64::from(packet.original_length));
        number(bytes, packet.data.len() as u64);
        number(bytes, holes.len() as u64);
        let mut end = 0;
        for hole in holes {
            number(bytes, (hole.place.start - end) as u64);
            number(bytes, hole.place.len() as u64);
            end = hole.place.end;
        }
        let mut end = 0;
        for hole in holes {
            bytes.extend_from_slice(&packet.data[end..hole.place.start]);
            bytes.extend_from_slice(&hole.sum[..SUM]);
            end = hole.place.end;
        }
        bytes.extend_from_slice(&packet.data[end..]);
        self.output.write_all(bytes)
    }

    /// The slice ends.
    pub fn end(&mut self, end: &End) -> io::Result<()> {
        self.output.write_all(&[tag::END_SECTION])?;
        self.document(end)
    }

    /// All is written; gives the output back.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.write_all(&[tag::END])?;
        Ok(self.output)
    }

    fn document(&mut self, document: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_vec(document)?;
        self.bytes.clear();
        number(&mut self.bytes, text.len() as u64);
        self.output.write_all(&self.bytes)?;
        self.output.write_all(&text)
    }
}

/// Seven bits a byte, the lowest first; all but the last have the highest bit set.
fn number(bytes: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}
