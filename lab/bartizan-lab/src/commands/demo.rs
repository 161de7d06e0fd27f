//! `bartizan demo`.

mod core;
mod cost;
mod eavesdropper;
mod egress;
mod n2;
mod outer;
mod refusals;
mod registrations;
mod scratch;
mod show;
mod sidecars;
mod stage;
mod transparent;

use std::path::PathBuf;
use std::time::Instant;

use bartizan_host::Facts;
use serde::Serialize;

use crate::interrupt::Interrupt;
use crate::output::outln;
use crate::{Failure, Outcome};
use core::{Core, PRODUCERS, Policy, Variant};
use scratch::Scratch;
use sidecars::Sidecars;
use stage::Stage;

/// Show it on real traffic: sidecars, the packets that prove it, what is refused, and the cost.
///
/// Brings up a CA and a sidecar for each network function of a small core. First curl talks to
/// nghttpd through two of them; then two recorded UE registrations of a free5GC are played with
/// their own timing, concurrency and connection churn: straight, through a classical pair and
/// through post-quantum pairs. The link between is captured, and the demo prints what an
/// eavesdropper sees. Last, a consumer that is configured with nothing but its NRF discovers a
/// producer and calls its real address: the host's rules lead that through the sidecars, and refuse
/// it where a sidecar or a rule is gone.
///
/// As root it makes network namespaces joined by virtual cables; without root everything runs on
/// loopback, and the eavesdropper and the host's rules are left out. Either way nothing is left
/// behind.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan demo\n  \
    bartizan demo --n2\n  \
    bartizan demo --out evidence --json | jq .refusals")]
pub(crate) struct Args {
    /// Leave the post-quantum core running at the end, with its metrics to look at, until Ctrl-C
    #[arg(long)]
    keep: bool,

    /// Show N2 instead: a gNB and an AMF on kernel SCTP, unprotected and carried by sidecars over
    /// TLS and QUIC; in a guest where this machine's kernel has no SCTP
    #[arg(long, conflicts_with = "keep")]
    n2: bool,

    /// Print the result as JSON (schema `bartizan-demo/1`, with --n2 `bartizan-demo-n2/1`);
    /// progress goes to standard error
    #[arg(long)]
    json: bool,

    /// Keep captures, ledgers, logs and the deployment file in this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Everything the demo saw.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: &'static str,
    facts: Facts,
    /// Steps that could not be done here, with reasons.
    left_out: Vec<String>,
    outer: Vec<outer::Exchange>,
    refusals: Vec<refusals::Refusal>,
    exchange: registrations::Description,
    runs: Vec<registrations::Run>,
    /// Packets that leave a consumer's host with rules of redirection to sidecars; none if this run
    /// lacks the rights for it.
    transparent: Option<Vec<transparent::Attempt>>,
    seconds: f64,
}

pub(crate) fn run(args: Args) -> Result<Outcome, Failure> {
    if args.n2 {
        return n2::run(args.json, args.out.as_deref());
    }
    let began = Instant::now();
    let interrupt = Interrupt::install()?;
    let facts = Facts::gather();
    let scratch = Scratch::open(args.out.as_deref())?;
    let folder = scratch.path();
    let (stage, mut left_out) = stage(&facts)?;
    let redirect = if left_out.is_empty() {
        transparent::possible()
    } else {
        Err("it needs root".to_owned())
    };
    if let Err(reason) = &redirect {
        left_out.push(format!(
            "the transparent way: {reason}; it shows a consumer that discovers a producer and calls its real address: led through \
             the sidecars, nothing unencrypted, and refused where a sidecar or a rule is gone"
        ));
    }
    show::opening(&facts, &left_out);

    let recorded = registrations::Recorded::load();
    let best = Variant {
        policy: Policy::Hybrid,
        path: "http2",
    };
    let mut report = Report {
        schema: "bartizan-demo/1",
        version: env!("CARGO_PKG_VERSION"),
        facts,
        left_out,
        outer: Vec::new(),
        refusals: Vec::new(),
        exchange: recorded.description(),
        runs: Vec::new(),
        transparent: None,
        seconds: 0.0,
    };

    show::step("curl and nghttpd, with two sidecars between that neither knows of");
    let core = Core::build(folder.join("outer"), &stage, best)?;
    {
        let _web = outer::serve(&stage, &core.folder)?;
        let sidecars = Sidecars::start(&stage, &core)?;
        interrupt.check()?;
        report.outer = outer::ask(&stage, &core.folder)?;
        show::outer(&report.outer);
        show::step("three that must be refused");
        report.refusals = refusals::provoke(&stage, &core, best)?;
        show::refusals(&report.refusals);
        sidecars.stop()?;
    }

    show::registrations(&report.exchange);
    for case in registrations::CASES {
        interrupt.check()?;
        show::step(&format!("two UE registrations, {}", case.title));
        let run = registrations::play(&stage, &folder.join(case.id), case, &recorded, &interrupt)?;
        show::run(&run);
        report.runs.push(run);
    }
    cost::show(&report.runs);
    if redirect.is_ok() {
        show::step("the transparent way: no network function is configured, the hosts' rules lead what they send");
        show::transparent();
        report.transparent = Some(transparent::attempts(
            &folder.join("transparent"),
            &interrupt,
            show::attempt,
        )?);
    }
    report.seconds = began.elapsed().as_secs_f64();
    if args.json {
        let text = serde_json::to_string_pretty(&report).map_err(Failure::new)?;
        outln!("{text}");
    }
    show::closing(&report, args.out.as_deref(), args.keep);
    if args.keep {
        keep(&stage, best, &folder.join("kept"), &interrupt)?;
    }
    let wrong: usize = report.runs.iter().map(|run| run.errors.len()).sum();
    let held = report.transparent.iter().flatten().all(transparent::Attempt::holds);
    Ok(if wrong == 0 && held {
        Outcome::Clean
    } else {
        Outcome::Finding
    })
}

/// Two hosts where that is permitted, loopback where it is not; and what is left out then.
fn stage(facts: &Facts) -> Result<(Stage, Vec<String>), Failure> {
    let refused = [
        ("network namespaces", &facts.namespaces),
        ("veth", &facts.veth),
        ("packet capture", &facts.capture),
    ];
    let refused: Vec<_> = refused
        .into_iter()
        .filter_map(|(what, permission)| match permission {
            bartizan_host::Permission::Granted => None,
            bartizan_host::Permission::Refused(reason) => Some(format!("{what}: {reason}")),
        })
        .collect();
    if refused.is_empty() {
        return Ok((Stage::with_root(PRODUCERS.len())?, Vec::new()));
    }
    let mut left_out = refused;
    left_out.push(
        "so everything runs on loopback, and what an eavesdropper sees is left out; as root it is shown".to_owned(),
    );
    Ok((Stage::on_loopback(), left_out))
}

/// Runs a post-quantum core until Ctrl-C.
fn keep(stage: &Stage, variant: Variant, folder: &std::path::Path, interrupt: &Interrupt) -> Result<(), Failure> {
    let core = Core::build(folder.to_owned(), stage, variant)?;
    let _web = outer::serve(stage, &core.folder)?;
    let sidecars = Sidecars::start(stage, &core)?;
    show::kept(stage, &core);
    interrupt.wait();
    sidecars.stop()
}

/// An error of a part, in the words of the part.
fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::new(error)
}
