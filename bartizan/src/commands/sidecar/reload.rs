//! Reloads of certificates and the deployment file: on SIGHUP, when one of them has changed, and
//! again after a failure.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use bartizan_deployment::Deployment;
use bartizan_sidecar::Running;
use tokio::signal::unix::Signal;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

use super::refused;
use crate::Failure;
use crate::commands::deployment_file::read;
use crate::commands::fetching::Wake;
use crate::commands::watched::{EVERY, Watched};

/// Reads again whenever there is a reason, for as long as the sidecar runs.
pub(super) async fn keep(
    running: &Running,
    (file, node): (&Path, &str),
    mut watched: Watched,
    mut hangup: Signal,
    fetching: Option<Wake>,
) -> Infallible {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let reason = tokio::select! {
            _ = hangup.recv() => {
                running.reopen_ledger();
                // The thread stays for as long as this sender.
                let _ = fetching.as_ref().map(|fetching| fetching.send(()));
                "SIGHUP"
            }
            _ = ticks.tick() => match watched.due(Instant::now()) {
                Some(reason) => reason,
                None => continue,
            }
        };
        watched.reading();
        match reload(running, file, node).await {
            Ok(read) => {
                watched.are(read);
                watched.applied();
                running.applied();
            }
            Err(failure) => {
                watched.not_applied(reason, &failure, Instant::now());
                running.not_applied(&failure.message);
            }
        }
    }
}

/// The files that a sidecar reads again.
pub(super) fn files(deployment: &Deployment, file: &Path, node: &str) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::from([file.to_owned()]);
    if let Some(named) = deployment.node(node).and_then(|node| node.files.as_ref()) {
        files.extend(named.watched().cloned());
    }
    files
}

async fn reload(running: &Running, file: &Path, node: &str) -> Result<BTreeSet<PathBuf>, Failure> {
    let path = file.to_owned();
    // On a thread of its own: the file of a country takes a second, in which requests go on.
    let deployment = spawn_blocking(move || read(&path)).await.map_err(Failure::new);
    let deployment = Arc::new(deployment.flatten()?);
    let reloaded = running.reload(&deployment).await.map_err(|error| refused(&error))?;
    for what in &reloaded.needs_restart {
        tracing::warn!(
            hint = "restart this sidecar to apply it",
            "the deployment file changed {what}: the old is kept"
        );
    }
    tracing::info!("reloaded: new handshakes use what the files say now, and open connections are judged by it");
    let files = files(&deployment, file, node);
    spawn_blocking(move || drop(deployment));
    Ok(files)
}
