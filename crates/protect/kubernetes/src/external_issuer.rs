//! An issuer of cert-manager instead of an authority of our own: the private keys that wait for its answers, in memory alone, and what is
//! made of an answer.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use bartizan_controller::{Answer, Asked, Authority, Circumstances, Order, Received, Stray};
use bartizan_pki::{Algorithm, AlternativeName, Certificate, PrivateKey, SigningRequest};
use bartizan_tls::{Credentials, Weight};
use data_encoding::BASE64;

use crate::issuer::{IssuerReference, scheme};
use crate::issuing::{Made, names};
use crate::objects::fingerprint;
use crate::requests::{Request, Wanted};
use crate::store::Store;
use crate::writing::Writing;
use bartizan_terminal::Failure;

/// A chain or a file of roots has at most so many bytes.
const LONGEST: usize = 256 << 10;

pub(crate) struct ExternalIssuer {
    issuer: IssuerReference,
    /// The file with the roots, read for each turn.
    root: Option<PathBuf>,
    algorithm: Algorithm,
    lifetime: Duration,
    /// By namespace and node.
    waiting: BTreeMap<(String, String), Waiting>,
    /// True once requests made before this process became leader were looked up.
    is_settled: bool,
    roots: Option<String>,
}

struct Waiting {
    key: PrivateKey,
    request: String,
    uid: String,
    names: Vec<AlternativeName>,
    since: SystemTime,
}

impl Waiting {
    fn asked(&self, answer: Answer) -> Asked {
        Asked {
            request: self.request.clone(),
            uid: self.uid.clone(),
            names: self.names.iter().map(ToString::to_string).collect(),
            since: self.since,
            answer,
        }
    }
}

/// Why nothing was made of an answer.
pub(crate) enum Unusable {
    /// It is not for this order: nothing follows.
    Other,
    /// It begins in a moment: the issuer's clock is a little ahead.
    NotYet,
    /// It is refused.
    Refused(String),
}

impl ExternalIssuer {
    pub(crate) fn new(
        issuer: IssuerReference,
        root: Option<PathBuf>,
        algorithm: Algorithm,
        lifetime: Duration,
    ) -> Result<Self, Failure> {
        issuer.check(algorithm)?;
        let mut asking = Self {
            issuer,
            root,
            algorithm,
            lifetime,
            waiting: BTreeMap::new(),
            is_settled: false,
            roots: None,
        };
        asking
            .read_roots()
            .map_err(|why| Failure::new(why).hint("--issuer-root FILE: PEM, the issuer's root certificates"))?;
        Ok(asking)
    }

    /// As Secrets name it.
    pub(crate) fn reference(&self) -> String {
        self.issuer.to_string()
    }

    /// A request was not removed: it is found in the next list.
    pub(crate) fn look_again(&mut self) {
        self.is_settled = false;
    }

    pub(crate) fn count(&self) -> usize {
        self.waiting.len()
    }

    fn read_roots(&mut self) -> Result<(), String> {
        let Some(file) = &self.root else {
            return Ok(());
        };
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let roots = certificates(&text, "the file").map_err(|why| format!("{}: {why}", file.display()))?;
        if let Some(other) = roots.iter().find(|root| !root.is_authority()) {
            return Err(format!(
                "{}: {} is no authority's certificate",
                file.display(),
                other.subject()
            ));
        }
        self.roots = Some(roots.iter().map(Certificate::to_pem).collect());
        Ok(())
    }

    /// Another process leads, and asks with keys of its own.
    pub(crate) fn forget(&mut self, store: &mut Store) {
        self.waiting.clear();
        self.is_settled = false;
        for namespace in store.namespaces.values_mut() {
            namespace.observed.asked.clear();
            namespace.observed.strays.clear();
        }
    }

    /// Looks at the requests in these scopes, where one is waited for or all are to be looked at, and at the roots.
    pub(crate) async fn look(
        &mut self,
        writing: &Writing,
        scopes: &[Option<String>],
        store: &mut Store,
        all: bool,
    ) -> Authority {
        if let Err(why) = self.read_roots() {
            return Authority::Unavailable(why);
        }
        if all || !self.is_settled || !self.waiting.is_empty() {
            let mut requests = Vec::new();
            for scope in scopes {
                match writing.requests(scope.as_deref()).await {
                    Ok(more) => requests.extend(more),
                    Err(problem) if problem.code() == Some(404) => {
                        return Authority::Unavailable(
                            "the API server has no CertificateRequests of cert-manager.io/v1; hint: install cert-manager".to_owned(),
                        );
                    }
                    Err(problem) => return Authority::Unavailable(format!("CertificateRequests: {problem}")),
                }
            }
            self.is_settled = true;
            self.note(requests, store);
        }
        Authority::Elsewhere {
            root: self.roots.as_ref().map(|text| fingerprint(text.as_bytes())),
            signs: scheme(self.algorithm),
        }
    }

