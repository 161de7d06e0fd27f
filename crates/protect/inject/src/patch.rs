//! The difference between a pod as it is and as it must be (RFC 6902).

use serde_json::{Value, json};

use crate::document::{list, shown};
use crate::pod::Pod;
use crate::specification::{VOLUMES, containers, volumes};
use crate::{REDIRECT, SIDECAR, Settings};

/// Fields that an API server and its built-in plugins write into containers and volumes, and other
/// webhooks may: nothing of it changes what runs. Any other field in a container of ours that we
/// did not write there was written by another program or person.
const DEFAULTED: [&str; 5] = [
    "imagePullPolicy",
    "resources",
    "successThreshold",
    "terminationMessagePath",
    "terminationMessagePolicy",
];

/// The operations that make `pod` one of `node`; none where it is one already.
///
/// # Errors
/// If something of our names is in the pod and is not what we would put there.
pub(crate) fn operations(pod: Pod<'_>, node: &str, settings: &Settings) -> Result<Vec<Value>, String> {
    let mut operations = of_containers(pod, &containers(node, settings))?;
    operations.extend(of_volumes(pod, &volumes(node, settings))?);
    Ok(operations)
}

fn of_containers(pod: Pod<'_>, wanted: &[Value; 2]) -> Result<Vec<Value>, String> {
    const PATH: &str = "/spec/initContainers";
    let there = pod.ours();
    let mut operations = Vec::new();
    if there.is_empty() {
        if list(pod.spec(&["initContainers"])).unwrap_or_default().is_empty() {
            return Ok(vec![json!({ "op": "add", "path": PATH, "value": wanted })]);
        }
    } else {
        // Another webhook has been there since, or a person wrote them by hand: both, once, and as
        // they must be.
        let names: Vec<&str> = there.iter().map(|(_, one)| one.name).collect();
        if names != [REDIRECT, SIDECAR] && names != [SIDECAR, REDIRECT] {
            return Err(foreign("init containers", &names.join(", ")));
        }
        for (_, one) in &there {
            let as_wanted = &wanted[usize::from(one.name == SIDECAR)];
            if !agrees(as_wanted, one.value) {
                return Err(foreign("an init container", one.name));
            }
        }
        if names == [REDIRECT, SIDECAR] && there.iter().map(|(place, _)| *place).eq([0, 1]) {
            return Ok(Vec::new());
        }
        // From behind, so that places before stay what they are.
        for (place, _) in there.iter().rev() {
            operations.push(json!({ "op": "remove", "path": format!("{PATH}/{place}") }));
        }
    }
    for (place, container) in wanted.iter().enumerate() {
        operations.push(json!({ "op": "add", "path": format!("{PATH}/{place}"), "value": container }));
    }
    Ok(operations)
}

fn of_volumes(pod: Pod<'_>, wanted: &[Value; 4]) -> Result<Vec<Value>, String> {
    const PATH: &str = "/spec/volumes";
    let there: Vec<_> = pod
        .named("volumes")
        .filter(|(name, _)| VOLUMES.contains(name))
        .collect();
    if there.is_empty() {
        return Ok(if pod.named("volumes").next().is_none() {
            vec![json!({ "op": "add", "path": PATH, "value": wanted })]
        } else {
            let add = |volume| json!({ "op": "add", "path": format!("{PATH}/-"), "value": volume });
            wanted.iter().map(add).collect()
        });
    }
    let names: Vec<&str> = there.iter().map(|(name, _)| *name).collect();
    let all = names.len() == VOLUMES.len() && VOLUMES.iter().all(|name| names.contains(name));
    let as_wanted = |name: &str, found: &Value| {
        VOLUMES
            .iter()
            .zip(wanted)
            .any(|(known, wanted)| *known == name && agrees(wanted, found))
    };
    if !all {
        return Err(foreign("volumes", &names.join(", ")));
    }
    match there.iter().find(|(name, found)| !as_wanted(name, found)) {
        Some((name, _)) => Err(foreign("a volume", name)),
        None => Ok(Vec::new()),
    }
}

fn foreign(what: &str, name: &str) -> String {
    format!(
        "the pod brings {what} of the name {}, and not as this webhook puts it there; these names are its own: take it out of the pod template",
        shown(name)
    )
}

/// Returns true if `found` is `wanted`, up to what the API server fills in.
fn agrees(wanted: &Value, found: &Value) -> bool {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => {
            let is_open = |key: &String| DEFAULTED.contains(&key.as_str());
            let all = wanted
                .iter()
                .all(|(key, value)| is_open(key) || found.get(key).is_some_and(|found| agrees(value, found)));
            let more = |(key, value): (&String, &Value)| !wanted.contains_key(key) && !value.is_null() && !is_open(key);
            all && !found.iter().any(more)
        }
        (Value::Array(wanted), Value::Array(found)) => {
            wanted.len() == found.len() && wanted.iter().zip(found).all(|(wanted, found)| agrees(wanted, found))
        }
        _ => wanted == found,
    }
}
