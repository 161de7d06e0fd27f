//! Whether the host's rules stand that lead a network function's requests here, as far as this sidecar can tell.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::metrics::Metrics;
use crate::redirect::{self, Probed};

/// What was last seen of redirect and guard.
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
    /// Watches the rules from now on where these listeners are transparent. Without any, nothing is watched.
    pub(crate) fn watch(self: &Arc<Self>, transparent: &[SocketAddr], metrics: &Metrics) {
        let Some(listener) = redirect::probed(transparent.iter().copied()) else {
            return;
        };
        self.set(Seen::Awaited);
        let (this, metrics) = (Arc::clone(self), metrics.clone());
        tokio::spawn(redirect::watch(listener, redirect::EVERY, move |answer| {
            metrics.rules_standing("redirect", answer.is_some_and(|probed| probed.redirect));
            metrics.rules_standing("guard", answer.is_some_and(|probed| probed.guard));
            this.set(Seen::Answered(answer));
        }));
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
            Seen::Answered(Some(probed)) if probed.stands() => Ok(()),
            Seen::Awaited => Err("whether redirect and guard stand is being asked"),
            Seen::Answered(None) => Err("whether redirect and guard stand cannot be told"),
            Seen::Answered(Some(Probed { guard: false, .. })) => Err("the guard does not stand"),
            Seen::Answered(Some(_)) => Err("the redirect does not stand"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_where_both_stand_or_nothing_is_led_here() {
        let rules = Rules::default();
        assert_eq!(rules.ready(), Ok(()));
        for (redirect, guard, reason) in [
            (true, true, Ok(())),
            (false, true, Err("the redirect does not stand")),
            (true, false, Err("the guard does not stand")),
            (false, false, Err("the guard does not stand")),
        ] {
            rules.set(Seen::Answered(Some(Probed { redirect, guard })));
            assert_eq!(rules.ready(), reason);
        }
        rules.set(Seen::Answered(None));
        assert!(rules.ready().is_err());
    }
}
