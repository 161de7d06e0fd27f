//! Octets on their way to the carrier.

/// Octets on their way to one stream of the carrier. One at rest holds no buffer.
#[derive(Debug, Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    /// How much of `bytes` the carrier has taken.
    taken: usize,
}

impl Output {
    /// What the carrier has to take.
    pub(super) fn waiting(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    /// Where more is written.
    pub(super) const fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The carrier has taken so many octets.
    pub(super) fn take(&mut self, octets: usize) {
        self.taken += octets;
        if self.taken >= self.bytes.len() {
            self.clear();
        }
    }

    /// Drops what was not taken.
    pub(super) fn clear(&mut self) {
        self.taken = 0;
        self.bytes.clear();
        if self.bytes.capacity() > 4 * 1024 {
            self.bytes = Vec::new();
        }
    }
}
