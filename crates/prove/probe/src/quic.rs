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
/// Wait for a ticket, which comes with the server's confirmation of the handshake.
const TICKETS: Duration = Duration::from_millis(500);

pub(crate) fn ask(session: &mut Session<'_>) -> Result<Vec<Answer>, Error> {
    let groups = by_safety(Asking::groups());
    let (mut best, mut refused, mut downgrade) = (None, None, false);
    let accepted = eliminate(&groups, |left| {
        let place = session.tape.place();
        match handshake(session, left)? {
            Ok(shown) => {
                let group = shown.group;
                let classical = group.is_some_and(|code| safety(code) != Some(Safety::QuantumSafe));
                // The inspector judges the server's best handshake, and the first that is a downgrade.
                if best.is_some() && (downgrade || !classical) {
                    session.tape.forget(place);
                }
                downgrade |= classical;
                best.get_or_insert(shown);
                Ok::<_, Error>(group)
            }
            Err(because) => {
                session.tape.forget(place);
                refused.get_or_insert(because);
                Ok(None)
            }
        }
    })?;
    let Some(shown) = best else {
        let because = refused.unwrap_or_default();
        return Err(Error::Foreign(format!("refuses QUIC with every group: {because}")));
    };
    let mut all: Vec<Answer> = Answer::exchanges("groups", &accepted, safety).into();
    all.extend(answers(&shown, None));
    Ok(all)
}

fn handshake(session: &mut Session<'_>, groups: &[NamedGroup]) -> Result<Result<Shown, String>, Error> {
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
            return Ok(Ok(watch()));
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
