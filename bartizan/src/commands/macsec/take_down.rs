//! `bartizan down` for MACsec links: controller and devices go, the guard stays.

use std::thread;
use std::time::{Duration, Instant};

use bartizan_macsec::Error;
use bartizan_macsec::control::Question;
use bartizan_macsec::kernel::{Interface, SecY, under};
use bartizan_macsec::link::Setting;
use bartizan_macsec::mka::Supplicant;
use bartizan_registry::object;

use super::report::Guarded;
use super::{MacsecHost, failed, guard_failed};
use crate::commands::show;
use crate::{Failure, Outcome};

/// Timeout of a controller's end.
const END: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);

/// Ends the controller and removes the devices; with `unguard`, the guard too.
pub(crate) fn run(host: &MacsecHost, unguard: bool, json: bool) -> Result<Outcome, Failure> {
    let controller = host.ask(Question::End)?.is_some();
    let deadline = Instant::now() + END;
    let mut first = None;
    for setting in &host.settings {
        // The controller removes them as it ends; without one they are what a predecessor left.
        // A device that goes while it is looked at is an error of that look alone.
        while controller && !matches!(left(setting), Ok(None)) && Instant::now() < deadline {
            thread::sleep(LOOK);
        }
        if setting.mka.is_some() {
            Supplicant::end_left(&host.directory, &setting.port);
        }
        // A device that stays does not keep those of other links.
        let removed = left(setting).and_then(|secy| secy.map_or(Ok(()), |secy| secy.remove()));
        first = first.or(removed.err());
    }
    if let Some(error) = first {
        return Err(failed(&error));
    }
    let guard = host.guard();
    if unguard {
        guard.open().map_err(|error| guard_failed(&error))?;
    }
    let down = object!(Down {
        schema: super::report::SCHEMA,
        node: host.node.clone(),
        // Links whose devices are gone.
        links: host
            .settings
            .iter()
            .map(|setting| setting.name.clone())
            .collect::<Vec<_>>(),
        // True if a controller ran.
        controller,
        guard: Guarded::of(&guard),
    });
    let names = down.links.join(", ");
    let text = || format!("{names}: down, keys and devices are removed\n{}\n", down.guard.text());
    show(&down, json, text, true)
}

/// The device of a link, where it is there.
fn left(setting: &Setting) -> Result<Option<SecY>, Error> {
    // One that was renamed is found by the device.
    let port = match Interface::find(&setting.port)? {
        None => under(&setting.device)?,
        port => port,
    };
    port.map_or(Ok(None), |port| SecY::open(&setting.device, &port))
}
