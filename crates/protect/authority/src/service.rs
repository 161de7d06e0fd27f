//! Answers to requests, independent of the transport.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bartizan_enrol::est::{self, Client};
use bartizan_enrol::{Event, Identity, Received, Responder};
use bartizan_pki::{
    AlternativeName, Authority, Certificate, Leaf, Lifetime, OpenedKey, PrivateKey, Profile, Published, Register,
    Secrets, Serial,
};
use tokio_rustls::rustls::ServerConfig;

use crate::audit::Audit;
use crate::published::{Lists, Publisher};

/// Name of the responder's certificates in the records.
const NAME: &str = "responder";
/// Their validity. The key is in the memory of the process alone; a new process has a new one.
const LIFETIME: Duration = Duration::from_secs(30 * 86_400);
/// From this long before its end on, the certificate is replaced.
const AHEAD: Duration = Duration::from_secs(10 * 86_400);

/// Reason why nothing can be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The authority's.
    #[error(transparent)]
    Authority(#[from] bartizan_pki::Error),
    /// Another one.
    #[error("{0}")]
    Other(String),
}

/// The authority's directory, opened for each request, so that `bartizan ca` can be used while this serves.
#[derive(Debug)]
pub struct Service {
    dir: PathBuf,
    secrets: Secrets,
    /// That of the certificate that issues now: another one is read by the rounds of its passphrase, or by a login at its token, each time.
    key: Mutex<Arc<OpenedKey>>,
    publisher: Publisher,
    dns: Vec<AlternativeName>,
    /// The responder's certificate for EST's connections. Not in the state, which is held while the authority is waited for: who takes up a connection must not
    /// wait for that.
    tls: Mutex<Arc<ServerConfig>>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    responder: Responder,
    /// The authority's own certificates when it was made.
    own: String,
    audit: Audit,
    /// Certificates whose lines in the audit log are written, which the records do not know yet.
    written: Vec<Serial>,
    lists: Lists,
}

impl State {
    fn record(&mut self, from: IpAddr, event: &Event, now: SystemTime) -> Result<(), String> {
        self.audit.record(from, event, now)?;
        self.written.extend(event.serial.filter(|_| event.refused.is_none()));
        Ok(())
    }

    /// Writes the lines of certificates that were recorded and not logged, after a crash or a full disk.
    fn reconcile(&mut self, authority: &mut Authority, now: SystemTime) -> Result<(), String> {
        let unaudited = authority.unaudited().map_err(|error| error.to_string())?;
        for entry in &unaudited {
            if !self.written.contains(&entry.serial) && !self.audit.grants(entry.serial)? {
                tracing::warn!(serial = %entry.serial, name = &entry.name, "a certificate was not in the audit log");
                self.audit.reconcile(entry, now)?;
            }
        }
        let serials: Vec<Serial> = unaudited.iter().map(|entry| entry.serial).collect();
        if !serials.is_empty() {
            authority.audited(&serials).map_err(|error| error.to_string())?;
        }
        self.written.clear();
        Ok(())
    }
}

/// Result of an EST operation: a body in Base64, or a refusal.
pub(crate) type Enrolled = Result<String, (bartizan_enrol::Failure, String)>;

impl Service {
    /// Issues the responder's certificate, for these names, and writes the lines that the audit log
    /// lacks.
    ///
    /// # Errors
    /// The authority's, or why no certificate can be made of its answer.
    pub fn new(
        dir: PathBuf,
        secrets: Secrets,
        mut authority: Authority,
        dns: Vec<AlternativeName>,
        audit: Audit,
    ) -> Result<Self, Error> {
        let now = SystemTime::now();
        let (identity, tls) = identity(&mut authority, &dns, now)?;
        let own = own(&authority);
        let mut state = State {
            responder: Responder::new(identity),
            own,
            audit,
            written: Vec::new(),
            lists: Lists::default(),
        };
        state.reconcile(&mut authority, now).map_err(Error::Other)?;
        Ok(Self {
            publisher: Publisher::new(&dir),
            dir,
            secrets,
            key: Mutex::new(Arc::new(authority.opened_key())),
            dns,
            tls: Mutex::new(tls),
            state: Mutex::new(state),
        })
    }

