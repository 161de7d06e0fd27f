//! Functions over SCTP, each behind a sidecar.

#[path = "../gateway/function.rs"]
pub(crate) mod function;
#[path = "../gateway/stage.rs"]
pub(crate) mod stage;
