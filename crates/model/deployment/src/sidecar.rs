//! Sidecar of a node: listeners, forwarding destinations, and bounds.

use std::collections::{BTreeSet, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU64;
use std::path::{Path as FilePath, PathBuf};
use std::time::Duration;

use crate::allowed::Allowed;
use crate::error::Fault;
use crate::interface::{Carrier, InterfaceKind};
use crate::ledger::LedgerFile;
use crate::node::{NodeName, not_of_a_host};
use crate::raw::{RawLimits, RawOutbound, RawSidecar};
use crate::url::HttpUrl;
use crate::word::{Word, words};

/// The sidecar of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sidecar {
    /// Listeners for TLS connections from sidecars of other nodes.
    pub inbound: Vec<Inbound>,
    /// Listeners for plaintext connections from the node's own network function.
    pub outbound: Vec<Outbound>,
    /// Address of metrics and state, in plaintext: keep it on loopback or a management network.
    pub admin: Option<SocketAddr>,
    /// Its ledger.
    pub ledger: Option<LedgerFile>,
    /// Its bounds.
    pub limits: Limits,
    /// Traffic that its function may send past it; `redirect --strict` refuses all other traffic.
    pub allow: Vec<Allowed>,
}

/// A listener for TLS connections of peers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbound {
    /// Listening address.
    pub listen: SocketAddr,
    /// The network function behind it.
    pub forward: SocketAddr,
    /// Address of the function as other network functions know it, registered with the NRF.
    /// Defaults to the node's address with the port of `forward`.
    pub service: SocketAddr,
    /// The interface it belongs to: named, or the only one that joins the node. Its peers alone are
    /// served, by its policies. Defaults to SBI if no interface joins the node yet; then no peer
    /// may connect.
    pub interface: InterfaceKind,
    /// Transports of SCTP to it, by the links of its interface: TCP and UDP listeners. Only TLS for
    /// listeners without SCTP.
    pub carriers: BTreeSet<Carrier>,
    /// Forwarding mode.
    pub path: Path,
    /// Addition of the peer's name to requests.
    pub caller: CallerHeader,
}

/// Caller identification for a network function: all its connections come from its own sidecar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallerHeader {
    /// Not at all.
    #[default]
    None,
    /// By `x-forwarded-client-cert`, as Envoy writes it: hash, subject and names of the certificate that the peer proved to have.
    XForwardedClientCert,
}

/// A listener for the node's own network function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outbound {
    /// Listening address.
    pub listen: SocketAddr,
    /// Its destination.
    pub route: Route,
    /// The interface it belongs to: named, or the only one it can be. None where each connection's destination says it: a transparent
    /// listener takes the interface of the inbound listener that is behind the destination.
    pub interface: Option<InterfaceKind>,
    /// Forwarding mode.
    pub path: Path,
    /// Number of ready connections, dialled ahead, for each destination.
    pub warm: usize,
}

/// Destination of an outbound listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// All to one node.
    To(NodeName),
    /// Each request to the node its `:authority` names: by node name, DNS or IP name, or address.
    ByAuthority,
    /// Each connection to the node it was meant for before the host's packet filter redirected it here.
    ByDestination,
}

bartizan_registry::named! {
    /// Forwarding mode of a listener.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Path, name {
        /// Bytes are copied between one local and one TLS connection: the lowest cost.
        Splice = "splice",
        /// Requests are routed one by one over pooled TLS connections.
        Http2 = "http2",
        /// SCTP associations, each over a connection of its own between the sidecars.
        Sctp = "sctp",
    }
}

/// A certificate chain and its private key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The leaf, then intermediates, PEM.
    pub certificate: PathBuf,
    /// The private key, PKCS#8 PEM.
    pub key: PathBuf,
}

/// A node's certificates, trusted roots and revocation lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// At least one, in the order of the file. Policy and peer decide which of them a handshake
    /// shows.
    pub certificates: Vec<CertificateFiles>,
    /// Trusted roots, PEM.
    pub roots: PathBuf,
    /// Revocation lists, PEM.
    pub crl: Option<PathBuf>,
    /// The URL that they are fetched from.
    pub crl_url: Option<HttpUrl>,
    /// The file in which the newest of them are remembered.
    pub known_lists: Option<PathBuf>,
}

