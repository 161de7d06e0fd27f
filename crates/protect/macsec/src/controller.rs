//! All links of a node on one thread.

use std::os::fd::AsFd as _;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use bartizan_host::clock;
use bartizan_ledger::Recorder;
use bartizan_tls::Endpoint;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::Error;
use crate::control::{Answer, Control, Question};
use crate::link::{Link, Setting, Status};

/// Interval between attempts at a link whose port is gone, and between checks of the stop
/// condition.
const AGAIN: Duration = Duration::from_secs(1);
const TURN: Duration = Duration::from_millis(100);

bartizan_registry::made! {
    /// All links of a node.
    #[derive(Debug)]
    pub struct Controller,
    /// Opens every link; those that cannot be opened now are tried again. `endpoint` is what
    /// exchanges need, where a link has any.
    pub new(settings: Vec<Setting>, endpoint: impl Into<Option<Endpoint>>, recorder: Recorder) {
        let endpoint = endpoint.into();
        let now = clock::now();
        let open = |setting| open(setting, endpoint.as_ref(), &recorder, now);
        let links = settings.into_iter().map(open).collect();
        endpoint: Option<Endpoint>,
        /// Others that take its place, once files have changed.
        reloaded: Option<Receiver<Endpoint>> = None,
        recorder: Recorder,
        links: Vec<Slot>,
    }
}

/// A link, or why there is none.
#[derive(Debug)]
enum Slot {
    Open {
        link: Box<Link>,
        next: Instant,
    },
    Closed {
        setting: Box<Setting>,
        error: Error,
        again: Instant,
        /// The authentication before, whose keys are in the kernel until they end.
        left: Option<Box<Link>>,
    },
}

impl Controller {
    /// Takes endpoints that follow the first: standing links are judged by the latest.
    #[must_use]
    pub fn reloading(mut self, reloaded: Receiver<Endpoint>) -> Self {
        self.reloaded = Some(reloaded);
        self
    }

    /// The first link that could not be opened, with the reason.
    #[must_use]
    pub fn trouble(&self) -> Option<(&str, &Error)> {
        self.links.iter().find_map(|slot| match slot {
            Slot::Open { .. } => None,
            Slot::Closed { setting, error, .. } => Some((setting.name.as_str(), error)),
        })
    }

    /// State of the links, in the order of the file.
    pub fn status(&self) -> Vec<Status> {
        let now = clock::now();
        let of = |slot: &Slot| match slot {
            Slot::Open { link, .. } => link.status(now),
            Slot::Closed { setting, error, .. } => Status::closed(setting, error),
        };
        self.links.iter().map(of).collect()
    }

    /// Serves the links until `stop` says so, or a client asks for the end: then the links are
    /// taken down. If it is stopped, devices and keys stay: frames pass, and a successor takes
    /// over. `each` sees the state of the links after each change.
    pub fn run(mut self, control: Option<&Control>, stop: &dyn Fn() -> bool, each: &mut dyn FnMut(&[Status])) {
        let mut seen = Vec::new();
        while !stop() {
            let now = clock::now();
            let mut wake = now + TURN;
            self.reload(now);
            for slot in &mut self.links {
                wake = wake.min(slot.turn(self.endpoint.as_ref(), &self.recorder, now));
            }
            let known = self.links.iter().map(Slot::known).collect::<Vec<_>>();
            if known != seen {
                seen = known;
                each(&self.status());
            }
            let asked = control.and_then(|control| control.answer(&mut |question| self.answer(question)));
            if asked == Some(Question::End) {
                return self.take_down();
            }
            if asked.is_none() {
                self.wait(control, wake.saturating_duration_since(clock::now()));
            }
        }
    }

    fn reload(&mut self, now: Instant) {
        let Some(endpoint) = self.reloaded.as_ref().and_then(|reloaded| reloaded.try_iter().last()) else {
            return;
        };
        for slot in &mut self.links {
            match slot {
                Slot::Open { link, next } => {
                    link.reloaded(&endpoint, now);
                    *next = now;
                }
                Slot::Closed { left: Some(link), .. } => link.reloaded(&endpoint, now),
                Slot::Closed { left: None, .. } => {}
            }
        }
        self.endpoint = Some(endpoint);
    }

