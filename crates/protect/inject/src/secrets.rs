//! Secrets of nodes in what a pod's own containers read: a node's key is enough to act as that node.

use serde_json::Value;

use crate::document::{at, list, shown, text};
use crate::pod::{Container, Pod};

/// Volumes that hold a Secret of this prefix, under whatever name; `but` leaves out those that are the sidecar's.
pub(crate) fn in_volumes(pod: Pod<'_>, prefix: &str, but: &[&str]) -> Vec<String> {
    let volumes = pod.named("volumes").filter(|(name, _)| !but.contains(name));
    let found = volumes.flat_map(|(name, volume)| {
        let whole = text(volume, &["secret", "secretName"]);
        let projected = elements(at(volume, &["projected", "sources"]));
        let parts = projected.iter().filter_map(|source| text(source, &["secret", "name"]));
        let secrets = whole
            .into_iter()
            .chain(parts)
            .filter(|secret| secret.starts_with(prefix));
        let named = move |secret| format!("the volume {} holds the Secret {}", shown(name), shown(secret));
        secrets.map(named).collect::<Vec<_>>()
    });
    found.collect()
}

/// The same in the environment of containers.
pub(crate) fn in_environment<'a>(containers: impl Iterator<Item = Container<'a>>, prefix: &str) -> Vec<String> {
    let found = containers.flat_map(|one| {
        let keys = elements(at(one.value, &["env"]));
        let keys = keys
            .iter()
            .filter_map(|variable| text(variable, &["valueFrom", "secretKeyRef", "name"]));
        let whole = elements(at(one.value, &["envFrom"]));
        let whole = whole.iter().filter_map(|source| text(source, &["secretRef", "name"]));
        let secrets = keys.chain(whole).filter(|secret| secret.starts_with(prefix));
        let named = |secret| {
            format!(
                "the environment of {} has the Secret {}",
                shown(one.name),
                shown(secret)
            )
        };
        secrets.map(named).collect::<Vec<_>>()
    });
    found.collect()
}

/// The elements of a list. The API server does not store a value that is no list.
fn elements(value: &Value) -> &[Value] {
    list(value).unwrap_or_default()
}

/// A reason to refuse a pod, or a warning.
pub(crate) fn said(found: &str) -> String {
    format!("{found}, by its name a node's, whose key is enough to act as that node; take it out")
}
