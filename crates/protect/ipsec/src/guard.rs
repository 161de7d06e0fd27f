//! Rules that keep the unprotected packets of a node's links off the wire, whatever becomes of
//! charon.
//!
//! charon's own traps hold only while it runs, and under `kernel-libipsec` not even then: what finds no SA takes the host's route.
//! So rules are installed before anything else is done: a packet of a link leaves encrypted or not at all, and arrives so. They
//! outlive charon, `up` and `down`, and go when they are removed by name. They are a table of nftables, or, where the kernel does
//! ESP and takes no such table, XFRM policies that rank below charon's.

mod flows;
mod guard_monitor;
mod nftables;
mod rules;
mod xfrm;

use bartizan_deployment::{DataPath, Deployment};
use bartizan_host::{Error, Feature, Support};

use crate::Kernel;
pub use guard_monitor::GuardMonitor;
use nftables::Nftables;
pub use rules::Known;
use xfrm::Xfrm;

bartizan_registry::made! {
    /// The rules of one node.
    #[derive(Debug)]
    pub struct Guard,
    /// The rules for every IPsec link of `node`.
    pub of(deployment: &Deployment, node: &str) {
        node: String = node.to_owned(),
        /// True if the file has the node do ESP itself. It overrides the caller's data path.
        userspace: bool = does_esp(deployment, node),
        nftables: Nftables = Nftables::of(deployment, node),
        xfrm: Xfrm = Xfrm::of(deployment, node),
    }
}

/// Mechanism that drops packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// A table of nftables.
    Nftables(Known),
    /// Policies of the kernel's ESP.
    Xfrm,
}

impl By {
    /// In messages and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nftables(_) => "nftables",
            Self::Xfrm => "xfrm",
        }
    }
}

/// Packets that were dropped because no SA of their link protected them. By nftables: since the table is installed. By XFRM: what the kernel
/// counts of this network namespace since it is there, routes that found no SA and packets that any policy blocked; none where it does not
/// count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dropped {
    /// On their way out of this host.
    pub leaving: Option<u64>,
    /// On their way in.
    pub arriving: Option<u64>,
    /// The same by link, in the order of the file.
    pub links: Vec<OfLink>,
}

/// Drops of one link. None if the kernel does not count them by link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfLink {
    /// Peer and interface, `ric-E2`.
    pub link: String,
    /// On their way out, with the link's own addresses.
    pub leaving: Option<u64>,
    /// On their way out, with addresses that NAT has changed, so that no SA was for them.
    pub translated: Option<u64>,
    /// On their way in.
    pub arriving: Option<u64>,
}

/// Installation state of a node's rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardState {
    /// All of them, as the file asks today, and nothing else.
    Installed(By, Dropped),
    /// Ours, and something of them is missing or changed, or there is more: each difference as a sentence.
    Damaged(Vec<String>),
    /// Other rules under their name: from another state of the file, another version, or another
    /// program.
    Other,
    /// None: packets that find no SA leave unprotected, unless something else keeps them.
    Absent,
}

impl Guard {
    /// Installs them in this network namespace, unless they are: counts go on where nothing changed. `esp` is who encrypts for
    /// the links, where the file does not say: what `kernel-libipsec` has yet to encrypt, the rules for the kernel's ESP would drop.
    ///
    /// # Errors
    ///
    /// Fails if `nft` is missing or lacks the permission, or the kernel does not take the rules,
    /// and the kernel does not do ESP or refuses policies too: what was installed before then
    /// stays.
    pub fn close(&self, esp: Kernel) -> Result<(), Error> {
        let esp = if self.userspace { Kernel::Userspace } else { esp };
        match (self.nftables.close(esp), esp) {
            (Ok(()), Kernel::Libipsec | Kernel::Userspace) => match self.xfrm.state() {
                Ok(GuardState::Absent) | Err(_) => Ok(()),
                Ok(_) => xfrm::remove(&self.node).map(drop),
            },
            (Ok(()), Kernel::Netlink) => Ok(()),
            (Err(error), Kernel::Netlink) => self.xfrm.close().map_err(|_| error),
            (Err(error), Kernel::Libipsec | Kernel::Userspace) => Err(error),
        }
    }

    /// Removes them; when they are not there it is done already. From then on packets leave as the host routes them.
    ///
    /// # Errors
    ///
    /// Fails if `nft` or `ip` is missing or lacks the permission.
    pub fn open(&self) -> Result<(), Error> {
        Self::remove(&self.node)
    }

    /// The same for a node of which no file is at hand.
    ///
    /// # Errors
    ///
    /// Those of [`Guard::open`].
    pub fn remove(node: &str) -> Result<(), Error> {
        let by_xfrm = xfrm::remove(node)?;
        match nftables::remove(node) {
            Err(_) if by_xfrm || lacks_nftables() => Ok(()),
            removed => removed,
        }
    }

    /// Removes policies of the kernel's ESP for packets of these links that a killed charon has
    /// left. They hold packets for SAs that no daemon sets up any more.
    ///
    /// # Errors
    ///
    /// Fails if `ip` is missing or lacks the permission.
    pub fn remove_leftover(&self) -> Result<(), Error> {
        self.xfrm.remove_leftover()
    }

    /// For those who look at them again and again.
    pub fn monitor(&self) -> GuardMonitor<'_> {
        GuardMonitor::new(self)
    }

    /// Compares the rules that are installed in this network namespace with the wanted ones, rule
    /// by rule.
    ///
    /// # Errors
    ///
    /// Fails if neither `nft` nor `ip` finds them installed, and one of them is missing or lacks
    /// the permission.
    pub fn state(&self) -> Result<GuardState, Error> {
        let by_nftables = self.nftables.state();
        if let Ok(state @ GuardState::Installed(..)) = by_nftables {
            return Ok(state);
        }
        match (by_nftables, self.xfrm.state()?) {
            (Ok(state), GuardState::Absent) => Ok(state),
            (Err(_), GuardState::Absent) if lacks_nftables() => Ok(GuardState::Absent),
            (Err(error), GuardState::Absent) => Err(error),
            (_, state) => Ok(state),
        }
    }
}

/// Returns true if a node does ESP in user space.
fn does_esp(deployment: &Deployment, node: &str) -> bool {
    let own = deployment.node(node).and_then(|node| node.ipsec.as_ref());
    own.is_some_and(|own| own.data_path == DataPath::Userspace)
}

/// Returns true if the kernel itself reports that it has no nftables.
fn lacks_nftables() -> bool {
    matches!(Feature::Nftables.tried(), Support::Absent(_))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// A deployment of one E2 link with these settings.
    pub(super) fn deployment(link: &str) -> Deployment {
        let text = format!(
            "policy: hybrid\nnodes:\n  cu: {{ function: O-CU-CP, address: 10.0.0.1 }}\n  \
             ric: {{ function: near-RT RIC, address: 10.0.0.2 }}\ninterfaces:\n  \
             - {{ kind: E2, between: [cu, ric], with: ipsec, ipsec: {{ {link} }} }}\n"
        );
        Deployment::parse(&text, "e2.yaml", Path::new("/")).expect("a deployment")
    }

    pub(super) const INNER: &str = "inner: { cu: [10.78.1.1], ric: [10.78.2.0/24] }";
}
