//! Overhead of the runner itself, recorded in every run: no workload can be measured finer than
//! that.

use std::time::Duration;

pub(super) use crate::runner::experiment::RUNNER;
use crate::runner::experiment::{Levels, Parameters, Part, Quick};
use crate::workload::Kind;

/// The part that does nothing.
#[must_use]
pub fn runner_part() -> Part {
    let workload: &'static Kind = Kind::clock();
    let parameters: Parameters = workload
        .parameters
        .iter()
        .filter_map(|kind| Some((kind.name.to_owned(), kind.default?.value())))
        .collect();
    Part {
        id: RUNNER.to_owned(),
        question: Some("What does the runner itself take?".to_owned()),
        workload,
        factors: Vec::new(),
        combinations: vec![Levels::default()],
        quick: Quick {
            repetitions: 5,
            parameters: parameters.clone(),
        },
        parameters,
        repetitions: 20,
        warm_up: 1,
        bound: Duration::from_secs(20),
        metrics: workload.metrics.iter().collect(),
        floor: None,
        controls: Vec::new(),
        comparisons: Vec::new(),
        plots: Vec::new(),
    }
}
