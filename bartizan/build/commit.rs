//! The commit that a tree was taken from: in a clone, in a worktree, in an archive that git made,
//! or as the builder states.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Says which commit it is where there is no other way to know: packages that are built from a copy.
pub(crate) const VARIABLE: &str = "BARTIZAN_COMMIT";
/// `git archive` puts the commit into this file (`export-subst` of gitattributes(5)); in a clone it holds the placeholder.
const ARCHIVED: &str = "bartizan/build/archived";

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Its name, 40 or 64 hexadecimal digits; else why it is not known.
    pub(crate) commit: Result<String, String>,
    /// True if the sources differ from the commit; unknown outside a clone.
    pub(crate) modified: Option<bool>,
    /// Files that change when another commit is checked out or made.
    pub(crate) watch: Vec<PathBuf>,
}

/// The commit of the tree at `root`; `said` is what the variable holds.
pub(crate) fn find(root: &Path, sources: &[&str], said: Option<&str>) -> Found {
    let known = |commit: String| Found {
        commit: Ok(commit),
        modified: None,
        watch: Vec::new(),
    };
    if let Some(said) = said.map(str::trim).filter(|said| !said.is_empty()) {
        return match name(said) {
            Some(commit) => known(commit),
            None => unknown(format!("{VARIABLE} is no name of a commit")),
        };
    }
    let archived = fs::read_to_string(root.join(ARCHIVED)).ok();
    if let Some(commit) = archived.as_deref().and_then(name) {
        return known(commit);
    }
    of_git(root, sources).unwrap_or_else(unknown)
}

fn unknown(reason: String) -> Found {
    Found {
        commit: Err(reason),
        modified: None,
        watch: Vec::new(),
    }
}

fn of_git(root: &Path, sources: &[&str]) -> Result<Found, String> {
    // A copy of the tree within a clone of something else is not of that clone's commit.
    git(root, &["ls-files", "--error-unmatch", "Cargo.toml"])?;
    let commit = git(root, &["rev-parse", "HEAD"])?;
    let commit = name(&commit).ok_or("git names no commit")?;
    let mut status = vec!["status", "--porcelain", "--"];
    status.extend(sources);
    let modified = git(root, &status).ok().map(|text| !text.is_empty());
    Ok(Found {
        commit: Ok(commit),
        modified,
        watch: watched(root),
    })
}

/// HEAD, and what it leads to: the file of the branch, or where there is none the file that packs all of them with the folder in which it
/// would be made. A path that is not there would have cargo build again every time.
fn watched(root: &Path) -> Vec<PathBuf> {
    let place = |name: &str| {
        let path = git(root, &["rev-parse", "--git-path", name]).ok()?;
        Some(root.join(path)).filter(|path| path.exists())
    };
    let mut watched: Vec<PathBuf> = place("HEAD").into_iter().collect();
    if let Ok(branch) = git(root, &["symbolic-ref", "--quiet", "HEAD"]) {
        match place(&branch) {
            Some(file) => watched.push(file),
            None => watched.extend(["packed-refs", "refs/heads"].into_iter().filter_map(place)),
        }
    }
    watched
}

fn git(root: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output();
    let output = output.map_err(|error| format!("git: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("git: {}", said.lines().next().unwrap_or("it failed")))
}

/// The name of a commit, if it is one: SHA-1 or SHA-256.
fn name(text: &str) -> Option<String> {
    let text = text.trim();
    let fits = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    fits.then(|| text.to_lowercase())
}
