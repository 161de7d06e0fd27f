//! Lists of fields to header blocks.

use super::table::{Found, Table};
use super::{DEFAULT_SIZE, integer};
use crate::fields::{Fields, Indexing};

/// Writes the header blocks of one connection.
///
/// Strings are written as they are: between two programs of one network the bytes that Huffman's
/// code saves cost more than they are worth. A field that comes again is one byte by the dynamic
/// table anyway.
#[derive(Debug, Default)]
pub struct Encoder {
    table: Table,
    /// The smallest and the last bound the reader has set since the last block (RFC 7541, section 4.2).
    changed: Option<(usize, usize)>,
}

impl Encoder {
    /// One whose table is at its default size.
    pub fn new() -> Self {
        Self::default()
    }

    /// The reader bounds the table (SETTINGS_HEADER_TABLE_SIZE). More than the default is not made use of.
    pub fn bound(&mut self, size: usize) {
        let size = size.min(DEFAULT_SIZE);
        match &mut self.changed {
            Some((smallest, last)) => {
                *smallest = size.min(*smallest);
                *last = size;
            }
            None if size == self.table.at_most => {}
            None => self.changed = Some((size, size)),
        }
    }

    /// Appends the block of a list.
    pub fn encode(&mut self, fields: &Fields, out: &mut Vec<u8>) {
        if let Some((smallest, last)) = self.changed.take() {
            for size in [smallest, last] {
                self.table.bound(size);
                integer::put(out, 0x20, 5, size);
                if smallest == last {
                    break;
                }
            }
        }
        for (name, value, indexing) in fields.iter() {
            self.field(name, value, indexing, out);
        }
    }

    fn field(&mut self, name: &[u8], value: &[u8], indexing: Indexing, out: &mut Vec<u8>) {
        let found = self.table.find(name, value);
        let (pattern, prefix) = match (indexing, found) {
            (Indexing::Kept | Indexing::Plain, Found::Whole(index)) => return integer::put(out, 0x80, 7, index),
            (Indexing::Kept, _) => (0x40, 6),
            (Indexing::Plain, _) => (0x00, 4),
            (Indexing::Never, _) => (0x10, 4),
        };
        match found {
            Found::Whole(index) | Found::Name(index) => integer::put(out, pattern, prefix, index),
            Found::Nothing => {
                out.push(pattern);
                string(name, out);
            }
        }
        string(value, out);
        if indexing == Indexing::Kept {
            self.table.add(name, value);
        }
    }
}

fn string(text: &[u8], out: &mut Vec<u8>) {
    integer::put(out, 0x00, 7, text.len());
    out.extend_from_slice(text);
}
