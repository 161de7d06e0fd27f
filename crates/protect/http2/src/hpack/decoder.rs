//! Header blocks to lists of fields.

use super::table::Table;
use super::{DEFAULT_SIZE, OVERHEAD, huffman, integer};
use crate::fields::{Fields, Indexing};

/// A header block that cannot be read (RFC 7541, section 2.3.3 and others): the connection is lost with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// Whether a list keeps to its bound (RFC 9113, section 6.5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// It does.
    Fits,
    /// It does not, and what is beyond was left out.
    Exceeds,
}

/// Reads the header blocks of one connection.
#[derive(Debug, Default)]
pub struct Decoder {
    table: Table,
    /// Blocks may have been missed: what they put into the table is not known.
    missed: bool,
}

impl Decoder {
    /// One whose table is at its default size.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One for a bystander who may have missed earlier blocks. What refers to an entry of those has an empty name, or is left
    /// out where the value is there too; where both ends agreed on a table larger than the default, its oldest
    /// entries count as missed.
    #[must_use]
    pub fn for_bystander() -> Self {
        Self {
            missed: true,
            ..Self::default()
        }
    }

    /// Reads one whole block. Fields beyond `at_most` bytes of the list are left out; the table is kept right all the same.
    ///
    /// # Errors
    /// Where the block is no header block; what was before that is in the list all the same.
    pub fn decode(&mut self, mut block: &[u8], at_most: usize, fields: &mut Fields) -> Result<Size, Malformed> {
        let mut size = 0_usize;
        let mut begun = false;
        while let Some(&first) = block.first() {
            let begin = fields.text().len();
            let (middle, indexing) = match first {
                0x80.. => {
                    let index = integer::take(&mut block, 7).ok_or(Malformed)?;
                    let Some((name, value)) = self.table.field(index) else {
                        self.forgive(index)?;
                        begun = true;
                        continue;
                    };
                    fields.text().extend_from_slice(name);
                    fields.text().extend_from_slice(value);
                    (begin + name.len(), Indexing::Kept)
                }
                0x40..0x80 => {
                    let middle = self.literal(&mut block, 6, fields)?;
                    let (name, value) = fields.text()[begin..].split_at(middle - begin);
                    self.table.add(name, value);
                    (middle, Indexing::Kept)
                }
                0x20..0x40 => {
                    // Only at the beginning of a block (section 4.2), and within what we announced, which is the default.
                    let size = integer::take(&mut block, 5).ok_or(Malformed)?;
                    if begun || size > DEFAULT_SIZE && !self.missed {
                        return Err(Malformed);
                    }
                    self.table.bound(size.min(DEFAULT_SIZE));
                    continue;
                }
                0x10..0x20 => (self.literal(&mut block, 4, fields)?, Indexing::Never),
                0x00..0x10 => (self.literal(&mut block, 4, fields)?, Indexing::Plain),
            };
            begun = true;
            size = size.saturating_add(fields.text().len() - begin + OVERHEAD);
            if size > at_most {
                fields.cut(begin);
            } else {
                fields.close(begin, middle, indexing);
            }
        }
        Ok(if size > at_most { Size::Exceeds } else { Size::Fits })
    }

    /// Whether an index that leads nowhere may lead to an entry that was missed.
    fn forgive(&self, index: usize) -> Result<(), Malformed> {
        if self.missed && index > 0 {
            Ok(())
        } else {
            Err(Malformed)
        }
    }

    /// Appends name and value of a literal to the text; gives where the value begins.
    fn literal(&self, block: &mut &[u8], prefix: u32, fields: &mut Fields) -> Result<usize, Malformed> {
        match integer::take(block, prefix).ok_or(Malformed)? {
            0 => string(block, fields.text())?,
            index => match self.table.field(index) {
                Some((name, _)) => fields.text().extend_from_slice(name),
                None => self.forgive(index)?,
            },
        }
        let middle = fields.text().len();
        string(block, fields.text())?;
        Ok(middle)
    }
}

/// A string (section 5.2).
fn string(block: &mut &[u8], to: &mut Vec<u8>) -> Result<(), Malformed> {
    let coded = block.first().ok_or(Malformed)? & 0x80 != 0;
    let length = integer::take(block, 7).ok_or(Malformed)?;
    let (text, rest) = block.split_at_checked(length).ok_or(Malformed)?;
    *block = rest;
    if coded {
        if !huffman::decode(text, to) {
            return Err(Malformed);
        }
    } else {
        to.extend_from_slice(text);
    }
    Ok(())
}
