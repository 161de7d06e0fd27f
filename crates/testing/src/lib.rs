//! Parts that the tests of several crates and the laboratory share: waiting for a condition,
//! sockets of the loopback, namespaces joined by veth pairs, impairments, captures in files, lab
//! roots that are built, guest kernels, tshark.
//!
//! A dev-dependency of the product alone: `scripts/dependency-order` refuses it in a product crate.
//! Parts for tests alone panic with what was expected; those of the laboratory return errors.
#![forbid(unsafe_code)]

mod build;
mod capture;
mod discovery;
mod group;
mod guest;
mod guest_tests;
mod impairment;
mod listening;
mod loopback;
mod memory;
mod own_guest;
mod program;
mod root;
mod root_programs;
mod slot;
mod socket;
mod tshark;
mod usage;
mod veth;
mod wait;
mod wiring;

pub use build::{Build, Progress};
pub use capture::{Capture, Captured, Direction};
pub use discovery::Discovery;
pub use group::group_members;
pub use guest::{Guest, GuestKernel};
pub use guest_tests::{GuestTests, Ran, Results};
pub use impairment::Impairment;
pub use listening::Listening;
pub use loopback::loopback_addresses;
pub use memory::resident;
pub use own_guest::in_a_guest;
pub use program::copy_program;
pub use root::needs_root;
pub use root_programs::{RootPrograms, stacks};
pub use socket::{connect_from, free_port, is_closed, is_open, udp_at};
pub use tshark::{Row, Tshark, lab_root, numbers, wireshark};
pub use usage::Usage;
pub use veth::{Port, connect};
pub use wait::{PATIENCE, eventually, until};
pub use wiring::{Address, Wiring};
