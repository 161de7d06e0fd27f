//! The folder of a demo: one that goes with it, or one that its user keeps.

use std::fs;
use std::path::{Path, PathBuf};

use bartizan_testing::Guest;

use crate::Failure;

/// Prefix of temporary folders. The process id of their demo follows.
const PREFIX: &str = "bartizan-demo-";

pub(super) enum Scratch {
    Passing(tempfile::TempDir),
    Kept(PathBuf),
}

impl Scratch {
    /// A new folder, or the one the user named. Folders of demos that were killed hold private
    /// keys: they are removed first.
    pub(super) fn open(out: Option<&Path>) -> Result<Self, Failure> {
        // A guest has processes of its own and this machine's folders: it cannot see which demos run.
        if !Guest::is_here() {
            sweep(&std::env::temp_dir());
        }
        let Some(out) = out else {
            let prefix = format!("{PREFIX}{}-", std::process::id());
            return tempfile::Builder::new()
                .prefix(&prefix)
                .tempdir()
                .map(Self::Passing)
                .map_err(|error| {
                    Failure::new(format!("a temporary folder: {error}"))
                        .hint("set TMPDIR to a folder that can be written, or use --out DIR")
                });
        };
        let failed = |error| {
            Failure::new(format!("{}: {error}", out.display())).hint("--out takes a folder that can be written")
        };
        fs::create_dir_all(out).map_err(failed)?;
        if fs::read_dir(out).map_err(failed)?.next().is_some() {
            let failure = Failure::usage(format!("{}: is not empty", out.display()));
            return Err(failure.hint("--out takes a new or empty folder"));
        }
        // Processes of the demo run elsewhere: their paths must not depend on where they were started.
        out.canonicalize().map(Self::Kept).map_err(failed)
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Passing(folder) => folder.path(),
            Self::Kept(folder) => folder,
        }
    }
}

/// Removes the folders of demos that no longer run. Folders of another user cannot be removed, and
/// stay.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.split_once('-')?.0.parse::<u32>().ok());
        if owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_dead_demos_go_and_all_others_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let own = format!("{PREFIX}{}-abc", std::process::id());
        // No process has this id: pid_max is 2^22 at most.
        let dead = format!("{PREFIX}4194305-abc");
        for name in [own.as_str(), &dead, "bartizan-demo-", "bartizan-demo-x-y", "other"] {
            fs::create_dir(folder.path().join(name)).expect("a folder inside");
        }
        sweep(folder.path());
        let mut left: Vec<_> = fs::read_dir(folder.path())
            .expect("the folder")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
            .collect();
        left.sort();
        let mut expected = vec![
            own,
            "bartizan-demo-".to_owned(),
            "bartizan-demo-x-y".to_owned(),
            "other".to_owned(),
        ];
        expected.sort();
        assert_eq!(left, expected);
    }
}
