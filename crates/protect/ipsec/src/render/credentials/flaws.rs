//! Flaws of a node's readable files, which peers, or charon itself, would find later.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bartizan_deployment::{Deployment, IkeEngine, IpsecNode, Node, Revocation, day_of};
use bartizan_pki::{
    Algorithm, CLOSE_FOLDER, Certificate, PrivateKey, RevocationList, Signed, Unknown, no_current_root, open_folder,
    signed_by,
};
use bartizan_registry::SignatureScheme;

use super::Credentials;

/// A certificate that ends sooner should be renewed now.
const SOON: Duration = Duration::from_secs(14 * 86_400);

/// Certificates between a leaf and its root, at most: as charon has it.
const LONGEST: usize = 7;

/// Something that is wrong with a node's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// The file it is in.
    pub file: PathBuf,
    /// The flaw.
    pub cause: String,
    /// Advice to the operator.
    pub hint: String,
    /// Consequence of the flaw.
    pub weight: Weight,
}

/// Consequence of a flaw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// No link can come up by it: nothing is loaded.
    Fatal,
    /// Links come up, or will when something changes that this host does not see: a clock, another host's files.
    Warning,
}

/// Requirements of a link on the files of its ends.
struct Asked {
    /// `E2 cu -- ric`.
    link: String,
    signatures: Vec<SignatureScheme>,
    revocation: Revocation,
}

fn asked(deployment: &Deployment, node: &str, now: SystemTime) -> Vec<Asked> {
    let links = deployment.ipsec_links(node).map(|(_, interface, _)| {
        let policy = interface.policy.in_effect(day_of(now));
        let [one, other] = &interface.between;
        Asked {
            link: format!("{} {one} -- {other}", interface.kind.name()),
            signatures: policy.ipsec.signatures,
            revocation: policy.revocation,
        }
    });
    links.collect()
}

impl Credentials {
    /// Flaws of a node's loaded files, for its links at this time.
    #[must_use]
    pub fn flaws(&self, files: &IpsecNode, deployment: &Deployment, node: &Node, now: SystemTime) -> Vec<Flaw> {
        let place = files.certificate.display().to_string();
        // It could be read when it was loaded.
        let Ok(leaf) = Certificate::from_der(&self.leaf, &place) else {
            return Vec::new();
        };
        let (links, name) = (asked(deployment, node.name.as_str(), now), &node.name);
        let identity = super::super::identity(node);
        let kind = if identity.parse::<IpAddr>().is_ok() {
            "ip"
        } else {
            "dns"
        };
        let issue = format!(
            "`bartizan ca issue --profile ipsec --name {name} --{kind} {identity}{}` makes both",
            out(&files.certificate)
        );
        let flaw = |file: &Path, weight: Weight, cause: String, hint: &str| Flaw {
            file: file.to_owned(),
            cause,
            hint: hint.to_owned(),
            weight,
        };
        let mut flaws = Vec::new();
        if !leaf.certifies(&self.key) {
            let cause = PrivateKey::fault(&self.key).map_or_else(
                || format!("is not the key of {place}"),
                |why| format!("the key cannot be read: {why}"),
            );
            flaws.push(flaw(&files.key, Weight::Fatal, cause, &issue));
        }
        if !carries(&leaf, &identity) {
            let cause = format!(
                "carries {}, and peers know {name} as {identity}: it is another node's",
                listed(leaf.names())
            );
            flaws.push(flaw(&files.certificate, Weight::Fatal, cause, &issue));
        }
        flaws.extend(dates(&leaf, &files.certificate, now));
        if let Some((folder, cause)) = open_folder(&files.key) {
            flaws.push(flaw(&folder, Weight::Warning, cause, CLOSE_FOLDER));
        }
        let validities = self.anchors.validities();
        let no_current = no_current_root(&validities, now);
        let any_current = no_current.is_none();
        if let Some((cause, hint)) = no_current {
            flaws.push(flaw(&files.roots, Weight::Warning, cause, hint));
        }
        flaws.extend(self.not_authorities.iter().map(|subject| {
            let cause = format!("{subject} is no authority's certificate: it is not trusted as one");
            flaw(&files.roots, Weight::Warning, cause, "list roots of your CAs alone")
        }));
        for Asked { link, signatures, .. } in &links {
            if !signatures
                .iter()
                .any(|scheme| Some(*scheme) == scheme_of(leaf.algorithm(), files.engine))
            {
                let names: Vec<_> = signatures.iter().map(ToString::to_string).collect();
                let cause = format!("signs by {}; {link} accepts {}", leaf.algorithm(), names.join(", "));
                let hint = "issue one of a kind that the policy accepts: `bartizan ca issue --profile ipsec --key-algorithm ecdsa-p256 --dns NAME`";
                flaws.push(flaw(&files.certificate, Weight::Warning, cause, hint));
            }
        }
        if leaf.algorithm().is_quantum_safe() {
            let strongswan = deployment.ipsec_links(node.name.as_str()).filter(|(peer, ..)| {
                let engine = peer.ipsec.as_ref().map(|peer| peer.engine);
                engine.unwrap_or_default() == IkeEngine::Strongswan
            });
            for (peer, interface, _) in strongswan {
                let kind = interface.kind.name();
                let cause = format!(
                    "signs by {}, which the strongSwan of {} does not verify: {kind} to it cannot come up",
                    leaf.algorithm(),
                    peer.name
                );
                let hint = "write `engine: bartizan` for that node too, or issue a classical certificate for this one";
                flaws.push(flaw(&files.certificate, Weight::Warning, cause, hint));
            }
        }
        let roots = || self.roots.iter().zip(&validities);
        let current = roots().filter(|(_, (begins, ends))| *begins <= now && now <= *ends);
        let current: Vec<_> = current.map(|(root, _)| root).collect();
        let all: Vec<_> = self.roots.iter().collect();
        let leads = self.leads_to_one_of(&all);
        if leads && any_current && !self.leads_to_one_of(&current) {
            let cause =
                format!("the root that the chain of {place} leads to is outside its dates: peers refuse this node");
            let hint =
                "issue a certificate under a root that is current: `bartizan ca issue --profile ipsec --dns NAME`";
            flaws.push(flaw(&files.roots, Weight::Warning, cause, hint));
        }
        if !leads {
            let cause = format!("holds no root that the chain of {place} leads to");
            let hint = "peers that trust the same roots refuse this node (unknown-ca): give the root of its own authority, or its intermediate \
                        behind the certificate";
            flaws.push(flaw(&files.roots, Weight::Warning, cause, hint));
        }
        flaws.extend(self.of_lists(files, &links, now));
        flaws
    }

