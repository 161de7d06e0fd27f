//! Conditions of the trials: every value that occurs, with its number of trials.

use std::collections::BTreeMap;

use bartizan_estimators::Sample;
use bartizan_workbench::runner::trial::{Build, Calibration, Environment, KernelKind, Outcome, Record};
use serde::Serialize;

use super::{File, RUNNER};
use bartizan_page::quantity::Shown;

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Condition {
    /// Name of the condition.
    pub name: &'static str,
    /// Its values, each with the number of trials that had it, the commonest first.
    pub values: Vec<(String, usize)>,
}

impl Condition {
    /// Values in a line; how often each occurs where there are several.
    #[must_use]
    pub fn words(&self) -> String {
        match self.values.as_slice() {
            [(value, _)] => value.clone(),
            values => values
                .iter()
                .map(|(value, count)| format!("{value} ({count} trials)"))
                .collect::<Vec<_>>()
                .join("; "),
        }
    }
}

pub(crate) fn of(trials: &[Record], files: &[File]) -> Vec<Condition> {
    let mut conditions = Vec::new();
    let mut add = |name: &'static str, value: &dyn Fn(&Record) -> Option<String>| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for value in trials.iter().filter_map(value) {
            *counts.entry(value).or_default() += 1;
        }
        let mut values: Vec<(String, usize)> = counts.into_iter().collect();
        values.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
        if !values.is_empty() {
            conditions.push(Condition { name, values });
        }
    };
    let of = |value: fn(&Environment) -> Option<String>| move |record: &Record| value(&record.environment);
    add("Bartizan", &of(|environment| Some(environment.version.clone())));
    let build = |value: fn(&Build) -> String| {
        move |record: &Record| {
            let reported = record.environment.build.as_ref().map(value);
            Some(reported.unwrap_or_else(|| NOT_RECORDED.to_owned()))
        }
    };
    add("commit", &build(commit));
    add(
        "build",
        &build(|build| format!("{}, {}, {}", build.profile, build.target, build.compiler)),
    );
    add("features", &build(|build| build.features.join(", ")));
    add("libraries", &build(|build| build.libraries.join(", ")));
    add("kernel", &of(|environment| Some(environment.kernel.clone())));
    add(
        "whose kernel",
        &of(|environment| {
            Some(match environment.kernel_kind {
                KernelKind::Host => "the machine's".to_owned(),
                KernelKind::Guest => "a guest's, started for what the machine's lacks".to_owned(),
            })
        }),
    );
    add("processor", &of(|environment| environment.processor.clone()));
    let reported = |value: fn(&Environment) -> String| {
        move |record: &Record| {
            let reported = value(&record.environment);
            Some(if reported.is_empty() {
                NOT_RECORDED.to_owned()
            } else {
                reported
            })
        }
    };
    add(
        "flags of the processor",
        &reported(|environment| environment.processor_flags.join(" ")),
    );
    add(
        "clock",
        &reported(|environment| environment.clock_source.clone().unwrap_or_default()),
    );
    add(
        "processors of the run",
        &of(|environment| Some(listed(&environment.processors))),
    );
    add("processors of the worker", &|record| Some(listed(&record.cores)));
    add("priority", &of(|environment| Some(environment.priority.clone())));
    add(
        "autogroup",
        &of(|environment| environment.autogroup.map(|precedence| precedence.to_string())),
    );
    add(
        "network namespace",
        &of(|environment| Some(environment.namespace.clone())),
    );
    conditions.extend(load("load average", trials.iter().map(|record| record.load)));
    conditions.push(steal(trials));
    conditions.extend(calibration(trials));
    let under = trials.iter().filter_map(|record| record.under);
    conditions.extend(load("load average under the guest", under.map(|under| under.load)));
    let mut programs: BTreeMap<String, usize> = BTreeMap::new();
    for program in trials.iter().flat_map(|record| &record.environment.programs) {
        *programs.entry(program.clone()).or_default() += 1;
    }
    if !programs.is_empty() {
        conditions.push(Condition {
            name: "programs",
            values: vec![(programs.into_keys().collect::<Vec<_>>().join(", "), trials.len())],
        });
    }
    runs(trials, files, &mut conditions);
    conditions.extend(floor(trials));
    conditions
}

/// Text for records from before a condition was recorded.
const NOT_RECORDED: &str = "not recorded";

fn commit(build: &Build) -> String {
    let modified = match build.modified {
        Some(true) => ", sources differ from it",
        Some(false) => "",
        None => ", whether sources differ from it is not known",
    };
    match (&build.commit, &build.no_commit) {
        (Some(commit), _) => format!("{commit}{modified}"),
        (None, Some(reason)) => format!("not known: {reason}"),
        (None, None) => "not known".to_owned(),
    }
}

