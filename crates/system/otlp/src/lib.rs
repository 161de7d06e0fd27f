//! OTLP over HTTP to a collector: its address, one request and its answer, and the pause before a
//! retry. A bounded queue keeps records until the collector has taken them.
#![forbid(unsafe_code)]

mod answer;
mod backoff;
mod client;
mod queue;
mod target;

pub use answer::{PartialSuccess, partial_success};
pub use backoff::Backoff;
pub use client::{Client, Outcome};
pub use queue::{Batch, LARGEST, Losses, Queue};
pub use target::{Plaintext, Purpose, Target};

/// A number from 0 to 1, by chance.
pub fn chance() -> f64 {
    let mut byte = [0];
    match aws_lc_rs::rand::fill(&mut byte) {
        Ok(()) => f64::from(byte[0]) / 255.0,
        Err(_) => 0.5,
    }
}

/// The name of this host. A service may see nothing of `/proc` but processes.
pub fn host() -> String {
    let read = |path| std::fs::read_to_string(path).ok();
    let name = read("/proc/sys/kernel/hostname").or_else(|| read("/etc/hostname"));
    let name = name.unwrap_or_default();
    match name.trim() {
        "" => "unknown".to_owned(),
        name => name.to_owned(),
    }
}