    /// When the node's own certificate, or one between it and its root, ends.
    pub fn not_after(&self) -> Option<SystemTime> {
        let ends = std::iter::once(&self.leaf).chain(&self.between);
        let ends = ends.filter_map(|der| Some(Certificate::from_der(der, "").ok()?.not_after()));
        ends.min()
    }

    /// When the first of the revocation lists of the file is due to be replaced.
    pub fn lists_due(&self) -> Option<SystemTime> {
        self.given_lists().filter_map(RevocationList::next_update).min()
    }

    /// The lists in effect that the file has.
    fn given_lists(&self) -> impl Iterator<Item = &RevocationList> {
        let is_absent = |list: &&RevocationList| self.lists.absent.iter().any(|absent| absent.replaces(list));
        self.lists.lists.iter().filter(move |list| !is_absent(list))
    }

    /// Returns true if the leaf leads to one of these roots by the certificates between. A
    /// signature that cannot be verified here is believed.
    fn leads_to_one_of(&self, roots: &[&Vec<u8>]) -> bool {
        let mut reached = vec![self.leaf.as_slice()];
        for _ in 0..LONGEST {
            let signs = |issuer: &[u8]| {
                let mut reached = reached.iter();
                reached.any(|subject| signed_by(subject, issuer) != Signed::No)
            };
            if roots
                .iter()
                .any(|root| signs(root) || reached.contains(&root.as_slice()))
            {
                return true;
            }
            let between = self.between.iter().map(Vec::as_slice);
            let next: Vec<_> = between.filter(|der| !reached.contains(der) && signs(der)).collect();
            if next.is_empty() {
                return false;
            }
            reached.extend(next);
        }
        false
    }

