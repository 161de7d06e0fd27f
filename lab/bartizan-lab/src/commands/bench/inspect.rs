//! `bartizan bench inspect`.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use bartizan_estimators::{Random, shuffle};
use bartizan_host::Program;
use bartizan_machine::Priority;
use bartizan_workbench::captures::{self, Contents, FlowKind, Flows, Hostile};
use bartizan_workbench::inspection::{self, Cost};

use self::report::{Reader, Report, Subject, Trial};
use crate::interrupt::Interrupt;
use crate::output::{errln, out, outln};
use crate::{Failure, Outcome};

mod report;

/// Longest that one reading of one capture may take.
const LONGEST: Duration = Duration::from_secs(3600);
/// Flows of one kind from which the memory of one is computed, less those of a run with half as
/// many. Both are beyond the links and rows that a report has room for within [`IDLE_MEMORY`],
/// whose memory is another matter.
const IDLE: u32 = 300_000;
const IDLE_MEMORY: &str = "--memory=1GB";
/// Repetitions of what takes memory: it varies little, and takes minutes.
const FEW: u16 = 3;
/// Bytes of the larger of two hostile captures; the other has a tenth.
const HOSTILE: u64 = 100_000_000;

/// Measure what it costs to read captures, compared with tshark asked for the same fields.
///
/// Captures are made from the recordings of this project by a seed; each program reads them in
/// turn, in random order, one processor at a time. Memory is the most that was resident, of flows
/// that all live when the capture ends.
///
/// Exit code 1 says that a figure does not reach its target.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan bench inspect --what mixed --size 200MB\n  \
    bartizan bench inspect --what mixed,wrapped --tshark none --compare-with /opt/older/bartizan")]
pub(super) struct Args {
    /// Subjects: mixed (recordings, ESP, TLS records; compared with tshark), wrapped (the same in
    /// VXLAN and GTP-U), bulk (ESP and TLS records), flows (memory of very many at once), idle
    /// (memory of one, by kind), hostile (time for ten times as much of an input made to keep a
    /// reader busy) [default: all]
    #[arg(long, value_name = "WHAT,...", value_delimiter = ',', value_parser = Subject::parse)]
    what: Vec<Subject>,

    /// Bytes of the captures
    #[arg(long, value_name = "SIZE", default_value = "1GB", value_parser = bartizan_terminal::size::bytes)]
    size: usize,

    /// Flows at once
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1000..=10_000_000))]
    flows: u32,

    /// Repetitions of each
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    repetitions: u16,

    /// The tshark that reads the same; `none` leaves it out
    #[arg(long, value_name = "FILE", default_value = "tshark")]
    tshark: PathBuf,

    /// The bartizan that is measured [default: this one]
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,

    /// Another build of bartizan that reads mixed and bulk in turn with this one, which must stay
    /// within 10 % of its speed and memory
    #[arg(long = "compare-with", value_name = "FILE")]
    other: Option<PathBuf>,

    /// Decides contents and order
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// Write the mixed capture to this file, and measure nothing
    #[arg(long, value_name = "FILE.pcap")]
    write: Option<PathBuf>,

    /// Print the figures as JSON (schema `bartizan-bench-inspect/1`) instead of tables
    #[arg(long)]
    json: bool,
}

/// Runs one program and says what it needed; started by the bench itself, because the kernel keeps
/// one peak for all children.
#[derive(clap::Args)]
pub(super) struct MeasuredArgs {
    /// Flows that it is fed, and of which kinds.
    #[arg(long, requires = "kind")]
    flows: Option<u32>,
    #[arg(long, value_delimiter = ',', value_parser = flow_kind)]
    kind: Vec<FlowKind>,
    /// Processor that it may use.
    #[arg(long)]
    core: Option<usize>,
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

fn flow_kind(name: &str) -> Result<FlowKind, String> {
    let found = FlowKind::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| format!("{name} is no kind of flow"))
}

