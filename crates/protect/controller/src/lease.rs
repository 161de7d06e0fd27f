//! Leader election among several controllers: a Lease (coordination.k8s.io/v1), decided as
//! client-go decides it.
//!
//! No clock of another machine is believed. The measure is the time since, by this process's
//! monotonic time, the Lease was seen to change.

use std::time::Duration;

/// A Lease as it is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lease {
    /// Its holder; empty where it was released.
    pub holder: String,
    /// Its resourceVersion, which changes with each write.
    pub version: String,
    /// Number of times that it has changed hands.
    pub transitions: i64,
}

/// Waiting times of the election.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// A Lease that has not changed for this long is free.
    pub duration: Duration,
    /// The holder stops acting when it has not renewed for this long; shorter than `duration`.
    pub deadline: Duration,
    /// Between two attempts.
    pub retry: Duration,
}

/// Action on the Lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// There is none: create it.
    Create,
    /// Write this process as its holder, over this resourceVersion alone.
    Take {
        /// The resourceVersion.
        version: String,
        /// The number of changes of hands to write.
        transitions: i64,
    },
    /// Renew it, over this resourceVersion alone.
    Renew {
        /// The resourceVersion.
        version: String,
        /// The number of changes of hands, as it is.
        transitions: i64,
    },
    /// Another process holds it.
    Wait,
}

bartizan_registry::made! {
    /// One process's view of the Lease. Times are its monotonic time, from any beginning.
    #[derive(Debug, Clone)]
    pub struct Election,
    /// For a process of this name, which no other process has or had.
    pub new(me: &str, timing: Timing) {
        /// This process's name.
        pub me: String = me.to_owned(),
        /// Waiting times of the election.
        pub timing: Timing,
        seen: Option<(Lease, Duration)> = None,
        /// Time of the request by which it last became or stayed the holder.
        renewed: Option<Duration> = None,
    }
}

impl Default for Timing {
    /// Those of client-go.
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(15),
            deadline: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

impl Election {
    /// Takes note of the Lease as it was read; `now` is when the answer was there.
    pub fn observe(&mut self, lease: Option<&Lease>, now: Duration) {
        match lease {
            None => {
                self.seen = None;
                self.renewed = None;
            }
            Some(lease) => {
                if lease.holder != self.me {
                    self.renewed = None;
                }
                let unchanged = self.seen.as_ref().is_some_and(|(seen, _)| seen == lease);
                if !unchanged {
                    self.seen = Some((lease.clone(), now));
                }
            }
        }
    }

    /// The next action.
    #[must_use]
    pub fn step(&self, now: Duration) -> Step {
        let Some((lease, since)) = &self.seen else {
            return Step::Create;
        };
        if lease.holder == self.me {
            return Step::Renew {
                version: lease.version.clone(),
                transitions: lease.transitions,
            };
        }
        if lease.holder.is_empty() || now.saturating_sub(*since) >= self.timing.duration {
            return Step::Take {
                version: lease.version.clone(),
                transitions: lease.transitions.saturating_add(1),
            };
        }
        Step::Wait
    }

    /// A write of this process was stored as `lease`; the request was sent at `sent`, and answered at `now`.
    pub fn stored(&mut self, lease: &Lease, sent: Duration, now: Duration) {
        self.seen = Some((lease.clone(), now));
        self.renewed = (lease.holder == self.me).then_some(sent);
    }

    /// Returns true if this process may act. It is false before any other may take the Lease,
    /// whatever becomes of requests.
    #[must_use]
    pub fn is_leading(&self, now: Duration) -> bool {
        self.renewed
            .is_some_and(|renewed| now.saturating_sub(renewed) < self.timing.deadline)
    }

    /// Time until which it may act, if nothing is renewed any more.
    pub fn leading_until(&self) -> Option<Duration> {
        self.renewed.map(|renewed| renewed + self.timing.deadline)
    }

    /// The holder of the Lease as it was last read.
    pub fn holder(&self) -> Option<&str> {
        self.seen.as_ref().map(|(lease, _)| lease.holder.as_str())
    }
}
