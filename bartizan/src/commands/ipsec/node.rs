//! Which node, and which charon.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bartizan_deployment::{Deployment, IpsecNode, day_of};
use bartizan_ipsec::Charon;
use bartizan_ipsec::drive::{self, Link, Lock};
use bartizan_ipsec::guard::Guard;
use bartizan_ipsec::lint::{self, Remark, Severity};
use bartizan_ipsec::offload;
use bartizan_ipsec::render::{Connection, Credentials, Flaw, Means, Weight, connections};
use bartizan_ipsec::vici::Client;
use bartizan_ipsec::watch::Expectations;

use super::{PATIENCE, TURN, failed};
use crate::Failure;
use crate::commands::deployment_file::{self, read};
use crate::commands::macsec::{MacsecHost, With};
use crate::output::errln;

/// Directory of our own charons, with one directory per node.
const RUN: &str = "/run/bartizan/ipsec";

/// Arguments that every command of IPsec takes.
#[derive(clap::Args)]
pub(crate) struct NodeArgs {
    /// The deployment file.
    pub(crate) file: PathBuf,
    /// The node whose links these are.
    #[arg(long, value_name = "NAME")]
    pub(crate) node: String,
    /// The VICI socket of a charon that runs, instead of the one in the file.
    #[arg(long, value_name = "SOCKET")]
    pub(crate) vici: Option<PathBuf>,
    /// Directory of Bartizan's own charon [default: /run/bartizan/ipsec/NODE], or of the controller
    /// of MACsec links [default: /run/bartizan/macsec/NODE].
    #[arg(long, value_name = "DIR", conflicts_with = "vici")]
    pub(crate) directory: Option<PathBuf>,
    /// Which links, where the node has both.
    #[arg(long, value_name = "KIND")]
    pub(crate) with: Option<With>,
}

impl NodeArgs {
    /// The node's MACsec links, where these are meant.
    pub(super) fn macsec(&self) -> Result<Option<MacsecHost>, Failure> {
        MacsecHost::meant(&self.file, &self.node, self.with, self.directory.as_deref())
    }
}

/// A node of a deployment that has IPsec links.
pub(super) struct IpsecHost {
    pub(super) deployment: Deployment,
    pub(super) node: String,
    pub(super) files: IpsecNode,
    pub(super) place: Place,
}

/// The failure of a command of IPsec on a node without such links, and what shows or runs those that
/// it has.
pub(crate) fn without_links(file: &Path, deployment: &Deployment, node: &str) -> Failure {
    let file = file.display();
    let failure = Failure::usage(format!("{file}: {node} has no IPsec link"));
    if deployment.macsec_links(node).next().is_some() {
        return failure.hint(format!(
            "`bartizan up {file} --node {node}` keeps its MACsec links and watches them"
        ));
    }
    match deployment.node(node).and_then(|node| node.sidecar.as_ref()) {
        Some(_) => failure.hint(format!("`bartizan sidecar {file} --node {node}` runs its sidecar")),
        None => failure.hint("an interface with `with: ipsec` makes one"),
    }
}

/// Owner of the charon.
pub(super) enum Place {
    /// The system's, behind this socket.
    System(PathBuf),
    /// Ours, in this directory.
    Own(PathBuf),
}

impl Place {
    /// Socket of charon.
    pub(super) fn socket(&self) -> PathBuf {
        match self {
            Self::System(socket) => socket.clone(),
            Self::Own(directory) => directory.join("charon.vici"),
        }
    }
}

impl IpsecHost {
    pub(super) fn read(args: &NodeArgs) -> Result<Self, Failure> {
        let deployment = read(&args.file)?;
        let node = deployment_file::node(&deployment, &args.file, &args.node)?;
        let file = args.file.display();
        if deployment.ipsec_links(&args.node).next().is_none() {
            return Err(without_links(&args.file, &deployment, &args.node));
        }
        let Some(files) = node.ipsec.clone() else {
            return Err(Failure::usage(format!("{file}: {} has no certificate for IPsec", args.node))
                .hint(format!(
                    "add `ipsec: {{ certificate: FILE, key: FILE }}` to the node; `bartizan ca issue --profile ipsec --name {}{}` writes them",
                    node.name,
                    bartizan_tls::issue_options(&node.identity)
                )));
        };
        let system = args.vici.clone().or_else(|| files.vici.clone());
        let place = match (&args.directory, system) {
            (None, Some(socket)) => Place::System(socket),
            (Some(directory), _) => Place::Own(directory.clone()),
            (None, None) => Place::Own(Path::new(RUN).join(&args.node)),
        };
        Ok(Self {
            node: args.node.clone(),
            files,
            place,
            deployment,
        })
    }

