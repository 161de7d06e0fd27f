//! QUIC: whole handshakes, each with the groups that the server has not chosen yet.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bartizan_registry::{NamedGroup, SCTP_OVER_QUIC, Safety};
use bartizan_tls::{Asking, Shown};
use bytes::{Bytes, BytesMut};
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{ClientConfig, ConnectionError, DatagramEvent, Endpoint, Event, VarInt};

use crate::answer::eliminate;
use crate::handshake::{answers, by_safety, safety};
use crate::session::{BYTES, DATAGRAM, receive};
use crate::{Answer, Error, Session};

/// Protocols that ordinary clients offer.
const PROTOCOLS: [&str; 4] = ["h3", "hq-interop", "doq", SCTP_OVER_QUIC];
type Ended = (Shown, Option<String>);

/// Wait for a ticket, which comes with the server's confirmation of the handshake.
const TICKETS: Duration = Duration::from_millis(500);

pub(crate) fn ask(session: &mut Session<'_>) -> Result<Vec<Answer>, Error> {
    let groups = by_safety(Asking::groups());
    let (mut best, mut refused, mut downgrade) = (None, None, false);
    let accepted = eliminate(&groups, |left| {
        let place = session.tape.place();
        match handshake(session, left)? {
            Ok((shown, ended)) => {
                let group = shown.group;
                let classical = group.is_some_and(|code| safety(code) != Some(Safety::QuantumSafe));
                // The inspector judges the server's best handshake, and the first that is a downgrade.
                if best.is_some() && (downgrade || !classical) {
                    session.tape.forget(place);
                }
                downgrade |= classical;
                best.get_or_insert((shown, ended));
                Ok::<_, Error>(group)
            }
            Err(because) => {
                session.tape.forget(place);
                refused.get_or_insert(because);
                Ok(None)
            }
        }
    })?;
    let Some((shown, ended)) = best else {
        let because = refused.unwrap_or_default();
        return Err(Error::Foreign(format!("refuses QUIC with every group: {because}")));
    };
    let mut all: Vec<Answer> = Answer::exchanges("groups", &accepted, safety).into();
    all.extend(answers(&shown, ended));
    Ok(all)
}

/// Values shown, and the reason for which the server ended the connection behind its handshake; or the
/// reason for which it refused that.
fn handshake(session: &mut Session<'_>, groups: &[NamedGroup]) -> Result<Result<Ended, String>, Error> {
    let ours = |error: &dyn ToString| Error::Ours(error.to_string());
    let asking = Asking::new(groups, &PROTOCOLS, session.tape.secrets()).map_err(|error| ours(&error))?;
    let watch = asking.watch();
    let config = QuicClientConfig::try_from(asking.config).map_err(|error| ours(&error))?;
    let deadline = session.begin(&format!("{} groups", groups.len()))?;
    let name = session.name.clone().unwrap_or_else(|| session.server.ip().to_string());
    let socket = session.socket()?;
    let own = socket.local_addr().map_err(Error::unreachable)?;
    let mut endpoint = Endpoint::new(Arc::default(), None, false, None);
    let config = ClientConfig::new(Arc::new(config));
    let (handle, mut connection) = endpoint
        .connect(Instant::now(), config, session.server, &name)
        .map_err(|error| ours(&error))?;
    let (mut outgoing, mut incoming, mut received) = (Vec::new(), vec![0; DATAGRAM], 0);
    let (mut until, mut established) = (deadline, false);
    loop {
        let now = Instant::now();
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = endpoint.handle_event(handle, event) {
                connection.handle_event(event);
            }
        }
        let mut flush = |connection: &mut quinn_proto::Connection, session: &mut Session<'_>| {
            while let Some(transmit) = connection.poll_transmit(now, 1, &mut outgoing) {
                send(session, &socket, own, &outgoing[..transmit.size])?;
                outgoing.clear();
            }
            Ok::<_, Error>(())
        };
        flush(&mut connection, session)?;
        if established && (watch().tickets > 0 || now >= until) {
            connection.close(now, VarInt::from_u32(0), Bytes::new());
            flush(&mut connection, session)?;
            return Ok(Ok((watch(), None)));
        }
        let mut again = false;
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => {
                    (established, again) = (true, true);
                    until = deadline.min(now + TICKETS);
                }
                Event::ConnectionLost { reason } => {
                    return match reason {
                        ConnectionError::TimedOut => Err(Error::Silent),
                        // A server that requires a client's certificate refuses behind its own proof.
                        reason if established => Ok(Ok((watch(), Some(reason.to_string())))),
                        reason => Ok(Err(reason.to_string())),
                    };
                }
                _ => {}
            }
        }
        if again {
            continue;
        }
        if now >= until {
            return Err(Error::Silent);
        }
        let wake = connection.poll_timeout().map_or(until, |timer| timer.min(until));
        let Some(length) = receive(&socket, wake, &mut incoming)? else {
            connection.handle_timeout(Instant::now());
            continue;
        };
        received += length;
        if received > BYTES {
            return Err(Error::Endless);
        }
        session.tape.datagram(session.server, own, &incoming[..length]);
        let datagram = BytesMut::from(&incoming[..length]);
        let mut response = Vec::new();
        match endpoint.handle(Instant::now(), session.server, None, None, datagram, &mut response) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => connection.handle_event(event),
            Some(DatagramEvent::Response(transmit)) => send(session, &socket, own, &response[..transmit.size])?,
            _ => {}
        }
    }
}

