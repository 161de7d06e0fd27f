//! Noticing that rules are gone while the sidecar runs.

use std::net::SocketAddrV4;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::probe::{Probed, probe};

/// Interval between two probes of the rules: four connections over loopback each time.
pub const EVERY: Duration = Duration::from_secs(1);

/// Probes the rules through the transparent listener `listener` again and again, calls `changed` with the first answer and with
/// each that differs from the one before, and logs it. `None` is a question that could not be asked. It never ends.
pub async fn watch(listener: SocketAddrV4, every: Duration, mut changed: impl FnMut(Option<Probed>)) {
    let mut last = None;
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let answer = match probe(listener).await {
            Ok(probed) => Some(probed),
            Err(error) => {
                tracing::debug!(%error, "the rules could not be asked for");
                None
            }
        };
        if last == Some(answer) {
            continue;
        }
        last = Some(answer);
        log(answer);
        changed(answer);
    }
}

fn log(answer: Option<Probed>) {
    const HINT: &str = "run `bartizan sidecar redirect show` and `install` on this host as root";
    match answer {
        Some(probed) if probed.installed() => tracing::info!("redirect and guard are installed"),
        Some(Probed {
            redirect: true,
            guard: true,
            compared: false,
        }) => tracing::error!(
            hint = "`bartizan sidecar redirect show` names each difference; `redirect watch` compares and repairs",
            "the rules are not what the file asks for, or are compared with it no more: requests may leave unencrypted"
        ),
        Some(Probed {
            redirect, guard: true, ..
        }) => {
            tracing::error!(
                redirect,
                guard = true,
                hint = HINT,
                "the redirect is gone: requests to peers are refused"
            );
        }
        Some(Probed {
            redirect, guard: false, ..
        }) => {
            tracing::error!(
                redirect,
                guard = false,
                hint = HINT,
                "the guard is gone: requests may leave unencrypted"
            );
        }
        None => tracing::error!(hint = HINT, "redirect and guard cannot be checked"),
    }
}
