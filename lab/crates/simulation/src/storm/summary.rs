//! Summary of a plan's seeds: medians with ranges.

use bartizan_estimators::Sample;
use serde::Serialize;

use super::part::{Part, Seeds};
use crate::simulation::{Outcome, QUANTILES};

/// Fewest values whose 2.5 % quantile is above the least: a range over fewer is that of all.
const ENOUGH: usize = 40;

/// Meaning of a range over so many seeds, in words.
#[must_use]
pub fn range_over(seeds: u64) -> String {
    match usize::try_from(seeds) {
        Ok(1) => "one seed: no ranges".to_owned(),
        Ok(few) if few < ENOUGH => format!("ranges from the least to the greatest of {few} seeds"),
        _ => format!("ranges hold 95 of 100 of {seeds} seeds"),
    }
}

/// A quantity over the seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Seeds in which it has a value.
    pub n: usize,
    /// Seeds in which it has none: a share of sites that was never reached.
    pub without: usize,
    /// 2.5 of 100 seeds are below; of fewer than 40 the least.
    pub low: f64,
    /// Half of the seeds are below.
    pub median: f64,
    /// 2.5 of 100 seeds are above; of fewer than 40 the greatest.
    pub high: f64,
}

impl Spread {
    /// Spread of values, with missing ones counted apart; none if all are missing.
    #[must_use]
    pub fn of(values: &[Option<f64>]) -> Option<Self> {
        let there: Vec<f64> = values.iter().copied().flatten().collect();
        let sample = Sample::new(there).ok()?;
        let [low, high] = if sample.n() < ENOUGH {
            [0.0, 1.0]
        } else {
            [0.025, 0.975]
        };
        Some(Self {
            n: sample.n(),
            without: values.len() - sample.n(),
            low: sample.quantile(low),
            median: sample.median(),
            high: sample.quantile(high),
        })
    }
}

/// A quantity of a variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quantity {
    /// Name of the quantity.
    pub name: &'static str,
    /// Its unit; empty for a count.
    pub unit: &'static str,
    /// Over the seeds; none where no seed has a value.
    pub spread: Option<Spread>,
}

/// Return of the sites: by hundredths, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// At each hundredth from none to all that some seed reached.
    pub seconds: Vec<Spread>,
}

/// Summary of a variant over the seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VariantSummary {
    /// Its name.
    pub name: String,
    /// Sources of its numbers.
    pub sources: Vec<String>,
    /// Its quantities.
    pub quantities: Vec<Quantity>,
    /// Return of the sites.
    pub curve: Curve,
}

/// Summary of a part over its seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// `bartizan-plan-storm/1`.
    pub schema: &'static str,
    /// Seeds of the part.
    pub seeds: Seeds,
    /// By variant, in the plan's order.
    pub variants: Vec<VariantSummary>,
}

type Value = fn(&Outcome) -> Option<f64>;

fn seconds(outcome: &Outcome, percent: usize) -> Option<f64> {
    outcome.reached(percent).map(|nanoseconds| nanoseconds as f64 / 1e9)
}

/// Every quantity with its unit.
const QUANTITIES: &[(&str, &str, Value)] = &[
    ("50 % of sites", "s", |outcome| seconds(outcome, 50)),
    ("95 % of sites", "s", |outcome| seconds(outcome, 95)),
    ("99 % of sites", "s", |outcome| seconds(outcome, 99)),
    ("all sites", "s", |outcome| seconds(outcome, 100)),
    ("sites not back", "sites", |outcome| {
        Some((outcome.concerned - outcome.done.min(outcome.concerned)) as f64)
    }),
    ("busiest ten seconds of a gateway", "%", |outcome| {
        Some(outcome.peak_ppm as f64 / 1e4)
    }),
    ("busiest gateway, whole time", "%", |outcome| {
        Some(outcome.busiest_ppm as f64 / 1e4)
    }),
    ("longest queue", "requests", |outcome| {
        Some(outcome.longest_queue as f64)
    }),
    ("half-open at once", "set-ups", |outcome| {
        Some(outcome.most_half_open as f64)
    }),
    ("most of a gateway's link", "bytes/s", |outcome| {
        Some(outcome.peak_bytes_per_second as f64)
    }),
    ("bytes in all", "bytes", |outcome| {
        Some((outcome.counters.bytes_up + outcome.counters.bytes_down) as f64)
    }),
    ("attempts that failed", "", |outcome| {
        Some(outcome.counters.failed as f64)
    }),
    ("retransmissions", "", |outcome| {
        Some(outcome.counters.retransmissions as f64)
    }),
    ("cookies", "", |outcome| Some(outcome.counters.cookies as f64)),
    ("requests dropped", "", |outcome| Some(outcome.counters.dropped as f64)),
    ("SAs lost", "", |outcome| Some(outcome.counters.lost_peers as f64)),
];

/// Summary of a part over its seeds.
#[must_use]
pub fn summary(part: &Part) -> Summary {
    let variants = part.plan.variants.iter().enumerate().map(|(index, variant)| {
        let outcomes: Vec<&Outcome> = part.runs.iter().filter_map(|run| run.outcomes.get(index)).collect();
        let spread = |value: &dyn Fn(&Outcome) -> Option<f64>| {
            Spread::of(&outcomes.iter().map(|outcome| value(outcome)).collect::<Vec<_>>())
        };
        VariantSummary {
            name: variant.name.clone(),
            sources: variant.sources.clone(),
            quantities: QUANTITIES
                .iter()
                .map(|(name, unit, value)| Quantity {
                    name,
                    unit,
                    spread: spread(value),
                })
                .collect(),
            curve: Curve {
                seconds: (0..QUANTILES)
                    .map_while(|percent| spread(&|outcome| seconds(outcome, percent)))
                    .collect(),
            },
        }
    });
    Summary {
        schema: "bartizan-plan-storm/1",
        seeds: part.seeds,
        variants: variants.collect(),
    }
}
