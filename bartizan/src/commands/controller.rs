//! `bartizan controller`: the deployment file and the certificates of namespaces of Kubernetes.

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

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use bartizan_controller::{Settings, manifests};
use bartizan_pki::Algorithm;
use http::StatusCode;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tracing_subscriber::EnvFilter;

use self::api::Api;
use self::external_issuer::ExternalIssuer;
use self::issuer::IssuerReference;
use self::issuing::Issuing;
use self::leader_election::LeaderElection;
use self::numbers::Numbers;
use self::objects::{Decoder, Kind, Signer};
use self::reconcile::{Left, Source, Turns};
use self::reflector::Watch;
use self::sidecar_status::SidecarStatus;
use self::store::Store;
use self::writing::Writing;
use crate::commands::ca::passphrase::PassphraseArgs;
use crate::commands::endpoint::{Answering, Endpoint};
use crate::commands::http_answer::{plain, typed};
use crate::commands::log;
use crate::output::print;
use crate::{Failure, Outcome};

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

/// Keep the deployment file and the nodes' certificates of namespaces of Kubernetes: by their Network and Exceptions, or a ConfigMap.
///
/// It issues by an authority of `bartizan ca` or asks an issuer of cert-manager, renews before certificates end, and reports by conditions. Of several controllers one acts, by a Lease. SIGTERM
/// releases it.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan controller --print-crds | kubectl apply --server-side --filename -\n  \
    bartizan controller --ca /var/lib/bartizan-ca/ca --namespace free5gc --listen 0.0.0.0:9444\n  \
    bartizan controller --issuer ClusterIssuer/core --issuer-root root.pem --namespace free5gc --listen 0.0.0.0:9444\n  \
    bartizan controller --ca ca --namespace free5gc --once --server https://127.0.0.1:6443 --ca-file ca.crt --token-file token")]
