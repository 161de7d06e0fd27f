//! `bartizan plan engines`: what set-ups of engines cost and what their SAs take of memory,
//! collected from records of the lab.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bartizan_estimators::{Resampling, Sample, median_interval};
use bartizan_simulation::cost::{ENGINE_COST_SCHEMA, EngineCost, EngineCosts, MeasuredMemory, MeasuredSetUp};
use bartizan_workbench::runner::trial::{KernelKind, Outcome as Trial, Record, Records};

use crate::output::{errln, print, write_document};
use crate::table::{Side, Table};
use crate::{Failure, Outcome};
use bartizan_terminal::answer::number;

/// Collect what set-ups of engines cost and what their SAs take of memory, from records of the lab,
/// as a file that other plans read.
///
/// Reads records of sa-setup and sa-memory (strongSwan's charon), of peers and scale (Bartizan's
/// sidecar), and of any experiment with the same factors and metrics. Of several runs of one
/// experiment the newest counts. What no record has is left out: plans then say that nothing is
/// known of it.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan plan engines lab/experiments/{sa-setup,sa-memory,peers,scale}/records/*.gz\n  \
    bartizan plan engines results/sa-setup/RUN.jsonl --file engines.json && bartizan plan storm --engine-cost engines.json")]
pub(crate) struct Args {
    /// Records (.jsonl, .jsonl.gz)
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Write what was collected to this file
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Print it as JSON instead of tables
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let mut trials = Vec::new();
    for file in &args.files {
        let records = Records::read(file).map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
        // A twin is measured to know what two of the same differ by.
        trials.extend(records.trials.into_iter().filter(|record| !record.twin));
    }
    let engines: Vec<EngineCost> = [strongswan(&trials), bartizan(&trials)].into_iter().flatten().collect();
    if engines.is_empty() {
        return Err(Failure::usage("no set-up of an engine is in these records").hint(
            "records of the experiments sa-setup (strongSwan) and peers (the sidecar) have them: bartizan lab run ID",
        ));
    }
    let costs = EngineCosts {
        schema: ENGINE_COST_SCHEMA.to_owned(),
        engines,
    };
    let text = serde_json::to_string_pretty(&costs).map_err(Failure::new)? + "\n";
    // Other plans must accept the written file.
    EngineCosts::parse(&text).map_err(Failure::usage)?;
    if let Some(path) = &args.file {
        write_document(path, &text)?;
        errln!("engines: {}", path.display());
    }
    print(&if args.json { text } else { tables(&costs) })?;
    Ok(Outcome::Clean)
}

/// Values of metrics by the levels of some factors, of the newest run that has them.
struct Collected {
    /// Experiment, run and part.
    record: String,
    processor: String,
    values: BTreeMap<Vec<String>, BTreeMap<String, Vec<f64>>>,
}

/// Trials with exactly these factors and this metric.
fn collect(trials: &[Record], factors: &[&str], metric: &str) -> Option<Collected> {
    let is_of = |record: &&Record| {
        record.levels.iter().count() == factors.len()
            && factors.iter().all(|factor| record.levels.level(factor).is_some())
            && matches!(&record.outcome, Trial::Measured { values, .. } if values.contains_key(metric))
    };
    let newest = trials
        .iter()
        .filter(is_of)
        .max_by(|one, other| one.run.cmp(&other.run))?;
    let mut values: BTreeMap<Vec<String>, BTreeMap<String, Vec<f64>>> = BTreeMap::new();
    let same = |record: &&Record| (&record.run, &record.part) == (&newest.run, &newest.part);
    for record in trials.iter().filter(is_of).filter(same) {
        let Trial::Measured { values: measured, .. } = &record.outcome else {
            continue;
        };
        let levels = factors.iter().filter_map(|factor| record.levels.level(factor));
        let of = values.entry(levels.map(str::to_owned).collect()).or_default();
        for (name, samples) in measured {
            of.entry(name.clone()).or_default().extend(samples);
        }
    }
    let guest = match newest.environment.kernel_kind {
        KernelKind::Guest => ", on a guest's kernel",
        KernelKind::Host => "",
    };
    let quick = if newest.quick { ", a quick run" } else { "" };
    Some(Collected {
        record: format!(
            "experiments/{}, run {}, part {}{guest}{quick}",
            newest.experiment, newest.run, newest.part
        ),
        processor: newest
            .environment
            .processor
            .clone()
            .unwrap_or_else(|| "unnamed processor".to_owned()),
        values,
    })
}