    /// A connection to its charon.
    pub(super) fn client(&self) -> Result<Client, Failure> {
        Client::connect(&self.place.socket(), PATIENCE).map_err(|error| match (&self.place, &error) {
            (Place::Own(_), bartizan_ipsec::vici::Error::Absent(_)) => {
                Failure::new(format!("no IKE engine of ours runs for {}", self.node))
                    .hint("`bartizan up` starts one and keeps it")
                    .hint("give the socket of one that the system runs with --vici, or as `vici` of the node")
            }
            _ => failed(&error),
        })
    }

    /// The right to change what its charon has loaded, waited for where another command has it.
    pub(super) fn lock(&self) -> Result<Lock, Failure> {
        let lock = Lock::take(&self.place.socket(), TURN, || {
            errln!("waiting for another bartizan command");
        });
        lock.map_err(Failure::new)?
            .ok_or_else(|| Failure::new("another bartizan command has this IKE engine and does not end").held())
    }

    /// Credentials and connections rendered for it, with the policies of today; revocation lists
    /// that are older than those `before` do not take their place.
    pub(super) fn rendered(
        &self,
        means: Means,
        before: Option<&Credentials>,
    ) -> Result<(Credentials, Vec<Connection>), Failure> {
        let read = match before {
            Some(before) => before.read_again(&self.files),
            None => Credentials::read(&self.files),
        };
        let credentials = read
            .and_then(|credentials| credentials.with_ppks(&self.deployment, &self.node))
            .map_err(Failure::new)?;
        let today = day_of(SystemTime::now());
        let mut connections = connections(&self.deployment, &self.node, &credentials, means, today)
            .map_err(|error| Failure::new(&error).hint(error.hint()))?;
        offload::only_where_possible(&mut connections);
        Ok((credentials, connections))
    }

    /// Returns flaws of the node's files. A flaw that stops every link is a failure before anything
    /// is loaded.
    pub(super) fn flaws(&self, credentials: &Credentials) -> Result<Vec<Flaw>, Failure> {
        let Some(node) = self.deployment.node(&self.node) else {
            return Ok(Vec::new());
        };
        let flaws = credentials.flaws(&self.files, &self.deployment, node, SystemTime::now());
        let (fatal, reported): (Vec<_>, Vec<_>) = flaws.into_iter().partition(|flaw| flaw.weight == Weight::Fatal);
        let Some((first, more)) = fatal.split_first() else {
            return Ok(reported);
        };
        let failure = Failure::new(format!("nothing is loaded: {} {}", first.file.display(), first.cause));
        Err(more.iter().fold(failure.hint(&first.hint), |failure, flaw| {
            failure.hint(format!("as well: {} {}", flaw.file.display(), flaw.cause))
        }))
    }

    /// Expectations that SAs of these connections are judged by.
    pub(super) fn expectations(&self, connections: &[Connection]) -> Expectations {
        Expectations::of_deployment(&self.deployment, &self.node, connections)
    }

    /// Removes what a charon of ours that was killed has left in the kernel.
    pub(super) fn remove_leftover(&self) -> Result<(), Failure> {
        drive::remove_leftover(&self.deployment, &self.node).map_err(Failure::new)
    }

    /// Guard that keeps unencrypted packets of its links off the wire.
    pub(super) fn guard(&self) -> Guard {
        Guard::of(&self.deployment, &self.node)
    }

    /// Returns the linter's remarks on the node's links in this charon. A refusal is a failure
    /// before anything is loaded.
    pub(super) fn lint(&self, charon: &Charon) -> Result<Vec<Remark>, Failure> {
        let today = day_of(SystemTime::now());
        let remarks = self
            .deployment
            .ipsec_links(&self.node)
            .flat_map(|(_, interface, link)| lint::link(interface, link, charon, today));
        let remarks = remarks
            .chain(lint::limits(&self.deployment, &self.node))
            .chain(lint::interfaces(&self.deployment, &self.node))
            .chain(offload::remarks(&self.deployment, &self.node));
        let (refused, reported): (Vec<_>, Vec<_>) = remarks.partition(|remark| remark.severity == Severity::Refused);
        let Some((first, more)) = refused.split_first() else {
            return Ok(reported);
        };
        let failure = Failure::new(format!("nothing is loaded: {first}")).hint(&first.hint);
        Err(more.iter().fold(failure, |failure, remark| {
            failure.hint(format!("refused as well: {remark}; {}", remark.hint))
        }))
    }
}

/// As they are loaded and set up.
pub(super) fn links(connections: &[Connection]) -> Vec<Link> {
    let links = connections.iter().map(|connection| Link {
        name: connection.name.clone(),
        load: connection.load(),
        initiates: connection.initiates,
        can_begin: connection.can_begin(),
        at_once: connection.at_once,
        children: connection.children.iter().map(|child| child.name.clone()).collect(),
    });
    links.collect()
}
