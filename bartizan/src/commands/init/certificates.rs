//! The commands of `bartizan ca` that make what a deployment file names.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use bartizan_deployment::{Deployment, IkeEngine, Node, Protection};

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
    let file = quoted(&file.display().to_string());
    line(
        &mut text,
        "# What will be in effect, and what is wrong with a node's files.",
    );
    for node in deployment.nodes() {
        line(&mut text, &format!("bartizan check {file} --node {}", node.name));
    }
    line(&mut text, "# On each node, with its own name:");
    for command in started(deployment) {
        line(&mut text, &format!("#   bartizan {command} {file} --node NODE"));
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
    let _ = write!(command, " --out {} --crl", quoted(&folder.display().to_string()));
    command
}

/// The commands that protect a node, in the order in which they are run.
fn started(deployment: &Deployment) -> Vec<&'static str> {
    let protected = |by: Protection| {
        deployment
            .interfaces()
            .iter()
            .any(|interface| interface.protection == by)
    };
    let mut commands = Vec::new();
    if protected(Protection::Sidecar) {
        commands.extend(["sidecar redirect install", "sidecar"]);
    }
    if protected(Protection::Ipsec) || protected(Protection::Macsec) {
        commands.push("up");
    }
    commands
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// A word as a POSIX shell takes it: as it is where no character of it means anything, else in single quotes.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-:+@%,=".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
