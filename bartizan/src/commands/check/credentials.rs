//! The certificate files of one node, held against the names and policies of the file.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bartizan_deployment::{CertificateFiles, Deployment, Files, HttpUrl, Node, day_of};
use bartizan_ledger::state;
use bartizan_tls::{Credentials, Endpoint, Error, Flaw, OwnCertificate, peers};
use serde::Serialize;

use super::exception;
use super::findings::Finding;
use super::list_file::{lists, with_list_file};
use crate::commands::pasted::quoted;
use crate::commands::severity::Severity;

/// A certificate that ends sooner should be renewed now.
const SOON: Duration = Duration::from_secs(14 * 86_400);

/// A node's certificates, and what it judges peers by.
#[derive(Serialize)]
pub(super) struct CredentialsInEffect {
    pub(super) node: String,
    #[serde(flatten)]
    pub(super) own: OwnInEffect,
    /// The rest of `certificates`, where it lists several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) further_certificates: Vec<OwnInEffect>,
    pub(super) roots: String,
    pub(super) crl: Option<String>,
    /// The URL that they are fetched from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) crl_url: Option<String>,
    /// The day before which a newer revocation list is due.
    pub(super) crl_due: Option<String>,
    /// The peers that each exception in effect admits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) exceptions: Vec<String>,
    /// The last day of SCTP associations that no renewed certificate carries on; none where there
    /// are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) associations_end: Option<String>,
}

bartizan_registry::made! {
    /// A certificate with its key.
    #[derive(Serialize)]
    pub(super) struct OwnInEffect, pub(super) unread(files: &CertificateFiles) {
        pub(super) certificate: String = files.certificate.display().to_string(),
        pub(super) key: String = files.key.display().to_string(),
        /// Leaf first; empty where the files cannot be used.
        pub(super) chain: Vec<CertificateInEffect> = Vec::new(),
        /// The policy of a peer accepts it today.
        pub(super) in_use: bool = false,
    }
}

/// One certificate of the chain.
#[derive(Serialize)]
pub(super) struct CertificateInEffect {
    pub(super) subject: String,
    pub(super) names: Vec<String>,
    pub(super) key: String,
    pub(super) signed_by: String,
    /// Its last day.
    pub(super) ends: String,
    /// Whole days until its end; negative after it.
    pub(super) days_left: i64,
}

/// The files of a node, and what is wrong with them.
pub(super) fn of(deployment: &Deployment, node: &Node, now: SystemTime) -> (Option<CredentialsInEffect>, Vec<Finding>) {
    let Some(files) = &node.files else {
        let hint = "a node that has a sidecar elsewhere needs none here; else add `certificate` and `key`";
        let about = format!("nodes.{}", node.name);
        return (None, vec![Finding::new(about, "names no certificate files", hint)]);
    };
    #[cfg_attr(
        not(feature = "full"),
        expect(unused_mut, reason = "a sidecar alone has no MACsec links")
    )]
    let mut peers = peers(deployment, node.name.as_str());
    let has_associations = peers.iter().any(|peer| peer.interface.over_sctp());
    #[cfg(feature = "full")]
    peers.extend(bartizan_macsec::link::peers(deployment, node.name.as_str()));
    let mut shown = CredentialsInEffect {
        node: node.name.to_string(),
        own: OwnInEffect::unread(&files.certificates[0]),
        further_certificates: files.certificates[1..].iter().map(OwnInEffect::unread).collect(),
        roots: files.roots.display().to_string(),
        crl: files.crl.as_ref().map(|path| path.display().to_string()),
        crl_url: files.crl_url.as_ref().map(HttpUrl::to_string),
        crl_due: None,
        exceptions: Vec::new(),
        associations_end: None,
    };
    let credentials = match Credentials::load(files) {
        Ok(credentials) => credentials,
        Err(error) => return (Some(shown), unusable(node, files, &error)),
    };
    let about = files.certificates[0].certificate.display().to_string();
    let in_use: Vec<_> = credentials.in_use(&peers, now).collect();
    let all = std::iter::once(&mut shown.own).chain(&mut shown.further_certificates);
    for (one, own) in all.zip(credentials.own()) {
        one.chain = chain(own, now);
        one.in_use = in_use.iter().any(|used| used.place == own.place);
    }
    if has_associations {
        let ends = in_use.iter().map(|own| own.not_after()).min();
        shown.associations_end = ends.map(|end| day_of(end).to_string());
    }
    let mut findings: Vec<_> = in_use.iter().filter_map(|own| ends_soon(own, now)).collect();
    if let Err(error) = credentials.check_identity(&node.identity) {
        findings.push(refused(&about, &error));
    }
    for peer in &peers {
        match exception::of(node, &credentials, peer, now) {
            Some(Ok(admitted)) => shown.exceptions.push(admitted),
            Some(Err(finding)) => findings.push(finding),
            None => {}
        }
    }
    shown.crl_due = credentials.revocation_due().map(|due| day_of(due).to_string());
    let flaws = credentials.flaws(&peers, now);
    let refused = Endpoint::new(credentials, peers)
        .err()
        .map(|error| refused(&about, &error));
    // For a node refused for lack of a revocation list, only the refusal is reported.
    let said = |flaw: &Flaw| refused.as_ref().is_some_and(|refused| refused.about == flaw.place);
    findings.extend(
        flaws
            .into_iter()
            .filter(|flaw| !said(flaw))
            .map(|flaw| Finding::new(flaw.place, flaw.cause, flaw.hint)),
    );
    findings.extend(refused);
    let file = (files.crl.as_deref(), files.crl_url.as_ref());
    let findings = findings.into_iter().map(|finding| with_list_file(finding, file));
    (Some(shown), findings.collect())
}

