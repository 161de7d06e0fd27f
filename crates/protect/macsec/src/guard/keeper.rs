//! Keeps a guard installed: it looks whenever an interface changes, and every few seconds at what is installed.

use std::thread;
use std::time::{Duration, Instant};

use bartizan_host::Error;
use bartizan_host::netlink::InterfaceChanges;

use super::{Guard, GuardState, Place};

/// Interval between checks that the guard is installed, while no interface changes.
const LOOK: Duration = Duration::from_secs(5);
/// The same after one that failed.
const AGAIN: Duration = Duration::from_secs(1);
/// Interval between checks of the stop condition.
const TURN: Duration = Duration::from_millis(100);

/// Installs a guard of this network namespace again after each loss, until `stop` says so: another
/// program removed it, a port was renamed, or one came back that was gone.
pub fn keep(guard: &Guard, stop: &dyn Fn() -> bool) {
    let changes = InterfaceChanges::subscribe();
    if let Err(error) = &changes {
        tracing::warn!(%error, "changes of interfaces are not reported: they are looked for");
    }
    let mut places = vec![Place::new(); guard.ports.len()];
    // Covers changes from before the subscription.
    let (mut changed, mut look_at) = (true, Instant::now());
    let mut unknown = None;
    loop {
        let due = look_at <= Instant::now();
        if changed || due {
            let turned = turn(guard, &mut places, due);
            match turned {
                Ok(false) => {}
                Ok(true) => look_at = Instant::now() + LOOK,
                Err(_) => look_at = Instant::now() + AGAIN,
            }
            let failed = turned.err().map(|error| error.to_string());
            if let Some(error) = failed.as_ref().filter(|_| failed != unknown) {
                tracing::error!(error, "whether the guard is installed is not known");
            }
            unknown = failed;
        }
        if stop() {
            return;
        }
        changed = match &changes {
            Ok(changes) => changes.within(TURN).unwrap_or(true),
            Err(_) => {
                thread::sleep(TURN);
                true
            }
        };
    }
}

/// Looks at the guard where it is due, or where ports are other interfaces than before; returns true
/// if it did.
fn turn(guard: &Guard, places: &mut Vec<Place>, due: bool) -> Result<bool, Error> {
    let now = guard.places()?;
    if now == *places && !due {
        return Ok(false);
    }
    say(guard, places, &now);
    *places = now;
    let why = match guard.state()? {
        GuardState::Damaged(why) => why,
        GuardState::Absent => "it was removed".to_owned(),
        // The current state is known from now on.
        GuardState::Installed(_) => return guard.close().map(|()| true),
    };
    match guard.close() {
        Ok(()) => tracing::error!(why, "the guard was not installed; it is installed again"),
        Err(error) => tracing::error!(why, %error, "the guard is not installed and cannot be installed"),
    }
    Ok(true)
}

/// Says which ports have another name, or are gone.
fn say(guard: &Guard, before: &[Place], now: &[Place]) {
    for ((port, before), now) in guard.ports.iter().zip(before).zip(now) {
        for (_, name) in now.difference(before).filter(|(_, name)| *name != port.name) {
            tracing::error!(port = %port.name, now = %name, "the port has another name: the guard follows it");
        }
        if now.is_empty() && !before.is_empty() {
            tracing::error!(port = %port.name, "the port is gone; the guard waits for it");
        }
    }
}
