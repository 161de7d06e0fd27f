//! Sources use the words of the field too: in comments, messages, names of tests and identifiers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::root;
use super::words::{self, BANNED};

/// Banned words that sources may use: ordinary English in a comment, a state of `inspect diff`, and
/// keys of the lab's files.
const IN_PROSE_ALONE: [&str; 13] = [
    "tell", "tells", "vanish", "vanishes", "vanished", "nobody", "somebody", "whoever", "paper 1", "paper 2",
    "paper 3", "paper 4", "paper 5",
];

/// Words that name something only in identifiers, and are ordinary English in a comment.
const NAMES: [&str; 12] = [
    "came", "door", "doors", "ground", "grounds", "standing", "stock", "tale", "tales", "ways", "knock", "stranger",
];

/// Exceptions: file, word and reason. One that is no longer needed fails the test.
const EXCEPTIONS: [(&str, &str, &str); 3] = [
    (
        "lab/crates/workbench/src/runner/trial.rs",
        "beside",
        "a field of records that exist",
    ),
    ("bartizan/tests/documents/words.rs", "*", "the list itself"),
    ("bartizan/tests/documents/sources.rs", "*", "the list itself"),
];

/// Every Rust source, by its path within the repository.
pub(super) fn sources() -> Vec<(String, String)> {
    fn walk(folder: &Path, found: &mut BTreeSet<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path.file_name().is_some_and(|name| name != "target") {
                    walk(&path, found);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.insert(path);
            }
        }
    }
    let mut found = BTreeSet::new();
    for folder in ["bartizan", "crates", "fuzz", "lab"] {
        walk(&root().join(folder), &mut found);
    }
    assert!(found.len() > 1000, "{}", found.len());
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned(), text)
    };
    found.into_iter().map(read).collect()
}

/// A piece of a source and the line it begins at. Comments of consecutive lines are one piece.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    /// A comment or a string literal.
    Prose(usize, String),
    Identifier(usize, String),
}

/// The length of the string literal that `text` begins with, quotes included.
fn literal(text: &str) -> Option<usize> {
    let raw = text.strip_prefix('b').unwrap_or(text);
    if let Some(hashes) = raw.strip_prefix('r') {
        let behind = hashes.trim_start_matches('#');
        let count = hashes.len() - behind.len();
        let close = format!("\"{}", "#".repeat(count));
        let body = behind.strip_prefix('"')?;
        return Some(text.len() - body.len() + body.find(&close).map_or(body.len(), |at| at + close.len()));
    }
    let body = raw.strip_prefix('"')?;
    let mut escaped = false;
    for (at, letter) in body.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(text.len() - body.len() + at + 1),
            _ => {}
        }
    }
    Some(text.len())
}

/// The length of the character that `text` begins with, quotes included; none for a lifetime.
fn character(text: &str) -> Option<usize> {
    let body = text.strip_prefix('\'')?;
    let close = match body.strip_prefix('\\') {
        Some(escaped) => 2 + escaped.get(1..)?.find('\'')?,
        None => body.chars().next()?.len_utf8(),
    };
    body.get(close..)?.starts_with('\'').then_some(close + 2)
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut all = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            let mut comment = String::new();
            let mut length = 0;
            for part in rest.split_inclusive('\n') {
                let trimmed = part.trim_start();
                if !trimmed.starts_with("//") {
                    break;
                }
                comment.push_str(trimmed.trim_start_matches(['/', '!']));
                length += part.len();
            }
            all.push(Piece::Prose(line, comment));
            length
        } else if let Some(length) = literal(rest) {
            all.push(Piece::Prose(
                line,
                rest[..length].replace("\\\n", " ").replace("\\n", " "),
            ));
            length
        } else if let Some(length) = character(rest) {
            length
        } else if first.is_alphabetic() || first == '_' {
            let of_name = |letter: char| letter.is_alphanumeric() || letter == '_';
            let length = rest.find(|letter| !of_name(letter)).unwrap_or(rest.len());
            all.push(Piece::Identifier(line, rest[..length].to_owned()));
            length
        } else {
            first.len_utf8()
        };
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    all
}

/// An identifier as words: `IkeSaInit`, `ike_sa_init` and `IKE_SA_INIT` are the same three.
fn spoken(identifier: &str) -> String {
    let mut said = String::new();
    let mut before = '_';
    for letter in identifier.chars() {
        if letter == '_' || (letter.is_uppercase() && !before.is_uppercase()) {
            said.push(' ');
        }
        if letter != '_' {
            said.extend(letter.to_lowercase());
        }
        before = letter;
    }
    said
}

