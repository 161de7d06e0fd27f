//! `bartizan`: parse, build, say what is bound, run, drain.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod commands;
#[cfg(feature = "full")]
mod laboratory;
mod less_used;
#[cfg(all(test, feature = "full"))]
mod tests;
mod version;

use std::process::ExitCode;

#[cfg(feature = "full")]
use bartizan_terminal::interrupt;
use bartizan_terminal::{Failure, Outcome, help, outcome, output, table};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use commands::pasted;

/// The meaning of exit code 1, by the words of a command.
const FINDINGS: &help::Findings = &[
    ("algorithms", "nothing matches the filter"),
    (
        "check",
        "something is protected by nothing, only for now or not any more, a file of the node is not in order, or a link falls short of its standard or budget",
    ),
    ("doctor", "something that is needed is not there"),
    ("down", "a link or the guard is not in the state that was asked for"),
    ("guard install", "packets can pass unencrypted"),
    ("guard show", "what is installed is not what the file asks for"),
    ("inspect", "a finding"),
    ("inspect diff", "something got worse"),
    (
        "ledger",
        "something was refused or breaks its policy, or records are missing",
    ),
    ("probe", "a finding"),
    ("rekey", "a link has not been rekeyed, or breaks its policy"),
    (
        "sidecar redirect show",
        "what is installed is not what the file asks for",
    ),
    (
        "status",
        "a sidecar is not ready or lost records, or a link does not stand, breaks its policy, or its packets can leave unencrypted",
    ),
    ("up", "a link did not come up, or breaks its policy"),
];

/// Commands that read private keys: no process of the same user traces them, from before a key is
/// read.
const WITH_KEYS: [&str; 8] = [
    "ca",
    "controller",
    "enrol",
    "ike-engine",
    "sidecar",
    "up",
    "watch",
    "webhook",
];

/// Makes the interfaces of a 5G core and of O-RAN quantum-safe: plans, protects, proves, measures.
#[derive(Parser)]
#[command(name = "bartizan", version, propagate_version = true)]
struct Cli {
    /// Commit, features and cryptographic module as well (with --version).
    #[arg(long, requires = "version")]
    verbose: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Algorithms(commands::algorithms::Args),
    /// Measure sidecars and the inspector, compared with others (by bartizan-lab)
    #[cfg(feature = "full")]
    #[command(after_help = "Examples:\n  bartizan bench sidecar --quick\n  bartizan bench --help")]
    Bench(laboratory::Passed),
    #[cfg(feature = "full")]
    Ca(commands::ca::Args),
    Check(commands::check::Args),
    #[cfg(feature = "full")]
    Completions(commands::completions::Args),
    #[cfg(feature = "full")]
    Controller(commands::controller::Args),
    /// Show sidecars on real traffic: the packets that prove it, and the cost (by bartizan-lab)
    #[cfg(feature = "full")]
    #[command(after_help = "Examples:\n  bartizan demo\n  bartizan demo --help")]
    Demo(laboratory::Passed),
    #[cfg(feature = "full")]
    Doctor(commands::doctor::Args),
    #[cfg(feature = "full")]
    Down(commands::ipsec::down::Args),
    #[cfg(feature = "full")]
    Enrol(commands::enrol::Args),
    #[cfg(feature = "full")]
    Guard(commands::guard::Args),
    #[cfg(feature = "full")]
    #[command(hide = true)]
    IkeEngine(commands::ipsec::engine::Args),
    #[cfg(feature = "full")]
    Init(commands::init::Args),
    #[cfg(feature = "full")]
    Inspect(Box<commands::inspect::Args>),
    /// Run experiments, list them, report and compare their records (by bartizan-lab)
    #[cfg(feature = "full")]
    #[command(after_help = "Examples:\n  bartizan lab list\n  bartizan lab run --help")]
    Lab(laboratory::Passed),
    #[cfg(feature = "full")]
    Ledger(commands::ledger::Args),
    #[cfg(feature = "full")]
    Man(commands::man::Args),
    #[cfg(feature = "full")]
    Plan(Box<commands::plan::Args>),
    #[cfg(feature = "full")]
    Probe(commands::probe::Args),
    #[cfg(feature = "full")]
    Rekey(commands::ipsec::rekey::Args),
    #[cfg(feature = "full")]
    Schema(commands::schema::Args),
    Sidecar(Box<commands::sidecar::Args>),
    #[cfg(feature = "full")]
    Status(commands::ipsec::status::Args),
    #[cfg(feature = "full")]
    Up(commands::ipsec::up::Args),
    #[cfg(feature = "full")]
    Watch(commands::ipsec::watch::Args),
    #[cfg(feature = "webhook")]
    Webhook(commands::webhook::Args),
}

