//! A node's links as charon receives them: VICI messages from the deployment file.

mod child;
mod credentials;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::time::Duration;

use bartizan_deployment::{
    Deployment, External, IkeEngine, Interface, InterfaceKind, IpsecLink, Mode, Node, NodeName, Offload, Revocation,
    Start,
};
use bartizan_registry::SignatureScheme;
use time::Date;

use crate::proposal;
use crate::vici::{Message, Section, Value};

pub use credentials::{Credentials, CredentialsError, Flaw, Weight};

/// Abilities of the charon that receives them, which the file cannot know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Means {
    /// Which daemon it is.
    pub engine: IkeEngine,
    /// True if its ESP counts sequence numbers of 64 bits. The kernel does; `kernel-libipsec`
    /// refuses such SAs, so links are rendered without, and with the bound of packets that this
    /// needs.
    pub extended_sequence_numbers: bool,
    /// True if it finds the ports of SCTP. `kernel-libipsec` 6.1.0 reads those of TCP and UDP
    /// alone: an SA for a port of SCTP comes up under it and carries nothing, so links are rendered
    /// for all of SCTP between their addresses.
    pub sctp_ports: bool,
}

impl Means {
    /// Those of a kernel that does ESP.
    pub const KERNEL: Self = Self {
        engine: IkeEngine::Strongswan,
        extended_sequence_numbers: true,
        sctp_ports: true,
    };

    /// Those of `kernel-libipsec`.
    pub const LIBIPSEC: Self = Self {
        engine: IkeEngine::Strongswan,
        extended_sequence_numbers: false,
        sctp_ports: false,
    };

    /// Those of a daemon on a kernel that does ESP.
    pub const fn of(engine: IkeEngine) -> Self {
        Self { engine, ..Self::KERNEL }
    }
}

/// Why a link of the file cannot be expressed to charon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The configuration: its policy accepts none of the signatures that released strongSwan makes.
    #[error("{link}: no released strongSwan makes a signature its policy accepts ({accepted})")]
    Authentication {
        /// The link: `E2 cu -- ric`.
        link: String,
        /// Values that the policy accepts.
        accepted: String,
    },
}

impl RenderError {
    /// The next step for the operator.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Authentication { .. } => {
                "until one does, write `ipsec: { authentication: classical-accepted }` in the policy"
            }
        }
    }
}

/// An IKE connection: everything between this node and one peer over one pair of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// Its name in charon, the same at both ends.
    pub name: String,
    /// The node at the other end.
    pub peer: NodeName,
    /// True if this end sets SAs up without being asked by a packet.
    pub initiates: bool,
    /// True if it is set up at once, whichever end does so.
    pub at_once: bool,
    /// True if this end is the one that the file names as the initiator: of two IKE_SAs that stand
    /// side by side it decides.
    pub decides: bool,
    /// Its CHILD_SAs.
    pub children: Vec<Child>,
    /// This end's own address.
    pub local: IpAddr,
    /// Address at which the other end is reached and heard from. None if a NAT hides it, so that it
    /// alone can begin.
    pub remote: Option<IpAddr>,
    /// Identity that the peer must prove.
    pub identity: String,
    /// ESP offload to the network card with the local address. charon sets no SA up on a card that
    /// cannot, so [`crate::offload`] is asked before.
    pub offload: Offload,
    /// Settings of its IKE_SA.
    ike: Section,
    /// Settings of its CHILD_SAs, by name.
    child: Section,
}

/// A CHILD_SA of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    /// Its name in charon, the same at both ends.
    pub name: String,
    /// The interface it protects.
    pub interface: InterfaceKind,
    /// IPsec mode of its packets.
    pub mode: Mode,
    /// Which packets it is for by their end here and there, in strongSwan's words.
    pub traffic: [Vec<String>; 2],
}

impl Connection {
    /// Returns true if this end can begin: it knows the other's address.
    #[must_use]
    pub fn can_begin(&self) -> bool {
        self.remote.is_some()
    }

    /// Time after which this end authenticates its peer anew.
    pub fn reauthentication(&self) -> Option<Duration> {
        let seconds = self.ike.number("reauth_time").filter(|seconds| *seconds > 0);
        seconds.map(Duration::from_secs)
    }

    /// True if its IKE_SA must be keyed with a PPK too (RFC 8784).
    pub fn requires_ppk(&self) -> bool {
        self.ike.is_yes("ppk_required")
    }

    /// The message of `load-conn`.
    pub fn load(&self) -> Message {
        let children = match self.offload {
            Offload::No => self.child.clone(),
            asked => self.child.sections().fold(Section::new(), |all, (name, child)| {
                all.with_section(name, child.clone().with("hw_offload", asked.name()))
            }),
        };
        let message = self.ike.clone().with_section("children", children);
        Section::new().with_section(self.name.clone(), message)
    }

