//! `bartizan ca rollover`.

use std::time::SystemTime;

use bartizan_pki::{
    Algorithm, Anyway, Authority, Certificate, Error, ExistingKey, KeySource, Lifetime, Pkcs11Uri, Successor,
    TokenSource,
};
use clap::Subcommand;
use serde_json::json;

use super::AuthorityArgs;
use super::failure::failure;
use super::show::date;
use crate::outcome::{Failure, Outcome};
use crate::output::outln;

/// Replace the intermediate, or the root in three steps, while certificates below them are in use.
///
/// The intermediate's place is taken at once: peers know it by the root. A root's place is taken by `publish-root`, after which every certificate that is issued,
/// renewed or enrolled comes with both roots; by `activate-root`, once every function has one of these; and by `retire-roots`, once none has a certificate of before.
/// The two refuse while some have not, and say which.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan ca rollover intermediate --dir ca\n  \
    bartizan ca rollover publish-root --dir ca       then renew every certificate, or wait until all have been\n  \
    bartizan ca rollover activate-root --dir ca      then again\n  \
    bartizan ca rollover retire-roots --dir ca")]
pub(super) struct Args {
    #[command(subcommand)]
    step: Step,
}

#[derive(Subcommand)]
enum Step {
    /// Make the next intermediate, which signs from now on; it takes the root's key
    #[command(after_help = "Examples:\n  \
        bartizan ca rollover intermediate --dir ca\n  \
        bartizan ca rollover intermediate --dir ca --algorithm ml-dsa-87 --days 730")]
    Intermediate(Made),
    /// Make the next root: it is given next to the one that signs, and signs nothing yet
    #[command(after_help = "Example:\n  \
        bartizan ca rollover publish-root --dir ca --algorithm ml-dsa-87")]
    PublishRoot(Made),
    /// Have the next root sign, by an intermediate of its own where there is one
    #[command(after_help = "Examples:\n  \
        bartizan ca rollover activate-root --dir ca\n  \
        bartizan ca rollover activate-root --dir ca --anyway      although some functions may not trust it")]
    ActivateRoot(Activate),
    /// Give the roots of before no more
    #[command(after_help = "Example:\n  \
        bartizan ca rollover retire-roots --dir ca")]
    RetireRoots(Retire),
}

#[derive(clap::Args)]
struct Made {
    #[command(flatten)]
    authority: AuthorityArgs,
    #[command(flatten)]
    next: Next,
    /// Print what was made as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct Activate {
    #[command(flatten)]
    authority: AuthorityArgs,
    #[command(flatten)]
    next: Next,
    /// Although functions have certificates of before the root was published: their peers may be refused
    #[arg(long)]
    anyway: bool,
    /// Print what was made as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct Retire {
    #[command(flatten)]
    authority: AuthorityArgs,
    /// Although functions have certificates below them: these will be refused
    #[arg(long)]
    anyway: bool,
    /// Print what was retired as JSON
    #[arg(long)]
    json: bool,
}

/// Properties of the next certificate.
#[derive(clap::Args)]
struct Next {
    /// Kind of its key; without it that of the one whose place it takes
    #[arg(long, value_name = "ALGORITHM")]
    algorithm: Option<Algorithm>,
    /// Have its key in a PKCS#11 token, by a URI (RFC 7512)
    #[arg(long, value_name = "URI")]
    key: Option<Pkcs11Uri>,
    /// Have its key in a file although that of the one whose place it takes is in a token
    #[arg(long, conflicts_with = "key")]
    in_file: bool,
    /// Days it is valid: without it 1825 of an intermediate, which ends with its root, and 3650 of a root
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    days: Option<u32>,
}

impl Next {
    fn successor(&self, days: u32) -> Successor {
        Successor {
            algorithm: self.algorithm,
            key: match &self.key {
                None => KeySource::Fresh,
                Some(uri) => KeySource::Token(Box::new(TokenSource {
                    uri: uri.clone(),
                    existing: ExistingKey::Refuse,
                })),
            },
            out_of_token: self.in_file,
            lifetime: Lifetime::Days(self.days.unwrap_or(days)),
        }
    }

