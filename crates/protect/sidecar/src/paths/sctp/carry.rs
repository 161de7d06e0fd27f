//! One association between its two sockets, in one task.

mod socket;

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bartizan_gateway::{Association, Totals};
use bartizan_tls::Reason;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::account::Account;
use super::carrier::{Carrier, Lost};
use super::function::FunctionSocket;
use super::seat::{Next, Seat};
use super::{BETWEEN_REFUSED, GOODBYE, last_command};
use crate::answers::failure::{Failure, Why};
use crate::life::drain::{Guard, Phase};
use crate::listening::admission::Slot;
use crate::runtime::alarm::Alarm;
use crate::runtime::until::until;

/// Rounds of all four directions before others get their turn.
pub(super) const ROUNDS: usize = 32;
/// Time for acknowledgements before the end: each node asks its kernel 0.1 s after a message.
const QUIET: Duration = Duration::from_millis(150);
/// Between two attempts to hand over an association that is not established yet.
const HANDED_OVER_AFTER: Duration = Duration::from_millis(100);

bartizan_registry::made! {
    /// An association between the function's socket and its carrier.
    pub(super) struct Carrying<C>,
    pub(super) new(
        account: Arc<Account>, association: Association, seat: Arc<Seat<C>>, function: Function, redial: Option<Redial>,
    ) {
        let (function, forward) = match function {
            Function::Here(socket) => (Some(socket), None),
            Function::At(forward) => (None, Some(forward)),
            Function::Open(socket, forward) => (Some(socket), Some(forward)),
        };
        pub(super) account: Arc<Account>,
        /// Counted so far.
        counted: Totals = association.totals(),
        pub(super) recorded: bool = false,
        pub(super) association: Association,
        /// None while the association waits for another.
        pub(super) carrier: Option<C> = None,
        before: Option<Before<C>> = None,
        /// Ends the connection that is the carrier again after the next one has failed.
        returned: Option<Guard> = None,
        /// Delay between a failed attempt and the next, where the carrier before works.
        pause: Duration = BETWEEN_REFUSED / 8,
        /// When that is.
        dial_after: Option<Instant> = None,
        /// The carrier's place at an inbound listener.
        slot: Option<Slot> = None,
        pub(super) seat: Arc<Seat<C>>,
        /// Dials another carrier for the seat, where that is this node's part.
        redial: Option<Redial>,
        /// True once it is established.
        established: bool = function.is_some(),
        /// The association with the function; none before it is begun and after it has ended.
        pub(super) function: Option<FunctionSocket>,
        /// Keeps the socket of a listener until the association is handed over.
        pub(super) held: Option<mpsc::Sender<Infallible>> = None,
        /// The process that takes over has refused it.
        pub(super) stays: bool = false,
        forward: Option<SocketAddr>,
        alarm: Alarm = Alarm::default(),
        /// When this turn began.
        now: Instant = Instant::now(),
    }
}

/// The carrier before, which stays open until the peer has answered on the new one: its end would
/// look like that of this node, and the association returns to it where the new one fails.
struct Before<C> {
    carrier: C,
    guard: Option<Guard>,
}

/// Begins to dial a carrier.
pub(super) type Redial = Box<dyn Fn() + Send>;

/// Outcome of carrying.
enum Turn {
    /// The association has ended, and what is left is done as far as that goes at once.
    Over,
    /// It continues over another carrier, which ends by this guard.
    Continues(Guard),
}

/// The function's association, or where it is to be opened.
pub(super) enum Function {
    Here(FunctionSocket),
    At(SocketAddr),
    /// Opened there.
    Open(FunctionSocket, SocketAddr),
}

