//! The end of every help page: the exit codes, the same everywhere.

use clap::Command;

/// The meaning of exit code 1, by the words of a command; a command that is not listed has none.
pub type Findings = [(&'static str, &'static str)];

/// The command line with exit codes at the end of each page of a command that does something.
#[must_use]
pub fn with_exit_codes(command: Command, findings: &Findings) -> Command {
    within(command, &[], findings)
}

fn within(command: Command, words: &[&str], findings: &Findings) -> Command {
    let names: Vec<_> = command
        .get_subcommands()
        .map(|below| below.get_name().to_owned())
        .collect();
    let mut command = names.iter().fold(command, |command, name| {
        let words: Vec<_> = words.iter().copied().chain([name.as_str()]).collect();
        command.mut_subcommand(name, |below| within(below, &words, findings))
    });
    let words = words.join(" ");
    let finding = findings
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
