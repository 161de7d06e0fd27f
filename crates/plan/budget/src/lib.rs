//! The cost of protecting a link before it is bought: overheads of every packet, delay, feasibility of a fronthaul, MTU and round trips.
//!
//! Pure functions of typed quantities ([`mod@unit`]): no I/O, no clock, chance only by a seed. Each function's comment has the formula, where
//! it comes from and where it ceases to hold. Every number that leaves the crate carries its [`Source`].
#![forbid(unsafe_code)]

pub mod curve;
pub mod delay;
pub mod fronthaul;
pub mod mtu;
pub mod network;
pub mod overhead;
pub mod published;
pub mod queue;
mod source;
pub mod unit;

pub use source::{Origin, Source};
