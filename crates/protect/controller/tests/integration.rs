//! Integration tests of `controller` in one program: `autotests` is off, so each file is named here.

mod asked;
mod exceptions;
mod lease;
mod manifests;
mod properties;
mod protection;
mod reconcile;
mod stage;
