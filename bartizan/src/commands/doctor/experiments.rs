//! What the experiments lack here, in the words of the workloads that would run.

use std::env;

use bartizan_lab::runner::experiment::{Collection, Experiment};
use bartizan_lab::stand_in::proxies::Tools;
use bartizan_lab::workload::Lack;

use super::feature::{Need, Readiness, Weight};
use crate::Failure;

/// Each experiment of `./experiments` or of this binary.
pub(super) fn all_readiness() -> Result<Vec<Readiness>, Failure> {
    let own = env::current_exe().map_err(|error| Failure::new(format!("finding this binary: {error}")))?;
    let tools = Tools::find(own, None).map_err(Failure::new)?;
    let collection = Collection::find(None);
    let failed = |error: bartizan_lab::runner::experiment::CollectionError| {
        let failure = Failure::new(&error);
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    };
    let ids = collection.ids().map_err(failed)?;
    ids.iter()
        .map(|id| {
            let found = collection.load(id).map_err(failed)?;
            Ok(readiness(&found.experiment, &tools))
        })
        .collect()
}

/// A part that lacks something in every combination cannot be run; one that lacks it in some leaves those out.
fn readiness(experiment: &Experiment, tools: &Tools) -> Readiness {
    let mut needs = Vec::new();
    for part in &experiment.parts {
        let lacks: Vec<Lack> = part
            .combinations
            .iter()
            .filter_map(|levels| (part.workload.lacks)(levels, tools))
            .collect();
        let all = lacks.len() == part.combinations.len();
        let mut reported: Vec<&Lack> = Vec::new();
        for lack in &lacks {
            if reported.contains(&lack) {
                continue;
            }
            reported.push(lack);
            let count = lacks.iter().filter(|other| *other == lack).count();
            needs.push(Need {
                any: Vec::new(),
                weight: if all { Weight::Needed } else { Weight::Wanted },
                because: format!(
                    "{}: {count} of {} combinations of part {}",
                    lack.what,
                    part.combinations.len(),
                    part.id
                ),
                met: false,
                reason: Some(lack.reason.clone()),
                get: Some(lack.hint.clone()),
            });
        }
    }
    Readiness::new(format!("lab/{}", experiment.id), false, needs)
}
