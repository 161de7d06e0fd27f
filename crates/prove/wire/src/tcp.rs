//! TCP (RFC 9293): segments, and each direction's bytes put back in order.

mod segment;
mod stream;

pub use segment::{Flags, Segment, segment};
pub use stream::{Budget, Delivery, Stream, StreamCounts};
