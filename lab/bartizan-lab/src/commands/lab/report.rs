//! `bartizan lab report`.

use std::path::PathBuf;

use bartizan_report::{AnswerPiece, Quickness, Report, html, json, markdown, summary_csv};

use crate::commands::lab::Where;
use crate::commands::lab::records::{Source, Sources};
use crate::output::outln;
use crate::output::{make_folder, write_document};
use crate::{Failure, Outcome};

/// Make a report of what was measured: the answer, published and measured values, plots, tables, conditions, raw data.
///
/// The page opens offline and needs nothing else. Without names, every experiment that has records
/// gets one: of its newest run, else of the records kept with the experiment. Several files of an
/// experiment are taken together.
///
/// Exit code 1 says that lines of a file were no records, or that there was no trial to report; good records are used.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan lab report peers\n  \
    bartizan lab report peers --format html,csv --out reports")]
pub(crate) struct Args {
    /// Experiments, runs (EXPERIMENT/RUN) or files of records
    #[arg(value_name = "ID|FILE")]
    names: Vec<String>,

    /// Write to DIR/EXPERIMENT/report.* [default: where the records are]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Formats to write
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Format::Html, Format::Md])]
    format: Vec<Format>,

    #[command(flatten)]
    sources: Sources,

    #[command(flatten)]
    place: Where,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// One file that needs nothing else
    Html,
    /// Tables for a repository
    Md,
    /// One row per combination and metric
    Csv,
    /// Everything, by schema `bartizan-lab-report/2`
    Json,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let sources = args.sources.read(&args.names, &args.place.collection())?;
    let mut outcome = Outcome::Clean;
    for source in &sources {
        let report = Report::of(&source.found.experiment, source.found.published.as_ref(), &source.files);
        if source.damaged > 0 || report.trials.is_empty() {
            outcome = Outcome::Finding;
        }
        write_report(args, source, &report)?;
    }
    Ok(outcome)
}

fn write_report(args: &Args, source: &Source, report: &Report) -> Result<(), Failure> {
    let folder = match &args.out {
        Some(folder) => folder.join(&report.heading.id),
        None => source.folder.clone(),
    };
    let quick = if report.quickness == Quickness::Quick {
        " of a quick run"
    } else {
        ""
    };
    outln!(
        "{}: {} trials{quick}, {} warnings",
        report.heading.id,
        report.trials.len(),
        report.warnings.len()
    );
    let answer: String = report.answer.iter().map(AnswerPiece::words).collect();
    if !answer.is_empty() {
        outln!("  {answer}");
    }
    for format in &args.format {
        let (extension, text) = match format {
            Format::Html => ("html", html(report)),
            Format::Md => ("md", markdown(report)),
            Format::Csv => ("csv", summary_csv(report)),
            Format::Json => {
                let text = serde_json::to_string_pretty(&json(report)).map_err(Failure::new)?;
                ("json", text + "\n")
            }
        };
        let path = folder.join(format!("report.{extension}"));
        make_folder(&folder)?;
        write_document(&path, &text)?;
        outln!("  {}", path.display());
    }
    Ok(())
}
