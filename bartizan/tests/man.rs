//! `bartizan man`: every command has a page, with what its help says.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

fn bartizan(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bartizan"));
    let output = command.args(arguments).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The page as a terminal of 200 columns shows it, without bold; a warning of groff's is a fault of the page.
fn shown(page: &Path) -> String {
    let mut groff = Command::new("groff");
    groff
        .args(["-man", "-Tutf8", "-ww", "-P-c", "-P-b", "-P-u", "-rLL=200n", "-Kutf8"])
        .arg(page);
    let output = groff.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{}: {said}", page.display());
    String::from_utf8(output.stdout).unwrap()
}

/// The page's text without hyphenation and typographic quotes.
fn plain(text: &str) -> String {
    let plain = |character: char| match character {
        '\u{2010}' | '\u{2212}' => '-',
        '\u{2018}' | '\u{2019}' => '\'',
        other => other,
    };
    let text: String = text.chars().map(plain).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_command_has_a_page_with_its_examples_and_exit_codes() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("man1");
    bartizan(&["man", "--out", folder.to_str().unwrap()]);
    let mut left = vec![Vec::<String>::new()];
    let mut pages = 0;
    while let Some(words) = left.pop() {
        let mut arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        arguments.push("--help");
        let help = bartizan(&arguments);
        let name = ["bartizan".to_owned()]
            .into_iter()
            .chain(words.clone())
            .collect::<Vec<_>>()
            .join("-");
        let file = folder.join(format!("{name}.1"));
        let page = plain(&shown(&file));
        pages += 1;
        assert!(page.contains(&format!("NAME {name} - ")), "{name}: {page}");
        // Lines of examples and exit codes stand on the page as they stand in the help.
        // The last of each: a description may speak of them too.
        let ends = help
            .rfind("\nExample")
            .into_iter()
            .chain(help.rfind("\nExit codes:"))
            .min();
        let end = ends.map_or("", |at| &help[at..]);
        let mut lines = 0;
        for line in end.lines().filter(|line| line.starts_with("  ")) {
            assert!(page.contains(&plain(line)), "{name} lacks `{line}`: {page}");
            lines += 1;
        }
        let listed = help.split_once("\nCommands:\n").map_or("", |(_, rest)| rest);
        let below: Vec<_> = listed
            .lines()
            .take_while(|line| line.is_empty() || line.starts_with("  "))
            .filter_map(|line| Some(line.strip_prefix("  ")?.split(' ').next()?.to_owned()))
            // Each page is what `help` prints.
            .filter(|name| !name.is_empty() && name != "help")
            // Help of these is that of `bartizan-lab`.
            .filter(|name| !["bench", "demo", "lab"].contains(&name.as_str()))
            .filter(|name| words != ["plan"] || ["delay", "fronthaul", "mtu"].contains(&name.as_str()))
            .collect();
        assert!(!page.contains(&format!("{name}-help(1)")), "{name}: {page}");
        if below.is_empty() {
            assert!(
                page.contains(" EXAMPLES ") && page.contains(" EXIT STATUS ") && lines > 3,
                "{name}: {page}"
            );
        }
        left.extend(below.into_iter().map(|name| [words.clone(), vec![name]].concat()));
    }
    // Ten commands are executed by `bartizan-lab`.
    assert_eq!(fs::read_dir(&folder).unwrap().count(), pages + 10);
    assert!(pages > 35, "{pages}");
}

#[test]
fn pages_are_the_same_each_time() {
    let place = tempfile::tempdir().unwrap();
    let read = |name: &str| {
        let folder = place.path().join(name);
        bartizan(&["man", "--out", folder.to_str().unwrap()]);
        let files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
        let mut files: Vec<_> = files
            .map(|file| (file.file_name().unwrap().to_owned(), fs::read(file).unwrap()))
            .collect();
        files.sort();
        files
    };
    assert_eq!(read("one"), read("two"));
}
