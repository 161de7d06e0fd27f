//! Manual pages and completions, generated from the commands.

use std::io;
use std::path::Path;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::output::{errln, print};
use crate::{Failure, Outcome};

/// Writes the manual page of each command to `folder`.
///
/// # Errors
/// When one cannot be written.
pub fn write(mut command: Command, folder: &Path) -> Result<Outcome, Failure> {
    let failed = |error: io::Error| Failure::new(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    // `bartizan help COMMAND` prints what is a page of its own here.
    command = command.disable_help_subcommand(true);
    command.build();
    let mut written = 0;
    let mut left = vec![command];
    while let Some(command) = left.pop() {
        left.extend(command.get_subcommands().filter(|below| !below.is_hide_set()).cloned());
        let (name, page) = page(command).map_err(failed)?;
        std::fs::write(folder.join(&name), page)
            .map_err(|error| Failure::new(format!("{}: {error}", folder.join(&name).display())))?;
        written += 1;
    }
    errln!("wrote {written} pages to {}", folder.display());
    Ok(Outcome::Clean)
}

/// Prints the completion script of a shell.
///
/// # Errors
/// When it cannot be printed.
pub fn complete(mut command: Command, shell: Shell) -> Result<Outcome, Failure> {
    let name = command.get_name().to_owned();
    // In memory first: what generates it panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Clean)
}

/// The page of one command, and the name of its file.
fn page(command: clap::Command) -> io::Result<(String, Vec<u8>)> {
    let after = command.get_after_long_help().or(command.get_after_help());
    let after = after.map(ToString::to_string).unwrap_or_default();
    let has_commands = command.has_subcommands();
    // No date: the same sources give the same bytes.
    let man = Man::new(command)
        .source(concat!("Bartizan ", env!("CARGO_PKG_VERSION")))
        .manual("Bartizan");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if has_commands {
        man.render_subcommands_section(&mut page)?;
    }
    let mut behind = Roff::new();
    for block in after.split("\n\n").filter(|block| !block.trim().is_empty()) {
        section(&mut behind, block);
    }
    behind.to_writer(&mut page)?;
    Ok((man.get_filename(), page))
}

/// A block of what follows the options in --help. Its lines stay as they are: they are commands, or columns.
fn section(page: &mut Roff, block: &str) {
    let (heading, rest) = block.split_once('\n').unwrap_or((block, ""));
    let (heading, lines) = match heading.trim_end_matches(':') {
        "Example" | "Examples" => ("EXAMPLES", rest),
        "Exit codes" => ("EXIT STATUS", rest),
        _ => ("NOTES", block),
    };
    page.control("SH", [heading]);
    page.control("nf", []);
    for line in lines.lines() {
        page.text([roman(line)]);
    }
    page.control("fi", []);
}
