//! `bartizan ca sign`.

use std::path::PathBuf;
use std::time::SystemTime;

use bartizan_pki::{Error, Name, Profile, Signing, SigningRequest};

use super::failure::failure;
use super::leaf::{LifetimeArgs, NameArgs, OutputArgs};
use super::{AuthorityArgs, lists};
use crate::outcome::{Failure, Outcome};
use crate::output::errln;

/// Sign a certificate signing request (PKCS#10): the requester keeps its key.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan ca sign --dir ca --csr nrf.csr.pem --dns nrf.5gc --out nrf")]
pub(super) struct Args {
    #[command(flatten)]
    authority: AuthorityArgs,
    /// The request, PEM or DER
    #[arg(long, value_name = "FILE")]
    csr: PathBuf,
    /// Common name, and stem of the files; the request's where none is given
    #[arg(long, value_name = "NAME")]
    name: Option<Name>,
    #[command(flatten)]
    names: NameArgs,
    /// Use of the certificate: nf (a network function, TLS) or ipsec (an end of IPsec links, IKEv2)
    #[arg(long, value_name = "PROFILE", default_value_t)]
    profile: Profile,
    /// Take the subject alternative names of the request; nothing else of it is ever taken
    #[arg(long)]
    accept_san: bool,
    #[command(flatten)]
    lifetime: LifetimeArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let contents = std::fs::read(&args.csr)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", args.csr.display())))?;
    let request = SigningRequest::read(&contents).map_err(failure)?;
    let name = match (&args.name, request.common_name()) {
        (Some(name), _) => name.clone(),
        (None, Some(common_name)) => common_name
            .parse()
            .map_err(|error: Error| failure(error).hint("--name gives the certificate another name"))?,
        (None, None) => return Err(Failure::usage("the request has no common name").hint("give one with --name")),
    };
    let now = SystemTime::now();
    let mut authority = args.authority.open(now)?;
    let signing = Signing {
        name,
        names: args.names.names(),
        accept_names: args.accept_san,
        functions: args.names.functions(),
        profile: args.profile,
        lifetime: args.lifetime.lifetime(),
        long_life: args.lifetime.allow_long,
    };
    let issued = authority
        .sign_to(&request, &signing, &args.output.destination(), now)
        .map_err(|error| match error {
            Error::NoNames if !request.names().is_empty() => {
                let asked: Vec<_> = request.names().iter().map(ToString::to_string).collect();
                Failure::usage("no name for the certificate: the request's own are taken only with --accept-san")
                    .hint(format!("it asks for {}", asked.join(", ")))
            }
            other => failure(other),
        })?;
    lists::write_next_to(&authority, &args.output)?;
    args.output.tell("signed", &issued);
    let key = request.public_key().algorithm();
    if authority.algorithm().is_quantum_safe() && !key.is_quantum_safe() {
        errln!("note: the requester's key is {key}: a quantum computer could act in its name");
    }
    Ok(Outcome::Clean)
}
