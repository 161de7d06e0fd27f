//! Integration tests of `deployment` in one program: `autotests` is off, so each file is named here.

mod bounds;
mod deployment;
mod gateway;
mod messages;
mod own_tls;
mod schema;