/// Findings and notes on the files that the node's services append to or replace.
pub(super) fn written(node: &Node, deployment_file: &Path) -> (Vec<Finding>, Vec<Finding>) {
    let ledger = node.sidecar.as_ref().and_then(|sidecar| sidecar.ledger.as_ref());
    let ledger = ledger.map(|ledger| ledger.file.as_path());
    let of_tls = node.files.as_ref().and_then(|files| files.known_lists.as_deref());
    let of_ipsec = node.ipsec.as_ref().and_then(|files| files.known_lists.as_deref());
    let of_up = node.ipsec.as_ref().and_then(|files| files.ledger.as_ref());
    let of_up = of_up.map(|ledger| ledger.file.as_path());
    let files = node.files.as_ref().filter(|files| files.crl_url.is_some());
    let for_ipsec = node.ipsec.as_ref().filter(|files| files.crl_url.is_some());
    let fetched = [
        files.and_then(|files| files.crl.as_deref()),
        for_ipsec.and_then(|files| files.crl.as_deref()),
    ];
    let known = of_tls.into_iter().chain(of_ipsec);
    let all = || {
        ledger
            .into_iter()
            .chain(of_up)
            .chain(known.clone())
            .chain(fetched.into_iter().flatten())
    };
    let mut notes: Vec<_> = all().filter_map(without_folder).collect();
    notes.dedup_by(|one, other| one.about == other.about);
    let mut findings: Vec<_> = all().filter_map(no_file).collect();
    if node.sidecar.is_some() {
        findings.extend(files.and_then(|files| next_to_keys(files, deployment_file)));
    }
    (findings, notes)
}

/// Fetched lists next to what the sidecar trusts: it may write in their folder, so an intruder in it
/// can replace keys and roots for good.
fn next_to_keys(files: &Files, deployment_file: &Path) -> Option<Finding> {
    let list = files.crl.as_deref()?;
    let others = files.watched().map(PathBuf::as_path).filter(|file| *file != list);
    let mut others = others.chain([deployment_file]);
    let other = others.find(|file| file.parent() == list.parent())?;
    let cause = format!(
        "is in the folder of {}: the confined sidecar, which writes the list, can replace that too",
        other.display()
    );
    let hint = "name a file in another folder, such as that of `state`";
    Some(Finding::new(list.display().to_string(), cause, hint).with(Severity::Medium))
}

