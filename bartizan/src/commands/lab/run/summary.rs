//! What a run gave, in a few lines: `bartizan lab report` says what it means.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use bartizan_lab::Experiment;
use bartizan_lab::experiment::Levels;
use bartizan_lab::run::{Ended, runner_part};
use bartizan_lab::trial::{LeftOut, Outcome};
use bartizan_stats::{Interval, Resampling, Sample, median_interval};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Summary {
    schema: &'static str,
    experiment: String,
    run: Option<String>,
    seed: Option<u64>,
    quick: bool,
    file: String,
    trials: u64,
    recorded: usize,
    failed: usize,
    left_out: Vec<LeftOut>,
    /// Parts of which nothing could be run: every combination was left out.
    not_run: Vec<String>,
    given_up: Vec<GivenUp>,
    damaged_lines: Vec<u64>,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct GivenUp {
    what: String,
    reason: String,
}

/// A metric of a combination: the median of the medians of its trials.
#[derive(Serialize)]
struct Row {
    part: String,
    levels: Levels,
    metric: &'static str,
    unit: &'static str,
    n: usize,
    failed: usize,
    median: f64,
    /// 95 %, by bootstrap over trials.
    interval: Interval,
}

impl Summary {
    pub(super) fn of(experiment: &Experiment, ended: &Ended) -> Self {
        let run = ended.records.runs.first();
        let failed = |outcome: &Outcome| matches!(outcome, Outcome::Failed { .. });
        let trials = &ended.records.trials;
        Self {
            schema: "bartizan-lab-summary/1",
            experiment: experiment.id.clone(),
            run: run.map(|run| run.run.clone()),
            seed: run.map(|run| run.seed),
            quick: run.is_some_and(|run| run.quick),
            file: ended.file.display().to_string(),
            trials: ended.trials,
            recorded: trials.len(),
            failed: trials.iter().filter(|record| failed(&record.outcome)).count(),
            left_out: ended.left_out.clone(),
            not_run: not_run(experiment, &ended.left_out),
            given_up: ended
                .given_up
                .iter()
                .map(|(what, reason)| GivenUp {
                    what: what.clone(),
                    reason: reason.clone(),
                })
                .collect(),
            damaged_lines: ended.records.damage.iter().map(|damage| damage.line).collect(),
            rows: rows(experiment, ended),
        }
    }

    pub(super) fn is_clean(&self) -> bool {
        self.failed == 0 && self.given_up.is_empty() && self.not_run.is_empty()
    }
}

/// A part that lacks a peer is run with the others; one that lacks all of them says nothing.
fn not_run(experiment: &Experiment, left_out: &[LeftOut]) -> Vec<String> {
    let parts = experiment.parts.iter().filter(|part| {
        let lacks = |levels: &Levels| left_out.iter().any(|one| one.part == part.id && one.levels == *levels);
        !part.combinations.is_empty() && part.combinations.iter().all(lacks)
    });
    parts.map(|part| part.id.clone()).collect()
}

fn rows(experiment: &Experiment, ended: &Ended) -> Vec<Row> {
    let seed = ended.records.runs.first().map_or(0, |run| run.seed);
    let resampling = Resampling::seeded(seed);
    let runner = runner_part();
    let mut rows = Vec::new();
    for part in std::iter::once(&runner).chain(&experiment.parts) {
        // Medians of trials by combination and metric, and failures by combination.
        let mut medians: BTreeMap<(&Levels, &str), Vec<f64>> = BTreeMap::new();
        let mut failures: BTreeMap<&Levels, usize> = BTreeMap::new();
        for record in ended.records.trials.iter().filter(|record| record.part == part.id) {
            match &record.outcome {
                Outcome::Failed { .. } => *failures.entry(&record.levels).or_default() += 1,
                Outcome::Measured { values, .. } => {
                    for (metric, samples) in values {
                        let Ok(sample) = Sample::new(samples.iter().copied()) else {
                            continue;
                        };
                        let key = (&record.levels, metric.as_str());
                        medians.entry(key).or_default().push(sample.median());
                    }
                }
            }
        }
        for metric in &part.metrics {
            for levels in &part.combinations {
                let Some(values) = medians.get(&(levels, metric.name)) else {
                    continue;
                };
                let Ok(sample) = Sample::new(values.iter().copied()) else {
                    continue;
                };
                let estimate = median_interval(&sample, &resampling);
                rows.push(Row {
                    part: part.id.clone(),
                    levels: levels.clone(),
                    metric: metric.name,
                    unit: metric.unit,
                    n: sample.n(),
                    failed: failures.get(levels).copied().unwrap_or(0),
                    median: estimate.value,
                    interval: estimate.interval,
                });
            }
        }
    }
    rows
}

pub(super) fn table(summary: &Summary) -> String {
    let mut text = String::new();
    let wide = summary.rows.iter().map(|row| row.levels.to_string().len());
    let wide = wide.fold(8, usize::max);
    // Writing to a String cannot fail.
    for group in summary
        .rows
        .chunk_by(|one, other| (&one.part, one.metric) == (&other.part, other.metric))
    {
        let Row { part, metric, unit, .. } = &group[0];
        let _ = writeln!(text, "{part}: {metric}, {unit}");
        let _ = writeln!(text, "  {:<wide$}{:>5}{:>14}{:>26}", "", "n", "median", "95 % interval");
        for row in group {
            let interval = format!("{} .. {}", number(row.interval.low), number(row.interval.high));
            let levels = row.levels.to_string();
            let median = number(row.median);
            let failed = if row.failed == 0 {
                String::new()
            } else {
                format!("   {} failed", row.failed)
            };
            let _ = writeln!(text, "  {levels:<wide$}{:>5}{median:>14}{interval:>26}{failed}", row.n);
        }
        text.push('\n');
    }
    closing(&mut text, summary);
    text
}

fn closing(text: &mut String, summary: &Summary) {
    if summary.quick {
        text.push_str("quick: these figures are a look and prove nothing\n");
    }
    for given_up in &summary.given_up {
        let _ = writeln!(text, "given up: {}: {}", given_up.what, given_up.reason);
    }
    for line in &summary.damaged_lines {
        let _ = writeln!(text, "{}:{line}: no record, left out", summary.file);
    }
    let mut missing: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    for LeftOut { what, reason, .. } in &summary.left_out {
        missing.entry(what).or_insert((reason, 0)).1 += 1;
    }
    for (what, (reason, combinations)) in missing {
        let _ = writeln!(text, "left out: {what}, {combinations} combinations: {reason}");
    }
    for part in &summary.not_run {
        let _ = writeln!(text, "not run: {part}: all of its combinations were left out");
    }
    let Summary {
        experiment,
        recorded,
        trials,
        failed,
        file,
        ..
    } = summary;
    let seed = summary
        .seed
        .map_or_else(|| "unknown".to_owned(), |seed| seed.to_string());
    let _ = writeln!(
        text,
        "{experiment}: {recorded} of {trials} trials recorded, {failed} failed; seed {seed}; records: {file}\n\
         median: of the medians of trials; interval: bootstrap over trials"
    );
}

/// Four digits that say something.
fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let before = value.abs().log10().floor() as i32 + 1;
    let after = usize::try_from(4 - before).unwrap_or(0).min(9);
    format!("{value:.after$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_that_say_something() {
        let shown: Vec<String> = [0.0, 0.012_345, 1.0, 123.456, 12_345.6, -0.5].map(number).into();
        assert_eq!(shown, ["0", "0.01235", "1.000", "123.5", "12346", "-0.5000"]);
    }
}
