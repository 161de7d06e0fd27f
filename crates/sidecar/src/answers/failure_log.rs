//! Failures in the log: each said once, then summed up, so that a peer that is down does not fill the disk.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::answers::failure::{Failure, Why};

/// The same complaint is repeated at most this often.
const EVERY: Duration = Duration::from_secs(10);
/// Peers are from the deployment file, reasons from a fixed list; what a client asks for in vain is neither.
const KINDS_AT_MOST: usize = 1024;

/// What was last said of each peer and reason.
#[derive(Debug, Default)]
pub(crate) struct FailureLog {
    said: Mutex<HashMap<(String, Why), Said>>,
}

#[derive(Debug)]
struct Said {
    at: Instant,
    since: u64,
}

impl FailureLog {
    /// Logs a failure with its hint, unless the same was logged within the last seconds.
    pub(crate) fn log(&self, what: &str, failure: &Failure) {
        let Some(repeated) = self.due(failure, Instant::now()) else {
            return;
        };
        let reason = failure.why.as_str();
        tracing::warn!(peer = %failure.peer, reason, detail = %failure.detail, hint = %failure.hint, repeated, "{what}");
    }

    /// How often it was left unsaid since it was last said; `None` where it was said a moment ago.
    fn due(&self, failure: &Failure, now: Instant) -> Option<u64> {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.len() >= KINDS_AT_MOST {
            said.clear();
        }
        let key = (failure.peer.clone(), failure.why);
        match said.get_mut(&key) {
            Some(last) if now.saturating_duration_since(last.at) < EVERY => {
                last.since += 1;
                None
            }
            Some(last) => {
                last.at = now;
                Some(std::mem::take(&mut last.since))
            }
            None => {
                said.insert(key, Said { at: now, since: 0 });
                Some(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_complaint_is_summed_up_and_another_is_not_held_back() {
        let failure_log = FailureLog::default();
        let failure = |peer: &str| Failure {
            peer: peer.into(),
            why: Why::NoRoute,
            detail: String::new(),
            hint: String::new(),
        };
        let now = Instant::now();
        assert_eq!(failure_log.due(&failure("a"), now), Some(0));
        assert_eq!(failure_log.due(&failure("a"), now), None);
        assert_eq!(failure_log.due(&failure("b"), now), Some(0));
        assert_eq!(failure_log.due(&failure("a"), now + EVERY), Some(1));
    }
}
