//! The published schema of CycloneDX 1.7, and what must hold of each document next to it.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use jsonschema::{Draft, Registry, Validator};
use serde_json::Value;

fn schema(name: &str) -> Value {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/cyclonedx-1.7");
    serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap()
}

/// The published schema and those it refers to: nothing is fetched.
pub(crate) fn published() -> Validator {
    let others = ["cryptography-defs", "jsf-0.82", "spdx"].map(|name| schema(&format!("{name}.schema.json")));
    let mut registry = Registry::new();
    for other in others {
        let id = other["$id"].as_str().unwrap().to_owned();
        registry = registry.add(id, Draft::Draft7.create_resource(other)).unwrap();
    }
    let registry = registry.prepare().unwrap();
    jsonschema::options()
        .with_draft(Draft::Draft7)
        .with_registry(&registry)
        .should_validate_formats(true)
        .build(&schema("bom-1.7.schema.json"))
        .unwrap()
}

pub(crate) fn assert_published(document: &Value) {
    let validator = published();
    let errors: Vec<String> = validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    // Validators of Python refuse an IPv6 address with `::`, which RFC 3986 allows: rfc3987-syntax 1.1.
    for service in document["services"].as_array().unwrap() {
        for endpoint in service["endpoints"].as_array().unwrap() {
            assert!(!endpoint.as_str().unwrap().contains("::"), "{endpoint}");
        }
    }
    let references = |list: &str, key: &str| -> BTreeSet<String> {
        let items = document[list].as_array().unwrap().iter();
        items.map(|item| item[key].as_str().unwrap().to_owned()).collect()
    };
    let mut known = references("components", "bom-ref");
    known.extend(references("services", "bom-ref"));
    for dependency in document["dependencies"].as_array().unwrap() {
        let on = dependency["dependsOn"].as_array().unwrap().iter();
        for reference in on.chain([&dependency["ref"]]) {
            assert!(known.contains(reference.as_str().unwrap()), "{reference} is nowhere");
        }
    }
}

pub(crate) fn component<'a>(document: &'a Value, reference: &str) -> &'a Value {
    let mut components = document["components"].as_array().unwrap().iter();
    let found = components.find(|component| component["bom-ref"] == reference);
    found.unwrap_or_else(|| panic!("{reference} is not in {document:#}"))
}

/// Components of this kind of asset.
pub(crate) fn assets<'a>(document: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let components = document["components"].as_array().unwrap().iter();
    components.filter(move |component| component["cryptoProperties"]["assetType"] == kind)
}

/// Occurrences of a component: locations and their additional context.
pub(crate) fn places(component: &Value) -> Vec<(&str, &str)> {
    fn text<'a>(place: &'a Value, member: &str) -> &'a str {
        place[member].as_str().unwrap()
    }
    let places = component["evidence"]["occurrences"].as_array().unwrap().iter();
    places
        .map(|place| (text(place, "location"), text(place, "additionalContext")))
        .collect()
}