pub(super) fn measured(args: &MeasuredArgs) -> Result<Outcome, Failure> {
    if let Some(core) = args.core {
        bartizan_machine::pin_this_thread(&[core]).map_err(Failure::new)?;
    }
    let flows = args.flows.map(|count| Flows {
        count,
        kinds: args.kind.clone(),
    });
    let [program, arguments @ ..] = &args.command[..] else {
        return Err(Failure::usage("no program"));
    };
    let cost = inspection::measure(Command::new(program).args(arguments), flows.as_ref())
        .map_err(|error| Failure::new(format!("{program}: {error}")))?;
    outln!("{}", serde_json::to_string(&cost).map_err(Failure::new)?);
    Ok(Outcome::Clean)
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    if let Some(path) = &args.write {
        let written = write(path, Contents::Mixed, args)?;
        errln!(
            "{}: {} bytes, {} packets",
            path.display(),
            written.bytes,
            written.packets
        );
        return Ok(Outcome::Clean);
    }
    let interrupt = Interrupt::install()?;
    let scratch = tempfile::Builder::new()
        .prefix("bartizan-bench-")
        .tempdir()
        .map_err(|error| {
            Failure::new(format!("a temporary folder: {error}")).hint("set TMPDIR to a folder that can be written")
        })?;
    let mut bench = Bench::new(args, interrupt)?;
    let wanted = |subject| args.what.is_empty() || args.what.contains(&subject);
    let mut captures = Vec::new();
    for (subject, contents) in [
        (Subject::Mixed, Contents::Mixed),
        (Subject::Wrapped, Contents::Wrapped),
        (Subject::Bulk, Contents::Bulk),
    ] {
        if wanted(subject) {
            let file = scratch.path().join(format!("{}.pcap", subject.name()));
            let written = write(&file, contents, args)?;
            bench.report.capture(subject, written);
            captures.push((subject, file));
        }
    }
    bench.read(&captures)?;
    for (_, file) in captures {
        // The next ones need its room.
        let _ = std::fs::remove_file(&file);
    }
    if wanted(Subject::Flows) {
        // Half of them TLS, as where an SBI is protected; the kinds a core has next to it.
        const KINDS: &str = "tls,http2,tls,sctp,tls,ike,tls,http2,tls,esp";
        for _ in 0..args.repetitions.min(FEW) {
            bench.flows(Subject::Flows, KINDS, args.flows, &[])?;
        }
    }
    if wanted(Subject::Idle) {
        for _ in 0..args.repetitions.min(FEW) {
            for kind in FlowKind::ALL {
                for count in [IDLE / 2, IDLE] {
                    bench.flows(Subject::Idle, kind.name(), count, &[IDLE_MEMORY])?;
                }
            }
        }
    }
    if wanted(Subject::Hostile) {
        for kind in Hostile::ALL {
            let file = scratch.path().join(format!("{}.pcap", kind.name()));
            for bytes in [HOSTILE / 10, HOSTILE] {
                let failed = |error| Failure::new(format!("{}: {error}", file.display()));
                let mut out = BufWriter::with_capacity(1 << 20, File::create(&file).map_err(failed)?);
                kind.write(bytes, &mut out).map_err(failed)?;
                drop(out);
                bench.hostile(kind, bytes, &file)?;
            }
            let _ = std::fs::remove_file(&file);
        }
    }
    let report = bench.report;
    if args.json {
        outln!(
            "{}",
            serde_json::to_string_pretty(&report.document()).map_err(Failure::new)?
        );
    } else {
        out!("{}", report.text());
    }
    Ok(report.outcome())
}

fn write(path: &Path, contents: Contents, args: &Args) -> Result<captures::Written, Failure> {
    let failed = |error| {
        Failure::new(format!("{}: {error}", path.display())).hint("set TMPDIR to a folder with room for the captures")
    };
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).map_err(failed)?);
    captures::write(contents, args.size as u64, args.seed, &mut file).map_err(failed)
}

struct Bench<'a> {
    args: &'a Args,
    own: PathBuf,
    binary: PathBuf,
    tshark: Option<PathBuf>,
    core: Option<usize>,
    order: Random,
    interrupt: Interrupt,
    report: Report,
    _priority: Option<Priority>,
}

impl<'a> Bench<'a> {
    fn new(args: &'a Args, interrupt: Interrupt) -> Result<Self, Failure> {
        let own = crate::commands::own()?;
        let mut report = Report::new(args.seed);
        let tshark = (args.tshark.as_os_str() != "none").then(|| args.tshark.clone());
        let tshark = tshark.and_then(|path| match version(&path) {
            Ok(version) => {
                report.tshark = Some(version);
                Some(path)
            }
            Err(error) => {
                errln!("left out tshark: {}", error.message);
                errln!("hint: `apt-get install tshark`, or name one with --tshark");
                None
            }
        });
        // As root the run goes before other programs.
        let priority = Priority::highest().ok();
        report.raised = priority.is_some();
        Ok(Self {
            args,
            binary: args.binary.clone().map_or_else(crate::commands::product, Ok)?,
            own,
            tshark,
            core: bartizan_machine::processors().map_err(Failure::new)?.last().copied(),
            order: Random::seeded(args.seed),
            interrupt,
            report,
            _priority: priority,
        })
    }

