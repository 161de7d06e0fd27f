//! Settings that are the same for every pod.

use std::collections::BTreeMap;

/// The admin port of sidecars, unless it is set.
pub const ADMIN_PORT: u16 = 15_090;

/// Settings that the webhook was started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Image of the sidecar.
    pub image: String,
    /// Image of the redirect, which has `nft` and `ip` as well.
    pub redirect_image: String,
    /// Name of the ConfigMap, in the namespace of the pod, whose key `deployment.yaml` is the deployment file.
    pub config_map: String,
    /// With the node behind it, the name of the Secret with certificate, key and roots.
    pub secret_prefix: String,
    /// Port of the sidecars' admin listeners, as the deployment file has it.
    pub admin_port: u16,
    /// Requests of each of the two containers to its machine (`cpu`, `memory`), in Kubernetes' own
    /// quantities.
    pub requests: BTreeMap<String, String>,
    /// Limits of each of them.
    pub limits: BTreeMap<String, String>,
    /// Exemption of a pod of an opted-in namespace.
    pub exemption: Exemption,
}

/// Effect of the annotation `bartizan/inject: disabled`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exemption {
    /// It leaves the pod out, and the answer reports that.
    Allowed,
    /// It is refused.
    Refused,
}
