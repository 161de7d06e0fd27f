//! The link keyed by IKE: a charon at either end, configured by Bartizan from what a deployment file says of E2.
//!
//! The state from [`Ike::trap`] on is that of `start: trap` in the deployment file. The kernel
//! sends no packet of E2 in plaintext. The first packet without an SA makes charon set one up.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bartizan_deployment::{Deployment, day_of};
use bartizan_host::LabRoot;
use bartizan_ipsec::Charon;
use bartizan_ipsec::drive::take_down;
use bartizan_ipsec::proposal::Proposal;
use bartizan_ipsec::render::{self, Connection, Credentials};
use bartizan_ipsec::vici::{Client, Section};
use bartizan_pki::Profile;

use super::link::{Link, NODE, RIC};
use super::protection::Selector;
use crate::Error;
use crate::stand_in::charons::{Charons, PATIENCE, Papers, refused};

/// The ends by number, as the deployment file calls them.
const ENDS: [&str; 2] = ["node", "ric"];
/// Algorithm of both ends' certificates.
pub const AUTHENTICATION: &str = "ecdsa-p256";

/// An end of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum At {
    /// The E2 nodes' host, which sets SAs up.
    Node,
    /// The RIC's.
    Ric,
}

impl At {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Node, Self::Ric];

    fn end(self) -> usize {
        match self {
            Self::Node => 0,
            Self::Ric => 1,
        }
    }
}

/// The two charons and what they have loaded. They pass with it: drop it before the link.
#[derive(Debug)]
pub struct Ike {
    charons: Charons,
    /// With certificates and keys.
    folder: PathBuf,
    /// Names in the ends' certificates.
    identities: [String; 2],
    /// At either end; none before [`Ike::trap`].
    connections: Option<[Connection; 2]>,
}

impl Ike {
    /// Starts a charon of the lab root in either namespace; their files are in `folder`.
    ///
    /// # Errors
    /// Without root, or when charon does not start.
    pub fn start(link: &Link, root: &LabRoot, folder: &Path) -> Result<Self, Error> {
        let papers = Papers::issue(folder, AUTHENTICATION, ENDS, Profile::Ipsec)?;
        let directory = |end: usize| folder.join(format!("charon-{}", ENDS[end]));
        let ends = [(link.node(), directory(0)), (link.ric(), directory(1))];
        Ok(Self {
            charons: Charons::start(root, ends, |_| {})?,
            folder: papers.folder().to_owned(),
            identities: [0, 1].map(|end| papers.identity(end).to_owned()),
            connections: None,
        })
    }

    /// Instead of whatever was loaded: E2 with this key exchange for IKE_SA and CHILD_SAs, set up by the first packet.
    ///
    /// # Errors
    /// Fails if a charon does not answer or refuses.
    pub fn trap(&mut self, key_exchange: &str, selector: Selector) -> Result<(), Error> {
        self.clear()?;
        let ours = |error: &dyn std::fmt::Display| Error::Configuration(error.to_string());
        let text = self.deployment(key_exchange, selector);
        let deployment = Deployment::parse(&text, "e2.yaml", &self.folder).map_err(|error| ours(&error))?;
        let today = day_of(SystemTime::now());
        let load = |at: At| {
            let node = deployment.node(ENDS[at.end()]).and_then(|node| node.ipsec.as_ref());
            let node = node.ok_or_else(|| ours(&"the file lacks an end"))?;
            let credentials = Credentials::read(node).map_err(|error| ours(&error))?;
            let mut client = self.client(at)?;
            let means = Charon::ask(&mut client).map_err(refused)?.means();
            let rendered = render::connections(&deployment, ENDS[at.end()], &credentials, means, today);
            let mut rendered = rendered.map_err(|error| ours(&error))?;
            let connection = rendered.pop().ok_or_else(|| ours(&"the file has no link"))?;
            for (command, message) in credentials.load() {
                client.command(command, message).map_err(refused)?;
            }
            client.command("load-conn", connection.load()).map_err(refused)?;
            Ok::<_, Error>(connection)
        };
        self.connections = Some([load(At::Node)?, load(At::Ric)?]);
        Ok(())
    }

