//! A charon of our own for a node.

use std::path::Path;

use bartizan_host::LabRoot;
use bartizan_ipsec::{Engine, Instance, Kernel, Settings, StartError};

use super::node::IpsecHost;
use crate::Failure;

/// Starts it in `directory`; none where one of ours runs there already.
pub(super) fn start(host: &IpsecHost, directory: &Path) -> Result<Option<Instance>, Failure> {
    let kernel = Kernel::of_this_machine()
        .map_err(|error| Failure::new(error).hint("a charon of our own needs root, iproute2 and util-linux"))?;
    let peers = host.deployment.ipsec_links(&host.node).count();
    let settings = Settings::new(kernel, u32::try_from(peers).unwrap_or(u32::MAX));
    match Instance::start(&engine()?, directory, None, &settings) {
        Ok(instance) => {
            // It has loaded nothing yet: what stands is of one that was killed.
            host.remove_leftover()?;
            Ok(Some(instance))
        }
        Err(StartError::Taken { .. }) => Ok(None),
        Err(error) => Err(Failure::new(error).hint("`bartizan doctor` says what this host has and what IPsec needs")),
    }
}

/// The one that is installed, else that of a lab root that is there.
fn engine() -> Result<Engine, Failure> {
    if let Some(installed) = Engine::installed() {
        return Ok(installed);
    }
    match LabRoot::sid().map_err(Failure::new)?.present() {
        Some(root) => Ok(Engine::LabRoot(root)),
        None => Err(Failure::new("no strongSwan is installed")
            .hint("install charon-systemd of strongSwan 6.1.0 or later")
            .hint("for a try-out: `cargo run -p bartizan-host --example lab-root -- sid` unpacks one in a directory")),
    }
}
