//! What tasks of one runtime share: a coarse clock, an end that interrupts, memory that is lent out.

pub(crate) mod pages;
pub(crate) mod scratch;
pub(crate) mod ticks;
pub(crate) mod until;