impl<C: Carrier> Carrying<C> {
    /// Carries the association until it has ended or is another process's, over this carrier, where
    /// there is one, and those that follow it.
    pub(super) async fn carry(mut self, carrier: Option<C>, slot: Option<Slot>, mut guard: Guard) {
        if let Some(carrier) = &carrier {
            self.account.carried_by(carrier.session());
        }
        (self.carrier, self.slot) = (carrier, slot);
        let shared = Arc::clone(&self.account.shared);
        loop {
            let phase = match guard.phase() {
                Phase::Running | Phase::Refusing => Phase::Draining,
                Phase::Draining | Phase::Closing => Phase::Closing,
            };
            let waits = phase == Phase::Closing && !self.stays && shared.successor.get().is_some();
            let reached = async {
                if waits {
                    let _ = timeout(HANDED_OVER_AFTER, guard.reached(phase)).await;
                } else {
                    guard.reached(phase).await;
                }
            };
            let carried = poll_fn(|context| self.poll(context));
            match until(carried, reached).await {
                Some(Turn::Over) => break,
                Some(Turn::Continues(next)) => {
                    let guard = std::mem::replace(&mut guard, next);
                    if let Some(before) = &mut self.before {
                        before.guard.get_or_insert(guard);
                    }
                }
                // The peer would be refused now as this connection shows it; one with a new
                // certificate may not be.
                None if guard.is_dismissed() && phase == Phase::Draining => {
                    self.association.renew_carrier(Instant::now());
                }
                None if guard.phase() < Phase::Closing => {
                    if guard.is_dismissed() || self.stays {
                        continue;
                    }
                    if Box::pin(self.hand_over(&mut guard)).await {
                        return;
                    }
                    // Its socket is the other process's.
                    if self.stays && self.held.is_some() {
                        self.close(false).await;
                        break;
                    }
                }
                // An association lives for days: it is ended with the connections that are still open then.
                None => {
                    self.close(guard.is_dismissed()).await;
                    break;
                }
            }
        }
        if let Some(function) = self.function.take()
            && last_command(&mut self.association, Instant::now()).is_some()
        {
            function.abort();
        }
        self.count();
        if let Some(mut carrier) = self.carrier.take() {
            let _ = timeout(GOODBYE, carrier.goodbye(&self.association)).await;
        }
    }

    /// Ends the association: in order where nothing is under way and the peer is admitted, so that
    /// both functions see a shutdown.
    async fn close(&mut self, is_dismissed: bool) {
        if !is_dismissed {
            self.shut_down_if_quiet().await;
        }
        self.association
            .dismiss("the sidecar closes the connection", Instant::now());
        let rest = poll_fn(|context| self.poll(context));
        let _ = timeout(GOODBYE, rest).await;
    }

    async fn shut_down_if_quiet(&mut self) {
        let quiet = poll_fn(|context| {
            let polled = self.poll(context);
            self.ask_for_acknowledgement(self.now);
            match polled {
                Poll::Pending if self.association.is_quiet() => Poll::Ready(()),
                polled => polled.map(|_| ()),
            }
        });
        let _ = timeout(QUIET, quiet).await;
        if !self.association.is_quiet() {
            return;
        }
        self.association.shut_down_both(Instant::now());
        let rest = poll_fn(|context| match self.poll(context) {
            Poll::Ready(Turn::Over) => Poll::Ready(()),
            Poll::Ready(Turn::Continues(_)) | Poll::Pending => Poll::Pending,
        });
        let _ = timeout(GOODBYE / 2, rest).await;
    }

