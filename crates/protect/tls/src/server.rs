//! A handshake as rustls' server sees it: verifier, certificate and session store of one connection.

use std::sync::Arc;

use bartizan_registry::NamedGroup;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientHello, ResolvesServerCert, StoresServerSessions};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible, SignatureScheme};
use zeroize::Zeroizing;

use crate::handshake::Handshake;
use crate::scheme;
use crate::session::ServerSession;

impl ClientCertVerifier for Handshake {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.shared.credentials.subjects
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.verify_chain(end_entity, intermediates, now)
            .map(|()| ClientCertVerified::assertion())
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
        self.verify_signature(message, cert, dss)
            .map(|()| HandshakeSignatureValid::assertion())
            .map_err(|cause| cause.to_rustls())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.terms().offered_schemes()
    }
}

impl ResolvesServerCert for Handshake {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let chosen = self.choose(hello.signature_schemes());
        {
            let mut state = self.state();
            let groups = hello.named_groups().unwrap_or_default();
            state.offered.groups = Some(groups.iter().map(|&group| NamedGroup(u16::from(group))).collect());
            let schemes = hello.signature_schemes().iter().copied();
            state.offered.schemes = Some(schemes.map(scheme::from_rustls).collect());
            state.local = chosen.map(|own| Arc::clone(&own.shown));
        }
        // For a peer that verifies none of them rustls refuses, with the alert that belongs to it.
        // No certificate is sent that the policy does not accept.
        let shown = chosen.or_else(|| self.own().next());
        if shown.is_none() {
            self.note_no_suitable_certificate();
        }
        shown.map(|own| Arc::clone(&own.certified))
    }
}

impl StoresServerSessions for Handshake {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        let value = Zeroizing::new(value);
        let mut state = self.state();
        // A session that was resumed hands on the life of its first handshake, so that tickets do not renew themselves.
        let Some(life) = state.life_of_session() else {
            return false;
        };
        state.issued.push(key.clone());
        drop(state);
        let interface = self.side.interface(&self.shared);
        let session = ServerSession { value, life, interface };
        self.shared.sessions.keep_server(key, session);
        true
    }

    fn get(&self, _key: &[u8]) -> Option<Vec<u8>> {
        // Only TLS 1.2 reads a session without taking it.
        None
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let session = self.shared.sessions.take_server(key)?;
        let now = self.shared.now()?;
        if !session.life.holds(now) || session.interface != self.side.interface(&self.shared) {
            return None;
        }
        // A full handshake shows the certificate of today.
        let terms = self.terms();
        let shown = session.life.signed_by.as_ref();
        if shown.is_some_and(|own| !own.suits(&terms.signatures, &terms.chain_signatures)) {
            return None;
        }
        self.state().life = Some(session.life);
        Some(session.value.to_vec())
    }

    fn can_cache(&self) -> bool {
        self.terms().resumption.is_some()
    }
}
