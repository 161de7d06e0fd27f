//! The guard looked at again and again: in full where anything has changed, and by the kernel's word that nothing has where it gives one.

use std::time::{Duration, Instant};

use bartizan_host::{Error, nftables};

use super::{By, Guard, Known, Standing};

/// How often all is compared whatever the kernel says.
const IN_FULL: Duration = Duration::from_secs(60);

/// Somebody who looks at a guard again and again.
#[derive(Debug)]
pub struct Lookout<'a> {
    guard: &'a Guard,
    in_force: Option<InForce>,
}

/// A guard that was compared in full, and was in force.
#[derive(Debug, Clone, Copy)]
struct InForce {
    /// Of which generation the rules were when it was begun to compare them.
    generation: u32,
    known: Known,
    since: Instant,
}

impl<'a> Lookout<'a> {
    pub(super) fn new(guard: &'a Guard) -> Self {
        Self { guard, in_force: None }
    }

    /// What is installed, as [`Guard::standing`] has it. That lists and compares 9 kB for each link; the generation is one number.
    ///
    /// # Errors
    ///
    /// Those of [`Guard::standing`].
    pub fn look(&mut self) -> Result<Standing, Error> {
        // Before the rules are listed: what changes meanwhile has another one, and is seen the next time.
        let generation = nftables::generation().ok();
        if let Some(in_force) = self.in_force
            && generation == Some(in_force.generation)
            && in_force.since.elapsed() < IN_FULL
            && let Some(dropped) = self.guard.nftables.counted(in_force.generation)
        {
            return Ok(Standing::InForce(By::Nftables(in_force.known), dropped));
        }
        self.in_force = None;
        let standing = self.guard.standing()?;
        if let (Standing::InForce(By::Nftables(known), _), Some(generation)) = (&standing, generation) {
            self.in_force = Some(InForce {
                generation,
                known: *known,
                since: Instant::now(),
            });
        }
        Ok(standing)
    }
}