impl Files {
    /// The files that a program which uses them reads again when one has changed.
    pub fn watched(&self) -> impl Iterator<Item = &PathBuf> {
        let certificates = self.certificates.iter();
        let own = certificates.flat_map(|files| [&files.certificate, &files.key]);
        own.chain([&self.roots]).chain(&self.crl)
    }
}

/// Bounds on what peers and network functions can make a sidecar hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections per listener.
    pub connections: usize,
    /// Connections per inbound listener from one address; of IPv6 from one /64.
    pub connections_per_address: usize,
    /// TLS handshakes under way per inbound listener from one address; of IPv6 from one /64.
    pub handshakes_per_address: usize,
    /// Concurrent streams per HTTP/2 connection.
    pub streams: u32,
    /// Bytes of one header list.
    pub header_bytes: u32,
    /// Requests that one HTTP/2 connection to a peer carries before it ends in order; any number where there is none.
    pub requests_per_connection: Option<NonZeroU64>,
    /// From accept or connect to the end of the TLS handshake.
    pub handshake: Duration,
    /// For a TCP connection to come up.
    pub connect: Duration,
    /// For the head of a response to arrive. AMFs give an SBI request 10 s.
    pub request: Duration,
    /// For the reader of a message to take what waits for it.
    pub stall: Duration,
    /// From SIGTERM until connections still open are closed.
    pub drain: Duration,
    /// Longest time that a connection may stay open without a byte of content.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            connections_per_address: 2048,
            handshakes_per_address: 256,
            streams: 256,
            header_bytes: 64 * 1024,
            requests_per_connection: None,
            handshake: Duration::from_secs(5),
            connect: Duration::from_secs(3),
            request: Duration::from_secs(10),
            stall: Duration::from_secs(10),
            drain: Duration::from_secs(10),
            idle: Duration::from_secs(3600),
        }
    }
}

words!(Path);

impl Path {
    /// Returns true if this path can carry the interface's protocol.
    #[must_use]
    pub fn carries(self, kind: InterfaceKind) -> bool {
        kind.over_sctp() == (self == Self::Sctp)
    }

    fn parse(text: Option<&str>) -> Result<Self, Fault> {
        let Some(word) = text else { return Ok(Self::Http2) };
        Self::named(word).ok_or_else(|| Fault::new("path", format!("`{word}` is not a data path"), Self::hint()))
    }
}

impl Limits {
    fn parse(raw: &RawLimits) -> Result<Self, Fault> {
        let mut limits = Self::default();
        let set = |place: &str, text: &Option<String>, hours: u64, to: &mut Duration| match text {
            None => Ok(()),
            Some(text) => match humantime::parse_duration(text) {
                Ok(value) if !value.is_zero() && value <= Duration::from_secs(hours * 3600) => {
                    *to = value;
                    Ok(())
                }
                _ => Err(Fault::new(
                    place,
                    format!("`{text}` is not a duration up to {hours}h"),
                    "write 500ms, 5s or 2m",
                )),
            },
        };
        set("handshake", &raw.handshake, 1, &mut limits.handshake)?;
        set("connect", &raw.connect, 1, &mut limits.connect)?;
        set("request", &raw.request, 1, &mut limits.request)?;
        set("stall", &raw.stall, 1, &mut limits.stall)?;
        set("drain", &raw.drain, 1, &mut limits.drain)?;
        set("idle", &raw.idle, 24 * 7, &mut limits.idle)?;
        if let Some(connections) = raw.connections {
            limits.connections = within("connections", connections, 1, 1_000_000)?;
        }
        if let Some(connections) = raw.connections_per_address {
            limits.connections_per_address = within("connections-per-address", connections, 1, 1_000_000)?;
        }
        if let Some(handshakes) = raw.handshakes_per_address {
            limits.handshakes_per_address = within("handshakes-per-address", handshakes, 1, 1_000_000)?;
        }
        if let Some(streams) = raw.streams {
            limits.streams = within("streams", streams, 1, 10_000)?;
        }
        if let Some(requests) = raw.requests_per_connection {
            let requests = NonZeroU64::new(requests).ok_or_else(|| {
                let hint = "write 1 or more; without the line it is any number";
                Fault::new("requests-per-connection", "`0` lets nothing pass".to_owned(), hint)
            })?;
            limits.requests_per_connection = Some(requests);
        }
        if let Some(bytes) = raw.header_bytes {
            limits.header_bytes = within("header-bytes", bytes, 1024, 16 * 1024 * 1024)?;
        }
        Ok(limits)
    }
}