    /// Takes what has passed into the account, and the end once there is one.
    fn count(&mut self) {
        let totals = self.association.totals();
        let streams = self.association.streams();
        if totals != self.counted {
            self.counted = totals;
            self.account.count(streams, &totals);
        }
        if !self.recorded
            && self.association.command().is_none()
            && let Some(end) = self.association.end()
        {
            self.recorded = true;
            self.account.close(&end, streams);
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Turn> {
        let polled = self.turn(context);
        self.count();
        polled
    }

    fn turn(&mut self, context: &mut Context<'_>) -> Poll<Turn> {
        self.now = Instant::now();
        // The seat wakes the task for the next one only when it has been asked in vain.
        while let Poll::Ready(next) = self.seat.poll(context) {
            if let Some(guard) = self.continue_over(next) {
                return Poll::Ready(Turn::Continues(guard));
            }
        }
        if self.account.renews(context) {
            self.association.renew_carrier(self.now);
        }
        for _ in 0..ROUNDS {
            let mut moved = self.command(context);
            moved |= self.read_function(context);
            moved |= self.write_carrier(context);
            moved |= self.read_carrier(context);
            if self.association.is_over() && self.carrier.as_ref().is_none_or(Carrier::is_flushed) {
                return Poll::Ready(Turn::Over);
            }
            moved |= self.look_at_the_clock(context);
            if let Some(guard) = self.returned.take() {
                return Poll::Ready(Turn::Continues(guard));
            }
            if !moved {
                self.dial_another();
                return Poll::Pending;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Continues over another carrier, if the association wants it.
    fn continue_over(&mut self, next: Next<C>) -> Option<Guard> {
        let Next {
            carrier,
            guard,
            slot,
            resume,
            held,
        } = next;
        match resume {
            Some(resume) => {
                if !self.association.resumed(&resume, self.now) {
                    return None;
                }
                // The peer reads nothing of the one before.
                self.carrier = None;
            }
            None if self.association.is_over() => return None,
            None => {
                self.association.resume(self.now);
                // One on which the peer has not answered is not returned to.
                if self.before.is_none() {
                    let before = |carrier| Before { carrier, guard: None };
                    self.before = self.carrier.take().map(before);
                }
            }
        }
        self.account.carried_by(carrier.session());
        (self.carrier, self.slot, self.held) = (Some(carrier), slot, held);
        Some(guard)
    }

    fn dial_another(&self) {
        if let Some(redial) = &self.redial
            && self.association.wants_carrier()
            && self.waits_to_dial().is_none()
            && self.seat.begin_to_dial()
        {
            redial();
        }
    }

    /// When another carrier is dialled at the earliest. One that has none does not wait.
    fn waits_to_dial(&self) -> Option<Instant> {
        self.dial_after
            .filter(|after| self.association.has_carrier() && *after > self.now)
    }

    fn write_carrier(&mut self, context: &mut Context<'_>) -> bool {
        let Some(carrier) = &mut self.carrier else {
            return false;
        };
        let written = carrier.poll_write(&mut self.association, context);
        if written.is_err() {
            // A peer that has gone takes nothing, and what it said last says why: an abort is not to be called a loss.
            for _ in 0..ROUNDS {
                let Ok(true) = carrier.poll_read(&mut self.association, context, self.now) else {
                    break;
                };
            }
        }
        self.moved(written)
    }

    fn read_carrier(&mut self, context: &mut Context<'_>) -> bool {
        let Some(carrier) = &mut self.carrier else {
            return false;
        };
        let read = carrier.poll_read(&mut self.association, context, self.now);
        if self.before.is_some() && !self.association.is_resuming() {
            self.before = None;
            self.pause = BETWEEN_REFUSED / 8;
        }
        self.moved(read)
    }

    /// Reports progress. A lost carrier is waited for, unless the peer has refused this one.
    fn moved(&mut self, moved: Result<bool, Lost>) -> bool {
        let Lost { loss, detail } = match moved {
            Ok(moved) => return moved,
            Err(lost) => lost,
        };
        let refused = self.carrier.take().and_then(|carrier| {
            let refused = carrier.session().refusal()?;
            Some(Failure::refused(&self.account.peer, refused))
        });
        let failures = &self.account.shared.failure_log;
        if let Some(Before { carrier, guard }) = self.before.take()
            && self.association.return_to_carrier(self.now)
        {
            if let Some(failure) = refused {
                failures.log("an association stays on the connection that it has", &failure);
            }
            self.account.carried_by(carrier.session());
            (self.carrier, self.returned) = (Some(carrier), guard);
            self.dial_after = Some(self.now + self.pause);
            self.pause = (2 * self.pause).min(BETWEEN_REFUSED);
            return true;
        }
        match refused.filter(|failure| failure.why == Why::Peer(Reason::PeerRefused)) {
            Some(failure) => {
                self.association.carrier_refused(&failure.detail, self.now);
                failures.log("an association is aborted", &failure);
            }
            None => self.association.carrier_ended(loss, &detail, self.now),
        }
        true
    }

    /// Does what is due; whether something was.
    fn look_at_the_clock(&mut self, context: &mut Context<'_>) -> bool {
        let due = [self.association.deadline(), self.waits_to_dial()];
        let Some(deadline) = due.into_iter().flatten().min() else {
            return false;
        };
        if self.alarm.poll(deadline, context).is_pending() {
            return false;
        }
        if self.association.asks_for_acknowledgement(self.now) {
            self.ask_for_acknowledgement(self.now);
        }
        self.association.handle_timeout(self.now);
        self.notice_a_function_that_is_gone();
        true
    }
}
