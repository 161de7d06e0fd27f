//! Two sidecars as shipped: metrics, ledger and name checks are on.

use std::fs;

use bartizan_host::Program;
use bartizan_registry::group_named;

use super::Protection;
use super::pair::{ENDS, Setting};
use crate::Error;
use crate::stand_in::e2::link::{NODE, RIC};

/// The programs of both ends, the gNB's first.
pub(super) fn programs(setting: &Setting<'_>) -> Result<[Program; 2], Error> {
    let file = setting.folder.join("deployment.yaml");
    fs::write(&file, deployment(setting)?).map_err(Error::file(&file))?;
    let end = |end: usize| {
        let program = Program::new(&setting.tools.sidecar).argument("sidecar").argument(&file);
        let program = program.arguments(["--node", ENDS[end], "--log", "warn"]);
        let program = program.inside(setting.host(end));
        program.log(setting.folder.join(format!("{}.log", ENDS[end])))
    };
    Ok([end(0), end(1)])
}

fn deployment(setting: &Setting<'_>) -> Result<String, Error> {
    let Setting {
        places, papers, warm, ..
    } = setting;
    let unknown = || Error::Configuration(format!("`{}` is no group", setting.group));
    let group = group_named(setting.group).ok_or_else(unknown)?.name;
    // One group and nothing else, whatever that is worth: the profile of measurements. What is shipped is the other.
    let policy = if group == "X25519MLKEM768" {
        "hybrid".to_owned()
    } else {
        let signatures = "signatures: [mldsa65], chain-signatures: [mldsa65]";
        format!("{{ profile: classical, lab: true, groups: [{group}], {signatures} }}")
    };
    let (path, interface) = match setting.protection {
        Protection::GatewayTls => ("sctp", "kind: N2, with: gateway, carrier: tls"),
        Protection::GatewayQuic => ("sctp", "kind: N2, with: gateway, carrier: quic"),
        _ => ("splice", "kind: SBI, with: sidecar"),
    };
    // The SBI has no gNB.
    let functions = if path == "sctp" { ["gNB", "AMF"] } else { ["SMF", "AMF"] };
    let folder = papers.folder().display();
    let node = |end: usize, address, listeners: String| {
        let (name, function, identity) = (ENDS[end], functions[end], papers.identity(end));
        format!(
            "  {name}: {{ function: {function}, address: {address}, names: {{ dns: [{identity}] }},\n    \
             certificate: \"{folder}/{identity}.crt.pem\", key: \"{folder}/{identity}.key.pem\",\n    \
             sidecar: {{ {listeners}, admin: \"{admin}\", ledger: {name}.ledger }} }}\n",
            admin = places.admin
        )
    };
    let outbound = format!(
        "outbound: [{{ listen: \"{}\", to: {}, path: {path}, warm: {warm} }}]",
        places.entry, ENDS[1]
    );
    let inbound = format!(
        "inbound: [{{ listen: \"{}\", forward: \"{}\", path: {path} }}]",
        places.middle, places.service
    );
    Ok(format!(
        "policy: {policy}\ntrust: {{ roots: \"{folder}/ca.crt.pem\" }}\nnodes:\n{}{}interfaces:\n  - {{ {interface}, between: [{}, {}] }}\n",
        node(0, NODE, outbound),
        node(1, RIC, inbound),
        ENDS[0],
        ENDS[1],
    ))
}
