//! One module per command: its arguments, and a `run` that builds the parts and prints what they say.

pub(crate) mod algorithms;
#[cfg(feature = "full")]
pub(crate) mod ca;
pub(crate) mod check;
#[cfg(feature = "full")]
pub(crate) mod completions;
#[cfg(feature = "full")]
pub(crate) mod controller;
mod deployment_file;
#[cfg(feature = "full")]
pub(crate) mod doctor;
#[cfg(feature = "full")]
mod endpoint;
#[cfg(feature = "full")]
pub(crate) mod enrol;
#[cfg(feature = "full")]
pub(crate) mod guard;
#[cfg(feature = "webhook")]
mod http_answer;
#[cfg(feature = "full")]
pub(crate) mod init;
#[cfg(feature = "full")]
pub(crate) mod inspect;
#[cfg(feature = "full")]
pub(crate) mod ipsec;
mod log;
#[cfg(feature = "full")]
pub(crate) mod macsec;
#[cfg(feature = "full")]
pub(crate) mod man;
mod otlp;
#[cfg(feature = "full")]
pub(crate) mod plan;
#[cfg(feature = "full")]
mod sarif;
#[cfg(feature = "full")]
pub(crate) mod schema;
pub(crate) mod sidecar;
mod watched;
#[cfg(feature = "webhook")]
pub(crate) mod webhook;
