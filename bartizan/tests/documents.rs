//! Documents: their links lead somewhere, their deployment files are accepted, their words are
//! those of the field, and so are those of the sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "documents/comments.rs"]
mod comments;
#[path = "documents/deployments.rs"]
mod deployments;
#[path = "documents/links.rs"]
mod links;
#[path = "documents/named.rs"]
mod named;
#[path = "documents/sources.rs"]
mod sources;
#[path = "documents/words.rs"]
mod words;

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every document, by its path within the repository.
fn documents() -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, found: &mut BTreeSet<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.insert(path);
            }
        }
    }
    let mut found = BTreeSet::new();
    for folder in ["docs", "deploy", "lab/experiments"] {
        walk(&root().join(folder), &mut found);
    }
    let top = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    found.extend(top.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    assert!(found.len() > 50, "{}", found.len());
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path.strip_prefix(root()).unwrap().to_owned(), text)
    };
    found.into_iter().map(read).collect()
}

/// The lines of a document that are prose: what stands in fenced or indented code is left out, with
/// `None` in its place.
fn prose(text: &str) -> Vec<Option<&str>> {
    let mut fenced = false;
    let lines = text.lines().map(|line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fence && !fenced && !line.starts_with("    ")).then_some(line)
    });
    lines.collect()
}

#[test]
fn every_link_between_documents_leads_to_a_file_and_a_heading() {
    let mut wrong = Vec::new();
    for (path, text) in documents() {
        for (line, target) in links::of(&text) {
            if let Err(why) = links::check(&root(), &path, &target) {
                wrong.push(format!("{}:{line}: {target}: {why}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_page_of_docs_is_in_the_index() {
    let index = fs::read_to_string(root().join("docs/README.md")).unwrap();
    let named: BTreeSet<String> = links::of(&index)
        .into_iter()
        .map(|(_, target)| target.split('#').next().unwrap_or_default().to_owned())
        .collect();
    let pages = documents().into_iter().filter_map(|(path, _)| {
        let name = path.strip_prefix("docs").ok()?.to_str()?.to_owned();
        (name != "README.md" && !name.contains('/')).then_some(name)
    });
    let missing: Vec<String> = pages.filter(|name| !named.contains(name)).collect();
    assert!(missing.is_empty(), "docs/README.md does not name {missing:?}");
}

#[test]
fn every_decision_is_in_the_index_with_the_same_status() {
    let folder = root().join("docs/decisions");
    let index = fs::read_to_string(folder.join("README.md")).unwrap();
    let mut pages = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name == "README.md" {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let status = text.lines().find_map(|line| line.strip_prefix("Status: "));
        let status = status
            .unwrap_or_else(|| panic!("{name} has no status"))
            .trim_end_matches('.');
        let row = index.lines().find(|line| line.contains(&format!("({name})")));
        let row = row.unwrap_or_else(|| panic!("docs/decisions/README.md does not name {name}"));
        assert!(row.ends_with(&format!("| {status} |")), "{name} is {status}: {row}");
        for heading in ["## Context", "## Decision", "## Reason"] {
            assert!(text.contains(heading), "{name}: no {heading}");
        }
        pages += 1;
    }
    assert_eq!(
        index.matches("](0").count(),
        pages,
        "the index names a page twice or one that is not there"
    );
}

#[test]
fn pages_that_newcomers_read_first_are_short() {
    for (page, most) in [("README.md", 90), ("RELEASING.md", 60), ("ARCHITECTURE.md", 150)] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let lines = text.lines().count();
        assert!(lines <= most, "{page}: {lines} lines, at most {most}");
        // Rows of tables cannot be wrapped.
        let long: Vec<usize> = prose(&text)
            .into_iter()
            .enumerate()
            .filter(|(_, line)| line.is_some_and(|line| !line.starts_with('|') && line.chars().count() > 100))
            .map(|(number, _)| number + 1)
            .collect();
        assert!(long.is_empty(), "{page}: more than 100 columns in lines {long:?}");
    }
}

#[test]
fn figures_of_the_readme_are_those_of_the_reports_they_link_to() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let mut compared = 0;
    for row in readme.lines().filter(|line| line.starts_with('|')) {
        let mut reports = links::of(row).into_iter().map(|(_, target)| target);
        let Some(report) = reports.find(|target| target.ends_with("/report.md")) else {
            continue;
        };
        let text = fs::read_to_string(root().join(&report)).unwrap().replace('\\', "");
        // Intervals, as in `54.2 µs [53.6–54.8]`.
        for interval in row.split('[').skip(1).filter_map(|rest| rest.split(']').next()) {
            if interval.contains('–') {
                assert!(text.contains(&format!("[{interval}]")), "{report} has no [{interval}]");
                compared += 1;
            }
        }
    }
    assert!(
        compared >= 7,
        "only {compared} intervals of the README are in a row with its report"
    );
}
