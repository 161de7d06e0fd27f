//! `bartizan lab list`.

use bartizan_workbench::runner::experiment::{Collection, CollectionError, Found, Part, Publication};
use bartizan_workbench::stand_in::proxies::Tools;
use bartizan_workbench::workload::Lack;
use serde::Serialize;

use crate::commands::lab::{Where, refused};
use crate::output::{out, outln};
use crate::{Failure, Outcome};

/// Show the experiments there are.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan lab list\n  \
    bartizan lab list --json | jq .experiments")]
pub(crate) struct Args {
    #[command(flatten)]
    place: Where,

    /// Print them as JSON (schema `bartizan-lab-list/1`)
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listing {
    schema: &'static str,
    experiments: Vec<Entry>,
}

#[derive(Serialize)]
pub(super) struct Entry {
    pub(super) id: String,
    title: String,
    question: String,
    /// Its number among those of this repository.
    paper: Option<usize>,
    /// Authors and year.
    publication: Option<Publication>,
    pub(super) parts: Vec<PartEntry>,
    published_values: usize,
    digest: String,
}

#[derive(Serialize)]
pub(super) struct PartEntry {
    pub(super) id: String,
    workload: &'static str,
    combinations: usize,
    repetitions: usize,
    quick_repetitions: usize,
    metrics: Vec<&'static str>,
    /// Combinations that cannot be run on this machine.
    pub(super) lacks: Vec<Lacking>,
}

/// Something that combinations of a part need and this machine lacks.
#[derive(Serialize)]
pub(super) struct Lacking {
    pub(super) what: String,
    pub(super) reason: String,
    pub(super) hint: String,
    pub(super) combinations: usize,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let collection = args.place.collection();
    let tools = Tools::find(crate::commands::own()?, None).map_err(Failure::new)?;
    let (entries, wrong) = entries(&collection, &tools).map_err(|error| refused(&error))?;
    if args.json {
        let listing = Listing {
            schema: "bartizan-lab-list/1",
            experiments: entries,
        };
        outln!("{}", serde_json::to_string_pretty(&listing).map_err(Failure::new)?);
    } else {
        out!("{}", table(&entries, &collection));
    }
    wrong.map_or(Ok(Outcome::Clean), Err)
}

/// Every experiment that can be read, and the failure of the first that cannot.
pub(super) fn entries(
    collection: &Collection,
    tools: &Tools,
) -> Result<(Vec<Entry>, Option<Failure>), CollectionError> {
    let (mut entries, mut wrong) = (Vec::new(), None);
    for id in &collection.ids()? {
        match collection.load(id) {
            Ok(found) => entries.push(Entry::of(found, tools)),
            // The others are still worth their lines.
            Err(error) => wrong = wrong.or(Some(refused(&error))),
        }
    }
    Ok((entries, wrong))
}

impl Entry {
    fn of(found: Found, tools: &Tools) -> Self {
        let experiment = found.experiment;
        Self {
            parts: experiment.parts.iter().map(|part| PartEntry::of(part, tools)).collect(),
            id: experiment.id,
            title: experiment.title,
            question: experiment.question,
            paper: experiment.source.as_ref().and_then(|source| source.paper.number()),
            publication: experiment.source.map(|source| source.paper),
            published_values: found.published.map_or(0, |published| published.values.len()),
            digest: experiment.digest,
        }
    }
}

impl PartEntry {
    fn of(part: &Part, tools: &Tools) -> Self {
        Self {
            id: part.id.clone(),
            workload: part.workload.name,
            combinations: part.combinations.len(),
            repetitions: part.repetitions,
            quick_repetitions: part.quick.repetitions,
            metrics: part.metrics.iter().map(|metric| metric.name).collect(),
            lacks: lacking(part, tools),
        }
    }
}

fn lacking(part: &Part, tools: &Tools) -> Vec<Lacking> {
    let lacks = part
        .combinations
        .iter()
        .filter_map(|levels| (part.workload.lacks)(levels, tools));
    let mut counted: Vec<(Lack, usize)> = Vec::new();
    for lack in lacks {
        match counted.iter_mut().find(|(known, _)| *known == lack) {
            Some((_, count)) => *count += 1,
            None => counted.push((lack, 1)),
        }
    }
    let lacking = counted.into_iter().map(|(lack, combinations)| Lacking {
        what: lack.what,
        reason: lack.reason,
        hint: lack.hint,
        combinations,
    });
    lacking.collect()
}

fn table(entries: &[Entry], collection: &Collection) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    let wide = |of: fn(&PartEntry) -> &str, least| {
        let parts = entries.iter().flat_map(|entry| &entry.parts);
        parts.map(|part| of(part).chars().count()).fold(least, usize::max)
    };
    let (parts, workloads) = (wide(|part| &part.id, 4), wide(|part| part.workload, 8));
    // Writing to a String cannot fail.
    for entry in entries {
        let by = entry.publication.as_ref();
        let by = by.map_or(String::new(), |publication| format!(" ({publication})"));
        let _ = writeln!(text, "{}: {}{by}", entry.id, entry.title);
        for part in &entry.parts {
            let _ = writeln!(
                text,
                "  {:<parts$}  {:<workloads$}  {:>4} combinations x {:>4} repetitions ({} quick)",
                part.id, part.workload, part.combinations, part.repetitions, part.quick_repetitions
            );
            for lack in &part.lacks {
                let _ = writeln!(
                    text,
                    "    {} of {} cannot be run here: {}: {} ({})",
                    lack.combinations, part.combinations, lack.what, lack.reason, lack.hint
                );
            }
        }
    }
    let place = match collection {
        Collection::Folder(folder) => folder.display().to_string(),
        Collection::BuiltIn => "this binary".to_owned(),
    };
    let _ = writeln!(text, "{} experiments in {place}", entries.len());
    text
}
