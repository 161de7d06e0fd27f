//! What tasks of one runtime share: a coarse clock, an end that interrupts, memory that is lent out, what QUIC runs on; and
//! threads with a runtime of their own.

pub(crate) mod pages;
pub(crate) mod quic;
pub(crate) mod reactor;
pub(crate) mod scratch;
pub(crate) mod thread;
pub(crate) mod ticks;
pub(crate) mod until;
