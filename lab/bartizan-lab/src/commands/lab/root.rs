//! `bartizan lab root`.

use std::fmt::Write as _;

use bartizan_host::{Blueprint, Error, LabRoot};
use bartizan_testing::Progress;
use bartizan_testing::{Build as _, RootPrograms as _};
use serde::Serialize;

use crate::output::{errln, print};
use crate::{Failure, Outcome};

/// Programs whose versions are said; the roots differ in what they have.
const SHOWN: [&str; 10] = [
    "openssl", "curl", "nginx", "nghttp", "nghttpd", "nghttpx", "h2load", "tshark", "tcpdump", "ip",
];

/// Build the lab roots: Debian trixie and sid, each unpacked in a folder of the cache.
///
/// They have what is newer than this machine's: OpenSSL 3.5, strongSwan 6.1 with ML-KEM, proxies, a
/// guest's kernel. Nothing is installed on the machine. A root that is there and whole is left as
/// it is. Needs root and debootstrap, and a minute or a few for each.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan lab root           both\n  \
    bartizan lab root sid       strongSwan 6.1, for `bartizan up` where none is installed")]
pub(crate) struct Args {
    /// Which [default: both]
    #[arg(value_name = "SUITE", value_enum)]
    suites: Vec<Suite>,

    /// Print where they are and what is in them as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Suite {
    Trixie,
    Sid,
}

#[derive(Serialize)]
struct Root {
    directory: String,
    packages: Vec<Package>,
}

#[derive(Serialize)]
struct Package {
    name: String,
    version: String,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let suites = match args.suites.as_slice() {
        [] => &[Suite::Trixie, Suite::Sid],
        asked => asked,
    };
    let mut roots = Vec::new();
    for suite in suites {
        let blueprint = match suite {
            Suite::Trixie => LabRoot::trixie(),
            Suite::Sid => LabRoot::sid(),
        };
        let root = blueprint.and_then(|blueprint| build(&blueprint)).map_err(failed)?;
        if args.json {
            let packages = root.packages().map(|(name, version)| Package {
                name: name.to_owned(),
                version: version.to_owned(),
            });
            roots.push(Root {
                directory: root.directory().display().to_string(),
                packages: packages.collect(),
            });
        } else {
            let mut text = format!("{}\n", root.directory().display());
            // Writing to a string cannot fail.
            for program in SHOWN {
                if let Ok(version) = root.version(program) {
                    let _ = writeln!(text, "  {program}: {version}");
                }
            }
            let _ = writeln!(text, "  {} packages", root.packages().count());
            print(&text)?;
        }
    }
    if args.json {
        print(&(serde_json::to_string_pretty(&roots).map_err(Failure::new)? + "\n"))?;
    }
    Ok(Outcome::Clean)
}

fn failed(error: Error) -> Failure {
    let hint = error.hint();
    let failure = Failure::new(error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn build(blueprint: &Blueprint) -> Result<LabRoot, Error> {
    blueprint.ensure(&mut |progress| match progress {
        Progress::Waiting => errln!("another process builds it: waiting"),
        Progress::Building { directory, mirror } => {
            let mirror = mirror.as_deref().unwrap_or("the default mirror");
            errln!("building {} from {mirror}", directory.display());
        }
        Progress::Step(step) => errln!("  {step}"),
        Progress::Built => errln!("built"),
        _ => {}
    })
}
