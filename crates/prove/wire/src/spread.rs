//! Distribution of bytes: encrypted ones are spread evenly, while text, headers and ASN.1 are not.
//! A hint, and no proof.

/// The longest initialization vector, AES-CBC's. A counter in it is no sign of anything.
const VECTOR: usize = 16;
/// Fewer bytes than these say nothing.
const LEAST: usize = 64;
/// Pieces that are looked at one by one; behind them one of [`EACH`] is.
const FIRST: u16 = 64;
const EACH: u16 = 16;

/// The distribution of bytes in pieces of one direction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spread {
    pieces: u16,
    /// Long enough to say something, and of these not spread as encrypted ones are: of many, the
    /// shares.
    long: u16,
    skewed: u16,
}

/// Two readings of the same bytes may have them in other pieces: what they say is equal.
impl PartialEq for Spread {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Spread {}

impl Spread {
    /// Looks at a piece of what a protocol says is encrypted, or passes over it.
    pub(crate) fn take(&mut self, piece: &[u8]) {
        if self.pieces < FIRST || self.pieces.is_multiple_of(EACH) {
            self.add(is_skewed_behind_vector(piece));
        }
        self.pieces = self.pieces.checked_add(1).unwrap_or(FIRST);
    }

    /// Adds what one piece shows.
    pub(crate) fn add(&mut self, skewed: Option<bool>) {
        if self.long == u16::MAX {
            (self.long, self.skewed) = (self.long / 2, self.skewed / 2);
        }
        self.long += u16::from(skewed.is_some());
        self.skewed += u16::from(skewed == Some(true));
    }

    /// Returns true if bytes are distributed as encrypted ones are; none if there are too few.
    pub(crate) fn looks_encrypted(self) -> Option<bool> {
        (self.long > 0).then_some(u32::from(self.skewed) * 4 <= self.long.into())
    }

    /// The same of both directions: each has keys of its own.
    pub(crate) fn both_look_encrypted(both: [Self; 2]) -> Option<bool> {
        let shown = both.into_iter().filter_map(Self::looks_encrypted);
        shown.reduce(|one, other| one && other)
    }
}

/// Returns true if one value takes a twelfth of the bytes, and ten of them at least; none if there
/// are too few. Among random bytes that happens once in 2^25 pieces at most (of 120 bytes);
/// headers and ASN.1 are full of zeros.
fn is_skewed(bytes: &[u8]) -> Option<bool> {
    if bytes.len() < LEAST {
        return None;
    }
    let mut counts = [0u16; 256];
    for &byte in bytes {
        let count = &mut counts[usize::from(byte)];
        *count = count.saturating_add(1);
    }
    let most = counts.iter().copied().max().map_or(0, usize::from);
    Some(most >= (bytes.len() / 12).max(10))
}

/// The same of what is behind the longest vector.
pub(crate) fn is_skewed_behind_vector(piece: &[u8]) -> Option<bool> {
    is_skewed(piece.get(VECTOR..)?)
}
