//! `bartizan bench hostile`.

use std::fs::File;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use bartizan_lab::bench::{self, HostileFigure, HostileOptions, HostileTrial, Hostility, Proxy, Tools, Verdict};
use serde::Serialize;

use super::sidecar::{failed, path};
use crate::interrupt::Interrupt;
use crate::output::{errln, out, outln};
use crate::table::Side::{Left, Right};
use crate::table::Table;
use crate::{Failure, Outcome};

/// Measure what hostile others do to the latency of requests that share sidecars with them.
///
/// A consumer's requests to a producer, one after the other, next to nobody, a hostile consumer, a hostile producer, unauthenticated clients and a
/// hostile peer of another interface, in random order in every repetition. Three sidecars as shipped; what is hostile has processors of
/// its own where there are two.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan bench hostile --repetitions 20\n  \
    bartizan bench hostile --path http2 --repetitions 100 --file hostile.jsonl")]
pub(super) struct Args {
    /// Paths of the sidecar: splice, http2
    #[arg(long, value_name = "PATH,...", value_delimiter = ',', default_value = "http2,splice", value_parser = path)]
    path: Vec<Proxy>,
    /// How often each is repeated, from 1 to 10000; judged from 20 on
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
    /// Print the figures as JSON (schema `bartizan-bench-hostile/1`) instead of a table
    #[arg(long)]
    json: bool,
    /// Write every trial to this file, one JSON line each (schema `bartizan-bench-hostile-trial/1`)
    #[arg(long, value_name = "FILE.jsonl")]
    file: Option<PathBuf>,
}

/// What is hostile, until it is killed.
#[derive(clap::Args)]
pub(super) struct AttackArgs {
    /// Who
    #[arg(long = "as", value_parser = hostility)]
    who: Hostility,
    /// Towards whom
    #[arg(long)]
    to: SocketAddr,
    /// Where a hostile producer stands
    #[arg(long)]
    listen: Option<SocketAddr>,
}

fn hostility(name: &str) -> Result<Hostility, String> {
    Hostility::named(name).ok_or_else(|| "nobody is hostile like that".to_owned())
}

pub(super) fn attack(args: &AttackArgs) -> Result<Outcome, Failure> {
    bench::attack(args.who, args.to, args.listen).map_err(|error| failed(&error))?;
    Ok(Outcome::Clean)
}

/// Everything a run says.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    seed: u64,
    requests: u32,
    trials: usize,
    environment: Option<&'a bench::Environment>,
    figures: &'a [HostileFigure],
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let interrupt = Interrupt::install()?;
    let own = std::env::current_exe().map_err(|error| Failure::new(format!("where this program lies: {error}")))?;
    let tools = Tools::find(own, args.binary.as_deref()).map_err(|error| failed(&error))?;
    if let Some(missing) = args.path.first().and_then(|&path| tools.missing(path)) {
        return Err(Failure::usage(missing.reason).hint(missing.hint));
    }
    let scratch = tempfile::Builder::new()
        .prefix("bartizan-bench-")
        .tempdir()
        .map_err(|error| {
            Failure::new(format!("a temporary folder: {error}")).hint("set TMPDIR to a folder that can be written")
        })?;
    let mut written = match &args.file {
        Some(path) => Some(File::create(path).map_err(|error| {
            Failure::usage(format!("{}: {error}", path.display())).hint("--file takes a file that can be written")
        })?),
        None => None,
    };
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let options = HostileOptions {
        paths: args.path.clone(),
        repetitions: usize::from(args.repetitions),
        requests: args.requests as usize,
        seed: args.seed.unwrap_or(since.as_secs()),
        tools,
        folder: scratch.path().to_owned(),
    };
    let mut trials: Vec<HostileTrial> = Vec::new();
    let ended = bench::run_hostile(&options, &mut |trial| {
        if let Some(error) = &trial.error {
            errln!(
                "a trial of {} beside {} failed: {error}",
                trial.path.name(),
                trial.hostility.name()
            );
        }
        if let Some(file) = &mut written {
            let mut line =
                serde_json::to_vec(&trial).map_err(|error| bench::Error::Configuration(error.to_string()))?;
            line.push(b'\n');
            file.write_all(&line).map_err(|source| bench::Error::File {
                path: args.file.clone().unwrap_or_default(),
                source,
            })?;
        }
        trials.push(trial);
        Ok(!interrupt.asked())
    });
    // What was measured before an end that came early is worth its table.
    let figures = bench::hostile_figures(&trials);
    if args.json {
        let report = Report {
            schema: "bartizan-bench-hostile/1",
            seed: options.seed,
            requests: args.requests,
            trials: trials.len(),
            environment: trials.first().map(|trial| &trial.environment),
            figures: &figures,
        };
        outln!("{}", serde_json::to_string_pretty(&report).map_err(Failure::new)?);
    } else {
        out!("{}", table(&options, &trials, &figures));
    }
    ended.map_err(|error| failed(&error))?;
    let missed = figures
        .iter()
        .any(|figure| figure.verdict == Verdict::NotReached || figure.failed > 0);
    Ok(if missed { Outcome::Finding } else { Outcome::Clean })
}

fn table(options: &HostileOptions, trials: &[HostileTrial], figures: &[HostileFigure]) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "99th percentile of {} requests on a kept-alive connection, us (one-core, post-quantum)",
        options.requests
    );
    let mut table = Table::new([Left, Left, Right, Right, Right, Right, Right, Right, Right, Left]);
    table.push([
        "",
        "beside",
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
        table.push([
            figure.path.name().to_owned(),
            figure.hostility.name().to_owned(),
            figure.p99_us.n.to_string(),
            format!("{:.1}", figure.p99_us.lower_quartile),
            format!("{:.1}", figure.p99_us.median),
            format!("{:.1}", figure.p99_us.upper_quartile),
            format!("{:.1}", figure.median_us.median),
            figure.ratio.map_or_else(String::new, |ratio| format!("{ratio:.3}")),
            figure.interval.map_or_else(String::new, |interval| {
                format!("{:.3} .. {:.3}", interval.low, interval.high)
            }),
            said + &failed,
        ]);
    }
    text.push_str(&table.indented());
    if let Some(trial) = trials.first() {
        let environment = &trial.environment;
        let _ = writeln!(
            text,
            "bartizan {}, seed {}, {} trials; Linux {}, {} x {}; priority {}\nratio: median of the hostile trials over that of the quiet ones of the same repetitions",
            environment.bartizan,
            options.seed,
            trials.len(),
            environment.kernel,
            environment.processors.len(),
            environment.cpu.as_deref().unwrap_or("unknown processor"),
            environment.priority,
        );
    }
    text
}
