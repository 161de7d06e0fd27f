//! From evidence to verdicts.
//!
//! [`Evidence`] is a connection that packets showed, joined with what ledgers say of it; only those two can make it.
//! From it comes a [`Posture`]: six questions with one of four answers each, and two verdicts that are never merged:
//! *confidentiality* against someone who records today and has a quantum computer later, and *authenticity* against
//! someone who forges with one. What nobody saw is not called safe: "not observable" and "not seen" are answers.
//!
//! The crate does no I/O and reads no clock.
#![forbid(unsafe_code)]

mod answer;
mod authenticity;
mod confidentiality;
mod evidence;
mod kind;
mod ledgers;
mod questions;

pub use answer::{Answer, Judgement, Reply, Source, Verdict};
pub use evidence::{Contradiction, Evidence, Posture};
pub use kind::Kind;
pub use ledgers::Ledgers;
