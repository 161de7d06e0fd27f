//! What a network function receives, and the log, where a peer gives no answer.

pub(crate) mod answer;
pub(crate) mod failure;
pub(crate) mod failure_log;
pub(crate) mod problem;
