//! The sidecar as its user runs it: the real binary between programs that other people wrote.

mod again;
mod blame;
mod bodies;
mod bounds;
mod classical;
#[path = "../collector/mod.rs"]
#[allow(dead_code, reason = "what other programs of tests use")]
mod collector;
mod echoes;
mod fetched;
mod floods;
mod groups;
mod handshakes;
mod interfaces;
mod ledger;
mod life;
mod own_files;
mod own_tls;
mod paths;
mod raw;
mod refusals;
mod reload;
mod rights;
mod rollover;
mod shares;
mod stacks;
mod stage;
mod stalls;
mod streams;
mod traces;
mod workers;
