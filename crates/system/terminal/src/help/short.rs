//! The first screen of a command, which `-h` prints: less-used options, most examples and further
//! sentences are in `--help` alone.

use clap::{Arg, Command};

/// Options that `-h` leaves out, separated by blanks, by the words of a command.
pub type LessUsed = [(&'static str, &'static str)];

/// Lines of `-h` at most, at 80 columns.
pub const LINES: usize = 40;

/// Headings of options in commands with many, the same for all of them.
const GROUPS: [(&str, &str); 3] = [
    (
        "Output",
        "json out quiet fail-on accept html sarif oscal cbom cbom-version coverage csv all alike log log-format print-crds crl",
    ),
    (
        "Limits",
        "for packets memory window grace forget timeout queue-limit lifetime renew-before days intermediate-days allow-long \
         open-for drain requests limits",
    ),
    ("Research", "trials seed seeds certificate-extra timing reads"),
];

/// Number of options from which they are in groups.
const MANY: usize = 10;

/// Examples on the first screen.
const EXAMPLES: usize = 3;

/// The command with its first screen apart from its whole help.
pub(super) fn apart(command: Command, words: &str, less_used: &LessUsed) -> Command {
    let hidden = less_used.iter().find(|(known, _)| *known == words);
    let hidden = hidden.map_or("", |(_, options)| options);
    let names = |options: &str, name: &str| options.split_whitespace().any(|option| option == name);
    let is_option = |arg: &&Arg| arg.get_long().is_some() && !arg.is_hide_set();
    let in_groups = command.get_arguments().filter(is_option).count() >= MANY;
    let mut command = command.mut_args(|arg| {
        let name = arg.get_long().unwrap_or_default().to_owned();
        let group = GROUPS.iter().find(|(_, options)| names(options, &name));
        let arg = match group {
            Some((heading, _)) if in_groups && arg.get_help_heading().is_none() => arg.help_heading(*heading),
            _ => arg,
        };
        let is_hidden = names(hidden, &name);
        shortened(arg).hide_short_help(is_hidden)
    });
    if let Some(whole) = command.get_about().map(ToString::to_string) {
        let long = command.get_long_about().map_or(whole.clone(), ToString::to_string);
        command = command.about(sentence(&whole)).long_about(long);
    }
    if let Some(whole) = command.get_after_help().map(ToString::to_string) {
        command = command.after_help(first(&whole)).after_long_help(whole);
    }
    command
}

fn shortened(arg: Arg) -> Arg {
    match arg.get_help().map(ToString::to_string) {
        Some(whole) if arg.get_long_help().is_none() => {
            let short = sentence(&whole);
            let is_whole = short == whole;
            let arg = arg.help(short);
            if is_whole { arg } else { arg.long_help(whole) }
        }
        _ => arg,
    }
}

/// The first clause of a text: up to what explains it, where that leaves enough.
fn sentence(text: &str) -> String {
    // Behind `With --follow:` stands the clause itself.
    const ENOUGH: usize = 15;
    let ends = [". ", "; ", ": ", " (", ", as "].into_iter();
    let end = ends.filter_map(|end| {
        let from = if end == ": " { ENOUGH } else { 8 };
        let found = text.match_indices(end).find(|(at, _)| *at >= from);
        found.map(|(at, _)| at)
    });
    end.min().map_or(text, |end| &text[..end]).to_owned()
}

/// The first examples, and the exit codes in a line.
fn first(whole: &str) -> String {
    let (mut short, mut examples) = (String::new(), 0);
    let mut blocks = whole.split("\n\n");
    let named = |block: &&str| block.starts_with("Example");
    if let Some(block) = blocks.clone().find(named) {
        let mut lines = block.lines();
        short.extend(lines.next().map(|line| format!("{line}\n")));
        for line in lines {
            // A remark stands above its command.
            if line.trim_start().starts_with('#') {
                continue;
            }
            let (command, _) = line.split_once("  # ").unwrap_or((line, ""));
            short.push_str(&format!("{}\n", command.trim_end()));
            examples += usize::from(!line.ends_with('\\'));
            if examples == EXAMPLES {
                break;
            }
        }
    }
    if let Some(codes) = blocks.find(|block| block.starts_with("Exit codes")) {
        let finding = if codes.contains("\n  1 ") { ", 1 a finding" } else { "" };
        short.push_str(&format!(
            "\nExit codes: 0 done{finding}, 2 failed, 64 usage. All options: --help"
        ));
    }
    short.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_screen_has_first_clauses_and_the_whole_help_all() {
        for (whole, short) in [
            ("Captures, pcap or pcapng; `-` reads one", "Captures, pcap or pcapng"),
            (
                "With --follow: serve a page at this address (docs/x.md)",
                "With --follow: serve a page at this address",
            ),
            ("A TLS key log (RFC 9850): connections are opened", "A TLS key log"),
            ("Lifetime of certificates: 90d, 12h", "Lifetime of certificates"),
            ("Print JSON", "Print JSON"),
        ] {
            assert_eq!(sentence(whole), short);
        }
        let whole = "Examples:\n  bartizan a                # one\n  # two\n  bartizan b \\\n    --c\n  bartizan d\n  bartizan e\n\n\
                     Exit codes:\n  0   done\n  1   more\n  2   not\n  64  so";
        assert_eq!(
            first(whole),
            "Examples:\n  bartizan a\n  bartizan b \\\n    --c\n  bartizan d\n\n\
             Exit codes: 0 done, 1 a finding, 2 failed, 64 usage. All options: --help"
        );
        let command = Command::new("x")
            .arg(Arg::new("a").long("a").help("Apples, pears. B."))
            .arg(Arg::new("b").long("b").help("C"));
        let command = apart(command.after_help(whole), "x", &[("x", "b")]);
        let short = command.clone().render_help().to_string();
        let long = command.clone().render_long_help().to_string();
        assert!(
            short.contains("--a") && !short.contains("--b") && !short.contains("B."),
            "{short}"
        );
        assert!(
            long.contains("Apples, pears. B.") && long.contains("--b") && long.contains("bartizan e"),
            "{long}"
        );
    }
}
