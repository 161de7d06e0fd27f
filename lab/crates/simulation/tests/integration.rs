//! Integration tests of `simulation` in one program: `autotests` is off, so each file is named here.

mod captured;
mod costs;
mod merging;
mod network;
mod queueing;
mod storms;
