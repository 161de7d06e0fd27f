//! Settings of a link: its part of the deployment file, as one end sees it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bartizan_deployment::{
    Cak, Confidentiality, Deployment, Interface, InterfaceKind, Keying, MacsecLink, Node, Policy, Resumption,
};
use bartizan_tls::{Accepting, Connecting, Credentials, Endpoint, Peer};

use super::{EapEnd, MkaSetting};
use crate::Error;
use crate::derive::{Binding, Direction};
use crate::guard::Guard;
use crate::kernel::{self, Replay};
use crate::mka::{EapPeer, Role};
use crate::schedule::Terms;
use crate::session::PROTOCOL;

bartizan_registry::made! {
    /// Settings of a link.
    #[derive(Debug, Clone)]
    pub struct Setting, of(own: &Node, peer: &Node, interface: &Interface, link: &MacsecLink) -> Option<Self> {
        let node = own.name.as_str();
        let (port, device) = link.at(&interface.between, node)?;
        let peer_name = peer.name.as_str();
        // A switch has none that the file names.
        let (peer_port, _) = link.at(&interface.between, peer_name).unwrap_or_default();
        let begins = link.initiator.as_str() == node;
        let (client, server, ports) = match begins {
            true => (node, peer_name, [port, peer_port]),
            false => (peer_name, node, [peer_port, port]),
        };
        /// Peer and interface, `oru-FH`.
        pub name: String = format!("{peer_name}-{}", interface.kind.name()),
        /// The node at the other end.
        pub peer: String = peer_name.to_owned(),
        /// The interface of the standards.
        pub interface: InterfaceKind = interface.kind,
        /// Which direction this end sends in.
        pub direction: Direction = match begins {
            true => Direction::FromClient,
            false => Direction::FromServer,
        },
        /// The Ethernet port of this end.
        pub port: String = port.to_owned(),
        /// The MACsec device of this end.
        pub device: String = device.to_owned(),
        /// Settings of the device.
        pub device_settings: kernel::Settings = kernel::Settings {
            suite: link.suite,
            confidentiality: match link.confidentiality {
                Confidentiality::Encrypt => kernel::Confidentiality::Encrypted,
                Confidentiality::Integrity => kernel::Confidentiality::IntegrityOnly,
            },
            replay: Replay::Window(link.replay_window),
        },
        /// Octets that frames of the link need.
        pub mtu: Option<u32> = link.mtu,
        /// When keys change.
        pub terms: Terms = Terms {
            packets: link.rekey_packets,
            lifetime: link.rekey * 2 + Duration::from_secs(10),
            ..Terms::new(link.rekey, link.keys_per_exchange)
        },
        /// Context that keys are bound to.
        pub binding: Binding = Binding {
            client: client.to_owned(),
            server: server.to_owned(),
            interface: interface.kind.name().to_owned(),
            ports: ports.map(str::to_owned),
            suite: link.suite,
        },
        /// MKA settings. None if MKA does not distribute the keys.
        pub mka: Option<MkaSetting> = match &link.keying {
            Keying::Direct => None,
            keying => Some(MkaSetting {
                role: match begins {
                    true => Role::KeyServer,
                    false => Role::Other,
                },
                file: match keying {
                    Keying::Mka(Cak::Files(files)) => {
                        let end = interface.between.iter().position(|name| name.as_str() == node);
                        files[end?].clone()
                    }
                    _ => None,
                },
                eap: match (keying, begins) {
                    (Keying::EapTls, true) => Some(EapEnd::Authenticator),
                    (Keying::EapTls, false) => Some(EapEnd::Peer(Box::new(EapPeer {
                        name: node.to_owned(),
                        files: own.files.clone()?,
                        authenticator: peer.identity.clone(),
                        policy: Policy::clone(&interface.policy),
                    }))),
                    _ => None,
                },
                program: None,
            }),
        },
        /// Directory of the state that a successor of the controller needs.
        pub directory: PathBuf = Path::new(RUN).join(node),
        /// Guard to install before the port is set up. None if the port is not guarded.
        pub guard: Option<Guard> = None,
    }
}

/// Directory of the controllers' sockets, one directory per node.
pub const RUN: &str = "/run/bartizan/macsec";

impl Setting {
    /// Its port, as the kernel has it now.
    ///
    /// # Errors
    ///
    /// [`Error::PortRenamed`] where the device of the link stands on it and it has another name, [`Error::NoInterface`], and what the kernel says.
    pub(super) fn port(&self) -> Result<kernel::Interface, Error> {
        let (port, device) = (&self.port, &self.device);
        if let Some(found) = kernel::Interface::find(port)? {
            return Ok(found);
        }
        Err(match kernel::under(device)? {
            Some(under) => Error::PortRenamed {
                port: port.clone(),
                now: under.name,
            },
            None => Error::NoInterface(port.clone()),
        })
    }

    /// Returns true if keys, or the CAK of MKA, come from an exchange of this project's over the
    /// link.
    #[must_use]
    pub fn has_exchange(&self) -> bool {
        self.mka
            .as_ref()
            .is_none_or(|mka| mka.file.is_none() && mka.eap.is_none())
    }

    /// Holds where the keys rest on an authentication of the peer, and not on a CAK of a file.
    pub(super) fn is_authenticated(&self) -> bool {
        self.mka.as_ref().is_none_or(|mka| mka.file.is_none())
    }

    /// TLS server's end of one handshake over the link: no other node than the link's peer is
    /// admitted.
    pub(super) fn accept(&self, endpoint: &Endpoint) -> Result<Accepting, bartizan_tls::Error> {
        endpoint.accept(&self.peer, self.interface)
    }

    /// TLS client's end of one handshake over the link.
    pub(super) fn connect(&self, endpoint: &Endpoint) -> Result<Connecting, bartizan_tls::Error> {
        endpoint.connect(&self.peer, self.interface)
    }

    /// Which end of EAP-TLS this is, where the CAK of MKA comes from that.
    pub fn eap(&self) -> Option<&EapEnd> {
        self.mka.as_ref()?.eap.as_ref()
    }

    /// Returns true if this end proves its identity by its certificate.
    #[must_use]
    pub fn has_certificate(&self) -> bool {
        self.has_exchange() || self.eap().is_some()
    }

    /// The links of a node, in the order of the file.
    pub fn all(deployment: &Deployment, node: &str) -> Vec<Self> {
        let links = deployment.macsec_links(node);
        links
            .filter_map(|(peer, interface, link)| Self::of(deployment.node(node)?, peer, interface, link))
            .collect()
    }
}

/// Shared TLS endpoint for the MACsec links of a node. No session is resumed: each exchange is to
/// be fresh.
///
/// # Errors
///
/// Fails if the credentials cannot meet the policy of a link.
pub fn endpoint(
    deployment: &Deployment,
    node: &str,
    credentials: Credentials,
) -> Result<Endpoint, bartizan_tls::Error> {
    Endpoint::for_protocol(credentials, peers(deployment, node), PROTOCOL)
}

/// The peers whose certificates a node judges on its MACsec links.
pub fn peers(deployment: &Deployment, node: &str) -> Vec<Peer> {
    let links = deployment.macsec_links(node).filter(|(_, _, link)| link.has_exchange());
    let peers = links.map(|(peer, interface, _)| {
        let mut policy = Policy::clone(&interface.policy);
        policy.resumption = Resumption::Off;
        Peer {
            node: peer.name.clone(),
            interface: interface.kind,
            identity: peer.identity.clone(),
            policy,
        }
    });
    peers.collect()
}
