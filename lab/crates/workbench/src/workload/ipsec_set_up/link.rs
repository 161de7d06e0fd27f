//! Two network namespaces with a path between them, a charon in each.

use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bartizan_deployment::IkeEngine;
use bartizan_host::{LabRoot, Namespace, Program};
use bartizan_ipsec::vici::{Client, Section};
use bartizan_ipsec::{Engine, Settings};
use bartizan_testing::Usage;
use bartizan_testing::Wiring as _;

use super::path::{Condition, Path as Between};
use crate::stand_in::charons::{Charons, Papers, described, refused};
pub(super) use crate::stand_in::charons::{child, connection, inner};
use crate::workload::Error;

/// Names of the ends.
pub(super) const ENDS: [&str; 2] = ["initiator", "responder"];
/// Name of the interface at either end.
pub(super) const INTERFACE: &str = "ipsec0v";

/// Run with: root, directory of the charon, child, connection. The mounts are in a namespace of
/// their own and go with it.
const SWANCTL: &str = r#"set -e
mount --rbind /dev "$1/dev"
mount -t tmpfs -o mode=755 tmpfs "$1/run"
mkdir "$1/run/bartizan"
mount --bind "$2" "$1/run/bartizan"
exec chroot "$1" /usr/sbin/swanctl --initiate --child "$3" --ike "$4" --uri unix:///run/bartizan/charon.vici"#;

/// Two ends that know of each other's connections.
pub(super) struct Link {
    // Before the namespaces they run in.
    charons: Charons,
    ends: [Namespace; 2],
    between: Between,
    root: PathBuf,
    engine: IkeEngine,
    mtu: u16,
    /// Identities whose certificates and keys both have.
    known: Vec<String>,
}

impl Link {
    /// `name` tells its charons' directories from those of others; `vary` says what is not as
    /// Bartizan writes it; `impaired` says whether the path shall be able to delay and lose.
    pub(super) fn make(
        folder: &Path,
        root: &LabRoot,
        name: &str,
        vary: impl FnOnce(&mut Settings),
        mtu: u16,
        impaired: bool,
    ) -> Result<Self, Error> {
        let engine = Engine::LabRoot(root.clone());
        Self::make_with(
            (&engine, IkeEngine::Strongswan),
            (folder, name),
            root,
            vary,
            (mtu, impaired),
        )
    }

    /// The same with another IKE daemon.
    pub(super) fn make_with(
        (engine, kind): (&Engine, IkeEngine),
        (folder, name): (&Path, &str),
        root: &LabRoot,
        vary: impl FnOnce(&mut Settings),
        (mtu, impaired): (u16, bool),
    ) -> Result<Self, Error> {
        let ends = [Namespace::create(ENDS[0])?, Namespace::create(ENDS[1])?];
        let between = Between::make(&ends, mtu, impaired)?;
        let end = |end: usize| (&ends[end], folder.join(format!("{}-{name}", ENDS[end])));
        Ok(Self {
            charons: Charons::start_engine(engine, [end(0), end(1)], vary)?,
            ends,
            between,
            root: root.directory().to_owned(),
            engine: kind,
            mtu,
            known: Vec::new(),
        })
    }

    /// Makes a connection known to both ends: its IKE_SA by one key exchange, its CHILD_SAs by any
    /// of those that each end has, where an empty one stands for none.
    pub(super) fn load(&mut self, number: u8, ike: &str, children: [&[&str]; 2], papers: &Papers) -> Result<(), Error> {
        let fresh = !self.known.iter().any(|known| known == papers.identity(0));
        self.address(number)?;
        for end in [0, 1] {
            let mut client = self.charons.client(end)?;
            if fresh {
                let credentials = match self.engine {
                    IkeEngine::Strongswan => papers.load(end),
                    IkeEngine::Bartizan => papers.load_der(end)?,
                };
                for (command, message) in credentials {
                    client.command(command, message).map_err(refused)?;
                }
            }
            let described = described(self.engine, (number, end), ike, children[end], papers)?;
            let message = Section::new().with_section(connection(number), described);
            client.command("load-conn", message).map_err(refused)?;
        }
        self.known.push(papers.identity(0).to_owned());
        Ok(())
    }

