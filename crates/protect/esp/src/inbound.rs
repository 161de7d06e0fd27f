//! An SA that packets arrive by.

use bartizan_wire::esp;
use bartizan_wire::ip::NO_NEXT_HEADER;

use crate::cipher::{Associated, Opening};
use crate::error::{OpenError, Unusable};
use crate::replay::Window;
use crate::suite::{SequenceNumbers, Suite};
use crate::{HEADER, TRAILER};

/// Opens packets, each once.
pub struct Inbound {
    spi: u32,
    suite: Suite,
    key: Opening,
    window: Window,
    numbers: SequenceNumbers,
}

/// Contents of an opened packet.
#[derive(Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    /// Type of the payload, as an IP protocol number: 4 or 41 in tunnel mode.
    pub next_header: u8,
    /// Without the padding of the cipher; padding for confidentiality of traffic flows still stands
    /// behind it (RFC 4303, section 2.7).
    pub payload: &'a mut [u8],
    /// The packet's number, with the upper half that it does not carry.
    pub sequence: u64,
}

impl Inbound {
    /// With this much key material of the suite (`Suite::key_material`), and a replay window of 64 to 4096 packets.
    ///
    /// # Errors
    /// If the SPI is reserved, or keys or window have another length.
    pub fn new(spi: u32, suite: Suite, keys: &[u8], numbers: SequenceNumbers, window: u16) -> Result<Self, Unusable> {
        if spi < 256 {
            return Err(Unusable::ReservedSpi(spi));
        }
        Ok(Self {
            spi,
            suite,
            key: Opening::new(suite, keys)?,
            window: Window::new(window, numbers)?,
            numbers,
        })
    }

    /// Takes nothing up to this sequence number: for keys with which another process has received
    /// before.
    #[must_use]
    pub fn starting_after(mut self, sequence: u64) -> Self {
        self.window.starting_after(sequence);
        self
    }

    /// The largest sequence number that was proven; zero before the first.
    pub fn highest(&self) -> u64 {
        self.window.highest
    }

    /// Opens an ESP packet where it stands.
    ///
    /// # Errors
    /// If it is none of this SA, was received before or is not proven. Only a proven packet moves
    /// the replay window; the bytes of one that is refused may have been overwritten.
    pub fn open<'a>(&mut self, packet: &'a mut [u8]) -> Result<Opened<'a>, OpenError> {
        let header = esp::header(packet).ok_or(OpenError::Length)?;
        if header.spi != self.spi {
            return Err(OpenError::Spi);
        }
        if !self.suite.fits(packet.len()) {
            return Err(OpenError::Length);
        }
        let sequence = self.window.whole(header.sequence).ok_or(OpenError::Late)?;
        self.window.check(sequence)?;
        let upper = self.numbers.upper(sequence);
        let (header, behind) = packet.split_first_chunk_mut::<HEADER>().ok_or(OpenError::Length)?;
        let content = self.key.open(Associated { header, upper }, behind)?;
        self.window.accept(sequence);
        let (padded, &mut [padding, next_header]) =
            content.split_last_chunk_mut::<TRAILER>().ok_or(OpenError::Length)?;
        let length = padded.len().checked_sub(padding.into()).ok_or(OpenError::Padding)?;
        let (payload, padding) = padded.split_at_mut(length);
        if padding.iter().zip(1..=u8::MAX).any(|(byte, count)| *byte != count) {
            return Err(OpenError::Padding);
        }
        if next_header == NO_NEXT_HEADER {
            return Err(OpenError::Dummy);
        }
        Ok(Opened {
            next_header,
            payload,
            sequence,
        })
    }
}
