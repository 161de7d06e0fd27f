//! A connection to a Unix socket, within a time.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};

/// Interval between tries at a listener whose queue is full.
const POLL: Duration = Duration::from_millis(20);

/// Connects to the socket at `path`. If the listener's queue of connections is full, as that of a
/// process that is stopped, a blocking connect waits without bound; this one tries for as long as
/// `patience`.
///
/// # Errors
///
/// [`io::ErrorKind::TimedOut`] when the time is over, and whatever the kernel says.
pub fn connect_unix(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let address = UnixAddr::new(path)?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket: OwnedFd = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    let deadline = Instant::now() + patience;
    loop {
        match connect(socket.as_raw_fd(), &address) {
            Ok(()) => break,
            Err(Errno::EAGAIN) if Instant::now() < deadline => thread::sleep(POLL),
            Err(Errno::EAGAIN) => return Err(io::ErrorKind::TimedOut.into()),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_listener_that_never_accepts_is_not_waited_for_beyond_the_time() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let error = connect_unix(&path, Duration::ZERO).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let listener = UnixListener::bind(&path).unwrap();
        let mut held = Vec::new();
        // The standard library listens with a queue of 4096 on Linux, cut to the kernel's own bound.
        let error = loop {
            match connect_unix(&path, Duration::from_millis(30)) {
                Ok(stream) => held.push(stream),
                Err(error) => break error,
            }
            assert!(held.len() < 100_000, "the queue has no bound");
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        // One that is accepted is a stream like any other.
        let (mut served, _) = listener.accept().unwrap();
        served.write_all(b"x").unwrap();
        held[0].read_exact(&mut [0]).unwrap();
        assert!(connect_unix(&path, Duration::from_secs(10)).is_ok());
    }
}
