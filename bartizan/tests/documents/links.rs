//! Links of a Markdown document, and whether their targets exist.

use std::fs;
use std::path::Path;

/// Targets of links and pictures outside code, with their lines.
pub(crate) fn of(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in super::prose(text).into_iter().enumerate() {
        let Some(line) = line else { continue };
        // Code spans hold no links: every second piece between backticks is one.
        let outside: String = line
            .split('`')
            .enumerate()
            .map(|(piece, text)| if piece % 2 == 0 { text } else { "code" })
            .collect();
        for rest in outside.split("](").skip(1) {
            if let Some((target, _)) = rest.split_once(')') {
                found.push((number + 1, target.to_owned()));
            }
        }
    }
    found
}

/// Checks a target that `document` names.
pub(crate) fn check(root: &Path, document: &Path, target: &str) -> Result<(), String> {
    if target.starts_with("https://") || target.starts_with("mailto:") {
        return Ok(());
    }
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let here = root.join(document);
    let path = match file {
        "" => here,
        _ => here.parent().ok_or("no folder")?.join(file),
    };
    if !path.exists() {
        return Err("no such file".to_owned());
    }
    if heading.is_empty() {
        return Ok(());
    }
    let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let known: Vec<String> = anchors(&text);
    match known.iter().any(|anchor| anchor == heading) {
        true => Ok(()),
        false => Err(format!("no such heading; there are {}", known.join(", "))),
    }
}

/// Anchors of a document's headings, as GitHub makes them: lower case, punctuation dropped, blanks as hyphens.
fn anchors(text: &str) -> Vec<String> {
    let headings = super::prose(text)
        .into_iter()
        .flatten()
        .filter(|line| line.starts_with('#'));
    let mut known: Vec<String> = Vec::new();
    for heading in headings {
        let mut anchor = String::new();
        for letter in heading.trim_start_matches('#').trim().chars() {
            match letter {
                ' ' => anchor.push('-'),
                '-' | '_' => anchor.push(letter),
                _ if letter.is_alphanumeric() => anchor.extend(letter.to_lowercase()),
                _ => {}
            }
        }
        // A heading that occurs again has a number behind it.
        let again = known.iter().filter(|one| **one == anchor).count();
        known.push(if again == 0 {
            anchor
        } else {
            format!("{anchor}-{again}")
        });
    }
    known
}

#[test]
fn a_link_to_a_file_or_a_heading_that_is_not_there_is_found() {
    let root = super::root();
    let document = Path::new("docs/inspect.md");
    assert_eq!(check(&root, document, "verdicts.md#contradictions"), Ok(()));
    assert!(check(&root, document, "no-such-page.md").is_err());
    assert!(check(&root, document, "verdicts.md#no-such-heading").is_err());
    let text = "a [link](one.md) and `[code](two.md)`\n```\n[fenced](three.md)\n```\n![picture](four.svg)\n";
    assert_eq!(of(text), [(1, "one.md".to_owned()), (5, "four.svg".to_owned())]);
    assert_eq!(
        anchors("# `up`, `down`: IPsec\n## A/B test\n## A/B test\n"),
        ["up-down-ipsec", "ab-test", "ab-test-1"]
    );
}
