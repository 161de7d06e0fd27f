//! One short trial of each combination, for the tests of workloads.

use std::env;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::stand_in::proxies::Tools;
use crate::workload::started::started;
use crate::workload::{Kind, Levels, Observation, Trial};

/// No trial of a test takes so long.
const LONG: Duration = Duration::from_secs(300);

/// With these parameters; the others have their defaults.
pub(super) fn trials(kind: &'static Kind, given: &[(&str, u64)], combinations: &[&[(&str, &str)]]) -> Vec<Observation> {
    let given = given.iter().map(|&(name, value)| (name, Value::from(value)));
    trials_with(kind, given.collect(), combinations)
}

/// With these parameters of any type.
pub(super) fn trials_with(
    kind: &'static Kind,
    given: Vec<(&str, Value)>,
    combinations: &[&[(&str, &str)]],
) -> Vec<Observation> {
    let folder = tempfile::tempdir().unwrap();
    let tools = Tools::find(env::current_exe().unwrap(), None).unwrap();
    let of = |levels: &&[(&str, &str)]| -> Levels {
        let levels = levels.iter();
        levels
            .map(|(name, level)| ((*name).to_owned(), (*level).to_owned()))
            .collect()
    };
    let combinations: Vec<Levels> = combinations.iter().map(of).collect();
    for levels in &combinations {
        assert_eq!((kind.lacks)(levels, &tools), None);
    }
    let mut workload = started(kind, &combinations, &given, &tools, folder.path(), &[]);
    let mut trial = |levels| {
        let trial = Trial {
            levels,
            repetition: 0,
            seed: 1,
            deadline: Instant::now() + LONG,
        };
        workload
            .trial(&trial)
            .unwrap_or_else(|error| panic!("{levels}: {error}"))
    };
    combinations.iter().map(&mut trial).collect()
}
