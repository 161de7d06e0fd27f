//! The guard while a command stays: noticed when it goes, and put back.

use std::thread;
use std::time::{Duration, Instant};

use bartizan_ipsec::guard::{Guard, GuardState};
use bartizan_ipsec::{Kernel, Metrics};

/// Interval of comparing it with its intended state.
const GUARD: Duration = Duration::from_secs(1);

/// Interval of checks for the end in between.
const TURN: Duration = Duration::from_millis(100);

/// Says when the guard goes or is changed, as when a firewall is loaded anew, and when it is back; installs it again where `keep` says so.
/// One that was never installed is nobody's loss, and rules of another state of the file are left: perhaps they are of a newer one.
pub(super) fn keep(guard: &Guard, keep: &dyn Fn() -> Option<Kernel>, metrics: &Metrics, stop: &dyn Fn() -> bool) {
    let (mut stood, mut lost, mut looked) = (false, false, None::<Instant>);
    let mut monitor = guard.monitor();
    while !stop() {
        if looked.is_none_or(|looked| looked.elapsed() >= GUARD) {
            looked = Some(Instant::now());
            let state = monitor.look();
            let mut stands = matches!(state, Ok(GuardState::Installed(..)));
            if let Ok(GuardState::Installed(_, dropped)) = &state {
                metrics.guard_dropped(dropped);
            }
            let how = match &state {
                Ok(GuardState::Absent) => Some("gone".to_owned()),
                Ok(GuardState::Damaged(differences)) => Some(format!("changed: {}", differences.join("; "))),
                _ => None,
            };
            lost = (lost || stood) && how.is_some();
            let how = how.unwrap_or_else(|| "not that of this file, or cannot be read".to_owned());
            match lost.then(keep).flatten() {
                Some(esp) => {
                    stands = restored(guard, esp, metrics, stood, &how);
                    lost = !stands;
                }
                None if stood && !stands => {
                    let hint = "`bartizan guard install` installs it again, without a pause for SAs";
                    tracing::error!(
                        hint,
                        guard = how,
                        "the guard was lost: what finds no SA may leave unencrypted"
                    );
                    lost = false;
                }
                None if stands && !stood => tracing::info!("the guard is installed: what finds no SA is dropped"),
                None => lost = false,
            }
            metrics.guarded(stands);
            stood = stands;
        }
        thread::sleep(TURN);
    }
}

/// Installs a guard that was lost; says so, or why not, once.
fn restored(guard: &Guard, esp: Kernel, metrics: &Metrics, stood: bool, how: &str) -> bool {
    match guard.close(esp) {
        Ok(()) => {
            metrics.guard_restored();
            let hint = "a program that flushes nftables or XFRM on this host should leave what is called bartizan";
            tracing::error!(
                hint,
                guard = how,
                "the guard was lost and is installed again: what found no SA in the last second may have left unencrypted"
            );
            true
        }
        Err(error) => {
            if stood {
                tracing::error!(%error, guard = how, "the guard was lost and cannot be installed again; trying on");
            }
            false
        }
    }
}
