//! `bartizan bench sidecar`.

use std::path::{Path, PathBuf};

use bartizan_workbench::runner::experiment::{Chosen, Parameters, bench};
use bartizan_workbench::runner::run::Settings;
use bartizan_workbench::stand_in::proxies::{Missing, Placement, Proxy, Tools, What};

use crate::commands::bench::{measure, report, table};
use crate::output::{errln, out, outln};
use crate::{Failure, Outcome};

/// Measure what a pair of sidecars adds to a request, and what handshakes and memory cost.
///
/// Client, two sidecars as shipped (metrics, ledger, revocation list and name checks on) and server
/// run on one processor, and again wherever the scheduler puts them; classical and post-quantum,
/// and other proxies where they are named, take turns in random order. As root the run goes before
/// other programs, without it the figures show what else the machine does.
///
/// Exit code 1 says that a figure does not reach its target, or that a trial failed.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan bench sidecar --quick\n  \
    bartizan bench sidecar --peer nginx-grpc,envoy --file trials.jsonl")]
pub(super) struct Args {
    /// Paths of the sidecar: splice, http2
    #[arg(long, value_name = "PATH,...", value_delimiter = ',', default_value = "splice,http2", value_parser = path)]
    path: Vec<Proxy>,

    /// Other proxies in the same run: nginx-stream, nginx-grpc, nginx-http2, haproxy, stunnel,
    /// ghostunnel, nghttpx, envoy, or all
    #[arg(long, value_name = "PROXY,...", value_delimiter = ',', value_parser = peer)]
    peer: Vec<Peers>,

    /// Subjects: latency, throughput, new-connection, handshakes, memory [default: all]
    #[arg(long, value_name = "WHAT,...", value_delimiter = ',', value_parser = what)]
    what: Vec<What>,

    /// Placement: one-core, unpinned [default: both, one after the other]
    #[arg(long, value_name = "PLACEMENT,...", value_delimiter = ',', value_parser = placement)]
    placement: Vec<Placement>,

    /// Repetitions of each, from 1 to 10000; the ratio of post-quantum to classical is judged from
    /// 100 on
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    repetitions: u16,

    /// A look within seconds, which proves nothing
    #[arg(long, conflicts_with = "repetitions")]
    quick: bool,

    /// The bartizan whose sidecar is measured, for a comparison of builds [default: this one]
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,

    /// Another build of bartizan, measured in the same run: what this one adds to a request must stay within 3 % of
    /// what that one does
    #[arg(long = "compare-with", value_name = "FILE")]
    other: Option<PathBuf>,

    /// Decides the order of trials; the same seed gives the same order [default: taken from the clock, and recorded]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,

    /// Print the figures as JSON (schema `bartizan-bench/2`) instead of tables
    #[arg(long)]
    json: bool,

    /// Write every trial to this file, one JSON line each (schema `bartizan-lab-trial/1`)
    #[arg(long = "file", value_name = "FILE.jsonl")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy)]
enum Peers {
    All,
    One(Proxy),
}

pub(super) fn path(name: &str) -> Result<Proxy, String> {
    named(name, Proxy::ALL.into_iter().filter(|proxy| proxy.is_ours()), |proxy| {
        proxy.name()
    })
}

fn peer(name: &str) -> Result<Peers, String> {
    if name == "all" {
        return Ok(Peers::All);
    }
    let others = Proxy::ALL.into_iter().filter(|proxy| !proxy.is_ours());
    named(name, others, |proxy| proxy.name()).map(Peers::One)
}

fn what(name: &str) -> Result<What, String> {
    named(name, What::ALL.into_iter(), |what| what.name())
}

fn placement(name: &str) -> Result<Placement, String> {
    named(name, Placement::ALL.into_iter(), |placement| placement.name())
}

fn named<T: Copy>(name: &str, all: impl Iterator<Item = T> + Clone, of: fn(&T) -> &'static str) -> Result<T, String> {
    let found = all.clone().find(|one| of(one) == name);
    found.ok_or_else(|| {
        format!(
            "it is one of {}",
            all.map(|one| of(&one)).collect::<Vec<_>>().join(", ")
        )
    })
}

impl Args {
    /// The proxies in the order of the list, each once.
    fn proxies(&self) -> Vec<Proxy> {
        let other = self.path.iter().filter_map(|path| path.other());
        let other: Vec<Proxy> = other.filter(|_| self.other.is_some()).collect();
        let wanted = |proxy: &Proxy| {
            self.path.contains(proxy)
                || self.peer.iter().any(|peer| match peer {
                    Peers::All => !proxy.is_ours(),
                    Peers::One(one) => one == proxy,
                })
        };
        Proxy::ALL.into_iter().filter(wanted).chain(other).collect()
    }

