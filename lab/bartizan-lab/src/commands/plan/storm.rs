//! `bartizan plan storm`.

mod page;
mod table;

use std::io::IsTerminal as _;
use std::path::PathBuf;

use bartizan_budget::unit::{Microseconds, Share};
use bartizan_simulation::simulation::{Progress, Stop, Storm, StormKind};
use bartizan_simulation::storm::{Part, PartError, Plan, PlanError, Seeds, summary};
use indicatif::{ProgressBar, ProgressStyle};

pub(super) use self::table::said;
use super::{costs, network};
use crate::interrupt::Interrupt;
use crate::output::{errln, print, write_document};
use crate::{Failure, Outcome};
use bartizan_terminal::answer::write_pair;

/// Predict what happens when many sites shake hands at once: an outage ends, an authority changes,
/// certificates are revoked.
///
/// An event-driven simulation with queues, lost packets, retransmission, cookies and back-off,
/// under several seeds. Ranges are those of all seeds, from 40 seeds on of 95 of 100. Parts of a
/// plan run anywhere (--seeds, --part) and merge exactly (bartizan plan merge).
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan plan storm --sites 2000 --gateways 8 --window 30s\n  \
    bartizan plan storm --storm revocation --share 10% --suite x25519/ecdsa-p256,x25519-ke1_mlkem768/ml-dsa-65 --html storm.html\n  \
    bartizan plan storm --sites 50000 --gateways 200 --seeds 40..80 --part part-2.json")]
pub(crate) struct Args {
    /// Event: reattach, rollover, revocation, none (steady state)
    #[arg(long, value_name = "KIND", default_value = "reattach", value_parser = kind)]
    storm: StormKind,
    /// Share of the sites that it concerns
    #[arg(long, allow_hyphen_values = true, value_name = "SHARE", default_value = "100%")]
    share: Share,
    /// Time within which they begin, each at a moment of its own
    #[arg(long, allow_hyphen_values = true, value_name = "TIME", default_value = "1s")]
    window: Microseconds,
    /// Seeds A..B, B not among them: each draws loss and cost from their ranges and is a run of its own
    #[arg(long, value_name = "A..B", default_value = "0..8")]
    seeds: Seeds,
    #[command(flatten)]
    network: network::NetworkArgs,
    #[command(flatten)]
    costs: costs::CostArgs,
    /// Write plan and outcomes to this file, for `bartizan plan merge`
    #[arg(long, value_name = "FILE")]
    part: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Output.
#[derive(clap::Args)]
pub(super) struct OutputArgs {
    /// Write a page with a plot to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the plot as SVG to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Also write the page and the JSON to this folder, as the other plans do
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn kind(text: &str) -> Result<StormKind, String> {
    match text {
        "reattach" => Ok(StormKind::Reattach),
        "rollover" => Ok(StormKind::Rollover),
        "revocation" => Ok(StormKind::Revocation),
        "none" => Ok(StormKind::None),
        _ => Err("reattach, rollover, revocation or none".to_owned()),
    }
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let costs = args.costs.read()?;
    let storm = Storm {
        kind: args.storm,
        share_ppm: network::share_ppm(args.share),
        window_ns: network::nanoseconds(args.window),
    };
    let plan = Plan {
        variants: args.network.variants(&costs, &storm)?,
        loss_ppm: args.network.loss(),
        cost_permille: args.network.cost(&costs),
    };
    let interrupt = Interrupt::install()?;
    let bar = bar(&plan, args.seeds);
    let variants = plan.variants.len() as u64;
    let part = Part::run(plan, args.seeds, &mut |seed, variant, progress| {
        bar.set_position(position(args.seeds, seed, variants, variant as u64, progress));
        if interrupt.asked() { Stop::Yes } else { Stop::No }
    });
    bar.finish_and_clear();
    let part = part.map_err(refused)?;
    if let Some(path) = &args.part {
        write_document(path, &part.text().map_err(Failure::new)?)?;
        errln!("part: {} (seeds {})", path.display(), part.seeds);
    }
    show(&part, &args.output)
}

/// A plan out of bounds is a usage error; an interruption is not.
fn refused(error: PartError) -> Failure {
    match &error {
        PartError::Plan(PlanError::Variant {
            error: bartizan_simulation::simulation::ScenarioError::Interrupted,
            ..
        }) => Failure::new("interrupted"),
        PartError::Plan(PlanError::Variant { error: cause, .. }) => network::refused(cause, &error),
        _ => Failure::usage(error),
    }
}

fn bar(plan: &Plan, seeds: Seeds) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(seeds.count() * plan.variants.len() as u64 * 1000);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent} %, {eta} left") {
        bar.set_style(style);
    }
    bar
}

fn position(seeds: Seeds, seed: u64, variants: u64, variant: u64, progress: Progress) -> u64 {
    let whole = (seed - seeds.from) * variants + variant;
    whole * 1000 + progress.now_ns / (progress.horizon_ns / 1000).max(1)
}

/// Shows what came of a part; a finding where sites were not back in time.
pub(super) fn show(part: &Part, output: &OutputArgs) -> Result<Outcome, Failure> {
    let summary = summary(part);
    if let Some(path) = &output.html {
        write_document(path, &page::page(part, &summary))?;
    }
    if let Some(path) = &output.svg {
        write_document(path, &page::picture(part, &summary))?;
    }
    let json = serde_json::to_string_pretty(&summary).map_err(Failure::new)? + "\n";
    if let Some(folder) = &output.out {
        write_pair(folder, "plan-storm", &page::page(part, &summary), &json)?;
    }
    if output.json {
        print(&json)?;
    } else {
        print(&table::tables(part, &summary))?;
    }
    let outcomes = part.runs.iter().flat_map(|run| &run.outcomes);
    let is_missing = outcomes.into_iter().any(|outcome| outcome.done < outcome.concerned);
    Ok(if is_missing { Outcome::Finding } else { Outcome::Clean })
}
