//! The API server around `bartizan-controller`: objects of namespaces are followed, turns of the
//! leader judge them, and what is to be written is written.
//!
//! Certificates are issued by an authority of `bartizan ca`, or asked of an issuer of cert-manager.
#![forbid(unsafe_code)]

mod answers;
mod api;
mod external_issuer;
mod issuer;
mod issuing;
mod leader_election;
mod numbers;
mod objects;
mod reconcile;
mod reflector;
mod requests;
mod sidecar_status;
mod store;
mod writing;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use bartizan_controller::Settings;
use bartizan_pki::{Algorithm, Secrets};
use bartizan_server::{Answering, Endpoint, plain, typed};
use bartizan_terminal::{Failure, Outcome};
use http::StatusCode;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};

use crate::external_issuer::ExternalIssuer;
use crate::issuing::Issuing;
use crate::leader_election::LeaderElection;
use crate::numbers::Numbers;
use crate::objects::{Decoder, Kind, Signer};
use crate::reconcile::{Left, Source, Turns};
use crate::reflector::Watch;
use crate::sidecar_status::SidecarStatus;
use crate::store::Store;
use crate::writing::Writing;

pub use api::Api;
pub use issuer::IssuerReference;

/// Followed of each namespace.
const KINDS: [Kind; 5] = [Kind::Network, Kind::Exception, Kind::ConfigMap, Kind::Secret, Kind::Pod];
/// All namespaces are judged again after so long, whatever happened.
const ROUND: Duration = Duration::from_secs(60);
/// After a change others mostly follow.
const GATHER: Duration = Duration::from_secs(1);
/// Between two turns of which the first left something.
const PAUSE: Duration = Duration::from_secs(5);
/// Changes that wait to be looked at.
const QUEUE: usize = 256;
/// `--once` ends after so many turns, or so long without the first list.
const TURNS: usize = 2_000;
const FIRST_LIST: Duration = Duration::from_secs(60);
/// Without a sign of life for so long, `/live` is 503.
const SILENT: Duration = Duration::from_secs(300);

/// Namespaces to keep and their objects.
#[derive(Debug, Clone)]
pub struct Options {
    /// Namespaces that are kept; empty: all.
    pub namespaces: Vec<String>,
    /// Names in a namespace, and when certificates are renewed.
    pub settings: Settings,
    /// Name of the Lease, by which one of several controllers of the same namespaces acts.
    pub lease: String,
    /// Namespace of the Lease; none: this pod's.
    pub lease_namespace: Option<String>,
    /// One round of writes, instead of an endless loop.
    pub once: bool,
}

/// Source of the nodes' certificates.
pub struct Certificates(Source);

impl std::fmt::Debug for Certificates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Certificates")
    }
}

impl Certificates {
    /// An authority of `bartizan ca`, in this directory.
    ///
    /// # Errors
    /// The authority's.
    pub fn authority(dir: PathBuf, secrets: Secrets, lifetime: Duration) -> Result<Self, bartizan_pki::Error> {
        let issuing = Issuing::open(dir, secrets, lifetime, SystemTime::now())?;
        Ok(Self(Source::Authority(Some(Box::new(issuing)))))
    }

    /// An issuer of cert-manager, with its roots (PEM) where they are given.
    ///
    /// # Errors
    /// The issuer signs no such key, or its roots cannot be read.
    pub fn issuer(
        issuer: IssuerReference,
        roots: Option<PathBuf>,
        algorithm: Algorithm,
        lifetime: Duration,
    ) -> Result<Self, Failure> {
        let asking = ExternalIssuer::new(issuer, roots, algorithm, lifetime)?;
        Ok(Self(Source::Issuer(Box::new(asking))))
    }
}

/// Keeps the namespaces until SIGTERM or SIGINT; with `once` until nothing is left to do.
///
/// # Errors
/// No runtime, no namespace for the Lease, or with `once` no answer of the API server in time.
pub fn run(
    options: Options,
    api: Api,
    certificates: Certificates,
    endpoint: Option<Endpoint>,
) -> Result<Outcome, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(4)
        .build()
        .map_err(|error| Failure::new(format!("cannot start: {error}")))?;
    runtime.block_on(serve(options, Arc::new(api), certificates.0, endpoint))
}

