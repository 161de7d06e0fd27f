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

/// Text of the experiments that came with this binary: folder, experiment, published values.
const BUILT_IN: &[(&str, &str, Option<&str>)] = &[
    (
        "paper3-sbi",
        include_str!("../../../../../experiments/paper3-sbi/experiment.yaml"),
        Some(include_str!("../../../../../experiments/paper3-sbi/published.yaml")),
    ),
    (
        "paper4-tls",
        include_str!("../../../../../experiments/paper4-tls/experiment.yaml"),
        Some(include_str!("../../../../../experiments/paper4-tls/published.yaml")),
    ),
    (
        "scale",
        include_str!("../../../../../experiments/scale/experiment.yaml"),
        None,
    ),
    (
        "sa-setup",
        include_str!("../../../../../experiments/sa-setup/experiment.yaml"),
        Some(include_str!("../../../../../experiments/sa-setup/published.yaml")),
    ),
    (
        "sa-setup-causes",
        include_str!("../../../../../experiments/sa-setup-causes/experiment.yaml"),
        Some(include_str!(
            "../../../../../experiments/sa-setup-causes/published.yaml"
        )),
    ),
    (
        "e2-under-load",
        include_str!("../../../../../experiments/e2-under-load/experiment.yaml"),
        Some(include_str!("../../../../../experiments/e2-under-load/published.yaml")),
    ),
    (
        "paper2-esp",
        include_str!("../../../../../experiments/paper2-esp/experiment.yaml"),
        Some(include_str!("../../../../../experiments/paper2-esp/published.yaml")),
    ),
    (
        "sa-breach",
        include_str!("../../../../../experiments/sa-breach/experiment.yaml"),
        None,
    ),
    (
        "sa-setup-path",
        include_str!("../../../../../experiments/sa-setup-path/experiment.yaml"),
        None,
    ),
    (
        "kem-setup",
        include_str!("../../../../../experiments/kem-setup/experiment.yaml"),
        None,
    ),
    (
        "kem-ipsec",
        include_str!("../../../../../experiments/kem-ipsec/experiment.yaml"),
        Some(include_str!("../../../../../experiments/kem-ipsec/published.yaml")),
    ),
    (
        "esp-dataplane",
        include_str!("../../../../../experiments/esp-dataplane/experiment.yaml"),
        None,
    ),
    (
        "responder",
        include_str!("../../../../../experiments/responder/experiment.yaml"),
        None,
    ),
    (
        "sidecar-workers",
        include_str!("../../../../../experiments/sidecar-workers/experiment.yaml"),
        None,
    ),
    (
        "sidecar-traces",
        include_str!("../../../../../experiments/sidecar-traces/experiment.yaml"),
        None,
    ),
    (
        "peers",
        include_str!("../../../../../experiments/peers/experiment.yaml"),
        None,
    ),
    (
        "e2-throughput",
        include_str!("../../../../../experiments/e2-throughput/experiment.yaml"),
        Some(include_str!("../../../../../experiments/e2-throughput/published.yaml")),
    ),
    (
        "e2-sizes",
        include_str!("../../../../../experiments/e2-sizes/experiment.yaml"),
        Some(include_str!("../../../../../experiments/e2-sizes/published.yaml")),
    ),
    (
        "sack-delay",
        include_str!("../../../../../experiments/sack-delay/experiment.yaml"),
        Some(include_str!("../../../../../experiments/sack-delay/published.yaml")),
    ),
    (
        "e2-latency",
        include_str!("../../../../../experiments/e2-latency/experiment.yaml"),
        Some(include_str!("../../../../../experiments/e2-latency/published.yaml")),
    ),
    (
        "e2-delay-by-size",
        include_str!("../../../../../experiments/e2-delay-by-size/experiment.yaml"),
        Some(include_str!(
            "../../../../../experiments/e2-delay-by-size/published.yaml"
        )),
    ),
    (
        "xapp-start",
        include_str!("../../../../../experiments/xapp-start/experiment.yaml"),
        Some(include_str!("../../../../../experiments/xapp-start/published.yaml")),
    ),
    (
        "rekey",
        include_str!("../../../../../experiments/rekey/experiment.yaml"),
        None,
    ),
    (
        "handshake-storm",
        include_str!("../../../../../experiments/handshake-storm/experiment.yaml"),
        None,
    ),
    (
        "sa-memory",
        include_str!("../../../../../experiments/sa-memory/experiment.yaml"),
        None,
    ),
    (
        "fh-sizes",
        include_str!("../../../../../experiments/fh-sizes/experiment.yaml"),
        Some(include_str!("../../../../../experiments/fh-sizes/published.yaml")),
    ),
    (
        "fh-delay-by-size",
        include_str!("../../../../../experiments/fh-delay-by-size/experiment.yaml"),
        Some(include_str!(
            "../../../../../experiments/fh-delay-by-size/published.yaml"
        )),
    ),
    (
        "fh-throughput",
        include_str!("../../../../../experiments/fh-throughput/experiment.yaml"),
        Some(include_str!("../../../../../experiments/fh-throughput/published.yaml")),
    ),
    (
        "fh-delay-under-load",
        include_str!("../../../../../experiments/fh-delay-under-load/experiment.yaml"),
        Some(include_str!(
            "../../../../../experiments/fh-delay-under-load/published.yaml"
        )),
    ),
    (
        "fh-mtu",
        include_str!("../../../../../experiments/fh-mtu/experiment.yaml"),
        Some(include_str!("../../../../../experiments/fh-mtu/published.yaml")),
    ),
    (
        "fh-rekey",
        include_str!("../../../../../experiments/fh-rekey/experiment.yaml"),
        None,
    ),
    (
        "fh-keying",
        include_str!("../../../../../experiments/fh-keying/experiment.yaml"),
        None,
    ),
    (
        "fh-ipsec",
        include_str!("../../../../../experiments/fh-ipsec/experiment.yaml"),
        Some(include_str!("../../../../../experiments/fh-ipsec/published.yaml")),
    ),
    (
        "sctp-loss",
        include_str!("../../../../../experiments/sctp-loss/experiment.yaml"),
        None,
    ),
    (
        "n2-bridge",
        include_str!("../../../../../experiments/n2-bridge/experiment.yaml"),
        None,
    ),
    (
        "paper4-n2",
        include_str!("../../../../../experiments/paper4-n2/experiment.yaml"),
        None,
    ),
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
