//! The authenticator of a port with EAP-TLS: it asks, and the other end answers. One run at a time, and each gives keys of its own: nothing is
//! resumed.

use std::io;
use std::time::{Duration, Instant};

use bartizan_tls::{Accepting, Established, Refused};
use bartizan_wire::eap::{BEGINS, EAP_TLS, FAILURE, IDENTITY, REQUEST, RESPONSE, SUCCESS};
use bartizan_wire::eapol::{kind, pdu};

use super::keys::cak;
use super::message::{Incoming, Outgoing, Part};
use super::packet::{Packet, ask, frame};
use crate::mka::Cak;
use crate::tls::{Ended, Tls};

/// Until a request is sent again (RFC 3748, section 4.3): a slow machine signs for a second.
const AGAIN: Duration = Duration::from_secs(2);
/// Number of transmissions of a request.
const TIMES: u32 = 4;
/// Time limit of a run: each of some thirty fragments is answered before the next is sent.
const RUN: Duration = Duration::from_secs(20);
/// Commitment message: the handshake ended well for both (RFC 9190, section 2.5). An octet of zero,
/// encrypted.
const COMMITMENT: &[u8] = &[0];
/// The legacy Nak (RFC 3748, section 5.3.1): the peer wants another method.
const NAK: u8 = 3;

/// Result of a frame, or of time.
#[derive(Debug)]
pub enum Happened {
    /// The other end asks to be authenticated.
    Asked,
    /// It has proven its identity. It waits for [`Authenticator::succeed`] or
    /// `Authenticator::fail`.
    Authenticated(Box<Authenticated>),
    /// It was refused, or has refused this end.
    Refused(Box<Refused>),
    /// It does not answer.
    Silent,
}

/// A peer that has proven its identity.
#[derive(Debug)]
pub struct Authenticated {
    /// Negotiated parameters and the peer.
    pub established: Established,
    /// CAK for the start of MKA.
    pub cak: Cak,
    /// When the run began.
    pub began: Instant,
    /// Frames of EAP in both directions.
    pub frames: u32,
}

/// The authenticator of a port.
#[derive(Debug)]
pub struct Authenticator {
    address: [u8; 6],
    identifier: u8,
    run: Option<Run>,
    /// Last message, to be sent once.
    end: Option<Vec<u8>>,
}

#[derive(Debug)]
struct Run {
    state: State,
    tls: Tls,
    incoming: Incoming,
    outgoing: Outgoing,
    began: Instant,
    frames: u32,
    /// The request that waits for its answer, when it was sent, and how often.
    request: Vec<u8>,
    sent: Option<Instant>,
    times: u32,
}

#[derive(Debug)]
enum State {
    /// The peer is asked for its name.
    Identity,
    /// TLS goes on.
    Handshake,
    /// TLS has ended well; the peer is to confirm it.
    Committed(Option<Box<Established>>),
    /// The peer has confirmed it.
    Proven,
    /// An alert was sent: what the peer answers ends the run.
    Over,
}

impl Authenticator {
    /// An authenticator of the port with this address.
    pub const fn new(address: [u8; 6]) -> Self {
        Self {
            address,
            identifier: 0,
            run: None,
            end: None,
        }
    }

