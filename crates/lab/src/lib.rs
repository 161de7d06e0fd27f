//! Workloads for measurements and demonstrations.
//!
//! What the network functions of a real core said to each other while two phones registered, played again with its own
//! timing, concurrency and connection churn ([`replay`]), from a file that was made from a capture ([`exchange`]); and what a
//! pair of proxies costs the requests that pass through it, ours beside others ([`bench`]).
#![forbid(unsafe_code)]

pub mod bench;
pub mod exchange;
pub mod replay;

pub use exchange::Exchange;