    /// The same for a connection by which the initiator sets up many IKE_SAs, none of which ends another.
    pub(super) fn load_many(&mut self, number: u8, ike: &str, papers: &Papers) -> Result<(), Error> {
        self.address(number)?;
        for end in [0, 1] {
            let mut client = self.charons.client(end)?;
            for (command, message) in papers.load(end) {
                client.command(command, message).map_err(refused)?;
            }
            let described = described(self.engine, (number, end), ike, &[ike], papers)?.with("unique", "never");
            let message = Section::new().with_section(connection(number), described);
            client.command("load-conn", message).map_err(refused)?;
        }
        Ok(())
    }

    /// Gives both ends the addresses of a connection.
    pub(super) fn address(&self, number: u8) -> Result<(), Error> {
        for (end, namespace) in self.ends.iter().enumerate() {
            let address = |network: u8| format!("10.{network}.{number}.{}", end + 1);
            namespace.add_address(INTERFACE, format!("{}/24", address(77)).parse()?)?;
            for network in [78, 79] {
                namespace.add_address("lo", format!("{}/32", address(network)).parse()?)?;
            }
        }
        self.introduce(number)
    }

    /// A first packet, of any kind, by which each end learns where the other is: no set-up waits
    /// for that, and no path loses it.
    fn introduce(&self, number: u8) -> Result<(), Error> {
        /// The discard port, with no listener (RFC 863).
        const DISCARD: u16 = 9;
        let address = |end: u8| Ipv4Addr::new(10, 77, number, end + 1);
        let send = || UdpSocket::bind((address(0), 0))?.send_to(&[0], (address(1), DISCARD));
        self.ends[0].enter(send)?.map(drop).map_err(Error::Broken)
    }

    /// Does this to packets on the path from now on.
    pub(super) fn impair(&mut self, condition: Condition) -> Result<(), Error> {
        self.between.set(condition)
    }

    /// Deletes every IKE_SA at both ends, also those that never came up.
    pub(super) fn clear(&self) -> Result<(), Error> {
        self.charons.delete_all()
    }

    pub(super) fn initiator(&self) -> &Namespace {
        &self.ends[0]
    }

    pub(super) fn responder(&self) -> &Namespace {
        &self.ends[1]
    }

    pub(super) fn mtu(&self) -> u16 {
        self.mtu
    }

    /// ESP data path.
    pub(super) fn esp(&self) -> &'static str {
        self.charons.esp()
    }

    /// The plugin whose ML-KEM both take.
    pub(super) fn ml_kem(&self) -> Result<String, Error> {
        let [one, other] = [self.charons.ml_kem(0)?, self.charons.ml_kem(1)?];
        if one == other {
            return Ok(one);
        }
        Err(Error::Configuration(format!(
            "one end has ML-KEM from {one}, the other from {other}"
        )))
    }

    /// The processor that each charon is kept on.
    pub(super) fn processors(&self) -> [usize; 2] {
        self.charons.processors()
    }

    /// To the initiator's charon.
    pub(super) fn client(&self) -> Result<Client, Error> {
        self.charons.client(0)
    }

    /// To the responder's.
    pub(super) fn responder_client(&self) -> Result<Client, Error> {
        self.charons.client(1)
    }

    /// VICI socket of the initiator's charon.
    pub(super) fn socket(&self) -> PathBuf {
        self.charons.socket(0)
    }

    /// VICI socket of the responder's charon.
    pub(super) fn responder_socket(&self) -> PathBuf {
        self.charons.socket(1)
    }

    /// A socket for what a connection's first CHILD_SA protects at this end.
    pub(super) fn inner_socket(&self, number: u8, end: usize) -> Result<UdpSocket, Error> {
        let bound = self.ends[end].enter(|| UdpSocket::bind((inner(number, end), 0)))?;
        bound.map_err(Error::Broken)
    }

    /// As its charon says it.
    pub(super) fn version(&self) -> Result<String, Error> {
        self.charons.version()
    }

    /// Resources that initiator and responder have used so far.
    pub(super) fn cpu(&mut self) -> Result<[Usage; 2], Error> {
        self.charons.usage()
    }

    /// Asks for a connection's first CHILD_SA as an operator would.
    pub(super) fn swanctl_initiate(&self, number: u8, patience: Duration) -> Result<(), Error> {
        let socket = self.charons.socket(0);
        let program = Program::new("unshare")
            .package("util-linux")
            .arguments(["--mount", "--propagation", "private", "sh", "-c", SWANCTL, "swanctl"])
            .argument(&self.root)
            .argument(socket.parent().unwrap_or(&socket))
            .arguments([child("first", number), connection(number)]);
        program.run(patience)?;
        Ok(())
    }
}
