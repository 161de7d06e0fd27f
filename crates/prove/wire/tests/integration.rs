//! Integration tests of `wire` in one program: `autotests` is off, so each file is named here.

mod captures;
mod decapsulation;
mod encapsulate;
mod ipsec_and_sctp;
mod live;
mod observe;
