//! Certificate, key, roots, revocation lists and pre-shared keys that `up` reads again while it
//! stays.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use bartizan_deployment::IkeEngine;
use bartizan_ipsec::render::{Credentials, Means};
use bartizan_ipsec::watch::Overdue;
use bartizan_ipsec::{Metrics, drive};

use super::failed;
use super::node::{IpsecHost, links};
use crate::Failure;
use crate::commands::watched::Watched;

/// Time for an IKE_SA of charon to be replaced by one that is authenticated by new revocation
/// lists: longer than charon asks a peer that does not answer.
const REPLACED: Duration = Duration::from_secs(30);

/// The files of a node as they stand; to be called before they are read.
pub(super) fn watched(host: &IpsecHost) -> Watched {
    let own = &host.files;
    let mut files: BTreeSet<PathBuf> = [&own.certificate, &own.key, &own.roots].map(Clone::clone).into();
    files.extend(own.crl.clone());
    let links = host.deployment.ipsec_links(&host.node);
    files.extend(links.filter_map(|(.., link)| Some(link.ppk.as_ref()?.file.clone())));
    Watched::new(files)
}

/// Loads files that have changed, until `stop` says so. SAs that stand are judged by them too.
pub(super) fn keep(
    host: &IpsecHost,
    means: Means,
    mut credentials: Credentials,
    mut watched: Watched,
    (metrics, overdue): (&Metrics, &Overdue),
    stop: &dyn Fn() -> bool,
) {
    let hint = "name a folder for them: `trust: { state: FOLDER }`";
    if host.files.crl.is_some() && credentials.known_lists().is_none() {
        tracing::info!(
            hint,
            "revocation lists are remembered by this process alone: an older list is accepted after a restart"
        );
    }
    remember(&credentials, metrics);
    watched.each_change(stop, || {
        let read = again(host, means, &credentials, overdue);
        metrics.reload_pending(read.is_err());
        credentials = read?;
        remember(&credentials, metrics);
        tracing::info!("reloaded: SAs are judged by what the files say now");
        Ok(())
    });
}

fn again(host: &IpsecHost, means: Means, before: &Credentials, overdue: &Overdue) -> Result<Credentials, Failure> {
    let (credentials, connections) = host.rendered(means, Some(before))?;
    for flaw in host.flaws(&credentials)? {
        tracing::warn!(file = %flaw.file.display(), hint = flaw.hint, "{}", flaw.cause);
    }
    let _lock = host.lock()?;
    let mut client = host.client()?;
    let failed = |error| failed(&error);
    // Connections that `down` has unloaded stay unloaded.
    let loaded = drive::list_connections(&mut client).map_err(failed)?;
    let mut links = links(&connections);
    links.retain(|link| loaded.contains(&link.name));
    drive::load(&mut client, credentials.load(), &links, &|_| ()).map_err(failed)?;
    // The engine of Bartizan judges what stands by itself.
    let has_lost_a_root = credentials.lacks_a_root_of(before);
    if host.files.engine == IkeEngine::Strongswan && (has_lost_a_root || !credentials.has_lists_of(before)) {
        let names: Vec<_> = links.into_iter().map(|link| link.name).collect();
        let old = drive::established(&mut client, &names).map_err(failed)?;
        if has_lost_a_root {
            // charon would authenticate peers anew by the roots that it knew when the IKE_SA began.
            overdue.replace(&old, Duration::ZERO);
        } else {
            overdue.replace(&old, REPLACED);
            drive::reauthenticate(&mut client, &old).map_err(failed)?;
        }
    }
    Ok(credentials)
}

fn remember(credentials: &Credentials, metrics: &Metrics) {
    metrics.older_lists(credentials.older_lists().len());
    if let Err(error) = credentials.remember_lists() {
        let hint = "let this user write in the folder `trust: { state }`: until then an older list is accepted after a restart";
        tracing::error!(%error, hint, "the newest revocation lists are not remembered");
    }
}
