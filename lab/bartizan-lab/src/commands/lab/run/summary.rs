//! Results of a run in a few lines. `bartizan lab report` explains their meaning.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::table::Side::{Left, Right};
use crate::table::Table;
use bartizan_estimators::Sample;

use bartizan_report::{Effect, File, Report, Statistics, Verdict};
use bartizan_workbench::Experiment;
use bartizan_workbench::runner::experiment::Levels;
use bartizan_workbench::runner::run::{Ended, runner_part};
use bartizan_workbench::runner::trial::{LeftOut, Outcome};
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
    /// Combinations that were measured twice.
    controls: Vec<Twice>,
}

/// A metric of a combination that was taken twice.
#[derive(Serialize)]
struct Twice {
    part: String,
    levels: Levels,
    metric: &'static str,
    n: usize,
    /// Twin less combination, with its 95 % interval.
    difference: Option<String>,
    #[serde(flatten)]
    effect: Effect,
}

impl Twice {
    /// True if identical twins differ: the machine or the workload has an effect that the
    /// statistics do not account for.
    fn differs(&self) -> bool {
        matches!(self.effect.verdict, Verdict::More | Verdict::Less)
    }
}

#[derive(Serialize)]
struct GivenUp {
    what: String,
    reason: String,
}

/// A metric of a combination, as its report has it.
#[derive(Serialize)]
struct Row {
    part: String,
    levels: Levels,
    metric: &'static str,
    unit: &'static str,
    n: usize,
    failed: usize,
    #[serde(flatten)]
    statistics: Statistics,
}

impl Summary {
    pub(super) fn of(experiment: &Experiment, ended: &Ended) -> Self {
        let run = ended.records.runs.first();
        let failed = |outcome: &Outcome| matches!(outcome, Outcome::Failed { .. });
        let trials = &ended.records.trials;
        let (rows, controls) = measured(experiment, ended);
        Self {
            schema: "bartizan-lab-summary/2",
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
            rows,
            controls,
        }
    }

    pub(super) fn is_clean(&self) -> bool {
        self.failed == 0
            && self.given_up.is_empty()
            && self.not_run.is_empty()
            && !self.controls.iter().any(Twice::differs)
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

/// Rows and controls of these records' report, the runner's own floor first.
fn measured(experiment: &Experiment, ended: &Ended) -> (Vec<Row>, Vec<Twice>) {
    let mut experiment = experiment.clone();
    experiment.parts.insert(0, runner_part());
    let file = File {
        name: String::new(),
        records: ended.records.clone(),
    };
    let report = Report::of(&experiment, None, &[file]);
    let (mut rows, mut controls) = (Vec::new(), Vec::new());
    for part in report.parts {
        controls.extend(part.controls.iter().map(|control| Twice {
            part: part.id.clone(),
            levels: control.levels.clone(),
            metric: control.metric.name,
            n: control.n,
            difference: control.sentence(),
            effect: control.effect,
        }));
        for table in part.tables {
            for cell in table.rows {
                if let Some(statistics) = cell.statistics {
                    rows.push(Row {
                        part: part.id.clone(),
                        levels: cell.levels,
                        metric: table.metric.name,
                        unit: table.metric.unit,
                        n: statistics.trials,
                        failed: cell.failed,
                        statistics,
                    });
                }
            }
        }
    }
    (rows, controls)
}

pub(super) fn table(summary: &Summary) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for group in summary
        .rows
        .chunk_by(|one, other| (&one.part, one.metric) == (&other.part, other.metric))
    {
        let Row { part, metric, unit, .. } = &group[0];
        let typical = Sample::new(group.iter().map(|row| row.statistics.median.abs()));
        let shown = bartizan_report::quantity::for_values(unit, typical.map_or(0.0, |sample| sample.median()));
        let _ = writeln!(text, "{part}: {metric}, {}", shown.symbol);
        let mut table = Table::new([Left, Right, Right, Right, Left]);
        table.push(["", "n", "median", "95 % interval", ""]);
        for row in group {
            let statistics = &row.statistics;
            let (median, interval) = match statistics.interval {
                Some(interval) => shown.parts(statistics.median, interval),
                None => (shown.number(statistics.median), "-".to_owned()),
            };
            let failed = match row.failed {
                0 => String::new(),
                failed => format!("{failed} failed"),
            };
            let trials = statistics.trials.to_string();
            table.push([row.levels.to_string(), trials, median, interval, failed]);
        }
        text.push_str(&table.indented());
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
    two_of_the_same(text, &summary.controls);
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
         median: of the medians of trials; interval: with the dependence of trials that follow each other"
    );
}

/// Each that differs, and how many there are.
fn two_of_the_same(text: &mut String, controls: &[Twice]) {
    if controls.is_empty() {
        return;
    }
    for one in controls.iter().filter(|one| one.differs()) {
        let difference = one.difference.as_deref().unwrap_or_default();
        let Twice {
            part,
            levels,
            metric,
            n,
            ..
        } = one;
        let _ = writeln!(
            text,
            "two of the same differ: {part}: {metric} of {levels}: {difference}, {n} pairs"
        );
    }
    let count = |verdict: fn(&Twice) -> bool| controls.iter().filter(|one| verdict(one)).count();
    let few = count(|one| one.effect.verdict == Verdict::TooFew);
    let differing = count(Twice::differs);
    let _ = writeln!(
        text,
        "two of the same: {differing} of {} differ at 1 % of a part together; {few} have too few trials to say",
        controls.len()
    );
}
