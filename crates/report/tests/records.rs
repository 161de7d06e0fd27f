//! The records that are kept beside the experiments are of them as they are, or somebody has said that they are not.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use bartizan_lab::experiment::Collection;
use bartizan_lab::trial::Records;

fn experiments() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments")
}

/// Experiments that wait to be measured again, with the reason: a line for each.
fn waiting() -> Vec<(String, String)> {
    let text = fs::read_to_string(experiments().join("to-measure.txt")).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let entry = |line: &str| line.split_once(": ").map(|(id, why)| (id.to_owned(), why.to_owned()));
    lines
        .map(|line| entry(line).unwrap_or_else(|| panic!("{line}")))
        .collect()
}

#[test]
fn records_are_of_the_experiment_as_it_is_or_it_stands_among_those_to_be_measured() {
    let collection = Collection::find(Some(&experiments()));
    let mut stale = BTreeSet::new();
    for id in collection.ids().unwrap() {
        let experiment = collection.load(&id).unwrap().experiment;
        let files = fs::read_dir(experiments().join(&id).join("records"))
            .into_iter()
            .flatten()
            .flatten();
        let trials: Vec<_> = files
            .flat_map(|file| Records::read(&file.path()).unwrap().trials)
            .collect();
        let own = trials.iter().all(|record| record.digest == experiment.digest);
        if trials.is_empty() || !own {
            stale.insert(id);
        }
    }
    let named: BTreeSet<String> = waiting().into_iter().map(|(id, _)| id).collect();
    assert_eq!(
        named, stale,
        "on the left what experiments/to-measure.txt names, on the right what has no record of the experiment as it is: measure it \
         (docs/experiments.md), or name it there with the reason"
    );
}

#[test]
fn whatever_waits_to_be_measured_says_why() {
    for (id, why) in waiting() {
        assert!(why.split_whitespace().count() >= 4, "{id}: {why}");
    }
}

#[test]
fn records_are_read_whole() {
    // A line that no longer can be read would vanish from its report.
    let collection = Collection::find(Some(&experiments()));
    for id in collection.ids().unwrap() {
        let files = fs::read_dir(experiments().join(&id).join("records"))
            .into_iter()
            .flatten()
            .flatten();
        for file in files {
            let records = Records::read(&file.path()).unwrap();
            assert!(
                records.damage.is_empty(),
                "{}: {:?}",
                file.path().display(),
                records.damage
            );
            assert!(
                !records.trials.is_empty() && !records.runs.is_empty(),
                "{}",
                file.path().display()
            );
        }
    }
}