/// State behind `/live` and `/ready`.
struct Life {
    began: Instant,
    /// Milliseconds since then when the loop last turned round.
    seen: AtomicU64,
    /// 1 when everything was listed.
    whole: AtomicU64,
}

fn answering(life: Arc<Life>, numbers: Arc<Numbers>) -> Answering {
    Arc::new(move |head| match head.uri.path() {
        "/metrics" => typed(
            StatusCode::OK,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            numbers.text(),
        ),
        "/live" => {
            let seen = Duration::from_millis(life.seen.load(Ordering::Relaxed));
            match life.began.elapsed().saturating_sub(seen) < SILENT {
                true => plain(StatusCode::OK, "live\n"),
                false => plain(StatusCode::SERVICE_UNAVAILABLE, "no turn for minutes\n"),
            }
        }
        "/ready" => match life.whole.load(Ordering::Relaxed) {
            0 => plain(StatusCode::SERVICE_UNAVAILABLE, "objects are not listed yet\n"),
            _ => plain(StatusCode::OK, "ready\n"),
        },
        _ => plain(StatusCode::NOT_FOUND, "/live, /ready, /metrics\n"),
    })
}

async fn serve(
    options: Options,
    api: Arc<Api>,
    source: Source,
    endpoint: Option<Endpoint>,
) -> Result<Outcome, Failure> {
    let cannot_catch = |error| Failure::new(format!("cannot catch signals: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot_catch)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot_catch)?;
    let numbers = Arc::new(Numbers::new());
    let life = Arc::new(Life {
        began: Instant::now(),
        seen: AtomicU64::new(0),
        whole: AtomicU64::new(0),
    });
    let address = endpoint.as_ref().and_then(Endpoint::address);
    let _serving = endpoint.map(|endpoint| endpoint.serve(answering(Arc::clone(&life), Arc::clone(&numbers))));
    if let Some(address) = address {
        tracing::info!(%address, "serving /live, /ready, /metrics");
    }
    let signer = match &source {
        Source::Authority(issuing) => Signer::Authority(issuing.iter().flat_map(|one| &one.issuing).copied().collect()),
        Source::Issuer(asking) => Signer::Issuer(asking.reference()),
    };
    let decoder = Arc::new(Decoder { signer });
    let (changes, mut changed) = mpsc::channel(QUEUE);
    let scopes: Vec<Option<String>> = match options.namespaces.is_empty() {
        true => vec![None],
        false => options.namespaces.iter().cloned().map(Some).collect(),
    };
    for namespace in &scopes {
        for kind in KINDS {
            let watch = Watch {
                api: Arc::clone(&api),
                decoder: Arc::clone(&decoder),
                numbers: Arc::clone(&numbers),
                kind,
                namespace: namespace.clone(),
                config_map: options.settings.config_map.clone(),
                changes: changes.clone(),
            };
            tokio::spawn(watch.run());
        }
    }
    let namespace = options
        .lease_namespace
        .clone()
        .or_else(Api::own_namespace)
        .ok_or_else(|| {
            Failure::usage("this is no pod of a cluster, so it has no namespace for the Lease")
                .hint("--lease-namespace NAMESPACE")
        })?;
    let (leading, until) = LeaderElection::new(
        Arc::clone(&api),
        Arc::clone(&numbers),
        (namespace, options.lease),
        &identity(),
    );
    let (end, ended) = watch::channel(false);
    let leading = tokio::spawn(leading.run(ended));
    let state = options.settings.state;
    let mut turns = Turns {
        api: Arc::clone(&api),
        numbers: Arc::clone(&numbers),
        writing: Writing {
            api,
            decoder,
            numbers,
            config_map: options.settings.config_map.clone(),
        },
        settings: options.settings,
        source,
        scopes: scopes.clone(),
        leading: until,
        first: 0,
        kept: BTreeMap::new(),
    };
    let states = (state && !options.once).then(|| SidecarStatus::new(changes.clone()));
    let working = work(&mut turns, &mut changed, &life, states, options.once);
    let outcome = tokio::select! {
        outcome = working => outcome,
        _ = terminate.recv() => Ok(Outcome::Clean),
        _ = interrupt.recv() => Ok(Outcome::Clean),
    };
    end.send_replace(true);
    let _ = timeout(Duration::from_secs(8), leading).await;
    tracing::info!("stopped");
    outcome
}

/// Takes changes, and turns; with `once` until nothing is left to do.
async fn work(
    turns: &mut Turns,
    changed: &mut mpsc::Receiver<reflector::Change>,
    life: &Life,
    states: Option<SidecarStatus>,
    once: bool,
) -> Result<Outcome, Failure> {
    let mut store = Store::default();
    let scopes = turns.scopes.len();
    let mut ask = Instant::now();
    let mut next = Instant::now();
    let mut round = Instant::now();
    let mut taken = 0;
    let mut announced = false;
    // Work left by a turn waits, however many changes the turn's own writes cause.
    let mut not_before = Instant::now();
    let mut leading = turns.leading.clone();
    let mut was_leading = false;
    loop {
        life.seen.store(
            u64::try_from(life.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            Ordering::Relaxed,
        );
        tokio::select! {
            change = changed.recv() => {
                let Some(change) = change else { return Err(Failure::new("nothing is followed any more")) };
                store.take(change);
                while let Ok(change) = changed.try_recv() {
                    store.take(change);
                }
                if store.is_whole(KINDS.len(), scopes) {
                    life.whole.store(1, Ordering::Relaxed);
                    if !announced {
                        announced = true;
                        tracing::info!(namespaces = store.namespaces.len(), "ready: everything is listed");
                    }
                }
                if store.namespaces.values().any(|namespace| namespace.changed) {
                    next = next.min(Instant::now() + GATHER).max(not_before);
                }
                continue;
            }
            _ = leading.changed() => {
                // It is renewed all the time; only a change of hands matters.
                if was_leading != turns.is_leading() {
                    was_leading = !was_leading;
                    if !was_leading {
                        turns.forget(&mut store);
                    }
                    next = Instant::now();
                    round = next;
                }
                continue;
            }
            () = sleep_until(ask), if states.is_some() && was_leading => {
                if let Some(states) = &states {
                    states.ask(&mut store);
                }
                ask = Instant::now() + sidecar_status::PAUSE;
                continue;
            }
            () = sleep_until(next) => {}
        }
        next = Instant::now() + ROUND;
        if !store.is_whole(KINDS.len(), scopes) || !turns.is_leading() {
            next = Instant::now() + GATHER;
            if once && life.began.elapsed() > FIRST_LIST {
                return Err(Failure::new(
                    "the API server did not list everything, or another controller holds the Lease",
                )
                .hint("BARTIZAN_LOG=debug shows what it answers"));
            }
            continue;
        }
        let all = round <= Instant::now();
        if all {
            round = Instant::now() + ROUND;
            turns.look_at_others(&mut store).await;
        }
        let left = turns.turn(&mut store, all || once).await?;
        taken += 1;
        if left.waiting > 0 {
            next = Instant::now() + PAUSE;
            not_before = next;
        }
        if once && (left == Left::default() || taken == TURNS) {
            let good = |namespace: &store::Namespace| {
                namespace.complaint.is_none() && namespace.counted.0 == namespace.counted.1
            };
            let refused = store.namespaces.values().any(|namespace| !good(namespace));
            return Ok(if refused { Outcome::Finding } else { Outcome::Clean });
        }
        if once {
            next = Instant::now() + GATHER;
        }
    }
}

/// A name that no other process has or had.
fn identity() -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "controller".to_owned());
    let random = (reflector::chance() * f64::from(u32::MAX)) as u32;
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    format!("{host}_{}_{random:08x}{:08x}", std::process::id(), since & 0xffff_ffff)
}
