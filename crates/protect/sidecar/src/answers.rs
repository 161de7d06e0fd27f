//! Answers to a network function, and log lines, where a peer gives no answer.

pub(crate) mod answer;
pub(crate) mod failure;
pub(crate) mod failure_log;
pub(crate) mod problem;