/// Returns the address by which other nodes know the function behind an inbound listener.
pub(crate) fn service(named: Option<SocketAddr>, default: SocketAddr) -> Result<SocketAddr, Fault> {
    let Some(service) = named else { return Ok(default) };
    let no_port = || (service.port() == 0).then(|| format!("{service} has no port: no peer can call it"));
    if let Some(cause) = not_of_a_host(service.ip()).or_else(no_port) {
        let hint = "write the address and port that the function registers with the NRF";
        return Err(Fault::new("service", cause, hint));
    }
    Ok(service)
}

/// Refuses addresses that no socket can be bound or connected to; the unspecified one stands for
/// all of this host.
fn of_this_host(place: &str, address: SocketAddr) -> Result<(), Fault> {
    // A number behind the address names the interface of a link-local one.
    let is_scoped = matches!(address, SocketAddr::V6(one) if one.scope_id() != 0);
    let is_all = address.ip().is_unspecified();
    match not_of_a_host(address.ip()).filter(|_| !is_all && !is_scoped) {
        Some(cause) => Err(Fault::new(place, cause, "write an address of this host")),
        None => Ok(()),
    }
}

/// Refuses an SCTP address on another host: SCTP between a function and its gateway is unprotected.
fn on_this_host(place: &str, address: SocketAddr, node_address: IpAddr) -> Result<(), Fault> {
    if address.ip().is_loopback() || address.ip() == node_address {
        return Ok(());
    }
    let cause = format!("{address} may be reached from, or be on, another host, and this SCTP is not encrypted");
    let hint = format!("write a loopback address, such as 127.0.0.1, or the node's own, {node_address}");
    Err(Fault::new(place, cause, hint))
}

/// The route of a transparent listener. The packet filter redirects what its own host sends to loopback.
fn by_destination(raw: &RawOutbound, to: Option<&str>) -> Result<Route, Fault> {
    if to.is_some() {
        let hint = "remove `to`: what is redirected goes to the node it was meant for";
        return Err(Fault::new("transparent", "and `to` exclude each other", hint));
    }
    if !raw.listen.ip().is_loopback() || raw.listen.port() == 0 {
        let cause = format!("a transparent listener cannot stand at {}", raw.listen);
        let hint = "redirected connections come to loopback: listen on 127.0.0.1 (or [::1]) and a port of your choice";
        return Err(Fault::new("listen", cause, hint));
    }
    Ok(Route::ByDestination)
}

fn allowed(raw: &RawSidecar) -> Result<Vec<Allowed>, Fault> {
    let (mut all, mut known) = (Vec::new(), HashSet::new());
    for (index, raw) in raw.allow.iter().enumerate() {
        let allowed = Allowed::parse(raw).map_err(|fault| fault.within(&format!("allow[{index}]")))?;
        // Several addresses of one thing share a name, and a counter.
        if !known.insert(allowed.clone()) {
            let hint = "remove one";
            return Err(Fault::new(format!("allow[{index}]"), "stands there twice", hint));
        }
        all.push(allowed);
    }
    Ok(all)
}

fn within<T: PartialOrd + std::fmt::Display>(place: &str, value: T, low: T, high: T) -> Result<T, Fault> {
    if value >= low && value <= high {
        Ok(value)
    } else {
        let hint = format!("between {low} and {high}");
        Err(Fault::new(place, format!("{value} is out of bounds"), hint))
    }
}

