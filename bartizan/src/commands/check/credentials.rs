//! The certificate files of one node, held against the names and policies of the file.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bartizan_deployment::{Deployment, Files, Node, day_of};
use bartizan_tls::{Credentials, Endpoint, Error, Flaw, peers};
use serde::Serialize;

use super::findings::Finding;

/// A certificate that ends sooner should be renewed now.
const SOON: Duration = Duration::from_secs(14 * 86_400);

/// What a node proves itself with.
#[derive(Serialize)]
pub(super) struct CredentialsInEffect {
    pub(super) node: String,
    pub(super) certificate: String,
    pub(super) key: String,
    pub(super) roots: String,
    pub(super) crl: Option<String>,
    /// Leaf first; empty where the files cannot be used.
    pub(super) chain: Vec<CertificateInEffect>,
    /// The day before which a newer revocation list is due.
    pub(super) crl_due: Option<String>,
    /// The last day of SCTP associations that no renewed certificate carries on; none where there
    /// are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) associations_end: Option<String>,
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
    let peers = peers(deployment, node.name.as_str());
    let has_associations = peers.iter().any(|peer| peer.interface.over_sctp());
    let shown = |chain: Vec<CertificateInEffect>, crl_due| CredentialsInEffect {
        associations_end: first_end(&chain).filter(|_| has_associations),
        node: node.name.to_string(),
        certificate: files.certificate.display().to_string(),
        key: files.key.display().to_string(),
        roots: files.roots.display().to_string(),
        crl: files.crl.as_ref().map(|path| path.display().to_string()),
        chain,
        crl_due,
    };
    let credentials = match Credentials::load(files) {
        Ok(credentials) => credentials,
        Err(error) => return (Some(shown(Vec::new(), None)), unusable(node, files, &error)),
    };
    let about = files.certificate.display().to_string();
    let mut findings = ends_soon(&about, &credentials, now);
    if let Err(error) = credentials.check_identity(&node.identity) {
        findings.push(refused(&about, &error));
    }
    let crl_due = credentials.revocation_due().map(|due| day_of(due).to_string());
    let chain = chain(&credentials, now);
    let flaws = credentials.flaws(&peers, now);
    let refused = Endpoint::new(credentials, peers)
        .err()
        .map(|error| refused(&about, &error));
    // Where the node is refused for want of a list, that is what is said of it.
    let said = |flaw: &Flaw| refused.as_ref().is_some_and(|refused| refused.about == flaw.place);
    findings.extend(
        flaws
            .into_iter()
            .filter(|flaw| !said(flaw))
            .map(|flaw| Finding::new(flaw.place, flaw.cause, flaw.hint)),
    );
    findings.extend(refused);
    (Some(shown(chain, crl_due)), findings)
}

/// The last day of the certificate of a chain that ends first.
fn first_end(chain: &[CertificateInEffect]) -> Option<String> {
    let first = chain.iter().min_by_key(|certificate| certificate.days_left);
    first.map(|certificate| certificate.ends.clone())
}

/// Every file that cannot be read, not the first alone; else what is wrong with their contents.
fn unusable(node: &Node, files: &Files, error: &Error) -> Vec<Finding> {
    let hint = format!(
        "`bartizan ca issue --name {}{}` writes certificate, key and root; `bartizan ca crl` the lists",
        node.name,
        bartizan_tls::issue_options(&node.identity)
    );
    let unreadable = unreadable(
        [&files.certificate, &files.key, &files.roots]
            .into_iter()
            .chain(&files.crl),
        &hint,
    );
    if unreadable.is_empty() {
        vec![refused(&format!("nodes.{}", node.name), error)]
    } else {
        unreadable
    }
}

/// Those of these files that cannot be opened.
pub(super) fn unreadable<'a>(files: impl IntoIterator<Item = &'a PathBuf>, hint: &str) -> Vec<Finding> {
    let failed = |path: &PathBuf| Some(unreadable_file(path, &File::open(path).err()?, hint));
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

fn ends_soon(certificate: &str, credentials: &Credentials, now: SystemTime) -> Vec<Finding> {
    let end = credentials.not_after();
    if now <= end && end < now + SOON {
        let finding = format!("ends with {}", day_of(end));
        vec![Finding::new(certificate, finding, "renew it now: bartizan ca renew")]
    } else {
        Vec::new()
    }
}

pub(super) fn chain(credentials: &Credentials, now: SystemTime) -> Vec<CertificateInEffect> {
    let seconds = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    let certificates = credentials.chain().iter();
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
