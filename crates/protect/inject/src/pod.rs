//! A pod as far as injection depends on it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::document::{at, list, shown, text};
use crate::{INJECT, NODE, REDIRECT, SIDECAR, TRUST};

/// Lists of a pod's containers, in the order in which they start.
const LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];
/// Annotation that the kubelet sets on the pods that stand for files of its own.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// A pod whose containers and volumes have names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pod<'a>(&'a Value);

/// A container of a pod.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Container<'a> {
    pub(crate) name: &'a str,
    pub(crate) list: &'static str,
    pub(crate) value: &'a Value,
}

/// The request of the annotations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish<'a> {
    /// A sidecar of this node.
    Node(&'a str),
    /// None.
    LeftOut,
}

impl<'a> Pod<'a> {
    /// # Errors
    /// If it is no pod, or a container or volume has no name.
    pub(crate) fn read(value: &'a Value) -> Result<Self, String> {
        if text(value, &["kind"]) != Some("Pod") || text(value, &["apiVersion"]) != Some("v1") {
            return Err("the object is no Pod of v1".to_owned());
        }
        if !at(value, &["spec"]).is_object() {
            return Err("the pod has no spec".to_owned());
        }
        let pod = Self(value);
        for name in LISTS.into_iter().chain(["volumes"]) {
            let all = list(at(value, &["spec", name])).map_err(|()| format!("spec.{name} is no list"))?;
            if all.iter().any(|one| text(one, &["name"]).is_none()) {
                return Err(format!("spec.{name} has an element without a name"));
            }
        }
        Ok(pod)
    }

    pub(crate) fn spec(self, path: &[&str]) -> &'a Value {
        at(at(self.0, &["spec"]), path)
    }

    pub(crate) fn containers(self) -> impl Iterator<Item = Container<'a>> {
        LISTS.into_iter().flat_map(move |name| {
            self.named(name).map(move |(container, value)| Container {
                name: container,
                list: name,
                value,
            })
        })
    }

    /// Its own containers: not redirect and sidecar among the init containers, where they belong.
    pub(crate) fn own(self) -> impl Iterator<Item = Container<'a>> {
        self.containers().filter(|one| !one.is_ours())
    }

    /// Redirect and sidecar where they belong, among the init containers, with their places.
    pub(crate) fn ours(self) -> Vec<(usize, Container<'a>)> {
        let all = self.containers().enumerate();
        all.filter(|(_, one)| one.is_ours()).collect()
    }

    /// Elements of a list, by their names.
    pub(crate) fn named(self, name: &str) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
        let all = list(self.spec(&[name])).unwrap_or_default();
        all.iter().filter_map(|one| Some((text(one, &["name"])?, one)))
    }

    pub(crate) fn is_static(self) -> bool {
        !self.annotation(MIRROR).is_null()
    }

    fn annotation(self, name: &str) -> &'a Value {
        at(self.0, &["metadata", "annotations", name])
    }

    /// # Errors
    /// Says what to write instead.
    pub(crate) fn wish(self) -> Result<Wish<'a>, String> {
        let refused = |value: &Value| {
            let value = shown(value.as_str().unwrap_or("no text"));
            format!("the annotation {INJECT} is `{value}`; write `enabled` or `disabled`")
        };
        match self.annotation(INJECT) {
            Value::Null => {}
            Value::String(word) if word == "enabled" => {}
            Value::String(word) if word == "disabled" => return Ok(Wish::LeftOut),
            other => return Err(refused(other)),
        }
        let add = format!(
            "add the annotation `{NODE}: NAME` to the pod template, with the name of its node in the deployment file, or `{INJECT}: disabled` to \
             leave the pod unprotected"
        );
        match self.annotation(NODE).as_str() {
            Some(node) if is_name(node) => Ok(Wish::Node(node)),
            Some(node) => Err(format!(
                "the annotation {NODE} is `{}`, which cannot be part of a Secret's name: letters in lower case, digits, dots and hyphens, at most 63",
                shown(node)
            )),
            None => Err(format!(
                "this namespace has its pods protected, and the pod names no node; {add}"
            )),
        }
    }

    /// The containers that may hold capabilities with which they could pass the rules.
    ///
    /// # Errors
    /// If one is named that the pod does not have.
    pub(crate) fn trusted(self) -> Result<BTreeSet<&'a str>, String> {
        let value = match self.annotation(TRUST) {
            Value::Null => "",
            Value::String(names) => names.as_str(),
            _ => return Err(format!("the annotation {TRUST} is no text")),
        };
        let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
        let named: BTreeSet<&str> = names.collect();
        let unknown = named.iter().find(|name| !self.own().any(|one| one.name == **name));
        match unknown {
            Some(name) => Err(format!(
                "the annotation {TRUST} names `{}`, and the pod has no such container",
                shown(name)
            )),
            None => Ok(named),
        }
    }
}

impl Container<'_> {
    pub(crate) fn is_ours(&self) -> bool {
        self.list == "initContainers" && [REDIRECT, SIDECAR].contains(&self.name)
    }
}

/// A node's name that can stand behind the prefix of a Secret's name (RFC 1123).
fn is_name(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    let ends = bytes.first().is_some_and(|byte| inner(*byte)) && bytes.last().is_some_and(|byte| inner(*byte));
    // A dot next to a hyphen or a dot would end a label where none may end.
    let labels = name.split('.').all(|label| {
        let label = label.as_bytes();
        label.first().is_some_and(|byte| inner(*byte)) && label.last().is_some_and(|byte| inner(*byte))
    });
    ends && labels && name.len() <= 63 && bytes.iter().all(|byte| inner(*byte) || matches!(byte, b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_nodes_are_what_names_of_secrets_can_end_with() {
        for name in ["amf", "amf-1", "amf.region-2", "0"] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "",
            "-amf",
            "amf-",
            "AMF",
            "a_f",
            "a..f",
            "a.-f",
            "--node",
            "a/b",
            "a b",
            &"a".repeat(64),
        ] {
            assert!(!is_name(name), "{name}");
        }
    }
}
