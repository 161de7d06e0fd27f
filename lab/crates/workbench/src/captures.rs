//! Captures as large as one likes, made from the recorded ones of this tree: what `bartizan bench inspect` reads.
//!
//! Recordings are repeated with addresses, IKE SPIs and SCTP tags of their own, so that nothing is
//! merged with its double, and with checksums that are right; bulk is ESP with random content and
//! TLS records behind a recorded handshake. The same seed gives the same bytes.

mod bulk;
mod checksum;
mod flows;
mod frame;
mod hostile;
mod recording;
mod tunnel;

use std::io::{self, Write};

use self::bulk::Bulk;
pub use self::flows::{FlowKind, Flows};
use self::frame::Variation;
pub use self::hostile::Hostile;
use self::recording::Recording;

/// Contents of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    /// A third recordings (SBI unencrypted and in TLS, N2, E2, IKE with its ESP, TLS of every
    /// group), a third ESP, a third TLS records.
    Mixed,
    /// The same packets in VXLAN and GTP-U, half of the pairs of hosts in each.
    Wrapped,
    /// ESP and TLS records in equal parts, behind one pass of the recordings.
    Bulk,
}

/// Writes a pcap file of at least this many bytes, by less than one pass of the recordings more; gives what it has.
///
/// # Errors
/// Those of `out`.
pub fn write(contents: Contents, bytes: u64, seed: u64, out: &mut dyn Write) -> io::Result<Written> {
    let mut file = File::begin(out)?;
    file.wrapped = contents == Contents::Wrapped;
    let recordings = Recording::all();
    let mut bulk = Bulk::begin(seed, &recordings, &mut file)?;
    let mut round = 0;
    while file.written.bytes < bytes {
        // Bytes of bulk that are still to come for the recordings that were written.
        let mut due: usize = 0;
        for (index, recording) in recordings.iter().enumerate() {
            let variation = Variation::of_recording(round, index);
            for packet in &recording.packets {
                file.clock += packet.gap_ns.min(LONGEST_GAP);
                file.packet(&variation.applied(&packet.data))?;
                due += 2 * packet.data.len();
                while due > bulk::PACKET {
                    due = due.saturating_sub(bulk.packet(&mut file)?);
                }
            }
        }
        round += 1;
        while contents == Contents::Bulk && file.written.bytes < bytes {
            bulk.packet(&mut file)?;
        }
    }
    file.end()
}

/// Longest time between two packets of a recording, in nanoseconds. Recorded waits for a phone are
/// cut to this.
const LONGEST_GAP: u64 = 50_000;

/// Size of a written file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Bytes of the file.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
}

/// A pcap file in the making.
struct File<'a> {
    out: &'a mut dyn Write,
    /// Nanoseconds since 1970 of the packet written last.
    clock: u64,
    /// True if packets go through a tunnel.
    wrapped: bool,
    written: Written,
}

impl<'a> File<'a> {
    fn begin(out: &'a mut dyn Write) -> io::Result<Self> {
        /// Times in nanoseconds, version 2.4, snap length 262144, Ethernet (draft-ietf-opsawg-pcap).
        const HEADER: [u32; 6] = [0xa1b2_3c4d, 0x0004_0002, 0, 0, 262_144, 1];
        /// 2026-01-01T00:00:00Z: a fixed day, for the same bytes every time.
        const BEGINNING: u64 = 1_767_225_600;
        for word in HEADER {
            out.write_all(&word.to_le_bytes())?;
        }
        Ok(Self {
            out,
            clock: BEGINNING * 1_000_000_000,
            wrapped: false,
            written: Written { bytes: 24, packets: 0 },
        })
    }

    fn packet(&mut self, data: &[u8]) -> io::Result<()> {
        let tunnel;
        let mut data = data;
        if self.wrapped {
            tunnel = tunnel::wrapped(data);
            data = &tunnel;
        }
        let seconds = (self.clock / 1_000_000_000) as u32;
        let nanoseconds = (self.clock % 1_000_000_000) as u32;
        let length = data.len() as u32;
        let mut header = [0; 16];
        for (place, word) in header.chunks_exact_mut(4).zip([seconds, nanoseconds, length, length]) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.out.write_all(&header)?;
        self.out.write_all(data)?;
        self.written.bytes += (header.len() + data.len()) as u64;
        self.written.packets += 1;
        Ok(())
    }

    fn end(self) -> io::Result<Written> {
        self.out.flush()?;
        Ok(self.written)
    }
}

#[cfg(test)]
mod tests;
