//! Probe of the rules by the sidecar itself.
//!
//! A confined sidecar may neither read the packet filter nor run `nft`. So both tables answer a
//! question that any process can ask over loopback: the redirect leads one reserved loopback
//! address to the transparent listener, the guard refuses one reserved loopback source there. It
//! refuses a second one for as long as a process with the right to (`redirect watch`) found every
//! rule, route and address as it should be. None of it can leave the host.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

use tokio::net::TcpSocket;
use tokio::time::timeout;

/// Led to the listener by the redirect; nothing listens there. The bytes are `btz`.
pub(super) const REDIRECT_PROBE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(127, 98, 116, 122), 1);
/// Refused at the listener by the guard, though the listener is there.
pub(super) const GUARD_PROBE_SOURCE: Ipv4Addr = Ipv4Addr::new(127, 98, 116, 123);
/// Refused there as well, while the rules are known to be what they should be.
pub(super) const COMPARED_PROBE_SOURCE: Ipv4Addr = Ipv4Addr::new(127, 98, 116, 124);
/// Loopback answers in microseconds; a host under full load takes longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Result of [`probe`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probed {
    /// The redirect table leads connections to the listener.
    pub redirect: bool,
    /// The guard table refuses.
    pub guard: bool,
    /// The rules were found to be what they should be: at the installation or, where `redirect watch` runs, a moment ago.
    pub compared: bool,
}

impl Probed {
    /// Returns true if all three are true.
    #[must_use]
    pub fn installed(self) -> bool {
        self.redirect && self.guard && self.compared
    }
}

/// Address of the probe for a sidecar with these transparent listeners: the first that has an IPv4
/// address; where none has, a listener of its own for the purpose, on 127.0.0.1 at the port of the
/// first.
pub fn listener(transparent: impl Iterator<Item = SocketAddr> + Clone) -> Option<SocketAddrV4> {
    let v4 = transparent.clone().find_map(|address| match address {
        SocketAddr::V4(address) => Some(address),
        SocketAddr::V6(_) => None,
    });
    let mut all = transparent;
    v4.or_else(|| Some(SocketAddrV4::new(Ipv4Addr::LOCALHOST, all.next()?.port())))
}

/// Asks both tables whether they are installed, through the transparent listener `listener` of this process.
///
/// By itself it sees a table or its chain flushed or deleted; a single rule, address or route taken out where `redirect watch` runs.
///
/// # Errors
/// Fails if no answer could be had: no socket, no listener at `listener`.
pub async fn probe(listener: SocketAddrV4) -> io::Result<Probed> {
    let redirect = answers(*REDIRECT_PROBE.ip(), REDIRECT_PROBE).await?;
    let through = answers(GUARD_PROBE_SOURCE, listener).await?;
    if through {
        return Ok(Probed {
            redirect,
            guard: false,
            compared: false,
        });
    }
    // Refused by the guard, or for lack of a listener there? Another source address decides.
    if answers(*REDIRECT_PROBE.ip(), listener).await? {
        let compared = !answers(COMPARED_PROBE_SOURCE, listener).await?;
        Ok(Probed {
            redirect,
            guard: true,
            compared,
        })
    } else {
        let cause = format!("nothing listens at {listener}");
        Err(io::Error::new(io::ErrorKind::NotConnected, cause))
    }
}

/// Returns true if an accepted connection comes from [`probe`]: close it, count nothing.
#[must_use]
pub fn is_probe(peer: SocketAddr) -> bool {
    matches!(peer.ip().to_canonical(), IpAddr::V4(ip) if [*REDIRECT_PROBE.ip(), GUARD_PROBE_SOURCE, COMPARED_PROBE_SOURCE].contains(&ip))
}

async fn answers(source: Ipv4Addr, to: SocketAddrV4) -> io::Result<bool> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((source, 0)))?;
    match timeout(PATIENCE, socket.connect(to.into())).await {
        Ok(Ok(_)) => Ok(true),
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(false),
        // A stricter rule than ours in front of it: not an answer of ours.
        Ok(Err(error)) => Err(error),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}
