//! Ports that are not there yet, as while a host starts.
//!
//! From Linux 6.16 on a rule can name an interface that is not there yet. Earlier kernels take
//! no rule for an interface that is not there.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use bartizan_host::netlink::InterfaceChanges;
use bartizan_host::{Error, nftables};

use super::{FAMILY, Guard, Side, devices};

/// Interval between looks at the ports where the kernel reports no change of interfaces.
const LOOK: Duration = Duration::from_millis(200);

impl Guard {
    /// Installs the rules as [`Guard::close`] does. Waits up to `patience` for ports that can have
    /// rules only once they are there; the rules of the others are installed meanwhile. Returns the
    /// ports that are left unguarded.
    ///
    /// # Errors
    ///
    /// As [`Guard::close`].
    pub fn close_within(&self, patience: Duration) -> Result<Vec<String>, Error> {
        let deadline = Instant::now() + patience;
        let changes = InterfaceChanges::subscribe();
        loop {
            let places = self.places()?;
            let are_there = !places.iter().any(BTreeSet::is_empty);
            let open = self.close().and_then(|()| self.unguarded());
            let left = deadline.saturating_duration_since(Instant::now());
            // A port that came while the rules were made is in none of them.
            if open.is_ok() && !left.is_zero() && self.places()? != places {
                continue;
            }
            let closed = matches!(&open, Ok(open) if open.is_empty());
            // A failure that no port would change is not waited out.
            if closed || left.is_zero() || are_there {
                return open;
            }
            match &changes {
                Ok(changes) if changes.within(left).is_ok() => {}
                _ => thread::sleep(LOOK.min(left)),
            }
        }
    }

    /// Names of the ports, each with true if its interface is there.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub fn ports(&self) -> Result<Vec<(String, bool)>, Error> {
        let places = self.places()?;
        let ports = self.ports.iter().zip(places);
        Ok(ports
            .map(|(port, place)| (port.name.clone(), !place.is_empty()))
            .collect())
    }

    /// Ports that are not there and whose names no rule has: frames would pass them when they come.
    ///
    /// # Errors
    ///
    /// The error of `nft` that is missing or may not, and the kernel's.
    pub fn unguarded(&self) -> Result<Vec<String>, Error> {
        let printed = nftables::printed(FAMILY, &self.name)?;
        let text = printed.map(|(_, text)| text).unwrap_or_default();
        let places = self.places()?;
        let ports = self.ports.iter().enumerate().zip(places);
        let gone = ports.filter(|(_, place)| place.is_empty()).map(|(port, _)| port);
        let open = gone.filter(|(number, port)| !stands_at(&text, *number, &port.name));
        Ok(open.map(|(_, port)| port.name.clone()).collect())
    }
}

/// True where the chains of both directions of a port stand at this name.
fn stands_at(text: &str, number: usize, name: &str) -> bool {
    Side::BOTH
        .into_iter()
        .all(|side| devices(text, &side.chain(number), side.hook()).contains(name))
}
