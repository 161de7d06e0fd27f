//! Frames in bytes (RFC 9113, sections 4 and 6).

/// Section 4.1.
pub(crate) const HEADER: usize = 9;
/// The longest payload we take, the default of SETTINGS_MAX_FRAME_SIZE, which we do not raise.
pub(crate) const LONGEST: usize = 16_384;

pub(crate) const DATA: u8 = 0x00;
pub(crate) const HEADERS: u8 = 0x01;
pub(crate) const PRIORITY: u8 = 0x02;
pub(crate) const RST_STREAM: u8 = 0x03;
pub(crate) const SETTINGS: u8 = 0x04;
pub(crate) const PUSH_PROMISE: u8 = 0x05;
pub(crate) const PING: u8 = 0x06;
pub(crate) const GOAWAY: u8 = 0x07;
pub(crate) const WINDOW_UPDATE: u8 = 0x08;
pub(crate) const CONTINUATION: u8 = 0x09;

pub(crate) const ACK: u8 = 0x01;
pub(crate) const END_STREAM: u8 = 0x01;
pub(crate) const END_HEADERS: u8 = 0x04;
pub(crate) const PADDED: u8 = 0x08;
pub(crate) const WITH_PRIORITY: u8 = 0x20;

pub(crate) const HEADER_TABLE_SIZE: u16 = 0x01;
pub(crate) const ENABLE_PUSH: u16 = 0x02;
pub(crate) const MAX_CONCURRENT_STREAMS: u16 = 0x03;
pub(crate) const INITIAL_WINDOW_SIZE: u16 = 0x04;
pub(crate) const MAX_FRAME_SIZE: u16 = 0x05;
pub(crate) const MAX_HEADER_LIST_SIZE: u16 = 0x06;

/// Windows and stream identifiers have 31 bits.
pub(crate) const LARGEST: u32 = 0x7fff_ffff;

/// An error code (RFC 9113, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(pub u32);

impl Code {
    /// NO_ERROR.
    pub const NO_ERROR: Self = Self(0x00);
    /// PROTOCOL_ERROR.
    pub const PROTOCOL_ERROR: Self = Self(0x01);
    /// INTERNAL_ERROR.
    pub const INTERNAL_ERROR: Self = Self(0x02);
    /// FLOW_CONTROL_ERROR.
    pub const FLOW_CONTROL_ERROR: Self = Self(0x03);
    /// STREAM_CLOSED.
    pub const STREAM_CLOSED: Self = Self(0x05);
    /// FRAME_SIZE_ERROR.
    pub const FRAME_SIZE_ERROR: Self = Self(0x06);
    /// REFUSED_STREAM.
    pub const REFUSED_STREAM: Self = Self(0x07);
    /// CANCEL.
    pub const CANCEL: Self = Self(0x08);
    /// COMPRESSION_ERROR.
    pub const COMPRESSION_ERROR: Self = Self(0x09);
    /// ENHANCE_YOUR_CALM.
    pub const ENHANCE_YOUR_CALM: Self = Self(0x0b);
    /// HTTP_1_1_REQUIRED.
    pub const HTTP_1_1_REQUIRED: Self = Self(0x0d);
}

/// The header of a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) length: usize,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
}

impl Header {
    /// From the first nine bytes; `None` while there are fewer.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let &[high, middle, low, kind, flags, a, b, c, d] = bytes.first_chunk::<HEADER>()?;
        Some(Self {
            length: usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low),
            kind,
            flags,
            stream: u32::from_be_bytes([a, b, c, d]) & LARGEST,
        })
    }

    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Appends the header of a frame.
pub(crate) fn put_header(out: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    // No payload is longer than what 24 bits hold.
    let [_, high, middle, low] = (length as u32).to_be_bytes();
    let [a, b, c, d] = stream.to_be_bytes();
    out.extend_from_slice(&[high, middle, low, kind, flags, a, b, c, d]);
}

/// Appends a frame whose payload is one number.
pub(crate) fn put_number(out: &mut Vec<u8>, kind: u8, stream: u32, number: u32) {
    put_header(out, 4, kind, 0, stream);
    out.extend_from_slice(&number.to_be_bytes());
}

/// The number a payload begins with.
pub(crate) fn number(payload: &[u8]) -> u32 {
    u32::from_be_bytes(payload.first_chunk().copied().unwrap_or_default())
}
