//! The CustomResourceDefinitions: structural, and with everything that `kubectl explain` shows.

use bartizan_controller::manifests;
use bartizan_deployment::Deployment;
use serde_json::{Value, json};

fn definition(at: usize) -> Value {
    let manifests = manifests().unwrap();
    serde_saphyr::from_str(&manifests[at].text).unwrap()
}

fn schema(definition: &Value) -> &Value {
    &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
}

/// Each schema within a schema, with its path.
fn walk<'a>(schema: &'a Value, path: &str, visit: &mut impl FnMut(&'a Value, &str)) {
    visit(schema, path);
    for (name, one) in schema["properties"].as_object().into_iter().flatten() {
        walk(one, &format!("{path}.{name}"), visit);
    }
    for inner in ["items", "additionalProperties"] {
        if schema[inner].is_object() {
            walk(&schema[inner], &format!("{path}[]"), visit);
        }
    }
}

#[test]
fn schemas_are_structural_and_prune_nothing_of_a_spec() {
    // https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
    const ALLOWED: [&str; 15] = [
        "type",
        "properties",
        "items",
        "additionalProperties",
        "description",
        "nullable",
        "required",
        "enum",
        "format",
        "minimum",
        "maximum",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-int-or-string",
    ];
    for at in [0, 1] {
        let definition = definition(at);
        let mut seen = 0;
        walk(schema(&definition), "", &mut |one, path| {
            seen += 1;
            for key in one.as_object().unwrap().keys() {
                assert!(ALLOWED.contains(&key.as_str()), "{path}: {key}");
            }
            let keeps = one["x-kubernetes-preserve-unknown-fields"] == true;
            assert!(one["type"].is_string() || keeps, "{path} has no type: {one}");
            assert!(
                one["properties"].is_null() || one["additionalProperties"].is_null(),
                "{path}"
            );
            if path.starts_with(".spec") && one["properties"].is_object() {
                assert!(keeps, "{path} drops fields that it does not know");
            }
        });
        assert!(seen > 10, "{seen}");
    }
}

#[test]
fn every_field_of_the_file_is_there_with_its_description() {
    let definition = definition(0);
    let spec = &schema(&definition)["properties"]["spec"];
    let file = Deployment::schema();
    let mut described = 0;
    for (name, field) in file["properties"].as_object().unwrap() {
        assert_eq!(spec["properties"][name]["description"], field["description"], "{name}");
        described += 1;
    }
    assert_eq!(described, 4);
    let node = &spec["properties"]["nodes"]["additionalProperties"];
    assert_eq!(node["properties"]["function"]["type"], "string");
    let inbound = &node["properties"]["sidecar"]["properties"]["inbound"];
    assert_eq!(
        (&inbound["type"], &inbound["items"]["type"]),
        (&json!("array"), &json!("object"))
    );
    let with = &spec["properties"]["interfaces"]["items"]["properties"]["with"];
    assert!(
        with["description"]
            .as_str()
            .unwrap()
            .contains("Words: sidecar, gateway, ipsec, macsec, nothing."),
        "{with}"
    );
    // A word or a map: what it is the parser says.
    assert_eq!(
        spec["properties"]["policy"]["x-kubernetes-preserve-unknown-fields"],
        true
    );
    let mut total = 0;
    walk(spec, "", &mut |_, _| total += 1);
    assert!(total > 120, "{total}");
}

#[test]
fn names_columns_and_status_are_those_that_are_written() {
    let network = definition(0);
    assert_eq!(network["metadata"]["name"], "networks.bartizan.internal");
    let columns = network["spec"]["versions"][0]["additionalPrinterColumns"]
        .as_array()
        .unwrap();
    let names: Vec<_> = columns.iter().map(|column| column["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Nodes", "Valid", "Issued", "Ready", "Protected", "Age"]);
    assert_eq!(definition(1)["metadata"]["name"], "exceptions.bartizan.internal");
    for at in [0, 1] {
        assert_eq!(
            definition(at)["spec"]["versions"][0]["subresources"]["status"],
            json!({})
        );
    }
}
