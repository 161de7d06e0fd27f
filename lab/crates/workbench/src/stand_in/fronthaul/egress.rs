//! Frames that leave the O-DU's port, captured there and read with the wire crate.

use std::fs;
use std::path::Path;

use bartizan_registry::ethertype::MACSEC;
use bartizan_testing::{Capture, Direction};
use bartizan_wire::CaptureReader;

use super::link::{Link, PORT};
use super::protection::Protection;
use crate::Error;

/// A capture that is running.
#[derive(Debug)]
pub struct Egress(Capture);

/// A frame that has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// Bytes on the wire, without check sequence.
    pub length: usize,
    /// The EtherType after its addresses.
    pub ethertype: u16,
}

impl Egress {
    /// From its return on every frame is seen.
    ///
    /// # Errors
    /// Without root.
    pub fn start(link: &Link, folder: &Path) -> Result<Self, Error> {
        let path = folder.join("egress.pcap");
        let capture = Capture::start(Some(link.du()), PORT, path, Direction::Outbound)?;
        Ok(Self(capture))
    }

    /// The frames that have left, in order.
    ///
    /// # Errors
    /// Fails if some frames were not captured: missing frames cannot be judged.
    pub fn stop(self) -> Result<Vec<Left>, Error> {
        let path = self.0.path().to_owned();
        let captured = self.0.stop()?;
        if !captured.complete() {
            return Err(Error::Configuration(format!(
                "{} frames were lost by the capture: what is missing cannot be judged",
                captured.dropped
            )));
        }
        let bytes = fs::read(&path).map_err(Error::file(&path))?;
        fs::remove_file(&path).map_err(Error::file(&path))?;
        let ours = |error: bartizan_wire::CaptureError| Error::Configuration(format!("our own capture: {error}"));
        let (mut reader, mut left) = (CaptureReader::new(), Vec::new());
        reader.push(&bytes);
        while let Some(packet) = reader.next_packet().map_err(ours)? {
            let ethertype = packet.data.get(12..14).and_then(|two| two.try_into().ok());
            left.push(Left {
                length: packet.original_length as usize,
                ethertype: ethertype.map_or(0, u16::from_be_bytes),
            });
        }
        reader.finish().map_err(ours)?;
        Ok(left)
    }
}

/// Those that left readable, or with their integrity unprotected, although the link is protected.
#[must_use]
pub fn unprotected(left: &[Left], protection: Protection) -> usize {
    let others = left.iter().filter(|left| left.ethertype != MACSEC).count();
    if protection.suite().is_some() { others } else { 0 }
}
