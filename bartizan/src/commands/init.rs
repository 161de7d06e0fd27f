//! `bartizan init`: a first deployment file for a kind of network, and the commands that make its certificates.

mod certificates;
mod from;

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use bartizan_deployment::{Deployment, IkeEngine, Node};

use crate::commands::schema;
use crate::output::{errln, print};
use crate::{Failure, Outcome};

/// Write a first deployment file for a kind of network; print what makes its keys.
///
/// The file is commented and complete: `bartizan check` accepts it as it is. Change its addresses and names to those of your network. With --from it
/// has what captures show, and `check` lists what remains to decide. What is printed are
/// commands for a shell: they make a certificate authority in the directory `ca`, and a certificate for every node of the file.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan init open5gs                       write core.yaml, print the commands\n  \
    bartizan init e2 --file ran.yaml | sh       make the certificates as well\n  \
    bartizan init e2 --engine bartizan          by Bartizan's own IKE engine\n  \
    bartizan init --from sbi.pcap               write what a capture shows\n  \
    bartizan init fronthaul --file -            print the file, write nothing")]
pub(crate) struct Args {
    /// Kind of network.
    #[arg(value_name = "KIND", required_unless_present = "from", conflicts_with = "from")]
    kind: Option<Kind>,
    /// Write what this capture shows instead: nodes by address, interfaces as `inspect` recognises them;
    /// what only the reader can decide is marked TODO. May be given more than once.
    #[arg(long, value_name = "CAPTURE")]
    from: Vec<PathBuf>,
    /// The file to write; `-` prints it instead, without the commands.
    #[arg(long, value_name = "FILE", default_value = "core.yaml")]
    file: PathBuf,
    /// IKE engine of the nodes, for `e2`: strongswan (the default), or bartizan, which needs no
    /// strongSwan and has ML-DSA.
    #[arg(long, value_name = "ENGINE", value_parser = engine)]
    engine: Option<IkeEngine>,
    /// Replace the file if it is there.
    #[arg(long)]
    force: bool,
}

/// Kinds of networks that a first file can be written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// The SBI of free5GC, by the address plan of free5gc-compose.
    Free5gc,
    /// The SBI of Open5GS, by the address plan of its sample configuration.
    Open5gs,
    /// An E2 node and its near-RT RIC, by IPsec.
    E2,
    /// An O-DU and an O-RU, by MACsec.
    Fronthaul,
}

/// Name of the file in comments of templates.
const NAME: &str = "core.yaml";

impl Kind {
    /// The deployment file. That of free5GC is the overlay's own.
    const fn template(self) -> &'static str {
        match self {
            Self::Free5gc => include_str!("../../../deploy/free5gc-compose/deployment.yaml"),
            Self::Open5gs => include_str!("init/open5gs.yaml"),
            Self::E2 => include_str!("init/e2.yaml"),
            Self::Fronthaul => include_str!("init/fronthaul.yaml"),
        }
    }
}

