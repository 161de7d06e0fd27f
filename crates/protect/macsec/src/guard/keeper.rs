//! Keeps a guard installed: it looks whenever an interface changes, and every few seconds at what is installed.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use bartizan_host::netlink::InterfaceChanges;

use super::{Guard, GuardState};

/// Interval between checks that the guard is installed, while no interface changes.
const LOOK: Duration = Duration::from_secs(5);
/// Interval between checks of the stop condition.
const TURN: Duration = Duration::from_millis(100);

/// Installs a guard of this network namespace again after each loss, until `stop` says so: another
/// program removed it, a port was renamed, or one came back that was gone.
pub fn keep(guard: &Guard, stop: &dyn Fn() -> bool) {
    let changes = InterfaceChanges::subscribe();
    if let Err(error) = &changes {
        tracing::warn!(%error, "changes of interfaces are not reported: they are looked for");
    }
    // Covers changes from before the subscription.
    let (mut looked, mut places) = (Instant::now(), guard.places());
    say(guard, &vec![BTreeSet::new(); places.len()], &places);
    look(guard);
    while !stop() {
        let changed = match &changes {
            Ok(changes) => changes.within(TURN).unwrap_or(true),
            Err(_) => {
                thread::sleep(TURN);
                true
            }
        };
        let now = if changed { guard.places() } else { places.clone() };
        if now == places && looked.elapsed() < LOOK {
            continue;
        }
        say(guard, &places, &now);
        (looked, places) = (Instant::now(), now);
        look(guard);
    }
}

/// Says which ports have another name, or are gone.
fn say(guard: &Guard, before: &[BTreeSet<(u32, String)>], now: &[BTreeSet<(u32, String)>]) {
    for ((port, before), now) in guard.ports.iter().zip(before).zip(now) {
        for (_, name) in now.difference(before).filter(|(_, name)| *name != port.name) {
            tracing::error!(port = %port.name, now = %name, "the port has another name: the guard follows it");
        }
        if now.is_empty() && !before.is_empty() {
            tracing::error!(port = %port.name, "the port is gone; the guard waits for it");
        }
    }
}

fn look(guard: &Guard) {
    let why = match guard.state() {
        Ok(GuardState::Damaged(why)) => why,
        Ok(GuardState::Absent) => "it was removed".to_owned(),
        Ok(GuardState::Installed(_)) => {
            // The current state is known from now on.
            let _ = guard.close();
            return;
        }
        Err(_) => return,
    };
    match guard.close() {
        Ok(()) => tracing::error!(why, "the guard was not installed; it is installed again"),
        Err(error) => tracing::error!(why, %error, "the guard is not installed and cannot be installed"),
    }
}
