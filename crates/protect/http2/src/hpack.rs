//! Header compression (RFC 7541).

mod decoder;
mod encoder;
mod huffman;
mod integer;
mod table;

pub use decoder::{Decoder, Unread};
pub use encoder::Encoder;

/// Bytes that a field counts in a table and in a list beyond its name and value (sections 4.1 and
/// RFC 9113, 6.5.2).
const OVERHEAD: usize = 32;

/// The size of the dynamic table before anything else is negotiated (RFC 9113, section 6.5.2).
const DEFAULT_SIZE: usize = 4096;

#[cfg(test)]
mod tests;