/// The engine of this name.
fn engine(text: &str) -> Result<IkeEngine, String> {
    let mut known = [IkeEngine::Strongswan, IkeEngine::Bartizan].into_iter();
    let found = known.find(|engine| engine.name() == text);
    found.ok_or_else(|| "one of strongswan, bartizan".to_owned())
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    if args.engine.is_some() && args.kind != Some(Kind::E2) {
        return Err(Failure::usage("--engine is of links by IPsec").hint("bartizan init e2 --engine bartizan"));
    }
    let text = match (args.kind, args.engine) {
        (None, _) => from::text(&args.from)?,
        (Some(kind), Some(IkeEngine::Bartizan)) => kind.template().replace("# engine: bartizan", "engine: bartizan"),
        (Some(kind), _) => kind.template().to_owned(),
    };
    let text = text.as_str();
    if args.file == Path::new("-") {
        print(text)?;
        return Ok(Outcome::Clean);
    }
    let name = args.file.display().to_string();
    let folder = args.file.parent().unwrap_or(Path::new(""));
    let deployment =
        Deployment::parse(text, &name, folder).map_err(|error| Failure::new(format!("template: {error}")))?;
    let (for_editors, schema) = (folder.join(schema::FILE), schema::text()?);
    if args.file.file_name() == for_editors.file_name() {
        return Err(Failure::usage(format!("{name}: the schema for editors is called that")).hint("give another name"));
    }
    // Nothing is written where one of the two would be refused.
    let is_there = |file: &Path| file.symlink_metadata().is_ok();
    for file in [&args.file, &for_editors] {
        // Neither a folder nor, by its name, a device or a terminal: /dev/null would be a file from then on.
        if file.metadata().is_ok_and(|there| !there.is_file()) {
            let failure = Failure::new(format!("{}: is there and is no file", file.display()));
            return Err(failure.hint("give another folder or name by --file; `--file -` prints the file"));
        }
    }
    let same = std::fs::read(&for_editors).is_ok_and(|there| there == schema.as_bytes());
    for file in [&args.file, &for_editors] {
        if !args.force && is_there(file) && !(same && *file == for_editors) {
            return Err(failed(file, &ErrorKind::AlreadyExists.into()));
        }
    }
    if let Some((other, roots)) = sharing(&args.file, &deployment).filter(|_| !args.force) {
        let cause = format!(
            "{} has certificates in the same files: {}",
            other.display(),
            roots.display()
        );
        return Err(Failure::new(cause).hint("give another folder by --file, or share them by --force"));
    }
    // Editors look for the schema in the folder of the file.
    let text = text.replace(NAME, &name);
    let text = format!("# yaml-language-server: $schema={}\n{text}", schema::FILE);
    write(&args.file, &text, args.force)?;
    errln!("wrote {name}");
    if !same {
        write(&for_editors, &schema, args.force)?;
        errln!("wrote {}, for editors", for_editors.display());
    }
    print(&certificates::commands(&deployment, &args.file))?;
    Ok(Outcome::Clean)
}

/// Another deployment file of the folder that names one of the same files of roots. The commands
/// of both would write there, each for its own authority.
fn sharing(file: &Path, deployment: &Deployment) -> Option<(PathBuf, PathBuf)> {
    let own = roots(deployment);
    let folder = std::fs::read_dir(folder_of(file)).ok()?;
    let named = |path: &PathBuf| path.extension().is_some_and(|end| end == "yaml" || end == "yml");
    let base = file.parent().unwrap_or(Path::new(""));
    let paths = folder.flatten().map(|entry| base.join(entry.file_name())).filter(named);
    // A pipe would be waited for.
    let mut files = paths.filter(|path| path.is_file() && path != file);
    files.find_map(|path| {
        let text = std::fs::read_to_string(&path).ok()?;
        let other = Deployment::parse(&text, &path.display().to_string(), base).ok()?;
        let shared = roots(&other).intersection(&own).next().cloned();
        shared.map(|roots| (path, roots))
    })
}

/// The files of trusted roots.
fn roots(deployment: &Deployment) -> BTreeSet<PathBuf> {
    let of_node = |node: &Node| {
        let files = node.files.as_ref().map(|files| files.roots.clone());
        [files, node.ipsec.as_ref().map(|ipsec| ipsec.roots.clone())]
    };
    deployment.nodes().flat_map(of_node).flatten().collect()
}

/// Writes a file that appears whole or not at all; one that is there is replaced only by `force`.
fn write(file: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let folder = folder_of(file);
    // An error of the temporary file has that file's name behind the system's words.
    let failed = |error: std::io::Error| {
        let text = error.to_string();
        let of_system = text.split(" at path ").next().unwrap_or_default();
        failed(file, &std::io::Error::new(error.kind(), of_system))
    };
    // Others read it too: nothing in it is secret, and sidecars run as users of their own.
    let mut written = tempfile::Builder::new()
        .prefix(".core.")
        .suffix(".partial")
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder)
        .map_err(failed)?;
    let whole = written
        .write_all(text.as_bytes())
        .and_then(|()| written.as_file().sync_all());
    whole.map_err(failed)?;
    let placed = if force {
        written.persist(file)
    } else {
        written.persist_noclobber(file)
    };
    placed.map(drop).map_err(|error| failed(error.error))
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

fn failed(file: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::new(format!("{}: {error}", file.display()));
    match error.kind() {
        ErrorKind::AlreadyExists => Failure::new(format!("{}: is there already", file.display()))
            .hint("give another folder or name by --file, or replace it by --force"),
        ErrorKind::NotFound => failure.hint(format!("make the folder first: mkdir -p {}", folder_of(file).display())),
        _ => failure,
    }
}
