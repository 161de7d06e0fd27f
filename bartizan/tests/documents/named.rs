//! Names in documents: files of the repository, and metrics.

use super::{documents, root};

const FOLDERS: [&str; 6] = [
    "crates/",
    "lab/",
    "scripts/",
    "deploy/",
    "bartizan/src/",
    "bartizan/tests/",
];

/// Parts of paths that stand for the reader's own.
const PLACEHOLDERS: [&str; 3] = ["/ID/", "/streams/", "{"];

/// Documents of today, each with its path; the history names what was.
fn of_today() -> impl Iterator<Item = (String, String)> {
    let all = documents().into_iter();
    let named = all.map(|(path, text)| (path.display().to_string(), text));
    named.filter(|(path, _)| path != "docs/history.md" && !path.starts_with("lab/"))
}

#[test]
fn files_that_documents_name_are_there() {
    let (mut seen, mut missing) = (0, Vec::new());
    for (document, text) in of_today() {
        let code = text.split('`').skip(1).step_by(2);
        for path in
            code.filter(|code| !code.contains([' ', '\n']) && FOLDERS.iter().any(|folder| code.starts_with(folder)))
        {
            seen += 1;
            if !PLACEHOLDERS.iter().any(|part| path.contains(part)) && !root().join(path).exists() {
                missing.push(format!("{document}: {path}"));
            }
        }
    }
    assert!(seen > 50, "{seen}");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn metrics_that_documents_name_are_registered() {
    let sources: String = super::sources::sources().into_iter().map(|(_, text)| text).collect();
    let registered = |name: &str| sources.contains(&format!("\"{name}\""));
    let (mut seen, mut unknown) = (0, Vec::new());
    for (document, text) in of_today() {
        let words = text.split(|letter: char| !letter.is_ascii_lowercase() && letter != '_');
        for word in words {
            let Some(name) = word
                .strip_prefix("bartizan_ipsec_")
                .or(word.strip_prefix("bartizan_inspect_"))
            else {
                continue;
            };
            seen += 1;
            let endings = ["_total", "_bucket", "_count", "_sum"];
            let family = endings.iter().find_map(|ending| name.strip_suffix(ending));
            if !registered(name) && !family.is_some_and(registered) {
                unknown.push(format!("{document}: {word}"));
            }
        }
    }
    assert!(seen > 20, "{seen}");
    assert!(unknown.is_empty(), "{unknown:#?}");
}
