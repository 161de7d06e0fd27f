//! `bartizan plan calibrate`.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

use bartizan_simulation::cost::{CRYPTO_COST_SCHEMA, Conditions, CryptoCost};
use bartizan_workbench::calibration::{CalibrationError, calibrate};
use bartizan_workbench::runner::trial::load_average;
use indicatif::{ProgressBar, ProgressStyle};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::interrupt::Interrupt;
use crate::output::{errln, print, write_document};
use crate::table::{Side, Table};
use crate::{Failure, Outcome};

/// Measure what each primitive and each cipher takes on this machine, as a record that other plans read.
///
/// Processor time of one thread, operations in turn and in random order; load and stolen time stand in the record.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan plan calibrate\n  \
    bartizan plan calibrate --file gateway.json && bartizan plan storm --cost gateway.json")]
pub(crate) struct Args {
    /// Write the record to this file
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Samples of each operation
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(3..=100_000))]
    samples: u32,
    /// Decides the order
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Print the record instead of tables
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let interrupt = Interrupt::install()?;
    let (began, load_before, stolen) = (Instant::now(), load_average(), bartizan_machine::stolen());
    let taken = OffsetDateTime::from(SystemTime::now())
        .format(&Rfc3339)
        .map_err(Failure::new)?;
    let bar = if std::io::stderr().is_terminal() {
        ProgressBar::new(args.samples.into())
    } else {
        ProgressBar::hidden()
    };
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos} of {len} rounds, {eta} left") {
        bar.set_style(style);
    }
    let measured = calibrate(args.samples, args.seed, &mut |round| {
        bar.set_position(round.into());
        !interrupt.asked()
    });
    bar.finish_and_clear();
    let (primitives, ciphers) = measured.map_err(|error| match error {
        CalibrationError::Interrupted => Failure::new("interrupted"),
        error => Failure::new(error),
    })?;
    let build = crate::commands::lab::build();
    let facts = bartizan_host::Facts::gather();
    let library = |name: &&String| name.starts_with("aws-lc-rs");
    let record = CryptoCost {
        schema: CRYPTO_COST_SCHEMA.to_owned(),
        taken,
        conditions: Conditions {
            processor: facts.cpu,
            processors: bartizan_machine::processors().map_err(Failure::new)?.len(),
            kernel: facts.kernel,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: build.commit,
            profile: build.profile,
            library: build
                .libraries
                .iter()
                .find(library)
                .cloned()
                .unwrap_or_else(|| "aws-lc-rs".to_owned()),
            load_before,
            load_after: load_average(),
            steal_ms: stolen
                .zip(bartizan_machine::stolen())
                .map(|(before, after)| after.saturating_sub(before).as_secs_f64() * 1e3),
            elapsed_s: (began.elapsed().as_secs_f64() * 1e3).round() / 1e3,
        },
        primitives,
        ciphers,
    };
    let text = serde_json::to_string_pretty(&record).map_err(Failure::new)? + "\n";
    if let Some(path) = &args.file {
        write_document(path, &text)?;
        errln!("record: {}", path.display());
    }
    print(&if args.json { text } else { tables(&record) })?;
    Ok(Outcome::Clean)
}

fn tables(record: &CryptoCost) -> String {
    let microseconds = |value: f64| format!("{value:.3}");
    let mut primitives = Table::new([
        Side::Left,
        Side::Left,
        Side::Right,
        Side::Right,
        Side::Right,
        Side::Right,
    ]);
    primitives.push(["primitive", "operation", "us", "quartile", "quartile", "n"]);
    for cost in &record.primitives {
        let time = &cost.time;
        primitives.push([
            cost.primitive.clone(),
            cost.operation.name().to_owned(),
            microseconds(time.median_us),
            microseconds(time.lower_quartile_us),
            microseconds(time.upper_quartile_us),
            time.n.to_string(),
        ]);
    }
    let mut ciphers = Table::new([
        Side::Left,
        Side::Right,
        Side::Right,
        Side::Right,
        Side::Right,
        Side::Right,
    ]);
    ciphers.push(["cipher", "bytes", "us", "quartile", "quartile", "Gb/s"]);
    for cost in &record.ciphers {
        let time = &cost.time;
        ciphers.push([
            cost.cipher.clone(),
            cost.bytes.to_string(),
            microseconds(time.median_us),
            microseconds(time.lower_quartile_us),
            microseconds(time.upper_quartile_us),
            format!("{:.2}", f64::from(cost.bytes) * 8.0 / time.median_us / 1e3),
        ]);
    }
    let conditions = &record.conditions;
    let number = |value: Option<f64>| value.map_or("not known".to_owned(), |value| value.to_string());
    format!(
        "{}\n{}\n{}, kernel {}, {} ({})\nload {} to {}, stolen {} ms in {} s\n",
        primitives.render(),
        ciphers.render(),
        conditions.processor.as_deref().unwrap_or("unnamed processor"),
        conditions.kernel,
        conditions.library,
        conditions.profile,
        number(conditions.load_before),
        number(conditions.load_after),
        number(conditions.steal_ms),
        conditions.elapsed_s
    )
}
