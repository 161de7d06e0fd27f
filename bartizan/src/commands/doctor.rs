//! `bartizan doctor`: what this host has, what each feature needs, and how to get what is not there.

mod feature;
mod kernel;
mod processor;
mod rights;
mod strongswan;
mod text;
mod thing;
mod tool;
mod tools;

use std::process::Command;

use bartizan_host::{Facts, KernelBlueprint, LabRoot};
use clap::ValueEnum;
use serde::Serialize;

use self::feature::{Feature, Inventory, Readiness};
use self::processor::Instructions;
use self::thing::{Examined, Presence, Thing};
use self::tool::{Reach, Tool};
use crate::commands::{show, spinner};
use crate::{Failure, Outcome};

/// Version of the JSON form: it changes when a field changes its meaning or goes.
const SCHEMA: &str = "bartizan-doctor/1";

/// Say what this host can do, and what is missing for a feature.
///
/// Kernel, rights and programs are tried, not guessed from version numbers: a key is made, a namespace is entered, a cable is
/// laid; nothing is left behind. Findings, exit code 1, are what a feature needs and is not there: of those everybody uses (sidecar,
/// redirect, ca, inspect), or of those asked for. Experiments: `bartizan lab doctor`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan doctor                     every feature, a line each\n  \
    bartizan doctor sidecar redirect    what these need, how to get what is missing\n  \
    bartizan doctor --all               rights, kernel and programs as well\n  \
    bartizan doctor --json | jq '.features[] | select(.ready | not)'")]
pub(crate) struct Args {
    /// Only these features, with all that each needs.
    #[arg(value_enum, value_name = "FEATURE")]
    features: Vec<Feature>,
    /// Print rights, kernel, lab roots and programs as well.
    #[arg(long, conflicts_with = "features")]
    all: bool,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// Everything that was found.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: &'static str,
    host: Facts,
    processor: Vec<Instructions>,
    rights: Vec<Examined>,
    kernel: Vec<Examined>,
    roots: Vec<Root>,
    tools: Vec<Tool>,
    features: Vec<Readiness>,
}

/// A lab root, or the kernel of a guest, that could be there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Root {
    #[serde(flatten)]
    examined: Examined,
    /// Packages in it, where it is there.
    packages: Option<usize>,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    let report = examine(&args.features)?;
    let text = || match (args.features.is_empty(), args.all) {
        (true, false) => text::summary(&report),
        (_, all) => text::of(&report, all),
    };
    let counts = |readiness: &&Readiness| !args.features.is_empty() || readiness.default;
    let ready = report.features.iter().filter(counts).all(|readiness| readiness.ready);
    show(&report, args.json, text, ready)
}

fn examine(asked: &[Feature]) -> Result<Report, Failure> {
    let things: Vec<Thing> = asked.iter().flat_map(|feature| feature.things()).collect();
    let wanted = |thing: Thing| asked.is_empty() || things.contains(&thing);
    let facts = Facts::gather();
    let bar = spinner();
    let tries = |what: String| bar.set_message(format!("tries {what}"));
    let mut inventory = Inventory::default();
    let mut keep = |examined: &Examined| inventory.add(examined.clone());

    let rights = rights::examine(&facts);
    rights.iter().for_each(&mut keep);
    keep(&aes());
    if wanted(Thing::Laboratory) {
        keep(&laboratory());
    }
    let kernel =
        kernel::examine(bartizan_host::Feature::ALL.into_iter().filter(|&feature| {
            asked.is_empty() || things.iter().any(|&thing| kernel::feature_of(thing) == Some(feature))
        }));
    kernel.iter().for_each(&mut keep);
    let present = present_roots();
    let reach = if facts.root { Reach::Inside } else { Reach::Loader };
    let mut roots: Vec<Root> = roots(&present);
    roots.push(debian_kernel());
    roots.iter().for_each(|root| keep(&root.examined));
    let mut tools = Vec::new();
    if wanted(Thing::CharonHybrid) {
        let roots = present.iter().filter_map(|root| {
            tries(format!("strongSwan of {}", root.directory().display()));
            strongswan::in_root(root, &facts)
        });
        tries("strongSwan".to_owned());
        for tool in strongswan::on_host(&facts).into_iter().chain(roots) {
            keep(&Examined::new(Thing::Charon, tool.program, tool.presence.clone()));
            tool.abilities.iter().for_each(&mut keep);
            tools.push(tool);
        }
    }
    for kind in tools::KINDS {
        let abilities = kind.abilities.iter().map(|ability| ability.thing);
        if !abilities.chain([kind.thing]).any(wanted) {
            continue;
        }
        tries(kind.program.to_owned());
        let tool = kind.on_host();
        keep(&Examined::new(kind.thing, kind.program, tool.presence.clone()));
        tool.abilities.iter().for_each(&mut keep);
        tools.push(tool);
        // Lab roots serve only the lab, which reports missing programs itself. A second copy in a
        // root adds nothing for programs without tests of abilities.
        if asked.is_empty() && !kind.abilities.is_empty() {
            tools.extend(present.iter().filter_map(|root| kind.in_root(root, reach)));
        }
    }

    let mut features = Vec::new();
    for &feature in Feature::value_variants() {
        if !asked.is_empty() && !asked.contains(&feature) {
            continue;
        }
        features.push(feature.readiness(&inventory));
    }
    bar.finish_and_clear();
    Ok(Report {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        host: facts,
        processor: processor::instructions(),
        rights,
        kernel,
        roots,
        tools,
        features,
    })
}

