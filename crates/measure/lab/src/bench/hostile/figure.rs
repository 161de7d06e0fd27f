//! What the trials say: the 99th percentile beside each hostility, over that without.

use std::collections::BTreeMap;

use bartizan_stats::{Interval, Pairs, Resampling, Summary, ratio_of_medians};
use serde::Serialize;

use super::{HostileTrial, Hostility};
use crate::bench::{Proxy, Target, Verdict};

/// "Change no other's p99 by more than a fifth."
const AT_MOST: f64 = 1.2;
/// Repetitions from which the ratio is judged.
const JUDGED_FROM: usize = 20;

/// The 99th percentile on one path beside one hostility.
#[derive(Debug, Clone, Serialize)]
pub struct HostileFigure {
    /// The path.
    pub path: Proxy,
    /// Who was hostile.
    pub hostility: Hostility,
    /// Median and quartiles, over repetitions, of the 99th percentile of a trial's requests, in microseconds.
    pub p99_us: Summary,
    /// The same of their median.
    pub median_us: Summary,
    /// The median 99th percentile over that of the quiet trials of the same repetitions; absent of those.
    pub ratio: Option<f64>,
    /// Its 95 % interval (bootstrap by repetitions).
    pub interval: Option<Interval>,
    /// Trials that failed and are left out.
    pub failed: usize,
    /// What the ratio must reach.
    pub target: Option<Target>,
    /// Whether it does.
    pub verdict: Verdict,
}

/// The figures of a run.
#[must_use]
pub fn hostile_figures(trials: &[HostileTrial]) -> Vec<HostileFigure> {
    let mut kinds: BTreeMap<(Proxy, Hostility), Vec<&HostileTrial>> = BTreeMap::new();
    for trial in trials {
        kinds.entry((trial.path, trial.hostility)).or_default().push(trial);
    }
    let resampling = Resampling::seeded(trials.first().map_or(0, |trial| trial.seed));
    kinds
        .iter()
        .filter_map(|(&(path, hostility), trials)| {
            let quiet = kinds.get(&(path, Hostility::Quiet));
            figure(
                path,
                hostility,
                trials,
                quiet.filter(|_| hostility != Hostility::Quiet),
                &resampling,
            )
        })
        .collect()
}

fn figure(
    path: Proxy,
    hostility: Hostility,
    trials: &[&HostileTrial],
    quiet: Option<&Vec<&HostileTrial>>,
    resampling: &Resampling,
) -> Option<HostileFigure> {
    let own = by_repetition(trials, 99);
    let p99_us = Summary::of(own.values().copied())?;
    let median_us = Summary::of(by_repetition(trials, 50).into_values())?;
    let estimate = quiet.and_then(|quiet| {
        let quiet = by_repetition(quiet, 99);
        let both = own.iter().filter_map(|(at, value)| Some((*value, *quiet.get(at)?)));
        let (hostile, quiet): (Vec<f64>, Vec<f64>) = both.unzip();
        ratio_of_medians(&Pairs::new(&hostile, &quiet).ok()?, resampling).ok()
    });
    let verdict = match &estimate {
        None => Verdict::NoTarget,
        Some(_) if own.len() < JUDGED_FROM => {
            Verdict::NotJudged(format!("{} repetitions, it takes {JUDGED_FROM}", own.len()))
        }
        Some(estimate) if estimate.value <= AT_MOST => Verdict::Reached,
        Some(_) => Verdict::NotReached,
    };
    Some(HostileFigure {
        path,
        hostility,
        p99_us,
        median_us,
        target: estimate.as_ref().map(|_| Target::AtMost(AT_MOST)),
        ratio: estimate.as_ref().map(|estimate| estimate.value),
        interval: estimate.map(|estimate| estimate.interval),
        failed: trials.iter().filter(|trial| trial.error.is_some()).count(),
        verdict,
    })
}

/// This percentile of each trial's requests, in microseconds, by nearest rank.
fn by_repetition(trials: &[&HostileTrial], percent: usize) -> BTreeMap<usize, f64> {
    let of = |trial: &&HostileTrial| {
        let mut sorted = trial.latencies_ns.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100).checked_sub(1)?;
        Some((trial.repetition, *sorted.get(rank)? as f64 / 1e3))
    };
    trials.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Environment;
    use crate::bench::hostile::HOSTILE_SCHEMA;

    fn trial(hostility: Hostility, repetition: usize, slowest_us: u64) -> HostileTrial {
        HostileTrial {
            schema: HOSTILE_SCHEMA,
            at_us: 0,
            seed: 1,
            path: Proxy::Http2,
            hostility,
            repetition,
            position: 0,
            load: None,
            environment: Environment {
                bartizan: String::new(),
                kernel: String::new(),
                cpu: None,
                processors: vec![0],
                priority: String::new(),
                autogroup: None,
                programs: Vec::new(),
            },
            // 197 fast ones, and three slow ones of which the first is the 99th percentile.
            latencies_ns: [vec![100_000; 197], vec![slowest_us * 1000; 3]].concat(),
            error: None,
        }
    }

    #[test]
    fn a_99th_percentile_is_judged_by_that_of_quiet_trials_of_the_same_repetitions() {
        let trials: Vec<_> = (0..40)
            .flat_map(|repetition| {
                let drift = 10 * repetition as u64;
                [
                    trial(Hostility::Quiet, repetition, 200 + drift),
                    trial(Hostility::Consumer, repetition, (200 + drift) * 11 / 10),
                    trial(Hostility::Neighbour, repetition, (200 + drift) * 3 / 2),
                ]
            })
            .collect();
        let figures = hostile_figures(&trials);
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
        let few = hostile_figures(&trials[..30]);
        assert!(matches!(few[1].verdict, Verdict::NotJudged(_)));
    }
}
