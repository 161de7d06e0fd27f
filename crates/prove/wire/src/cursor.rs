//! A reading position in bytes that are all there; every step says whether enough was left.

/// Reads big-endian integers and length-prefixed vectors (RFC 9846, section 3), front to back.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u24(&mut self) -> Option<u32> {
        self.array::<3>().map(|[a, b, c]| u32::from_be_bytes([0, a, b, c]))
    }

    pub(crate) fn random(&mut self) -> Option<[u8; 32]> {
        self.array()
    }

    /// A vector behind a one-byte length.
    pub(crate) fn vector8(&mut self) -> Option<Cursor<'a>> {
        let length = self.u8()?;
        self.take(length.into()).map(Cursor::new)
    }

    /// A vector behind a two-byte length.
    pub(crate) fn vector16(&mut self) -> Option<Cursor<'a>> {
        let length = self.u16()?;
        self.take(length.into()).map(Cursor::new)
    }

    /// A vector behind a three-byte length.
    pub(crate) fn vector24(&mut self) -> Option<Cursor<'a>> {
        let length = self.u24()?;
        self.take(usize::try_from(length).ok()?).map(Cursor::new)
    }
}