    fn note(&self, requests: Vec<Request>, store: &mut Store) {
        for namespace in store.namespaces.values_mut() {
            namespace.observed.strays.clear();
        }
        let mut answers = BTreeMap::new();
        for request in requests {
            let Some(namespace) = store.namespaces.get_mut(&request.namespace) else {
                continue;
            };
            if self.waiting.values().any(|waiting| waiting.uid == request.uid) {
                answers.insert(request.uid, request.answer);
                continue;
            }
            namespace.changed = true;
            namespace.observed.strays.insert(Stray {
                request: request.name,
                uid: request.uid,
            });
        }
        for ((namespace, node), waiting) in &self.waiting {
            let Some(namespace) = store.namespaces.get_mut(namespace) else {
                continue;
            };
            namespace.changed = true;
            let answer = answers.remove(&waiting.uid).unwrap_or(Answer::Gone);
            namespace.observed.asked.insert(node.clone(), waiting.asked(answer));
        }
    }

    /// Makes a key and asks for its certificate.
    pub(crate) async fn ask(
        &mut self,
        writing: &Writing,
        namespace: &str,
        order: &Order,
        now: SystemTime,
    ) -> Result<Asked, String> {
        let said = |error: bartizan_pki::Error| error.to_string();
        let names = names(order).map_err(said)?;
        let key = PrivateKey::generate(self.algorithm).map_err(said)?;
        let request = SigningRequest::write(&key, &names).map_err(said)?;
        let wanted = Wanted {
            issuer: &self.issuer,
            lifetime: self.lifetime,
            request: &request,
        };
        let uid = writing
            .ask(namespace, order, &wanted)
            .await
            .map_err(|problem| match problem.code() {
                Some(409) => format!(
                    "there is a CertificateRequest {} that is not this controller's; hint: delete it",
                    order.secret
                ),
                _ => format!("CertificateRequest {}: {problem}", order.secret),
            })?;
        let waiting = Waiting {
            key,
            request: order.secret.clone(),
            uid,
            names,
            since: now,
        };
        let asked = waiting.asked(Answer::Waiting("was written a moment ago".to_owned()));
        self.waiting.insert((namespace.to_owned(), order.node.clone()), waiting);
        Ok(asked)
    }

    /// The key of a node's request is not needed any more.
    pub(crate) fn drop_key(&mut self, namespace: &str, node: &str, uid: &str) {
        let at = (namespace.to_owned(), node.to_owned());
        if self.waiting.get(&at).is_some_and(|waiting| waiting.uid == uid) {
            self.waiting.remove(&at);
        }
    }

    /// Returns the contents of an order's Secret, if the answer matches the order.
    pub(crate) fn made(
        &self,
        namespace: &str,
        order: &Order,
        asked: &Asked,
        circumstances: &Circumstances<'_>,
    ) -> Result<Made, Unusable> {
        let at = (namespace.to_owned(), order.node.clone());
        let waiting = self.waiting.get(&at).filter(|waiting| waiting.uid == asked.uid);
        let (Some(waiting), Answer::Issued { certificate, root }) = (waiting, &asked.answer) else {
            return Err(Unusable::Other);
        };
        let refuse = |why: String| Unusable::Refused(format!("CertificateRequest {}: {why}", asked.request));
        let chain = certificates(&decoded(certificate).map_err(refuse)?, "its certificate").map_err(refuse)?;
        let roots = match (&self.roots, root) {
            (Some(text), _) => text.clone(),
            (None, Some(root)) => {
                let roots = certificates(&decoded(root).map_err(refuse)?, "its root").map_err(refuse)?;
                roots.iter().map(Certificate::to_pem).collect()
            }
            (None, None) => {
                return Err(refuse(
                    "the issuer gives no root (status.ca is empty); hint: --issuer-root FILE".to_owned(),
                ));
            }
        };
        let Some(leaf) = chain.first() else {
            return Err(refuse("there is no certificate in it".to_owned()));
        };
        let (now, begins) = (circumstances.now, leaf.not_before());
        if now < begins && begins <= now + circumstances.settings.clock_tolerance {
            return Err(Unusable::NotYet);
        }
        // A root at the end is of no use to peers, which have it.
        let is_root = |one: &Certificate| one.is_authority() && one.subject() == one.issuer();
        let sent: String = chain
            .iter()
            .filter(|one| !is_root(one))
            .map(Certificate::to_pem)
            .collect();
        let key = waiting.key.to_pem();
        let received = Received {
            certificate: bartizan_controller::Certificate {
                names: leaf.names().iter().cloned().collect(),
                not_before: leaf.not_before(),
                not_after: leaf.not_after(),
                serial: leaf.serial_number().to_owned(),
                of_this_authority: true,
                key_matches: leaf.public_key() == waiting.key.public_key(),
            },
            is_authority: leaf.is_authority(),
            is_for_both_ends: leaf.is_for_both_ends(),
            flaw: flaw(&sent, key.as_bytes(), &roots, now),
        };
        if let Some(fault) = received.fault(&asked.names, namespace, &order.node, circumstances) {
            return Err(refuse(fault));
        }
        Ok(Made {
            chain: sent,
            key,
            root: roots,
            list: None,
            issuer: Some(self.reference()),
            serial: received.certificate.serial,
            not_after: received.certificate.not_after,
        })
    }
}

