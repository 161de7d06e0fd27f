//! Experiments that cannot be run here, as `bartizan-lab list` reports them.

use std::process::Command;

use serde::Deserialize;

use super::feature::{Need, Readiness, Weight};
use crate::laboratory;

#[derive(Deserialize)]
struct Listing {
    experiments: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    parts: Vec<Part>,
}

#[derive(Deserialize)]
struct Part {
    id: String,
    combinations: usize,
    lacks: Vec<Lack>,
}

#[derive(Deserialize)]
struct Lack {
    what: String,
    reason: String,
    hint: String,
    combinations: usize,
}

/// The laboratory, and each of its experiments.
pub(super) fn all_readiness() -> Vec<Readiness> {
    let program = laboratory::program();
    let listed = Command::new(&program).args(["list", "--json"]).output();
    let reason = match listed {
        Ok(output) => match serde_json::from_slice::<Listing>(&output.stdout) {
            Ok(listing) => {
                let whole = Readiness::new("lab".to_owned(), false, Vec::new());
                return std::iter::once(whole)
                    .chain(listing.experiments.iter().map(readiness))
                    .collect();
            }
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    };
    let need = Need {
        any: Vec::new(),
        weight: Weight::Needed,
        because: format!("{} runs experiments", program.display()),
        met: false,
        reason: Some(reason),
        get: Some(laboratory::HINT.to_owned()),
    };
    vec![Readiness::new("lab".to_owned(), false, vec![need])]
}

/// A part that lacks something in every combination cannot be run; one that lacks it in some leaves those out.
fn readiness(experiment: &Entry) -> Readiness {
    let parts = experiment.parts.iter();
    let needs = parts.flat_map(|part| {
        let lacking: usize = part.lacks.iter().map(|lack| lack.combinations).sum();
        part.lacks.iter().map(move |lack| Need {
            any: Vec::new(),
            weight: if lacking == part.combinations {
                Weight::Needed
            } else {
                Weight::Wanted
            },
            because: format!(
                "{}: {} of {} combinations of part {}",
                lack.what, lack.combinations, part.combinations, part.id
            ),
            met: false,
            reason: Some(lack.reason.clone()),
            get: Some(lack.hint.clone()),
        })
    });
    Readiness::new(format!("lab/{}", experiment.id), false, needs.collect())
}