    /// An intermediate ends with the root above it, where nothing else is asked for.
    fn below(&self, root: &Certificate, now: SystemTime) -> Successor {
        let left = root.not_after().duration_since(now).unwrap_or_default().as_secs() / 86_400;
        self.successor(1_825.min(u32::try_from(left).unwrap_or(u32::MAX)).max(1))
    }
}

/// Without its list a new issuer's certificates are refused there.
const LISTS: &str =
    "where policies have `revocation: require`, give every host DIR/crl.pem before a certificate is renewed";

/// Clients of CMP that ask for a root's successor want it signed by the one that they trust.
const UNSIGNED: &str = "it has no signature of the root of before (newWithOld), which has ended or has no intermediate: foreign clients of CMP get it with their renewal";

fn anyway(asked: bool) -> Anyway {
    if asked { Anyway::Yes } else { Anyway::No }
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let now = SystemTime::now();
    match &args.step {
        Step::Intermediate(args) => {
            let (_, made) = act(&args.authority, now, |authority| {
                authority.renew_intermediate(args.next.below(authority.root(), now), now)
            })?;
            said(args.json, "intermediate", &[made])?;
            note(
                args.json,
                "it signs from now on; certificates of before are valid until their end",
            );
            note(args.json, LISTS);
        }
        Step::PublishRoot(args) => {
            let (authority, made) = act(&args.authority, now, |authority| {
                authority.publish_root(args.next.successor(3_650), now)
            })?;
            let update = authority.root_update(authority.root().der()).map_err(failure)?;
            said(args.json, "next root", &[made])?;
            if update.is_none_or(|update| update.by_old.is_none()) {
                note(args.json, UNSIGNED);
            }
            note(
                args.json,
                "what is issued, renewed and enrolled from now on comes with it; then: `bartizan ca rollover activate-root`",
            );
        }
        Step::ActivateRoot(args) => {
            let (_, made) = act(&args.authority, now, |authority| {
                let root = authority.next_root().unwrap_or(authority.root());
                let next = args.next.below(root, now);
                authority.activate_root(next, anyway(args.anyway), now)
            })?;
            said(args.json, "root", &[made])?;
            note(
                args.json,
                "it signs from now on; once every certificate is renewed: `bartizan ca rollover retire-roots`",
            );
            note(args.json, LISTS);
        }
        Step::RetireRoots(args) => {
            let (_, retired) = act(&args.authority, now, |authority| {
                authority.retire_roots(anyway(args.anyway), now)
            })?;
            said(args.json, "retired root", &retired)?;
            note(
                args.json,
                "what is issued, renewed and enrolled from now on comes without it",
            );
        }
    }
    Ok(Outcome::Clean)
}

fn act<T>(
    authority: &AuthorityArgs,
    now: SystemTime,
    step: impl FnMut(&mut Authority) -> Result<T, Error>,
) -> Result<(Authority, T), Failure> {
    let (authority, done) = authority.open_for(now, step)?;
    Ok((authority, done.map_err(failure)?))
}

fn said(as_json: bool, what: &str, certificates: &[Certificate]) -> Result<(), Failure> {
    if as_json {
        let all: Vec<_> = certificates
            .iter()
            .map(|own| {
                json!({
                    "subject": own.subject(),
                    "serial": own.serial().map(|serial| serial.to_string()),
                    "algorithm": own.algorithm(),
                    "not_after": date(own.not_after()),
                })
            })
            .collect();
        outln!("{:#}", json!({ "what": what, "certificates": all }));
        return Ok(());
    }
    for own in certificates {
        outln!(
            "{what}: {}, {}, valid until {}",
            own.subject(),
            own.algorithm(),
            date(own.not_after())
        );
    }
    Ok(())
}

fn note(as_json: bool, text: &str) {
    if !as_json {
        outln!("  {text}");
    }
}
