//! The guard looked at again and again: in full where anything has changed, and by the kernel's word that nothing has where it gives one.

use std::time::{Duration, Instant};

use bartizan_host::{Error, nftables};

use super::{By, Guard, GuardState, Known};

/// Interval of full comparisons, whatever the kernel reports.
const IN_FULL: Duration = Duration::from_secs(60);

/// Periodic check of a guard.
#[derive(Debug)]
pub struct GuardMonitor<'a> {
    guard: &'a Guard,
    installed: Option<Installed>,
}

/// A guard that was compared in full, and was installed.
#[derive(Debug, Clone, Copy)]
struct Installed {
    /// Generation of the rules when their comparison began.
    generation: u32,
    known: Known,
    since: Instant,
}

impl<'a> GuardMonitor<'a> {
    pub(super) fn new(guard: &'a Guard) -> Self {
        Self { guard, installed: None }
    }

    /// The guard's state, as in [`Guard::state`]. That lists and compares 9 kB for each link; the
    /// generation is one number.
    ///
    /// # Errors
    ///
    /// Those of [`Guard::state`].
    pub fn look(&mut self) -> Result<GuardState, Error> {
        // Before the rules are listed: what changes meanwhile has another one, and is seen the next time.
        let generation = nftables::generation().ok();
        if let Some(installed) = self.installed
            && generation == Some(installed.generation)
            && installed.since.elapsed() < IN_FULL
            && let Some(dropped) = self.guard.nftables.counted(installed.generation)
        {
            return Ok(GuardState::Installed(By::Nftables(installed.known), dropped));
        }
        self.installed = None;
        let state = self.guard.state()?;
        if let (GuardState::Installed(By::Nftables(known), _), Some(generation)) = (&state, generation) {
            self.installed = Some(Installed {
                generation,
                known: *known,
                since: Instant::now(),
            });
        }
        Ok(state)
    }
}
