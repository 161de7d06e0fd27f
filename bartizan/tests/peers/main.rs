//! The sidecar against programs and people that do not do it a favour: Go's HTTP/2 as free5GC uses
//! it, the conformance suite h2spec, and peers that are slow, silent, sick or hostile.

#[path = "../sidecar/stage.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod stage;

mod caller;
mod churn;
mod conformance;
mod go;
mod hostile;
mod ipv6;
mod mesh;
mod rolling;
mod smuggling;
mod versions;
