//! Report of a run, as JSON.

use bartizan_report::bench::{Figure, Verdict, figures};
use bartizan_workbench::runner::trial::Environment;
use bartizan_workbench::stand_in::proxies::{Missing, Proxy, What};
use serde::Serialize;

use super::measure::Measured;
use crate::Outcome;

/// Everything a run says.
#[derive(Serialize)]
pub(super) struct Report {
    schema: &'static str,
    pub(super) seed: u64,
    pub(super) quick: bool,
    pub(super) trials: usize,
    pub(super) failed: usize,
    /// Lowest and highest load average over a minute while trials ran.
    pub(super) load: Option<(f64, f64)>,
    pub(super) environment: Option<Environment>,
    pub(super) left_out: Vec<LeftOut>,
    pub(super) figures: Vec<Figure>,
}

/// A proxy that could not be measured, with the reason.
#[derive(Serialize)]
pub(super) struct LeftOut {
    pub(super) proxy: &'static str,
    pub(super) reason: String,
}

impl Report {
    pub(super) fn new(measured: &Measured, seed: u64, proxies: &[Proxy], what: &[What], missing: Vec<Missing>) -> Self {
        let missing = missing.into_iter().map(|missing| LeftOut {
            proxy: missing.proxy.name(),
            reason: missing.reason,
        });
        let pooled = proxies.iter().filter_map(|proxy| {
            let reason = proxy.always_pools()?;
            what.contains(&What::NewConnection).then(|| LeftOut {
                proxy: proxy.name(),
                reason: format!("new-connection: it {reason}"),
            })
        });
        Self {
            schema: "bartizan-bench/2",
            seed,
            quick: measured.trials.iter().any(|record| record.quick),
            trials: measured.trials.len(),
            failed: measured.failed(),
            load: measured.load(),
            environment: measured.environment(),
            left_out: missing.chain(pooled).collect(),
            figures: figures(&measured.experiment, &measured.trials),
        }
    }

    pub(super) fn outcome(&self, measured: &Measured) -> Outcome {
        measured.outcome(self.figures.iter().any(|figure| figure.verdict == Verdict::NotReached))
    }
}
