//! The end of every help page: the exit codes, the same everywhere; and the first screen of it.

mod short;

use clap::Command;

pub use short::{LINES, LessUsed};

/// The meaning of exit code 1, by the words of a command; a command that is not listed has none.
pub type Findings = [(&'static str, &'static str)];

/// The command line with exit codes at the end of each page of a command that does something.
pub fn with_exit_codes(command: Command, findings: &Findings, less_used: &LessUsed) -> Command {
    within(command, &[], findings, less_used)
}

fn within(command: Command, words: &[&str], findings: &Findings, less_used: &LessUsed) -> Command {
    let command = ended(command, words, findings, less_used);
    short::apart(command, &words.join(" "), less_used)
}

fn ended(command: Command, words: &[&str], findings: &Findings, less_used: &LessUsed) -> Command {
    let names: Vec<_> = command
        .get_subcommands()
        .map(|below| below.get_name().to_owned())
        .collect();
    let mut command = names.iter().fold(command, |command, name| {
        let words: Vec<_> = words.iter().copied().chain([name.as_str()]).collect();
        command.mut_subcommand(name, |below| within(below, &words, findings, less_used))
    });
    if let Some(text) = command.get_after_help().map(|text| pasted(&text.to_string())) {
        command = command.after_help(text);
    }
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

/// Columns of a terminal in which no example wraps: a line that wraps does not paste.
const COLUMNS: usize = 79;

/// Examples as a shell takes them: long ones are continued, and remarks, behind two blanks in the
/// source, begin with `#`.
fn pasted(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let command = line.trim_start();
        let indent = &line[..line.len() - command.len()];
        match command.starts_with("bartizan ") && !command.ends_with('\\') {
            true => example(indent, command),
            false => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn example(indent: &str, line: &str) -> String {
    let (command, remark) = match line.split_once("  ") {
        Some((command, remark)) => (command, Some(remark)),
        None => (line, None),
    };
    let width = |text: &str| text.chars().count();
    let remark = remark.map(|remark| {
        let text = remark.trim_start_matches([' ', '#']);
        let blanks = " ".repeat(2 + width(remark) - width(remark.trim_start()));
        (blanks, text)
    });
    let mut whole = String::new();
    match &remark {
        Some((blanks, text)) => {
            let one = format!("{indent}{command}{blanks}# {text}");
            if width(&one) <= COLUMNS {
                return one;
            }
            let one = format!("{indent}{command}  # {text}");
            if width(&one) <= COLUMNS {
                return one;
            }
            whole = format!("{indent}# {text}\n");
        }
        None if width(indent) + width(command) <= COLUMNS => return format!("{indent}{command}"),
        None => {}
    }
    let mut column = width(indent);
    whole.push_str(indent);
    for (index, part) in parts(command).into_iter().enumerate() {
        // Two more for what continues the line.
        if index > 0 && column + 1 + width(&part) + 2 > COLUMNS {
            whole.push_str(&format!(" \\\n{indent}  "));
            column = width(indent) + 2;
        } else if index > 0 {
            whole.push(' ');
            column += 1;
        }
        column += width(&part);
        whole.push_str(&part);
    }
    whole
}

/// Parts of a command that stay in one line: an option with its values, a program of a pipe.
fn parts(command: &str) -> Vec<String> {
    let (mut parts, mut quote) = (vec![String::new()], None);
    for (at, c) in command.char_indices() {
        let begins = command[at..].starts_with(" --") || command[at..].starts_with(" | ");
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, ' ') if begins => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    // An option and a value that are too long for one line.
    let fits = |part: &str| part.chars().count() + 6 <= COLUMNS;
    let halves = parts.into_iter().flat_map(|part| match part.split_once(' ') {
        Some((option, value)) if option.starts_with("--") && !fits(&part) => vec![option.to_owned(), value.to_owned()],
        _ => vec![part],
    });
    halves.collect()
}

/// Every example line of every help page, as the words that a shell hands over; what stands behind
/// a pipe, a redirection or a remark is left out. For tests, which parse them.
pub fn examples(command: &Command) -> Vec<Vec<String>> {
    let after = command.get_after_long_help().or(command.get_after_help());
    let text = after.map(ToString::to_string).unwrap_or_default();
    // A continued line is one line.
    let mut parts = text.split("\\\n");
    let first = parts.next().unwrap_or_default().to_owned();
    let text = parts.fold(first, |text, part| text + part.trim_start());
    let typed = text
        .lines()
        .map(str::trim_start)
        .filter(|line| line.starts_with("bartizan "));
    let mut found: Vec<_> = typed.map(words).collect();
    found.extend(command.get_subcommands().flat_map(examples));
    found
}

/// Words of a command line up to its end: an operator of the shell, or a remark.
pub fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                word.get_or_insert_default();
                quote = Some(c);
            }
            (None, ' ') => words.extend(word.take()),
            (None, '|' | '>' | ';' | '&' | '#') if word.is_none() => break,
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_paste_into_a_shell_from_eighty_columns() {
        let text = "Examples:\n  \
            bartizan check core.yaml                    the whole network\n  \
            bartizan enrol --server http://ca.5gc:8829 --name amf --reference mfrggzdf --secret-file amf.secret --out amf\n  \
            bartizan check core.yaml --interfaces --budget --distance 20km    what 3GPP and O-RAN ask, and what the file gives\n\n\
            The key never leaves this host.";
        let page = "Examples:\n  \
            bartizan check core.yaml                    # the whole network\n  \
            bartizan enrol --server http://ca.5gc:8829 --name amf --reference mfrggzdf \\\n    \
            --secret-file amf.secret --out amf\n  \
            # what 3GPP and O-RAN ask, and what the file gives\n  \
            bartizan check core.yaml --interfaces --budget --distance 20km\n\n\
            The key never leaves this host.";
        assert_eq!(pasted(text), page);
        let command = with_exit_codes(Command::new("bartizan").after_help(text), &[], &[]);
        assert_eq!(pasted(page), page);
        let lines = examples(&command);
        assert_eq!(lines.iter().map(Vec::len).collect::<Vec<_>>(), [3, 12, 7]);
    }
}
