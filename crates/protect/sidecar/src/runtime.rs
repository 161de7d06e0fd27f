//! Shared parts of tasks: timers, a coarse clock, an end that interrupts, memory that is lent out,
//! files that may be open; and threads with a runtime of their own.

pub(crate) mod alarm;
pub(crate) mod files;
pub(crate) mod pages;
pub(crate) mod scratch;
pub(crate) mod thread;
pub(crate) mod ticks;
pub(crate) mod until;
