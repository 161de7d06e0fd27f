//! `bartizan ca issue`.

use std::time::SystemTime;

use bartizan_pki::{Algorithm, Error, Leaf, Name, Profile};

use super::failure::failure;
use super::leaf::{LifetimeArgs, NameArgs, OutputArgs};
use super::{AuthorityArgs, lists};
use crate::outcome::{Failure, Outcome};

/// Issue a network function's or IPsec endpoint's certificate together with a fresh key.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan ca issue --dir ca --name nrf --dns nrf.5gc --out nrf --crl\n  \
    bartizan ca issue --dir ca --name amf --dns amf.5gc --out /etc/bartizan/amf --owner bartizan:bartizan --mode 640\n  \
    bartizan ca issue --dir ipsec-ca --profile ipsec --name cu --dns cu.ran --out cu")]
pub(super) struct Args {
    #[command(flatten)]
    authority: AuthorityArgs,
    /// Common name, and stem of the files; the first --dns or --ip where none is given
    #[arg(long, value_name = "NAME")]
    name: Option<Name>,
    #[command(flatten)]
    names: NameArgs,
    /// Use of the certificate: nf (a network function, TLS) or ipsec (an end of IPsec links, IKEv2)
    #[arg(long, value_name = "PROFILE", default_value_t)]
    profile: Profile,
    /// Kind of the key; the issuer's where none is given
    #[arg(long, value_name = "ALGORITHM")]
    key_algorithm: Option<Algorithm>,
    #[command(flatten)]
    lifetime: LifetimeArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let now = SystemTime::now();
    let name = match (&args.name, args.names.common_name()) {
        (Some(name), _) => name.clone(),
        (None, Some(first)) => first
            .parse()
            .map_err(|error: Error| failure(error).hint("--name gives the certificate another name"))?,
        (None, None) => return Err(failure(Error::NoNames)),
    };
    let mut authority = args.authority.open(now)?;
    let leaf = Leaf {
        name,
        names: args.names.names(),
        functions: args.names.functions(),
        profile: args.profile,
        algorithm: args.key_algorithm,
        lifetime: args.lifetime.lifetime(),
        long_life: args.lifetime.allow_long,
    };
    let issued = authority
        .issue_to(&leaf, &args.output.destination(), now)
        .map_err(failure)?;
    lists::write_next_to(&authority, &args.output)?;
    args.output.tell("issued", &issued);
    Ok(Outcome::Clean)
}