    /// By what charon distinguishes peers: identity and family of addresses.
    fn peer_by_family(&self) -> (String, bool) {
        (self.identity.clone(), self.local.is_ipv4())
    }

    /// The message of `unload-conn`.
    pub fn unload(&self) -> Message {
        Section::new().with("name", &self.name)
    }
}

/// The connections of `node` with the policies in effect on `today`, in the order of the file. Peers' certificates must lead to the
/// roots of `credentials`: whatever else this charon trusts opens none of these links.
///
/// # Errors
///
/// When a link asks for what no charon can express.
pub fn connections(
    deployment: &Deployment,
    node: &str,
    credentials: &Credentials,
    means: Means,
    today: Date,
) -> Result<Vec<Connection>, RenderError> {
    let Some(own) = deployment.node(node) else {
        return Ok(Vec::new());
    };
    let offload = own.ipsec.as_ref().map_or(Offload::No, |own| own.offload);
    let mut connections: Vec<Connection> = Vec::new();
    for (peer, interface, link) in deployment.ipsec_links(node) {
        let Some((here, there)) = link.ends_from(node) else {
            continue;
        };
        let (local, remote) = (here.outer, there.reached_at());
        // Behind one NAT there may be several.
        let distinguished = there.external == External::Same;
        let same = |known: &Connection| {
            known.local == local && known.remote == remote && (distinguished || known.peer == peer.name)
        };
        let index = match connections.iter().position(same) {
            Some(index) => index,
            None => {
                let between = interface.between.each_ref().map(NodeName::as_str);
                let to_peer = connections.iter().filter(|known| known.peer == peer.name).count();
                // Names are those of the interface, so that both ends write the same into their logs.
                let name = match to_peer {
                    0 => between.join("--"),
                    more => format!("{}--{}", between.join("--"), more + 1),
                };
                connections.push(Connection {
                    name,
                    peer: peer.name.clone(),
                    initiates: false,
                    at_once: false,
                    decides: link.initiator.as_str() == node,
                    children: Vec::new(),
                    local,
                    remote,
                    identity: identity(peer),
                    offload,
                    ike: of_ike(
                        [own, peer],
                        local,
                        remote,
                        interface,
                        link,
                        credentials,
                        (means.engine, today),
                    )?,
                    child: Section::new(),
                });
                connections.len() - 1
            }
        };
        let connection = &mut connections[index];
        connection.at_once |= link.start == Start::AtOnce;
        connection.initiates |= link.start == Start::AtOnce && link.initiator.as_str() == node;
        for (name, section) in child::children(node, interface, link, means, today) {
            let traffic = ["local_ts", "remote_ts"].map(|ts| section.list(ts).map(str::to_owned).collect());
            connection.children.push(Child {
                name: name.clone(),
                interface: interface.kind,
                mode: link.mode,
                traffic,
            });
            connection.child.push(name, Value::Section(section));
        }
    }
    let peers: Vec<_> = connections.iter().map(Connection::peer_by_family).collect();
    for connection in &mut connections {
        let own = connection.peer_by_family();
        let alone = peers.iter().filter(|peer| **peer == own).count() == 1;
        connection.ike.set("unique", unique(alone));
    }
    Ok(connections)
}

/// Treatment of other IKE_SAs with the peer when one is set up. `alone` if the peer has no other
/// connection from here.
///
/// A peer that comes back after a restart takes the place of what it left: it says so by INITIAL_CONTACT, which `no` sends and obeys. `replace`
/// would also delete, after 10 s, other IKE_SAs of the peer; where both ends had begun at once each deleted the other's, `close_action` began
/// anew, and so on without end (6.1.0). The watch sees to one of two.
///
/// charon compares identities and the family of addresses, not connections (`check_uniqueness`, 6.1.0): of two connections to one peer that are
/// set up at once each sends INITIAL_CONTACT, and the one destroys the other without a word to the peer. `never` sends and obeys none; what a
/// peer has forgotten the watch deletes.
fn unique(alone: bool) -> &'static str {
    if alone { "no" } else { "never" }
}

