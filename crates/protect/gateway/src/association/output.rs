//! Octets on their way to the peer, kept until the peer is known to have them.

/// One stream of octets on its way to the peer, over one carrier after the other.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// Begins a carrier, and is no part of the stream.
    preface: Vec<u8>,
    /// Left of the preface of the carrier before, which may be returned to.
    preface_before: Vec<u8>,
    bytes: Vec<u8>,
    /// Index of the first octet that the peer may not have.
    start: usize,
    /// Index of the first octet that the carrier has not taken.
    next: usize,
    /// Index behind the last octet that any carrier has taken.
    sent: usize,
    /// Position of `start` in the stream.
    acknowledged: u64,
    /// It is not known yet where the peer continues.
    pub(super) held_back: bool,
}

impl Output {
    /// A stream that begins on every carrier alike, also on the one before.
    pub(super) fn beginning_with(preface: &[u8], held_back: bool) -> Self {
        Self {
            preface: preface.to_vec(),
            preface_before: preface.to_vec(),
            held_back,
            ..Self::default()
        }
    }

    /// A stream of which the peer may not have these octets, behind so many others. A carrier of
    /// another process may have taken any of them.
    pub(super) const fn continued(acknowledged: u64, bytes: Vec<u8>) -> Self {
        Self {
            preface: Vec::new(),
            preface_before: Vec::new(),
            start: 0,
            next: bytes.len(),
            sent: bytes.len(),
            bytes,
            acknowledged,
            held_back: false,
        }
    }

    /// Octets that the peer may not have, and their position in the stream.
    pub(super) fn kept_octets(&self) -> (u64, &[u8]) {
        (self.acknowledged, &self.bytes[self.start..])
    }

    /// Bytes that the carrier has to take.
    pub(super) fn waiting(&self) -> &[u8] {
        match (self.preface.as_slice(), self.held_back) {
            ([], true) => &[],
            ([], false) => &self.bytes[self.next..],
            (preface, _) => preface,
        }
    }

    /// Buffer that further bytes are appended to.
    pub(super) const fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The carrier has taken so many octets.
    pub(super) fn take(&mut self, octets: usize) {
        if self.preface.is_empty() {
            self.next = (self.next + octets).min(self.bytes.len());
            self.sent = self.sent.max(self.next);
        } else {
            self.preface.drain(..octets.min(self.preface.len()));
        }
    }

    /// Octets of the stream that the carrier has not taken.
    pub(super) const fn unsent(&self) -> usize {
        self.bytes.len() - self.next
    }

    /// Octets of the stream that the peer may not have.
    pub(super) const fn kept(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// A new carrier begins with this; the stream itself may have to wait until the peer says where
    /// it continues.
    pub(super) fn begin(&mut self, preface: Vec<u8>, held_back: bool) {
        self.preface_before = std::mem::replace(&mut self.preface, preface);
        self.held_back = held_back;
    }

    /// The carrier before is the carrier again, and takes what follows what it took.
    pub(super) fn return_to_carrier(&mut self) {
        self.preface = std::mem::take(&mut self.preface_before);
        self.held_back = false;
    }

    /// The peer has received this much of the stream; false where that cannot be. A report that is
    /// sent again over another carrier may be older than what is known.
    pub(super) fn acknowledge(&mut self, received: u64) -> bool {
        let octets = received.saturating_sub(self.acknowledged);
        let taken = self.next - self.start;
        let Some(octets) = usize::try_from(octets).ok().filter(|octets| *octets <= taken) else {
            return false;
        };
        self.start += octets;
        self.acknowledged += octets as u64;
        if self.start == self.bytes.len() {
            (self.start, self.next, self.sent) = (0, 0, 0);
            self.bytes.clear();
            if self.bytes.capacity() > 4 * 1024 {
                self.bytes = Vec::new();
            }
        } else if self.start >= self.bytes.len() / 2 {
            // Each octet is moved at most as often as one was acknowledged.
            self.bytes.drain(..self.start);
            self.next -= self.start;
            self.sent -= self.start;
            self.start = 0;
        }
        true
    }

    /// A new carrier continues behind what the peer has received; false where that cannot be. It may
    /// have received octets over a carrier before the last one, which that one did not take.
    pub(super) fn continue_at(&mut self, received: u64) -> bool {
        self.next = self.sent;
        let known = received >= self.acknowledged && self.acknowledge(received);
        self.next = self.start;
        self.held_back = false;
        known
    }

    /// Drops everything.
    pub(super) fn clear(&mut self) {
        let acknowledged = self.acknowledged + self.kept() as u64;
        *self = Self {
            acknowledged,
            ..Self::default()
        };
    }
}