/// Values of one combination, by metric.
type Metrics = BTreeMap<String, Vec<f64>>;

fn sample(of: &Metrics, metric: &str) -> Option<Sample> {
    Sample::new(of.get(metric)?.iter().copied()).ok()
}

fn median(of: &Metrics, metric: &str) -> Option<f64> {
    sample(of, metric).map(|sample| sample.median())
}

/// Three decimals: a nanosecond.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

fn whole(value: f64) -> u64 {
    value.round().max(0.0) as u64
}

fn count(sample: &Sample) -> u32 {
    u32::try_from(sample.n()).unwrap_or(u32::MAX)
}

/// The 95 % interval of a median in another unit; chance by a fixed seed, so that the same records give the same file.
fn interval(sample: &Sample, scaled: impl Fn(f64) -> f64) -> [f64; 2] {
    let resampling = Resampling {
        resamples: 2_000,
        ..Resampling::seeded(1)
    };
    let of = median_interval(sample, &resampling).interval;
    let (one, other) = (rounded(scaled(of.low)), rounded(scaled(of.high)));
    [one.min(other), one.max(other)]
}

/// charon, by key exchange and authentication.
fn strongswan(trials: &[Record]) -> Option<EngineCost> {
    let set_ups = collect(trials, &["key-exchange", "authentication"], "cpu-responder")?;
    let of = |(levels, metrics): (&Vec<String>, &Metrics)| {
        let [key_exchange, authentication] = &levels[..] else {
            return None;
        };
        let responder = sample(metrics, "cpu-responder")?;
        Some(MeasuredSetUp {
            key_exchange: key_exchange.clone(),
            authentication: authentication.clone(),
            n: count(&responder),
            // The records count in milliseconds.
            responder_us: rounded(responder.median() * 1e3),
            responder_interval_us: Some(interval(&responder, |milliseconds| milliseconds * 1e3)),
            initiator_us: median(metrics, "cpu-initiator").map(|value| rounded(value * 1e3)),
            rekey_us: median(metrics, "rekey").map(|value| rounded(value * 1e3)),
            bytes: median(metrics, "bytes").map(whole),
            packets: median(metrics, "packets").map(whole),
            rekey_bytes: median(metrics, "rekey-bytes").map(whole),
        })
    };
    Some(EngineCost {
        engine: "strongswan".to_owned(),
        memory: memory_of_charon(trials),
        set_ups: set_ups.values.iter().filter_map(of).collect(),
        record: set_ups.record,
        processor: set_ups.processor,
    })
}

/// Memory of an IKE_SA with a CHILD_SA in the responder's charon, and in the kernel if that does
/// ESP.
fn memory_of_charon(trials: &[Record]) -> Vec<MeasuredMemory> {
    let Some(kept) = collect(trials, &["key-exchange", "authentication"], "responder-per-sa") else {
        return Vec::new();
    };
    let of = |(levels, metrics): (&Vec<String>, &Metrics)| {
        let [key_exchange, authentication] = &levels[..] else {
            return None;
        };
        let process = sample(metrics, "responder-per-sa")?;
        Some(MeasuredMemory {
            key_exchange: Some(key_exchange.clone()),
            authentication: Some(authentication.clone()),
            n: count(&process),
            // The records count in kB of a thousand bytes.
            process_bytes: whole(process.median() * 1e3),
            kernel_bytes: median(metrics, "kernel-per-sa").map(|value| whole(value * 1e3)),
            record: kept.record.clone(),
        })
    };
    kept.values.iter().filter_map(of).collect()
}

/// Suites of the modes in which proxies are compared.
const MODES: [(&str, &str, &str); 2] = [
    ("classical", "X25519", "ecdsa-p256"),
    ("post-quantum", "X25519MLKEM768", "ml-dsa-65"),
];
/// The data path of the sidecar whose handshakes and memory count, and where: one core shakes hands
/// and does nothing else.
const PATH: &str = "http2";
const PLACEMENT: &str = "one-core";

