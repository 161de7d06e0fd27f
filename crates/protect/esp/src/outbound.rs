//! An SA that packets leave by.

use bartizan_registry::Header;
use bartizan_wire::esp;

use crate::cipher::{Associated, Sealing};
use crate::error::{SealError, Unusable};
use crate::suite::{SequenceNumbers, Suite};
use crate::{HEADER, TRAILER};

/// Seals packets, each with the next sequence number.
pub struct Outbound {
    spi: u32,
    suite: Suite,
    key: Sealing,
    numbers: SequenceNumbers,
    /// The number of the last packet; zero before the first.
    sent: u64,
}

impl Outbound {
    /// With this much key material of the suite (`Suite::key_material`).
    ///
    /// # Errors
    /// If the SPI is reserved, or the keys have another length.
    pub fn new(spi: u32, suite: Suite, keys: &[u8], numbers: SequenceNumbers) -> Result<Self, Unusable> {
        if spi < 256 {
            return Err(Unusable::ReservedSpi(spi));
        }
        Ok(Self {
            spi,
            suite,
            key: Sealing::new(suite, keys)?,
            numbers,
            sent: 0,
        })
    }

    /// Goes on behind this sequence number: for keys with which another process has sent before.
    /// Sending one twice reveals what both packets held, so a number that is in doubt is skipped.
    #[must_use]
    pub fn starting_after(mut self, sequence: u64) -> Self {
        self.sent = sequence;
        self
    }

    /// Number of the last packet; zero before the first.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Number of packets it can still seal.
    pub fn remaining(&self) -> u64 {
        let last = match self.numbers {
            SequenceNumbers::Bits32 => u64::from(u32::MAX),
            SequenceNumbers::Extended => u64::MAX,
        };
        last.saturating_sub(self.sent)
    }

    /// Its algorithms.
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// Bytes in front of the payload.
    pub fn headroom(&self) -> usize {
        self.suite.headroom()
    }

    /// Seals the payload of so many bytes that stands behind the headroom of the buffer; how many
    /// bytes from its begin are the ESP packet.
    ///
    /// # Errors
    /// If the numbers are used up, or the buffer is shorter than `Suite::sealed_length`. Nothing is
    /// sent then, and no number used.
    pub fn seal(&mut self, buffer: &mut [u8], payload: usize, next_header: u8) -> Result<usize, SealError> {
        if payload > Header::IPV6.bytes as usize + usize::from(u16::MAX) {
            return Err(SealError::TooLong);
        }
        let (given, needed) = (buffer.len(), self.suite.sealed_length(payload));
        let Some(packet) = buffer.get_mut(..needed) else {
            return Err(SealError::Buffer { given, needed });
        };
        if self.remaining() == 0 {
            return Err(SealError::Exhausted);
        }
        let sequence = self.sent + 1;
        // Used, whatever comes of it: a nonce never comes twice.
        self.sent = sequence;
        let vector = packet.get_mut(HEADER..self.suite.headroom());
        self.key.write_vector(sequence, vector.unwrap_or_default())?;
        self.lay_out(packet, payload, next_header, sequence);
        self.finish(packet, sequence)?;
        Ok(needed)
    }

    /// Encrypts and proves a packet that is laid out.
    fn finish(&self, packet: &mut [u8], sequence: u64) -> Result<(), SealError> {
        let (header, behind) = packet.split_first_chunk_mut::<HEADER>().ok_or(SealError::Failed)?;
        let upper = self.numbers.upper(sequence);
        self.key.seal(Associated { header, upper }, behind)
    }

    /// Writes header and trailer.
    fn lay_out(&self, packet: &mut [u8], payload: usize, next_header: u8, sequence: u64) {
        let header = esp::Header {
            spi: self.spi,
            sequence: sequence as u32,
        };
        let (header, bytes) = (header.encode(), self.suite.headroom());
        packet[..header.len()].copy_from_slice(&header);
        let end = packet.len() - self.suite.icv;
        let trailer = &mut packet[bytes + payload..end];
        // At most a block: it fits one byte.
        let padding = trailer.len() - TRAILER;
        for (byte, count) in trailer.iter_mut().zip(1..=padding as u8) {
            *byte = count;
        }
        trailer[padding..].copy_from_slice(&[padding as u8, next_header]);
    }

    /// As [`Self::seal`] with this sequence number and initialization vector, as published examples have them.
    #[cfg(test)]
    pub(crate) fn seal_as(&self, packet: &mut [u8], payload: usize, next_header: u8, sequence: u64, vector: &[u8]) {
        packet[HEADER..self.suite.headroom()].copy_from_slice(vector);
        self.lay_out(packet, payload, next_header, sequence);
        self.finish(packet, sequence).unwrap();
    }
}