/// Processor time that a hypervisor took during trials.
fn steal(trials: &[Record]) -> Condition {
    let of = |record: &Record| match record.under {
        Some(under) => under.steal,
        None => record.steal,
    };
    let stolen = Sample::new(trials.iter().filter_map(|record| Some(of(record)?.during())));
    let value = match stolen {
        Ok(stolen) => {
            let sum: f64 = stolen.sorted().iter().sum();
            let most = stolen.quantile(1.0);
            (format!("{sum:.0} ms in all, up to {most:.0} ms in a trial"), stolen.n())
        }
        Err(_) => (NOT_RECORDED.to_owned(), trials.len()),
    };
    Condition {
        name: "steal",
        values: vec![value],
    }
}

/// Durations of fixed work before trials, by processor.
fn calibration(trials: &[Record]) -> Vec<Condition> {
    let mut by_processor: BTreeMap<usize, Vec<&Calibration>> = BTreeMap::new();
    for one in trials.iter().flat_map(|record| &record.calibration) {
        by_processor.entry(one.processor).or_default().push(one);
    }
    if by_processor.is_empty() {
        return vec![Condition {
            name: "calibration",
            values: vec![(NOT_RECORDED.to_owned(), trials.len())],
        }];
    }
    let described = by_processor.into_iter().map(|(processor, taken)| {
        let spread = |name: &str, value: fn(&Calibration) -> f64| {
            let sample = Sample::new(taken.iter().map(|one| value(one))).ok()?;
            let shown = crate::quantity::for_values("us", sample.median());
            let range = shown.range(sample.quantile(0.05), sample.quantile(0.95));
            Some(format!("{name} {} ({range})", shown.value(sample.median())))
        };
        let kinds = [
            spread("arithmetic", |one| one.arithmetic),
            spread("memory", |one| one.memory),
            spread("system calls", |one| one.system),
        ];
        let kinds: Vec<String> = kinds.into_iter().flatten().collect();
        (format!("processor {processor}: {}", kinds.join(", ")), taken.len())
    });
    vec![Condition {
        name: "calibration, median (5 to 95 %)",
        values: described.collect(),
    }]
}

/// Conditions that are recorded once for a run.
fn runs(trials: &[Record], files: &[File], conditions: &mut Vec<Condition>) {
    let count = |run: &str| trials.iter().filter(|record| record.run == run).count();
    let runs = || {
        files
            .iter()
            .flat_map(|file| &file.records.runs)
            .filter(|run| count(&run.run) > 0)
    };
    let mut add = |name: &'static str, values: Vec<(String, usize)>| {
        let mut unique: Vec<(String, usize)> = Vec::new();
        for value in values {
            if !unique.contains(&value) {
                unique.push(value);
            }
        }
        if !unique.is_empty() {
            conditions.push(Condition { name, values: unique });
        }
    };
    let seeds = runs().map(|run| (format!("{} of run {}", run.seed, run.run), count(&run.run)));
    add("seed of the order", seeds.collect());
    let targets = runs().filter_map(|run| Some((run.target.clone()?, count(&run.run))));
    add("measured against", targets.collect());
    let binaries = runs().filter_map(|run| Some((run.binary.clone()?, count(&run.run))));
    add("sidecar of", binaries.collect());
}

/// The runner's own share: what a trial of nothing takes.
fn floor(trials: &[Record]) -> Vec<Condition> {
    let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for record in trials.iter().filter(|record| record.part == RUNNER) {
        if let Outcome::Measured { values: measured, .. } = &record.outcome {
            for (metric, samples) in measured {
                values.entry(metric).or_default().extend(samples);
            }
        }
    }
    let said: Vec<String> = values
        .into_iter()
        .filter_map(|(metric, samples)| {
            let sample = Sample::new(samples).ok()?;
            let number = Shown::bare().number(sample.median());
            Some(format!("{metric} {number}, n {}", sample.n()))
        })
        .collect();
    if said.is_empty() {
        return Vec::new();
    }
    vec![Condition {
        name: "the runner itself",
        values: vec![(said.join("; "), trials.len())],
    }]
}

/// Averages over a minute; those that no kernel reported are left out.
fn load(name: &'static str, averages: impl Iterator<Item = f64>) -> Option<Condition> {
    let load = Sample::new(averages.filter(|load| *load >= 0.0)).ok()?;
    let words = format!(
        "{:.2} to {:.2}, median {:.2}",
        load.quantile(0.0),
        load.quantile(1.0),
        load.median()
    );
    Some(Condition {
        name,
        values: vec![(words, load.n())],
    })
}

/// Numbers of processors: `0, 2`; ranges as `0 to 7`.
fn listed(numbers: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let words = ranges.into_iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_listed_in_ranges() {
        assert_eq!(listed(&[0, 1, 2, 3, 5, 7, 8]), "0 to 3, 5, 7, 8");
        assert_eq!(listed(&[]), "");
    }
}
