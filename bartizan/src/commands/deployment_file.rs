//! Reading a deployment file for a command.

use std::io::ErrorKind;
use std::path::Path;

use bartizan_deployment::{Deployment, Node};

use crate::Failure;

/// The deployment in `file`; what is wrong with it is a usage error that says where and what to write instead.
pub(crate) fn read(file: &Path) -> Result<Deployment, Failure> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::usage(format!("{name}: {error}")).hint(match error.kind() {
            ErrorKind::PermissionDenied => {
                "run it as root, or as the user that the service runs as: sudo -u bartizan bartizan ..."
            }
            _ => "give the path of a deployment file",
        })
    })?;
    let base = file.parent().unwrap_or(Path::new(""));
    Deployment::parse(&text, &name, base).map_err(|error| Failure::usage(&error).with_hints(error.hint()))
}

/// The node of this name in a deployment that was read from `file`.
pub(crate) fn node<'a>(deployment: &'a Deployment, file: &Path, name: &str) -> Result<&'a Node, Failure> {
    deployment.node(name).ok_or_else(|| {
        let known: Vec<_> = deployment.nodes().map(|node| node.name.as_str()).take(12).collect();
        let failure = Failure::usage(format!("{}: no node is called `{name}`", file.display()));
        failure.hint(format!("nodes are {}", known.join(", ")))
    })
}
