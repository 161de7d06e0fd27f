//! Readiness of several sockets to be read or written, waited for at most for a time.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// The event that a socket is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// It can be read.
    Read,
    /// It can be read, or written.
    ReadOrWrite,
}

/// Waits until one of these sockets is ready, or has failed, and at most so long; for each whether
/// it is. A signal ends the wait.
///
/// # Errors
///
/// The error of the system call.
pub fn ready(sockets: &[(BorrowedFd<'_>, Interest)], patience: Duration) -> io::Result<Vec<bool>> {
    let mut waited: Vec<_> = sockets
        .iter()
        .map(|(socket, interest)| {
            let flags = match interest {
                Interest::Read => PollFlags::POLLIN,
                Interest::ReadOrWrite => PollFlags::POLLIN | PollFlags::POLLOUT,
            };
            PollFd::new(*socket, flags)
        })
        .collect();
    // Rounded up: a wait that ends before its time would be begun again at once.
    let rounded = patience.as_micros().div_ceil(1000);
    let rounded = u16::try_from(rounded).unwrap_or(u16::MAX);
    match poll(&mut waited, PollTimeout::from(rounded)) {
        Ok(_) => Ok(waited.iter().map(|one| one.any().unwrap_or(true)).collect()),
        Err(Errno::EINTR) => Ok(vec![false; sockets.len()]),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn the_socket_that_has_something_to_read_is_ready_and_the_other_is_not() {
        let (one, mut far) = UnixStream::pair().unwrap();
        let (other, _held) = UnixStream::pair().unwrap();
        let sockets = [(one.as_fd(), Interest::Read), (other.as_fd(), Interest::Read)];
        assert_eq!(ready(&sockets, Duration::from_micros(1)).unwrap(), [false, false]);
        far.write_all(b"x").unwrap();
        assert_eq!(ready(&sockets, Duration::from_secs(60)).unwrap(), [true, false]);
        let writable = [(other.as_fd(), Interest::ReadOrWrite)];
        assert_eq!(ready(&writable, Duration::from_secs(60)).unwrap(), [true]);
        drop(far);
    }
}
