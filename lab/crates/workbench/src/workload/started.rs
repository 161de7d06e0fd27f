//! A workload as a test asks it for trials, with what a worker would have given it.

use std::path::Path;

use serde_json::Value;

use super::{Kind, Levels, Parameters, Setting, Workload};
use crate::stand_in::proxies::Tools;

/// Starts a workload with these parameters, its defaults for the others.
pub(super) fn started(
    kind: &Kind,
    combinations: &[Levels],
    given: &[(&str, Value)],
    tools: &Tools,
    folder: &Path,
    processors: &[usize],
) -> Box<dyn Workload> {
    let defaults = kind.parameters.iter();
    let defaults = defaults.filter_map(|one| Some((one.name, one.default?.value())));
    let given = given.iter().map(|(name, value)| (*name, value.clone()));
    let parameters: Parameters = defaults
        .chain(given)
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let setting = Setting {
        part: "test",
        combinations,
        parameters: &parameters,
        tools,
        folder,
        seed: 1,
        quick: true,
        target: None,
        processors,
    };
    (kind.start)(&setting).unwrap()
}
