//! The sidecar as its user runs it: the real binary between programs that other people wrote.

mod again;
mod bodies;
mod bounds;
mod groups;
mod interfaces;
mod ledger;
mod life;
mod paths;
mod refusals;
mod reload;
mod rights;
mod stage;
mod streams;
