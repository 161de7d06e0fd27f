//! Injection of sidecars into pods of Kubernetes: an AdmissionReview in, an AdmissionReview out,
//! with a JSON Patch or with the reason of a refusal.
//!
//! A namespace opts in by a label, which the webhook's configuration selects by; so every pod that
//! [`review`] sees either gets the redirect and the sidecar in front of its own init containers, or
//! was left out by an annotation, or is refused. A pod that is not understood is refused.
//!
//! The pure part of `bartizan webhook`: no I/O, no clock.
#![forbid(unsafe_code)]

mod answer;
mod bounds;
mod check;
mod document;
mod patch;
mod pod;
mod review;
mod secrets;
mod settings;
mod specification;

pub use answer::{Answer, Verdict};
pub use bounds::LARGEST;
pub use review::{refuse_unread, review};
pub use settings::{ADMIN_PORT, Exemption, Settings};

/// The annotation that names the node of the deployment file that a pod is.
pub const NODE: &str = "bartizan/node";
/// The annotation that leaves a pod out (`disabled`) or does not (`enabled`, as without it).
pub const INJECT: &str = "bartizan/inject";
/// The annotation that names containers, separated by commas, that may hold capabilities with which
/// they could change or pass the rules.
pub const TRUST: &str = "bartizan/trust";

/// Name of the container that holds the rules.
pub const REDIRECT: &str = "bartizan-redirect";
/// Name of the sidecar's container.
pub const SIDECAR: &str = "bartizan-sidecar";
/// User and group ids of the sidecar: the redirect exempts what this user sends.
pub const USER: u32 = 10_101;
