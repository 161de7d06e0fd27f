//! `bartizan-lab`: experiments, measurements, simulations, and the demonstration.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod commands;

use std::process::ExitCode;

use bartizan_terminal::{Failure, Outcome, help, interrupt, outcome, output, table};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// The meaning of exit code 1, by the words of a command.
const FINDINGS: &help::Findings = &[
    (
        "bench hostile",
        "a 99th percentile is more than a fifth above the quiet one, or a trial failed",
    ),
    ("bench inspect", "a figure does not reach its target"),
    ("bench sidecar", "a figure does not reach its target, or a trial failed"),
    ("demo", "something was not as it should be"),
    (
        "compare",
        "something got worse by more than the threshold, or lines of a file were no records",
    ),
    ("doctor", "an experiment cannot be run whole here"),
    ("export", "lines of a file were no records"),
    ("published", "lines of a file were no records"),
    (
        "report",
        "lines of a file were no records, or there was no trial to report",
    ),
    ("run", "a trial failed, or a part could not be run"),
    (
        "plan capacity",
        "the cores of a gateway do not suffice for the target, with some suite",
    ),
    ("plan merge", "under some seed a site was not back in time"),
    ("plan storm", "under some seed a site was not back in time"),
    ("plan measured", "the median absolute error is above 15 %"),
];

/// Options that `-h` leaves out; `--help` has them.
const LESS_USED: &help::LessUsed = &[
    ("bench hostile", "binary seed"),
    ("bench inspect", "tshark seed write binary compare-with"),
    ("bench sidecar", "placement binary compare-with seed"),
    (
        "plan capacity",
        "loss cost-factor site-rate gateway-rate engine resumption timers retry retry-jitter cookies-from queue dead-peer \
         rekey-child rekey-ike reconnect renew fetch-crl crl-entries horizon cost engine-cost scale scale-source seed",
    ),
    (
        "plan storm",
        "loss cost-factor site-rate gateway-rate engine resumption timers retry retry-jitter cookies-from queue dead-peer \
         rekey-child rekey-ike reconnect renew fetch-crl crl-entries horizon cost engine-cost scale scale-source part \
         html svg",
    ),
    ("run", "seed controls target target-ca binary"),
];

/// The laboratory of Bartizan: experiments, measurements, simulations and their reports.
#[derive(Parser)]
#[command(name = "bartizan-lab", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Lab(commands::lab::Lab),
    Bench(commands::bench::Args),
    Completions(commands::completions::Args),
    Demo(commands::demo::Args),
    Man(commands::man::Args),
    Plan(Box<commands::plan::Args>),
}

/// The whole command line.
fn command() -> clap::Command {
    help::with_exit_codes(Cli::command(), FINDINGS, LESS_USED)
}

fn main() -> ExitCode {
    let matches = command().try_get_matches();
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return outcome::usage(&error),
    };
    table::fit_columns();
    outcome::report(match cli.command {
        Command::Lab(command) => commands::lab::run(command),
        Command::Bench(args) => commands::bench::run(args),
        Command::Completions(args) => commands::completions::run(&args),
        Command::Demo(args) => commands::demo::run(args),
        Command::Man(args) => commands::man::run(&args),
        Command::Plan(args) => commands::plan::run(&args),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples are typed as `bartizan lab run`, `bartizan bench` and `bartizan plan`.
    #[test]
    fn every_example_of_every_help_page_parses() {
        let examples = help::examples(&command());
        assert!(examples.len() > 25, "{}", examples.len());
        let failed = examples.iter().filter_map(|words| {
            let own = words[1..].iter().skip(usize::from(words[1] == "lab"));
            let own = std::iter::once("bartizan-lab").chain(own.map(String::as_str));
            let error = command().try_get_matches_from(own).err()?;
            let is_help = error.kind() == clap::error::ErrorKind::DisplayHelp;
            (!is_help).then(|| format!("{}: {error}", words.join(" ")))
        });
        let failed: Vec<_> = failed.collect();
        assert!(failed.is_empty(), "{}", failed.join("\n"));
    }
}
