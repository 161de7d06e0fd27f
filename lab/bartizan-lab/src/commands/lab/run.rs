//! `bartizan lab run`.

mod summary;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use bartizan_workbench::runner::experiment::{Found, Selection};
use bartizan_workbench::runner::run::{Guard, How, Options, Out, RunError, Settings};
use bartizan_workbench::runner::trial::{Controls, KernelChoice};

use crate::commands::lab::{Progress, Where, built_from, refused};
use crate::interrupt::Interrupt;
use crate::output::{errln, out, outln};
use crate::{Failure, Outcome};

/// Run experiments: trials take turns in random order, and each is written down as it is taken.
///
/// Every repetition of a part takes each combination of its factors once, in random order by the
/// recorded seed. Trials are done by a process of their own, which as root has its own network
/// namespace and goes before other programs. Records go to results/EXPERIMENT/RUN.jsonl, one JSON
/// line per trial; `bartizan lab report` shows what they say.
///
/// Ctrl-C ends after the trial that is under way, and says how to go on.
///
/// Exit code 1 says that a trial failed, a part could not be run, or two of the same differed (see --controls).
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan lab run peers --quick\n  \
    bartizan lab run peers --seed 3 --out results")]
pub(crate) struct Args {
    /// Experiments, by their ids (`bartizan lab list`)
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,

    /// A look within a minute or two, which proves nothing; every record is marked
    #[arg(long)]
    quick: bool,

    /// Go on with a run that came to an early end: the newest of the experiment, or that of this file
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        conflicts_with_all = ["quick", "seed", "repetitions", "part", "target", "target_ca", "binary", "kernel", "controls"]
    )]
    resume: Option<Option<PathBuf>>,

    /// Decides the order of trials and what they leave to chance [default: taken from the clock, and recorded]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,

    /// Repetitions of each combination, instead of those of the experiment
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    repetitions: Option<u32>,

    /// Only these parts
    #[arg(long, value_name = "PART,...", value_delimiter = ',')]
    part: Option<Vec<String>>,

    /// Run against this network function instead of our own: http://HOST:PORT, https://HOST:PORT
    #[arg(long, value_name = "URL")]
    target: Option<String>,

    /// The root that the target's certificate is judged by, PEM
    #[arg(long, value_name = "FILE", requires = "target")]
    target_ca: Option<PathBuf>,

    /// The bartizan whose sidecar is measured, for a comparison of builds [default: this one]
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,

    /// Kernel that trials run on: auto takes a guest's for parts that need what this machine's
    /// lacks
    #[arg(long, value_name = "WHOSE", value_enum, default_value_t = Kernel::Auto)]
    kernel: Kernel,

    /// Combinations to measure twice in each repetition, to show the difference between two equal
    /// ones: first takes the first combination of every part without a control of its own, all
    /// makes an A/A experiment of it
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = Twice::Declared)]
    controls: Twice,

    /// Folder for records
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,

    /// Print what was measured as JSON (schema `bartizan-lab-summary/2`) instead of tables
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    place: Where,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let interrupt = Interrupt::install()?;
    if args.ids.len() > 1 && matches!(args.resume, Some(Some(_))) {
        return Err(
            Failure::usage("a file of records belongs to one experiment").hint("name that one, or leave the file out")
        );
    }
    let binary = existing(
        args.binary.as_deref(),
        "--binary takes a bartizan, for example target/release/bartizan",
    )?;
    let target_ca = existing(args.target_ca.as_deref(), "--target-ca takes a certificate, PEM")?;
    let collection = args.place.collection();
    // All are read before any is run.
    let found = args
        .ids
        .iter()
        .map(|id| collection.load(id).map_err(|error| refused(&error)));
    let found = found.collect::<Result<Vec<Found>, _>>()?;
    let own = crate::commands::own()?;
    if binary.is_none() {
        warn_of_another_commit(&crate::commands::product()?);
    }
    let scratch = tempfile::Builder::new().prefix("btz-lab-").tempdir().map_err(|error| {
        Failure::new(format!("a temporary folder: {error}")).hint("set TMPDIR to a folder that can be written")
    })?;
    let _guard = Guard::start(&own, scratch.path())
        .map_err(|error| Failure::new(format!("starting {}: {error}", own.display())))?;
    let (mut outcome, mut summaries) = (Outcome::Clean, Vec::new());
    for found in &found {
        let options = Options {
            experiment: &found.experiment,
            own: own.clone(),
            out: Out::Folder(args.out.clone()),
            build: built_from::build(),
            scratch: scratch.path().join(&found.experiment.id),
            how: args.how(binary.clone(), target_ca.clone()),
        };
        let mut progress = Progress::new(interrupt.clone());
        let ended = bartizan_workbench::runner::run::run(&options, &mut progress);
        progress.finish();
        let ended = ended.map_err(|error| args.failed(&error, &found.experiment.id, progress.file()))?;
        let summary = summary::Summary::of(&found.experiment, &ended);
        if !summary.is_clean() {
            outcome = Outcome::Finding;
        }
        if !args.json {
            out!("{}", summary::table(&summary));
        }
        summaries.push(summary);
    }
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&summaries).map_err(Failure::new)?);
    }
    Ok(outcome)
}

