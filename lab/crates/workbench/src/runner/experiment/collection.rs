//! Collections of experiments: a named folder, `./experiments`, or those built into this binary.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::runner::experiment::{ExperimentError, earlier};
use crate::{Experiment, Published};

/// The file that makes a folder an experiment, and the one that holds what was published about it.
const EXPERIMENT: &str = "experiment.yaml";
const PUBLISHED: &str = "published.yaml";
/// An experiment's file is some kilobytes.
pub(super) const LARGEST: u64 = 4 << 20;

/// Text of an experiment that came with this binary: folder, experiment, published values.
macro_rules! built_in {
    ($id:literal $(, $published:ident)?) => {
        (
            $id,
            include_str!(concat!("../../../../../experiments/", $id, "/experiment.yaml")),
            built_in!(@published $id $(, $published)?),
        )
    };
    (@published $id:literal) => {
        None
    };
    (@published $id:literal, published) => {
        Some(include_str!(concat!("../../../../../experiments/", $id, "/published.yaml")))
    };
}

/// The experiments that came with this binary.
const BUILT_IN: &[(&str, &str, Option<&str>)] = &[
    built_in!("paper3-sbi", published),
    built_in!("paper4-tls", published),
    built_in!("paper4-registrations", published),
    built_in!("scale"),
    built_in!("sa-setup", published),
    built_in!("sa-setup-causes", published),
    built_in!("e2-under-load", published),
    built_in!("paper2-esp", published),
    built_in!("sa-breach"),
    built_in!("sa-setup-path"),
    built_in!("kem-setup"),
    built_in!("kem-ipsec", published),
    built_in!("esp-dataplane"),
    built_in!("responder"),
    built_in!("sidecar-workers"),
    built_in!("sidecar-traces"),
    built_in!("peers"),
    built_in!("e2-throughput", published),
    built_in!("e2-sizes", published),
    built_in!("sack-delay", published),
    built_in!("e2-latency"),
    built_in!("e2-delay-by-size", published),
    built_in!("xapp-start", published),
    built_in!("rekey"),
    built_in!("handshake-storm"),
    built_in!("sa-memory"),
    built_in!("fh-sizes", published),
    built_in!("fh-delay-by-size", published),
    built_in!("fh-throughput", published),
    built_in!("fh-delay-under-load", published),
    built_in!("fh-mtu", published),
    built_in!("fh-rekey"),
    built_in!("fh-keying"),
    built_in!("fh-ipsec", published),
    built_in!("sctp-loss"),
    built_in!("n2-bridge"),
    built_in!("paper4-n2"),
];

/// A place that has experiments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Collection {
    /// A folder with one folder for each.
    Folder(PathBuf),
    /// This binary.
    BuiltIn,
}

/// An experiment that could be used.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The experiment.
    pub experiment: Experiment,
    /// Published values for it.
    pub published: Option<Published>,
    /// Its folder; absent for those of this binary.
    pub folder: Option<PathBuf>,
}

/// Reason why an experiment cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CollectionError {
    /// There is none of this name.
    #[error("no experiment is called `{id}`")]
    Unknown {
        /// The requested id.
        id: String,
        /// Those that are there.
        known: Vec<String>,
    },
    /// One of its files says what cannot be.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// Its id is not the name of its folder.
    #[error("{file}: its id is `{id}`, its folder is called `{folder}`")]
    Name {
        /// The experiment's file.
        file: PathBuf,
        /// Id in the file.
        id: String,
        /// Name of its folder.
        folder: String,
    },
    /// A file or folder cannot be read.
    #[error("{path}: {source}")]
    File {
        /// Path of the file or folder.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
}

impl CollectionError {
    /// Hint for the user.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { id, known } => {
                let meant = bartizan_deployment::nearest(id, known.iter().map(String::as_str));
                let meant = meant.map_or(String::new(), |meant| format!("did you mean `{meant}`? "));
                Some(format!("{meant}there are {}", known.join(", ")))
            }
            Self::Experiment(error) => error.hint().map(str::to_owned),
            Self::Name { .. } => Some("give both one name".to_owned()),
            Self::File { .. } => None,
        }
    }
}

