//! Failures in the log: each logged once, then summed up, so that a peer that is down does not fill the disk.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::answers::failure::{Failure, Why};

/// The same failure is logged at most this often.
const EVERY: Duration = Duration::from_secs(10);
/// Peers are from the deployment file, reasons from a fixed list; what a client asks for in vain is neither.
const KINDS_AT_MOST: usize = 1024;

/// When each peer and reason was logged last.
#[derive(Debug, Default)]
pub(crate) struct FailureLog {
    logged: Mutex<HashMap<(String, Why), Logged>>,
}

#[derive(Debug)]
struct Logged {
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

    /// Number of times it was left out since it was logged last; `None` where that was a moment
    /// ago.
    fn due(&self, failure: &Failure, now: Instant) -> Option<u64> {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (failure.peer.clone(), failure.why);
        if logged.len() >= KINDS_AT_MOST && !logged.contains_key(&key) {
            logged.retain(|_, last| now.saturating_duration_since(last.at) < EVERY);
            if logged.len() >= KINDS_AT_MOST {
                // Metrics and ledger count it.
                return None;
            }
        }
        match logged.get_mut(&key) {
            Some(last) if now.saturating_duration_since(last.at) < EVERY => {
                last.since += 1;
                None
            }
            Some(last) => {
                last.at = now;
                Some(std::mem::take(&mut last.since))
            }
            None => {
                logged.insert(key, Logged { at: now, since: 0 });
                Some(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_failure_is_summed_up_and_another_is_logged() {
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

    /// Every listener of every thread logged it twenty times a second.
    #[test]
    fn the_want_of_descriptors_is_one_failure_whatever_cannot_be_taken() {
        let (failure_log, now) = (FailureLog::default(), Instant::now());
        let untaken = |what| Failure::untaken("nrf", what, &std::io::Error::from_raw_os_error(libc::EMFILE));
        assert_eq!(failure_log.due(&untaken("inbound 10.0.0.2:7443"), now), Some(0));
        for _ in 0..200 {
            assert_eq!(failure_log.due(&untaken("outbound 127.0.0.1:8000"), now), None);
        }
        assert_eq!(failure_log.due(&untaken("a connection"), now + EVERY), Some(200));
    }

    #[test]
    fn clients_of_many_addresses_fill_no_log_and_make_no_peer_forgotten() {
        let failure_log = FailureLog::default();
        let failure = |peer: String| Failure {
            peer,
            why: Why::NoRoute,
            detail: String::new(),
            hint: String::new(),
        };
        let now = Instant::now();
        assert_eq!(failure_log.due(&failure("a".to_owned()), now), Some(0));
        let clients = (0..5000).map(|number| failure_log.due(&failure(number.to_string()), now));
        assert_eq!(clients.flatten().count(), KINDS_AT_MOST - 1);
        assert_eq!(failure_log.due(&failure("a".to_owned()), now), None);
        assert_eq!(failure_log.due(&failure("b".to_owned()), now + EVERY), Some(0));
    }
}
