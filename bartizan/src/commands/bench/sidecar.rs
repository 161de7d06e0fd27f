//! `bartizan bench sidecar`.

use std::fs::File;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use bartizan_lab::bench::{self, Extent, Measured, Missing, Observer, Options, Placement, Proxy, Record, Tools, What};
use indicatif::{ProgressBar, ProgressStyle};

use crate::commands::bench::{report, table};
use crate::interrupt::Interrupt;
use crate::output::{errln, out, outln};
use crate::{Failure, Outcome};

/// Measure what a pair of sidecars adds to a request, and what handshakes and memory cost.
///
/// Client, two sidecars as shipped (metrics, ledger, revocation list and name checks on) and server run on one processor, and again
/// wherever the scheduler puts them; classical and post-quantum, and other proxies where they are named, take turns in random order.
/// As root the run goes before other programs, without it the figures show what else the machine does.
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

    /// What to measure: latency, throughput, new-connection, handshakes, memory [default: all]
    #[arg(long, value_name = "WHAT,...", value_delimiter = ',', value_parser = what)]
    what: Vec<What>,

    /// Where it runs: one-core, unpinned [default: both, one after the other]
    #[arg(long, value_name = "PLACEMENT,...", value_delimiter = ',', value_parser = placement)]
    placement: Vec<Placement>,

    /// How often each is repeated, from 1 to 10000; the ratio of post-quantum to classical is judged from 100 on
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
    #[arg(long, value_name = "FILE")]
    beside: Option<PathBuf>,

    /// Decides the order of trials; the same seed gives the same order [default: taken from the clock, and recorded]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,

    /// Print the figures as JSON (schema `bartizan-bench/1`) instead of tables
    #[arg(long)]
    json: bool,

    /// Write every trial to this file, one JSON line each (schema `bartizan-bench-trial/1`)
    #[arg(long = "file", alias = "out", value_name = "FILE.jsonl")]
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
        let beside = self.path.iter().filter_map(|path| path.beside());
        let beside: Vec<Proxy> = beside.filter(|_| self.beside.is_some()).collect();
        let wanted = |proxy: &Proxy| {
            self.path.contains(proxy)
                || self.peer.iter().any(|peer| match peer {
                    Peers::All => !proxy.is_ours(),
                    Peers::One(one) => one == proxy,
                })
        };
        Proxy::ALL.into_iter().filter(wanted).chain(beside).collect()
    }

    fn options(&self, tools: Tools, proxies: Vec<Proxy>, folder: PathBuf) -> Options {
        let or_all = |chosen: &[What]| {
            What::ALL
                .into_iter()
                .filter(|what| chosen.is_empty() || chosen.contains(what))
                .collect()
        };
        let placements = Placement::ALL.into_iter();
        Options {
            proxies,
            what: or_all(&self.what),
            placements: placements
                .filter(|placement| self.placement.is_empty() || self.placement.contains(placement))
                .collect(),
            extent: if self.quick {
                Extent::quick()
            } else {
                Extent::full(usize::from(self.repetitions))
            },
            seed: self.seed.unwrap_or_else(seed_of_the_clock),
            tools,
            folder,
        }
    }
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let interrupt = Interrupt::install()?;
    let mut tools = tools(args.binary.as_ref())?;
    if let Some(beside) = &args.beside {
        // Processes of a run are started elsewhere.
        tools.beside = std::path::absolute(beside).ok();
        if let Some(missing) = tools.missing(Proxy::Http2Beside) {
            return Err(Failure::usage(missing.reason).hint(missing.hint));
        }
    }
    let (proxies, missing) = present(&tools, args.proxies());
    for Missing { proxy, reason, hint } in &missing {
        errln!("left out {}: {reason}", proxy.name());
        errln!("hint: {hint}");
    }
    if proxies.is_empty() {
        return Err(Failure::usage("nothing is left to measure").hint("name a path or a peer that is there"));
    }
    let scratch = tempfile::Builder::new()
        .prefix("bartizan-bench-")
        .tempdir()
        .map_err(|error| {
            Failure::new(format!("a temporary folder: {error}")).hint("set TMPDIR to a folder that can be written")
        })?;
    let mut watch = Watch::new(args.out.as_ref(), interrupt)?;
    let options = args.options(tools, proxies, scratch.path().to_owned());
    let ended = bench::run(&options, &mut watch);
    watch.bar.finish_and_clear();
    let records = watch.records;
    // What was measured before an end that came early is worth its table.
    if !records.is_empty() {
        let report = report::Report::new(&options, &records, missing);
        if args.json {
            outln!("{}", serde_json::to_string_pretty(&report).map_err(Failure::new)?);
        } else {
            out!("{}", table::render(&report));
        }
        ended.map_err(|error| failed(&error))?;
        return Ok(report.outcome());
    }
    ended.map_err(|error| failed(&error))?;
    Err(Failure::new("nothing was measured"))
}

pub(super) fn failed(error: &bench::Error) -> Failure {
    let failure = Failure::new(error);
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn tools(binary: Option<&PathBuf>) -> Result<Tools, Failure> {
    let own = std::env::current_exe().map_err(|error| Failure::new(format!("where this program lies: {error}")))?;
    Tools::find(own, binary.map(PathBuf::as_path)).map_err(|error| failed(&error))
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

fn seed_of_the_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs()
}

/// Shows progress, writes records, and hears Ctrl-C.
struct Watch {
    bar: ProgressBar,
    out: Option<(PathBuf, File)>,
    records: Vec<Record>,
    interrupt: Interrupt,
}

impl Watch {
    fn new(out: Option<&PathBuf>, interrupt: Interrupt) -> Result<Self, Failure> {
        let out =
            out.map(|path| match File::create(path) {
                Ok(file) => Ok((path.clone(), file)),
                Err(error) => Err(Failure::usage(format!("{}: {error}", path.display()))
                    .hint("--file takes a file that can be written")),
            });
        Ok(Self {
            bar: ProgressBar::hidden(),
            out: out.transpose()?,
            records: Vec::new(),
            interrupt,
        })
    }
}

impl Observer for Watch {
    fn step(&mut self, what: &str, trials: usize) {
        self.bar.finish_and_clear();
        if std::io::stderr().is_terminal() {
            let style = ProgressStyle::with_template("{msg:32} {wide_bar} {pos}/{len}, {eta} left");
            self.bar = ProgressBar::new(trials as u64).with_message(what.to_owned());
            self.bar
                .set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        } else {
            errln!("{what}: {trials} trials");
        }
    }

    fn record(&mut self, record: Record) -> Result<(), bench::Error> {
        self.bar.inc(1);
        if let Measured::Failed { error } = &record.measured {
            let way = record.proxy.map_or("direct", Proxy::name);
            self.bar.suspend(|| errln!("a trial of {way} failed: {error}"));
        }
        if let Some((path, file)) = &mut self.out {
            let mut line =
                serde_json::to_vec(&record).map_err(|error| bench::Error::Configuration(error.to_string()))?;
            line.push(b'\n');
            let written = file.write_all(&line);
            written.map_err(|source| bench::Error::File {
                path: path.clone(),
                source,
            })?;
        }
        self.records.push(record);
        Ok(())
    }

    fn interrupted(&self) -> bool {
        self.interrupt.asked()
    }
}
