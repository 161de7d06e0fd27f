//! Documents and help use the words of the field: none of those that the project once had of its own.

use std::process::Command;

/// Banned words, and their replacements.
pub(super) const BANNED: [(&str, &str); 45] = [
    ("in clear", "unencrypted, plaintext"),
    ("clear text", "plaintext, unencrypted"),
    ("stranger", "unauthenticated connection"),
    ("nothing to object", "no findings"),
    ("strangers", "unauthenticated connections"),
    ("gives way", "is evicted"),
    ("give way", "are evicted"),
    ("whither", "destination"),
    ("whereby", "by which"),
    ("taken back", "reset"),
    ("sent away", "closed with ENHANCE_YOUR_CALM"),
    ("for life", "continuously"),
    ("for as long as it lives", "continuously"),
    ("rules stand", "rules are installed"),
    ("outsiders", "unauthenticated clients"),
    ("tell", "report, show, distinguish"),
    ("tells", "reports, shows, distinguishes"),
    ("told", "reported, configured, recognised"),
    ("tells apart", "distinguishes"),
    ("beside", "compared with, next to"),
    ("recorded now and read later", "harvest now, decrypt later"),
    ("read later", "harvest now, decrypt later"),
    ("forged later", "future forgery of authentication"),
    ("may not vanish", "must be accounted for"),
    ("vanish", "disappear"),
    ("vanishes", "disappears"),
    ("vanished", "disappeared"),
    ("bear out", "confirm"),
    ("bears out", "confirms"),
    ("lets go of", "releases"),
    ("let go of", "released"),
    ("in force", "in effect, installed"),
    ("told apart", "distinguished"),
    ("gives up what", "drops what"),
    ("gives up its rights", "drops its privileges"),
    ("knock", "the thing's name"),
    ("outsider", "unauthenticated client"),
    ("nobody", "no node, no client"),
    ("somebody", "an attacker, another program"),
    ("whoever", "the party that"),
    ("paper 1", "authors and year, docs/papers.md"),
    ("paper 2", "authors and year, docs/papers.md"),
    ("paper 3", "authors and year, docs/papers.md"),
    ("paper 4", "authors and year, docs/papers.md"),
    ("paper 5", "authors and year, docs/papers.md"),
];

/// Words in lower case with one blank before and behind each.
pub(super) fn words(text: &str) -> String {
    let mut said = String::from(" ");
    for word in text.split(|letter: char| !(letter.is_alphanumeric() || letter == '-' || letter == '_')) {
        if !word.is_empty() {
            said.push_str(&word.to_lowercase());
            said.push(' ');
        }
    }
    said
}

/// Banned words in a text, each with its remedy.
fn found(text: &str) -> Vec<String> {
    let text = words(text);
    let of = BANNED.iter().filter(|(word, _)| text.contains(&format!(" {word} ")));
    of.map(|(word, instead)| format!("`{word}`: write {instead}")).collect()
}

/// A paragraph's prose without code spans and targets of links, which quote what programs print and take.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = vec![(1, String::new())];
    for (number, line) in super::prose(text).into_iter().enumerate() {
        match line {
            Some(line) if !line.trim().is_empty() => {
                if let Some((_, paragraph)) = all.last_mut() {
                    paragraph.push_str(line);
                    paragraph.push('\n');
                }
            }
            _ => all.push((number + 2, String::new())),
        }
    }
    for (_, paragraph) in &mut all {
        let outside = paragraph.split('`').step_by(2).collect::<Vec<_>>().join(" code ");
        let mut rest = outside.split("](");
        let mut text = rest.next().unwrap_or_default().to_owned();
        for piece in rest {
            text.push(' ');
            text.push_str(piece.split_once(')').map_or("", |(_, behind)| behind));
        }
        *paragraph = text;
    }
    all
}

/// Text that is written by hand today: reports and the changelog's past are left as they were,
/// tables of inspect-reads are made by code.
fn judged(path: &str, text: &str) -> Option<String> {
    match path {
        "CHANGELOG.md" => {
            let unreleased = text.split("\n## ").nth(1)?;
            unreleased.starts_with("Unreleased").then(|| unreleased.to_owned())
        }
        "docs/inspect-reads.md" => text.split_once("<!--").map(|(before, _)| before.to_owned()),
        _ if path.starts_with("lab/experiments/") && path.ends_with("report.md") => None,
        _ => Some(text.to_owned()),
    }
}

