//! Integration tests of `ledger` in one program: `autotests` is off, so each file is named here.

mod bounded;
mod reading;
mod stage;
mod writing;
