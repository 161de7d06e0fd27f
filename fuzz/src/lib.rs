//! The fuzz targets: one function for each reader, which takes any bytes and must not panic.
//!
//! libFuzzer calls them from `fuzz_targets/`; `crates/prove/keys/tests/fuzz.rs` runs the same ones
//! on the corpus and on mutations of it, with the compiler that everything else is built with.

pub mod targets;
