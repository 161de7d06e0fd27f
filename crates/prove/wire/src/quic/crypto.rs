//! The byte stream of CRYPTO frames (RFC 9000, section 19.6), in any order and more than once.

use std::collections::BTreeMap;

use crate::Moment;
use crate::allocation::allocated;
use crate::tls::LONGEST_MESSAGE;

/// Bytes of a stream that are read: two ClientHellos of the longest kind.
const LONGEST: usize = 2 * LONGEST_MESSAGE;
/// Pieces that wait for earlier bytes.
const PIECES: usize = 256;

/// One direction's stream.
#[derive(Clone, Default)]
pub(super) struct Crypto {
    /// From its beginning, as far as it is there; what comes again must be the same.
    whole: Vec<u8>,
    /// Pieces that wait, by their start. No two overlap.
    pieces: BTreeMap<usize, (Vec<u8>, Moment)>,
    waiting: usize,
}

/// Result of a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Pushed {
    /// It says something else than an earlier one of the same bytes.
    pub(super) contradicts: bool,
    /// Bytes that there was no room for.
    pub(super) omitted: u64,
}

impl Crypto {
    /// Takes a frame; gives the bytes that are now next in order, with the first packet that brought any of them.
    pub(super) fn push(&mut self, offset: u64, bytes: &[u8], at: Moment, give: impl FnOnce(&[u8], Moment)) -> Pushed {
        let mut pushed = Pushed::default();
        let Some(start) = usize::try_from(offset)
            .ok()
            .filter(|start| start + bytes.len() <= LONGEST)
        else {
            pushed.omitted = bytes.len() as u64;
            return pushed;
        };
        let (mut place, mut rest) = (start, bytes);
        while !rest.is_empty() {
            let known = self.whole.get(place..).filter(|known| !known.is_empty()).or_else(|| {
                let (&begins, (piece, _)) = self.pieces.range(..=place).next_back()?;
                piece.get(place - begins..).filter(|known| !known.is_empty())
            });
            let taken = match known {
                Some(known) => {
                    let both = known.len().min(rest.len());
                    pushed.contradicts |= known[..both] != rest[..both];
                    both
                }
                None => {
                    let next = self.pieces.range(place..).next().map(|(begins, _)| *begins);
                    let new = next.map_or(rest.len(), |next| (next - place).min(rest.len()));
                    if self.pieces.len() < PIECES {
                        self.pieces.insert(place, (rest[..new].to_vec(), at));
                        self.waiting += new;
                    } else {
                        pushed.omitted += new as u64;
                    }
                    new
                }
            };
            place += taken;
            rest = &rest[taken..];
        }
        let (before, mut began) = (self.whole.len(), at);
        while let Some((piece, arrived)) = self.pieces.remove(&self.whole.len()) {
            self.waiting -= piece.len();
            self.whole.extend_from_slice(&piece);
            if arrived.packet < began.packet {
                began = arrived;
            }
        }
        if self.whole.len() > before {
            give(&self.whole[before..], began);
        }
        pushed
    }

    /// Bytes it holds on the heap, about.
    pub(super) fn held(&self) -> usize {
        let pieces = self.pieces.len() * (size_of::<(usize, Vec<u8>, Moment)>() + 40);
        allocated(self.whole.capacity()) + self.waiting + pieces
    }
}
