//! Obstacles to protecting a pod, whatever is put into it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::document::{at, is_set, list, shown, text};
use crate::pod::{Container, Pod};
use crate::specification::VOLUMES;
use crate::{Exemption, REDIRECT, SIDECAR, Settings, TRUST, USER, secrets};

/// Capabilities that container runtimes give by default, but for NET_RAW, with which packets are
/// sent past the rules. With others a container could change the rules (NET_ADMIN, SYS_ADMIN,
/// SYS_MODULE, BPF), read the sidecar's key (SYS_PTRACE, DAC_READ_SEARCH, SYS_RAWIO, PERFMON,
/// CHECKPOINT_RESTORE) or set the clock that certificates are judged by (SYS_TIME); those of
/// kernels to come are not known yet.
const HARMLESS: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// Findings in a pod.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Each a reason to refuse it.
    pub(crate) refused: Vec<String>,
    /// Warnings for its owner.
    pub(crate) warnings: Vec<String>,
    /// Containers that hold what they could pass the rules with, and are trusted with it.
    pub(crate) trusted: BTreeSet<String>,
}

impl Findings {
    /// Takes what was found of nodes' Secrets: where no pod may be left out, none may read a node's key either.
    fn secrets(&mut self, found: Vec<String>, settings: &Settings) {
        let found = found.iter().map(|one| secrets::said(one));
        match settings.exemption {
            Exemption::Refused => self.refused.extend(found),
            Exemption::Allowed => self.warnings.extend(found),
        }
    }
}

/// Checks a pod that is to be injected.
pub(crate) fn pod(pod: Pod<'_>, settings: &Settings) -> Findings {
    let mut found = Findings::default();
    found.secrets(secrets::in_volumes(pod, &settings.secret_prefix, &VOLUMES), settings);
    found.secrets(secrets::in_environment(pod.own(), &settings.secret_prefix), settings);
    found.secrets(secrets::for_images(pod, &settings.secret_prefix), settings);
    if is_set(pod.spec(&["hostNetwork"])) {
        found.refused.push(
            "hostNetwork: the rules would be those of the whole machine, and of every other pod on it; take `hostNetwork: true` out".to_owned(),
        );
    }
    if text(pod.spec(&[]), &["os", "name"]).is_some_and(|name| name != "linux") {
        found.refused.push("os: sidecars are for Linux".to_owned());
    }
    if pod.is_static() {
        found
            .refused
            .push("a static pod is run by its kubelet as its file has it, and cannot be injected".to_owned());
    }
    if is_sidecars_user(pod.spec(&["securityContext", "runAsUser"])) {
        found.refused.push(as_sidecars_user("the pod's securityContext"));
    }
    containers(pod, pod.own(), &mut found);
    shared(pod, pod.own(), settings, &mut found);
    raw(pod.own(), &mut found);
    let probed: Vec<String> = pod
        .own()
        .filter(is_probed_over_network)
        .map(|one| shown(one.name))
        .collect();
    if !probed.is_empty() {
        found.warnings.push(format!(
            "the kubelet's httpGet, tcpSocket and grpc probes and lifecycle hooks of the function's own port are refused, as all from the network; use exec there: {}",
            probed.join(", ")
        ));
    }
    found
}

/// Checks an ephemeral container on its way into a pod that has been injected.
pub(crate) fn ephemeral(pod: Pod<'_>, settings: &Settings) -> Findings {
    let mut found = Findings::default();
    let added = || pod.own().filter(|one| one.list == "ephemeralContainers");
    found.secrets(secrets::in_environment(added(), &settings.secret_prefix), settings);
    containers(pod, added(), &mut found);
    shared(pod, added(), settings, &mut found);
    raw(added(), &mut found);
    for one in added() {
        if let Some(target @ (REDIRECT | SIDECAR)) = text(one.value, &["targetContainerName"]) {
            found.refused.push(format!(
                "{} shares the processes of {target}; target a container of the pod's own",
                shown(one.name)
            ));
        }
    }
    found
}

/// In one PID namespace a container ends the sidecar by KILL, and reads its key through /proc while
/// the kubelet starts it again. With hostPID they see every process of the machine, other pods'
/// sidecars too.
fn shared<'a>(pod: Pod<'a>, all: impl Iterator<Item = Container<'a>>, settings: &Settings, found: &mut Findings) {
    // A wrong annotation is reported with the containers.
    let trusted = pod.trusted().unwrap_or_default();
    let others: Vec<String> = all
        .filter(|one| !trusted.contains(one.name))
        .map(|one| shown(one.name))
        .collect();
    for shared in ["shareProcessNamespace", "hostPID"] {
        if !is_set(pod.spec(&[shared])) {
            continue;
        }
        if settings.exemption == Exemption::Refused && !others.is_empty() {
            found.refused.push(format!(
                "{shared}: containers can read the sidecar's key; take it out, or name them in the annotation `{TRUST}: {}`",
                others.join(", ")
            ));
        } else {
            found.warnings.push(format!(
                "{shared}: containers can read the sidecar's key, and end the sidecar; what is sent meanwhile is refused by the rules"
            ));
        }
    }
}

