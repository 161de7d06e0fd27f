//! State of the host's rules that redirect a network function's requests here, as far as this
//! sidecar can see.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bartizan_redirect::{self as redirect, Probed};

use crate::life::drain::{Guard, Phase};
use crate::metrics::Metrics;
use crate::runtime::until::until;

/// State of redirect and guard when they were last seen.
#[derive(Debug, Default)]
pub(crate) struct Rules(Mutex<Seen>);

#[derive(Debug, Clone, Copy, Default)]
enum Seen {
    /// No listener is transparent: nothing is led here.
    #[default]
    NotNeeded,
    /// The first answer is awaited.
    Awaited,
    /// The last answer; none where the question could not be asked.
    Answered(Option<Probed>),
}

impl Rules {
    /// Watches the rules until draining begins where these listeners are transparent. Without any, nothing is watched.
    ///
    /// The rules are asked for through a listener, which draining closes: an answer after that is none about them.
    pub(crate) fn watch(self: &Arc<Self>, transparent: &[SocketAddr], metrics: &Metrics, mut guard: Guard) {
        let Some(listener) = redirect::probed(transparent.iter().copied()) else {
            return;
        };
        self.set(Seen::Awaited);
        let (this, metrics) = (Arc::clone(self), metrics.clone());
        tokio::spawn(async move {
            let watching = redirect::watch(listener, redirect::EVERY, move |answer| {
                metrics.rules_installed("redirect", answer.is_some_and(|probed| probed.redirect));
                metrics.rules_installed("guard", answer.is_some_and(|probed| probed.guard));
                metrics.rules_installed("compared", answer.is_some_and(|probed| probed.compared));
                this.set(Seen::Answered(answer));
            });
            until(watching, guard.reached(Phase::Draining)).await;
        });
    }

    fn set(&self, seen: Seen) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }

    fn seen(&self) -> Seen {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why what the network function sends may go astray, where it may.
    pub(crate) fn ready(&self) -> Result<(), &'static str> {
        match self.seen() {
            Seen::NotNeeded => Ok(()),
            Seen::Answered(Some(probed)) if probed.installed() => Ok(()),
            Seen::Awaited => Err("redirect and guard are being checked"),
            Seen::Answered(None) => Err("redirect and guard cannot be checked"),
            Seen::Answered(Some(Probed { guard: false, .. })) => Err("the guard is not installed"),
            Seen::Answered(Some(Probed { redirect: false, .. })) => Err("the redirect is not installed"),
            Seen::Answered(Some(_)) => Err("the rules are not what the file asks for, or are compared with it no more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prometheus_client::registry::Registry;
    use tokio::time::timeout;

    use super::*;
    use crate::life::drain::Drain;

    /// A drain of more than a second logged an error on rules that were as they should be: their listener had been closed.
    #[tokio::test]
    async fn the_rules_are_not_asked_for_through_a_listener_that_draining_has_closed() {
        let (rules, drain) = (Arc::new(Rules::default()), Drain::new());
        let metrics = Metrics::new(&mut Registry::default(), "0", "none");
        rules.watch(&["127.0.0.1:15001".parse().unwrap()], &metrics, drain.guard());
        drain.advance(Phase::Draining);
        // It is waited for, so it must end by itself.
        timeout(Duration::from_secs(30), drain.done()).await.unwrap();
    }

    #[test]
    fn ready_where_both_stand_or_nothing_is_led_here() {
        let rules = Rules::default();
        assert_eq!(rules.ready(), Ok(()));
        let changed = "the rules are not what the file asks for, or are compared with it no more";
        for (redirect, guard, compared, reason) in [
            (true, true, true, Ok(())),
            (true, true, false, Err(changed)),
            (false, true, true, Err("the redirect is not installed")),
            (true, false, false, Err("the guard is not installed")),
            (false, false, false, Err("the guard is not installed")),
        ] {
            let probed = Probed {
                redirect,
                guard,
                compared,
            };
            rules.set(Seen::Answered(Some(probed)));
            assert_eq!(rules.ready(), reason);
        }
        rules.set(Seen::Answered(None));
        assert!(rules.ready().is_err());
    }
}
