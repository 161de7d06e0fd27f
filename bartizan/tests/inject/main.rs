//! `bartizan webhook`: reviews by HTTPS, and pods started as it makes them.

#[path = "../authority/mod.rs"]
mod authority;
#[path = "../redirect_stage/mod.rs"]
mod redirect_stage;

mod as_root;
mod pod;
mod served;
mod webhook;

/// The review of the pod that free5GC's chart makes of its AMF.
const AMF: &str = include_str!("../../../crates/protect/inject/tests/data/free5gc-amf.json");
