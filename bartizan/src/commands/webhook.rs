//! `bartizan webhook`: redirect and sidecar for pods of Kubernetes, on request of its API server.

mod identity;
mod server;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bartizan_inject::{ADMIN_PORT, Exemption, Settings};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use self::identity::Identity;
use self::server::{Phase, Server};
use crate::commands::log;
use crate::{Failure, Outcome};

/// Time for connections to get their last answer, once no new connection is accepted.
const LAST_ANSWERS: Duration = Duration::from_secs(10);

/// Answer the API server of Kubernetes: put redirect and sidecar into the pods of namespaces that opted in, or refuse the pod.
///
/// It needs no right in the cluster: it reads the review it is sent, and answers. SIGTERM ends it: it is not ready, serves for as long as --drain says, and
/// ends when the last answer is sent. A changed certificate is read by itself.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan webhook --certificate tls.crt --key tls.key --image registry.5gc/bartizan-sidecar:0.1.0 --redirect-image registry.5gc/bartizan-redirect:0.1.0\n\n\
    Served by HTTPS: POST /inject (AdmissionReview of admission.k8s.io/v1), GET /live, GET /ready.")]
pub(crate) struct Args {
    /// Address to listen at
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 9443))]
    listen: SocketAddr,
    /// Certificate for the name of the Service, PEM, leaf first: ECDSA, since API servers verify no ML-DSA
    #[arg(long, value_name = "FILE")]
    certificate: PathBuf,
    /// Its key, PEM
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Image of the sidecar
    #[arg(long, value_name = "IMAGE", value_parser = image)]
    image: String,
    /// Image of the redirect, which has nft and ip as well
    #[arg(long, value_name = "IMAGE", value_parser = image)]
    redirect_image: String,
    /// ConfigMap in the namespace of each pod: its key `deployment.yaml` is the deployment file
    #[arg(long, value_name = "NAME", default_value = "bartizan", value_parser = name)]
    config_map: String,
    /// Prefix of the node's name in the name of the Secret with tls.crt, tls.key, ca.crt and, where
    /// there is one, ca.crl
    #[arg(long, value_name = "PREFIX", default_value = "bartizan-", value_parser = prefix)]
    secret_prefix: String,
    /// Port of the sidecars' admin listeners, as the deployment file has it
    #[arg(long, value_name = "PORT", default_value_t = ADMIN_PORT, value_parser = clap::value_parser!(u16).range(1..))]
    admin_port: u16,
    /// Requests of each of the two containers: cpu=50m,memory=64Mi
    #[arg(long, value_name = "QUANTITIES", value_delimiter = ',', value_parser = quantity)]
    requests: Vec<(String, String)>,
    /// Limits of each of the two containers: memory=256Mi
    #[arg(long, value_name = "QUANTITIES", value_delimiter = ',', value_parser = quantity)]
    limits: Vec<(String, String)>,
    /// Refuse pods that their annotation leaves out
    #[arg(long)]
    mandatory: bool,
    /// Time to serve after SIGTERM, until no API server connects any more, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(..=300))]
    drain: u64,
}

pub(crate) fn run(args: Args) -> Result<Outcome, Failure> {
    log::start(log::info());
    let identity = Identity::load(args.certificate, args.key)?;
    let settings = Settings {
        image: args.image,
        redirect_image: args.redirect_image,
        config_map: args.config_map,
        secret_prefix: args.secret_prefix,
        admin_port: args.admin_port,
        requests: args.requests.into_iter().collect(),
        limits: args.limits.into_iter().collect(),
        exemption: if args.mandatory {
            Exemption::Refused
        } else {
            Exemption::Allowed
        },
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start: {error}")))?;
    runtime.block_on(serve(args.listen, Duration::from_secs(args.drain), identity, settings))
}

async fn serve(
    listen: SocketAddr,
    drain: Duration,
    identity: Identity,
    settings: Settings,
) -> Result<Outcome, Failure> {
    let cannot_catch = |error| Failure::new(format!("cannot catch signals: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot_catch)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot_catch)?;
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| Failure::new(format!("--listen {listen}: {error}")).hint("choose a free port of this host"))?;
    let address = listener.local_addr().unwrap_or(listen);
    tracing::info!(
        image = settings.image,
        redirect_image = settings.redirect_image,
        "what pods get"
    );
    let (end, phase) = watch::channel(Phase::Serving);
    let server = Arc::new(Server::new(identity, settings, phase));
    tracing::info!(%address, "ready: POST /inject");
    tokio::select! {
        never = server.accept(&listener) => match never {},
        never = server.keep_identity() => match never {},
        signal = wait(&mut terminate, &mut interrupt) => tracing::info!(signal, "draining"),
    }
    // Connections that still arrive are served.
    end.send_replace(Phase::Draining);
    tokio::select! {
        never = server.accept(&listener) => match never {},
        () = tokio::time::sleep(drain) => {}
        signal = wait(&mut terminate, &mut interrupt) => tracing::warn!(signal, "nothing new is accepted"),
    }
    drop(listener);
    end.send_replace(Phase::Ending);
    if tokio::time::timeout(LAST_ANSWERS, server.last_answers()).await.is_err() {
        tracing::warn!("closed connections that had not ended in time");
    }
    tracing::info!("stopped");
    Ok(Outcome::Clean)
}

async fn wait(terminate: &mut Signal, interrupt: &mut Signal) -> &'static str {
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    }
}

/// An image's name is whatever the runtime takes; blanks and control characters are a typing error.
fn image(text: &str) -> Result<String, String> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("an image is named as in registry.5gc/bartizan-sidecar:0.1.0".to_owned());
    }
    Ok(text.to_owned())
}

/// The name of an object (RFC 1123).
fn name(text: &str) -> Result<String, String> {
    let alphanumeric = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    if !alphanumeric(text.as_bytes().last()) {
        return Err("a name ends with a letter or a digit".to_owned());
    }
    prefix(text)
}

/// A resource with its quantity. Whether it is one of Kubernetes' suffixes the API server says.
fn quantity(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(resource, quantity)| {
        ["cpu", "memory", "ephemeral-storage"].contains(resource)
            && quantity.bytes().next().is_some_and(|byte| byte.is_ascii_digit())
            && quantity
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
    });
    let (resource, quantity) =
        parts.ok_or("write cpu=50m, memory=64Mi or ephemeral-storage=1Gi, separated by commas")?;
    Ok((resource.to_owned(), quantity.to_owned()))
}

/// Prefix of a name.
fn prefix(text: &str) -> Result<String, String> {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    let begins = text
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if !begins || !text.bytes().all(allowed) || text.len() > 128 {
        return Err("letters in lower case, digits, hyphens and dots, at most 128".to_owned());
    }
    Ok(text.to_owned())
}
