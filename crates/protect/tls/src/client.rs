//! A handshake as rustls' client sees it: verifier, certificate and session store of one connection.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientSessionStore, ResolvesClientCert, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, Error, NamedGroup, PeerIncompatible, SignatureScheme};

use crate::handshake::{Handshake, Side};
use crate::scheme;
use crate::session::{ClientSession, Life};

/// Verifier and certificate of a client. rustls resumes a session only under the very objects of its first handshake, so one
/// of these goes with a session from connection to connection, and receives each time whose handshake it serves.
#[derive(Debug)]
pub(crate) struct ClientRole {
    serving: Mutex<Weak<Handshake>>,
}

bartizan_registry::made! {
    /// Session store of one connection: at most one session goes in to be resumed, and what comes
    /// out is kept with its life.
    #[derive(Debug)]
    pub(crate) struct ClientStore,
    /// For a connection that may resume `session`.
    pub(crate) new(handshake: Arc<Handshake>, role: Arc<ClientRole>, resuming: Option<Tls13ClientSessionValue>) {
        handshake: Arc<Handshake>,
        role: Arc<ClientRole>,
        resuming: Mutex<Option<Tls13ClientSessionValue>> = Mutex::new(resuming),
    }
}

impl ClientRole {
    pub(crate) fn new(handshake: &Arc<Handshake>) -> Self {
        Self {
            serving: Mutex::new(Arc::downgrade(handshake)),
        }
    }

    /// From now on it serves this handshake.
    pub(crate) fn serve(&self, handshake: &Arc<Handshake>) {
        *self.serving.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(handshake);
    }

    /// Returns true while a handshake that it serves has not ended.
    pub(crate) fn is_busy(&self) -> bool {
        let serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        serving.upgrade().is_some_and(|handshake| !handshake.is_finished())
    }

    fn handshake(&self) -> Result<Arc<Handshake>, Error> {
        let serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        serving
            .upgrade()
            .ok_or_else(|| Error::General("the configuration outlived its connection".into()))
    }
}

impl ServerCertVerifier for ClientRole {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.handshake()?
            .verify_chain(end_entity, intermediates, now)
            .map(|()| ServerCertVerified::assertion())
            .map_err(|cause| cause.to_rustls())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.handshake()?
            .verify_signature(message, cert, dss)
            .map(|()| HandshakeSignatureValid::assertion())
            .map_err(|cause| cause.to_rustls())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.handshake()
            .map(|handshake| handshake.terms().offered_schemes())
            .unwrap_or_default()
    }
}

impl ResolvesClientCert for ClientRole {
    fn resolve(&self, _root_hint_subjects: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let handshake = self.handshake().ok()?;
        let chosen = handshake.choose(schemes);
        {
            let mut state = handshake.state();
            state.local = chosen.map(|own| Arc::clone(&own.shown));
            state.offered.schemes = Some(schemes.iter().copied().map(scheme::from_rustls).collect());
        }
        if chosen.is_none() {
            handshake.note_no_suitable_certificate();
        }
        chosen.map(|own| Arc::clone(&own.certified))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

impl ClientSessionStore for ClientStore {
    fn set_kx_hint(&self, _server_name: ServerName<'static>, _group: NamedGroup) {
        // Not remembered: a server that once chose a classical group would be offered that one first ever after, and a policy
        // that prefers post-quantum would not.
    }

    fn kx_hint(&self, _server_name: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    fn set_tls12_session(&self, _server_name: ServerName<'static>, _value: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _server_name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _server_name: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _server_name: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        let Side::Client(peer) = self.handshake.side else {
            return;
        };
        let life: Option<Life> = self.handshake.state().life_of_session();
        let Some(life) = life else { return };
        if self.handshake.was_refused() {
            return;
        }
        let shared = &self.handshake.shared;
        let session = ClientSession {
            ticket,
            role: Arc::clone(&self.role),
            life,
        };
        shared.sessions.keep_client(shared.peers[peer].link(), session);
    }

    fn take_tls13_ticket(&self, _server_name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.resuming.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
