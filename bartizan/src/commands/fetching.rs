//! Revocation lists that a service fetches into the file that it reads them from.

use std::fs;
use std::net::ToSocketAddrs as _;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, SystemTime};

use bartizan_deployment::{Files, HttpUrl};
use bartizan_otlp::chance;
use bartizan_pki::{LARGEST_FETCHED, renew_lists};

use super::exchange::Request;
use crate::Failure;

/// For one exchange.
const PATIENCE: Duration = Duration::from_secs(20);
/// Pauses after failures: the first, which doubles, and the longest.
const FIRST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(600);
const HINT: &str = "is `bartizan ca serve` running there, and reachable from here?";

/// The lists of a node, and the certificates that say whose they may be.
pub(super) struct Lists {
    url: HttpUrl,
    file: PathBuf,
    roots: PathBuf,
    chains: Vec<PathBuf>,
}

/// Ends with a message each wait of a thread that fetches.
pub(super) type Wake = Sender<()>;

impl Lists {
    /// Those of a node's TLS; none where it does not fetch them.
    pub(super) fn of_tls(files: &Files) -> Option<Self> {
        Some(Self {
            url: files.crl_url.clone()?,
            file: files.crl.clone()?,
            roots: files.roots.clone(),
            chains: files.certificates.iter().map(|own| own.certificate.clone()).collect(),
        })
    }

    /// Those of a node's IKE daemon.
    #[cfg(feature = "full")]
    pub(super) fn of_ike(files: &bartizan_deployment::IpsecNode) -> Option<Self> {
        Some(Self {
            url: files.crl_url.clone()?,
            file: files.crl.clone()?,
            roots: files.roots.clone(),
            chains: vec![files.certificate.clone()],
        })
    }

    /// Fetches them where the file is not there yet: without it the service does not start.
    pub(super) fn first(&self) -> Result<(), Failure> {
        match self.file.try_exists() {
            Ok(false) => self.fetch().map(drop).map_err(|cause| {
                Failure::new(cause).hint(HINT).hint(format!(
                    "`bartizan ca crl` writes them too: {} is not there",
                    self.file.display()
                ))
            }),
            _ => Ok(()),
        }
    }

    /// Fetches them now and from time to time, until the process ends or the sender is dropped.
    /// `report` gets the cause of each failure, and none after a success.
    pub(super) fn keep(self, report: impl Fn(Option<&str>) + Send + 'static) -> Result<Wake, Failure> {
        let (wake, woken) = mpsc::channel();
        let thread = thread::Builder::new().name("lists".to_owned()).spawn(move || {
            let (mut failures, mut before) = (0, None);
            loop {
                let fetched = self.fetch();
                report(fetched.as_ref().err().map(String::as_str));
                let pause = match &fetched {
                    Ok(pause) => {
                        if before.take().is_some() {
                            tracing::info!(url = %self.url, "revocation lists are fetched again");
                        }
                        failures = 0;
                        *pause
                    }
                    Err(cause) => {
                        // A cause is logged once.
                        if before.as_ref() != Some(cause) {
                            tracing::warn!(
                                error = cause,
                                hint = HINT,
                                "revocation lists are not fetched: those of the file stay in effect"
                            );
                            before = Some(cause.clone());
                        }
                        failures += 1;
                        FIRST.saturating_mul(1 << (failures - 1).min(16)).min(LONGEST)
                    }
                };
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

    /// Puts what is fetched into the file; gives the pause until the next time.
    fn fetch(&self) -> Result<Duration, String> {
        let Self { url, file, .. } = self;
        let request = Request {
            line: &format!("GET {}", url.path),
            host: &url.authority(),
            body: None,
            largest: LARGEST_FETCHED,
            patience: PATIENCE,
        };
        let addresses = (url.host.as_str(), url.port).to_socket_addrs();
        let answer = addresses.and_then(|addresses| request.send(addresses));
        let answer = answer.map_err(|error| format!("{url}: {error}"))?;
        if answer.status != 200 {
            return Err(format!("{url}: HTTP status {}: {}", answer.status, answer.first_line()));
        }
        let read = |path: &PathBuf| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
        let roots = read(&self.roots)?;
        let chains: Result<Vec<_>, _> = self.chains.iter().map(read).collect();
        let trusted = (roots.as_slice(), &*chains?.concat());
        let renewed = renew_lists(file, &answer.body, trusted, SystemTime::now());
        renewed.map_err(|cause| format!("{url} for {}: {cause}", file.display()))
    }
}
