//! Revocation lists that a service fetches into the file that it reads them from.

use std::fs;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, SystemTime};

use bartizan_deployment::{Files, HttpUrl};
use bartizan_otlp::chance;
use bartizan_pki::{LARGEST_FETCHED, Renewed, renew_lists};

use super::exchange::Request;
use crate::Failure;

/// For one exchange.
const PATIENCE: Duration = Duration::from_secs(20);
/// Pauses after failures: the first, which doubles, and the longest.
const FIRST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(600);
const HINT: &str = "is `bartizan ca serve` running there, and reachable from here?";

bartizan_registry::made! {
    /// The lists of a node, and the certificates that say whose they may be.
    pub(super) struct Lists,
    /// Those of a node's TLS; none where it does not fetch them.
    pub(super) of_tls(files: &Files) -> Option<Self> {
        url: HttpUrl = files.crl_url.clone()?,
        file: PathBuf = files.crl.clone()?,
        roots: PathBuf = files.roots.clone(),
        chains: Vec<PathBuf> = files.certificates.iter().map(|own| own.certificate.clone()).collect(),
        /// Those of the last lookup: a confined process cannot read a replaced `/etc/resolv.conf`.
        addresses: Vec<SocketAddr> = Vec::new(),
    }
}

/// Ends with a message each wait of a thread that fetches.
pub(super) type Wake = Sender<()>;

impl Lists {
    /// Those of a node's IKE daemon.
    #[cfg(feature = "full")]
    pub(super) fn of_ike(files: &bartizan_deployment::IpsecNode) -> Option<Self> {
        Some(Self {
            url: files.crl_url.clone()?,
            file: files.crl.clone()?,
            roots: files.roots.clone(),
            chains: vec![files.certificate.clone()],
            addresses: Vec::new(),
        })
    }

    /// Fetches them where the file is not there yet: without it the service does not start.
    pub(super) fn first(&mut self) -> Result<(), Failure> {
        if !matches!(self.file.try_exists(), Ok(false)) {
            return Ok(());
        }
        self.fetch().map(drop).map_err(|cause| {
            Failure::new(cause).hint(HINT).hint(format!(
                "`bartizan ca crl` writes them too: {} is not there",
                self.file.display()
            ))
        })
    }

    /// Fetches them now and from time to time, until the process ends or the sender is dropped.
    /// `report` gets the cause of each failure, and none after a success.
    pub(super) fn keep(mut self, report: impl Fn(Option<&str>) + Send + 'static) -> Result<Wake, Failure> {
        let (wake, woken) = mpsc::channel();
        let thread = thread::Builder::new().name("lists".to_owned()).spawn(move || {
            let (mut failures, mut before) = (0, None);
            loop {
                let fetched = self.fetch();
                report(match &fetched {
                    Ok(renewed) => renewed.flaw.as_deref().filter(|_| renewed.is_behind),
                    Err(cause) => Some(cause),
                });
                // A cause is logged once.
                let cause = match &fetched {
                    Ok(renewed) => renewed.flaw.as_ref(),
                    Err(cause) => Some(cause),
                };
                let is_new = before.as_ref() != cause;
                let pause = match &fetched {
                    Ok(renewed) => {
                        match &renewed.flaw {
                            Some(flaw) if is_new => {
                                tracing::warn!(url = %self.url, flaw, "one of the fetched revocation lists is not in order");
                            }
                            None if is_new => tracing::info!(url = %self.url, "revocation lists are fetched again"),
                            _ => {}
                        }
                        failures = 0;
                        match renewed.is_behind {
                            true => renewed.pause.min(LONGEST),
                            false => renewed.pause,
                        }
                    }
                    Err(cause) => {
                        if is_new {
                            tracing::warn!(
                                error = cause,
                                hint = HINT,
                                "revocation lists are not fetched: those of the file stay in effect"
                            );
                        }
                        failures += 1;
                        FIRST.saturating_mul(1 << (failures - 1).min(16)).min(LONGEST)
                    }
                };
                before = cause.cloned();
                // By chance, so that nodes which were started at once do not come at once.
                match woken.recv_timeout(pause.mul_f64(0.75 + chance() / 4.0)) {
                    Ok(()) | Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        });
        match thread {
            Ok(_) => Ok(wake),
            Err(error) => Err(Failure::new(format!(
                "no thread that fetches revocation lists: {error}"
            ))),
        }
    }

    /// Puts what is fetched into the file.
    fn fetch(&mut self) -> Result<Renewed, String> {
        let Self {
            url,
            file,
            roots,
            chains,
            addresses,
        } = self;
        let request = Request {
            line: &format!("GET {}", url.path),
            host: &url.authority(),
            body: None,
            largest: LARGEST_FETCHED,
            patience: PATIENCE,
        };
        match (url.host.as_str(), url.port).to_socket_addrs() {
            Err(error) if addresses.is_empty() => return Err(format!("{url}: {error}")),
            Err(_) => {}
            Ok(found) => *addresses = found.collect(),
        }
        let answer = request.send(addresses);
        let answer = answer.map_err(|error| format!("{url}: {error}"))?;
        if answer.status != 200 {
            return Err(format!("{url}: HTTP status {}: {}", answer.status, answer.first_line()));
        }
        let read = |path: &PathBuf| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
        let roots = read(roots)?;
        let chains: Result<Vec<_>, _> = chains.iter().map(read).collect();
        let trusted = (roots.as_slice(), &*chains?.concat());
        let renewed = renew_lists(file, &answer.body, trusted, SystemTime::now());
        renewed.map_err(|cause| format!("{url} for {}: {cause}", file.display()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    /// A confined sidecar fetched nothing more once `/etc/hosts` was replaced.
    #[test]
    fn a_name_that_is_not_found_any_more_keeps_its_addresses() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            stream.write_all(b"HTTP/1.0 404 Not Found\r\n\r\n").unwrap();
        });
        let mut lists = Lists {
            // No resolver looks up a name of this form.
            url: HttpUrl {
                host: "a..b".to_owned(),
                port: 80,
                path: "/crl.pem".to_owned(),
            },
            file: PathBuf::new(),
            roots: PathBuf::new(),
            chains: Vec::new(),
            addresses: Vec::new(),
        };
        let unknown = lists.fetch().unwrap_err();
        assert!(unknown.contains("lookup"), "{unknown}");
        lists.addresses.push(address);
        let reached = lists.fetch().unwrap_err();
        assert!(reached.contains("HTTP status 404"), "{reached}");
    }
}