/// The sidecar, by mode.
fn bartizan(trials: &[Record]) -> Option<EngineCost> {
    let handshakes = collect(trials, &["mode", "placement", "proxy"], "handshakes")?;
    let of = |(mode, key_exchange, authentication): (&str, &str, &str)| {
        let levels = [mode, PLACEMENT, PATH].map(str::to_owned);
        let a_second = sample(handshakes.values.get(&levels[..])?, "handshakes")?;
        Some(MeasuredSetUp {
            key_exchange: key_exchange.to_owned(),
            authentication: authentication.to_owned(),
            n: count(&a_second),
            responder_us: rounded(1e6 / a_second.median()),
            responder_interval_us: Some(interval(&a_second, |rate| 1e6 / rate)),
            initiator_us: None,
            rekey_us: None,
            bytes: None,
            packets: None,
            rekey_bytes: None,
        })
    };
    let set_ups: Vec<MeasuredSetUp> = MODES.into_iter().filter_map(of).collect();
    (!set_ups.is_empty()).then(|| EngineCost {
        engine: "bartizan".to_owned(),
        record: format!("{}, proxy {PATH}, placement {PLACEMENT}", handshakes.record),
        processor: handshakes.processor.clone(),
        memory: memory_of_sidecar(trials).into_iter().collect(),
        set_ups,
    })
}

/// Memory of a connection that the sidecar holds. The largest number of connections counts, so that
/// fixed costs weigh least.
fn memory_of_sidecar(trials: &[Record]) -> Option<MeasuredMemory> {
    let held = collect(trials, &["held", "path"], "memory-per-connection")?;
    let most = held
        .values
        .iter()
        .filter(|(levels, _)| levels.get(1).is_some_and(|path| path == PATH))
        .filter_map(|(levels, metrics)| Some((levels.first()?.parse::<u64>().ok()?, metrics)))
        .max_by_key(|(connections, _)| *connections)?;
    let of_each = sample(most.1, "memory-per-connection")?;
    Some(MeasuredMemory {
        key_exchange: None,
        authentication: None,
        n: count(&of_each),
        process_bytes: whole(of_each.median() * 1e3),
        kernel_bytes: None,
        record: format!("{}, path {PATH}, {} connections held", held.record, most.0),
    })
}

fn tables(costs: &EngineCosts) -> String {
    let mut text = String::new();
    let shown = |value: Option<f64>, places| value.map_or_else(|| "-".to_owned(), |value| number(value, places));
    for engine in &costs.engines {
        text.push_str(&format!(
            "{}: {}, {}\n\n",
            engine.engine, engine.record, engine.processor
        ));
        let mut set_ups = Table::new([
            Side::Left,
            Side::Left,
            Side::Right,
            Side::Right,
            Side::Right,
            Side::Right,
            Side::Right,
            Side::Right,
            Side::Right,
        ]);
        set_ups.push([
            "key exchange",
            "authentication",
            "n",
            "responder us",
            "from",
            "to",
            "initiator us",
            "rekey us",
            "bytes",
        ]);
        for of in &engine.set_ups {
            let ends = of.responder_interval_us;
            set_ups.push([
                of.key_exchange.clone(),
                of.authentication.clone(),
                of.n.to_string(),
                number(of.responder_us, 1),
                shown(ends.map(|ends| ends[0]), 1),
                shown(ends.map(|ends| ends[1]), 1),
                shown(of.initiator_us, 1),
                shown(of.rekey_us, 1),
                of.bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()),
            ]);
        }
        text.push_str(&set_ups.render());
        text.push('\n');
        if engine.memory.is_empty() {
            text.push_str("memory of an SA: in none of these records\n\n");
            continue;
        }
        let mut memory = Table::new([
            Side::Left,
            Side::Left,
            Side::Right,
            Side::Right,
            Side::Right,
            Side::Left,
        ]);
        memory.push([
            "memory of an SA",
            "authentication",
            "n",
            "process bytes",
            "kernel bytes",
            "record",
        ]);
        for of in &engine.memory {
            memory.push([
                of.key_exchange.clone().unwrap_or_else(|| "any".to_owned()),
                of.authentication.clone().unwrap_or_else(|| "any".to_owned()),
                of.n.to_string(),
                of.process_bytes.to_string(),
                of.kernel_bytes
                    .map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()),
                of.record.clone(),
            ]);
        }
        text.push_str(&memory.render());
        text.push('\n');
    }
    text
}
