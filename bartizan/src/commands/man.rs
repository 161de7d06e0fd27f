//! `bartizan man`: manual pages, generated from the commands.

use std::io;
use std::path::PathBuf;

use clap::CommandFactory;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::output::errln;
use crate::{Cli, Failure, Outcome, help};

/// Write the manual pages, one for each command.
///
/// They are made from the same text as --help, each with its examples and exit codes: bartizan.1, bartizan-ca.1, bartizan-ca-issue.1 and so on.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan man --out /usr/local/share/man/man1\n  \
    bartizan man --out pages && man -l pages/bartizan-check.1")]
pub(crate) struct Args {
    /// The folder to write them to, which is made if it is not there; pages of the same names are replaced.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    let failed = |error: io::Error| Failure::new(format!("{}: {error}", args.out.display()));
    std::fs::create_dir_all(&args.out).map_err(failed)?;
    // `bartizan help COMMAND` prints what is a page of its own here.
    let mut command = help::with_exit_codes(Cli::command()).disable_help_subcommand(true);
    command.build();
    let mut written = 0;
    let mut left = vec![command];
    while let Some(command) = left.pop() {
        left.extend(command.get_subcommands().filter(|below| !below.is_hide_set()).cloned());
        let (name, page) = page(command).map_err(failed)?;
        std::fs::write(args.out.join(&name), page)
            .map_err(|error| Failure::new(format!("{}: {error}", args.out.join(&name).display())))?;
        written += 1;
    }
    errln!("wrote {written} pages to {}", args.out.display());
    Ok(Outcome::Clean)
}

/// The page of one command, and the name of its file.
fn page(command: clap::Command) -> io::Result<(String, Vec<u8>)> {
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
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