#[test]
fn documents_use_the_words_of_the_field() {
    let mut wrong = Vec::new();
    for (path, text) in super::documents() {
        let path = path.to_str().unwrap();
        let Some(text) = judged(path, &text) else { continue };
        for (line, paragraph) in paragraphs(&text) {
            wrong.extend(
                found(&paragraph)
                    .into_iter()
                    .map(|what| format!("{path}:{line}: {what}")),
            );
        }
    }
    assert!(
        wrong.is_empty(),
        "in the paragraphs that begin at\n{}",
        wrong.join("\n")
    );
}

/// The help of a command and of all below it.
fn help(command: &[&str], all: &mut Vec<(String, String)>) {
    let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .args(command)
        .arg("--help")
        .output()
        .unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let list = text.split_once("\nCommands:\n").map_or("", |(_, list)| list);
    let list = list.split("\n\n").next().unwrap_or_default();
    let below = list.lines().filter_map(|line| {
        let name = line.strip_prefix("  ")?;
        name.starts_with(|letter: char| letter.is_ascii_lowercase())
            .then(|| name.split(' ').next())?
    });
    for name in below.filter(|name| *name != "help") {
        help(&[command, &[name]].concat(), all);
    }
    all.push((command.join(" "), text.clone()));
}

#[test]
fn help_uses_the_words_of_the_field() {
    let mut all = Vec::new();
    help(&[], &mut all);
    assert!(all.len() > 30, "{}", all.len());
    let mut wrong = Vec::new();
    for (command, text) in all {
        let outside = text.split('`').step_by(2).collect::<Vec<_>>().join(" code ");
        wrong.extend(
            found(&outside)
                .into_iter()
                .map(|what| format!("bartizan {command}: {what}")),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Descriptions of a help page that begin with a relative clause, or have a pronoun for a party.
fn clauses(help: &str) -> Vec<&str> {
    const FIRST: [&str; 9] = [
        "What", "How", "Who", "Whose", "Whom", "Where", "Whether", "Whatever", "Of",
    ];
    let said = |line: &&str| {
        let begins = line.split("  ").any(|piece| {
            let first = piece.trim_start().split(' ').next();
            first.is_some_and(|word| FIRST.contains(&word))
        });
        let text = words(line);
        let party = |word| text.contains(&format!(" {word} "));
        begins || ["nobody", "somebody", "whoever", "whom"].into_iter().any(party)
    };
    help.lines().filter(said).collect()
}

#[test]
fn help_begins_with_a_noun_or_a_verb_and_names_parties() {
    let mut all = Vec::new();
    help(&[], &mut all);
    let mut wrong = Vec::new();
    // Pages of bartizan-lab are checked in its workspace: the program here may be of another build.
    let of_lab = |text: &str| text.contains("Usage: bartizan-lab");
    for (command, text) in all.iter().filter(|(_, text)| !of_lab(text)) {
        wrong.extend(
            clauses(text)
                .into_iter()
                .map(|line| format!("bartizan {command}: {line}")),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let text = "  --one <N>   How often\n    Where it is\n  - any:   What is it\nHowever, Off, by nobody\n";
    assert_eq!(clauses(text).len(), 4);
    assert!(clauses("However, Off\n  one where it is\n").is_empty());
}

#[test]
fn a_banned_word_is_found_in_prose_and_not_in_code() {
    let text = "Sent in\nclear, `in clear` and [it](in-clear.md).\n\n```\nin clear\n```\nA stranger.\n";
    let all: Vec<(usize, Vec<String>)> = paragraphs(text)
        .into_iter()
        .map(|(line, paragraph)| (line, found(&paragraph)))
        .filter(|(_, found)| !found.is_empty())
        .collect();
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!((all[0].0, all[0].1.len()), (1, 1));
    assert!(all[1].1[0].starts_with("`stranger`"));
}