/// [`KernelChoice`] as it is typed.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Kernel {
    Host,
    Guest,
    Auto,
}

impl From<Kernel> for KernelChoice {
    fn from(kernel: Kernel) -> Self {
        match kernel {
            Kernel::Host => Self::Host,
            Kernel::Guest => Self::Guest,
            Kernel::Auto => Self::Auto,
        }
    }
}

/// [`Controls`] as they are typed.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Twice {
    Declared,
    First,
    All,
}

impl From<Twice> for Controls {
    fn from(controls: Twice) -> Self {
        match controls {
            Twice::Declared => Self::Declared,
            Twice::First => Self::First,
            Twice::All => Self::All,
        }
    }
}

impl Args {
    fn how(&self, binary: Option<PathBuf>, target_ca: Option<PathBuf>) -> How {
        match &self.resume {
            Some(file) => How::Resume(file.clone()),
            None => How::New(Settings {
                seed: self.seed.unwrap_or_else(seed_of_the_clock),
                quick: self.quick,
                repetitions: self.repetitions.map(|repetitions| repetitions as usize),
                parts: self.part.clone(),
                target: self.target.clone(),
                target_ca,
                binary,
                other: None,
                selection: Selection::default(),
                kernel: self.kernel.into(),
                controls: self.controls.into(),
            }),
        }
    }

    /// With what to type to go on, where that is possible.
    fn failed(&self, error: &RunError, id: &str, file: Option<&Path>) -> Failure {
        let mut failure = if error.is_usage() {
            Failure::usage(error)
        } else {
            Failure::new(error)
        };
        if let Some(hint) = error.hint() {
            failure = failure.hint(hint);
        }
        if let (RunError::Interrupted { .. } | RunError::Disk { .. }, Some(file)) = (error, file) {
            let place = self.place.argument();
            failure = failure.hint(format!(
                "to go on: bartizan lab run {id}{place} --resume={}",
                file.display()
            ));
        }
        failure
    }
}

/// Warns where the product was built from another commit than this program, whose commit the records name.
fn warn_of_another_commit(product: &Path) {
    let Ok(output) = std::process::Command::new(product)
        .args(["--version", "--verbose"])
        .output()
    else {
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let theirs = text.lines().find_map(|line| line.strip_prefix("commit")).map(str::trim);
    let ours = built_from::build().commit;
    if let (Some(theirs), Some(ours)) = (theirs, ours)
        && !theirs.starts_with(&ours)
    {
        errln!(
            "warning: {} is of commit {theirs}, and this program of {ours}",
            product.display()
        );
        errln!("hint: `make lab` builds both");
    }
}

/// Workers run elsewhere: a path must not depend on where this one was started.
fn existing(path: Option<&Path>, hint: &str) -> Result<Option<PathBuf>, Failure> {
    match path {
        Some(path) if !path.is_file() => Err(Failure::usage(format!("there is no file {}", path.display())).hint(hint)),
        Some(path) => Ok(Some(std::path::absolute(path).map_err(Failure::new)?)),
        None => Ok(None),
    }
}

fn seed_of_the_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs()
}
