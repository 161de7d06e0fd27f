//! The IKE daemon of Bartizan: UDP sockets, ESP of the kernel or in user space and a clock around `bartizan_ike`, driven through VICI as charon is.
//!
//! It has no configuration of its own: credentials and connections come by `load-cert`, `load-key` and `load-conn`, SAs are reported by `list-sas`
//! and charon's events, and its log has charon's words. So whatever drives and monitors a charon drives and monitors it.
//!
//! One thread owns everything. It waits for sockets and timers; nothing is locked.
#![forbid(unsafe_code)]

mod association;
mod commands;
mod connection;
mod control;
mod credentials;
mod data_path;
mod ended;
mod log;
mod reports;
mod sockets;
#[cfg(test)]
mod tests;
mod trust;
mod upkeep;
pub mod userspace;
mod vici_reports;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use aws_lc_rs::rand;
use bartizan_host::{clock, ready};
use bartizan_ike::{Endpoint, Ends, HalfOpen, IkeSa, SaId};

use association::{ChildSa, Sa};
use commands::Waiting;
use connection::Connection;
use control::Control;
use credentials::Store;
use data_path::DataPath;
use log::Log;
use sockets::Sockets;

use crate::userspace::Userspace;
use bartizan_ipsec::xfrm::{Associations, Installed};

/// Interval between checks of the stop condition while nothing happens.
const TURN: Duration = Duration::from_millis(100);
/// Time that peers get to answer the deletion of their IKE_SAs when the daemon ends.
const FAREWELL: Duration = Duration::from_secs(2);
/// Half-open IKE_SAs at most, or twice the number of peers where that is more, so that all of them may begin at once: further first requests are dropped,
/// and their senders try again. From half of this number on each of them has brought a cookie.
const HALF_OPEN: usize = 1024;
/// Interval between comparisons of SAs' traffic and age with their limits.
const UPKEEP: Duration = Duration::from_secs(1);

/// Start options of a daemon.
#[derive(Debug, Clone)]
pub struct Options {
    /// Directory of its socket and log, as for a charon that Bartizan runs.
    pub directory: PathBuf,
    /// Peers that may begin at the same time without a cookie.
    pub peers: u32,
    /// Largest IP datagram of an IKE fragment, in bytes.
    pub fragment_size: u16,
    /// The device for ESP in user space, and octets that a packet on the path may have; without, the kernel does ESP.
    pub userspace: Option<(String, u16)>,
}

