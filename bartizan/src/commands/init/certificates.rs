//! The commands of `bartizan ca` that make what a deployment file names.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use bartizan_deployment::{Deployment, IkeEngine, Node, Protection};

use crate::commands::pasted::quoted;

/// An authority for each kind of certificate. A chain for strongSwan is classical throughout, since
/// no release verifies ML-DSA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Authority {
    Tls,
    /// With strongSwan at a node.
    Ipsec,
    /// With Bartizan's engine at every node.
    OwnEngine,
}

/// Commands for a shell that make an authority and a certificate for each node of the file, then check each node's files. What to run on each
/// node stands behind them as comments.
pub(super) fn commands(deployment: &Deployment, file: &Path) -> String {
    let mut issued: BTreeMap<Authority, Vec<String>> = BTreeMap::new();
    let mut of_ipsec = deployment.nodes().filter_map(|node| node.ipsec.as_ref());
    let by_ipsec = match of_ipsec.all(|ipsec| ipsec.engine == IkeEngine::Bartizan) {
        true => Authority::OwnEngine,
        false => Authority::Ipsec,
    };
    for node in deployment.nodes() {
        if let Some(files) = &node.files {
            let commands = files.certificates.iter();
            issued
                .entry(Authority::Tls)
                .or_default()
                .extend(commands.map(|own| issue(Authority::Tls, node, &own.certificate)));
        }
        if let Some(ipsec) = &node.ipsec {
            issued
                .entry(by_ipsec)
                .or_default()
                .push(issue(by_ipsec, node, &ipsec.certificate));
        }
    }
    let mut text = String::from(
        "# The authority. Its key stays where this runs: copy to each node its own files and the two of the CA.\n",
    );
    for (authority, commands) in issued {
        let (directory, algorithm) = authority.made();
        line(
            &mut text,
            &format!("bartizan ca init --dir {directory} --algorithm {algorithm}"),
        );
        for command in commands {
            line(&mut text, &command);
        }
    }
    let file = quoted(file);
    line(
        &mut text,
        "# What is wrong with a node or its files: nothing is printed where all is well.",
    );
    for node in deployment.nodes() {
        let check = format!("bartizan check {file} --node {}", node.name);
        line(&mut text, &format!("{check} --quiet || {check}"));
    }
    line(&mut text, "# On each node, with its own name:");
    let with_ledger = |node: &Node| {
        node.sidecar
            .as_ref()?
            .ledger
            .as_ref()?
            .file
            .parent()
            .map(Path::to_owned)
    };
    let ledgers: BTreeSet<_> = deployment.nodes().filter_map(with_ledger).collect();
    if !ledgers.is_empty() {
        // The packages bring both.
        line(&mut text, "#   useradd --system --shell /usr/sbin/nologin bartizan");
    }
    for folder in ledgers {
        line(
            &mut text,
            &format!("#   install -d -m 750 -o bartizan -g bartizan {}", quoted(&folder)),
        );
    }
    for (command, options) in started(deployment) {
        line(
            &mut text,
            &format!("#   bartizan {command} {file} --node NODE{options}"),
        );
    }
    text
}

impl Authority {
    /// Its directory, and the algorithm of its keys.
    const fn made(self) -> (&'static str, &'static str) {
        match self {
            Self::Tls => ("ca", "ml-dsa-65"),
            Self::Ipsec => ("ipsec-ca", "ecdsa-p384"),
            Self::OwnEngine => ("ipsec-ca", "ml-dsa-65"),
        }
    }
}

/// `ca issue` writes NAME.crt.pem, NAME.key.pem, ca.crt.pem and ca.crl.pem into one folder: where the file expects them.
fn issue(authority: Authority, node: &Node, certificate: &Path) -> String {
    let (directory, algorithm) = authority.made();
    let mut command = format!("bartizan ca issue --dir {directory}");
    if authority != Authority::Tls {
        command.push_str(" --profile ipsec");
    }
    if authority == Authority::OwnEngine {
        // Asked for by name: an operator of strongSwan has no use for such a certificate.
        let _ = write!(command, " --key-algorithm {algorithm}");
    }
    let _ = write!(command, " --name {}", node.name);
    for name in node.identity.dns() {
        let _ = write!(command, " --dns {}", quoted(name));
    }
    for address in node.identity.ip() {
        let _ = write!(command, " --ip {address}");
    }
    for uri in node.identity.uri() {
        let _ = write!(command, " --uri {}", quoted(uri));
    }
    let folder = certificate.parent().unwrap_or(Path::new("."));
    let _ = write!(command, " --out {} --crl", quoted(folder));
    command
}

/// The commands that protect a node, in the order in which they are run, with their options. The
/// redirect leaves out what the user `bartizan` sends.
fn started(deployment: &Deployment) -> Vec<(&'static str, &'static str)> {
    let protected = |by: Protection| {
        deployment
            .interfaces()
            .iter()
            .any(|interface| interface.protection == by)
    };
    let mut commands = Vec::new();
    if protected(Protection::Sidecar) {
        commands.extend([("sidecar redirect install", ""), ("sidecar", " --user bartizan")]);
    }
    if protected(Protection::Ipsec) || protected(Protection::Macsec) {
        commands.push(("up", ""));
    }
    commands
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}