    fn deployment(&self, key_exchange: &str, selector: Selector) -> String {
        let profile = match Proposal::parse(key_exchange).offers_quantum_safe() {
            true => "hybrid",
            false => "classical, lab: true",
        };
        // Either E2 as the standard defines it (SCTP to the RIC's port), or all traffic.
        let selectors = match selector {
            Selector::Sctp => "",
            Selector::All => ", selectors: [{ protocol: any }]",
        };
        let node = |end: usize, function: &str, address: std::net::Ipv4Addr| {
            let (name, identity) = (ENDS[end], &self.identities[end]);
            format!(
                "  {name}: {{ function: {function}, address: {address}, names: {{ dns: [{identity}] }}, \
                 ipsec: {{ certificate: {identity}.crt.pem, key: {identity}.key.pem }} }}\n"
            )
        };
        format!(
            "policy: {{ profile: {profile}, ipsec: {{ key-exchanges: [{key_exchange}] }} }}\ntrust: {{ roots: ca.crt.pem }}\n\
             nodes:\n{}{}interfaces:\n  - {{ kind: E2, between: [node, ric], with: ipsec, ipsec: {{ start: trap{selectors} }} }}\n",
            node(0, "O-CU-CP", NODE),
            node(1, "near-RT RIC", RIC),
        )
    }

    /// Has the nodes' charon set the SAs up now, without a packet that asks for them.
    ///
    /// # Errors
    /// Fails if the SAs do not come up.
    pub fn set_up(&self, patience: Duration) -> Result<(), Error> {
        let Some([connection, _]) = &self.connections else {
            return Ok(());
        };
        let mut client = self.client(At::Node)?;
        for child in &connection.children {
            let message = Section::new()
                .with("ike", &connection.name)
                .with("child", &child.name)
                .with("timeout", patience.as_millis().to_string());
            client
                .command_within("initiate", message, patience + PATIENCE)
                .map_err(refused)?;
        }
        Ok(())
    }

    /// Deletes the SAs at both ends; what sets them up again stays.
    ///
    /// # Errors
    /// Fails if a charon does not answer, or an SA stays.
    pub fn delete(&self) -> Result<(), Error> {
        self.charons.delete_all()
    }

    /// Deletes the SAs and unloads everything: packets pass unencrypted from now on.
    ///
    /// # Errors
    /// Fails if a charon does not answer, or an SA stays.
    pub fn clear(&mut self) -> Result<(), Error> {
        let Some(connections) = &self.connections else {
            return Ok(());
        };
        for (at, connection) in At::BOTH.into_iter().zip(connections) {
            let names = [connection.name.clone()];
            take_down(&mut self.client(at)?, &names, PATIENCE).map_err(refused)?;
        }
        self.charons.delete_all()?;
        self.connections = None;
        Ok(())
    }

    /// A connection to the charon of this end.
    ///
    /// # Errors
    /// Fails if it does not listen.
    pub fn client(&self, at: At) -> Result<Client, Error> {
        self.charons.client(at.end())
    }

    /// Ends the charon of this end at once, as a crash does: what it has installed in the kernel stays.
    ///
    /// # Errors
    /// Fails if the kernel does not take the signal.
    pub fn kill(&mut self, at: At) -> Result<(), Error> {
        self.charons.kill(at.end())
    }

    /// Name and version that charon reports.
    ///
    /// # Errors
    /// Fails if it does not answer.
    pub fn version(&self) -> Result<String, Error> {
        self.charons.version()
    }

    /// ESP data path: `kernel` or `libipsec`.
    #[must_use]
    pub fn esp(&self) -> &'static str {
        self.charons.esp()
    }

    /// The processor that each charon is kept on, the node's first.
    #[must_use]
    pub fn processors(&self) -> [usize; 2] {
        self.charons.processors()
    }
}
