//! Bytes of a connection of which only the number matters.

use super::Session;
use crate::tls::record::{self, Piece};
use crate::{Side, spread};

impl Session {
    /// The parts of the next bytes of `from` of which only their number matters; none where
    /// something is opened. The first bytes of a segment are read wherever reading may have to find
    /// its way back.
    pub(crate) fn counted<'a>(&self, from: Side, bytes: &'a [u8], give: &mut impl FnMut(&'a [u8])) {
        let direction = &self.directions[from.index()];
        let Some(behind) = bytes.get(record::HEADER..).filter(|_| self.opener.is_none()) else {
            return;
        };
        let mut records = direction.records.clone();
        records.segment(bytes);
        if records.is_lost() {
            if !super::is_readable(bytes) {
                give(behind);
            }
            return;
        }
        let mut rest = bytes;
        while let Some(piece) = records.next(&mut rest) {
            let Piece::Body(header, body) = piece else { continue };
            match header.kind {
                // The bytes behind it may be read with it.
                record::CHANGE_CIPHER_SPEC => return,
                record::HANDSHAKE | record::ALERT if !direction.sealed => return,
                // Bytes that are not spread as encrypted ones are stay where they are read.
                _ if spread::is_skewed_behind_vector(body) == Some(true) => {}
                _ => {
                    let before = bytes.len() - rest.len() - body.len();
                    give(body.get(record::HEADER.saturating_sub(before)..).unwrap_or_default());
                }
            }
        }
    }
}
