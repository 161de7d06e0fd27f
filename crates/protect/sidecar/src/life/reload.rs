//! New certificates and policies for a running sidecar.

use std::sync::Arc;

use bartizan_deployment::{Deployment, HttpUrl, Sidecar};
use bartizan_tls::Endpoint;
use tokio::task::spawn_blocking;

use crate::admin::config;
use crate::admin::state::State;
use crate::error::Error;
use crate::life::review;
use crate::routing::peers::Upstreams;
use crate::runtime::pages;
use crate::shared::Patience;
use crate::sidecar::{Running, find, log_certificates, log_flaws, patience, remember_lists};

/// The outcome of a reload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// Changes of the deployment file that only a restart applies; the old values are kept.
    pub needs_restart: Vec<&'static str>,
}

/// Everything of a reload that can fail or takes long.
struct Prepared {
    reloaded: Reloaded,
    old: Endpoint,
    endpoint: Endpoint,
    patience: Patience,
    config: serde_json::Value,
    /// A certificate of the node is another one.
    renewed: bool,
}

impl Running {
    /// Reads certificate, key, roots and revocation lists that `deployment` names again, and puts them and its policies in
    /// effect for new handshakes, and for open connections: each is judged again, and one that would be refused now ends once its
    /// requests have, at the latest after `limits.drain`.
    ///
    /// The others with requests under way go on; those kept open or ready are replaced. Must be
    /// called within a tokio runtime: a hub with thousands of peers takes seconds to prepare, on a
    /// thread of its own.
    ///
    /// # Errors
    /// Fails if anything of it could not be started with: everything old stays in effect then.
    pub async fn reload(&self, deployment: &Arc<Deployment>) -> Result<Reloaded, Error> {
        let state = Arc::clone(&self.state);
        let (deployment, settings) = (Arc::clone(deployment), self.settings.clone());
        let (upstreams, url) = (Arc::clone(&self.upstreams), self.crl_url.clone());
        let prepare = move || prepare(&state, &deployment, (settings.as_ref(), url.as_ref()), &upstreams);
        let prepared = spawn_blocking(prepare).await;
        let prepared = prepared.unwrap_or_else(|error| Err(Error::Thread { source: error.into() }));
        Ok(self.put_in_effect(prepared?))
    }

    /// Counts and shows a reload that failed, for this cause: the files hold something that is not
    /// in effect.
    pub fn not_applied(&self, cause: &str) {
        self.state.shared.metrics.reloaded("refused");
        self.state.set_not_applied(Some(cause.to_owned()));
    }

    /// Returns the report of attempts to fetch revocation lists: the cause of a failure, or none.
    pub fn fetched(&self) -> impl Fn(Option<&str>) + Send + 'static {
        let state = Arc::clone(&self.state);
        move |cause| state.set_not_fetched(cause.map(str::to_owned))
    }

    /// Counts a reload: the files and what is in effect agree.
    pub fn applied(&self) {
        self.state.shared.metrics.reloaded("done");
        self.state.set_not_applied(None);
    }

    fn put_in_effect(&self, prepared: Prepared) -> Reloaded {
        let shared = &self.state.shared;
        // Before a peer that is new can begin an association.
        shared.set_patience(prepared.patience);
        shared.endpoint.replace(prepared.endpoint);
        self.state.set_config(prepared.config);
        self.worker.renew();
        self.other_workers.renew();
        self.state.renew();
        if prepared.renewed {
            shared.associations.renew();
        }
        let state = Arc::clone(&self.state);
        tokio::spawn(async move { review::all(&state).await });
        spawn_blocking(move || drop(prepared.old));
        pages::give_back_code();
        prepared.reloaded
    }
}

fn prepare(
    state: &State,
    deployment: &Deployment,
    (settings, crl_url): (Option<&Sidecar>, Option<&HttpUrl>),
    upstreams: &Upstreams,
) -> Result<Prepared, Error> {
    let shared = &state.shared;
    let node = find(deployment, shared.node.as_str())?;
    let name = node.name.as_str();
    let no_sidecar = || Error::no_sidecar(node);
    if node.sidecar.is_none() {
        return Err(no_sidecar());
    }
    let old = shared.endpoint.endpoint();
    let files = node.files.as_ref().ok_or_else(no_sidecar)?;
    let credentials = old.credentials().load_again(files)?;
    credentials.check_identity(&node.identity)?;
    let peers = bartizan_tls::peers(deployment, name);
    let endpoint = if peers == old.peers() {
        old.with_credentials(credentials)?
    } else {
        Endpoint::new(credentials, peers)?
    };

    let (before, mut flaws) = (old.flaws(), endpoint.flaws());
    // Logged once: what was wrong before has been.
    flaws.retain(|flaw| !before.contains(flaw));
    let leaves = |endpoint: &Endpoint| -> Vec<_> {
        let own = endpoint.credentials().own().iter();
        own.filter_map(|own| own.chain().first().cloned()).collect()
    };
    let renewed = leaves(&old) != leaves(&endpoint);
    if renewed {
        log_certificates(&endpoint);
    }
    log_flaws(&flaws);
    remember_lists(endpoint.credentials());
    let mut reloaded = Reloaded::default();
    if node.sidecar.as_ref() != settings {
        reloaded.needs_restart.push("listeners, admin port, ledger or limits");
    }
    if files.crl_url.as_ref() != crl_url {
        reloaded.needs_restart.push("where revocation lists are fetched");
    }
    if Upstreams::of(deployment, name, None) != *upstreams {
        reloaded.needs_restart.push("where peers are reached");
    }
    Ok(Prepared {
        patience: patience(deployment, name),
        config: config::in_effect(deployment, node, &endpoint, settings, &reloaded.needs_restart),
        reloaded,
        old,
        endpoint,
        renewed,
    })
}
