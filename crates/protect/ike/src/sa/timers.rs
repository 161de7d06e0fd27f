//! What happens because nothing does (RFC 7296, section 2.4).

use std::time::Instant;

use bartizan_wire::ike::ExchangeType;

use super::{IkeSa, State, Transmit};
use crate::error::Failure;

impl IkeSa {
    /// When [`Self::handle_timeout`] is to be called, unless something is received before.
    #[must_use]
    pub fn timeout(&self) -> Option<Instant> {
        let again = self.outgoing.as_ref().map(|outgoing| outgoing.due);
        [again, self.deadline, self.liveness()].into_iter().flatten().min()
    }

    /// When the peer is asked whether it is alive.
    fn liveness(&self) -> Option<Instant> {
        let idle = self.is_established() && self.outgoing.is_none();
        self.config
            .timing
            .liveness
            .filter(|_| idle)
            .map(|silence| self.heard + silence)
    }

    /// Retransmits, fails the SA or checks liveness, whichever is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.fail(Failure::Abandoned);
        }
        self.send_again(now);
        if self.liveness().is_some_and(|due| due <= now)
            && let Err(failure) = self.ask(now, ExchangeType::INFORMATIONAL, Vec::new())
        {
            self.fail(failure);
        }
    }

    fn send_again(&mut self, now: Instant) {
        let Some(outgoing) = self.outgoing.as_mut().filter(|outgoing| outgoing.due <= now) else {
            return;
        };
        if outgoing.sent_again >= self.config.timing.attempts {
            let failure = match (&self.state, self.refused) {
                (State::Closing(failure), _) => failure.clone(),
                (State::Starting(_), Some(kind)) => Failure::RefusedUnauthenticated(kind),
                _ => Failure::Unanswered,
            };
            self.fail(failure);
            return;
        }
        outgoing.sent_again += 1;
        outgoing.wait *= 2;
        outgoing.due = now + outgoing.wait;
        let (exchange, datagrams) = (outgoing.exchange, outgoing.datagrams.clone());
        let port = self.port(exchange);
        let again = datagrams.into_iter().map(|datagram| Transmit { port, datagram });
        self.transmits.extend(again);
    }
}