/// Settings of the IKE_SA. The node and its address come before those of the peer.
fn of_ike(
    [own, peer]: [&Node; 2],
    here: IpAddr,
    there: Option<IpAddr>,
    interface: &Interface,
    link: &IpsecLink,
    credentials: &Credentials,
    (engine, today): (IkeEngine, Date),
) -> Result<Section, RenderError> {
    let policy = interface.policy.in_effect(today);
    let authentication = match engine {
        // It takes the policy's own names.
        IkeEngine::Bartizan => Some("pubkey".to_owned()),
        IkeEngine::Strongswan => authentication(&policy.ipsec.signatures),
    };
    let authentication = authentication.ok_or_else(|| {
        let [one, other] = &interface.between;
        let accepted: Vec<_> = policy.ipsec.signatures.iter().map(ToString::to_string).collect();
        RenderError::Authentication {
            link: format!("{} {one} -- {other}", interface.kind.name()),
            accepted: accepted.join(", "),
        }
    })?;
    let yes_no = |is: bool| if is { "yes" } else { "no" };
    let revocation = match policy.revocation {
        Revocation::Require => "strict",
        Revocation::IfPresent => "relaxed",
    };
    let remote = Section::new()
        .with("auth", authentication)
        .with("id", identity(peer))
        .with("revocation", revocation)
        .with_list("cacerts", &credentials.roots);
    let remote = match engine {
        IkeEngine::Bartizan => remote
            .with_list("signatures", policy.ipsec.signatures.iter().map(ToString::to_string))
            .with_list(
                "chain_signatures",
                policy.ipsec_chain_signatures().iter().map(ToString::to_string),
            ),
        IkeEngine::Strongswan => remote,
    };
    let mut section = Section::new();
    if let Some(ppk) = &link.ppk {
        section.set("ppk_id", &ppk.identity);
        section.set("ppk_required", yes_no(ppk.required));
    }
    Ok(section
        .with("version", "2")
        .with_list("local_addrs", [here.to_string()])
        .with_list(
            "remote_addrs",
            [there.map_or_else(|| any(here), |there| there.to_string())],
        )
        .with_list("proposals", proposal::ike(&policy.ipsec))
        // Addresses are those of the file: a peer that moves is another one. Where a NAT is before one end, the other follows the address from
        // which that end is heard (RFC 7296, section 2.23). One that is behind a NAT itself does so only by MOBIKE (6.1.0), and then the first
        // notices by what its dead peer detection compares (RFC 4555, section 3.8).
        .with(
            "mobike",
            yes_no(link.ends.iter().all(|end| end.external != External::Same)),
        )
        // ESP in UDP from the first packet on (RFC 3948): a translator of addresses alone would be found, and let no ESP through.
        .with("encap", yes_no(link.crosses_nat()))
        .with("fragmentation", yes_no(link.ike_fragments))
        .with("send_cert", "always")
        // The peer may be down for longer than any number of tries.
        .with("keyingtries", "0")
        .with("rekey_time", seconds(link.lifetimes.ike))
        .with("reauth_time", seconds(link.lifetimes.reauthentication))
        .with("dpd_delay", seconds(link.dead_peer_delay))
        .with("dscp", format!("{:06b}", link.ike_dscp))
        .with_section(
            "local",
            Section::new()
                .with("auth", "pubkey")
                .with("id", identity(own))
                .with_list("certs", [&credentials.leaf]),
        )
        .with_section("remote", remote))
}

/// Every address of this one's family, as charon reads it.
fn any(of: IpAddr) -> String {
    if of.is_ipv4() { "0.0.0.0/0" } else { "::/0" }.to_owned()
}

/// Seconds; 0 stands for never.
fn seconds(period: Option<Duration>) -> String {
    period.map_or(0, |period| period.as_secs()).to_string()
}

/// A node's identity: its first DNS name, else its first address. The deployment ensures that there
/// is one.
fn identity(node: &Node) -> String {
    let dns = node.identity.dns().first().cloned();
    let ip = || node.identity.ip().first().map(ToString::to_string);
    dns.or_else(ip).unwrap_or_else(|| node.name.to_string())
}

/// Accepted authentication of a peer, as `remote.auth` has it. None if charon has none of it. A
/// text of 85 octets lost its end in charon 6.1.0 without a word, so it stays under 64: of
/// classical schemes all fit, and post-quantum ones no release knows.
fn authentication(schemes: &[SignatureScheme]) -> Option<String> {
    let named = |scheme: SignatureScheme| schemes.contains(&scheme);
    let (p256, p384) = (
        named(SignatureScheme::ECDSA_SECP256R1_SHA256),
        named(SignatureScheme::ECDSA_SECP384R1_SHA384),
    );
    let mut words = Vec::new();
    // charon picks the hash by the key: the number is the least strength of any ECDSA key on the way.
    words.extend(match (p256, p384) {
        (true, true) => Some("ike:ecdsa-256-sha256-sha384"),
        (true, false) => Some("ike:ecdsa-256-sha256"),
        (false, true) => Some("ike:ecdsa-384-sha384"),
        (false, false) => None,
    });
    if named(SignatureScheme::ED25519) {
        words.push("ike:ed25519-identity");
    }
    (!words.is_empty()).then(|| words.join("-"))
}
