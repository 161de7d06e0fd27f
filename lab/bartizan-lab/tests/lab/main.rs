//! `bartizan lab list` and `run`, with the real binary: records, resuming, and what goes wrong.

mod drivers;
mod ends;
mod guest;
mod refusals;
mod runs;
mod stage;
mod storms;
