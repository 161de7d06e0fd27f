//! `bartizan ca serve`: enrolment over HTTP.

mod audit;
mod http;
mod rate;
mod service;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bartizan_pki::AlternativeName;
use tokio::net::TcpListener;

use super::AuthorityArgs;
use crate::interrupt::Interrupt;
use crate::outcome::{Failure, Outcome};
use crate::output::{errln, outln};
use audit::Audit;
use service::Service;

/// How often the certificate of answers is looked at, and what is over is forgotten.
const ROUND: Duration = Duration::from_secs(60);

/// Answer enrolments by CMP over HTTP: first certificates by invitations, further ones by the certificate that ends, revocations; and give
/// root and revocation lists to anybody.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan ca serve --dir ca --dns ca.5gc --listen 10.0.0.1:8829\n\n\
    Served: POST /.well-known/cmp (also /pkix/), GET /ca.crt.pem, GET /crl.pem, GET /crl.der.\n\
    CMP protects its messages itself: TLS around it hides names, and adds no trust.")]
pub(super) struct Args {
    #[command(flatten)]
    authority: AuthorityArgs,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8829))]
    listen: SocketAddr,
    /// DNS name in the certificate by which answers are signed
    #[arg(long, value_name = "NAME", value_parser = AlternativeName::dns)]
    dns: AlternativeName,
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
    let (authority, passphrase) = args.authority.open_and_keep(SystemTime::now())?;
    let path = args
        .audit
        .clone()
        .unwrap_or_else(|| args.authority.dir.join("audit.jsonl"));
    let service = Service::new(
        args.authority.dir.clone(),
        passphrase,
        authority,
        args.dns.clone(),
        Audit::open(&path)?,
    )?;
    let service = Arc::new(service);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start: {error}")))?;
    runtime.block_on(async {
        let listener = TcpListener::bind(args.listen).await.map_err(|error| {
            Failure::new(format!("--listen {}: {error}", args.listen)).hint("choose a free port of this host")
        })?;
        let bound = listener.local_addr().unwrap_or(args.listen);
        if bound.ip().is_unspecified() {
            errln!("note: listening on every address of this host");
        }
        outln!("enrolment on http://{bound}/.well-known/cmp");
        tokio::select! {
            () = http::serve(listener, Arc::clone(&service), args.rate) => {}
            () = rounds(&service) => {}
            () = asked(&interrupt) => {}
        }
        Ok(())
    })?;
    // A request under way is with a thread of its own: it is answered by nobody, and its certificate is given when it is asked for again.
    runtime.shutdown_timeout(Duration::from_secs(5));
    errln!("ended");
    Ok(Outcome::Clean)
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