    /// Ends once a thread has taken a turn at what every enrolment needs.
    pub async fn answers(self: &Arc<Self>) {
        let service = Arc::clone(self);
        let turn = move || drop(service.state.lock().unwrap_or_else(PoisonError::into_inner));
        let _ = tokio::task::spawn_blocking(turn).await;
    }

    /// Answers a message of CMP; the error is a line for this end's log.
    pub(crate) fn cmp(&self, from: IpAddr, request: &[u8], now: SystemTime) -> Result<Vec<u8>, String> {
        let answer = self.answered(from, request, now);
        answer.map_err(|why| self.failed(from, "cmp", why, now))
    }

    fn answered(&self, from: IpAddr, request: &[u8], now: SystemTime) -> Result<Vec<u8>, String> {
        let request = self.verified(request, now)?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut authority = self.open(now)?;
        let answer = state
            .responder
            .answer(&mut authority, &request, now)
            .map_err(|error| error.to_string())?;
        drop(authority);
        if let Some((bartizan_enrol::Failure::Internal, reason)) = &answer.event.refused {
            tracing::error!(request = answer.event.request, reason, "a request failed here");
        }
        state.record(from, &answer.event, now)?;
        Ok(answer.der)
    }

    /// Writes the line of a request that this end could not answer; returns the reason.
    fn failed(&self, from: IpAddr, request: &'static str, why: String, now: SystemTime) -> String {
        let event = Event {
            request,
            refused: Some((bartizan_enrol::Failure::Internal, why.clone())),
            ..Event::default()
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = state.audit.record(from, &event, now) {
            tracing::error!(%error, "a request that failed has no line in the audit log");
        }
        why
    }

    /// A request whose MAC, if it has one, is verified. It waits for no other request, and none for it.
    fn verified(&self, request: &[u8], now: SystemTime) -> Result<Received, String> {
        let mut request = Received::read(request);
        if let Some(reference) = request.reference() {
            let register = Register::open(&self.dir).map_err(|error| error.to_string())?;
            let invitation = register.invitation(reference, now);
            if let Some(invitation) = invitation.map_err(|error| error.to_string())? {
                request.verify(&invitation);
            }
        }
        Ok(request)
    }

    /// TLS configuration of EST connections.
    pub(crate) fn tls(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.tls.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// An enrolment or a renewal by EST.
    pub(crate) fn est(
        &self,
        from: IpAddr,
        client: Client<'_>,
        again: bool,
        request: &[u8],
        now: SystemTime,
    ) -> Result<Enrolled, String> {
        let enrolled = || -> Result<Enrolled, String> {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let mut authority = self.open(now)?;
            let outcome = est::enrol(&mut authority, client, again, request, now);
            drop(authority);
            state.record(from, &outcome.event, now)?;
            Ok(outcome.body)
        };
        enrolled().map_err(|why| self.failed(from, "est", why, now))
    }

    /// The authority's certificates for EST.
    pub(crate) fn est_certificates(&self) -> Result<String, String> {
        est::authority_certificates(&self.published()?.certificates).map_err(|error| error.to_string())
    }

    /// Roots and lists, read without the authority's lock.
    pub(crate) fn published(&self) -> Result<Arc<Published>, String> {
        self.publisher.newest()
    }

    /// Once a minute: what is over is forgotten, and a certificate is replaced that ends, or whose authority has other certificates of its own.
    pub fn round(&self, now: SystemTime) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for serial in state.responder.forget(now) {
            tracing::warn!(%serial, "nobody confirmed this certificate");
        }
        let certificate = state.responder.identity().certificate();
        let (begins, ends) = (certificate.not_before(), certificate.not_after());
        let renewed = self.open(now).and_then(|mut authority| {
            state.lists.renew(&mut authority, now);
            if let Err(error) = state.reconcile(&mut authority, now) {
                tracing::error!(%error, "the audit log lacks lines");
            }
            let now_own = own(&authority);
            // One of a clock that was ahead has not begun: requesters refuse it.
            let lasts = begins <= now && ends >= now + authority.at_most(AHEAD, now);
            if lasts && now_own == state.own {
                return Ok(None);
            }
            let made = identity(&mut authority, &self.dns, now).map_err(|error| error.to_string())?;
            Ok(Some((made, now_own, authority.opened_key())))
        });
        match renewed {
            Ok(None) => {}
            Ok(Some(((identity, tls), own, key))) => {
                state.responder.replace_identity(identity);
                *self.tls.lock().unwrap_or_else(PoisonError::into_inner) = tls;
                *self.key.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(key);
                state.own = own;
            }
            Err(error) => tracing::error!(%error, "the responder's certificate cannot be renewed"),
        }
    }

    fn open(&self, now: SystemTime) -> Result<Authority, String> {
        let key = Arc::clone(&self.key.lock().unwrap_or_else(PoisonError::into_inner));
        Authority::open_again(&self.dir, &self.secrets, &key, now).map_err(|error| error.to_string())
    }
}

/// The authority's own certificates, PEM.
fn own(authority: &Authority) -> String {
    let intermediate = authority.intermediate().map(Certificate::to_pem);
    intermediate.unwrap_or_default() + &authority.roots_pem()
}

/// A fresh key and its certificate, for messages and for connections.
fn identity(
    authority: &mut Authority,
    dns: &[AlternativeName],
    now: SystemTime,
) -> Result<(Identity, Arc<ServerConfig>), Error> {
    let mut leaf = Leaf::new(NAME)?
        .profile(Profile::Responder)
        .lifetime(Lifetime::For(authority.at_most(LIFETIME, now)));
    leaf.names.extend_from_slice(dns);
    let issued = authority.issue(&leaf, now)?;
    let chain = [std::slice::from_ref(&issued.certificate), &issued.between].concat();
    let (Some(key), Some(pem)) = (issued.key.as_ref(), issued.key_pem()) else {
        return Err(Error::Other("no key was issued".to_owned()));
    };
    let tls = bartizan_tls::enrolment_server(
        issued.chain_pem().as_bytes(),
        pem.as_bytes(),
        issued.root_pem().as_bytes(),
    )
    .map_err(|error| Error::Other(error.to_string()))?;
    let key = PrivateKey::from_pkcs8(key.to_pkcs8())?;
    Ok((
        Identity::new(key, chain).map_err(|error| Error::Other(error.to_string()))?,
        tls,
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use bartizan_enrol::{Credential, Requester};
    use bartizan_pki::{Algorithm, InitOptions, Invite};
    use zeroize::Zeroizing;

    use super::*;

    /// A service with a directory of its own, and a first request of CMP by an invitation.
    fn stage(now: SystemTime) -> (tempfile::TempDir, Service, bartizan_pki::Invitation, Vec<u8>) {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("ca");
        let mut authority = Authority::init(&dir, InitOptions::new(Algorithm::Ed25519), now).unwrap();
        let invite = Invite {
            name: "gnb".parse().unwrap(),
            names: vec![AlternativeName::dns("gnb.ran").unwrap()],
            functions: Vec::new(),
            profile: Profile::NetworkFunction,
            days: 30,
            long_life: false,
            classical: true,
            open_for: Duration::from_secs(86_400),
            vendor: None,
        };
        let invitation = authority.invite(&invite, now).unwrap();
        let audit = Audit::open(&place.path().join("audit.jsonl")).unwrap();
        let dns = vec![AlternativeName::dns("ca.ran").unwrap()];
        let service = Service::new(dir, Secrets::default(), authority, dns, audit).unwrap();
        let secret = Credential::Secret {
            reference: invitation.reference().to_owned(),
            secret: Zeroizing::new(invitation.secret().unwrap().to_owned()),
        };
        let key = PrivateKey::generate(Algorithm::Ed25519).unwrap();
        let (_, request) = Requester::begin(secret, key, "gnb", now).unwrap();
        (place, service, invitation, request)
    }

    /// `ca serve` that was started before its clock was set refused nothing and was believed by no
    /// requester until that time had come.
    #[test]
    fn a_responders_certificate_that_has_not_begun_is_replaced() {
        let now = SystemTime::now();
        let (_place, service, ..) = stage(now);
        let begins = |service: &Service| {
            let state = service.state.lock().unwrap();
            state.responder.identity().certificate().not_before()
        };
        let ahead = now + Duration::from_secs(2 * 86_400);
        let mut authority = service.open(ahead).unwrap();
        let (identity, _) = identity(&mut authority, &service.dns, ahead).unwrap();
        drop(authority);
        service.state.lock().unwrap().responder.replace_identity(identity);
        assert!(begins(&service) > now);
        service.round(now);
        assert!(begins(&service) <= now);
    }

    /// `ca serve` did not start within thirty days of its issuer's end.
    #[test]
    fn a_responders_certificate_ends_with_its_issuer_at_the_latest_and_is_made_once() {
        let now = SystemTime::now();
        let (_place, service, ..) = stage(now);
        let late = now + Duration::from_secs(3645 * 86_400);
        let mut authority = service.open(late).unwrap();
        let (made, _) = identity(&mut authority, &service.dns, late).unwrap();
        assert_eq!(made.certificate().not_after(), authority.root().not_after());
        drop(authority);
        service.state.lock().unwrap().responder.replace_identity(made);
        let count = || {
            bartizan_pki::Register::open(&service.dir)
                .unwrap()
                .entries()
                .unwrap()
                .len()
        };
        let before = count();
        service.round(late);
        assert_eq!(count(), before);
    }

    /// Records that could not be opened left no line.
    #[test]
    fn a_request_that_fails_here_has_a_line_in_the_audit_log() {
        let now = SystemTime::now();
        let (place, service, _, request) = stage(now);
        std::fs::rename(place.path().join("ca/ca.sqlite"), place.path().join("gone")).unwrap();
        let from = IpAddr::from([192, 0, 2, 1]);
        let why = service.cmp(from, &request, now).unwrap_err();
        let client = Client::Certificate(&[]);
        let of_est = service.est(from, client, true, &request, now).unwrap_err();
        let text = std::fs::read_to_string(place.path().join("audit.jsonl")).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let shown = |line: &serde_json::Value| ["request", "from", "result", "reason"].map(|name| line[name].clone());
        let line = |request: &str, why: &str| [request, "192.0.2.1", "refused", why].map(serde_json::Value::from);
        let shown: Vec<_> = lines.iter().map(shown).collect();
        assert_eq!(shown, [line("cmp", &why), line("est", &of_est)]);
    }

    #[test]
    fn a_mac_is_verified_while_another_request_has_the_authority() {
        let now = SystemTime::now();
        let (_place, service, invitation, request) = stage(now);
        let state = service.state.lock().unwrap();
        let held = service.open(now).unwrap();
        let (verified, done) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                let received = service.verified(&request, now);
                verified.send(received.map(|one| one.reference().map(str::to_owned)).ok())
            });
            let received = done.recv_timeout(Duration::from_secs(60));
            drop((held, state));
            let reference = received.expect("it waits for no lock").expect("it is right");
            assert_eq!(reference.as_deref(), Some(invitation.reference()));
        });
        let from = IpAddr::from([127, 0, 0, 1]);
        assert!(!service.cmp(from, &request, now).unwrap().is_empty());
        assert!(
            service
                .state
                .lock()
                .unwrap()
                .audit
                .grants(
                    bartizan_pki::Register::open(&service.dir)
                        .unwrap()
                        .find("gnb")
                        .unwrap()
                        .serial
                )
                .unwrap()
        );
    }
}
