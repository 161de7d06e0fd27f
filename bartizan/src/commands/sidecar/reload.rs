//! When to read certificates and the deployment file again: on SIGHUP, and when one of them has changed.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bartizan_deployment::Deployment;
use bartizan_sidecar::Running;
use tokio::signal::unix::Signal;
use tokio::time::{MissedTickBehavior, interval};

use super::refused;
use crate::Failure;
use crate::commands::deployment_file::read;

/// How often files are looked at. A change is acted on once it has stood for that long: a certificate and its key are two files.
const EVERY: Duration = Duration::from_secs(2);

/// What tells one state of a file from another: it may be written in place or replaced by renaming, and it may become readable without
/// either, by another owner or mode, which the time of the last change of status shows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp(Option<[(i64, i64); 2]>, Option<(u64, u64, u64)>);

impl Stamp {
    fn of(file: &Path) -> Self {
        let seen = fs::metadata(file).ok();
        let times = |seen: &fs::Metadata| [(seen.mtime(), seen.mtime_nsec()), (seen.ctime(), seen.ctime_nsec())];
        Self(
            seen.as_ref().map(times),
            seen.map(|seen| (seen.dev(), seen.ino(), seen.size())),
        )
    }
}

/// The files a sidecar reads again, as they stood before they were last read.
pub(super) struct Watched {
    files: BTreeSet<PathBuf>,
    installed: Vec<Stamp>,
}

impl Watched {
    /// To be called before the files are read: what changes while they are is then seen as a change.
    pub(super) fn new(deployment: &Deployment, file: &Path, node: &str) -> Self {
        let files = files(deployment, file, node);
        Self {
            installed: stamps(&files),
            files,
        }
    }
}

fn stamps(files: &BTreeSet<PathBuf>) -> Vec<Stamp> {
    files.iter().map(|file| Stamp::of(file)).collect()
}

/// Reads again whenever there is a reason, for as long as the sidecar runs.
pub(super) async fn keep(
    running: &Running,
    file: &Path,
    node: &str,
    watched: Watched,
    mut hangup: Signal,
) -> Infallible {
    let Watched {
        mut files,
        mut installed,
    } = watched;
    let mut last = installed.clone();
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let reason = tokio::select! {
            _ = hangup.recv() => {
                running.reopen_ledger();
                "SIGHUP"
            }
            _ = ticks.tick() => {
                let now = stamps(&files);
                let settled = now == last;
                last = now;
                if last == installed || !settled {
                    continue;
                }
                "a file has changed"
            }
        };
        installed = stamps(&files);
        match reload(running, file, node) {
            Ok(read) => {
                if read != files {
                    files = read;
                    installed = stamps(&files);
                }
            }
            // A renewal that is half written when it is read is read again once it is whole.
            Err(failure) => tracing::error!(
                reason,
                error = failure.message(),
                hint = failure.hints(),
                "not reloaded: what was in effect stays in effect"
            ),
        }
        last.clone_from(&installed);
    }
}

fn files(deployment: &Deployment, file: &Path, node: &str) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::from([file.to_owned()]);
    if let Some(named) = deployment.node(node).and_then(|node| node.files.as_ref()) {
        files.extend([&named.certificate, &named.key, &named.roots].map(Clone::clone));
        files.extend(named.crl.clone());
    }
    files
}

fn reload(running: &Running, file: &Path, node: &str) -> Result<BTreeSet<PathBuf>, Failure> {
    let deployment = read(file).inspect_err(|_| running.reload_refused())?;
    let reloaded = running.reload(&deployment).map_err(|error| refused(&error))?;
    for what in &reloaded.needs_restart {
        tracing::warn!(
            hint = "restart this sidecar to apply it",
            "the deployment file changed {what}: the old is kept"
        );
    }
    tracing::info!("reloaded: new handshakes use what the files say now, and open connections are judged by it");
    Ok(files(&deployment, file, node))
}
