//! Commit recorded in a build: in a clone, in a worktree, in an archive without git, and in a copy
//! of neither.

#[path = "../build/commit.rs"]
mod commit;
#[path = "../build/libraries.rs"]
mod libraries;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use commit::{Found, find};

const SOURCES: [&str; 2] = ["src", "Cargo.toml"];

fn git(place: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(place)
        .args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.invalid",
            "-c",
            "commit.gpgsign=false",
        ])
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A repository with one commit of a tree like ours.
fn repository(place: &Path) -> String {
    fs::create_dir_all(place.join("src")).unwrap();
    fs::create_dir_all(place.join("bartizan/build")).unwrap();
    fs::write(place.join("Cargo.toml"), "[package]\n").unwrap();
    fs::write(place.join("src/main.rs"), "fn main() {}\n").unwrap();
    fs::write(place.join("README.md"), "read me\n").unwrap();
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::copy(own.join("build/archived"), place.join("bartizan/build/archived")).unwrap();
    fs::copy(own.join("../.gitattributes"), place.join(".gitattributes")).unwrap();
    git(place, &["init", "--quiet", "--initial-branch=main"]);
    git(place, &["add", "."]);
    git(place, &["commit", "--quiet", "--message=one"]);
    git(place, &["rev-parse", "HEAD"])
}

fn modified_at(place: &Path) -> Option<bool> {
    find(place, &SOURCES, None).modified
}

#[test]
fn a_clone_knows_its_commit_and_whether_its_sources_differ_from_it() {
    let place = tempfile::tempdir().unwrap();
    let first = repository(place.path());
    let found = find(place.path(), &SOURCES, None);
    assert_eq!((found.commit, found.modified), (Ok(first), Some(false)));
    // A file that is not in the binary does not change it.
    fs::write(place.path().join("README.md"), "read it\n").unwrap();
    assert_eq!(modified_at(place.path()), Some(false));
    fs::write(place.path().join("src/main.rs"), "fn main() { }\n").unwrap();
    assert_eq!(modified_at(place.path()), Some(true));
    git(place.path(), &["commit", "--quiet", "--all", "--message=two"]);
    let second = git(place.path(), &["rev-parse", "HEAD"]);
    let found = find(place.path(), &SOURCES, None);
    assert_eq!((found.commit, found.modified), (Ok(second), Some(false)));
}

/// The time at which anything that is watched changed last, folders looked through as cargo does.
fn newest(found: &Found) -> std::time::SystemTime {
    fn of(path: &Path) -> std::time::SystemTime {
        let own = fs::metadata(path).unwrap().modified().unwrap();
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries
            .map(|entry| of(&entry.path()))
            .fold(own, std::time::SystemTime::max)
    }
    assert!(!found.watch.is_empty());
    let times = found.watch.iter().map(|path| of(path));
    times.max().unwrap()
}

/// Kernels keep times of files by the tick.
fn after_a_tick() {
    std::thread::sleep(std::time::Duration::from_millis(20));
}

#[test]
fn another_commit_changes_what_is_watched_also_where_branches_are_packed_or_a_worktree_is_built() {
    let place = tempfile::tempdir().unwrap();
    let main = place.path().join("main");
    repository(&main);
    let worktree = place.path().join("other");
    git(
        &main,
        &["worktree", "add", "--quiet", "-b", "other", worktree.to_str().unwrap()],
    );
    for (place, packed) in [(&main, false), (&main, true), (&worktree, false)] {
        if packed {
            git(place, &["pack-refs", "--all"]);
        }
        let before = find(place, &SOURCES, None);
        let then = newest(&before);
        after_a_tick();
        git(place, &["commit", "--quiet", "--allow-empty", "--message=more"]);
        assert!(newest(&before) > then, "{before:?} does not show the commit");
        let after = find(place, &SOURCES, None);
        assert_ne!(after.commit, before.commit);
        assert!(after.watch.iter().all(|path| path.exists()), "{:?}", after.watch);
    }
    git(&worktree, &["checkout", "--quiet", "--detach"]);
    let detached = find(&worktree, &SOURCES, None);
    assert_eq!(detached.commit, Ok(git(&worktree, &["rev-parse", "HEAD"])));
    let then = newest(&detached);
    after_a_tick();
    git(&worktree, &["commit", "--quiet", "--allow-empty", "--message=detached"]);
    assert!(newest(&detached) > then);
}

fn unpacked(repository: &Path, into: PathBuf) -> PathBuf {
    let archive = into.with_extension("tar");
    git(repository, &["archive", "--output", archive.to_str().unwrap(), "HEAD"]);
    fs::create_dir_all(&into).unwrap();
    let status = Command::new("tar")
        .arg("-xf")
        .arg(&archive)
        .arg("-C")
        .arg(&into)
        .status()
        .unwrap();
    assert!(status.success());
    into
}

#[test]
fn an_archive_knows_its_commit_without_git_and_a_copy_says_that_it_does_not() {
    let place = tempfile::tempdir().unwrap();
    let main = place.path().join("main");
    let commit = repository(&main);
    let archive = unpacked(&main, place.path().join("archive"));
    let found = find(&archive, &SOURCES, None);
    assert_eq!((found.commit, found.modified), (Ok(commit.clone()), None));
    fs::copy(
        main.join("bartizan/build/archived"),
        archive.join("bartizan/build/archived"),
    )
    .unwrap();
    let copy = find(&archive, &SOURCES, None);
    assert!(copy.commit.unwrap_err().starts_with("git: "));
    assert!(copy.watch.is_empty());
    // An unrelated repository around a copy is not its origin.
    let around = place.path().join("around");
    repository(&around);
    let within = around.join("src/vendor");
    fs::create_dir_all(&within).unwrap();
    fs::write(within.join("Cargo.toml"), "[package]\n").unwrap();
    assert!(find(&within, &SOURCES, None).commit.is_err());
    let said = find(&within, &SOURCES, Some(&commit));
    assert_eq!(said.commit, Ok(commit));
    assert!(find(&within, &SOURCES, Some("main")).commit.is_err());
}

#[test]
fn versions_are_those_of_the_lock_file() {
    let lock = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock")).unwrap();
    let versions = libraries::versions(&lock);
    let names: Vec<&str> = versions.iter().filter_map(|one| Some(one.split_once(' ')?.0)).collect();
    for name in ["aws-lc-rs", "aws-lc-sys", "rustls"] {
        assert_eq!(names.iter().filter(|known| **known == name).count(), 1, "{versions:?}");
    }
    assert!(libraries::versions("name = \"rustls\"").is_empty());
}
