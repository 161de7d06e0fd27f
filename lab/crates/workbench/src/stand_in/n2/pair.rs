//! Two programs between a gNB and an AMF, one on the host of each, while they run.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use bartizan_host::{Namespace, Process};
use bartizan_testing::Listening as _;

use super::protection::{Places, Protection};
use super::{sidecars, socat};
use crate::Error;
use crate::stand_in::charons::Papers;
use crate::stand_in::e2::Link;
use crate::stand_in::proxies::Tools;

/// The ends by number, as the deployment file calls them.
pub(super) const ENDS: [&str; 2] = ["gnb", "amf"];
/// Time limit for a program to serve or to have a connection ready.
const READY: Duration = Duration::from_secs(20);
/// Between two looks.
const TURN: Duration = Duration::from_millis(5);

/// Setting of a pair.
pub(crate) struct Setting<'a> {
    pub(crate) protection: Protection,
    /// The one group of TLS that both are willing to use.
    pub(crate) group: &'a str,
    /// Connections that a sidecar keeps ready.
    pub(crate) warm: usize,
    pub(crate) places: Places,
    pub(crate) papers: &'a Papers,
    pub(crate) link: &'a Link,
    pub(crate) tools: &'a Tools,
    /// A folder of its own.
    pub(crate) folder: &'a Path,
}

impl Setting<'_> {
    pub(super) fn host(&self, end: usize) -> &Namespace {
        if end == 0 { self.link.node() } else { self.link.ric() }
    }
}

/// Both programs; they end with it.
#[derive(Debug)]
pub struct Pair {
    programs: [Process; 2],
    places: Places,
    protection: Protection,
    warm: usize,
}

impl Pair {
    /// Starts both, and waits until they serve.
    pub(crate) fn start(setting: &Setting<'_>) -> Result<Self, Error> {
        fs::create_dir_all(setting.folder).map_err(Error::file(setting.folder))?;
        let [gnb, amf] = if setting.protection.by_sidecars() {
            sidecars::programs(setting)?
        } else {
            socat::programs(setting)?
        };
        let amf = amf.start()?;
        let mut pair = Self {
            programs: [gnb.start()?, amf],
            places: setting.places,
            protection: setting.protection,
            warm: setting.warm,
        };
        if setting.protection.by_sidecars() {
            for end in [1, 0] {
                let admin = setting.places.admin;
                pair.until(end, "serve", || served(setting.host(end), admin, "/ready").is_some())?;
            }
            pair.settle(setting.link)?;
        } else {
            pair.programs[1].wait_for_port(setting.places.middle, READY)?;
            let port = setting.places.entry.port();
            pair.until(0, "listen for SCTP", || listens(setting.host(0), port))?;
        }
        Ok(pair)
    }

    /// Waits until a connection is ready for the next association, where sidecars keep one.
    ///
    /// # Errors
    /// Fails if there is no connection in time, or a program has ended.
    pub fn settle(&mut self, link: &Link) -> Result<(), Error> {
        for (program, end) in self.programs.iter_mut().zip(ENDS) {
            if program.ended()?.is_some() {
                let tail = program.tail();
                return Err(Error::Configuration(format!(
                    "the program of the {end} has ended: {tail}"
                )));
            }
        }
        if !self.protection.by_sidecars() || self.warm == 0 {
            return Ok(());
        }
        let admin = self.places.admin;
        let wanted = format!(
            "bartizan_sidecar_ready_connections{{peer=\"{}\"}} {}",
            ENDS[1], self.warm
        );
        self.until(0, "have a connection ready", || {
            let metrics = served(link.node(), admin, "/metrics");
            metrics.is_some_and(|metrics| metrics.lines().any(|line| line == wanted))
        })
    }

    fn until(&mut self, end: usize, what: &str, done: impl Fn() -> bool) -> Result<(), Error> {
        let deadline = Instant::now() + READY;
        while !done() {
            let program = &mut self.programs[end];
            let ended = program.ended()?.is_some();
            if ended || Instant::now() >= deadline {
                let tail = program.tail();
                let how = if ended { "ended" } else { "does not in time" };
                return Err(Error::Configuration(format!(
                    "the program of the {} that is to {what} {how}: {tail}",
                    ENDS[end]
                )));
            }
            thread::sleep(TURN);
        }
        Ok(())
    }
}

/// Body of a 200 response from the sidecar's admin port on this host; none for any other response.
fn served(host: &Namespace, admin: SocketAddr, path: &str) -> Option<String> {
    let mut stream = host.enter(|| TcpStream::connect(admin)).ok()?.ok()?;
    stream.set_read_timeout(Some(READY)).ok()?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n\r\n"
    )
    .ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    text.starts_with("HTTP/1.1 200").then_some(text)
}

/// True if an SCTP socket of this host listens on a port. The socket gets no association from this
/// check.
fn listens(host: &Namespace, port: u16) -> bool {
    let read = host.enter(|| fs::read_to_string("/proc/thread-self/net/sctp/eps"));
    // ENDPT SOCK STY SST HBKT LPORT UID INODE LADDRS
    let of = |line: &str| line.split_whitespace().nth(5).and_then(|word| word.parse().ok());
    read.is_ok_and(|read| read.is_ok_and(|text| text.lines().any(|line| of(line) == Some(port))))
}
