//! Header blocks to lists of fields.

use super::table::Table;
use super::{DEFAULT_SIZE, OVERHEAD, huffman, integer};
use crate::fields::{Fields, Indexing};
use Unread::Malformed;

/// Times the bound of a list that its block may expand to. One octet can stand for four kilobytes
/// of the table: beyond this the sender is at fault, and reading would cost more than sending.
const EXPANSION_AT_MOST: usize = 4;
/// The same where the bound is a small one.
const EXPANSION_ALLOWED: usize = 64 * 1024;

/// A header block that was not read to its end: the connection is lost with it, since the table is not known any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// It is no header block (RFC 7541, section 2.3.3 and others).
    Malformed,
    /// It expands to several times what was allowed.
    TooLong,
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
    pub fn new() -> Self {
        Self::default()
    }

    /// One for a bystander who may have missed earlier blocks. A field that refers to an entry of
    /// those has an empty name, or is left out where the value is there too; where both ends agreed
    /// on a table larger than the default, its oldest entries count as missed.
    pub fn for_bystander() -> Self {
        Self {
            missed: true,
            ..Self::default()
        }
    }

    /// Reads one whole block; gives the size of its list (RFC 9113, section 6.5.2). Fields beyond
    /// `at_most` bytes of it are left out; the table is kept right all the same.
    ///
    /// # Errors
    /// If the block is no header block or expands without end; the fields before that are in the
    /// list all the same.
    pub fn decode(&mut self, mut block: &[u8], at_most: usize, fields: &mut Fields) -> Result<usize, Unread> {
        let most = at_most.saturating_mul(EXPANSION_AT_MOST).max(EXPANSION_ALLOWED);
        let mut size = 0_usize;
        let mut begun = false;
        while let Some(&first) = block.first() {
            if size > most {
                return Err(Unread::TooLong);
            }
            let begin = fields.text().len();
            let (middle, indexing) = match first {
                0x80.. => {
                    let index = integer::take(&mut block, 7).ok_or(Malformed)?;
                    let Some((name, value)) = self.table.field(index) else {
                        self.forgive(index)?;
                        begun = true;
                        continue;
                    };
                    begun = true;
                    size = size.saturating_add(name.len() + value.len() + OVERHEAD);
                    if size <= at_most {
                        fields.push(name, value, Indexing::Kept);
                    }
                    continue;
                }
                0x40..0x80 => {
                    let middle = self.literal(&mut block, 6, fields)?;
                    let (name, value) = fields.text()[begin..].split_at(middle - begin);
                    self.table.add(name, value);
                    (middle, Indexing::Kept)
                }
                0x20..0x40 => {
                    // Only at the beginning of a block (section 4.2), and within what we announced,
                    // which is the default.
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
        Ok(size)
    }

    /// Returns true if an index that leads nowhere may lead to an entry that was missed.
    fn forgive(&self, index: usize) -> Result<(), Unread> {
        if self.missed && index > 0 {
            Ok(())
        } else {
            Err(Malformed)
        }
    }

    /// Appends name and value of a literal to the text; gives where the value begins.
    fn literal(&self, block: &mut &[u8], prefix: u32, fields: &mut Fields) -> Result<usize, Unread> {
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
fn string(block: &mut &[u8], to: &mut Vec<u8>) -> Result<(), Unread> {
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