fn raw<'a>(all: impl Iterator<Item = Container<'a>>, found: &mut Findings) {
    let raw: Vec<String> = all.filter(has_raw_by_default).map(|one| shown(one.name)).collect();
    if !raw.is_empty() {
        found.warnings.push(format!(
            "containers do not drop NET_RAW, which runtimes give by default and raw sockets pass the rules with: {}",
            raw.join(", ")
        ));
    }
}

fn containers<'a>(pod: Pod<'a>, all: impl Iterator<Item = Container<'a>>, found: &mut Findings) {
    let trusted = pod.trusted().unwrap_or_else(|reason| {
        found.refused.push(reason);
        BTreeSet::new()
    });
    for one in all {
        let name = shown(one.name);
        if [REDIRECT, SIDECAR].contains(&one.name) {
            found.refused.push(format!(
                "{} has a container of the name {name}, which is this webhook's",
                one.list
            ));
        }
        let context = at(one.value, &["securityContext"]);
        if is_sidecars_user(at(context, &["runAsUser"])) {
            found.refused.push(as_sidecars_user(&name));
        }
        if let Some(mount) = mounts(one.value).find(|mount| VOLUMES.contains(mount)) {
            found.refused.push(format!(
                "{name} mounts {mount}, which is for the sidecar alone; take the mount out"
            ));
        }
        let held = held(context);
        if held.is_empty() {
            continue;
        }
        let held = held.join(", ");
        if trusted.contains(one.name) {
            found.trusted.insert(name.clone());
            found
                .warnings
                .push(format!("{name} is trusted with {held}: the rules do not bind it"));
        } else {
            found.refused.push(format!(
                "{name} has {held}, which no runtime gives by default, and with such it could pass or remove the rules, read the sidecar's key or set its clock; take it out, or name the container in the annotation `{TRUST}: {name}`"
            ));
        }
    }
}

/// Powers that a container asks for and that are not among [`HARMLESS`].
fn held(context: &Value) -> Vec<String> {
    let mut held = Vec::new();
    if is_set(at(context, &["privileged"])) {
        held.push("privileged".to_owned());
    }
    match list(at(context, &["capabilities", "add"])) {
        Ok(added) => held.extend(added.iter().filter_map(|one| match one.as_str().map(capability) {
            Some(name) => (!HARMLESS.contains(&name.as_str())).then(|| shown(&name)),
            None => Some("a capability that is no text".to_owned()),
        })),
        Err(()) => held.push("capabilities that are no list".to_owned()),
    }
    held
}

fn has_raw_by_default(one: &Container<'_>) -> bool {
    let of = |what| list(at(one.value, &["securityContext", "capabilities", what])).unwrap_or_default();
    let has = |what, wanted: &[&str]| {
        of(what)
            .iter()
            .filter_map(Value::as_str)
            .any(|name| wanted.contains(&capability(name).as_str()))
    };
    !has("drop", &["ALL", "NET_RAW"]) && !has("add", &["ALL", "NET_RAW"])
}

/// Runtimes take a capability in either case, some with its prefix.
fn capability(name: &str) -> String {
    let name = name.to_ascii_uppercase();
    name.strip_prefix("CAP_").unwrap_or(&name).to_owned()
}

fn is_probed_over_network(one: &Container<'_>) -> bool {
    let handlers = ["httpGet", "tcpSocket", "grpc"];
    let probes: [&[&str]; 5] = [
        &["startupProbe"],
        &["readinessProbe"],
        &["livenessProbe"],
        &["lifecycle", "postStart"],
        &["lifecycle", "preStop"],
    ];
    probes.iter().any(|probe| {
        handlers
            .iter()
            .any(|handler| !at(at(one.value, probe), &[handler]).is_null())
    })
}

fn mounts(container: &Value) -> impl Iterator<Item = &str> {
    ["volumeMounts", "volumeDevices"]
        .into_iter()
        .flat_map(|key| list(at(container, &[key])).unwrap_or_default())
        .filter_map(|mount| text(mount, &["name"]))
}

fn is_sidecars_user(value: &Value) -> bool {
    match value {
        Value::Null => false,
        number => number.as_u64().is_none_or(|user| user == u64::from(USER)),
    }
}

fn as_sidecars_user(whose: &str) -> String {
    format!(
        "{whose}: runAsUser is {USER} or no number; {USER} is the sidecar's, and what it sends is not redirected: choose another"
    )
}
