//! Storms and capacity of protected networks: costs of handshakes, a simulation of sites and
//! gateways, and its closed form; what a publication prints, next to what the planner computes.
//!
//! Pure functions of typed quantities: no I/O, no clock, chance only by a seed. Every number that
//! leaves the crate carries its source.
#![forbid(unsafe_code)]

pub mod capacity;
pub mod cost;
pub mod published;
pub mod simulation;
mod sourced;
pub mod storm;

pub use sourced::Sourced;
