//! The records that costs come from: those built into this binary, or files.

use std::path::{Path, PathBuf};

use bartizan_budget::Source;
use bartizan_simulation::cost::{CryptoCost, Engine, EngineCosts, Scaling};

use crate::Failure;

/// This project's record of primitives, with the machine it was taken on in it.
const CRYPTO: &str = include_str!("../../../../experiments/crypto-cost/record.json");
const CRYPTO_NAME: &str = "experiments/crypto-cost/record.json";
/// Costs of engines, collected by `bartizan plan engines` from the records of experiments that it
/// names.
const ENGINES: &str = include_str!("../../../../experiments/crypto-cost/engines.json");

/// Longest record that is read.
const LONGEST: u64 = 16 << 20;

/// Sources of costs.
#[derive(clap::Args)]
pub(super) struct CostArgs {
    /// The record of primitives, as `bartizan plan calibrate` writes it [default: the one built into this binary]
    #[arg(long, value_name = "FILE")]
    cost: Option<PathBuf>,
    /// Costs of set-ups by engine, as `bartizan plan engines` writes them [default: those built
    /// into this binary]
    #[arg(long, value_name = "FILE")]
    engine_cost: Option<PathBuf>,
    /// Processor time on the gateways' machine, as a multiple of that of the records; needs
    /// --scale-source
    #[arg(long, value_name = "RATIO", requires = "scale_source")]
    scale: Option<f64>,
    /// Source of that ratio: authors and title, or a record
    #[arg(long, value_name = "TEXT", requires = "scale")]
    scale_source: Option<String>,
}

/// Records and factors from which costs are calculated.
pub(super) struct Costs {
    pub(super) crypto: CryptoCost,
    /// The name of its file.
    pub(super) name: String,
    pub(super) engines: EngineCosts,
    pub(super) scaling: Scaling,
}

impl Costs {
    /// A caution where the primitives are of another processor than the engine's set-ups from which
    /// their part is taken.
    pub(super) fn of_two_processors(&self, engine: Engine) -> Option<String> {
        let set_ups = &self.engines.engine(engine.name()).ok()?.processor;
        let primitives = self.crypto.conditions.processor.as_ref()?;
        (set_ups != primitives).then(|| {
            format!(
                "set-ups were measured on {set_ups}, primitives on {primitives}: a suite that was not measured differs from one that was by the primitives of the latter"
            )
        })
    }
}

impl CostArgs {
    pub(super) fn read(&self) -> Result<Costs, Failure> {
        let (text, name) = match &self.cost {
            Some(path) => (text_of(path)?, path.display().to_string()),
            None => (CRYPTO.to_owned(), CRYPTO_NAME.to_owned()),
        };
        let crypto = CryptoCost::parse(&text).map_err(|error| {
            Failure::usage(format!("{name}: {error}")).hint("take a record with `bartizan plan calibrate --file FILE`")
        })?;
        let engines = match &self.engine_cost {
            Some(path) => EngineCosts::parse(&text_of(path)?).map_err(|error| {
                Failure::usage(format!("{}: {error}", path.display()))
                    .hint("collect one from records with `bartizan plan engines RECORDS --file FILE`")
            })?,
            None => EngineCosts::parse(ENGINES).map_err(Failure::new)?,
        };
        let scaling = match (self.scale, &self.scale_source) {
            (Some(ratio), Some(source)) => Scaling::new(ratio, Source::file(source.clone())).map_err(Failure::usage)?,
            _ => Scaling::NONE,
        };
        Ok(Costs {
            crypto,
            name,
            engines,
            scaling,
        })
    }
}

/// A text of bounded length.
pub(super) fn text_of(path: &Path) -> Result<String, Failure> {
    use std::io::Read as _;
    let failed = |error: std::io::Error| Failure::usage(format!("{}: {error}", path.display()));
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(LONGEST + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > LONGEST {
        return Err(Failure::usage(format!(
            "{}: longer than {LONGEST} bytes",
            path.display()
        )));
    }
    Ok(text)
}
