//! The static table and the dynamic one (RFC 7541, section 2.3 and appendix A).

use std::collections::VecDeque;

use super::{DEFAULT_SIZE, OVERHEAD};

/// Appendix A.
pub(super) const STATIC: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// One field of the dynamic table.
#[derive(Debug)]
struct Entry {
    hash: u32,
    name: u32,
    text: Box<[u8]>,
}

/// The dynamic table: newest first, bounded in size.
#[derive(Debug)]
pub(super) struct Table {
    entries: VecDeque<Entry>,
    size: usize,
    pub(super) at_most: usize,
}

/// Place of a field in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Whole(usize),
    Name(usize),
    Nothing,
}

/// A number by which fields that differ mostly differ.
fn hash(name: &[u8], value: &[u8]) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = (name.len() as u64) << 32 | value.len() as u64;
    for text in [name, value] {
        let mut pieces = text.chunks_exact(8);
        for piece in &mut pieces {
            let number = u64::from_le_bytes(piece.first_chunk().copied().unwrap_or_default());
            hash = (hash ^ number).wrapping_mul(FACTOR).rotate_left(23);
        }
        let mut last = [0; 8];
        let rest = pieces.remainder();
        last[..rest.len()].copy_from_slice(rest);
        hash = (hash ^ u64::from_le_bytes(last)).wrapping_mul(FACTOR).rotate_left(23);
    }
    (hash >> 32) as u32 ^ hash as u32
}

impl Default for Table {
    fn default() -> Self {
        Self {
            entries: VecDeque::new(),
            size: 0,
            at_most: DEFAULT_SIZE,
        }
    }
}

impl Table {
    /// Name and value at an index of both tables together (section 2.3.3).
    pub(super) fn field(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let index = index.checked_sub(1)?;
        match STATIC.get(index) {
            Some((name, value)) => Some((name.as_bytes(), value.as_bytes())),
            None => {
                let entry = self.entries.get(index - STATIC.len())?;
                Some(entry.text.split_at(entry.name as usize))
            }
        }
    }

    /// The place of a field, or of its name.
    pub(super) fn find(&self, name: &[u8], value: &[u8]) -> Found {
        let known = fixed(name, value);
        if let Found::Whole(_) = known {
            return known;
        }
        let hash = hash(name, value);
        for (index, entry) in self.entries.iter().enumerate() {
            if entry.hash == hash && entry.text.split_at(entry.name as usize) == (name, value) {
                return Found::Whole(STATIC.len() + 1 + index);
            }
        }
        if known != Found::Nothing {
            return known;
        }
        let by_name = |entry: &Entry| entry.text.get(..entry.name as usize) == Some(name);
        match self.entries.iter().position(by_name) {
            Some(index) => Found::Name(STATIC.len() + 1 + index),
            None => Found::Nothing,
        }
    }

    /// Adds a field as the newest, at the cost of the oldest (section 4.4).
    pub(super) fn add(&mut self, name: &[u8], value: &[u8]) {
        let size = name.len() + value.len() + OVERHEAD;
        if size > self.at_most {
            self.entries.clear();
            self.size = 0;
            return;
        }
        self.shrink_to(self.at_most - size);
        self.size += size;
        self.entries.push_front(Entry {
            hash: hash(name, value),
            // It fits into a table of some kilobytes.
            name: name.len() as u32,
            text: [name, value].concat().into_boxed_slice(),
        });
    }

    /// Changes the bound (section 4.3).
    pub(super) fn bound(&mut self, at_most: usize) {
        self.at_most = at_most;
        self.shrink_to(at_most);
    }

    fn shrink_to(&mut self, size: usize) {
        while self.size > size {
            match self.entries.pop_back() {
                Some(entry) => self.size -= entry.text.len() + OVERHEAD,
                None => self.size = 0,
            }
        }
    }
}

/// The place in the static table.
fn fixed(name: &[u8], value: &[u8]) -> Found {
    // By length first: fields of one length are few.
    let candidates: &[usize] = match name.len() {
        3 => &[21, 60],
        4 => &[33, 34, 37, 38, 45, 59],
        5 => &[4, 5, 22, 50],
        6 => &[19, 32, 35, 54],
        7 => &[2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 36, 51, 52],
        8 => &[39, 42, 46],
        10 => &[1, 55, 58],
        11 => &[53],
        12 => &[31, 47],
        13 => &[18, 23, 24, 30, 41, 44],
        14 => &[15, 28],
        15 => &[16, 17],
        16 => &[26, 27, 29, 61],
        17 => &[40, 57],
        18 => &[48],
        19 => &[25, 43, 49],
        25 => &[56],
        27 => &[20],
        _ => &[],
    };
    let mut by_name = Found::Nothing;
    for &index in candidates {
        let (known, content) = STATIC[index - 1];
        if known.as_bytes() == name {
            if content.as_bytes() == value && !content.is_empty() {
                return Found::Whole(index);
            }
            if by_name == Found::Nothing {
                by_name = Found::Name(index);
            }
        }
    }
    by_name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_the_static_table_is_found_where_it_stands() {
        for (index, (name, value)) in STATIC.iter().enumerate() {
            let first = 1 + STATIC.iter().position(|(known, _)| known == name).unwrap();
            let expected = if value.is_empty() {
                Found::Name(first)
            } else {
                Found::Whole(index + 1)
            };
            assert_eq!(fixed(name.as_bytes(), value.as_bytes()), expected, "{name}");
            assert_eq!(fixed(name.as_bytes(), b"something else"), Found::Name(first), "{name}");
        }
        assert_eq!(fixed(b"x-unknown", b""), Found::Nothing);
    }

    #[test]
    fn the_oldest_are_evicted_and_what_is_too_large_empties_the_table() {
        let mut table = Table::default();
        table.bound(100);
        table.add(b"a", b"1");
        table.add(b"b", b"2");
        assert_eq!(table.find(b"a", b"1"), Found::Whole(63));
        table.add(b"c", b"3");
        assert_eq!(table.find(b"a", b"1"), Found::Nothing);
        assert_eq!(table.field(62), Some((&b"c"[..], &b"3"[..])));
        assert_eq!(table.field(64), None);
        table.add(&[b'x'; 100], b"");
        assert_eq!(table.field(62), None);
    }
}