    /// Returns true if a run goes on.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        self.run.is_some()
    }

    /// Begins a run; one that goes on is dropped.
    pub fn begin(&mut self, accepting: Accepting, now: Instant) {
        let identifier = self.next();
        self.run = Some(Run {
            state: State::Identity,
            tls: Tls::accept(accepting),
            incoming: Incoming::default(),
            outgoing: Outgoing::default(),
            began: now,
            frames: 0,
            request: frame(REQUEST, identifier, &[IDENTITY]),
            sent: None,
            times: 0,
        });
    }

    /// The peer may use the port.
    pub fn succeed(&mut self) {
        if self.run.take().is_some() {
            self.end = Some(frame(SUCCESS, self.identifier, &[]));
        }
    }

    /// It may not.
    fn fail(&mut self) {
        if self.run.take().is_some() {
            self.end = Some(frame(FAILURE, self.identifier, &[]));
        }
    }

    /// Takes the payload of a frame from this address.
    pub fn receive(&mut self, source: [u8; 6], payload: &[u8]) -> Option<Happened> {
        let pdu = pdu(payload).filter(|pdu| pdu.missing == 0)?;
        match pdu.kind {
            // A run that goes on asks by itself, and one that is not answered ends.
            kind::START => return (!self.is_busy()).then_some(Happened::Asked),
            kind::EAP => {}
            _ => return None,
        }
        let packet = Packet::read(pdu.body)?;
        // An answer to a request that was answered already was sent twice.
        if packet.code != RESPONSE || packet.identifier != self.identifier {
            return None;
        }
        let (method, data) = packet.method?;
        let run = self.run.as_mut().filter(|run| run.sent.is_some())?;
        run.frames += 1;
        let happened = match (&run.state, method) {
            (State::Identity, IDENTITY) => {
                run.state = State::Handshake;
                self.ask(BEGINS, &[]);
                return None;
            }
            (State::Over, _) => {
                self.fail();
                return None;
            }
            (State::Handshake, NAK) => {
                let error = io::Error::new(io::ErrorKind::InvalidData, "the peer refuses EAP-TLS");
                Err(Ended::Refused(run.tls.watch.failed(&error)))
            }
            (State::Handshake | State::Committed(_), EAP_TLS) => run.take(data, [self.address, source]),
            // Out of turn: the request is sent again where it must be.
            _ => return None,
        };
        match happened {
            Ok(Next::Fragment) => {
                let (flags, data) = run.outgoing.next();
                self.ask(flags, &data);
                None
            }
            Ok(Next::Acknowledge) => {
                self.ask(0, &[]);
                None
            }
            Ok(Next::Authenticated(authenticated)) => {
                (run.state, run.sent) = (State::Proven, None);
                Some(Happened::Authenticated(authenticated))
            }
            Err(ended) => {
                let refused = match ended {
                    Ended::Refused(refused) => refused,
                    Ended::Closed => {
                        let closed = io::Error::from(io::ErrorKind::ConnectionReset);
                        run.tls.watch.failed(&closed)
                    }
                };
                // An alert says why; what the peer answers ends the run.
                run.outgoing = Outgoing::new(run.tls.outgoing());
                if run.outgoing.is_sent() {
                    self.fail();
                } else {
                    run.state = State::Over;
                    let (flags, data) = run.outgoing.next();
                    self.ask(flags, &data);
                }
                Some(Happened::Refused(refused))
            }
        }
    }

    /// Sends what is to be sent now; says what time brings about.
    pub fn poll(&mut self, now: Instant, send: &mut dyn FnMut(&[u8])) -> Option<Happened> {
        if let Some(end) = self.end.take() {
            send(&end);
        }
        let run = self.run.as_mut()?;
        if matches!(run.state, State::Proven) {
            return None;
        }
        if now.saturating_duration_since(run.began) >= RUN {
            return self.give_up();
        }
        if run.sent.is_some_and(|sent| now.saturating_duration_since(sent) < AGAIN) {
            return None;
        }
        if run.times >= TIMES {
            return self.give_up();
        }
        run.frames += 1;
        run.times += 1;
        run.sent = Some(now);
        send(&run.request);
        None
    }

    /// When [`Authenticator::poll`] is to be called at the latest.
    pub fn wake(&self) -> Option<Instant> {
        let run = self.run.as_ref().filter(|run| !matches!(run.state, State::Proven))?;
        let due = run.sent.map_or(run.began, |sent| sent + AGAIN);
        Some(due.min(run.began + RUN))
    }

    fn give_up(&mut self) -> Option<Happened> {
        let run = self.run.take()?;
        match run.state {
            // It was refused before.
            State::Over => None,
            State::Handshake | State::Committed(_) => Some(Happened::Refused(run.tls.watch.timed_out())),
            State::Identity | State::Proven => Some(Happened::Silent),
        }
    }

    fn ask(&mut self, flags: u8, data: &[u8]) {
        let identifier = self.next();
        if let Some(run) = &mut self.run {
            run.request = ask(identifier, flags, data);
            (run.sent, run.times) = (None, 0);
        }
    }

    fn next(&mut self) -> u8 {
        self.identifier = self.identifier.wrapping_add(1);
        self.identifier
    }
}

/// Next message to send.
enum Next {
    Fragment,
    Acknowledge,
    Authenticated(Box<Authenticated>),
}

impl Run {
    /// Takes an answer of EAP-TLS.
    fn take(&mut self, data: &[u8], ports: [[u8; 6]; 2]) -> Result<Next, Ended> {
        let acknowledges = data.len() <= 1;
        if acknowledges && !self.outgoing.is_sent() {
            return Ok(Next::Fragment);
        }
        if let (State::Committed(established), true) = (&mut self.state, acknowledges)
            && let Some(established) = established.take()
        {
            let cak = cak(&self.tls, ports).map_err(Ended::Refused)?;
            return Ok(Next::Authenticated(Box::new(Authenticated {
                established: *established,
                cak,
                began: self.began,
                frames: self.frames,
            })));
        }
        // A peer with an alert does not wait for the rest of a message.
        let message = match self.incoming.take(data) {
            Part::More => return Ok(Next::Acknowledge),
            Part::Whole(message) if !message.is_empty() => message,
            Part::Whole(_) | Part::Unfit => {
                let error = io::Error::new(io::ErrorKind::InvalidData, "a fragment of EAP-TLS is out of turn");
                return Err(Ended::Refused(self.tls.watch.failed(&error)));
            }
        };
        self.tls.watch.received(&message);
        let mut fresh = message.as_slice();
        while !fresh.is_empty() {
            self.tls.take(&mut fresh)?;
        }
        if matches!(self.state, State::Handshake)
            && let Some(judged) = self.tls.judge()
        {
            let established = judged.map_err(Ended::Refused)?;
            // Into memory: it cannot fail.
            let _ = self.tls.write(COMMITMENT);
            self.state = State::Committed(Some(Box::new(established)));
        }
        self.outgoing = Outgoing::new(self.tls.outgoing());
        if self.outgoing.is_sent() {
            let error = io::Error::new(
                io::ErrorKind::InvalidData,
                "the peer's part of the handshake is incomplete",
            );
            return Err(Ended::Refused(self.tls.watch.failed(&error)));
        }
        Ok(Next::Fragment)
    }
}

#[cfg(test)]
mod tests;
