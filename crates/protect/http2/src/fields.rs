//! A list of header fields, in order, in one piece of memory.

/// The sender's choice of keeping a field in the dynamic table (RFC 7541, section 6.2). It knows
/// best, so a forwarded field is treated alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Indexing {
    /// Worth keeping.
    Kept,
    /// Not worth keeping.
    Plain,
    /// Must not be stored or indexed by any intermediary (section 7.1.3).
    Never,
}

bartizan_registry::made! {
    /// A list of header fields (RFC 9113, section 8.2), pseudo-header fields first.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct Fields,
    /// An empty list with room for a head as the SBI has them: growing to it by doubling takes nine allocations.
    pub(crate) roomy() {
        text: Vec<u8> = Vec::with_capacity(384),
        spans: Vec<Span> = Vec::with_capacity(12),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    name: u32,
    value: u32,
    end: u32,
    indexing: Indexing,
}

impl Fields {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field at the end.
    pub fn push(&mut self, name: &[u8], value: &[u8], indexing: Indexing) {
        let begin = self.text.len();
        self.text.extend_from_slice(name);
        let middle = self.text.len();
        self.text.extend_from_slice(value);
        self.close(begin, middle, indexing);
    }

    /// Adds a field whose name and value are written by the caller at the end of the text.
    pub(crate) fn text(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// Ends a field that was written to [`Fields::text`].
    pub(crate) fn close(&mut self, begin: usize, middle: usize, indexing: Indexing) {
        // Lists are bounded far below 4 GiB by what a connection accepts.
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        self.spans.push(Span {
            name: place(begin),
            value: place(middle),
            end: place(self.text.len()),
            indexing,
        });
    }

    /// Returns true if no name or value has a control character, a blank one (tab) included. One
    /// pass over all of them.
    pub(crate) fn is_printed(&self) -> bool {
        none_of(&self.text, |byte| byte < 0x20 || byte == 0x7f)
    }

    /// Takes back what was written since the text had this length and is no field yet.
    pub(crate) fn cut(&mut self, begin: usize) {
        self.text.truncate(begin);
    }

    /// Name, value and indexing of each field.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8], Indexing)> + Clone {
        self.spans.iter().map(|span| {
            let (name, value, end) = (span.name as usize, span.value as usize, span.end as usize);
            (&self.text[name..value], &self.text[value..end], span.indexing)
        })
    }

    /// The value of the first field of this name, which is in lower case.
    pub fn value(&self, name: &[u8]) -> Option<&[u8]> {
        self.iter()
            .find(|(known, _, _)| *known == name)
            .map(|(_, value, _)| value)
    }

    /// Size of the list: names, values and 32 bytes for each field (RFC 9113, section 6.5.2).
    pub fn size(&self) -> usize {
        self.text.len() + 32 * self.spans.len()
    }

    /// Gives the fields of this name, which is in lower case, another value, each in its place.
    pub fn replace(&mut self, name: &[u8], value: &[u8]) {
        if self.iter().all(|(known, old, _)| known != name || old == value) {
            return;
        }
        let mut replaced = Self::roomy();
        for (known, old, indexing) in self.iter() {
            replaced.push(known, if known == name { value } else { old }, indexing);
        }
        *self = replaced;
    }

    /// Leaves out the fields of names that `out` is true for. Costs nothing but asking where there are none.
    pub fn remove(&mut self, out: impl Fn(&[u8]) -> bool) {
        if self.iter().any(|(name, _, _)| out(name)) {
            let mut left = Self::new();
            for (name, value, indexing) in self.iter().filter(|(name, _, _)| !out(name)) {
                left.push(name, value, indexing);
            }
            *self = left;
        }
    }

    /// Returns true if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Number of fields.
    pub fn len(&self) -> usize {
        self.spans.len()
    }
}

/// Returns true if no byte is one of these. Looks at each, so that the compiler looks at many at
/// once.
pub(crate) fn none_of(text: &[u8], wrong: impl Fn(u8) -> bool) -> bool {
    !text.iter().fold(false, |found, &byte| found | wrong(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_value_stays_in_its_place_and_no_other_field_changes() {
        let mut fields = Fields::new();
        for (name, value) in [(":method", "GET"), (":scheme", "http"), (":path", "/"), ("x", "http")] {
            fields.push(name.as_bytes(), value.as_bytes(), Indexing::Kept);
        }
        fields.replace(b":scheme", b"https");
        let all: Vec<_> = fields.iter().map(|(_, value, _)| value).collect();
        assert_eq!(all, [&b"GET"[..], b"https", b"/", b"http"]);
        let before = fields.clone();
        fields.replace(b":scheme", b"https");
        fields.replace(b":protocol", b"https");
        assert_eq!(fields, before);
    }
}
