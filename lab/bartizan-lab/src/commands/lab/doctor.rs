//! `bartizan-lab doctor`: things that experiments lack on this machine.

use std::collections::BTreeMap;

use bartizan_workbench::stand_in::proxies::Tools;
use serde::Serialize;

use super::list::{Entry, entries};
use super::{Where, refused};
use crate::output::{out, outln};
use crate::{Failure, Outcome};

/// Show what experiments lack on this machine, each thing once, and how to get it.
///
/// Findings, exit code 1, are experiments that cannot be run whole.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan lab doctor\n  \
    bartizan lab doctor --json | jq .lacks")]
pub(crate) struct Args {
    #[command(flatten)]
    place: Where,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    experiments: usize,
    /// Experiments of which every combination can be run here.
    whole: usize,
    lacks: Vec<Lack>,
}

#[derive(Serialize)]
struct Lack {
    what: String,
    reason: String,
    hint: String,
    /// Combinations that it keeps, by experiment.
    combinations: BTreeMap<String, usize>,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let collection = args.place.collection();
    let tools = Tools::find(crate::commands::own()?, None).map_err(Failure::new)?;
    let (entries, wrong) = entries(&collection, &tools).map_err(|error| refused(&error))?;
    let report = Report::of(&entries);
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&report).map_err(Failure::new)?);
    } else {
        out!("{}", report.text());
    }
    match wrong {
        Some(failure) => Err(failure),
        None if report.lacks.is_empty() => Ok(Outcome::Clean),
        None => Ok(Outcome::Finding),
    }
}

impl Report {
    fn of(entries: &[Entry]) -> Self {
        let mut lacks: Vec<Lack> = Vec::new();
        for entry in entries {
            for lacking in entry.parts.iter().flat_map(|part| &part.lacks) {
                let known = lacks
                    .iter_mut()
                    .find(|known| known.what == lacking.what && known.hint == lacking.hint);
                let combinations = match known {
                    Some(known) => &mut known.combinations,
                    None => {
                        lacks.push(Lack {
                            what: lacking.what.clone(),
                            reason: lacking.reason.clone(),
                            hint: lacking.hint.clone(),
                            combinations: BTreeMap::new(),
                        });
                        let last = lacks.len() - 1;
                        &mut lacks[last].combinations
                    }
                };
                *combinations.entry(entry.id.clone()).or_insert(0) += lacking.combinations;
            }
        }
        let whole = entries
            .iter()
            .filter(|entry| entry.parts.iter().all(|part| part.lacks.is_empty()));
        Self {
            schema: "bartizan-lab-doctor/1",
            experiments: entries.len(),
            whole: whole.count(),
            lacks,
        }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{} of {} experiments can be run here whole\n",
            self.whole, self.experiments
        );
        for lack in &self.lacks {
            let kept = lack.combinations.iter().map(|(id, count)| format!("{id} ({count})"));
            text.push_str(&format!(
                "\n{}: {}\n  hint: {}\n  combinations of {}\n",
                lack.what,
                lack.reason,
                lack.hint,
                kept.collect::<Vec<_>>().join(", ")
            ));
        }
        text
    }
}
