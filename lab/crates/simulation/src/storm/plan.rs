//! Scenarios that are simulated under each seed.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::simulation::{Bounds, Outcome, Progress, Rng, Scenario, ScenarioError, Stop, run};

/// Most variants of a plan.
const VARIANTS: u64 = 64;

/// Reason why a plan is not run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    /// It compares nothing.
    #[error("a plan without a variant")]
    NoVariant,
    /// A variant cannot be simulated.
    #[error("{variant}: {error}")]
    Variant {
        /// Its name.
        variant: String,
        /// The error of its scenario.
        error: ScenarioError,
    },
    /// A range out of bounds.
    #[error(transparent)]
    Range(#[from] ScenarioError),
}

/// A number that is not known better; each value between the two is as likely as any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The least.
    pub from: u64,
    /// The most.
    pub to: u64,
}

/// One thing that is compared with the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Name in tables.
    pub name: String,
    /// Sources of its numbers, a line each.
    pub sources: Vec<String>,
    /// The simulated scenario.
    pub scenario: Scenario,
}

/// All of them, and what each seed draws.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Variants to compare.
    pub variants: Vec<Variant>,
    /// Probability that a packet is lost, in millionths.
    pub loss_ppm: Range,
    /// Factor for measured times, in thousandths.
    pub cost_permille: Range,
}

/// Draws of a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drawn {
    /// Probability that a packet is lost, in millionths.
    pub loss_ppm: u64,
    /// Factor for measured times, in thousandths.
    pub cost_permille: u64,
}

impl Plan {
    /// Fails unless every scenario is within its bounds at both ends of the ranges.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn check(&self) -> Result<(), PlanError> {
        if self.variants.is_empty() {
            return Err(PlanError::NoVariant);
        }
        let count = self.variants.len() as u64;
        Bounds::hold("variants", count, 1, VARIANTS, "variants", "a table that can be read")?;
        for (what, range) in [("loss", self.loss_ppm), ("cost", self.cost_permille)] {
            Bounds::hold(
                what,
                range.to,
                range.from,
                u64::MAX,
                "units",
                "the end of a range is no less than its beginning",
            )?;
        }
        for variant in &self.variants {
            for (loss, cost) in [
                (self.loss_ppm.from, self.cost_permille.from),
                (self.loss_ppm.to, self.cost_permille.to),
            ] {
                let drawn = Drawn {
                    loss_ppm: loss,
                    cost_permille: cost,
                };
                drawn.scenario(variant).check().map_err(|error| PlanError::Variant {
                    variant: variant.name.clone(),
                    error,
                })?;
            }
        }
        Ok(())
    }

    /// Draws of a seed.
    #[must_use]
    pub fn drawn(&self, seed: u64) -> Drawn {
        let mut chance = Rng::seeded(seed, 3);
        // Both ends included.
        let mut within = |range: Range| chance.between(range.from, range.to.saturating_add(1));
        Drawn {
            loss_ppm: within(self.loss_ppm),
            cost_permille: within(self.cost_permille),
        }
    }

    /// The outcome of each variant under a seed.
    ///
    /// # Errors
    /// [`PlanError`], and [`ScenarioError::Interrupted`] in it when `watch` says so.
    pub fn run(&self, seed: u64, watch: &mut dyn FnMut(usize, Progress) -> Stop) -> Result<Vec<Outcome>, PlanError> {
        let drawn = self.drawn(seed);
        let variants = self.variants.iter().enumerate();
        variants
            .map(|(index, variant)| {
                run(&drawn.scenario(variant), seed, &mut |progress| watch(index, progress)).map_err(|error| {
                    PlanError::Variant {
                        variant: variant.name.clone(),
                        error,
                    }
                })
            })
            .collect()
    }
}

impl Drawn {
    fn scenario(self, variant: &Variant) -> Scenario {
        let mut scenario = variant.scenario.clone();
        scenario.network.loss_ppm = self.loss_ppm;
        scenario.cost_permille = self.cost_permille;
        scenario
    }
}
