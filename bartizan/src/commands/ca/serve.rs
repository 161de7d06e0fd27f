//! `bartizan ca serve`: enrolment over HTTP.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bartizan_authority::{Audit, Error, Limits, Protocol, Service, serve};
use bartizan_pki::AlternativeName;
use bartizan_sidecar::handover::Notify;
use tokio::net::TcpListener;

use super::AuthorityArgs;
use super::failure::failure;
use crate::interrupt::Interrupt;
use crate::outcome::{Failure, Outcome};
use crate::output::{errln, outln};

/// Interval for checking the certificate that signs answers and for dropping expired entries.
const ROUND: Duration = Duration::from_secs(60);

/// Answer enrolments by CMP over HTTP and by EST over TLS: first certificates by invitations, further ones by the certificate that ends, revocations; and give
/// root and revocation lists to anybody.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan ca serve --dir ca --dns ca.5gc --listen 10.0.0.1:8829\n\n\
    bartizan ca serve --dir ca --dns ca.5gc --listen 10.0.0.1:8829 --est 10.0.0.1:8443\n\n\
    Served: POST /.well-known/cmp (also /pkix/), GET /ca.crt.pem, GET /crl.pem, GET /crl.der;\n\
    by --est: /.well-known/est/cacerts, simpleenroll, simplereenroll.\n\
    CMP protects its messages itself: TLS around it hides names, and adds no trust.")]
pub(super) struct Args {
    #[command(flatten)]
    authority: AuthorityArgs,
    /// Address to listen at
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8829))]
    listen: SocketAddr,
    /// Address to listen at for EST too: TLS 1.3 with quantum-safe groups
    #[arg(long, value_name = "ADDRESS:PORT")]
    est: Option<SocketAddr>,
    /// DNS name in the certificate by which answers are signed; may be repeated
    #[arg(long, value_name = "NAME", required = true, value_parser = AlternativeName::dns)]
    dns: Vec<AlternativeName>,
    /// Append a line of JSON for each request to this file; DIR/audit.jsonl where it is left out
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    /// Requests that one address may make in a minute
    #[arg(long, value_name = "NUMBER", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rate: u32,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    crate::commands::ipsec::start_log();
    let interrupt = Interrupt::install()?;
    let (authority, secrets) = args.authority.open_and_keep(SystemTime::now())?;
    let path = args
        .audit
        .clone()
        .unwrap_or_else(|| args.authority.at.dir.join("audit.jsonl"));
    let audit = Audit::open(&path).map_err(|error| {
        Failure::new(format!("cannot open {}: {error}", path.display())).hint("--audit FILE names another file")
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start: {error}")))?;
    let systemd = Notify::from_environment();
    runtime.block_on(async {
        let cmp = bind("--listen", args.listen).await?;
        let est = match args.est {
            Some(address) => Some(bind("--est", address).await?),
            None => None,
        };
        // It issues the responder's certificate: a start that fails, again and again, leaves none behind.
        let service = Service::new(
            args.authority.at.dir.clone(),
            secrets,
            authority,
            args.dns.clone(),
            audit,
        )
        .map_err(|error| match error {
            Error::Authority(error) => failure(error),
            Error::Other(why) => Failure::new(why),
        })?;
        let service = Arc::new(service);
        outln!("enrolment on http://{}/.well-known/cmp", bound(&cmp, args.listen));
        if let (Some(listener), Some(address)) = (&est, args.est) {
            outln!("enrolment on https://{}/.well-known/est", bound(listener, address));
        }
        // Clients may send requests from now on.
        systemd.ready();
        let limits = Limits::new(args.rate);
        let by_est = async {
            match est {
                Some(listener) => serve(listener, Protocol::Est, Arc::clone(&service), limits.clone()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = serve(cmp, Protocol::Cmp, Arc::clone(&service), limits.clone()) => {}
            () = by_est => {}
            () = rounds(&service) => {}
            () = asked(&interrupt) => {}
            never = systemd.keep_alive(async || service.answers().await) => match never {},
        }
        Ok::<(), Failure>(())
    })?;
    systemd.stopping();
    // Requests under way run on threads of their own. They get no answer; a repeated request gets
    // the certificate that was issued.
    runtime.shutdown_timeout(Duration::from_secs(5));
    errln!("ended");
    Ok(Outcome::Clean)
}

async fn bind(option: &str, address: SocketAddr) -> Result<TcpListener, Failure> {
    let listener = TcpListener::bind(address).await.map_err(|error| {
        Failure::new(format!("{option} {address}: {error}")).hint("choose a free port of this host")
    })?;
    if address.ip().is_unspecified() {
        errln!("note: listening on every address of this host");
    }
    Ok(listener)
}

fn bound(listener: &TcpListener, asked: SocketAddr) -> SocketAddr {
    listener.local_addr().unwrap_or(asked)
}

async fn rounds(service: &Arc<Service>) {
    loop {
        tokio::time::sleep(ROUND).await;
        let service = Arc::clone(service);
        let _ = tokio::task::spawn_blocking(move || service.round(SystemTime::now())).await;
    }
}

async fn asked(interrupt: &Interrupt) {
    while !interrupt.asked() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