/// The whole command line.
fn command() -> clap::Command {
    help::with_exit_codes(Cli::command(), FINDINGS, less_used::OPTIONS)
}

fn main() -> ExitCode {
    bartizan_server::end_process_on_panic();
    let command_name = std::env::args_os().nth(1);
    let has_keys = command_name.is_some_and(|name| WITH_KEYS.iter().any(|with| *with == name));
    if has_keys && let Err(error) = bartizan_confine::keep_memory_private() {
        return outcome::report(Err(Failure::new(format!("core dumps cannot be turned off: {error}"))));
    }
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if version::is_asked_for(&arguments) {
        return outcome::report(version::run());
    }
    let matches = command().try_get_matches();
    let cli = match matches.and_then(|matches| {
        pasted::remember(&matches);
        Cli::from_arg_matches(&matches)
    }) {
        Ok(cli) => cli,
        Err(error) => return outcome::usage(&error),
    };
    table::fit_columns();
    let result = match cli.command {
        Command::Algorithms(args) => commands::algorithms::run(&args),
        #[cfg(feature = "full")]
        Command::Bench(args) => laboratory::run("bench", &args.arguments),
        #[cfg(feature = "full")]
        Command::Ca(args) => commands::ca::run(args),
        Command::Check(args) => commands::check::run(&args),
        #[cfg(feature = "full")]
        Command::Completions(args) => commands::completions::run(&args),
        #[cfg(feature = "full")]
        Command::Controller(args) => commands::controller::run(args),
        #[cfg(feature = "full")]
        Command::Demo(args) => laboratory::run("demo", &args.arguments),
        #[cfg(feature = "full")]
        Command::Doctor(args) => commands::doctor::run(&args),
        #[cfg(feature = "full")]
        Command::Down(args) => commands::ipsec::down::run(&args),
        #[cfg(feature = "full")]
        Command::Enrol(args) => commands::enrol::run(&args),
        #[cfg(feature = "full")]
        Command::Guard(args) => commands::guard::run(&args),
        #[cfg(feature = "full")]
        Command::IkeEngine(args) => commands::ipsec::engine::run(&args),
        #[cfg(feature = "full")]
        Command::Init(args) => commands::init::run(&args),
        #[cfg(feature = "full")]
        Command::Inspect(args) => commands::inspect::run(&args),
        #[cfg(feature = "full")]
        Command::Lab(args) => laboratory::run("", &args.arguments),
        #[cfg(feature = "full")]
        Command::Ledger(args) => commands::ledger::run(&args),
        #[cfg(feature = "full")]
        Command::Man(args) => commands::man::run(&args),
        #[cfg(feature = "full")]
        Command::Plan(args) => commands::plan::run(&args),
        #[cfg(feature = "full")]
        Command::Probe(args) => commands::probe::run(&args),
        #[cfg(feature = "full")]
        Command::Rekey(args) => commands::ipsec::rekey::run(&args),
        #[cfg(feature = "full")]
        Command::Schema(args) => commands::schema::run(&args),
        Command::Sidecar(args) => commands::sidecar::run(*args),
        #[cfg(feature = "full")]
        Command::Status(args) => commands::ipsec::status::run(&args),
        #[cfg(feature = "full")]
        Command::Up(args) => commands::ipsec::up::run(&args),
        #[cfg(feature = "full")]
        Command::Watch(args) => commands::ipsec::watch::run(&args),
        #[cfg(feature = "webhook")]
        Command::Webhook(args) => commands::webhook::run(args),
    };
    outcome::report(result.map_err(|failure| failure.map_hints(pasted::complete)))
}
