//! Selection of records, and their valid lines.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bartizan_report::File;
use bartizan_workbench::runner::experiment::{Collection, Found};
use bartizan_workbench::runner::trial::Records;

use crate::Failure;
use crate::commands::lab::refused;
use crate::output::errln;

/// Folders of records.
#[derive(clap::Args)]
pub(super) struct Sources {
    /// Folder of the records of runs
    #[arg(long, value_name = "DIR", default_value = "results")]
    results: PathBuf,
}

/// The records of one experiment.
pub(super) struct Source {
    /// The experiment, as it is now.
    pub(super) found: Found,
    pub(super) files: Vec<File>,
    /// The folder that has them, where reports of them belong.
    pub(super) folder: PathBuf,
    /// Number of lines that were no records.
    pub(super) damaged: usize,
}

impl Sources {
    /// The records of these experiments or files; of every experiment that has any where none is
    /// named. Lines that are no records are named on standard error.
    pub(super) fn read(&self, names: &[String], collection: &Collection) -> Result<Vec<Source>, Failure> {
        let mut sources = Vec::new();
        let mut files: BTreeMap<String, Vec<File>> = BTreeMap::new();
        for name in names {
            if let Some(path) = self.file(name) {
                let file = read(&path)?;
                let id = experiment_of(&file)?;
                files.entry(id).or_default().push(file);
            } else {
                let known = collection.ids().is_ok_and(|ids| ids.contains(name));
                let found = collection.load(name).map_err(|error| {
                    let failure = refused(&error);
                    if known {
                        return failure;
                    }
                    failure.hint(format!("nor is {name} a file, or a run in {}", self.results.display()))
                })?;
                sources.push(self.newest(found)?.ok_or_else(|| self.nothing(name))?);
            }
        }
        for (id, files) in files {
            let found = collection.load(&id).map_err(|error| refused(&error))?;
            sources.push(Source::new(found, files, self.results.join(&id)));
        }
        if names.is_empty() {
            for id in collection.ids().map_err(|error| refused(&error))? {
                let found = collection.load(&id).map_err(|error| refused(&error))?;
                sources.extend(self.newest(found)?);
            }
            if sources.is_empty() {
                return Err(
                    Failure::new(format!("there are no records in {}", self.results.display()))
                        .hint("bartizan lab run ID makes some; bartizan lab list shows the experiments"),
                );
            }
        }
        Ok(sources)
    }

    /// The records of one file, by its path or as `ID/RUN`.
    pub(super) fn read_one(&self, name: &str) -> Result<(String, File), Failure> {
        let path = self.file(name).ok_or_else(|| {
            Failure::usage(format!(
                "there is no file {name}, and no run of that name in {}",
                self.results.display()
            ))
            .hint("name a file of records, or a run as EXPERIMENT/RUN")
        })?;
        let file = read(&path)?;
        Ok((experiment_of(&file)?, file))
    }

    /// The file that is meant, where one is.
    fn file(&self, name: &str) -> Option<PathBuf> {
        let run = self.results.join(format!("{name}.jsonl"));
        // An experiment's id is a name without slash; a run is named after its experiment.
        [PathBuf::from(name), run]
            .into_iter()
            .find(|path| path.is_file() && (name.contains('/') || is_records(Path::new(name))))
            .or_else(|| Some(PathBuf::from(name)).filter(|path| path.is_file()))
    }

    /// The newest run of an experiment, else the records that are kept next to it.
    fn newest(&self, found: Found) -> Result<Option<Source>, Failure> {
        let own = self.results.join(&found.experiment.id);
        if let Some(newest) = records_in(&own)?.pop() {
            let files = vec![read(&newest)?];
            return Ok(Some(Source::new(found, files, own)));
        }
        kept(found)
    }

    fn nothing(&self, id: &str) -> Failure {
        Failure::new(format!(
            "there are no records of {id} in {}",
            self.results.join(id).display()
        ))
        .hint(format!("bartizan lab run {id} --quick makes some in a minute or two"))
    }
}

impl Source {
    fn new(found: Found, files: Vec<File>, folder: PathBuf) -> Self {
        let damaged = files.iter().map(|file| file.records.damage.len()).sum();
        Self {
            found,
            files,
            folder,
            damaged,
        }
    }
}

/// The records that are kept next to an experiment, if there are any.
pub(super) fn kept(found: Found) -> Result<Option<Source>, Failure> {
    let Some(folder) = found.folder.clone() else {
        return Ok(None);
    };
    let files = records_in(&folder.join("records"))?;
    if files.is_empty() {
        return Ok(None);
    }
    let files = files.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    Ok(Some(Source::new(found, files, folder)))
}

/// Files of records in a folder, by name, which begins with the time of the run.
fn records_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("{}: {error}", folder.display()));
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if is_records(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// True if the file name is that of records: JSON lines, which may be packed.
fn is_records(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")
}

/// Reads a file and names what in it is no record.
fn read(path: &Path) -> Result<File, Failure> {
    let records = Records::read(path).map_err(|error| {
        Failure::new(format!("{}: {error}", path.display()))
            .hint("a file of records is one that `bartizan lab run` wrote")
    })?;
    for damage in &records.damage {
        errln!("warning: {}:{}: {}", path.display(), damage.line, damage.cause);
    }
    Ok(File {
        name: path.display().to_string(),
        records,
    })
}

/// The experiment that most of the trials in a file are of.
fn experiment_of(file: &File) -> Result<String, Failure> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for record in &file.records.trials {
        *counts.entry(&record.experiment).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map(|(id, _)| id.to_owned()).ok_or_else(|| {
        Failure::new(format!("{} holds no trial", file.name))
            .hint("a file of records is one that `bartizan lab run` wrote")
    })
}
