//! Help pages of `bartizan-lab`: each command has an example and its exit codes.

#![allow(missing_docs, reason = "a test file has no readers of its documentation")]

use std::process::Command;

fn pages(words: &[String], found: &mut Vec<(String, String)>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bartizan-lab"));
    let output = command.args(words).arg("--help").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{words:?}");
    let page = String::from_utf8(output.stdout).unwrap();
    let listed = page.split_once("\nCommands:\n").map_or("", |(_, rest)| rest);
    let below: Vec<String> = listed
        .lines()
        .take_while(|line| line.is_empty() || line.starts_with("  "))
        .filter_map(|line| Some(line.strip_prefix("  ")?.split(' ').next()?.to_owned()))
        .filter(|name| !name.is_empty() && name != "help")
        .collect();
    if below.is_empty() {
        found.push((words.join(" "), page));
    }
    for name in below {
        pages(&[words, &[name]].concat(), found);
    }
}

#[test]
fn every_command_has_an_example_and_exit_codes() {
    let mut found = Vec::new();
    pages(&[], &mut found);
    assert!(found.len() > 14, "{}", found.len());
    for (words, page) in found {
        // As it is typed: the product executes this program for its own commands.
        assert!(
            page.contains("Example") && page.contains("\n  bartizan"),
            "{words}: {page}"
        );
        let codes = page.split_once("Exit codes:\n").map_or("", |(_, codes)| codes);
        for code in ["  0   ", "  2   ", "  64  "] {
            assert!(codes.contains(code), "{words}: {page}");
        }
        // Each description begins with a noun or a verb.
        let clause = page.lines().flat_map(|line| line.split("  ")).find(|piece| {
            let first = piece.trim_start().split(' ').next().unwrap_or_default();
            ["What", "How", "Who", "Whose", "Where", "Whether", "Whatever", "Of"].contains(&first)
        });
        assert_eq!(clause, None, "bartizan {words}");
    }
}

#[test]
fn examples_name_experiments_that_exist() {
    let listed = Command::new(env!("CARGO_BIN_EXE_bartizan-lab"))
        .args(["list", "--json"])
        .output()
        .unwrap();
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let experiments = listed["experiments"].as_array().unwrap();
    let known: Vec<_> = experiments.iter().filter_map(|one| one["id"].as_str()).collect();
    let mut found = Vec::new();
    pages(&[], &mut found);
    let mut named = 0;
    for (words, page) in found {
        for line in page.lines() {
            let Some(rest) = line.trim_start().strip_prefix("bartizan lab ") else {
                continue;
            };
            let mut rest = rest.split_whitespace();
            if !matches!(rest.next(), Some("run" | "report" | "compare" | "export")) {
                continue;
            }
            if let Some(id) = rest.next().filter(|id| !id.starts_with('-')) {
                let id = id.split('/').next().unwrap();
                assert!(id.contains('.') || known.contains(&id), "{words}: {line}");
                named += 1;
            }
        }
    }
    assert!(named > 5, "{named}");
}