/// A datagram that is lost is sent again, and a port without a socket answers the one before.
fn send(session: &mut Session<'_>, socket: &UdpSocket, own: SocketAddr, datagram: &[u8]) -> Result<(), Error> {
    match socket.send(datagram) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => return Err(Error::unreachable(error)),
        Ok(_) | Err(_) => {}
    }
    session.tape.datagram(own, session.server, datagram);
    Ok(())
}

#[cfg(test)]
mod tests {
    use quinn_proto::crypto::rustls::QuicServerConfig;
    use quinn_proto::{EndpointConfig, ServerConfig};
    use rcgen::{CertificateParams, KeyPair};
    use rustls::pki_types::PrivateKeyDer;
    use rustls::server::WebPkiClientVerifier;
    use rustls::{RootCertStore, version::TLS13};

    use super::*;

    /// A server that requires a client's certificate, as long as the test runs.
    fn server() -> SocketAddr {
        let key = KeyPair::generate().unwrap();
        let own = CertificateParams::new(vec!["server".to_owned()]).unwrap();
        let own = own.self_signed(&key).unwrap().der().clone();
        let mut roots = RootCertStore::empty();
        roots.add(own.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let required = WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::clone(&provider));
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .unwrap()
            .with_client_cert_verifier(required.build().unwrap())
            .with_single_cert(vec![own], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
            .unwrap();
        config.alpn_protocols = vec![b"h3".to_vec()];
        let config = QuicServerConfig::try_from(config).unwrap();
        let config = Arc::new(ServerConfig::with_crypto(Arc::new(config)));
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        std::thread::spawn(move || serve(&socket, config));
        address
    }

    fn serve(socket: &UdpSocket, config: Arc<ServerConfig>) {
        let mut endpoint = Endpoint::new(Arc::<EndpointConfig>::default(), Some(config), false, None);
        let (mut connections, mut incoming) = (Vec::new(), vec![0; DATAGRAM]);
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        loop {
            let (now, mut out) = (Instant::now(), Vec::new());
            if let Ok((length, from)) = socket.recv_from(&mut incoming) {
                let datagram = BytesMut::from(&incoming[..length]);
                match endpoint.handle(now, from, None, None, datagram, &mut out) {
                    Some(DatagramEvent::NewConnection(new)) => {
                        let (handle, connection) = endpoint.accept(new, now, &mut out, None).unwrap();
                        connections.push((handle, connection, from));
                    }
                    Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                        let mut known = connections.iter_mut();
                        let (_, connection, _) = known.find(|(known, ..)| *known == handle).unwrap();
                        connection.handle_event(event);
                    }
                    _ => {}
                }
            }
            for (handle, connection, to) in &mut connections {
                connection.handle_timeout(now);
                while connection.poll().is_some() {}
                while let Some(event) = connection.poll_endpoint_events() {
                    if let Some(event) = endpoint.handle_event(*handle, event) {
                        connection.handle_event(event);
                    }
                }
                while let Some(transmit) = connection.poll_transmit(now, 1, &mut out) {
                    socket.send_to(&out[..transmit.size], *to).unwrap();
                    out.clear();
                }
            }
        }
    }

    #[test]
    fn a_server_that_requires_a_certificate_is_asked_as_far_as_it_answers() {
        let mut progress = |_: u32, _: &str| {};
        let mut session = Session::new(server(), None, Duration::from_secs(30), &mut progress);
        let answers = ask(&mut session).unwrap();
        let values = |question: &str| {
            let answer = answers.iter().find(|answer| answer.question == question);
            answer
                .unwrap_or_else(|| panic!("no {question} in {answers:?}"))
                .values
                .clone()
        };
        assert_eq!(values("groups")[0], "X25519MLKEM768");
        assert!(values("signature")[0].contains("ecdsa"), "{answers:?}");
        assert!(values("handshake")[0].contains("certificate"), "{answers:?}");
    }
}
