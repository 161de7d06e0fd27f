//! Remaining validity of a node's own certificate and revocation lists: warns early of a
//! re-authentication failure months from now.

use std::thread;
use std::time::{Duration, Instant, SystemTime};

use bartizan_ipsec::Metrics;
use bartizan_ipsec::render::Credentials;

use super::node::IpsecHost;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Days before its end at which a certificate is warned of, each once.
const AHEAD: [u32; 4] = [0, 1, 7, 30];

/// Interval of checking the clock, and of checking for the end in between.
const EVERY: Duration = Duration::from_secs(60);
const TURN: Duration = Duration::from_millis(200);

/// Warns, and counts down in the metrics, until `stop` says so. Files that are renewed are loaded
/// by the `up` that stays, or the next one.
pub(super) fn keep_an_eye(host: &IpsecHost, metrics: &Metrics, stop: &dyn Fn() -> bool) {
    let (mut warned, mut looked, mut ends) = (None, None::<Instant>, None);
    while !stop() {
        if looked.is_none_or(|looked| looked.elapsed() >= EVERY) {
            looked = Some(Instant::now());
            // Files that cannot be read now were said when they were loaded.
            if let Ok(credentials) = Credentials::read(&host.files) {
                let (end, lists) = (credentials.not_after(), credentials.lists_due());
                metrics.not_after(end, lists);
                ends = end;
            }
        }
        // The end itself is reported when it comes.
        if let Some(end) = ends {
            warn(end, &mut warned);
        }
        thread::sleep(TURN);
    }
}

fn warn(end: SystemTime, warned: &mut Option<(SystemTime, u32)>) {
    let now = SystemTime::now();
    let crossed = crossed(end, now).map(|days| (end, days));
    if let Some((_, days)) = crossed
        && *warned != crossed
    {
        let hint = "`bartizan ca renew NAME` makes another; `bartizan up` loads it";
        match end.duration_since(now) {
            Ok(left) => {
                let left_days = left.as_secs() / DAY.as_secs();
                let days = match days {
                    1 => "a day".to_owned(),
                    days => format!("{days} days"),
                };
                tracing::warn!(left_days, hint, "the certificate of this node ends within {days}");
            }
            Err(_) => {
                tracing::error!(
                    hint,
                    "the certificate of this node has expired: peers refuse the next re-authentication"
                );
            }
        }
    }
    *warned = crossed;
}

/// The last of the warnings that is due.
fn crossed(end: SystemTime, now: SystemTime) -> Option<u32> {
    let left = end.duration_since(now).unwrap_or_default();
    AHEAD.into_iter().find(|&days| left <= DAY * days)
}
