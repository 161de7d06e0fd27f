//! Warnings ahead of the end of each certificate in use.

use std::collections::BTreeMap;
use std::sync::Weak;
use std::time::{Duration, SystemTime};

use tokio::time::sleep;

use bartizan_tls::OwnCertificate;

use crate::shared::Shared;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Days before the end at which it is warned of, each once.
const AHEAD: [u32; 4] = [0, 1, 7, 30];
/// Interval at which the clock is read.
const EVERY: Duration = Duration::from_secs(60);

/// Warnings of one certificate that were logged.
#[derive(Default)]
struct Reported {
    /// The end and the warning that was crossed last.
    warned: Option<(SystemTime, u32)>,
    /// The end of one that was valid. One that has ended when it is read is reported with the other
    /// faults of the files.
    was_valid: Option<SystemTime>,
}

/// Warns for as long as the sidecar exists.
pub(crate) async fn warn(shared: Weak<Shared>) {
    let mut reported = BTreeMap::<String, Reported>::new();
    while let Some(shared) = shared.upgrade() {
        let endpoint = shared.endpoint.endpoint();
        let now = SystemTime::now();
        for own in endpoint.in_use() {
            let of_file = reported.entry(own.place.to_owned()).or_default();
            of_file.look(own, now);
        }
        drop(endpoint);
        drop(shared);
        sleep(EVERY).await;
    }
}

impl Reported {
    fn look(&mut self, own: &OwnCertificate, now: SystemTime) {
        let (file, end) = (&own.place, own.not_after());
        let crossed = crossed(end, now).map(|days| (end, days));
        if let Some((_, days)) = crossed
            && self.warned != crossed
        {
            let hint = format!("renew it: {}; the new one is read by itself", own.renewal());
            match end.duration_since(now) {
                Ok(left) => {
                    let left_days = left.as_secs() / DAY.as_secs();
                    tracing::warn!(
                        file,
                        left_days,
                        hint,
                        "the certificate of this node ends within {days} days"
                    );
                }
                Err(_) if self.was_valid == Some(end) => {
                    tracing::error!(file, hint, "the certificate of this node has expired");
                }
                Err(_) => (),
            }
        }
        if now < end {
            self.was_valid = Some(end);
        }
        self.warned = crossed;
    }
}

/// The last of the warnings that is due.
fn crossed(end: SystemTime, now: SystemTime) -> Option<u32> {
    let left = end.duration_since(now).unwrap_or_default();
    AHEAD.into_iter().find(|&days| left <= DAY * days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_due_at_thirty_days_seven_one_and_the_end() {
        let end = SystemTime::UNIX_EPOCH + DAY * 1000;
        let at = |before: Duration| crossed(end, end - before);
        assert_eq!(at(DAY * 31), None);
        assert_eq!(at(DAY * 30), Some(30));
        assert_eq!(at(DAY * 7 + Duration::from_secs(1)), Some(30));
        assert_eq!(at(DAY * 7), Some(7));
        assert_eq!(at(DAY), Some(1));
        assert_eq!(at(Duration::from_secs(1)), Some(1));
        assert_eq!(at(Duration::ZERO), Some(0));
        assert_eq!(crossed(end, end + DAY), Some(0));
    }
}