/// A folder that is not there: on another host it may be.
fn without_folder(path: &Path) -> Option<Finding> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty())?;
    let error = std::fs::metadata(folder).err()?;
    (error.kind() == io::ErrorKind::NotFound).then(|| {
        let hint = format!(
            "make it for the user that the service runs as: `install -d -m 750 -o bartizan -g bartizan {}`",
            quoted(folder)
        );
        let cause = "is not on this host, and services write files of the node there";
        Finding::new(folder.display().to_string(), cause, hint)
    })
}

/// Something else in a file's place.
fn no_file(path: &Path) -> Option<Finding> {
    let there = std::fs::symlink_metadata(path).ok().filter(|there| !there.is_file())?;
    let what = match there.is_symlink() {
        true => "a symbolic link",
        false => "no regular file",
    };
    let cause = format!("is {what}: services append to files alone, and follow no links");
    let hint = "name a file, or a name that is free";
    Some(Finding::new(path.display().to_string(), cause, hint))
}

/// Every file that cannot be read, not the first alone; else what is wrong with their contents.
fn unusable(node: &Node, files: &Files, error: &Error) -> Vec<Finding> {
    let file = (files.crl.as_deref(), files.crl_url.as_ref());
    let hint = format!(
        "`bartizan ca issue --name {}{}{}` writes certificate, key and root; {} the lists",
        node.name,
        bartizan_tls::issue_options(&node.identity),
        folder(&files.certificates[0].certificate),
        lists(file)
    );
    let unreadable = unreadable(files.watched(), &hint);
    let findings = match unreadable.is_empty() {
        true => vec![refused(&format!("nodes.{}", node.name), error)],
        false => unreadable,
    };
    findings
        .into_iter()
        .map(|finding| with_list_file(finding, file))
        .collect()
}

/// Option of `ca issue` that writes a certificate to this file's folder.
pub(super) fn folder(certificate: &Path) -> String {
    let folder = certificate.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.map_or_else(String::new, |folder| format!(" --out {}", quoted(folder)))
}

/// Those of these files that cannot be opened.
pub(super) fn unreadable<'a>(files: impl IntoIterator<Item = &'a PathBuf>, hint: &str) -> Vec<Finding> {
    let failed = |path: &PathBuf| Some(unreadable_file(path, &state::open_to_read(path).err()?, hint));
    files.into_iter().filter_map(failed).collect()
}

/// A file that cannot be opened. One that is there and closed to this user is no file to be made anew.
pub(super) fn unreadable_file(path: &Path, error: &io::Error, hint: &str) -> Finding {
    let about = path.display().to_string();
    if error.kind() == io::ErrorKind::PermissionDenied {
        let hint = "run `bartizan check` as root, or as the user that the service runs as: sudo -u bartizan bartizan check ...";
        return Finding::new(about, "this user may not read it, so nothing is known of it", hint);
    }
    Finding::new(about, error.to_string(), hint)
}

fn refused(about: &str, error: &Error) -> Finding {
    let text = error.to_string();
    // The message begins with the file already.
    let (about, cause) = match &error {
        Error::Credentials { place, cause, .. } => (place.as_str(), cause.clone()),
        _ => (about, text),
    };
    Finding::new(about, cause, error.hint().unwrap_or("see `bartizan ca --help`"))
}

fn ends_soon(own: &OwnCertificate, now: SystemTime) -> Option<Finding> {
    let end = own.not_after();
    let soon = now <= end && end < now + SOON;
    let finding = format!("ends with {}", day_of(end));
    let hint = || format!("renew it now: {}", own.renewal());
    soon.then(|| Finding::new(&own.place, finding, hint()).with(Severity::Medium))
}

pub(super) fn chain(own: &OwnCertificate, now: SystemTime) -> Vec<CertificateInEffect> {
    let seconds = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    let certificates = own.chain().iter();
    certificates
        .map(|certificate| {
            let end = UNIX_EPOCH + Duration::from_secs(u64::try_from(certificate.not_after).unwrap_or_default());
            CertificateInEffect {
                subject: certificate.subject.clone(),
                names: certificate.names.clone(),
                key: certificate.public_key.clone(),
                signed_by: certificate.signature.clone(),
                ends: day_of(end).to_string(),
                days_left: (certificate.not_after - seconds).div_euclid(86_400),
            }
        })
        .collect()
}
