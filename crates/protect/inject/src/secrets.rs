//! Secrets of nodes in what a pod's own containers read: a node's key is enough to act as that node.

use serde_json::Value;

use crate::document::{at, shown, text};
use crate::pod::{Container, Pod};

/// Volumes that hold a Secret of this prefix, under whatever name, or are mounted with one; `but`
/// leaves out those that are the sidecar's.
pub(crate) fn in_volumes(pod: Pod<'_>, prefix: &str, but: &[&str]) -> Vec<String> {
    let volumes = pod.named("volumes").filter(|(name, _)| !but.contains(name));
    let found = volumes.flat_map(|(name, volume)| {
        let named = |secret| format!("the volume {} has the Secret {}", shown(name), shown(secret));
        of_prefix(&[volume], prefix).into_iter().map(named).collect::<Vec<_>>()
    });
    found.collect()
}

/// The same for pulling images.
pub(crate) fn for_images(pod: Pod<'_>, prefix: &str) -> Vec<String> {
    let names = pod.named("imagePullSecrets").map(|(name, _)| name);
    let found = names.filter(|name| name.starts_with(prefix));
    found
        .map(|secret| format!("imagePullSecrets has the Secret {}", shown(secret)))
        .collect()
}

/// The same in the environment of containers.
pub(crate) fn in_environment<'a>(containers: impl Iterator<Item = Container<'a>>, prefix: &str) -> Vec<String> {
    let found = containers.flat_map(|one| {
        let named = |secret| {
            format!(
                "the environment of {} has the Secret {}",
                shown(one.name),
                shown(secret)
            )
        };
        let environment = ["env", "envFrom"].map(|list| at(one.value, &[list]));
        let secrets = of_prefix(&environment, prefix);
        secrets.into_iter().map(named).collect::<Vec<_>>()
    });
    found.collect()
}

/// Names of Secrets with this prefix, in fields that are called after Secrets: `secretName`,
/// `secret`, `secretRef`, `secretKeyRef`, `nodePublishSecretRef`, and those of drivers and of
/// versions of Kubernetes to come.
fn of_prefix<'a>(values: &[&'a Value], prefix: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut left = values.to_vec();
    while let Some(value) = left.pop() {
        match value {
            Value::Array(elements) => left.extend(elements),
            Value::Object(fields) => {
                let secrets = fields
                    .iter()
                    .filter(|(field, _)| field.to_ascii_lowercase().contains("secret"));
                let names = secrets.filter_map(|(_, value)| value.as_str().or(text(value, &["name"])));
                found.extend(names.filter(|name| name.starts_with(prefix)));
                left.extend(fields.values());
            }
            _ => {}
        }
    }
    found
}

/// A reason to refuse a pod, or a warning.
pub(crate) fn said(found: &str) -> String {
    format!("{found}, by its name a node's, whose key is enough to act as that node; take it out")
}