impl Collection {
    /// The folder that is named; else `./experiments` where it is there; else this binary.
    #[must_use]
    pub fn find(named: Option<&Path>) -> Self {
        let usual = ["experiments", "lab/experiments"].map(Path::new);
        match (named, usual.into_iter().find(|folder| folder.is_dir())) {
            (Some(folder), _) | (None, Some(folder)) => Self::Folder(folder.to_owned()),
            (None, None) => Self::BuiltIn,
        }
    }

    /// Names of its experiments, in order.
    ///
    /// # Errors
    /// Fails if the folder cannot be read.
    pub fn ids(&self) -> Result<Vec<String>, CollectionError> {
        let folder = match self {
            Self::BuiltIn => {
                let mut ids: Vec<String> = BUILT_IN.iter().map(|(id, ..)| (*id).to_owned()).collect();
                ids.sort_unstable();
                return Ok(ids);
            }
            Self::Folder(folder) => folder,
        };
        let entries = fs::read_dir(folder).map_err(|source| CollectionError::File {
            path: folder.clone(),
            source,
        })?;
        let mut ids: Vec<String> = entries
            .flatten()
            .filter(|entry| entry.path().join(EXPERIMENT).is_file())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// The experiment of this name.
    ///
    /// # Errors
    /// [`CollectionError`]: not there, not readable, or refused with file and line.
    pub fn load(&self, id: &str) -> Result<Found, CollectionError> {
        // Experiments of `bartizan bench` are in no folder.
        if let Some(experiment) = super::bench::experiment(id) {
            return Ok(Found {
                experiment: experiment?,
                published: None,
                folder: None,
            });
        }
        let known = self.ids()?;
        if !known.iter().any(|known| known == id) {
            return Err(CollectionError::Unknown {
                id: id.to_owned(),
                known,
            });
        }
        match self {
            Self::Folder(folder) => from_folder(&folder.join(id), id),
            Self::BuiltIn => {
                let built_in = BUILT_IN.iter().find(|(known, ..)| *known == id);
                let Some((_, text, published)) = built_in else {
                    return Err(CollectionError::Unknown {
                        id: id.to_owned(),
                        known,
                    });
                };
                let within = |name| Path::new("(built in)").join(id).join(name);
                found(text, &within(EXPERIMENT), *published, &within(PUBLISHED), None)
            }
        }
    }
}

fn from_folder(folder: &Path, id: &str) -> Result<Found, CollectionError> {
    let (file, published) = (folder.join(EXPERIMENT), folder.join(PUBLISHED));
    let text = read(&file)?;
    let values = if published.is_file() {
        Some(read(&published)?)
    } else {
        None
    };
    let mut found = found(&text, &file, values.as_deref(), &published, Some(folder.to_owned()))?;
    found.experiment.earlier = earlier::digests(folder, &found.experiment);
    if found.experiment.id != id {
        return Err(CollectionError::Name {
            file,
            id: found.experiment.id,
            folder: id.to_owned(),
        });
    }
    Ok(found)
}

fn found(
    text: &str,
    file: &Path,
    published: Option<&str>,
    published_file: &Path,
    folder: Option<PathBuf>,
) -> Result<Found, CollectionError> {
    let experiment = Experiment::parse(text, file)?;
    let published = published.map(|text| Published::parse(text, published_file, &experiment));
    Ok(Found {
        published: published.transpose()?,
        experiment,
        folder,
    })
}

fn read(path: &Path) -> Result<String, CollectionError> {
    let failed = |source| CollectionError::File {
        path: path.to_owned(),
        source,
    };
    let size = fs::metadata(path).map_err(failed)?.len();
    if size > LARGEST {
        return Err(failed(io::Error::other(
            "a file of more than 4 MB is no description of an experiment",
        )));
    }
    fs::read_to_string(path).map_err(failed)
}
