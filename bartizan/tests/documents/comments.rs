//! Comments begin with a noun phrase or a verb, and name parties. Those that do not become fewer.

use std::collections::BTreeMap;

use super::sources::sources;

/// First words of a relative clause.
const CLAUSE: [&str; 9] = [
    "What", "How", "Whether", "Who", "Whose", "Whom", "Where", "Of", "Whatever",
];
/// Words for a party without a name.
const PARTY: [&str; 5] = ["nobody", "somebody", "whoever", "whom", "anybody"];

/// Comments of a folder that are still to be written anew. A number here only ever falls.
const LEFT: [(&str, usize); 2] = [("bartizan", 1), ("crates/model/deployment", 43)];

/// Comments of a source that begin with a clause or leave a party without a name, by their lines.
fn found(text: &str) -> Vec<usize> {
    let mut all = Vec::new();
    let mut within = false;
    for (line, text) in (1..).zip(text.lines()) {
        let Some(comment) = text.trim_start().strip_prefix("//") else {
            within = false;
            continue;
        };
        let comment = comment.trim_start_matches(['/', '!']).trim_start();
        let word = |text: &str| text.trim_matches(|letter: char| !letter.is_alphanumeric()).to_owned();
        let mut words = comment.split_whitespace().map(word);
        let begins = !within && comment.split(' ').next().is_some_and(|first| CLAUSE.contains(&first));
        if begins || words.any(|word| PARTY.contains(&word.to_lowercase().as_str())) {
            all.push(line);
        }
        within = !comment.is_empty();
    }
    all
}

/// The package that a source belongs to, by its folder.
fn package(path: &str) -> &str {
    let end = ["/src/", "/tests/", "/examples/", "/benches/", "/fuzz_targets/"]
        .iter()
        .filter_map(|folder| path.find(folder))
        .min();
    end.map_or(path, |end| &path[..end])
}

#[test]
fn comments_that_begin_with_a_clause_or_name_no_party_become_fewer() {
    let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in sources() {
        let all = found(&text).into_iter().map(|line| format!("{path}:{line}"));
        lines.entry(package(&path).to_owned()).or_default().extend(all);
    }
    for (package, lines) in lines {
        let left = LEFT
            .iter()
            .find(|(name, _)| *name == package)
            .map_or(0, |(_, left)| *left);
        let count = lines.len();
        assert!(
            count <= left,
            "{package}: {count} comments begin with a clause or name no party, {left} before; some of\n{}",
            lines.join("\n")
        );
        assert!(
            count == left,
            "{package}: {count} are left: write {count} for {left} in LEFT"
        );
    }
}

#[test]
fn a_comment_that_begins_with_a_clause_is_found() {
    let text = "/// What it is.\nfn a() {}\n// Kept\n// Where it goes on.\n//\n// Of a paragraph.\nx(); // Who\n/// For nobody.\n";
    assert_eq!(found(text), [1, 6, 8]);
}
