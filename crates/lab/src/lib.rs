//! Workloads for measurements and demonstrations.
//!
//! What the network functions of a real core said to each other while two phones registered, played again with its own
//! timing, concurrency and connection churn ([`replay`]), from a file that was made from a capture ([`exchange`]); a consumer
//! that discovers its producer through an NRF ([`discovery`]); and what a pair of proxies costs the requests that pass through
//! it, ours beside others ([`bench`]); captures as large as one likes ([`captures`]).
#![forbid(unsafe_code)]

pub mod bench;
pub mod captures;
mod charons;
pub mod discovery;
pub mod e2;
pub mod exchange;
pub mod experiment;
pub mod inspection;
pub mod nrf;
pub mod published;
pub mod replay;
pub mod run;
pub mod sbi;
pub mod trial;
pub mod worker;
pub mod workload;

pub use discovery::Discovery;
pub use exchange::Exchange;
pub use experiment::Experiment;
pub use published::Published;
