//! Rules compared again and again: tables in full after any transaction of nftables, otherwise by
//! the kernel's generation number alone; the fence,
//! which has no such number, in full each time.

use std::time::{Duration, Instant};

use bartizan_host::nftables;

use super::{Error, Installed, Part, RuleState};

/// Longest time between two full comparisons, whatever the kernel says.
const IN_FULL: Duration = Duration::from_secs(60);

/// Knowledge of the rules from one comparison to the next.
#[derive(Debug, Default)]
pub struct RulesMonitor {
    /// The generation of tables that were found to be what they should be, and the time of that
    /// comparison.
    compared: Option<(u32, Instant)>,
    /// Time of the last confirmation to the guard.
    confirmed: Option<Instant>,
}

impl RulesMonitor {
    /// The state of all rules, as [`Installed::state`] has it.
    ///
    /// # Errors
    ///
    /// Those of [`Installed::state`].
    pub fn state(&mut self, rules: &Installed) -> Result<Vec<(Part, RuleState)>, Error> {
        // Before the rules are listed: what changes meanwhile has another one, and is seen the next
        // time.
        let generation = nftables::generation().ok();
        let known = self.compared.take();
        let known = known.filter(|(known, since)| Some(*known) == generation && since.elapsed() < IN_FULL);
        let mut found = match known {
            Some(_) => rules.intact(),
            None => rules.of_tables()?,
        };
        if found.iter().all(|(_, state)| *state == RuleState::Installed) {
            self.compared = known.or(generation.map(|generation| (generation, Instant::now())));
        }
        found.extend(rules.of_fence()?);
        Ok(found)
    }

    /// Has the guard answer, for this long, that the rules are what they should be, unless it was
    /// confirmed a moment ago. That is a transaction of our own,
    /// which changes no rule.
    ///
    /// # Errors
    ///
    /// Those of [`Installed::confirm`].
    pub fn confirm(&mut self, rules: &Installed, lasting: Duration) -> Result<(), Error> {
        if self
            .confirmed
            .is_some_and(|confirmed| confirmed.elapsed() < lasting / 3)
        {
            return Ok(());
        }
        let before = nftables::generation().ok();
        rules.confirm(lasting)?;
        let after = nftables::generation().ok();
        self.confirmed = Some(Instant::now());
        let ours = before.map(following) == after;
        self.compared = self
            .compared
            .filter(|(known, _)| ours && before == Some(*known))
            .and_then(|(_, since)| Some((after?, since)));
        Ok(())
    }
}

/// The generation after this one: zero is none.
fn following(generation: u32) -> u32 {
    generation.wrapping_add(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generation_after_the_last_is_the_first() {
        assert_eq!([0, 1, u32::MAX].map(following), [1, 2, 1]);
    }
}