impl Sidecar {
    /// Which interfaces its listeners belong to is not known yet: [`Sidecar::belong`] says it.
    ///
    /// `known` finds a node's name; `base` is the folder the file's relative paths start from; `node_address` is where the node
    /// is on the network.
    pub(crate) fn parse(
        raw: &RawSidecar,
        base: &FilePath,
        node_address: IpAddr,
        known: &dyn Fn(&str) -> Result<NodeName, Fault>,
    ) -> Result<Self, Fault> {
        // More ready connections than this to one peer would be a load of its own.
        const WARM_AT_MOST: usize = 64;
        let mut inbound = Vec::new();
        for (index, raw) in raw.inbound.iter().enumerate() {
            let place = format!("inbound[{index}]");
            let path = Path::parse(raw.path.as_deref()).map_err(|fault| fault.within(&place))?;
            let caller = match (raw.x_forwarded_client_cert, path) {
                (false, _) => CallerHeader::None,
                (true, Path::Http2) => CallerHeader::XForwardedClientCert,
                (true, Path::Splice | Path::Sctp) => {
                    let hint = "use `path: http2`: other paths know no requests";
                    let cause = format!("cannot be added on a {} listener", path.name());
                    let fault = Fault::new("x-forwarded-client-cert", cause, hint);
                    return Err(fault.within(&place));
                }
            };
            if path == Path::Sctp {
                on_this_host("forward", raw.forward, node_address).map_err(|fault| fault.within(&place))?;
            }
            of_this_host("listen", raw.listen).map_err(|fault| fault.within(&place))?;
            of_this_host("forward", raw.forward).map_err(|fault| fault.within(&place))?;
            if raw.listen == raw.forward {
                let hint = "`forward` is where the network function listens";
                return Err(Fault::new(place, "forwards to itself", hint));
            }
            inbound.push(Inbound {
                listen: raw.listen,
                forward: raw.forward,
                service: service(raw.service, SocketAddr::new(node_address, raw.forward.port()))
                    .map_err(|fault| fault.within(&place))?,
                interface: InterfaceKind::Sbi,
                carriers: BTreeSet::new(),
                path,
                caller,
            });
        }
        let mut outbound = Vec::new();
        for (index, raw) in raw.outbound.iter().enumerate() {
            let place = format!("outbound[{index}]");
            let within_place = |fault: Fault| fault.within(&place);
            let path = Path::parse(raw.path.as_deref()).map_err(within_place)?;
            of_this_host("listen", raw.listen).map_err(within_place)?;
            if path == Path::Sctp {
                on_this_host("listen", raw.listen, node_address).map_err(within_place)?;
                if raw.transparent {
                    let hint = "name the peer, `to: NODE`, and point the function at this listener";
                    let cause = "the rules of `redirect` lead TCP alone to a sidecar";
                    return Err(within_place(Fault::new("transparent", cause, hint)));
                }
            }
            let route = match &raw.to {
                to if raw.transparent => by_destination(raw, to.as_deref()).map_err(within_place)?,
                Some(name) => Route::To(known(name).map_err(|fault| fault.within("to")).map_err(within_place)?),
                None if path == Path::Http2 => Route::ByAuthority,
                None => {
                    let hint = match path {
                        Path::Sctp => "add `to: NODE`",
                        _ => "add `to: NODE`, or `transparent: true`; only `path: http2` can route by authority",
                    };
                    let cause = format!("a {} listener needs one peer", path.name());
                    return Err(Fault::new(place, cause, hint));
                }
            };
            let warm = within("warm", raw.warm.unwrap_or(1), 0, WARM_AT_MOST).map_err(within_place)?;
            outbound.push(Outbound {
                listen: raw.listen,
                route,
                interface: None,
                path,
                warm,
            });
        }
        let mut firsts: [Option<SocketAddr>; 2] = [None, None];
        let transparent = outbound.iter().enumerate();
        for (index, listener) in transparent.filter(|(_, listener)| listener.route == Route::ByDestination) {
            let first = &mut firsts[usize::from(listener.listen.is_ipv4())];
            if let Some(first) = first.replace(listener.listen) {
                let cause = format!("gets no connection: what is redirected goes to {first}");
                let hint =
                    "remove it: one transparent listener for each of IPv4 and IPv6 takes what goes to every peer";
                return Err(Fault::new(format!("outbound[{index}].transparent"), cause, hint));
            }
        }
        let mut listening: Vec<SocketAddr> = inbound.iter().map(|listener| listener.listen).collect();
        listening.extend(outbound.iter().map(|listener| listener.listen));
        if let Some(admin) = raw.admin {
            of_this_host("admin", admin)?;
            listening.push(admin);
        }
        let mut known = HashSet::new();
        for address in &listening {
            if address.port() != 0 && !known.insert(address) {
                let hint = "give each its own port";
                return Err(Fault::new("", format!("two listeners want {address}"), hint));
            }
        }
        Ok(Self {
            inbound,
            outbound,
            admin: raw.admin,
            ledger: raw
                .ledger
                .as_ref()
                .map(|ledger| LedgerFile::parse(ledger, base))
                .transpose()
                .map_err(|fault| fault.within("ledger"))?,
            limits: Limits::parse(&raw.limits).map_err(|fault| fault.within("limits"))?,
            allow: allowed(raw)?,
        })
    }
}
