//! From start to end: reload, renewed judgement, expiry, idleness, memory, draining, and the hand-over to a successor.

pub(crate) mod drain;
pub(crate) mod expiry;
pub mod handover;
pub(crate) mod idle;
pub(crate) mod reload;
pub(crate) mod review;
pub(crate) mod shrink;