pub(crate) struct Args {
    /// Print the definitions of the resources Network and Exception, and end
    #[arg(long)]
    print_crds: bool,
    /// Directory of the authority that issues
    #[arg(long, value_name = "DIR", required_unless_present_any = ["print_crds", "issuer"])]
    ca: Option<PathBuf>,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    /// Issuer of cert-manager that certificates are asked of, instead of an authority: Issuer/NAME, ClusterIssuer/NAME, or KIND.GROUP/NAME
    #[arg(long, value_name = "KIND/NAME", conflicts_with_all = ["ca", "passphrase_file"])]
    issuer: Option<IssuerReference>,
    /// The issuer's root certificates, PEM. Without it whatever root it names is trusted
    #[arg(long, value_name = "FILE", requires = "issuer")]
    issuer_root: Option<PathBuf>,
    /// Kind of the keys that the issuer certifies: ecdsa-p256, ecdsa-p384, ed25519, and ml-dsa-44, -65, -87 where it is not cert-manager's own
    #[arg(long, value_name = "ALGORITHM", requires = "issuer", default_value = "ecdsa-p256")]
    key_algorithm: Algorithm,
    /// Namespace to keep; may be repeated. Default: all. Every user who may write a Network
    /// anywhere then gets certificates for any name
    #[arg(long, value_name = "NAMESPACE")]
    namespace: Vec<String>,
    /// Lifetime of certificates: 90d, 12h
    #[arg(long, value_name = "TIME", default_value = "90d", value_parser = lifetime)]
    lifetime: Duration,
    /// Time from renewal to expiry, at most two thirds of the lifetime. Default: a third
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    renew_before: Option<Duration>,
    /// ConfigMap with the deployment file under the key `deployment.yaml`
    #[arg(long, value_name = "NAME", default_value = "bartizan")]
    config_map: String,
    /// Prefix of the node's name in the name of its Secret
    #[arg(long, value_name = "PREFIX", default_value = "bartizan-")]
    secret_prefix: String,
    /// Do not ask sidecars what they carry: Networks have no condition `Protected`
    #[arg(long)]
    no_state: bool,
    /// Namespace of the Lease. Default: this pod's
    #[arg(long, value_name = "NAMESPACE")]
    lease_namespace: Option<String>,
    /// Serve /live, /ready and /metrics there
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Write what is to be written now, and end: exit code 1 where something is refused or missing
    #[arg(long)]
    once: bool,
    /// The API server. Default: that of the cluster this pod runs in
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Roots of the API server's certificate, PEM
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Token of a ServiceAccount, read for each request
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

fn lifetime(text: &str) -> Result<Duration, String> {
    let lifetime = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if (Duration::from_secs(3_600)..=Duration::from_secs(365 * 86_400)).contains(&lifetime) {
        Ok(lifetime)
    } else {
        Err("from 1h to 365d".to_owned())
    }
}

pub(crate) fn run(args: Args) -> Result<Outcome, Failure> {
    if args.print_crds {
        let definitions = manifests().map_err(Failure::new)?;
        let texts: Vec<_> = definitions.into_iter().map(|one| one.text).collect();
        print(&texts.join("---\n"))?;
        return Ok(Outcome::Clean);
    }
    log::start(EnvFilter::try_from_env("BARTIZAN_LOG").unwrap_or_else(|_| EnvFilter::new("info")));
    let api = Api::new(args.server.as_deref(), args.ca_file.clone(), args.token_file.clone())?;
    let source = match (args.issuer.clone(), args.ca.clone()) {
        (Some(issuer), _) => {
            let asking = ExternalIssuer::new(issuer, args.issuer_root.clone(), args.key_algorithm, args.lifetime)?;
            Source::Issuer(Box::new(asking))
        }
        (None, _) if args.issuer_root.is_some() => {
            return Err(Failure::usage("--issuer-root FILE is for --issuer KIND/NAME"));
        }
        (None, Some(dir)) => {
            let issuing = Issuing::open(dir, args.passphrase.given()?, args.lifetime, SystemTime::now())?;
            Source::Authority(Some(Box::new(issuing)))
        }
        (None, None) => return Err(Failure::usage("--ca DIR or --issuer KIND/NAME is required")),
    };
    let endpoint = args
        .listen
        .map(|listen| Endpoint::bind("--listen", listen))
        .transpose()?;
    if args.namespace.is_empty() {
        tracing::warn!(
            "all namespaces are kept: whoever may write a Network in any of them gets certificates for any name"
        );
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(4)
        .build()
        .map_err(|error| Failure::new(format!("cannot start: {error}")))?;
    runtime.block_on(serve(args, Arc::new(api), source, endpoint))
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

async fn serve(args: Args, api: Arc<Api>, source: Source, endpoint: Option<Endpoint>) -> Result<Outcome, Failure> {
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
        Source::Authority(issuing) => {
            Signer::Authority(issuing.iter().flat_map(|one| one.certificate()).copied().collect())
        }
        Source::Issuer(asking) => Signer::Issuer(asking.reference()),
    };
    let decoder = Arc::new(Decoder { signer });
    let (changes, mut changed) = mpsc::channel(QUEUE);
    let scopes: Vec<Option<String>> = match args.namespace.is_empty() {
        true => vec![None],
        false => args.namespace.iter().cloned().map(Some).collect(),
    };
    for namespace in &scopes {
        for kind in KINDS {
            let watch = Watch {
                api: Arc::clone(&api),
                decoder: Arc::clone(&decoder),
                numbers: Arc::clone(&numbers),
                kind,
                namespace: namespace.clone(),
                config_map: args.config_map.clone(),
                changes: changes.clone(),
            };
            tokio::spawn(watch.run());
        }
    }
    let lease = args
        .lease_namespace
        .clone()
        .or_else(Api::own_namespace)
        .ok_or_else(|| {
            Failure::usage("this is no pod of a cluster, so it has no namespace for the Lease")
                .hint("--lease-namespace NAMESPACE")
        })?;
    let (leading, until) = LeaderElection::new(Arc::clone(&api), Arc::clone(&numbers), lease, &identity());
    let (end, ended) = watch::channel(false);
    let leading = tokio::spawn(leading.run(ended));
    let mut turns = Turns {
        api: Arc::clone(&api),
        numbers: Arc::clone(&numbers),
        writing: Writing {
            api,
            decoder,
            numbers,
            config_map: args.config_map.clone(),
        },
        settings: Settings {
            config_map: args.config_map,
            secret_prefix: args.secret_prefix,
            renew_before: args.renew_before,
            state: !args.no_state,
            ..Settings::default()
        },
        source,
        scopes: scopes.clone(),
        leading: until,
        first: 0,
    };
    let states = (!args.no_state && !args.once).then(|| SidecarStatus::new(changes.clone()));
    let working = work(&mut turns, &mut changed, &life, states, args.once);
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