    /// Selected quantities, in the order of measurement.
    fn whats(&self) -> Vec<What> {
        let wanted = |what: &What| self.what.is_empty() || self.what.contains(what);
        What::ALL.into_iter().filter(wanted).collect()
    }

    /// The experiment with what is asked for of it.
    fn settings(&self, seed: u64, proxies: &[Proxy]) -> Result<Settings, Failure> {
        let placements = Placement::ALL.into_iter();
        let placements: Vec<Placement> = placements
            .filter(|placement| self.placement.is_empty() || self.placement.contains(placement))
            .collect();
        let whats = self.whats();
        let names = |placements: &[Placement]| placements.iter().map(|placement| placement.name().to_owned()).collect();
        let proxies: Vec<String> = std::iter::once("direct")
            .chain(proxies.iter().map(|proxy| proxy.name()))
            .map(str::to_owned)
            .collect();
        let repetitions = usize::from(self.repetitions);
        // Quantities that take long and vary little are repeated a tenth as often.
        let few = repetitions.div_ceil(10);
        let chosen = |placements: &[Placement], repetitions| Chosen {
            repetitions: Some(repetitions),
            levels: [
                ("proxy".to_owned(), proxies.clone()),
                ("placement".to_owned(), names(placements)),
            ]
            .into(),
            parameters: Parameters::default(),
        };
        let of = |what: &What| {
            let chosen = match what {
                What::Latency | What::NewConnection => chosen(&placements, repetitions),
                What::Throughput | What::Handshakes => chosen(&placements, few),
                // A pair of its own for each trial; where it runs says little of what it holds.
                What::Memory => chosen(&placements[..1], few.min(5)),
            };
            (what.name().to_owned(), chosen)
        };
        let in_memory = whats.contains(&What::Handshakes).then(|| {
            let chosen = Chosen {
                repetitions: Some(repetitions),
                ..Chosen::default()
            };
            (IN_MEMORY.to_owned(), chosen)
        });
        let selection: Vec<(String, Chosen)> = whats.iter().map(of).chain(in_memory).collect();
        Ok(Settings {
            seed,
            quick: self.quick,
            parts: Some(selection.iter().map(|(part, _)| part.clone()).collect()),
            selection: selection.into_iter().collect(),
            binary: absolute(self.binary.as_deref())?,
            other: absolute(self.other.as_deref())?,
            ..Settings::default()
        })
    }
}

/// The part of handshakes without a proxy.
const IN_MEMORY: &str = "handshakes-in-memory";

/// Workers run elsewhere: a path must not depend on where this one was started.
pub(super) fn absolute(path: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    path.map(|path| std::path::absolute(path).map_err(Failure::new))
        .transpose()
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let tools = tools(args.binary.as_deref())?
        .with_other(args.other.as_deref())
        .map_err(|error| failed(&error))?;
    if args.other.is_some()
        && let Some(missing) = tools.missing(Proxy::Http2Other)
    {
        return Err(Failure::usage(missing.reason).hint(missing.hint));
    }
    let (proxies, missing) = present(&tools, args.proxies());
    for Missing { proxy, reason, hint } in &missing {
        errln!("left out {}: {reason}", proxy.name());
        errln!("hint: {hint}");
    }
    if proxies.is_empty() {
        return Err(Failure::usage("nothing is left to measure").hint("name a path or a peer that is there"));
    }
    let seed = args.seed.unwrap_or_else(measure::seed_of_the_clock);
    let measured = measure::run(bench::SIDECAR, args.settings(seed, &proxies)?, args.out.as_ref())?;
    // Trials before an early end are worth their table.
    let report = report::Report::new(&measured, seed, &proxies, &args.whats(), missing);
    if !measured.trials.is_empty() {
        if args.json {
            outln!("{}", serde_json::to_string_pretty(&report).map_err(Failure::new)?);
        } else {
            out!("{}", table::render(&report));
        }
    }
    let outcome = report.outcome(&measured);
    let nothing = measured.trials.is_empty();
    measured.ended?;
    if nothing {
        return Err(Failure::new("nothing was measured"));
    }
    Ok(outcome)
}

pub(super) fn failed(error: &bartizan_workbench::Error) -> Failure {
    let failure = Failure::new(error);
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

pub(super) fn tools(binary: Option<&Path>) -> Result<Tools, Failure> {
    Tools::find(crate::commands::own()?, binary).map_err(|error| failed(&error))
}

/// Those that are there, and those that are not.
fn present(tools: &Tools, wanted: Vec<Proxy>) -> (Vec<Proxy>, Vec<Missing>) {
    let (mut there, mut missing) = (Vec::new(), Vec::new());
    for proxy in wanted {
        match tools.missing(proxy) {
            None => there.push(proxy),
            Some(one) => missing.push(one),
        }
    }
    (there, missing)
}
