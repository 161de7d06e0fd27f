//! The run to resume, and its settings.

use std::fs;
use std::path::{Path, PathBuf};

use crate::runner::run::log::Log;
use crate::runner::run::{Observer, Options, Out, RunError, Settings};
use crate::runner::trial::{Records, Run};

pub(super) fn resume(
    options: &Options<'_>,
    file: Option<&Path>,
    observer: &mut dyn Observer,
) -> Result<(Log, Records, Settings, String), RunError> {
    let experiment = options.experiment;
    let file = match file {
        Some(file) => file.to_owned(),
        None => match &options.out {
            Out::Folder(folder) => newest(&folder.join(&experiment.id), &experiment.id)?,
            Out::File(file) => file.clone(),
        },
    };
    let (log, mut records, aside) = Log::resume(file.clone())?;
    if let Some(aside) = aside {
        observer.note(&format!(
            "{}: the last line was cut off; it is kept in {}, and its trial is done again",
            file.display(),
            aside.display()
        ));
    }
    for damage in records.damage.iter().filter(|damage| !damage.cut) {
        let place = format!("{}:{}", file.display(), damage.line);
        observer.note(&format!("{place}: {}; its trial is done again", damage.cause));
    }
    let Some(run) = records.runs.first().cloned() else {
        return Err(RunError::Unusable {
            file,
            cause: "no line says how the run was made".to_owned(),
        });
    };
    if run.experiment != experiment.id {
        return Err(RunError::Usage {
            cause: format!(
                "{} is a run of {}, not of {}",
                file.display(),
                run.experiment,
                experiment.id
            ),
            hint: format!("bartizan lab run {} --resume={}", run.experiment, file.display()),
        });
    }
    if run.digest != experiment.digest {
        return Err(RunError::OtherExperiment {
            file,
            experiment: run.experiment,
        });
    }
    records
        .trials
        .retain(|record| record.run == run.run && record.digest == run.digest);
    let name = run.run.clone();
    Ok((log, records, settings(run), name))
}

fn settings(run: Run) -> Settings {
    Settings {
        seed: run.seed,
        quick: run.quick,
        repetitions: run.repetitions,
        parts: run.parts,
        target: run.target,
        target_ca: run.target_ca.map(PathBuf::from),
        binary: run.binary.map(PathBuf::from),
        other: run.other.map(PathBuf::from),
        selection: run.selection,
        kernel: run.kernel,
        controls: run.controls,
    }
}

/// Files are named by when they began.
fn newest(folder: &Path, experiment: &str) -> Result<PathBuf, RunError> {
    let nothing = || RunError::NothingToResume {
        experiment: experiment.to_owned(),
        folder: folder.to_owned(),
    };
    let entries = fs::read_dir(folder).map_err(|_| nothing())?;
    let files = entries.flatten().map(|entry| entry.path());
    let records = files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    records.max_by_key(|path| order(path)).ok_or_else(nothing)
}

/// `...Z-10` comes after `...Z-9`.
fn order(path: &Path) -> (String, u32) {
    let stem = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    match stem.split_once("Z-") {
        Some((time, number)) => (time.to_owned(), number.parse().unwrap_or(0)),
        None => (stem.trim_end_matches('Z').to_owned(), 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_run_is_the_one_that_began_last() {
        let folder = tempfile::tempdir().unwrap();
        assert!(newest(folder.path(), "x").is_err());
        let names = [
            "2026-11-21T093000Z-10.jsonl",
            "2026-11-21T093000Z-9.jsonl",
            "2026-11-21T093000Z.jsonl",
            "2026-11-20T103000Z.jsonl",
            "2026-11-22T103000Z.jsonl.cut",
        ];
        for name in names {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(newest(folder.path(), "x").unwrap(), folder.path().join(names[0]));
    }
}
