//! The packets of a capture, packed or not, as they come.

use std::io::{self, Read};

use bartizan_wire::{CaptureError, CapturePart, CaptureReader};

use super::unpack::unpacked;

/// Bytes read at a time.
const PIECE: usize = 256 * 1024;

/// End of a capture.
pub struct Ended {
    /// Cut or damage of the capture.
    pub damage: Option<CaptureError>,
    /// Packets that the capturing host dropped, as the capture says.
    pub dropped_at_capture: u64,
    /// The capture's host, interfaces, filters and time zones, as it says.
    pub about: Vec<String>,
}

/// Gives every packet and key log, up to the end or to where the capture is damaged.
pub fn read(input: impl Read, mut give: impl FnMut(CapturePart<'_>)) -> io::Result<Ended> {
    let mut input = unpacked(input)?;
    let mut unpacked_bytes = 0;
    let mut capture = CaptureReader::new();
    let damage = loop {
        let length = match input.read(capture.room(PIECE)) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) => {
                break Some(CaptureError::Damaged {
                    offset: unpacked_bytes,
                    what: format!("it cannot be unpacked: {error}"),
                });
            }
            Err(error) => return Err(error),
        };
        if length == 0 {
            break capture.finish().err();
        }
        capture.fill(length);
        unpacked_bytes += length as u64;
        if let Err(error) = parts(&mut capture, &mut give) {
            break Some(error);
        }
    };
    Ok(Ended {
        damage,
        dropped_at_capture: capture.dropped_at_capture(),
        about: capture.about().map(str::to_owned).collect(),
    })
}

fn parts(capture: &mut CaptureReader, give: &mut impl FnMut(CapturePart<'_>)) -> Result<(), CaptureError> {
    while let Some(part) = capture.next_part()? {
        give(part);
    }
    Ok(())
}
