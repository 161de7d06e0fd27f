//! MACsec links of a node: what `bartizan up`, `down`, `status` and `rekey` do with them.

mod report;
pub(crate) mod status;
pub(crate) mod take_down;
pub(crate) mod up;

pub(crate) use report::Ports;

use std::path::{Path, PathBuf};

use bartizan_deployment::Deployment;
use bartizan_macsec::control::{self, Answer, Question};
use bartizan_macsec::guard::Guard;
use bartizan_macsec::link::{RUN, Setting};

use crate::Failure;
use crate::commands::deployment_file::read;

/// Which links a command is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum With {
    /// Those `with: ipsec`.
    Ipsec,
    /// Those `with: macsec`.
    Macsec,
    /// Those `with: sidecar`, for `status`.
    Sidecar,
}

/// A node of a deployment that has MACsec links.
pub(crate) struct MacsecHost {
    deployment: Deployment,
    node: String,
    directory: PathBuf,
    settings: Vec<Setting>,
}

impl MacsecHost {
    /// The node's MACsec links, where the command is for them: it has no others, or they were asked for.
    pub(crate) fn meant(
        file: &Path,
        node: &str,
        with: Option<With>,
        directory: Option<&Path>,
    ) -> Result<Option<Self>, Failure> {
        match with {
            Some(With::Ipsec) => return Ok(None),
            Some(With::Sidecar) => {
                return Err(Failure::usage("--with sidecar is for `bartizan status` alone")
                    .hint("a sidecar is started by `bartizan sidecar` and ends by SIGTERM"));
            }
            _ => {}
        }
        let deployment = read(file)?;
        let mut settings = Setting::all(&deployment, node);
        let shown = file.display();
        match (settings.is_empty(), deployment.ipsec_links(node).next().is_some(), with) {
            (true, _, None) => return Ok(None),
            (true, _, _) => {
                return Err(
                    Failure::usage(format!("{shown}: {node} has no MACsec link with a port"))
                        .hint("an interface with `with: macsec` and `macsec: { port: { ... } }` makes one"),
                );
            }
            (false, true, None) => {
                return Err(
                    Failure::usage(format!("{shown}: {node} has IPsec links and MACsec links"))
                        .hint("say which are meant: --with ipsec or --with macsec"),
                );
            }
            (false, ..) => {}
        }
        let directory = directory.map_or_else(|| Path::new(RUN).join(node), Path::to_owned);
        for setting in &mut settings {
            setting.directory.clone_from(&directory);
        }
        Ok(Some(Self {
            directory,
            node: node.to_owned(),
            deployment,
            settings,
        }))
    }

    fn guard(&self) -> Guard {
        Guard::of(&self.deployment, &self.node)
    }

    /// Asks the controller; none where none runs.
    fn ask(&self, question: Question) -> Result<Option<Answer>, Failure> {
        control::ask(&self.directory, question).map_err(|error| {
            Failure::new(format!("the controller of {} does not answer: {error}", self.node))
                .hint("it takes commands from root alone, and from the network namespace of any")
        })
    }
}

/// Describes a failed link, with a hint.
fn failed(error: &bartizan_macsec::Error) -> Failure {
    Failure::new(error).with_hints(error.hint())
}

/// Why the guard could not be read or changed.
pub(crate) fn guard_failed(error: &bartizan_host::Error) -> Failure {
    let failure = Failure::new(format!("the guard against unencrypted frames: {error}"));
    failure.hint(error.hint().unwrap_or_else(|| {
        "the kernel needs nf_tables with hooks at ingress and egress of devices (Linux 5.16 or later), and the ports must be there".to_owned()
    }))
}
