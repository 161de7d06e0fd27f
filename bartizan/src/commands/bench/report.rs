//! What a run gives, as JSON.

use bartizan_lab::bench::{Environment, Figure, Measured, Missing, Options, Record, Verdict, figures};
use serde::Serialize;

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

/// What could not be measured, and why.
#[derive(Serialize)]
pub(super) struct LeftOut {
    pub(super) proxy: &'static str,
    pub(super) reason: String,
}

impl Report {
    pub(super) fn new(options: &Options, records: &[Record], missing: Vec<Missing>) -> Self {
        let loads = records.iter().filter_map(|record| record.load);
        let load = loads.fold(None, |range: Option<(f64, f64)>, load| {
            let (low, high) = range.unwrap_or((load, load));
            Some((low.min(load), high.max(load)))
        });
        let missing = missing.into_iter().map(|missing| LeftOut {
            proxy: missing.proxy.name(),
            reason: missing.reason,
        });
        let pooled = options.proxies.iter().filter_map(|proxy| {
            let reason = proxy.always_pools()?;
            options
                .what
                .contains(&bartizan_lab::bench::What::NewConnection)
                .then(|| LeftOut {
                    proxy: proxy.name(),
                    reason: format!("new-connection: it {reason}"),
                })
        });
        Self {
            schema: "bartizan-bench/1",
            seed: options.seed,
            quick: options.extent.quick,
            trials: records.len(),
            failed: records
                .iter()
                .filter(|record| matches!(record.measured, Measured::Failed { .. }))
                .count(),
            load,
            environment: records.first().map(|record| record.environment.clone()),
            left_out: missing.chain(pooled).collect(),
            figures: figures(records),
        }
    }

    pub(super) fn outcome(&self) -> Outcome {
        let missed = self.figures.iter().any(|figure| figure.verdict == Verdict::NotReached);
        if missed || self.failed > 0 {
            Outcome::Finding
        } else {
            Outcome::Clean
        }
    }
}
