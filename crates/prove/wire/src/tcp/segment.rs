//! One TCP segment.

/// Control bits of a segment that matter to a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    const FIN: u8 = 0x01;
    const SYN: u8 = 0x02;
    const RST: u8 = 0x04;
    const ACK: u8 = 0x10;

    /// No more data from the sender.
    #[must_use]
    pub fn fin(self) -> bool {
        self.0 & Self::FIN != 0
    }

    /// The sender's sequence numbers begin here.
    #[must_use]
    pub fn syn(self) -> bool {
        self.0 & Self::SYN != 0
    }

    /// The connection is gone.
    #[must_use]
    pub fn rst(self) -> bool {
        self.0 & Self::RST != 0
    }

    /// The acknowledgement number counts.
    #[must_use]
    pub fn ack(self) -> bool {
        self.0 & Self::ACK != 0
    }
}

/// One segment, its payload not yet in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
    /// Sequence number of the first byte, or of SYN.
    pub sequence: u32,
    /// The next sequence number that the sender expects; it counts where ACK is set.
    pub acknowledgement: u32,
    /// Control bits.
    pub flags: Flags,
    /// The captured payload.
    pub payload: &'a [u8],
    /// Bytes of payload behind it that were sent and not captured.
    pub missing: usize,
}

/// Reads the segment an IP packet carries, of which `missing` bytes were not captured; none where it is shorter than
/// its header.
#[must_use]
pub fn segment(bytes: &[u8], missing: usize) -> Option<Segment<'_>> {
    let header = bytes.first_chunk::<20>()?;
    let header_length = usize::from(header[12] >> 4) * 4;
    if header_length < 20 {
        return None;
    }
    Some(Segment {
        source_port: u16::from_be_bytes([header[0], header[1]]),
        destination_port: u16::from_be_bytes([header[2], header[3]]),
        sequence: u32::from_be_bytes([header[4], header[5], header[6], header[7]]),
        acknowledgement: u32::from_be_bytes([header[8], header[9], header[10], header[11]]),
        flags: Flags(header[13]),
        payload: bytes.get(header_length..)?,
        missing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_not_payload() {
        let mut bytes = [0; 24].to_vec();
        bytes[12] = 0x60;
        bytes.extend(b"data");
        assert_eq!(segment(&bytes, 0).unwrap().payload, b"data");
    }

    #[test]
    fn a_header_length_below_twenty_or_beyond_the_end_is_no_segment() {
        let mut bytes = [0; 20];
        bytes[12] = 0x40;
        assert_eq!(segment(&bytes, 0), None);
        bytes[12] = 0xf0;
        assert_eq!(segment(&bytes, 0), None);
        assert_eq!(segment(&bytes[..19], 0), None);
    }
}
