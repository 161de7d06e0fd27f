//! Our sidecar as shipped: metrics, ledger, revocation list and name checks are on.

use std::path::Path;

use bartizan_host::Program;

use crate::Error;
use crate::stand_in::proxies::papers::{CONSUMER, PRODUCER, PRODUCER_NAME};
use crate::stand_in::proxies::peer::{Ends, Link, Reuse};

pub(super) fn ends(own: &Path, link: &Link<'_>, path: &str) -> Result<Ends, Error> {
    let file = link.write("deployment.yaml", &deployment(link, path))?;
    let program = |node: &str| {
        Program::new(own)
            .argument("sidecar")
            .argument(&file)
            .arguments(["--node", node, "--log", "warn"])
            .log(link.folder.join(format!("{node}.log")))
    };
    Ok(Ends {
        consumer: program(CONSUMER),
        producer: program(PRODUCER),
        ledger: Some(link.folder.join(format!("{PRODUCER}.ledger.jsonl"))),
    })
}

/// The deployment file of the two nodes.
pub(in crate::stand_in::proxies) fn deployment(link: &Link<'_>, path: &str) -> String {
    let Link {
        papers,
        entry,
        middle,
        server,
        ..
    } = link;
    // Dialled ahead and kept as by default, unless every connection shall be a new one. The bound
    // is without effect on splice, whose connections carry those of one client.
    let (warm, limits) = match link.reuse {
        Reuse::Kept => (1, ""),
        Reuse::Fresh => (0, "limits: { requests-per-connection: 1 }, "),
    };
    let files = |node: &str| {
        format!(
            "certificate: \"{}\", key: \"{}\"",
            papers.certificate(node).display(),
            papers.key(node).display()
        )
    };
    format!(
        "policy: {policy}\n\
         trust: {{ roots: \"{roots}\", crl: \"{crl}\" }}\n\
         nodes:\n\
         \x20 {CONSUMER}:\n\
         \x20   {{ function: AMF, address: 127.78.0.1, names: {{ dns: [{CONSUMER}.5gc] }}, {consumer_files},\n\
         \x20     sidecar: {{ {limits}admin: \"127.0.0.1:0\", ledger: {CONSUMER}.ledger.jsonl,\n\
         \x20       outbound: [{{ listen: \"{entry}\", to: {PRODUCER}, path: {path}, warm: {warm} }}] }} }}\n\
         \x20 {PRODUCER}:\n\
         \x20   {{ function: UDM, address: 127.78.0.2, names: {{ dns: [{PRODUCER_NAME}] }}, {producer_files},\n\
         \x20     sidecar: {{ admin: \"127.0.0.1:0\", ledger: {PRODUCER}.ledger.jsonl,\n\
         \x20       inbound: [{{ listen: \"{middle}\", forward: \"{server}\", path: {path} }}] }} }}\n\
         interfaces:\n\
         \x20 - {{ kind: SBI, between: [{CONSUMER}, {PRODUCER}], with: sidecar }}\n",
        policy = papers.mode.policy(),
        roots = papers.roots().display(),
        crl = papers.revocations().display(),
        consumer_files = files(CONSUMER),
        producer_files = files(PRODUCER),
    )
}
