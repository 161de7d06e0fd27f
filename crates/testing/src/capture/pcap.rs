//! The pcap file format (draft-ietf-opsawg-pcap), with times in nanoseconds.

use std::io::{self, Write};
use std::time::Duration;

use bartizan_host::SNAP_LENGTH;

/// Says "times in nanoseconds", and by its order the byte order of the file.
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const VERSION: (u16, u16) = (2, 4);
const LINKTYPE_ETHERNET: u32 = 1;

/// Writes the header of a file of Ethernet frames, little-endian.
pub(super) fn write_header(file: &mut impl Write) -> io::Result<()> {
    let mut header = Vec::with_capacity(24);
    header.extend(MAGIC_NANOSECONDS.to_le_bytes());
    header.extend(VERSION.0.to_le_bytes());
    header.extend(VERSION.1.to_le_bytes());
    // Two reserved fields, once the time zone and its accuracy.
    header.extend([0; 8]);
    header.extend((SNAP_LENGTH as u32).to_le_bytes());
    header.extend(LINKTYPE_ETHERNET.to_le_bytes());
    file.write_all(&header)
}

/// Writes one packet: the time since the epoch, the kept bytes, and the length it had on the wire in bytes.
pub(super) fn write_packet(file: &mut impl Write, time: Duration, bytes: &[u8], length: u32) -> io::Result<()> {
    // Seconds are 32 bits wide in the format: it ends in 2106.
    let seconds = u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
    let kept = u32::try_from(bytes.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    for word in [seconds, time.subsec_nanos(), kept, length] {
        file.write_all(&word.to_le_bytes())?;
    }
    file.write_all(bytes)
}