    fn of_lists(&self, files: &IpsecNode, links: &[Asked], now: SystemTime) -> Vec<Flaw> {
        let mut flaws = Vec::new();
        let required = links.iter().find(|asked| asked.revocation == Revocation::Require);
        let Some(file) = &files.crl else {
            flaws.extend(required.map(|asked| Flaw {
                file: files.certificate.clone(),
                cause: format!(
                    "no revocation list is named, and {} requires one: it accepts no peer",
                    asked.link
                ),
                hint: "add `crl: FILE`; `bartizan ca crl` writes it".to_owned(),
                weight: Weight::Warning,
            }));
            return flaws;
        };
        let mut reported = |cause: String, hint: &str| {
            flaws.push(Flaw {
                file: file.clone(),
                cause,
                hint: hint.to_owned(),
                weight: Weight::Warning,
            });
        };
        let publish = "publish a new one: `bartizan ca crl`";
        let authorities = || self.roots.iter().chain(&self.between);
        let of_authority =
            |list: &&RevocationList| authorities().any(|authority| list.signed_by(authority) != Signed::No);
        let is_known = self.lists.lists.iter().any(|list| of_authority(&list));
        for list in self.given_lists() {
            let issuer = list.issuer();
            if !is_known {
                let cause = format!("the list of {issuer} is of no authority that is trusted here: it says nothing");
                reported(
                    cause,
                    "give the list of the authority that issues the peers' certificates",
                );
            } else if list.is_overdue(now) {
                // Those of issuers of before too: their certificates are valid until they end.
                let due = list.next_update().map(|due| day_of(due).to_string());
                reported(
                    format!(
                        "was due to be replaced by {}, the list of {issuer}: what was revoked since is not known here",
                        due.unwrap_or_default()
                    ),
                    publish,
                );
            } else if list.is_of_the_future(now) {
                let cause = format!(
                    "has a list of {issuer} that is signed on {}, which is to come: it is not current",
                    day_of(list.this_update())
                );
                reported(
                    cause,
                    "compare the clocks of this host and of its authority, then `bartizan ca crl`",
                );
            }
        }
        for unknown in self.lists.unknown.iter().filter(|_| is_known) {
            reported(unknown.to_string(), Unknown::HINT);
        }
        for older in &self.lists.older {
            reported(
                older.to_string(),
                "put the newest list there: `bartizan ca crl`; an authority that was restored from a backup has to count on from its last \
                 number",
            );
        }
        let own = std::iter::once(&self.leaf).chain(&self.between);
        for der in own.filter(|der| self.lists.lists.iter().any(|list| list.revokes(der))) {
            let place = files.certificate.display().to_string();
            let subject = Certificate::from_der(der, &place).map(|known| known.subject().to_owned());
            let cause = format!(
                "has revoked {}, which is in {place}: peers refuse this node",
                subject.unwrap_or_default()
            );
            reported(cause, "`bartizan ca issue --profile ipsec --dns NAME` makes a new one");
        }
        flaws
    }
}

/// Options of `ca issue` and `ca renew` that replace this certificate.
fn out(certificate: &Path) -> String {
    let folder = certificate.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.map_or_else(String::new, |folder| format!(" --out {} --force", folder.display()))
}

fn dates(leaf: &Certificate, file: &Path, now: SystemTime) -> Vec<Flaw> {
    let (begin, end) = (leaf.not_before(), leaf.not_after());
    let cause = if end < now {
        format!("ended with {}: every peer refuses it", day_of(end))
    } else if begin > now {
        format!("begins with {}: every peer refuses it until then", day_of(begin))
    } else if end < now + SOON {
        format!("ends with {}", day_of(end))
    } else {
        return Vec::new();
    };
    vec![Flaw {
        file: file.to_owned(),
        cause,
        hint: format!(
            "renew it: `bartizan ca renew {}`, and compare the clocks of the hosts",
            [leaf.serial_number(), &out(file)].concat()
        ),
        weight: Weight::Warning,
    }]
}

/// Returns true if charon finds the identity in the certificate: DNS names without regard to case,
/// addresses as such (RFC 4945, section 3.1).
fn carries(leaf: &Certificate, identity: &str) -> bool {
    leaf.names().iter().any(|name| {
        let value = name.strip_prefix("DNS:").or_else(|| name.strip_prefix("IP:"));
        value.is_some_and(|value| value.eq_ignore_ascii_case(identity))
    })
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "no name".to_owned(),
        several => several.join(", "),
    }
}

/// The scheme that the engine signs by with a key of this kind; none where released strongSwan has none.
fn scheme_of(algorithm: Algorithm, engine: IkeEngine) -> Option<SignatureScheme> {
    let only_ours = |scheme| (engine == IkeEngine::Bartizan).then_some(scheme);
    match algorithm {
        Algorithm::EcdsaP256 => Some(SignatureScheme::ECDSA_SECP256R1_SHA256),
        Algorithm::EcdsaP384 => Some(SignatureScheme::ECDSA_SECP384R1_SHA384),
        Algorithm::Ed25519 => Some(SignatureScheme::ED25519),
        Algorithm::MlDsa44 => only_ours(SignatureScheme::MLDSA44),
        Algorithm::MlDsa65 => only_ours(SignatureScheme::MLDSA65),
        Algorithm::MlDsa87 => only_ours(SignatureScheme::MLDSA87),
    }
}

#[cfg(test)]
mod tests;