fn aes() -> Examined {
    let presence = match processor::aes() {
        Some(true) => Presence::present(),
        Some(false) => Presence::absent(
            "this processor has none, or the kernel does not let programs use them",
            "another processor, or a virtual machine that is given the host's",
        ),
        None => Presence::unknown("not known of this kind of processor", "an x86-64 or AArch64 processor"),
    };
    Examined::new(Thing::AesInstructions, "AES instructions", presence)
}

/// The program that `bartizan demo`, `lab` and `bench` become.
fn laboratory() -> Examined {
    let program = crate::laboratory::program();
    let reason = match Command::new(&program).arg("--version").output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!("{}: {}", program.display(), output.status)),
        Err(error) => Some(format!("{}: {error}", program.display())),
    };
    let presence = match reason {
        None => Presence::present(),
        Some(reason) => Presence::absent(reason, crate::laboratory::HINT),
    };
    Examined::new(Thing::Laboratory, "bartizan-lab", presence)
}

fn present_roots() -> Vec<LabRoot> {
    [LabRoot::trixie(), LabRoot::sid()]
        .into_iter()
        .flatten()
        .filter_map(|blueprint| blueprint.present())
        .collect()
}

fn roots(present: &[LabRoot]) -> Vec<Root> {
    let of = |thing, name, blueprint: Result<bartizan_host::Blueprint, bartizan_host::Error>| {
        let directory = match blueprint {
            Ok(blueprint) => blueprint.directory(),
            Err(error) => {
                let presence = Presence::unknown(thing::in_a_line(&error), "BARTIZAN_CACHE=DIR says where they are");
                let examined = Examined::new(thing, name, presence);
                return Root {
                    examined,
                    packages: None,
                };
            }
        };
        let root = present.iter().find(|root| root.directory() == directory);
        let presence = match root {
            Some(_) => Presence::Present {
                detail: Some(directory.display().to_string()),
            },
            None => Presence::absent(
                format!("nothing that could be used in {}", directory.display()),
                "as root: bartizan lab root",
            ),
        };
        Root {
            examined: Examined::new(thing, name, presence),
            packages: root.map(|root| root.packages().count()),
        }
    };
    vec![
        of(Thing::TrixieRoot, "Debian trixie", LabRoot::trixie()),
        of(Thing::SidRoot, "Debian sid", LabRoot::sid()),
    ]
}

/// The kernel of guests in the cache, with the number of packages it is from.
fn debian_kernel() -> Root {
    let (thing, name) = (Thing::DebianKernel, "Debian kernel");
    let blueprint = KernelBlueprint::debian();
    let present = blueprint.as_ref().ok().and_then(KernelBlueprint::present);
    let presence = match (&blueprint, &present) {
        (_, Some(package)) => Presence::Present {
            detail: Some(format!("{}, {}", package.release(), package.directory().display())),
        },
        (Ok(blueprint), None) => Presence::absent(
            format!("nothing in {}", blueprint.directory().display()),
            "as root: the first run with --kernel guest that needs it fetches it",
        ),
        (Err(error), None) => Presence::unknown(thing::in_a_line(error), "BARTIZAN_CACHE=DIR says where it is"),
    };
    Root {
        examined: Examined::new(thing, name, presence),
        packages: present.map(|package| package.packages().count()),
    }
}
