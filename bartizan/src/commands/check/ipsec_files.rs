//! The files that a node proves itself with to IKE daemons, held against its name and the policies of its links.

use std::path::Path;
use std::time::SystemTime;

use bartizan_deployment::{CertificateFiles, Deployment, Files, HttpUrl, IpsecNode, Node, day_of};
use bartizan_ipsec::render::{Credentials, CredentialsError};

use super::credentials::{CredentialsInEffect, OwnInEffect, chain, folder, unreadable};
use super::findings::Finding;
use super::list_file::{ListFile, lists, with_list_file};

/// The files of a node, and what is wrong with them.
pub(super) fn of(
    deployment: &Deployment,
    node: &Node,
    files: &IpsecNode,
    now: SystemTime,
) -> (CredentialsInEffect, Vec<Finding>) {
    let shown = |path: &Path| path.display().to_string();
    let own = CertificateFiles {
        certificate: files.certificate.clone(),
        key: files.key.clone(),
    };
    let mut in_effect = CredentialsInEffect {
        node: node.name.to_string(),
        own: OwnInEffect::unread(&own),
        further_certificates: Vec::new(),
        roots: shown(&files.roots),
        crl: files.crl.as_deref().map(shown),
        crl_url: files.crl_url.as_ref().map(HttpUrl::to_string),
        crl_due: None,
        exceptions: Vec::new(),
        associations_end: None,
    };
    let read = Credentials::read(files);
    let credentials = match read.and_then(|read| read.with_ppks(deployment, node.name.as_str())) {
        Ok(credentials) => credentials,
        Err(error) => return (in_effect, unusable(node, files, &error)),
    };
    // Read as those of a sidecar are, for what is shown of a certificate.
    let as_tls = Files {
        certificates: vec![own],
        roots: files.roots.clone(),
        crl: files.crl.clone(),
        crl_url: None,
        known_lists: None,
    };
    in_effect.own.in_use = true;
    in_effect.own.chain =
        bartizan_tls::Credentials::load(&as_tls).map_or_else(|_| Vec::new(), |read| chain(&read.own()[0], now));
    in_effect.crl_due = credentials.lists_due().map(|due| day_of(due).to_string());
    let flaws = credentials.flaws(files, deployment, node, now).into_iter();
    let findings = flaws.map(|flaw| {
        let finding = Finding::new(flaw.file.display().to_string(), flaw.cause, flaw.hint);
        with_list_file(finding, list_file(files))
    });
    (in_effect, findings.collect())
}

fn list_file(files: &IpsecNode) -> ListFile<'_> {
    (files.crl.as_deref(), files.crl_url.as_ref())
}

/// Every file that cannot be read, not the first alone; else what is wrong with the one that cannot be used.
fn unusable(node: &Node, files: &IpsecNode, error: &CredentialsError) -> Vec<Finding> {
    let hint = format!(
        "`bartizan ca issue --profile ipsec --name {}{}{}` writes certificate, key and root; {} the lists",
        node.name,
        bartizan_tls::issue_options(&node.identity),
        folder(&files.certificate),
        lists(list_file(files))
    );
    let unreadable = unreadable(
        [&files.certificate, &files.key, &files.roots]
            .into_iter()
            .chain(&files.crl),
        &hint,
    );
    if !unreadable.is_empty() {
        let findings = unreadable.into_iter();
        return findings
            .map(|finding| with_list_file(finding, list_file(files)))
            .collect();
    }
    let (path, cause) = error.place();
    let of_node = [&files.certificate, &files.key, &files.roots]
        .into_iter()
        .chain(&files.crl);
    let hint = match of_node.into_iter().any(|file| file == path) {
        true => hint,
        // A pre-shared key of a link.
        false => {
            "a pre-shared key is the same file at both ends, readable by its owner alone (`ppk` of the link)".to_owned()
        }
    };
    vec![Finding::new(path.display().to_string(), cause, hint)]
}
