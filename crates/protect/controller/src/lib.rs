//! Deployment file and certificates of a Kubernetes namespace: what is observed of it goes in, what
//! is to be written comes out.
//!
//! The resources `Network` and `Exception` become one deployment file in a ConfigMap; each node of
//! the file gets a Secret with its certificate, which is renewed before it ends. [`reconcile`]
//! decides that, [`Election`] which of several controllers acts.
//!
//! The pure part of `bartizan controller`: no I/O, no clock.
#![forbid(unsafe_code)]

mod action;
mod asked;
mod certificate_requests;
mod condition;
mod exception;
mod lease;
mod manifest;
mod objects;
mod protection;
mod reading;
mod reconcile;
mod renewal;
mod status;
mod structural;

pub use action::{Action, Budget, Object, Order, Turn, Why};
pub use asked::{Answer, Asked, Cause, ISSUER, Received, Stray};
pub use condition::{Condition, State};
pub use lease::{Election, Lease, Step, Timing};
pub use manifest::{Manifest, manifests};
pub use objects::{
    Authority, Certificate, Circumstances, ConfigMap, Digest, Exception, Failure, Meta, Network, Observed, Pods,
    Secret, Settings,
};
pub use protection::{Finding, Protection, SidecarState};
pub use reading::{Reading, Source, Verdict};
pub use reconcile::{reconcile, reconcile_read};
pub use renewal::{due, names, renew_at};

/// Group of the custom resources; `.internal` is the top-level domain that is reserved for private use.
pub const GROUP: &str = "bartizan.internal";
/// Their version.
pub const VERSION: &str = "v1alpha1";
/// Value of the label `app.kubernetes.io/managed-by` of what this controller writes, and its name as a field manager.
pub const MANAGER: &str = "bartizan-controller";
/// The label.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Key of the ConfigMap with the deployment file.
pub const FILE: &str = "deployment.yaml";
