//! Changes of network interfaces, as rtnetlink(7) reports them to subscribers.

use std::os::fd::AsFd as _;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::{Family, Listener};
use crate::Error;

/// The group of notifications about interfaces (linux/rtnetlink.h).
const LINKS: u32 = 1;

/// Changes of the interfaces of the network namespace in which it was opened: made, renamed, set up or down, gone.
#[derive(Debug)]
pub struct InterfaceChanges(Listener);

impl InterfaceChanges {
    /// From its return on every change is reported.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    pub fn subscribe() -> Result<Self, Error> {
        Listener::join(Family::Route, LINKS)
            .map(Self)
            .map_err(Error::io("asking for changes of network interfaces"))
    }

    /// Waits for so long at most; whether there was one. Those that came since the last call are one.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    pub fn within(&self, wait: Duration) -> Result<bool, Error> {
        let mut ready = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        match poll(&mut ready, PollTimeout::try_from(wait).unwrap_or(PollTimeout::MAX)) {
            Ok(0) | Err(nix::Error::EINTR) => return Ok(false),
            Ok(_) => {}
            Err(error) => return Err(Error::errno("waiting for changes of network interfaces")(error)),
        }
        // Also where so many came that some were left out: that there were is all that is asked.
        self.0
            .receive(&mut |_, _| {})
            .map_err(Error::io("waiting for changes of network interfaces"))?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_reported_where_nothing_changes() {
        let changes = InterfaceChanges::subscribe().unwrap();
        // Other tests make interfaces, in namespaces of their own.
        while changes.within(Duration::from_millis(1)).unwrap() {}
        assert!(!changes.within(Duration::ZERO).unwrap());
    }
}
