//! N2 and E2 carried by two sidecars, between functions on kernel SCTP: in a guest
//! whose kernel has it.

#![allow(missing_docs, reason = "a test file has no readers of its documentation")]

mod as_root;
mod boot;
mod counted;
mod function;
mod recorded;
mod stage;
