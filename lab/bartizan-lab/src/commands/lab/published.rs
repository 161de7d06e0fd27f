//! `bartizan lab published`.

use bartizan_report::Count;

use crate::commands::lab::{Where, records, refused};
use crate::output::{out, outln};
use crate::{Failure, Outcome};

/// Count the values that papers print: compared with the kept records, not comparable, not measured.
///
/// Each value is listed with its comparison, or with what a comparison needs. A value that several
/// experiments have counts once.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan lab published --experiments lab/experiments\n  \
    bartizan lab published --json | jq .count")]
pub(crate) struct Args {
    #[command(flatten)]
    place: Where,

    /// Print them as JSON (schema `bartizan-lab-published/1`)
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let collection = args.place.collection();
    let (mut count, mut outcome) = (Count::default(), Outcome::Clean);
    for id in collection.ids().map_err(|error| refused(&error))? {
        let found = collection.load(&id).map_err(|error| refused(&error))?;
        if found.published.is_none() {
            continue;
        }
        let Some(source) = records::kept(found)? else { continue };
        if source.damaged > 0 {
            outcome = Outcome::Finding;
        }
        if let Some(published) = &source.found.published {
            count.add(&source.found.experiment, published, &source.files);
        }
    }
    if count.values().is_empty() {
        return Err(Failure::new("there are no records next to the experiments")
            .hint("--experiments DIR names experiments with records, such as lab/experiments of a checkout"));
    }
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&count.json()).map_err(Failure::new)?);
    } else {
        out!("{}", count.text());
    }
    Ok(outcome)
}
