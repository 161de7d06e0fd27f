//! Handover of carriers to associations.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use bartizan_gateway::{Resume, Token};
use tokio::sync::mpsc;

use crate::life::drain::Guard;
use crate::listening::admission::{Bound, Slot};

/// A connection over which an association can continue.
pub(crate) struct Next<C> {
    pub(super) carrier: C,
    pub(super) guard: Guard,
    /// Its place at an inbound listener.
    pub(super) slot: Option<Slot>,
    /// The wish of the peer that has begun it; none where it was dialled from here.
    pub(super) resume: Option<Resume>,
    /// Keeps the socket of its listener until the association is handed over.
    pub(super) held: Option<mpsc::Sender<Infallible>>,
}

/// Place where an association finds its next carrier.
pub(crate) struct Seat<C>(Mutex<State<C>>);

struct State<C> {
    next: Option<Next<C>>,
    /// One is being dialled.
    dialling: bool,
    /// The association is another process's.
    closed: bool,
    waker: Option<Waker>,
}

impl<C> Default for Seat<C> {
    fn default() -> Self {
        Self(Mutex::new(State {
            next: None,
            dialling: false,
            closed: false,
            waker: None,
        }))
    }
}

impl<C> Seat<C> {
    fn lock(&self) -> MutexGuard<'_, State<C>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the association a carrier. Only the latest is of use.
    pub(super) fn put(&self, next: Next<C>) {
        let mut state = self.lock();
        if state.closed {
            return drop((state, next));
        }
        let before = state.next.replace(next);
        state.dialling = false;
        let waker = state.waker.take();
        drop(state);
        drop(before);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes no carrier any more.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let next = state.next.take();
        drop((state, next));
    }

    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<Next<C>> {
        let mut state = self.lock();
        if let Some(next) = state.next.take() {
            return Poll::Ready(next);
        }
        if !state
            .waker
            .as_ref()
            .is_some_and(|known| known.will_wake(context.waker()))
        {
            state.waker = Some(context.waker().clone());
        }
        Poll::Pending
    }

    /// Claims the dialling of a carrier; false where one is there or on its way.
    pub(super) fn begin_to_dial(&self) -> bool {
        let mut state = self.lock();
        let begins = !state.dialling && state.next.is_none();
        state.dialling |= begins;
        begins
    }
}

/// The peer that opened an association, the function behind its listener, and the number that the
/// peer gave it.
type Name = (String, SocketAddr, Token);

/// The associations that peers have opened over carriers of one kind. Only its own peer finds one.
pub(crate) struct Seats<C>(Mutex<HashMap<Name, Weak<Seat<C>>>>);

impl<C> Default for Seats<C> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<C> std::fmt::Debug for Seats<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seats").finish_non_exhaustive()
    }
}

/// Largest numbers of associations behind a listener.
#[derive(Debug, Clone, Copy)]
pub(super) struct Most {
    pub(super) of_peer: usize,
    pub(super) all: usize,
}

/// Why an association is not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unseated {
    /// Its peer has one of this number.
    Known,
    TooMany(Bound),
}

impl Unseated {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Known => "the peer has an association of this number",
            Self::TooMany(Bound::Connections) => "the listener has as many associations as it may",
            Self::TooMany(_) => "the peer has as many associations with this listener as one peer may",
        }
    }
}

/// An association that its peer can find, until this is dropped.
pub(super) struct Found<'a, C> {
    seats: &'a Seats<C>,
    name: Name,
}

impl<C> Seats<C> {
    fn lock(&self) -> MutexGuard<'_, HashMap<Name, Weak<Seat<C>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the peer find an association.
    ///
    /// # Errors
    /// Fails if the peer has one of this number, or the function behind the listener as many as it may.
    pub(super) fn add(
        &self,
        peer: &str,
        forward: SocketAddr,
        token: Token,
        seat: &Arc<Seat<C>>,
        most: Most,
    ) -> Result<Found<'_, C>, Unseated> {
        let name = (peer.to_owned(), forward, token);
        let mut known = self.lock();
        if known.contains_key(&name) {
            return Err(Unseated::Known);
        }
        let (mut of_peer, mut all) = (0, 0);
        for (other, ..) in known.keys().filter(|(_, at, _)| *at == forward) {
            all += 1;
            of_peer += usize::from(other == peer);
        }
        if of_peer >= most.of_peer {
            return Err(Unseated::TooMany(Bound::ConnectionsOfOnePeer));
        }
        if all >= most.all {
            return Err(Unseated::TooMany(Bound::Connections));
        }
        known.insert(name.clone(), Arc::downgrade(seat));
        Ok(Found { seats: self, name })
    }

    /// The association of this number that this peer has opened to this function.
    pub(super) fn find(&self, peer: &str, forward: SocketAddr, token: Token) -> Option<Arc<Seat<C>>> {
        self.lock().get(&(peer.to_owned(), forward, token))?.upgrade()
    }
}

impl<C> Drop for Found<'_, C> {
    fn drop(&mut self) {
        self.seats.lock().remove(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_association_is_found_by_its_own_peer_at_its_own_listener_alone() {
        let seats = Seats::<()>::default();
        let at = |port| SocketAddr::from(([127, 0, 0, 5], port));
        let (token, seat) = (Token([1; 16]), Arc::default());
        let add = |peer, port, token| seats.add(peer, at(port), token, &seat, Most { of_peer: 2, all: 3 });
        let found = add("gnb", 38_412, token);
        assert_eq!(add("gnb", 38_412, token).err(), Some(Unseated::Known));
        assert!(seats.find("gnb", at(38_412), token).is_some());
        assert!(seats.find("gnb2", at(38_412), token).is_none());
        assert!(seats.find("gnb", at(36_421), token).is_none());
        assert!(seats.find("gnb", at(38_412), Token([2; 16])).is_none());
        drop(found);
        assert!(seats.find("gnb", at(38_412), token).is_none());

        let number = |number| Token([number; 16]);
        let mut held = Vec::new();
        held.extend([1, 2].map(|token| add("gnb", 38_412, number(token)).ok()));
        let many = |bound| Some(Unseated::TooMany(bound));
        assert_eq!(add("gnb", 38_412, number(3)).err(), many(Bound::ConnectionsOfOnePeer));
        held.push(add("gnb", 36_421, number(3)).ok());
        held.push(add("gnb2", 38_412, number(3)).ok());
        assert_eq!(add("gnb2", 38_412, number(4)).err(), many(Bound::Connections));
        held.clear();
        assert!(add("gnb2", 38_412, number(4)).is_ok());
    }
}
