//! The machine under a measurement: processors and priority of threads and processes, quotas of
//! threads, conditions that change, Ethernet frames with the kernel's times, the kernel's ciphers.
//!
//! Extends `bartizan-host` by what measurements alone need. All `unsafe` blocks of the laboratory
//! are here.

mod cipher;
mod conditions;
mod ethernet;
mod impairment;
mod placing;
mod quotas;
mod threads;

pub use cipher::{KernelCipher, Request};
pub use conditions::{clock_source, processor_flags, stolen};
pub use ethernet::{Arrival, Departure, Departures, EthernetSocket, Handed, Receives};
pub use impairment::impair_by_length;
pub use placing::{Priority, pin, pin_this_thread, processors, processors_of};
pub use quotas::Quotas;
pub use threads::{Thread, threads_of};
