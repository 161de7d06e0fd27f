//! The outcomes of some seeds of a plan, as a file.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::plan::{Drawn, Plan, PlanError};
use crate::simulation::{Outcome, Progress, Stop};

/// Schema of the file.
pub const PART_SCHEMA: &str = "bartizan-plan-part/1";

/// Most seeds of a plan.
const SEEDS: u64 = 1_000_000;

/// Seeds one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seeds {
    /// The first.
    pub from: u64,
    /// The one after the last.
    pub to: u64,
}

impl Seeds {
    /// Number of seeds.
    #[must_use]
    pub const fn count(self) -> u64 {
        self.to.saturating_sub(self.from)
    }

    fn check(self) -> Result<Self, PartError> {
        if self.from < self.to && self.count() <= SEEDS {
            Ok(self)
        } else {
            Err(PartError::Seeds(self.to_string()))
        }
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.from, self.to)
    }
}

impl FromStr for Seeds {
    type Err = PartError;

    fn from_str(text: &str) -> Result<Self, PartError> {
        let wrong = || PartError::Seeds(text.chars().take(40).collect());
        let (from, to) = text.split_once("..").ok_or_else(wrong)?;
        let number = |text: &str| text.trim().parse().map_err(|_| wrong());
        Self {
            from: number(from)?,
            to: number(to)?,
        }
        .check()
    }
}

/// Reason why there is no part.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PartError {
    /// Seeds that are no range, or too many.
    #[error("seeds {0}: write A..B, A below B (B is the one after the last), at most {SEEDS} of them")]
    Seeds(String),
    /// The text is no part of a plan.
    #[error("no part of a plan: {0}")]
    NotRead(String),
    /// It is one of another schema.
    #[error("schema {0}: this reads {PART_SCHEMA}")]
    Schema(String),
    /// Its runs are not those of its seeds and variants.
    #[error("it says seeds {seeds} and {variants} variants, and its runs are others")]
    Runs {
        /// Its seeds.
        seeds: Seeds,
        /// Its variants.
        variants: usize,
    },
    /// Its plan cannot be run.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// Result of one seed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedRun {
    /// The seed.
    pub seed: u64,
    /// Its draws.
    pub drawn: Drawn,
    /// By variant, in the plan's order.
    pub outcomes: Vec<Outcome>,
}

/// A plan and the outcomes of some of its seeds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// [`PART_SCHEMA`].
    pub schema: String,
    /// The plan.
    pub plan: Plan,
    /// Seeds of the part.
    pub seeds: Seeds,
    /// Result of each seed, in order.
    pub runs: Vec<SeedRun>,
}

impl Part {
    /// Runs the plan under these seeds; `watch` receives the seed, the variant and how far that is.
    ///
    /// # Errors
    /// [`PartError`].
    pub fn run(
        plan: Plan,
        seeds: Seeds,
        watch: &mut dyn FnMut(u64, usize, Progress) -> Stop,
    ) -> Result<Self, PartError> {
        plan.check()?;
        let seeds = seeds.check()?;
        let runs = (seeds.from..seeds.to)
            .map(|seed| {
                Ok(SeedRun {
                    seed,
                    drawn: plan.drawn(seed),
                    outcomes: plan.run(seed, &mut |variant, progress| watch(seed, variant, progress))?,
                })
            })
            .collect::<Result<_, PlanError>>()?;
        Ok(Self {
            schema: PART_SCHEMA.to_owned(),
            plan,
            seeds,
            runs,
        })
    }

    /// Reads a part and makes sure that it is whole and within bounds.
    ///
    /// # Errors
    /// [`PartError`].
    pub fn parse(text: &str) -> Result<Self, PartError> {
        #[derive(Deserialize)]
        struct Head {
            schema: Option<String>,
        }
        let not_read = |error: serde_json::Error| PartError::NotRead(error.to_string());
        let head: Head = serde_json::from_str(text).map_err(not_read)?;
        let schema = head.schema.unwrap_or_else(|| "none".to_owned());
        if schema != PART_SCHEMA {
            return Err(PartError::Schema(schema.chars().take(60).collect()));
        }
        let part: Self = serde_json::from_str(text).map_err(not_read)?;
        part.plan.check()?;
        part.seeds.check()?;
        let variants = part.plan.variants.len();
        let is_whole = part.runs.len() as u64 == part.seeds.count()
            && part.runs.iter().zip(part.seeds.from..).all(|(run, seed)| {
                run.seed == seed && run.drawn == part.plan.drawn(seed) && run.outcomes.len() == variants
            });
        if !is_whole {
            return Err(PartError::Runs {
                seeds: part.seeds,
                variants,
            });
        }
        Ok(part)
    }

    /// As a file: the same bytes for the same part.
    ///
    /// # Errors
    /// [`PartError::NotRead`], which numbers and texts never give.
    pub fn text(&self) -> Result<String, PartError> {
        let mut text = serde_json::to_string(self).map_err(|error| PartError::NotRead(error.to_string()))?;
        text.push('\n');
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_a_range_whose_end_is_not_in_it() {
        assert_eq!("3..8".parse::<Seeds>().unwrap().count(), 5);
        for wrong in ["", "3", "8..3", "3..3", "a..b", "0..10000000", "-1..3"] {
            let refused = wrong.parse::<Seeds>().unwrap_err().to_string();
            assert!(refused.contains("write A..B"), "{refused}");
        }
    }

    #[test]
    fn what_is_no_part_is_refused() {
        assert!(matches!(Part::parse("{"), Err(PartError::NotRead(_))));
        assert!(matches!(Part::parse("{}"), Err(PartError::Schema(_))));
        let other = r#"{"schema":"bartizan-lab-run/1"}"#;
        assert_eq!(
            Part::parse(other).unwrap_err().to_string(),
            "schema bartizan-lab-run/1: this reads bartizan-plan-part/1"
        );
    }
}
