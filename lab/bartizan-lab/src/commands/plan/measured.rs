//! `bartizan plan measured`: what the planner predicts next to what the lab measured.

mod fragments;
mod handshakes;
mod set_ups;
mod sizes;
mod storms;
mod throughput;
mod transfers;

use std::collections::BTreeMap;
use std::path::PathBuf;

use bartizan_budget::Source;
use bartizan_estimators::Sample;
use bartizan_page::sheet::{Field, Grid, Section, Sheet, Tone};
use bartizan_workbench::runner::trial::{KernelKind, Outcome as Trial, Record, Records};
use serde::Serialize;
use serde_json::Value;

use super::costs::CostArgs;
use crate::{Failure, Outcome};
use bartizan_terminal::answer::{Form, again, cited, give, number};

/// Version of the JSON form: it changes when a field changes its meaning or goes.
const SCHEMA: &str = "bartizan-plan-measured/2";
/// A median absolute error up to this is what the planner is to reach.
const TARGET: f64 = 0.15;

/// Compare what the planner predicts with what the lab measured: set-ups by round trip and loss,
/// delay by size, throughput by cipher, transfers by MTU, TLS handshakes, storms.
///
/// Records say by themselves what they are compared with. Each section names what is taken from the
/// same records and what is predicted. Exit code 1 where a median absolute error is above 15 %.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan plan measured lab/experiments/sa-setup-path/records/RUN.jsonl.gz\n  \
    bartizan plan measured lab/experiments/{paper4-tls,e2-delay-by-size,e2-throughput}/records/*.gz --out plan\n  \
    bartizan plan measured results/sa-setup-path/RUN.jsonl --json | jq .comparisons[].median_absolute_error")]
pub(crate) struct Args {
    /// Records (.jsonl, .jsonl.gz) of sa-setup-path, e2-delay-by-size, e2-throughput, fh-mtu,
    /// paper4-tls, handshake-storm, or of any experiment with the same factors and metrics
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    costs: CostArgs,
    #[command(flatten)]
    form: Form,
}

/// A kind of prediction, compared.
struct Compared {
    /// Name of the compared quantity.
    what: &'static str,
    /// Errors of the predictions, `predicted / measured - 1`.
    errors: Vec<f64>,
    /// The sentence of it.
    answer: String,
    sections: Vec<Section>,
    limits: Vec<String>,
    sources: Vec<Source>,
    /// Its rows, for JSON.
    rows: Value,
}

#[derive(Serialize)]
struct Comparison {
    what: &'static str,
    /// Number of predictions with a measured value.
    n: usize,
    median_absolute_error: f64,
    within_target: bool,
    rows: Value,
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    target: f64,
    comparisons: Vec<Comparison>,
    sources: Vec<Source>,
}

/// A comparison of predictions with files of records; none if no file is of its kind.
type Compare = fn(&[File], &super::costs::Costs) -> Result<Option<Compared>, Failure>;

const COMPARISONS: [Compare; 8] = [
    set_ups::compare,
    fragments::compare,
    sizes::compare,
    throughput::compare,
    transfers::compare,
    handshakes::compare,
    storms::ikev2,
    storms::tls,
];

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let files = args
        .files
        .iter()
        .map(|file| {
            let records =
                Records::read(file).map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
            Ok(File {
                name: file.display().to_string(),
                records,
            })
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    let costs = args.costs.read()?;
    let mut compared = Vec::new();
    for compare in COMPARISONS {
        compared.extend(compare(&files, &costs)?);
    }
    if compared.is_empty() {
        return Err(
            Failure::usage("nothing in these records is something that the planner predicts").hint(
                "records of the experiments sa-setup-path, e2-delay-by-size, e2-throughput, paper4-tls and handshake-storm have: bartizan lab run ID",
            ),
        );
    }
    let comparisons = compared.iter().map(|compared| {
        let median = median_absolute(&compared.errors);
        Comparison {
            what: compared.what,
            n: compared.errors.len(),
            median_absolute_error: median,
            within_target: median <= TARGET,
            rows: compared.rows.clone(),
        }
    });
    let report = Report {
        schema: SCHEMA,
        target: TARGET,
        comparisons: comparisons.collect(),
        sources: compared.iter().flat_map(|compared| compared.sources.clone()).collect(),
    };
    give("measured", &sheet(&report, compared, &files), &report, &args.form)?;
    let is_within = report.comparisons.iter().all(|comparison| comparison.within_target);
    Ok(if is_within { Outcome::Clean } else { Outcome::Finding })
}

fn sheet(report: &Report, compared: Vec<Compared>, files: &[File]) -> Sheet {
    let mut sections = vec![overview(report)];
    let (mut answers, mut limits) = (Vec::new(), Vec::new());
    for one in compared {
        answers.push(one.answer);
        sections.extend(one.sections);
        limits.extend(one.limits);
    }
    limits.extend(conditions(files));
    Sheet {
        command: "bartizan plan measured".to_owned(),
        title: "Predicted and measured".to_owned(),
        question: "How far is the planner from what the lab measured?".to_owned(),
        answer: answers.join(" "),
        sections,
        limits,
        sources: cited(report.sources.iter().cloned()),
        again: again(),
    }
}

fn overview(report: &Report) -> Section {
    let mut section = Section::new("errors");
    let mut grid = Grid::under(
        format!(
            "median absolute error of predictions; the aim is {} %",
            number(report.target * 100.0, 0)
        ),
        ["what", "#predictions", "#error %", "within the aim"],
    );
    for comparison in &report.comparisons {
        grid.push([
            Field::from(comparison.what),
            Field::from(comparison.n.to_string()),
            Field::from(number(comparison.median_absolute_error * 100.0, 1)),
            if comparison.within_target {
                Field::toned("yes", Tone::Good)
            } else {
                Field::toned("no", Tone::Bad)
            },
        ]);
    }
    section.tables.push(grid);
    section
}

/// Cautions about the records.
fn conditions(files: &[File]) -> Vec<String> {
    let all = || files.iter().flat_map(|file| &file.records.trials);
    let mut words = Vec::new();
    if all().any(|record| record.environment.kernel_kind == KernelKind::Guest) {
        words.push(
            "Where a record's kernel is a guest's, computing and waking up take longer than on the machine.".to_owned(),
        );
    }
    if all().any(|record| record.quick) {
        words.push("Some of these records are of a quick run: few repetitions.".to_owned());
    }
    // A guest's load is its own work alone.
    let own = || all().filter(|record| record.environment.kernel_kind == KernelKind::Host);
    let load = own().map(|record| record.load).fold(0.0, f64::max);
    let processors = own()
        .map(|record| record.environment.processors.len())
        .max()
        .unwrap_or(1);
    if load > processors as f64 {
        words.push(format!(
            "The machine had a load of up to {load:.1} with {processors} processors: its times are noisy."
        ));
    }
    words
}

/// A file of records with its name.
struct File {
    name: String,
    records: Records,
}

impl File {
    /// Trials that came out, with their values.
    fn measured(&self) -> impl Iterator<Item = (&Record, &BTreeMap<String, Vec<f64>>)> {
        self.records.trials.iter().filter_map(|record| match &record.outcome {
            Trial::Measured { values, .. } => Some((record, values)),
            Trial::Failed { .. } => None,
        })
    }

    /// A further fact of a trial.
    fn fact<'a>(&self, record: &'a Record, name: &str) -> Option<&'a Value> {
        match &record.outcome {
            Trial::Measured { facts, .. } => facts.get(name),
            Trial::Failed { .. } => None,
        }
    }

    /// As a source, with what it is of.
    fn source(&self, what: &str) -> Source {
        let guest = self
            .records
            .trials
            .iter()
            .any(|record| record.environment.kernel_kind == KernelKind::Guest);
        let kernel = if guest { ", on a guest's kernel" } else { "" };
        Source::record(self.name.clone(), format!("{what}{kernel}"))
    }
}

/// The level of a factor as a number.
fn numeric<N: std::str::FromStr>(record: &Record, factor: &str) -> Option<N> {
    record.levels.level(factor).and_then(|level| level.parse().ok())
}

fn median(values: &[f64]) -> Option<f64> {
    Sample::new(values.iter().copied()).ok().map(|sample| sample.median())
}

/// The median of absolute errors; endless where there is none, which no target admits.
fn median_absolute(errors: &[f64]) -> f64 {
    let absolute: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    median(&absolute).unwrap_or(f64::INFINITY)
}

/// An error as a cell: good within the aim.
fn error_field(error: f64) -> Field {
    let tone = if error.abs() <= TARGET { Tone::Good } else { Tone::Bad };
    Field::toned(format!("{:+.1}", error * 100.0), tone)
}

/// Rows as JSON.
fn rows(of: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(of).map_err(Failure::new)
}
