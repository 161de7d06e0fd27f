//! Commands that repeat a measurement.

use bartizan_workbench::runner::experiment::Experiment;
use bartizan_workbench::runner::trial::{Controls, KernelChoice, Record, Run};

use super::File;

/// Commands that build the measured program, repeat each run of these files with its settings, and
/// report it. Settings that a record does not have are left to the reader.
pub(crate) fn of(experiment: &Experiment, trials: &[Record], files: &[File]) -> Vec<String> {
    let used = |run: &Run| run.experiment == experiment.id && trials.iter().any(|record| record.run == run.run);
    let mut runs: Vec<&Run> = Vec::new();
    for run in files.iter().flat_map(|file| &file.records.runs).filter(|run| used(run)) {
        // A run that was resumed has a line for each time it went on.
        if !runs.iter().any(|known| known.run == run.run) {
            runs.push(run);
        }
    }
    let mut commands: Vec<String> = Vec::new();
    let mut commits: Vec<&str> = Vec::new();
    for record in trials {
        let build = record.environment.build.as_ref();
        if let Some(commit) = build.and_then(|build| build.commit.as_deref())
            && !commits.contains(&commit)
        {
            commits.push(commit);
        }
    }
    match commits.as_slice() {
        [] => {}
        [commit] => commands.push(format!("git checkout {commit}")),
        several => commands.push(format!(
            "git checkout {} # and {} other commits",
            several[0],
            several.len() - 1
        )),
    }
    commands.push("cargo build --release --locked -p bartizan".to_owned());
    if runs.is_empty() {
        commands.push(format!("target/release/bartizan lab run {}", experiment.id));
    }
    commands.extend(runs.into_iter().map(|run| command(experiment, run)));
    commands.push(format!("target/release/bartizan lab report {}", experiment.id));
    commands
}

fn command(experiment: &Experiment, run: &Run) -> String {
    if !run.selection.is_empty() {
        let name = experiment.id.replacen('-', " ", 1);
        return format!(
            "target/release/bartizan {name} --seed {} # and what the run's line selects",
            run.seed
        );
    }
    let mut command = format!("target/release/bartizan lab run {}", experiment.id);
    let mut add = |words: String| {
        command.push(' ');
        command.push_str(&words);
    };
    if let Some(parts) = &run.parts {
        add(format!("--part {}", parts.join(",")));
    }
    if run.quick {
        add("--quick".to_owned());
    }
    if let Some(repetitions) = run.repetitions {
        add(format!("--repetitions {repetitions}"));
    }
    match run.kernel {
        KernelChoice::Auto => {}
        KernelChoice::Host => add("--kernel host".to_owned()),
        KernelChoice::Guest => add("--kernel guest".to_owned()),
    }
    match run.controls {
        Controls::Declared => {}
        Controls::First => add("--controls first".to_owned()),
        Controls::All => add("--controls all".to_owned()),
    }
    if let Some(target) = &run.target {
        add(format!("--target {}", quoted(target)));
    }
    if run.binary.is_some() {
        add("--binary OTHER-BUILD".to_owned());
    }
    add(format!("--seed {}", run.seed));
    command
}

/// As a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_plain_word_is_quoted_for_a_shell() {
        assert_eq!(quoted("http://10.0.0.1:80"), "http://10.0.0.1:80");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("$(x)'"), "'$(x)'\\'''");
    }
}
