//! From running to stopped: who still works, and when it must stop.

use std::sync::Arc;

use tokio::sync::watch;

/// Phase of shutting down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Everything is served.
    Running,
    /// Listeners close. Connections are served as before, so that no client opens another one at a
    /// listener that is about to close.
    Refusing,
    /// Nothing new is accepted; what is under way ends well.
    Draining,
    /// Remaining connections are closed.
    Closing,
}

bartizan_registry::made! {
    /// Has all connections of a sidecar end, and knows when they have.
    #[derive(Debug, Clone)]
    pub(crate) struct Drain, pub(crate) new() {
        phase: Arc<watch::Sender<Phase>> = Arc::new(watch::Sender::new(Phase::Running)),
        succeeded: Arc<watch::Sender<bool>> = Arc::new(watch::Sender::new(false)),
        /// Its receivers are held by listeners until they are closed.
        listeners: Arc<watch::Sender<()>> = Arc::new(watch::Sender::new(())),
    }
}

/// Held by each task that must be waited for.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    phase: watch::Receiver<Phase>,
    /// The phase of one connection, which may have to end before the others.
    own: Option<watch::Receiver<Phase>>,
}

impl Drain {
    pub(crate) fn guard(&self) -> Guard {
        Guard {
            phase: self.phase.subscribe(),
            own: None,
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// Another process serves in its place.
    pub(crate) fn succeed(&self) {
        self.succeeded.send_replace(true);
    }

    pub(crate) fn has_succeeded(&self) -> bool {
        *self.succeeded.borrow()
    }

    /// Ends when another process serves in its place.
    pub(crate) async fn succeeded(&self) {
        let mut succeeded = self.succeeded.subscribe();
        if succeeded.wait_for(|succeeded| *succeeded).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Number of guards that are held.
    pub(crate) fn held(&self) -> usize {
        self.phase.receiver_count()
    }

    /// Moves on; never back.
    pub(crate) fn advance(&self, to: Phase) {
        self.phase.send_if_modified(|phase| {
            let forward = to > *phase;
            if forward {
                *phase = to;
            }
            forward
        });
    }

    /// Held by a listener as long as it is open.
    pub(crate) fn listens(&self) -> watch::Receiver<()> {
        self.listeners.subscribe()
    }

    /// Ends when every listener is closed.
    pub(crate) async fn refuses(&self) {
        self.listeners.closed().await;
    }

    /// Ends when every guard is gone.
    pub(crate) async fn done(&self) {
        self.phase.closed().await;
    }
}

impl Guard {
    /// Ends when the phase is reached, or the sidecar is gone.
    pub(crate) async fn reached(&mut self, phase: Phase) {
        let own = async {
            let reached = match &mut self.own {
                Some(own) => own.wait_for(|now| *now >= phase).await.is_ok(),
                None => false,
            };
            if !reached {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            // An error means that the sender is gone, which is the end in any case.
            _ = self.phase.wait_for(|now| *now >= phase) => {}
            () = own => {}
        }
    }

    /// Also reaches the phases of one connection.
    pub(crate) fn join(&mut self, own: watch::Receiver<Phase>) {
        self.own = Some(own);
    }

    /// Reports that this one connection has to end.
    pub(crate) fn is_dismissed(&self) -> bool {
        self.own.as_ref().is_some_and(|own| *own.borrow() > Phase::Running)
    }

    pub(crate) fn phase(&self) -> Phase {
        let own = self.own.as_ref().map_or(Phase::Running, |own| *own.borrow());
        own.max(*self.phase.borrow())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::until::until;

    /// Clients that must leave connect again at once: at a listener that closes their
    /// connections were reset.
    #[tokio::test]
    async fn listeners_are_closed_before_clients_have_to_leave() {
        let drain = Drain::new();
        let (mut listener, mut serving, open) = (drain.guard(), drain.guard(), drain.listens());
        drain.advance(Phase::Refusing);
        listener.reached(Phase::Refusing).await;
        assert!(until(drain.refuses(), async {}).await.is_none());
        assert!(until(serving.reached(Phase::Draining), async {}).await.is_none());
        drop(open);
        drain.refuses().await;
    }

    #[tokio::test]
    async fn draining_is_over_when_the_last_guard_is_gone() {
        let drain = Drain::new();
        let mut guard = drain.guard();
        drain.advance(Phase::Draining);
        guard.reached(Phase::Draining).await;
        assert_eq!(drain.held(), 1);
        drain.advance(Phase::Running);
        assert_eq!(guard.phase(), Phase::Draining);
        drop(guard);
        drain.done().await;
    }
}
