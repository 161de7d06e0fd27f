//! Checks that the records next to the experiments belong to their current versions, or are
//! declared as older.

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bartizan_report::{ComparisonResult, Count, File, Report, markdown};
use bartizan_workbench::runner::experiment::Collection;
use bartizan_workbench::runner::trial::{Outcome, Record, Records};

fn experiments() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments")
}

/// The records that are kept of an experiment, by file.
fn kept(id: &str) -> Vec<File> {
    let entries = fs::read_dir(experiments().join(id).join("records"));
    let mut paths: Vec<PathBuf> = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    let file = |path: &PathBuf| File {
        name: path.file_name().unwrap().to_string_lossy().into_owned(),
        records: Records::read(path).unwrap(),
    };
    paths.iter().map(file).collect()
}

fn trials(id: &str) -> Vec<Record> {
    kept(id).into_iter().flat_map(|file| file.records.trials).collect()
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
        let trials = trials(&id);
        let own = trials.iter().all(|record| experiment.is_of(&record.digest));
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
        for File { name, records } in kept(&id) {
            assert!(records.damage.is_empty(), "{name}: {:?}", records.damage);
            assert!(!records.trials.is_empty() && !records.runs.is_empty(), "{name}");
        }
    }
}

#[test]
fn the_script_that_measures_again_has_every_experiment_and_says_for_how_long() {
    let script = experiments().join("../../scripts/measure");
    let output = Command::new("bash").arg(script).arg("list").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let mut named = BTreeSet::new();
    let mut minutes = 0;
    for line in said.lines().filter(|line| line.contains("bartizan-lab run ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        named.insert(words[0].to_owned());
        minutes += words[1].parse::<u32>().unwrap();
        assert!(
            line.contains(&format!("bartizan-lab run {} --controls first", words[0])),
            "{line}"
        );
    }
    let all: BTreeSet<String> = Collection::find(Some(&experiments()))
        .ids()
        .unwrap()
        .into_iter()
        .collect();
    assert_eq!(named, all, "on the left what scripts/measure runs");
    assert!(said.ends_with(&format!("all: {minutes} minutes\n")), "{said}");
}

/// Text of a report apart from its figures: its sections, and the kinds of its warnings.
fn said(markdown: &str) -> Vec<&str> {
    let sections = markdown.lines().filter(|line| line.starts_with('#'));
    let kinds = markdown.lines().filter_map(|line| {
        let (kind, _) = line.strip_prefix("- **")?.split_once("**:")?;
        Some(kind)
    });
    sections.chain(kinds).collect()
}

#[test]
fn a_report_that_is_kept_has_the_sections_and_the_warnings_of_todays_code() {
    // One that was made before a warning was known keeps silent about it.
    let collection = Collection::find(Some(&experiments()));
    let mut older = Vec::new();
    for id in collection.ids().unwrap() {
        let found = collection.load(&id).unwrap();
        let files = kept(&id);
        if files.is_empty() {
            continue;
        }
        let now = markdown(&Report::of(&found.experiment, found.published.as_ref(), &files));
        let written = fs::read_to_string(experiments().join(&id).join("report.md")).unwrap();
        if said(&now) != said(&written) {
            older.push(id);
        }
    }
    assert!(
        older.is_empty(),
        "bartizan lab report {} --out lab/experiments makes them again",
        older.join(" ")
    );
}

/// Overview of the records of each part: date, commit, declared and actual repetitions.
fn overview() -> String {
    let mut text = "# Records\n\n\
         What is kept of each part: run, commit, repetitions declared and done (the fewest of its combinations), trials that failed. A test holds this table;\n\
         `cd lab && UPDATE_RECORDS=1 cargo test -p bartizan-report --test records` writes it.\n\n\
         | experiment | part | run | commit | declared | done | failed |\n| --- | --- | --- | --- | ---: | ---: | ---: |\n"
        .to_owned();
    let collection = Collection::find(Some(&experiments()));
    for id in collection.ids().unwrap() {
        let experiment = collection.load(&id).unwrap().experiment;
        let trials = trials(&id);
        for part in &experiment.parts {
            let own: Vec<_> = trials.iter().filter(|record| record.part == part.id).collect();
            let runs: BTreeSet<&str> = own.iter().map(|record| record.run.as_str()).collect();
            let commits = own
                .iter()
                .filter_map(|record| record.environment.build.as_ref()?.commit.as_deref());
            let commits: BTreeSet<&str> = commits.map(|commit| commit.get(..12).unwrap_or(commit)).collect();
            let measured = |record: &&&Record| matches!(record.outcome, Outcome::Measured { .. });
            let done = part.combinations.iter().map(|levels| {
                let of = own.iter().filter(|record| record.levels == *levels && !record.twin);
                of.filter(measured).count()
            });
            let failed = own.len() - own.iter().filter(measured).count();
            let joined = |names: BTreeSet<&str>, none: &str| match names.is_empty() {
                true => none.to_owned(),
                false => names.into_iter().collect::<Vec<_>>().join(", "),
            };
            let _ = writeln!(
                text,
                "| {id} | {} | {} | {} | {} | {} | {failed} |",
                part.id,
                joined(runs, "none"),
                joined(commits, "not recorded"),
                part.repetitions,
                done.min().unwrap_or_default()
            );
        }
    }
    text
}

/// Fails unless the file has the text; writes it where UPDATE_RECORDS says so.
fn holds(file: &Path, wanted: &str) {
    if env::var_os("UPDATE_RECORDS").is_some() {
        fs::write(file, wanted).unwrap();
    }
    let kept = fs::read_to_string(file).unwrap_or_default();
    assert_eq!(
        kept,
        wanted,
        "on the left {}; UPDATE_RECORDS=1 writes it",
        file.display()
    );
}

#[test]
fn the_table_of_records_says_what_is_kept() {
    holds(&experiments().join("records.md"), &overview());
}

#[test]
fn the_page_of_papers_counts_the_values_that_the_records_compare() {
    let collection = Collection::find(Some(&experiments()));
    let mut count = Count::default();
    for id in collection.ids().unwrap() {
        let found = collection.load(&id).unwrap();
        if let Some(published) = &found.published {
            count.add(&found.experiment, published, &kept(&id));
        }
    }
    for value in count.values() {
        let known = match value.result {
            ComparisonResult::Compared => value.measured.is_some() && value.relation.is_some(),
            _ => value.needs.as_ref().is_some_and(|needs| needs.contains("needs ")),
        };
        assert!(known, "{value:?}");
    }
    let file = experiments().join("../../docs/papers.md");
    let page = fs::read_to_string(&file).unwrap();
    let (start, end) = ("<!-- published: begin -->\n", "<!-- published: end -->\n");
    let (head, rest) = page.split_once(start).unwrap();
    let (_, tail) = rest.split_once(end).unwrap();
    holds(&file, &format!("{head}{start}\n{}\n{end}{tail}", count.markdown()));
}
