//! `bartizan lab compare`.

use bartizan_page::quantity::Shown;
use bartizan_report::quantity::words;
use bartizan_report::{Change, Changed, Direction, Verdict, compare};
use serde::Serialize;

use crate::commands::lab::records::Sources;
use crate::commands::lab::{Where, refused};
use crate::output::{out, outln};
use crate::table::Table;
use crate::{Failure, Outcome};

/// Say what changed from one run to another: for every combination and metric the shift and the
/// ratio with their intervals.
///
/// A change is named where all combinations together are 95 % sure of it and where it is larger
/// than the threshold. Runs at different times meet different conditions of the machine: where the
/// floor changed, the machine did.
///
/// Exit code 1 says that something got worse by more than the threshold, or that lines of a file were no records.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan lab compare peers/1 peers/2 --threshold 5")]
pub(crate) struct Args {
    /// The run before: a file of records, or EXPERIMENT/RUN
    #[arg(value_name = "A")]
    before: String,

    /// The run after
    #[arg(value_name = "B")]
    after: String,

    /// Changes up to this share of the earlier value count as no change, in per cent
    #[arg(long, value_name = "PER CENT", default_value_t = 3.0, value_parser = per_cent)]
    threshold: f64,

    /// Print also what did not change
    #[arg(long)]
    all: bool,

    /// Print everything as JSON (schema `bartizan-lab-compare/2`)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    sources: Sources,

    #[command(flatten)]
    place: Where,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    experiment: &'a str,
    before: &'a str,
    after: &'a str,
    changes: Vec<Row<'a>>,
    threshold: f64,
    worse: usize,
    better: usize,
}

#[derive(Serialize)]
struct Row<'a> {
    part: &'a str,
    metric: &'static str,
    unit: &'static str,
    levels: &'a bartizan_workbench::runner::experiment::Levels,
    floor: bool,
    #[serde(flatten)]
    changed: Changed,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let (id, before) = args.sources.read_one(&args.before)?;
    let (other, after) = args.sources.read_one(&args.after)?;
    if id != other {
        return Err(Failure::usage(format!(
            "{} is of experiment {id}, {} of {other}",
            before.name, after.name
        ))
        .hint("only runs of the same experiment can be compared"));
    }
    let found = args.place.collection().load(&id).map_err(|error| refused(&error))?;
    let changes = compare(
        &found.experiment,
        &before.records.trials,
        &after.records.trials,
        args.threshold / 100.0,
    );
    if changes.is_empty() {
        return Err(Failure::new(format!(
            "{} and {} have no combination in common",
            before.name, after.name
        ))
        .hint("compare runs of the same parts of the same version of an experiment"));
    }
    let count = |direction| changes.iter().filter(|change| change.is(direction)).count();
    let (worse, better) = (count(Direction::Worse), count(Direction::Better));
    if args.json {
        let document = Document {
            schema: "bartizan-lab-compare/2",
            experiment: &id,
            before: &before.name,
            after: &after.name,
            changes: changes.iter().map(row).collect(),
            threshold: args.threshold / 100.0,
            worse,
            better,
        };
        outln!("{}", serde_json::to_string_pretty(&document).map_err(Failure::new)?);
    } else {
        let same = |change: &&Change| {
            matches!(
                change.changed.effect.verdict,
                Verdict::NoDifference | Verdict::WithinControl
            )
        };
        out!("{}", table(changes.iter().filter(|change| args.all || !same(change))));
        let unknown = changes
            .iter()
            .filter(|change| change.changed.effect.verdict == Verdict::TooFew)
            .count();
        let too_few = if unknown > 0 {
            format!(", {unknown} with too few trials to say")
        } else {
            String::new()
        };
        outln!("{} compared: {worse} worse, {better} better{too_few}", changes.len());
        let quick = |file: &bartizan_report::File| file.records.trials.iter().any(|record| record.quick);
        if quick(&before) || quick(&after) {
            outln!("one of them is a quick run, which proves nothing");
        }
        let moved =
            |change: &&Change| change.floor && matches!(change.changed.effect.verdict, Verdict::More | Verdict::Less);
        if let Some(floor) = changes.iter().find(moved) {
            outln!(
                "the floor itself changed ({} {}): the machine did, not what was measured",
                floor.part,
                floor.levels
            );
        }
    }
    let damaged = !before.records.damage.is_empty() || !after.records.damage.is_empty();
    Ok(if worse > 0 || damaged {
        Outcome::Finding
    } else {
        Outcome::Clean
    })
}

fn per_cent(text: &str) -> Result<f64, String> {
    let number = text
        .parse::<f64>()
        .ok()
        .filter(|number| (0.0..=1000.0).contains(number));
    number.ok_or_else(|| "a number from 0 to 1000".to_owned())
}

fn row(change: &Change) -> Row<'_> {
    Row {
        part: &change.part,
        metric: change.metric.name,
        unit: change.metric.unit,
        levels: &change.levels,
        floor: change.floor,
        changed: change.changed,
    }
}

fn table<'a>(changes: impl Iterator<Item = &'a Change>) -> String {
    let mut changes = changes.peekable();
    if changes.peek().is_none() {
        return String::new();
    }
    let mut table = Table::under([
        "part",
        "what",
        "metric",
        "before",
        "after",
        "shift [95 %]",
        "ratio [95 %]",
        "effect",
    ]);
    for change in changes {
        let changed = &change.changed;
        let shown = change.shown();
        let estimate = |shown: &Shown, estimate: Option<bartizan_estimators::Estimate>| {
            estimate.map_or_else(|| "-".to_owned(), |estimate| shown.of(&estimate))
        };
        table.push([
            change.part.clone(),
            words(&change.levels),
            change.metric.name.to_owned(),
            shown.value(changed.medians.0),
            shown.value(changed.medians.1),
            estimate(&shown, changed.shift),
            estimate(&Shown::bare(), changed.ratio),
            changed.effect.words_by_threshold(),
        ]);
    }
    table.render()
}
