//! `bartizan ca init`.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bartizan_pki::{
    Algorithm, Authority, Certificate, Error, InitOptions, Intermediate, Lifetime, Passphrase, PrivateKey,
};
use serde_json::json;
use zeroize::Zeroizing;

use super::failure::failure;
use super::passphrase::{self, PassphraseArgs};
use super::show::date;
use crate::outcome::{Failure, Outcome};
use crate::output::outln;

/// Make a root, and an intermediate if wanted, in a new directory.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan ca init --dir ca --algorithm ml-dsa-65\n  \
    bartizan ca init --dir ca --algorithm ml-dsa-87 --intermediate --encrypt\n  \
    bartizan ca init --dir ipsec-ca --algorithm ecdsa-p384      for IPsec: strongSwan verifies no ML-DSA")]
pub(super) struct Args {
    /// Directory of the authority; made if it is not there
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Kind of the root's key: ml-dsa-44, ml-dsa-65, ml-dsa-87, ecdsa-p256, ecdsa-p384 or ed25519
    #[arg(long, value_name = "ALGORITHM", required_unless_present = "root_key")]
    algorithm: Option<Algorithm>,
    /// Make the root from this private key (PKCS#8, PEM) instead of a fresh one
    #[arg(long, value_name = "FILE", conflicts_with = "algorithm")]
    root_key: Option<PathBuf>,
    /// Make an intermediate that signs from day to day, with a key of this kind or, without ALGORITHM, of the root's
    #[arg(long, value_name = "ALGORITHM", num_args = 0..=1)]
    intermediate: Option<Option<Algorithm>>,
    /// Common name of the root
    #[arg(long, value_name = "NAME")]
    common_name: Option<String>,
    /// Organization in every certificate
    #[arg(long, value_name = "NAME", default_value = "Bartizan")]
    organization: String,
    /// Country in every certificate, two capital letters
    #[arg(long, value_name = "CC")]
    country: Option<String>,
    /// Where relying parties find the revocation list; written into every certificate
    #[arg(long, value_name = "URL")]
    crl_url: Option<String>,
    /// Days the root is valid
    #[arg(long, default_value_t = 3650, value_parser = clap::value_parser!(u32).range(1..))]
    days: u32,
    /// Days the intermediate is valid
    #[arg(long, default_value_t = 1825, value_parser = clap::value_parser!(u32).range(1..))]
    intermediate_days: u32,
    /// Encrypt the authority's keys under a passphrase, asked for unless it is given by file or environment
    #[arg(long)]
    encrypt: bool,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    /// Print what was made as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> Result<Outcome, Failure> {
    let given = args.passphrase.given()?;
    let root_key = args
        .root_key
        .as_deref()
        .map(|path| read_key(path, given.as_ref()))
        .transpose()?;
    let algorithm = match (&root_key, args.algorithm) {
        (Some(key), _) => key.algorithm(),
        (None, Some(algorithm)) => algorithm,
        (None, None) => return Err(Failure::usage("--algorithm or --root-key is needed")),
    };
    let passphrase = match given {
        Some(passphrase) => Some(passphrase),
        None if args.encrypt => Some(passphrase::ask_new()?),
        None => None,
    };
    let encrypted = passphrase.is_some();
    let intermediate = args.intermediate.map(|own| Intermediate {
        algorithm: own.unwrap_or(algorithm),
        lifetime: Lifetime::Days(args.intermediate_days.min(args.days)),
    });
    let options = InitOptions {
        algorithm,
        root_key,
        common_name: args.common_name,
        organization: Some(args.organization).filter(|name| !name.is_empty()),
        country: args.country,
        crl_url: args.crl_url,
        lifetime: Lifetime::Days(args.days),
        intermediate,
        passphrase,
    };
    let authority = Authority::init(&args.dir, options, SystemTime::now()).map_err(failure)?;

    let root = authority.root();
    if args.json {
        let described = |of: &Certificate| json!({ "subject": of.subject(), "algorithm": of.algorithm(), "not_after": date(of.not_after()) });
        outln!(
            "{:#}",
            json!({
                "dir": args.dir,
                "root": described(root),
                "intermediate": authority.intermediate().map(described),
                "encrypted": encrypted,
            })
        );
        return Ok(Outcome::Clean);
    }
    outln!("made a certificate authority in {}", args.dir.display());
    outln!(
        "  root            {}, {}, valid until {}",
        root.subject(),
        root.algorithm(),
        date(root.not_after())
    );
    if let Some(own) = authority.intermediate() {
        outln!(
            "  intermediate    {}, {}, valid until {}",
            own.subject(),
            own.algorithm(),
            date(own.not_after())
        );
    }
    outln!(
        "  keys            {}",
        if encrypted {
            "encrypted under the passphrase"
        } else {
            "not encrypted, readable by their owner alone (--encrypt)"
        }
    );
    if authority.intermediate().is_some() {
        outln!("  root.key.pem may be moved to a safe place now; only the intermediate's revocation needs it");
    }
    Ok(Outcome::Clean)
}

/// A foreign key that is encrypted is tried with the passphrase given; without one, its own is asked for.
fn read_key(path: &Path, given: Option<&Passphrase>) -> Result<PrivateKey, Failure> {
    let place = |error| {
        failure(match error {
            Error::Key(reason) => Error::KeyFile {
                path: path.to_owned(),
                reason,
            },
            Error::WrongPassphrase(_) => Error::WrongPassphrase(path.to_owned()),
            other => other,
        })
    };
    let text = std::fs::read(path)
        .map(Zeroizing::new)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
    match PrivateKey::from_pem(&text, given) {
        Err(Error::PassphraseNeeded(_)) => {
            let passphrase = passphrase::ask(path)?;
            PrivateKey::from_pem(&text, Some(&passphrase)).map_err(place)
        }
        other => other.map_err(place),
    }
}
