//! Blocks of a cipher by the lengths of what it encrypts: the rest of a message is as long as ever.

/// Different lengths that decide. Of a cipher without blocks of 64 bits, whose lengths are multiples
/// of four bytes, so many have one rest by chance once in 2^11 associations.
const LENGTHS: u32 = 12;

/// Lengths of the packets under one key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Rests of a division by 16, a bit each.
    rests: u16,
    /// Lengths in units of 8 bytes, a bit each; after sixteen units the bits begin anew.
    lengths: u16,
}

impl Blocks {
    /// Takes the length of a packet.
    pub fn take(&mut self, length: u64) {
        self.rests |= 1 << (length % 16);
        self.lengths |= 1 << (length / 8 % 16);
    }

    /// Returns true if the lengths are those of a cipher with blocks of 64 bits, such as DES and
    /// 3DES: all have one rest by 8, and not by 16 as with AES in CBC mode.
    #[must_use]
    pub fn are_of_64_bits(self) -> bool {
        let first = self.rests.trailing_zeros();
        first < 8 && self.rests == 0x101 << first && self.lengths.count_ones() >= LENGTHS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths of ESP: header, initialization vector, content with padding and trailer, check.
    fn esp(vector: u64, block: u64, check: u64) -> Blocks {
        let mut blocks = Blocks::default();
        for content in (40..1400).step_by(37) {
            blocks.take(8 + vector + (content + 2u64).next_multiple_of(block) + check);
        }
        blocks
    }

    #[test]
    fn blocks_of_64_bits_differ_from_those_of_aes_and_from_none() {
        for check in [12, 16, 24, 32] {
            assert!(esp(8, 8, check).are_of_64_bits(), "3DES {check}");
            assert!(!esp(16, 16, check).are_of_64_bits(), "AES-CBC {check}");
            assert!(
                !esp(8, 4, check).are_of_64_bits(),
                "GCM, ChaCha20, counter mode {check}"
            );
        }
        let mut few = Blocks::default();
        (0..11).for_each(|number| few.take(88 + 8 * number));
        assert!(!few.are_of_64_bits());
        few.take(88 + 8 * 11);
        assert!(few.are_of_64_bits());
    }
}
