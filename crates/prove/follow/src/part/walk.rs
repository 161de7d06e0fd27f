//! A capture from its beginning to the end of a slice.

use std::io::{self, Read};
use std::path::Path;

use aws_lc_rs::digest::{Context, SHA256};
use bartizan_inspect::evidence::Section;
use bartizan_wire::{CaptureError, CapturePart, CaptureReader, Packet};
use data_encoding::HEXLOWER;

use bartizan_terminal::Failure;

/// Bytes read at a time.
const PIECE: usize = 256 * 1024;

bartizan_registry::made! {
    /// Reads a capture; holds one record and one piece of it.
    pub(super) struct Walk<'a>, pub(super) new(path: &'a Path, input: Box<dyn Read + 'a>) {
        path: &'a Path,
        input: Box<dyn Read + 'a>,
        capture: CaptureReader = CaptureReader::new(),
        /// Bytes that were read.
        place: u64 = 0,
        digest: Context = Context::new(&SHA256),
        packets: u64 = 0,
        damage: Option<CaptureError> = None,
        /// Nothing is left.
        ended: bool = false,
    }
}

/// State at the end of a slice.
pub(super) struct Ended {
    /// Packets of the capture, up to there.
    pub(super) packets: u64,
    /// SHA-256 of all bytes up to there.
    pub(super) sha256: String,
    pub(super) dropped: u64,
    pub(super) damage: Option<CaptureError>,
}

impl<'a> Walk<'a> {
    /// Packets so far.
    pub(super) fn packets(&self) -> u64 {
        self.packets
    }

    /// SHA-256 of all bytes so far.
    pub(super) fn sha256(&self) -> String {
        HEXLOWER.encode(self.digest.clone().finish().as_ref())
    }

    /// Reads on to this place, or to the end, and gives the packets that are complete there.
    pub(super) fn to(
        &mut self,
        place: Option<u64>,
        mut give: impl FnMut(&Packet<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        while !self.ended && place.is_none_or(|place| self.place < place) {
            let room = self.capture.room(PIECE);
            let left = place.map_or(u64::MAX, |place| place - self.place);
            // Within the room, which is of this machine.
            let most = left.min(room.len() as u64) as usize;
            let length = match self.input.read(&mut room[..most]) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) => {
                    self.damage.get_or_insert(CaptureError::Damaged {
                        offset: self.place,
                        what: format!("it cannot be unpacked: {error}"),
                    });
                    self.ended = true;
                    break;
                }
                Err(error) => return Err(super::unreadable(self.path, &error)),
            };
            self.digest.update(&room[..length]);
            self.place += length as u64;
            if self.damage.is_some() {
                // Bytes behind damage belong to the file alone.
                continue;
            }
            self.capture.fill(length);
            self.parts(&mut give)?;
        }
        Ok(())
    }

    fn parts(&mut self, give: &mut impl FnMut(&Packet<'_>) -> Result<(), Failure>) -> Result<(), Failure> {
        loop {
            match self.capture.next_part() {
                Ok(None) => return Ok(()),
                Ok(Some(CapturePart::Packet(packet))) => {
                    self.packets = packet.number;
                    give(&packet)?;
                }
                Ok(Some(CapturePart::KeyLog(_))) => {
                    let what = "it holds secrets of TLS, and evidence holds none";
                    return Err(Failure::new(format!("{}: {what}", self.path.display())).hint(
                        "inspect it whole, or take them out: `editcap --discard-all-secrets OLD NEW` (Wireshark)",
                    ));
                }
                Err(error) => {
                    self.damage = Some(error);
                    return Ok(());
                }
            }
        }
    }

    /// Describes the end of a slice.
    pub(super) fn finish(self, section: Section, packed: bool) -> Result<Ended, Failure> {
        if !packed && self.place != section.to {
            let what = "it became longer or shorter while it was read";
            return Err(Failure::new(format!("{}: {what}", self.path.display()))
                .hint("parts are of captures that are complete"));
        }
        let sha256 = self.sha256();
        let cut = || self.capture.finish().err().filter(|_| section.last);
        Ok(Ended {
            packets: self.packets,
            sha256,
            dropped: self.capture.dropped_at_capture(),
            damage: self.damage.clone().or_else(cut),
        })
    }
}
