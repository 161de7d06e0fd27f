//! `bartizan bench hostile`.

use std::net::SocketAddr;
use std::path::PathBuf;

use bartizan_estimators::Sample;
use bartizan_page::quantity::Shown;
use bartizan_report::bench::{HostileFigure, Verdict, hostile_figures};
use bartizan_workbench::runner::experiment::{Chosen, Parameters, bench};
use bartizan_workbench::runner::run::Settings;
use bartizan_workbench::runner::trial::Environment;
use bartizan_workbench::stand_in::proxies::{self, Hostility, Proxy};
use serde::Serialize;

use super::measure::{self, Measured};
use super::sidecar::{absolute, failed, path, tools};
use crate::output::{out, outln};
use crate::table::Side::{Left, Right};
use crate::table::Table;
use crate::{Failure, Outcome};

/// Measure what hostile others do to the latency of requests that share sidecars with them.
///
/// A consumer's requests to a producer, one after the other, alone, next to a hostile consumer, a
/// hostile producer, unauthenticated clients and a hostile peer of another interface, in random
/// order in every repetition. Three sidecars as shipped; what is hostile has processors of its own
/// where there are two.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan bench hostile --repetitions 20\n  \
    bartizan bench hostile --path http2 --repetitions 100 --file hostile.jsonl")]
pub(super) struct Args {
    /// Paths of the sidecar: splice, http2
    #[arg(long, value_name = "PATH,...", value_delimiter = ',', default_value = "http2,splice", value_parser = path)]
    path: Vec<Proxy>,
    /// Repetitions of each, from 1 to 10000; judged from 20 on
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    repetitions: u16,
    /// Requests of a trial, of which the 99th percentile is taken, from 100 to 100000
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(100..=100_000))]
    requests: u32,
    /// The bartizan whose sidecar is measured [default: this one]
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Decides the order of trials [default: taken from the clock, and recorded]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Print the figures as JSON (schema `bartizan-bench-hostile/2`) instead of a table
    #[arg(long)]
    json: bool,
    /// Write every trial to this file, one JSON line each (schema `bartizan-lab-trial/1`)
    #[arg(long, value_name = "FILE.jsonl")]
    file: Option<PathBuf>,
}

/// A hostile party, until it is killed.
#[derive(clap::Args)]
pub(super) struct AttackArgs {
    /// Kind of hostile party
    #[arg(long = "as", value_parser = hostility)]
    who: Hostility,
    /// Address to attack
    #[arg(long)]
    to: SocketAddr,
    /// Address of a hostile producer
    #[arg(long)]
    listen: Option<SocketAddr>,
}

fn hostility(name: &str) -> Result<Hostility, String> {
    Hostility::named(name).ok_or_else(|| "nobody is hostile like that".to_owned())
}

pub(super) fn attack(args: &AttackArgs) -> Result<Outcome, Failure> {
    proxies::attack(args.who, args.to, args.listen).map_err(|error| failed(&error))?;
    Ok(Outcome::Clean)
}

/// Everything a run says.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    seed: u64,
    requests: u32,
    trials: usize,
    environment: Option<Environment>,
    figures: &'a [HostileFigure],
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let tools = tools(args.binary.as_deref())?;
    if let Some(missing) = args.path.first().and_then(|&path| tools.missing(path)) {
        return Err(Failure::usage(missing.reason).hint(missing.hint));
    }
    let seed = args.seed.unwrap_or_else(measure::seed_of_the_clock);
    let measured = measure::run(bench::HOSTILE, args.settings(seed)?, args.file.as_ref())?;
    // Trials before an early end are worth their table.
    let figures = hostile_figures(&measured.experiment, &measured.trials);
    if args.json {
        let report = Report {
            schema: "bartizan-bench-hostile/2",
            seed,
            requests: args.requests,
            trials: measured.trials.len(),
            environment: measured.environment(),
            figures: &figures,
        };
        outln!("{}", serde_json::to_string_pretty(&report).map_err(Failure::new)?);
    } else {
        out!("{}", table(args.requests, seed, &measured, &figures));
    }
    let outcome = measured.outcome(figures.iter().any(|figure| figure.verdict == Verdict::NotReached));
    measured.ended?;
    Ok(outcome)
}

impl Args {
    fn settings(&self, seed: u64) -> Result<Settings, Failure> {
        let paths = self.path.iter().map(|path| path.name().to_owned()).collect();
        let chosen = Chosen {
            repetitions: Some(usize::from(self.repetitions)),
            levels: [("proxy".to_owned(), paths)].into(),
            parameters: Parameters::from_iter([("requests".to_owned(), self.requests.into())]),
        };
        Ok(Settings {
            seed,
            selection: [("latency".to_owned(), chosen)].into_iter().collect(),
            binary: absolute(self.binary.as_deref())?,
            ..Settings::default()
        })
    }
}

fn table(requests: u32, seed: u64, measured: &Measured, figures: &[HostileFigure]) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    let typical = Sample::new(figures.iter().map(|figure| figure.p99_us.median));
    let shown = bartizan_report::quantity::for_values("us", typical.map_or(0.0, |sample| sample.median()));
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "99th percentile of {requests} requests on a kept-alive connection, {} (one-core, post-quantum)",
        shown.symbol
    );
    let mut table = Table::new([Left, Left, Right, Right, Right, Right, Right, Right, Right, Left]);
    table.push([
        "",
        "hostility",
        "n",
        "quartile",
        "median",
        "quartile",
        "p50",
        "ratio",
        "95 % interval",
        "target",
    ]);
    for figure in figures {
        let said = match &figure.verdict {
            Verdict::NoTarget => String::new(),
            Verdict::Reached => "at most 1.2: reached".to_owned(),
            Verdict::NotReached => "at most 1.2: NOT REACHED".to_owned(),
            Verdict::NotJudged(why) => format!("at most 1.2: not judged ({why})"),
        };
        let failed = match figure.failed {
            0 => String::new(),
            failed => format!(" ({failed} trials failed)"),
        };
        let (ratio, interval) = match (figure.ratio, figure.interval) {
            (Some(ratio), Some(interval)) => Shown::bare().parts(ratio, interval),
            (ratio, _) => (
                ratio.map_or_else(String::new, |ratio| Shown::bare().number(ratio)),
                String::new(),
            ),
        };
        table.push([
            figure.path.name().to_owned(),
            figure.hostility.name().to_owned(),
            figure.p99_us.n.to_string(),
            shown.number(figure.p99_us.lower_quartile),
            shown.number(figure.p99_us.median),
            shown.number(figure.p99_us.upper_quartile),
            shown.number(figure.median_us.median),
            ratio,
            interval,
            said + &failed,
        ]);
    }
    text.push_str(&table.indented());
    if let Some(environment) = measured.environment() {
        let _ = writeln!(
            text,
            "bartizan {}, seed {seed}, {} trials; Linux {}, {} x {}; priority {}\nratio: over the quiet trials of the same repetitions, pair by pair",
            environment.version,
            measured.trials.len(),
            environment.kernel,
            environment.processors.len(),
            environment.processor.as_deref().unwrap_or("unknown processor"),
            environment.priority,
        );
    }
    text
}