/// Banned words in a source, each with its line.
fn found(text: &str) -> Vec<(usize, &'static str, &'static str)> {
    let banned = || BANNED.iter().filter(|(word, _)| !IN_PROSE_ALONE.contains(word));
    let mut all = Vec::new();
    for piece in pieces(text) {
        let (line, said, names) = match piece {
            Piece::Prose(line, text) => (line, words::words(&text.replace('_', " ")), &[][..]),
            Piece::Identifier(line, name) => (line, words::words(&spoken(&name)), &NAMES[..]),
        };
        let has = |word: &str| said.contains(&format!(" {word} "));
        all.extend(
            banned()
                .filter(|(word, _)| has(word))
                .map(|(word, instead)| (line, *word, *instead)),
        );
        // A name, and not a sentence in the past tense that names a test.
        let short = said.split_whitespace().count() < 4;
        let named = names.iter().filter(|word| short && has(word));
        all.extend(named.map(|word| (line, *word, "the thing's name")));
    }
    all
}

#[test]
fn sources_use_the_words_of_the_field() {
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for (path, text) in sources() {
        for (line, word, instead) in found(&text) {
            let excepted = |(file, one, _): &&(&str, &str, &str)| *file == path && (*one == word || *one == "*");
            match EXCEPTIONS.iter().find(excepted) {
                Some(exception) => {
                    used.insert(exception);
                }
                None => wrong.push(format!("{path}:{line}: `{word}`: write {instead}")),
            }
        }
    }
    assert!(wrong.is_empty(), "in what begins at\n{}", wrong.join("\n"));
    let unused: Vec<_> = EXCEPTIONS
        .iter()
        .filter(|exception| !used.contains(exception))
        .collect();
    assert!(unused.is_empty(), "nothing needs {unused:?} any more");
}

#[test]
fn a_banned_word_is_found_in_comments_messages_and_names() {
    let text = "/// Sent in\n/// clear.\nfn a_packet_in_clear() { print(\"a \\\n stranger\"); let quote = '\"'; }\nstruct Tale<'a>(InClear);\n\
                // It came.\nfn it_came_in_two_ways() {}\n";
    let lines: Vec<(usize, &str)> = found(text).into_iter().map(|(line, word, _)| (line, word)).collect();
    assert_eq!(
        lines,
        [
            (1, "in clear"),
            (3, "in clear"),
            (3, "stranger"),
            (5, "tale"),
            (5, "in clear")
        ]
    );
}

#[test]
fn literals_and_lifetimes_end_where_rust_ends_them() {
    let identifiers = |text: &str| -> Vec<String> {
        let of = pieces(text).into_iter().filter_map(|piece| match piece {
            Piece::Identifier(_, name) => Some(name),
            Piece::Prose(..) => None,
        });
        of.collect()
    };
    assert_eq!(
        identifiers(r##"a r#"b "c" d"# 'e' '\'' '\u{66}' "\"g" br"h" 'i j"##),
        ["a", "i", "j"]
    );
}

/// Longest source of the binary without its tests, in lines: it has arguments, printing and
/// signals.
const BINARY: usize = 250;

/// Sources of the binary that are longer, with the lines they may have at most. Only shorter ones
/// may take their place.
const LONGER: [(&str, usize); 17] = [
    ("commands/algorithms.rs", 300),
    ("commands/algorithms/rows.rs", 300),
    ("commands/ca/show.rs", 300),
    ("commands/check/credentials.rs", 300),
    ("commands/check/findings.rs", 340),
    ("commands/check/text.rs", 300),
    ("commands/doctor/feature.rs", 360),
    ("commands/enrol.rs", 300),
    ("commands/inspect.rs", 350),
    ("commands/ipsec/up.rs", 340),
    ("commands/macsec/report.rs", 300),
    ("commands/plan/delay.rs", 350),
    ("commands/plan/fronthaul.rs", 360),
    ("commands/sidecar.rs", 300),
    ("commands/sidecar/redirect.rs", 350),
    ("commands/sidecar/redirect/monitor.rs", 300),
    ("commands/sidecar/status.rs", 400),
];

#[test]
fn sources_of_the_binary_are_short() {
    let mut longer: BTreeMap<&str, usize> = LONGER.into();
    for (path, text) in sources() {
        let inner = path.strip_prefix("bartizan/src/");
        let Some(inner) = inner.filter(|inner| !inner.ends_with("tests.rs")) else {
            continue;
        };
        let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let lines = code.lines().count();
        let most = longer.remove(inner);
        assert!(
            lines <= most.unwrap_or(BINARY),
            "{path} has {lines} lines of {}: move what is no argument, printing or signal into a crate",
            most.unwrap_or(BINARY)
        );
        assert!(most.is_none() || lines > BINARY, "{path} is short: it leaves the list");
    }
    assert!(longer.is_empty(), "not there: {longer:?}");
}
