//! Commands that help pages and hints print can be typed as they are.

use std::fs;
use std::path::{Path, PathBuf};

use bartizan_terminal::help::{examples, words};
use clap::Command;
use clap::error::ErrorKind;

use crate::command;

fn parses(command: &Command, words: &[String]) -> Result<(), String> {
    match command.clone().try_get_matches_from(words) {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => Ok(()),
        // Users are those of this machine.
        Err(error) if error.to_string().contains("no user is called") => Ok(()),
        Err(error) => Err(format!("{}: {error}", words.join(" "))),
    }
}

#[test]
fn every_example_of_every_help_page_parses() {
    let command = command();
    let examples = examples(&command);
    assert!(examples.len() > 80, "{}", examples.len());
    let failed: Vec<_> = examples.iter().filter_map(|one| parses(&command, one).err()).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" && name != "typed.rs" {
            found.push(path);
        }
    }
}

/// A command of a literal with words in the place of what is filled in.
fn filled_in(text: &str) -> String {
    let text = text.replace("issue{}", "issue --dns x").replace("{}{}", "x --dns x");
    let text = text
        .replace("{out}", "")
        .replace("--{kind}", "--dns")
        .replace("{algorithm}", "ml-dsa-65");
    let mut filled = String::new();
    let mut rest = text.as_str();
    while let Some((before, behind)) = rest.split_once('{') {
        filled.push_str(before);
        filled.push('x');
        rest = behind.split_once('}').map_or("", |(_, rest)| rest);
    }
    filled + rest
}

/// Before, hints named `bartizan ca renew` and `bartizan ca issue --algorithm`, which cannot be run.
#[test]
fn every_command_of_a_hint_parses() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["src", "../crates"] {
        sources(&root.join(folder), &mut files);
    }
    let command = command();
    let names = |words: &[String]| {
        let mut at = Some(&command);
        let known = words[1..].iter().take_while(|word| {
            at = at.and_then(|command| command.find_subcommand(word.as_str()));
            at.is_some()
        });
        known.count() + 1
    };
    let (mut parsed, mut failed) = (0, Vec::new());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let code: String = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .map(|line| match line.strip_suffix('\\') {
                Some(continued) => continued.to_owned(),
                None => format!("{line}\n"),
            })
            .collect();
        for line in code.lines() {
            for text in line
                .split('`')
                .skip(1)
                .step_by(2)
                .filter(|text| text.starts_with("bartizan "))
            {
                let words = words(&filled_in(text));
                if words.len() < 3 {
                    continue;
                }
                // A name of a command is none that is typed, but for those whose options have
                // defaults.
                let is_name = words.len() == names(&words);
                if words[1] != "ca" && !words.iter().any(|word| word == "--node") {
                    continue;
                }
                let has_defaults = words[1] == "ca" && ["issue", "renew", "crl"].contains(&words[2].as_str());
                if is_name && !has_defaults {
                    continue;
                }
                parsed += 1;
                let has_name = words
                    .iter()
                    .any(|word| ["--dns", "--ip", "--uri"].contains(&word.as_str()));
                let place = file.display();
                if words[1] == "ca" && words[2] == "issue" && !has_name {
                    failed.push(format!("{place}: {text}: names nothing to issue"));
                }
                failed.extend(parses(&command, &words).err().map(|error| format!("{place}: {error}")));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(parsed > 30, "{parsed}");
}