fn decoded(text: &str) -> Result<String, String> {
    if text.len() > LONGEST {
        return Err(format!("{} bytes are too many", text.len()));
    }
    let bytes = BASE64
        .decode(text.as_bytes())
        .map_err(|_| "what it holds is not Base64".to_owned())?;
    String::from_utf8(bytes).map_err(|_| "what it holds is no PEM".to_owned())
}

/// Certificates of a PEM text, all of kinds that sidecars verify.
fn certificates(text: &str, what: &str) -> Result<Vec<Certificate>, String> {
    const END: &str = "-----END CERTIFICATE-----";
    if text.len() > LONGEST {
        return Err(format!("{what} is too long"));
    }
    let blocks = text
        .split_inclusive(END)
        .filter(|block| block.contains("-----BEGIN CERTIFICATE-----"));
    let read = blocks.map(|block| Certificate::from_pem(block.as_bytes(), what));
    let all = read.collect::<Result<Vec<_>, _>>().map_err(|error| {
        format!("{error}; hint: sidecars verify ECDSA with P-256 and P-384, Ed25519 and ML-DSA, and no RSA")
    })?;
    match all.is_empty() {
        true => Err(format!("{what} holds no certificate")),
        false => Ok(all),
    }
}

/// Returns a peer's objection to the certificate, given the same roots: the sidecars' own check.
fn flaw(chain: &str, key: &[u8], roots: &str, now: SystemTime) -> Option<String> {
    let credentials = match Credentials::from_pem(chain.as_bytes(), key, roots.as_bytes(), None) {
        Ok(credentials) => credentials,
        Err(error) => return Some(error.to_string()),
    };
    let flaws = credentials.flaws(&[], now);
    let fatal = flaws.into_iter().find(|flaw| flaw.weight != Weight::Warning)?;
    Some(format!("{} {}", fatal.place, fatal.cause))
}

#[cfg(test)]
mod tests {
    use bartizan_controller::{Settings, Why};
    use bartizan_pki::{Authority as Issuer, InitOptions, Lifetime, Profile, Signing};

    use super::*;

    /// An issuer whose clock was ten seconds ahead was asked again and again.
    #[test]
    fn a_certificate_that_begins_in_a_moment_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let mut issuer = Issuer::init(&dir.path().join("ca"), InitOptions::new(Algorithm::EcdsaP256), now).unwrap();
        let names = vec![AlternativeName::dns("amf.5gc").unwrap()];
        let key = PrivateKey::generate(Algorithm::EcdsaP256).unwrap();
        let request = SigningRequest::write(&key, &names).unwrap();
        let signing = Signing {
            name: "amf".parse().unwrap(),
            names: names.clone(),
            accept_names: false,
            functions: Vec::new(),
            profile: Profile::NetworkFunction,
            lifetime: Lifetime::Between {
                not_before: now + Duration::from_secs(10),
                not_after: now + Duration::from_secs(86_400),
            },
            long_life: false,
        };
        let issued = issuer
            .sign(&SigningRequest::read(request.as_bytes()).unwrap(), &signing, now)
            .unwrap();
        let reference = "Issuer/core".parse().unwrap();
        let mut asking =
            ExternalIssuer::new(reference, None, Algorithm::EcdsaP256, Duration::from_secs(86_400)).unwrap();
        let waiting = Waiting {
            key,
            request: "bartizan-amf".to_owned(),
            uid: "one".to_owned(),
            names,
            since: now,
        };
        let encoded = |text: &str| BASE64.encode(text.as_bytes());
        let asked = waiting.asked(Answer::Issued {
            certificate: encoded(&issued.chain_pem()),
            root: Some(encoded(&issued.root_pem())),
        });
        asking.waiting.insert(("core".to_owned(), "amf".to_owned()), waiting);
        let order = Order {
            node: "amf".to_owned(),
            secret: "bartizan-amf".to_owned(),
            dns: vec!["amf.5gc".to_owned()],
            ip: Vec::new(),
            uri: Vec::new(),
            why: Why::Missing,
            replaces: None,
            owner: None,
        };
        let settings = Settings::default();
        let authority = Authority::Elsewhere {
            root: None,
            signs: scheme(Algorithm::EcdsaP256),
        };
        let made = |now| {
            let circumstances = Circumstances {
                now,
                skew: 0,
                authority: &authority,
                settings: &settings,
            };
            asking.made("core", &order, &asked, &circumstances)
        };
        assert!(matches!(made(now), Err(Unusable::NotYet)));
        assert!(made(now + Duration::from_secs(11)).is_ok());
        assert!(matches!(
            made(now - Duration::from_secs(300)),
            Err(Unusable::Refused(_))
        ));
    }
}