    fn answer(&mut self, question: Question) -> Answer {
        if let Question::Rekey { fresh } = question {
            let now = clock::now();
            for slot in &mut self.links {
                if let Slot::Open { link, next } = slot {
                    link.rekey(fresh, now);
                    *next = now;
                }
            }
        }
        Answer { links: self.status() }
    }

    /// Waits until a frame comes, a client asks, or the time is over.
    fn wait(&mut self, control: Option<&Control>, most: Duration) {
        // Rounded up: a wait that ends too early is a turn for nothing.
        let most = most.as_millis().saturating_add(u128::from(!most.is_zero()));
        let timeout = PollTimeout::try_from(most).unwrap_or(PollTimeout::MAX);
        let listener = control.map(|control| control.listener.as_fd());
        let sockets = self.links.iter().filter_map(|slot| match slot {
            Slot::Open { link, .. } => Some(link.socket()?.as_fd()),
            Slot::Closed { .. } => None,
        });
        let mut descriptors: Vec<_> = listener
            .into_iter()
            .chain(sockets)
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
            .collect();
        // A signal ends the wait: what is to be done then is looked for anyway.
        let _ = poll(&mut descriptors, timeout);
        let ready: Vec<bool> = descriptors.iter().map(|one| one.any().unwrap_or(true)).collect();
        drop(descriptors);
        let mut ready = ready.into_iter().skip(usize::from(control.is_some()));
        let now = clock::now();
        for slot in &mut self.links {
            if let Slot::Open { link, next } = slot
                && link.socket().is_some()
                && ready.next() == Some(true)
            {
                *next = now;
            }
        }
    }

    fn take_down(self) {
        for slot in self.links {
            match slot {
                Slot::Open { link, .. } | Slot::Closed { left: Some(link), .. } => take_down(*link),
                Slot::Closed { left: None, .. } => {}
            }
        }
    }
}

fn take_down(link: Link) {
    let name = link.setting.name.clone();
    if let Err(error) = link.take_down() {
        tracing::error!(link = %name, %error, "the device stays");
    }
}

fn open(setting: Setting, endpoint: Option<&Endpoint>, recorder: &Recorder, now: Instant) -> Slot {
    match Link::open(setting.clone(), endpoint, recorder, now) {
        Ok(link) => Slot::Open {
            link: Box::new(link),
            next: now,
        },
        Err(error) => Slot::Closed {
            setting: Box::new(setting),
            error,
            again: now + AGAIN,
            left: None,
        },
    }
}

impl Slot {
    /// Does what is due; says when there is more.
    fn turn(&mut self, endpoint: Option<&Endpoint>, recorder: &Recorder, now: Instant) -> Instant {
        match self {
            Self::Open { next, .. } if *next > now => *next,
            Self::Open { link, next } => match link.turn(now) {
                Ok(at) => {
                    *next = at;
                    at
                }
                Err(error) => {
                    let hint = error.hint().unwrap_or_default();
                    tracing::error!(link = %link.setting.name, %error, hint, "the link is gone; it is tried again");
                    let setting = Box::new(link.setting.clone());
                    let again = now + AGAIN;
                    let closed = Self::Closed {
                        setting,
                        error,
                        again,
                        left: None,
                    };
                    let before = std::mem::replace(self, closed);
                    if let (Self::Open { link, .. }, Self::Closed { left, .. }) = (before, self) {
                        *left = Some(link);
                    }
                    again
                }
            },
            Self::Closed { again, .. } if *again > now => *again,
            Self::Closed { setting, left, .. } => {
                let mut before = left.take();
                if let Some(left) = &mut before {
                    left.end_in_time(now);
                }
                *self = open((**setting).clone(), endpoint, recorder, now);
                match (self, before) {
                    (Self::Open { link, .. }, Some(before)) => link.follow_on(*before),
                    (Self::Closed { left, .. }, before) => *left = before,
                    (Self::Open { .. }, None) => {}
                }
                now
            }
        }
    }

    /// The part of the state whose changes are reported.
    fn known(&self) -> (bool, bool, u64, u64, Option<String>) {
        match self {
            Self::Open { link, .. } => link.known(),
            Self::Closed { error, .. } => (false, false, 0, 0, Some(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests;