    /// All programs read all captures, in turn.
    fn read(&mut self, captures: &[(Subject, PathBuf)]) -> Result<(), Failure> {
        for repetition in 0..self.args.repetitions {
            let mut readings = Vec::new();
            for (subject, file) in captures {
                let path = file.to_string_lossy().into_owned();
                let inspect = vec!["inspect".to_owned(), path.clone()];
                readings.push((*subject, Reader::Ours, self.binary.clone(), inspect.clone()));
                // Captures that an older build may be unable to read are not compared.
                if let Some(other) = self.args.other.as_ref().filter(|_| *subject != Subject::Wrapped) {
                    readings.push((*subject, Reader::Other, other.clone(), inspect));
                }
                if let (Subject::Mixed, Some(tshark)) = (subject, &self.tshark) {
                    let arguments = inspection::tshark_arguments(&path);
                    readings.push((*subject, Reader::Tshark, tshark.clone(), arguments));
                }
            }
            shuffle(&mut self.order, &mut readings);
            for (subject, reader, program, arguments) in readings {
                let core = self.core.map(|core| format!("--core={core}"));
                let cost = self.measured(core.into_iter().collect(), &program, arguments)?;
                self.report.add(Trial::new(subject, reader, repetition, cost));
            }
        }
        Ok(())
    }

    /// Ours reads a hostile capture of so many bytes.
    fn hostile(&mut self, kind: Hostile, bytes: u64, file: &Path) -> Result<(), Failure> {
        let path = file.to_string_lossy().into_owned();
        let binary = self.binary.clone();
        for repetition in 0..self.args.repetitions.min(FEW) {
            let core = self.core.map(|core| format!("--core={core}"));
            let arguments = vec!["inspect".to_owned(), path.clone()];
            let cost = self.measured(core.into_iter().collect(), &binary, arguments)?;
            let mut trial = Trial::new(Subject::Hostile, Reader::Ours, repetition, cost);
            trial.flows = Some((kind.name().to_owned(), (bytes / 1_000_000) as u32));
            self.report.add(trial);
        }
        Ok(())
    }

    /// Ours reads flows from a pipe.
    fn flows(&mut self, subject: Subject, kinds: &str, count: u32, more: &[&str]) -> Result<(), Failure> {
        let options = vec![format!("--flows={count}"), format!("--kind={kinds}")];
        let arguments = ["inspect", "-"].iter().chain(more);
        let arguments = arguments.map(|&argument| argument.to_owned()).collect();
        let binary = self.binary.clone();
        let cost = self.measured(options, &binary, arguments)?;
        let mut trial = Trial::new(subject, Reader::Ours, 0, cost);
        trial.flows = Some((kinds.to_owned(), count));
        self.report.add(trial);
        Ok(())
    }

    fn measured(&mut self, options: Vec<String>, program: &Path, arguments: Vec<String>) -> Result<Cost, Failure> {
        self.interrupt.check()?;
        let finished = Program::new(&self.own)
            .arguments(["bench", "measured"])
            .arguments(options)
            .argument("--")
            .argument(program)
            .arguments(arguments)
            .start()
            .and_then(|process| process.finish(LONGEST))
            .map_err(Failure::new)?;
        if !finished.status.success() {
            return Err(Failure::new(finished.into_error()));
        }
        let cost: Cost = serde_json::from_str(finished.text().trim()).map_err(Failure::new)?;
        // inspect finds something in these captures, which is 1; what could not read them did not do the work.
        match cost.status {
            Some(0 | 1) => Ok(cost),
            _ => Err(Failure::new(format!(
                "{} ended with status {:?}",
                program.display(),
                cost.status
            ))),
        }
    }
}

fn version(tshark: &Path) -> Result<String, Failure> {
    let finished = Program::new(tshark)
        .argument("--version")
        .run(Duration::from_secs(60))
        .map_err(Failure::new)?;
    Ok(finished.text().lines().next().unwrap_or("tshark").to_owned())
}
