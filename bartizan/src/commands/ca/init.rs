//! `bartizan ca init`.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bartizan_pki::{Authority, Certificate, InitOptions, Intermediate, Lifetime, Role};
use serde_json::{Value, json};

use super::failure::failure;
use super::passphrase::{self, PassphraseArgs};
use super::show::date;
use crate::outcome::{Failure, Outcome};
use crate::output::outln;
use keys::KeyArgs;

mod keys;

/// Make a root, and an intermediate if wanted, in a new directory.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan ca init --dir ca --algorithm ml-dsa-65\n  \
    bartizan ca init --dir ca --algorithm ml-dsa-87 --intermediate --encrypt\n  \
    bartizan ca init --dir ca --algorithm ecdsa-p384 --intermediate ml-dsa-65 --encrypt --root-key 'pkcs11:token=root;object=bartizan-root?module-name=softhsm2'      the root's key in a token\n  \
    bartizan ca init --dir ipsec-ca --algorithm ecdsa-p384      for IPsec: strongSwan verifies no ML-DSA")]
pub(super) struct Args {
    /// Directory of the authority, made if it is not there; the default is that of BARTIZAN_CA,
    /// then ca
    #[arg(long, value_name = "DIR", default_value_os_t = super::default_directory(), hide_default_value = true)]
    dir: PathBuf,
    #[command(flatten)]
    keys: KeyArgs,
    /// Common name of the root
    #[arg(long, value_name = "NAME")]
    common_name: Option<String>,
    /// Organization in every certificate
    #[arg(long, value_name = "NAME", default_value = "Bartizan")]
    organization: String,
    /// Country in every certificate, two capital letters
    #[arg(long, value_name = "CC")]
    country: Option<String>,
    /// URL of the revocation list for relying parties; written into every certificate
    #[arg(long, value_name = "URL")]
    crl_url: Option<String>,
    /// Days the root is valid
    #[arg(long, default_value_t = 3650, value_parser = clap::value_parser!(u32).range(1..))]
    days: u32,
    /// Days the intermediate is valid
    #[arg(long, default_value_t = 1825, value_parser = clap::value_parser!(u32).range(1..))]
    intermediate_days: u32,
    /// Encrypt the authority's keys under a passphrase, asked for unless it is given by file or environment; a key in a token is not encrypted
    #[arg(long)]
    encrypt: bool,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    /// Print what was made as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> Result<Outcome, Failure> {
    let mut secrets = args.passphrase.given()?;
    let keys = args.keys.read(&secrets)?;
    if args.encrypt && !keys.has_file() {
        return Err(Failure::usage(
            "--encrypt: every key is in a token, and no file has one",
        ));
    }
    if args.encrypt && secrets.passphrase.is_none() {
        secrets.passphrase = Some(passphrase::ask_new()?);
    }
    let encrypted = secrets.passphrase.is_some() && keys.has_file();
    let root_in_token = keys.is_in_token(Role::Root);
    let has_file = keys.has_file();
    let mut options = InitOptions {
        algorithm: keys.algorithm,
        root_key: keys.root,
        common_name: args.common_name,
        organization: Some(args.organization).filter(|name| !name.is_empty()),
        country: args.country,
        crl_url: args.crl_url,
        lifetime: Lifetime::Days(args.days),
        intermediate: keys.intermediate.map(|(algorithm, key)| Intermediate {
            algorithm,
            key,
            lifetime: Lifetime::Days(args.intermediate_days.min(args.days)),
        }),
        secrets,
    };
    let authority = loop {
        match Authority::init(&args.dir, options.clone(), SystemTime::now()) {
            Ok(authority) => break authority,
            Err(error) if passphrase::is_missing(&error, &options.secrets) => {
                passphrase::ask_for(&error, &mut options.secrets)?;
            }
            Err(error) => return Err(failure(error)),
        }
    };
    if args.json {
        return json(&args.dir, &authority, encrypted);
    }
    outln!("made a certificate authority in {}", args.dir.display());
    for (role, certificate) in certificates(&authority) {
        let name = role.name();
        outln!(
            "  {name:<15} {}, {}, valid until {}",
            certificate.subject(),
            certificate.algorithm(),
            date(certificate.not_after())
        );
        if let Some(uri) = authority.token_of(role).map_err(failure)? {
            outln!("  {:<15} in a token: {uri}", "");
        }
    }
    if has_file {
        outln!(
            "  keys            {}",
            if encrypted {
                "encrypted under the passphrase"
            } else {
                "not encrypted, readable by their owner alone (--encrypt)"
            }
        );
    }
    match (authority.intermediate(), root_in_token) {
        (None, _) => {}
        (Some(_), false) => {
            outln!(
                "  root.key.pem may be moved to a safe place now; what needs it: the intermediate's revocation, ca rollover, the root's list every 180 days"
            );
        }
        (Some(_), true) => {
            outln!(
                "  the root's token may be put in a safe place now; what needs it: the intermediate's revocation, ca rollover, the root's list every 180 days"
            );
        }
    }
    Ok(Outcome::Clean)
}

fn certificates(authority: &Authority) -> impl Iterator<Item = (Role, &Certificate)> {
    let intermediate = authority.intermediate().map(|own| (Role::Intermediate, own));
    [(Role::Root, authority.root())].into_iter().chain(intermediate)
}

fn json(dir: &Path, authority: &Authority, encrypted: bool) -> Result<Outcome, Failure> {
    let described = |role: Role, of: &Certificate| -> Result<Value, Failure> {
        let uri = authority.token_of(role).map_err(failure)?;
        Ok(json!({
            "subject": of.subject(),
            "algorithm": of.algorithm(),
            "not_after": date(of.not_after()),
            "key": uri.map(|uri| uri.to_string()),
        }))
    };
    let intermediate = authority.intermediate().map(|own| described(Role::Intermediate, own));
    outln!(
        "{:#}",
        json!({
            "dir": dir,
            "root": described(Role::Root, authority.root())?,
            "intermediate": intermediate.transpose()?,
            "encrypted": encrypted,
        })
    );
    Ok(Outcome::Clean)
}
