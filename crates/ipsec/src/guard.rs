//! What keeps the packets of a node's links off the wire in clear, whatever becomes of charon.
//!
//! charon's own traps hold only while it runs, and under `kernel-libipsec` not even then: what finds no SA takes the host's route.
//! So `up` puts rules in force before anything is loaded: a packet of a link leaves encrypted or not at all, and arrives so. They
//! outlive charon, `up` and `down`, and go when they are taken away by name. They are a table of nftables, or, where the kernel does
//! ESP and takes no such table, XFRM policies that rank below charon's.

mod nftables;
mod rules;
mod xfrm;

use bartizan_deployment::Deployment;
use bartizan_host::{Error, Feature, Support};

use crate::Kernel;
use nftables::Nftables;
use xfrm::Xfrm;

/// The rules of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    nftables: Nftables,
    xfrm: Xfrm,
}

/// What drops packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// A table of nftables.
    Nftables,
    /// Policies of the kernel's ESP.
    Xfrm,
}

impl By {
    /// In messages and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nftables => "nftables",
            Self::Xfrm => "xfrm",
        }
    }
}

/// Packets that would have been in clear and were dropped. By nftables: since the table stands. By XFRM: what the kernel
/// counts of this network namespace since it is there, routes that found no SA and packets that any policy blocked; none where it does not
/// count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dropped {
    /// On their way out of this host.
    pub leaving: Option<u64>,
    /// On their way in.
    pub arriving: Option<u64>,
}

/// What stands of a node's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// All of them, as the file asks today.
    InForce(By, Dropped),
    /// Others under their name: of another state of the file, or some were taken out.
    Other,
    /// None: packets that find no SA leave in clear, unless something else keeps them.
    Absent,
}

impl Guard {
    /// The rules for every IPsec link of `node`.
    #[must_use]
    pub fn of(deployment: &Deployment, node: &str) -> Self {
        Self {
            nftables: Nftables::of(deployment, node),
            xfrm: Xfrm::of(deployment, node),
        }
    }

    /// Puts them in force in this network namespace, unless they are: counts go on where nothing changed. `esp` is who encrypts for
    /// the links: what `kernel-libipsec` has yet to encrypt, XFRM policies would drop.
    ///
    /// # Errors
    ///
    /// Where `nft` is missing, may not, or the kernel does not take the rules, and the kernel does not do ESP or refuses policies too:
    /// what stood before then stands on.
    pub fn close(&self, esp: Kernel) -> Result<(), Error> {
        let by_xfrm = match self.standing() {
            Ok(Standing::InForce(By::Nftables, _)) => return Ok(()),
            Ok(Standing::InForce(By::Xfrm, _)) if esp == Kernel::Netlink => return Ok(()),
            Ok(Standing::InForce(By::Xfrm, _)) => true,
            // What cannot be read may still be written.
            Ok(Standing::Other | Standing::Absent) | Err(_) => false,
        };
        match (self.nftables.close(), esp) {
            (Ok(()), Kernel::Libipsec) if by_xfrm => self.xfrm.open(),
            (Ok(()), _) => Ok(()),
            (Err(error), Kernel::Netlink) => self.xfrm.close().map_err(|_| error),
            (Err(error), Kernel::Libipsec) => Err(error),
        }
    }

    /// Takes them away; when they are not there it is done already. From then on packets leave as the host routes them.
    ///
    /// # Errors
    ///
    /// Where `nft` or `ip` is missing or may not.
    pub fn open(&self) -> Result<(), Error> {
        let stood = self.xfrm.standing()? != Standing::Absent;
        if stood {
            self.xfrm.open()?;
        }
        match self.nftables.open() {
            Err(_) if stood || lacks_nftables() => Ok(()),
            opened => opened,
        }
    }

    /// Removes policies of the kernel's ESP for packets of these links that a charon which was killed has left: they hold packets for
    /// SAs that nobody sets up any more.
    ///
    /// # Errors
    ///
    /// Where `ip` is missing or may not.
    pub fn remove_leftover(&self) -> Result<(), Error> {
        self.xfrm.remove_leftover()
    }

    /// What stands of them in this network namespace.
    ///
    /// # Errors
    ///
    /// Where neither `nft` nor `ip` says that they stand, and one of them is missing or may not.
    pub fn standing(&self) -> Result<Standing, Error> {
        let by_nftables = self.nftables.standing();
        if let Ok(standing @ Standing::InForce(..)) = by_nftables {
            return Ok(standing);
        }
        match (by_nftables, self.xfrm.standing()?) {
            (Ok(standing), Standing::Absent) => Ok(standing),
            (Err(_), Standing::Absent) if lacks_nftables() => Ok(Standing::Absent),
            (Err(error), Standing::Absent) => Err(error),
            (_, standing) => Ok(standing),
        }
    }
}

/// Whether the kernel itself says that it has no nftables.
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
