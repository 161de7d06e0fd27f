//! OTLP over HTTP to a collector: its address, one request and its answer, and the pause before a
//! retry.

mod answer;
mod backoff;
mod client;
mod target;

pub(crate) use answer::partial_success;
pub(crate) use backoff::Backoff;
pub(crate) use client::{Client, Outcome};
pub(crate) use target::{Plaintext, Purpose, Target};

/// From 0 to 1.
pub(crate) fn chance() -> f64 {
    let mut byte = [0];
    match aws_lc_rs::rand::fill(&mut byte) {
        Ok(()) => f64::from(byte[0]) / 255.0,
        Err(_) => 0.5,
    }
}

/// The name of this host. A service may see nothing of `/proc` but processes.
pub(crate) fn host() -> String {
    let read = |path| std::fs::read_to_string(path).ok();
    let name = read("/proc/sys/kernel/hostname").or_else(|| read("/etc/hostname"));
    let name = name.unwrap_or_default();
    match name.trim() {
        "" => "unknown".to_owned(),
        name => name.to_owned(),
    }
}
