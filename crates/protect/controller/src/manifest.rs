//! The CustomResourceDefinitions, from the schema of the deployment file.

use bartizan_deployment::Deployment;
use serde_json::{Value, json};

use crate::structural::structural;
use crate::{GROUP, VERSION};

/// A manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Name of its file in the chart.
    pub file: &'static str,
    /// YAML.
    pub text: String,
}

/// Both definitions.
///
/// # Errors
/// If YAML cannot be written, which no schema makes happen.
pub fn manifests() -> Result<Vec<Manifest>, String> {
    let written = |file, value: &Value| {
        serde_saphyr::to_string(value)
            .map(|text| Manifest { file, text })
            .map_err(|error| error.to_string())
    };
    Ok(vec![
        written("networks.yaml", &network())?,
        written("exceptions.yaml", &exception())?,
    ])
}

fn network() -> Value {
    let mut spec = structural(&Deployment::schema());
    spec["description"] = json!(
        "The deployment file of the namespace: what it says is checked as `bartizan check` checks a file, and the condition Valid says what is wrong. \
         Text that YAML reads as a number or a truth value stands in quotes."
    );
    let column = |name: &str, kind: &str, path: &str| json!({ "name": name, "type": kind, "jsonPath": path });
    let condition = |name: &str| format!(".status.conditions[?(@.type==\"{name}\")].status");
    let columns = json!([
        column("Nodes", "integer", ".status.nodes"),
        column("Valid", "string", &condition("Valid")),
        column("Issued", "string", ".status.issued"),
        column("Ready", "string", ".status.ready"),
        column("Protected", "string", &condition("Protected")),
        column("Age", "date", ".metadata.creationTimestamp"),
    ]);
    let status = json!({
        "type": "object",
        "description": "Written by bartizan controller.",
        "properties": {
            "nodes": { "type": "integer", "description": "Nodes of the file in effect." },
            "issued": { "type": "string", "description": "Nodes whose certificate is as the file wants it, of those that have one." },
            "ready": { "type": "string", "description": "Pods whose sidecar answers /ready, of those that run." },
            "conditions": conditions(),
        },
    });
    let about = "The nodes of a 5G core, the interfaces that join them, and what protects each: the deployment file of Bartizan.";
    definition("Network", "networks", about, &spec, &columns, &status)
}

fn exception() -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let spec = json!({
        "type": "object",
        "description": "Classical handshakes at one interface, until a day.",
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "network": text("Name of the Network. Default: the namespace's."),
            "interface": text("The interface of the standards, as the Network has it: SBI, N2."),
            "between": {
                "type": "array",
                "description": "The two nodes that it joins.",
                "items": { "type": "string" },
            },
            "reason": text("Why classical handshakes must pass for now."),
            "expires": text("The last day (UTC) on which they do, as 2027-06-30."),
        },
    });
    let column = |name: &str, kind: &str, path: &str| json!({ "name": name, "type": kind, "jsonPath": path });
    let columns = json!([
        column("Interface", "string", ".spec.interface"),
        column("Expires", "string", ".spec.expires"),
        column(
            "Effective",
            "string",
            ".status.conditions[?(@.type==\"Effective\")].status"
        ),
        column("Age", "date", ".metadata.creationTimestamp"),
    ]);
    let status = json!({
        "type": "object",
        "description": "Written by bartizan controller.",
        "properties": { "conditions": conditions() },
    });
    let about = "An exception from the policy of one interface of a Network, with a reason and a last day.";
    definition("Exception", "exceptions", about, &spec, &columns, &status)
}

fn conditions() -> Value {
    json!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "lastTransitionTime", "reason", "message"],
            "properties": {
                "type": { "type": "string" },
                "status": { "type": "string", "enum": ["True", "False", "Unknown"] },
                "observedGeneration": { "type": "integer", "format": "int64" },
                "lastTransitionTime": { "type": "string", "format": "date-time" },
                "reason": { "type": "string" },
                "message": { "type": "string" },
            },
        },
    })
}

fn definition(kind: &str, plural: &str, about: &str, spec: &Value, columns: &Value, status: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{GROUP}") },
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": kind,
                "listKind": format!("{kind}List"),
                "plural": plural,
                "singular": kind.to_ascii_lowercase(),
            },
            "versions": [{
                "name": VERSION,
                "served": true,
                "storage": true,
                "subresources": { "status": {} },
                "additionalPrinterColumns": columns,
                "schema": { "openAPIV3Schema": {
                    "type": "object",
                    "description": about,
                    "required": ["spec"],
                    "properties": { "spec": spec, "status": status },
                } },
            }],
        },
    })
}
