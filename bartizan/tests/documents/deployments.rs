//! Deployment files in documents are accepted by `bartizan check`.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::{Map, Value, json};

/// YAML blocks of a document.
fn blocks(text: &str) -> Vec<&str> {
    let all = text.split("```yaml\n").skip(1);
    all.filter_map(|rest| rest.split("```").next()).collect()
}

/// The block as a deployment file, if it is one or a part of one: what a part leaves out is filled in.
fn completed(block: &str) -> Option<Value> {
    let value: Value = serde_saphyr::from_str(block).ok()?;
    let mut file: Map<String, Value> = value.as_object()?.clone();
    let own = ["policy", "trust", "nodes", "interfaces"];
    if file.is_empty() || !file.keys().all(|key| own.contains(&key.as_str())) {
        return None;
    }
    let mut nodes = file
        .get("nodes")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    for name in named(&Value::Object(file.clone())) {
        nodes.entry(name).or_insert_with(|| json!({}));
    }
    for (number, node) in nodes.values_mut().enumerate() {
        let node = node.as_object_mut()?;
        node.entry("function").or_insert(json!("NF"));
        if node.contains_key("sidecar") {
            node.entry("certificate").or_insert(json!("nf.crt.pem"));
            node.entry("key").or_insert(json!("nf.key.pem"));
        }
        node.entry("address")
            .or_insert(json!(format!("192.0.2.{}", number + 1)));
    }
    file.insert("nodes".to_owned(), Value::Object(nodes));
    file.entry("trust").or_insert(json!({ "roots": "ca.crt.pem" }));
    Some(Value::Object(file))
}

/// Nodes that interfaces join and listeners lead to.
fn named(value: &Value) -> BTreeSet<String> {
    fn strings(value: &Value, into: &mut BTreeSet<String>) {
        match value {
            Value::String(name) => drop(into.insert(name.clone())),
            Value::Array(all) => all.iter().for_each(|one| strings(one, into)),
            _ => {}
        }
    }
    let mut names = BTreeSet::new();
    for interface in value["interfaces"].as_array().into_iter().flatten() {
        strings(&interface["between"], &mut names);
        strings(&interface["among"], &mut names);
    }
    for node in value["nodes"].as_object().into_iter().flat_map(Map::values) {
        for listener in node["sidecar"]["outbound"].as_array().into_iter().flatten() {
            strings(&listener["to"], &mut names);
        }
    }
    names
}

#[test]
fn deployment_files_of_documents_are_accepted_by_check_and_by_the_schema() {
    let place = tempfile::tempdir().unwrap();
    let schema = Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .arg("schema")
        .output()
        .unwrap();
    let schema = jsonschema::draft7::new(&serde_json::from_slice(&schema.stdout).unwrap()).unwrap();
    let mut checked = BTreeSet::new();
    for (path, text) in super::documents() {
        for block in blocks(&text) {
            let Some(file) = completed(block) else { continue };
            let marked: Vec<_> = schema.iter_errors(&file).map(|fault| fault.to_string()).collect();
            assert!(
                marked.is_empty(),
                "{}:\n{block}\nan editor marks {marked:?}",
                path.display()
            );
            // JSON is YAML.
            fs::write(place.path().join("core.yaml"), file.to_string()).unwrap();
            let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
                .args(["check", "core.yaml"])
                .current_dir(place.path())
                .output()
                .unwrap();
            // 1 is a finding, such as an exception that is in effect: the file was understood.
            assert!(
                matches!(output.status.code(), Some(0 | 1)),
                "{}:\n{block}\n{}",
                path.display(),
                String::from_utf8_lossy(&output.stderr)
            );
            checked.insert(path.display().to_string());
        }
    }
    for page in [
        "docs/first-file.md",
        "docs/deployment-file.md",
        "docs/ipsec.md",
        "docs/redirect.md",
    ] {
        assert!(checked.contains(page), "{page} shows none: {checked:?}");
    }
}

#[test]
fn the_first_file_is_complete_and_without_findings() {
    let text = fs::read_to_string(super::root().join("docs/first-file.md")).unwrap();
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("core.yaml"), blocks(&text)[0]).unwrap();
    // The page's own commands make the files that it names.
    let commands = text.lines().filter(|line| line.starts_with("bartizan ca "));
    let mut made = 0;
    for line in commands {
        run(place.path(), line);
        made += 1;
    }
    assert_eq!(made, 3);
    for node in ["amf", "nrf"] {
        run(place.path(), &format!("bartizan check core.yaml --node {node}"));
    }
}

/// One command of a page, which ends well.
fn run(folder: &std::path::Path, line: &str) {
    let words: Vec<&str> = line.split_whitespace().skip(1).collect();
    let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .args(&words)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
}
