//! Evidence that a part of some captures leaves of its packets, for a report of the whole.
//!
//! N parts of the same captures are N slices of their bytes, one behind the other. The evidence of
//! a part holds its packets in order, without the bytes of which only their number matters
//! ([`bartizan_wire::reduce`]); a merge gives the packets of all parts to an observer as if they
//! came from the captures, and checks at each hole that nothing depends on what was there. Its
//! result is the report of the whole or a refusal.

mod cut;
mod joint;
mod leaving;
mod manifest;
mod reader;
mod set;
mod writer;

pub use cut::{Section, sections};
pub use joint::{Apart, Joint};
pub use leaving::{Reducer, is_counted};
pub use manifest::{Begin, Damage, End, Manifest, Source};
pub use reader::{Damaged, Item, Reader};
pub use set::{Refusal, Set};
pub use writer::Writer;

/// Beginning of evidence; the number is the version of the format.
pub const MAGIC: &[u8] = b"bartizan-evidence/1\n";

/// Type of the following item, in one byte.
mod tag {
    pub(super) const END: u8 = 0;
    pub(super) const BEGIN_SECTION: u8 = 1;
    pub(super) const PACKET: u8 = 2;
    pub(super) const END_SECTION: u8 = 3;
}