/// Why a daemon does not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The environment.
    #[error("{action}: {source}")]
    Io {
        /// The attempted action.
        action: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// ESP in user space.
    #[error(transparent)]
    DataPath(#[from] bartizan_ipsec::xfrm::Error),
}

fn failed(action: &str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let action = format!("{action} {}", path.display());
    move |source| Error::Io { action, source }
}

bartizan_registry::made! {
    struct Daemon, start(options: Options) -> Result<Self, Error> {
        let log = options.directory.join("charon.log");
        let log = Log::open(&log).map_err(failed("opening", &log))?;
        let socket = options.directory.join("charon.vici");
        let control = Control::bind(&socket).map_err(failed("listening on", &socket))?;
        let data_path = match &options.userspace {
            None => DataPath::Kernel(None),
            Some((device, mtu)) => DataPath::Userspace(Box::new(Userspace::start(device, *mtu)?)),
        };
        // As of a charon of ours: each peer may have one, and one more attempt. Cookies are asked
        // for well before attempts are dropped.
        let all = usize::try_from(options.peers).unwrap_or(usize::MAX).saturating_mul(2);
        let half_open = HalfOpen {
            cookies_from: all.clamp(30, HALF_OPEN / 2),
            most: all.max(HALF_OPEN),
            ..HalfOpen::default()
        };
        options: Options,
        control: Control,
        sockets: Sockets = Sockets::default(),
        endpoint: Endpoint = Endpoint::new(half_open),
        store: Store = Store::default(),
        connections: Vec<Connection> = Vec::new(),
        sas: BTreeMap<SaId, Sa> = BTreeMap::new(),
        children: Vec<ChildSa> = Vec::new(),
        data_path: DataPath,
        /// Installed CHILD_SAs, by connection and CHILD_SA.
        installed: BTreeMap<(String, String), Installed<Box<dyn Associations>>> = BTreeMap::new(),
        /// The same of connections that are gone, with SAs whose deletion has failed.
        retired: Vec<(String, Installed<Box<dyn Associations>>)> = Vec::new(),
        /// CHILD_SAs may be installed with a port that their peer has left.
        follows: bool = false,
        /// Place in `children` from which SAs are looked for in the kernel next.
        looked: usize = 0,
        waiting: Vec<Waiting> = Vec::new(),
        log: Log,
        /// The last numbers that were given to an IKE_SA and a CHILD_SA.
        numbers: (u32, u32) = (0, 0),
        kept_up: Instant = clock::now(),
        kept_alive: Instant = clock::now(),
    }
}

/// Random source of the engine's SPIs and nonces.
fn random(bytes: &mut [u8]) {
    if rand::fill(bytes).is_err() {
        // Without chance nothing that is negotiated is secret.
        std::process::abort();
    }
}

/// Runs a daemon until `stop` says so, in the network namespace of the calling thread. Then peers learn that their SAs end, and what it has in
/// the kernel is removed; of one that is killed it stays.
///
/// # Errors
///
/// Fails if its socket or log cannot be made, or the kernel does not wait for sockets.
pub fn run(options: Options, stop: &dyn Fn() -> bool) -> Result<(), Error> {
    let mut daemon = Daemon::start(options)?;
    while !stop() {
        daemon.turn()?;
    }
    daemon.end()
}

impl Daemon {
    /// Waits for what comes next, and does it.
    fn turn(&mut self) -> Result<(), Error> {
        let now = clock::now();
        let next = self.endpoint.timeout().map(|due| due.saturating_duration_since(now));
        let patience = next.unwrap_or(TURN).min(TURN);
        let mut all = self.control.sockets();
        all.extend(self.sockets.all(self.data_path.leaves_nat_port()));
        all.extend(self.data_path.waits_for());
        ready(&all, patience).map_err(|source| Error::Io {
            action: "waiting for sockets".to_owned(),
            source,
        })?;
        self.data_path.stands()?;
        self.receive();
        self.answer_kernel();
        for asked in self.control.turn() {
            self.asked(asked);
            self.settle();
        }
        let now = clock::now();
        if self.endpoint.timeout().is_some_and(|due| due <= now) {
            self.endpoint.handle_timeout(now);
            self.settle();
            self.report_silence();
        }
        self.expire_waiting(now);
        if now.saturating_duration_since(self.kept_up) >= UPKEEP {
            self.kept_up = now;
            self.keep_up(now);
            if let Some(line) = self.data_path.keep() {
                self.say_of("data-path", 0, &line);
            }
        }
        self.settle();
        Ok(())
    }

    fn receive(&mut self) {
        let mut received = self.data_path.messages();
        self.sockets
            .receive(self.data_path.leaves_nat_port(), &mut |ends, message: &[u8]| {
                received.push((ends, message.to_vec()));
            });
        for (ends, message) in received {
            self.received(ends, &message);
            // Before the next: each answer leaves when what it is about is in the kernel.
            self.settle();
        }
        if self.sas.values().any(|sa| sa.sent_again > 0) {
            self.report_silence();
        }
    }

    /// Passes a datagram on, and logs it if the peer sent it: any host that knows the SPIs can send
    /// any number of others.
    fn received(&mut self, ends: Ends, message: &[u8]) {
        let id = self.of_datagram(message);
        let taken = |endpoint: &Endpoint| id.and_then(|id| endpoint.sa(id)).map(IkeSa::taken);
        let before = taken(&self.endpoint);
        self.endpoint.receive(clock::now(), ends, message, &mut random);
        if let Some(id) = id.filter(|_| taken(&self.endpoint) != before) {
            self.log_received(id, ends, message);
        }
    }

    /// Does what the engine reports, then sends what it wants sent: the peer uses an SA as soon as it has the answer that makes it.
    fn settle(&mut self) {
        loop {
            let mut is_settled = true;
            while let Some(report) = self.endpoint.poll_report() {
                is_settled = false;
                self.report(clock::now(), report);
            }
            while let Some((ends, transmit)) = self.endpoint.poll_transmit() {
                is_settled = false;
                self.log_sent(ends, &transmit);
                self.sockets.send(ends, &transmit);
            }
            if is_settled {
                return;
            }
        }
    }

    fn connection(&self, name: &str) -> Option<&Connection> {
        self.connections.iter().find(|known| known.name == name)
    }

    /// Ends all IKE_SAs together with their peers, those that do not answer without, and removes what is in the kernel.
    fn end(mut self) -> Result<(), Error> {
        for connection in &mut self.connections {
            connection.loaded = false;
        }
        let deadline = clock::now() + FAREWELL;
        let open: Vec<SaId> = self.sas.keys().copied().collect();
        for id in open {
            self.close(id);
        }
        self.settle();
        while !self.sas.is_empty() && clock::now() < deadline {
            self.turn()?;
        }
        let left: Vec<SaId> = self.sas.keys().copied().collect();
        for id in left {
            self.endpoint.with(id, IkeSa::discard);
        }
        self.settle();
        self.forget_unloaded();
        Ok(())
    }
}
