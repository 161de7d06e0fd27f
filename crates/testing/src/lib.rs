//! Parts that the tests of several crates share: waiting for a condition, sockets of the loopback,
//! memory of a process, copies of programs, tshark, tests in a guest kernel.
//!
//! A dev-dependency of the product alone: `scripts/dependency-order` refuses it in a product crate.
//! The laboratory uses its stand-ins. Everything here panics with what was expected, as a test
//! does.
#![forbid(unsafe_code)]

mod discovery;
mod guest_tests;
mod memory;
mod own_guest;
mod program;
mod socket;
mod tshark;
mod wait;

pub use discovery::Discovery;
pub use guest_tests::{GuestTests, Ran, Results};
pub use memory::resident;
pub use own_guest::{in_a_guest, in_guest};
pub use program::copy_program;
pub use socket::{connect_from, free_port, is_closed, is_open, udp_at};
pub use tshark::{Row, Tshark, lab_root, numbers, wireshark};
pub use wait::{PATIENCE, eventually, until};
