//! The 99th percentile of requests while others are hostile, over that without.

use bartizan_estimators::{Interval, Summary};
use bartizan_workbench::runner::experiment::{Experiment, Form};
use bartizan_workbench::runner::trial::Record;
use bartizan_workbench::stand_in::proxies::{Hostility, Proxy};
use serde::Serialize;

use super::{Target, Verdict};
use crate::Samples;
use crate::model::comparison::judge;
use crate::model::pace::Paces;
use crate::model::samples::{Trial, medians};

/// "Change no other's p99 by more than a fifth."
const AT_MOST: f64 = 1.2;
/// Repetitions from which the ratio is judged.
const JUDGED_FROM: usize = 20;

/// The 99th percentile on one path under one hostility.
#[derive(Debug, Clone, Serialize)]
pub struct HostileFigure {
    /// The path.
    pub path: Proxy,
    /// The hostile party.
    pub hostility: Hostility,
    /// Median and quartiles, over repetitions, of the 99th percentile of a trial's requests, in microseconds.
    pub p99_us: Summary,
    /// The same of their median.
    pub median_us: Summary,
    /// The 99th percentile over that of the quiet trials of the same repetitions; absent of those.
    pub ratio: Option<f64>,
    /// Its 95 % interval; absent below six repetitions.
    pub interval: Option<Interval>,
    /// Trials that failed and are left out.
    pub failed: usize,
    /// Target of the ratio.
    pub target: Option<Target>,
    /// Verdict on the target.
    pub verdict: Verdict,
}

/// The figures of a run of the experiment `bench-hostile`.
#[must_use]
pub fn hostile_figures(experiment: &Experiment, records: &[Record]) -> Vec<HostileFigure> {
    let samples = Samples::of(records, &Paces::of(records));
    let quick = records.iter().any(|record| record.quick);
    let parts = experiment.parts.iter();
    let cells = parts.flat_map(|part| part.combinations.iter().map(move |levels| (part, levels)));
    cells
        .filter_map(|(part, levels)| {
            let of = |levels, metric| samples.trials(&part.id, levels, metric);
            let summary = |trials: &[Trial]| Summary::of(medians(trials));
            let path = Proxy::named(levels.level("proxy")?)?;
            let hostility = Hostility::named(levels.level("hostility")?)?;
            let own = of(levels, "p99");
            let quiet = levels.clone().with("hostility", Hostility::Quiet.name());
            let judged = (hostility != Hostility::Quiet).then(|| judge(Form::Ratio, own, of(&quiet, "p99")));
            let p99_us = summary(own)?;
            let ratio = judged.as_ref().and_then(|judged| judged.value);
            let interval = judged.as_ref().and_then(|judged| judged.interval);
            let target = ratio.map(|_| Target::AtMost(AT_MOST));
            let verdict = match target.zip(ratio) {
                None => Verdict::NoTarget,
                Some(_) if quick => Verdict::NotJudged("a quick run".to_owned()),
                Some(_) if p99_us.n < JUDGED_FROM => {
                    Verdict::NotJudged(format!("{} repetitions, it takes {JUDGED_FROM}", p99_us.n))
                }
                Some((target, ratio)) => target.verdict(ratio, interval),
            };
            Some(HostileFigure {
                path,
                hostility,
                p99_us,
                median_us: summary(of(levels, "latency"))?,
                ratio,
                interval,
                failed: samples.failures(&part.id, levels).len(),
                target,
                verdict,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bartizan_workbench::runner::experiment::Levels;
    use bartizan_workbench::runner::experiment::bench::{HOSTILE, experiment};
    use bartizan_workbench::runner::trial::{Environment, Outcome, SCHEMA};

    use super::*;

    fn trial(hostility: Hostility, repetition: usize, slow_us: f64) -> Record {
        let levels: Levels = [("proxy", "http2"), ("hostility", hostility.name())]
            .into_iter()
            .collect();
        let values = [("p99", vec![slow_us]), ("latency", vec![100.0, 100.0, slow_us])];
        let values: BTreeMap<String, Vec<f64>> = values.map(|(metric, values)| (metric.to_owned(), values)).into();
        Record {
            schema: SCHEMA.to_owned(),
            experiment: HOSTILE.to_owned(),
            digest: String::new(),
            run: "run".to_owned(),
            part: "latency".to_owned(),
            trial: 0,
            repetition,
            position: 0,
            levels,
            twin: false,
            began: String::new(),
            elapsed_ms: 1.0,
            seed: 1,
            quick: false,
            cores: vec![1],
            calibration: Vec::new(),
            steal: None,
            load: 0.0,
            under: None,
            environment: Environment::default(),
            outcome: Outcome::Measured {
                values,
                facts: BTreeMap::new(),
            },
        }
    }

    #[test]
    fn a_99th_percentile_is_judged_by_that_of_quiet_trials_of_the_same_repetitions() {
        let trials: Vec<_> = (0..40)
            .flat_map(|repetition| {
                let drift = 10.0 * repetition as f64;
                [
                    trial(Hostility::Quiet, repetition, 200.0 + drift),
                    trial(Hostility::Consumer, repetition, (200.0 + drift) * 1.1),
                    trial(Hostility::Neighbour, repetition, (200.0 + drift) * 1.5),
                ]
            })
            .collect();
        let experiment = experiment(HOSTILE).unwrap().unwrap();
        let figures = hostile_figures(&experiment, &trials);
        let verdicts: Vec<_> = figures
            .iter()
            .map(|figure| (figure.hostility, figure.verdict.clone()))
            .collect();
        assert_eq!(
            verdicts,
            [
                (Hostility::Quiet, Verdict::NoTarget),
                (Hostility::Consumer, Verdict::Reached),
                (Hostility::Neighbour, Verdict::NotReached),
            ]
        );
        let ratio = figures[2].ratio.unwrap();
        assert!((ratio - 1.5).abs() < 0.01, "{ratio}");
        assert!((figures[0].median_us.median - 100.0).abs() < 0.01);
        let few = hostile_figures(&experiment, &trials[..30]);
        assert!(matches!(few[1].verdict, Verdict::NotJudged(_)));
    }
}
