//! A classical link is never called safe: captures are changed towards classical, one way after the other, and damaged; what
//! was safe falls, and nothing rises. Done with the recordings in the tree (`mutations.rs`), and with what real peers send
//! while the tests run (`bartizan/tests/agreement`).

pub(crate) mod damage;
pub(crate) mod frame;
pub(crate) mod judged;
mod mutation;

pub(crate) mod ike;
pub(crate) mod ssh;
pub(crate) mod tls;

pub(crate) use damage::{assert_borne, assert_no_rise};
pub(crate) use mutation::{Change, Mutation, fallen};
