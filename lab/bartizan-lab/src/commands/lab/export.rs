//! `bartizan lab export`.

use std::path::PathBuf;

use bartizan_report::{Quickness, Report, samples_csv, standalone, summary_csv};
use serde_json::json;

use crate::commands::lab::Where;
use crate::commands::lab::records::Sources;
use crate::output::print;
use crate::output::write_document;
use crate::{Failure, Outcome};

/// Turn records into tables for other programs, or one plot into a picture of its own.
///
/// `bartizan lab export peers --plot latency/bars --file latency.svg` writes a picture that is
/// readable on light and dark pages.
///
/// Exit code 1 says that lines of a file were no records; good records are used.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan lab export peers > peers.csv\n  \
    bartizan lab export peers --plot latency/bars --file latency.svg")]
pub(crate) struct Args {
    /// Experiment, run (EXPERIMENT/RUN) or files of records of one experiment
    #[arg(value_name = "ID|FILE", required = true)]
    names: Vec<String>,

    /// Format
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    format: Format,

    /// A plot instead: PART/KIND, PART/KIND/METRIC where a part has several of a kind
    #[arg(long, value_name = "PART/KIND", conflicts_with = "format")]
    plot: Option<String>,

    /// Write to this file [default: standard output]
    #[arg(long = "file", value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    sources: Sources,

    #[command(flatten)]
    place: Where,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// One row per sample
    Csv,
    /// One row per combination and metric
    Summary,
    /// The trials as recorded, by schema `bartizan-lab-export/1`
    Json,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let sources = args.sources.read(&args.names, &args.place.collection())?;
    let [source] = sources.as_slice() else {
        return Err(
            Failure::usage("records of several experiments are not exported together").hint("name one of them"),
        );
    };
    let report = Report::of(&source.found.experiment, source.found.published.as_ref(), &source.files);
    let text = match &args.plot {
        Some(name) => plot(&report, name)?,
        None => match args.format {
            Format::Csv => samples_csv(&report),
            Format::Summary => summary_csv(&report),
            Format::Json => {
                let document = json!({
                    "schema": "bartizan-lab-export/1",
                    "experiment": report.heading.id,
                    "trials": report.trials,
                });
                serde_json::to_string_pretty(&document).map_err(Failure::new)? + "\n"
            }
        },
    };
    match &args.out {
        Some(path) => write_document(path, &text)?,
        None => print(&text)?,
    }
    Ok(if source.damaged > 0 {
        Outcome::Finding
    } else {
        Outcome::Clean
    })
}

/// The plot of this name as a file of its own.
fn plot(report: &Report, name: &str) -> Result<String, Failure> {
    let all: Vec<_> = report
        .parts
        .iter()
        .flat_map(|part| part.figures.iter().map(move |figure| (part, figure)))
        .collect();
    let full = |index: usize| format!("{}/{}/{}", all[index].0.id, all[index].1.kind, all[index].1.metric);
    let matching: Vec<usize> = (0..all.len())
        .filter(|&index| {
            let full = full(index);
            full == name || full.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'))
        })
        .collect();
    let [index, others @ ..] = matching.as_slice() else {
        let mut known: Vec<String> = (0..all.len()).map(full).collect();
        known.dedup();
        let failure = Failure::usage(format!(
            "{} has no plot {name} with anything measured in it",
            report.heading.id
        ));
        return Err(if known.is_empty() {
            failure.hint("it has none")
        } else {
            failure.hint(format!("it has {}", known.join(", ")))
        });
    };
    if let Some(other) = others.iter().find(|other| full(**other) != full(*index)) {
        return Err(Failure::usage(format!("{name} is several plots")).hint(format!(
            "name one of them: {}, {}",
            full(*index),
            full(*other)
        )));
    }
    let quick = if report.quickness == Quickness::Quick {
        "Quick run, which proves nothing. "
    } else {
        ""
    };
    let day = report
        .heading
        .span
        .as_ref()
        .and_then(|(_, last)| last.get(..10))
        .unwrap_or_default();
    let note = format!(
        "{quick}{} Experiment {}, {day}.",
        all[*index].1.caption, report.heading.id
    );
    Ok(standalone(&all[*index].1.drawing, &note))
}
