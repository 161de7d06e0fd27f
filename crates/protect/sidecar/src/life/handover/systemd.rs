//! Sockets from systemd and notifications to it (sd_listen_fds(3), sd_notify(3)): environment
//! variables and datagrams, no library.
#![allow(unsafe_code)]

use std::convert::Infallible;
use std::env;
use std::future::pending;
use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::str::FromStr;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::{Error, Sockets, pass};

/// The first descriptor that is passed.
const FIRST: i32 = 3;
/// More are not taken for a number of descriptors.
const MOST: i32 = 4096;

/// The sockets that systemd passes to this process: those of a socket unit, and those it was given to keep.
///
/// To be called once and before anything else is opened: the descriptors are this process's from then on.
///
/// # Errors
/// Fails if what is passed is no listening socket of TCP.
pub fn passed_by_systemd() -> Result<Sockets, Error> {
    let mut sockets = Sockets::default();
    // The variables are inherited by children they are not meant for.
    if number("LISTEN_PID") != Some(std::process::id()) {
        return Ok(sockets);
    }
    let count: i32 = number("LISTEN_FDS").unwrap_or(0);
    let count = count.min(MOST);
    let names = env::var("LISTEN_FDNAMES").unwrap_or_default();
    let mut names = names.split(':').map(str::to_owned);
    for descriptor in FIRST..FIRST + count {
        let name = names.next().filter(|name| !name.is_empty());
        // The variables may be wrong about the descriptors that are open.
        // SAFETY: F_GETFD on a number that is no open descriptor fails with EBADF and does nothing.
        if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } < 0 {
            let source = io::Error::last_os_error();
            return Err(Error::Passed { descriptor, source });
        }
        // SAFETY: it is open, was passed to this process by its parent, and nothing here has opened or taken a descriptor of a number
        // that the parent passes: this is called once, first, and each number is taken once.
        let owned = unsafe { OwnedFd::from_raw_fd(descriptor) };
        sockets
            .add(owned, name)
            .map_err(|source| Error::Passed { descriptor, source })?;
    }
    Ok(sockets)
}

fn number<T: FromStr>(variable: &str) -> Option<T> {
    env::var(variable).ok()?.parse().ok()
}

/// Interval at which the watchdog of a unit is to hear of this process (sd_watchdog_enabled(3)):
/// twice within its time.
fn watchdog() -> Option<Duration> {
    if number("WATCHDOG_PID").is_some_and(|process: u32| process != std::process::id()) {
        return None;
    }
    let time = Duration::from_micros(number("WATCHDOG_USEC")?);
    (!time.is_zero()).then(|| (time / 2).max(Duration::from_millis(1)))
}

/// Notifications to systemd, where it asked for them.
#[derive(Debug, Default)]
pub struct Notify {
    socket: Option<UnixDatagram>,
    watchdog: Option<Duration>,
}

impl Notify {
    /// Connects to where systemd listens, which a confined process could not. Where that fails nothing is sent.
    pub fn from_environment() -> Self {
        let Some(path) = env::var_os("NOTIFY_SOCKET") else {
            return Self::default();
        };
        let address = match path.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
            _ => SocketAddr::from_pathname(&path),
        };
        let connected = address.and_then(|address| {
            let socket = UnixDatagram::unbound()?;
            socket.connect_addr(&address)?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        });
        match connected {
            Ok(socket) => Self {
                socket: Some(socket),
                watchdog: watchdog(),
            },
            Err(error) => {
                tracing::warn!(%error, "systemd cannot be notified when this process is ready");
                Self::default()
            }
        }
    }

    /// Asks systemd to keep a listening socket across restarts, under this name. Without `FileDescriptorStoreMax=` it keeps none.
    pub(crate) fn keep(&self, name: &str, listener: impl AsFd) {
        self.send(&format!("FDSTORE=1\nFDNAME={name}"), Some(&listener.as_fd()));
    }

    /// Has systemd close a socket that it kept and that is of no use any more.
    pub fn forget(&self, name: &str) {
        self.send(&format!("FDSTOREREMOVE=1\nFDNAME={name}"), None);
    }

    /// It serves.
    pub fn ready(&self) {
        self.send("READY=1", None);
    }

    /// Its state, for `systemctl status`: one line.
    pub fn status(&self, how: &str) {
        self.send(&format!("STATUS={}", how.replace('\n', " ")), None);
    }

    /// It needs so long to end, whatever `TimeoutStopSec=` of its unit is.
    pub fn ends_within(&self, time: Duration) {
        self.send(&format!("EXTEND_TIMEOUT_USEC={}", time.as_micros()), None);
    }

    /// It drains.
    pub fn stopping(&self) {
        self.send("STOPPING=1", None);
    }

    /// Notifies the watchdog for as long as this is awaited, each time once `works` has ended: systemd ends and starts a process that it has not heard of for the
    /// time of `WatchdogSec=`.
    pub async fn keep_alive(&self, works: impl AsyncFn()) -> Infallible {
        let Some(every) = self.watchdog else {
            return pending().await;
        };
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            works().await;
            self.send("WATCHDOG=1", None);
        }
    }

    fn send(&self, what: &str, descriptor: Option<&std::os::fd::BorrowedFd<'_>>) {
        let Some(socket) = &self.socket else { return };
        if let Err(error) = pass::send(socket, what.as_bytes(), descriptor.copied()) {
            tracing::warn!(%error, notification = what, "systemd does not listen");
        }
    }
}
