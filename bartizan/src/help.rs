//! What every help page ends with: the exit codes, the same everywhere.

use clap::Command;

/// What exit code 1 says of a command, by its words; of those that are not here it never comes.
const FINDINGS: &[(&str, &str)] = &[
    ("algorithms", "nothing matches the filter"),
    (
        "bench hostile",
        "a 99th percentile is more than a fifth above the quiet one, or a trial failed",
    ),
    ("bench inspect", "a figure does not reach its target"),
    ("bench sidecar", "a figure does not reach its target, or a trial failed"),
    (
        "check",
        "something is protected by nothing, only for now or not any more, a file of the node is not in order, or a link falls short of its standard or budget",
    ),
    ("demo", "something was not as it should be"),
    ("doctor", "something that is needed is not there"),
    ("down", "a link or the guard is not in the state that was asked for"),
    ("guard install", "packets can pass unencrypted"),
    ("guard show", "what is installed is not what the file asks for"),
    ("inspect", "a finding"),
    ("inspect diff", "something got worse"),
    (
        "lab compare",
        "something got worse by more than the threshold, or lines of a file were no records",
    ),
    ("lab export", "lines of a file were no records"),
    (
        "lab report",
        "lines of a file were no records, or there was no trial to report",
    ),
    ("lab run", "a trial failed, or a part could not be run"),
    (
        "plan capacity",
        "the cores of a gateway do not suffice for the target, with some suite",
    ),
    ("plan merge", "under some seed a site was not back in time"),
    ("plan storm", "under some seed a site was not back in time"),
    ("plan measured", "the median absolute error is above 15 %"),
    ("rekey", "a link has not been rekeyed, or breaks its policy"),
    (
        "sidecar redirect show",
        "what is installed is not what the file asks for",
    ),
    (
        "status",
        "a link does not stand, breaks its policy, or its packets can leave unencrypted",
    ),
    ("up", "a link did not come up, or breaks its policy"),
];

/// The command line with exit codes at the end of each page of a command that does something.
pub(crate) fn with_exit_codes(command: Command) -> Command {
    within(command, &[])
}

fn within(command: Command, words: &[&str]) -> Command {
    let names: Vec<_> = command
        .get_subcommands()
        .map(|below| below.get_name().to_owned())
        .collect();
    let mut command = names.iter().fold(command, |command, name| {
        let words: Vec<_> = words.iter().copied().chain([name.as_str()]).collect();
        command.mut_subcommand(name, |below| within(below, &words))
    });
    let words = words.join(" ");
    let finding = FINDINGS
        .iter()
        .find(|(known, _)| *known == words)
        .map(|(_, finding)| finding);
    // Those that only lead to others have no end of their own.
    if !names.is_empty() && finding.is_none() && words != "sidecar" {
        return command;
    }
    let before = command
        .get_after_help()
        .map(|text| format!("{text}\n\n"))
        .unwrap_or_default();
    let finding = finding.map(|finding| format!("  1   {finding}\n")).unwrap_or_default();
    command = command.after_help(format!(
        "{before}Exit codes:\n  0   done, and no finding\n{finding}  2   it could not be done\n  64  it was not asked for properly"
    ));
    command
}
