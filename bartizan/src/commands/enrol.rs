//! `bartizan enrol`: a certificate from an authority that speaks CMP.

mod transport;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use bartizan_deployment::HttpUrl;
use bartizan_enrol::{Credential, Identity, Inquiry, Next, Requester, Trust};
use bartizan_pki::{Access, Algorithm, Certificate, Error, Holder, Issued, Name, Overwrite, PrivateKey, secret_in};
use serde_json::json;
use zeroize::Zeroizing;

use super::ca::failure::failure;
use super::ca::leaf::{mode, note_foreign_roots, owner};
use crate::outcome::{Failure, Outcome};
use crate::output::{errln, outln};
use transport::post;

/// Environment variable with the secret of an invitation.
const VARIABLE: &str = "BARTIZAN_ENROL_SECRET";

/// Get a certificate for a key made here: by the secret of an invitation; renew it by the certificate itself.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan enrol --server http://ca.5gc:8829 --name amf --reference mfrggzdf --secret-file amf.secret --out amf\n  \
    bartizan enrol --server http://ca.5gc:8829 --name amf --renew --within 30 --out amf\n\n\
    The key never leaves this host. Without --secret-file the secret is taken from BARTIZAN_ENROL_SECRET.\n\
    A run that breaks off is run again: it goes on with the same key.")]
pub(crate) struct Args {
    /// The authority: `http://HOST[:PORT][/PATH]`; the path is /.well-known/cmp where it is left
    /// out
    #[arg(long, value_name = "URL")]
    server: HttpUrl,
    /// Stem of the files, and common name that is asked for
    #[arg(long, value_name = "NAME")]
    name: Name,
    /// Directory for NAME.crt.pem, NAME.key.pem and ca.crt.pem; made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Reference of the invitation
    #[arg(long, value_name = "REFERENCE", required_unless_present = "renew")]
    reference: Option<String>,
    /// File whose first line is the secret of the invitation
    #[arg(long, value_name = "FILE", conflicts_with = "renew")]
    secret_file: Option<PathBuf>,
    /// Replace the certificate in DIR, which signs the request, by one for a new key
    #[arg(long, conflicts_with = "reference")]
    renew: bool,
    /// Renew only a certificate that ends within this many days, or was issued before a root that the authority has made since: it is asked for that
    #[arg(long, value_name = "DAYS", requires = "renew")]
    within: Option<u32>,
    /// Kind of the key; for a renewal that of the old one where it is left out
    #[arg(long, value_name = "ALGORITHM")]
    key_algorithm: Option<Algorithm>,
    /// Owner of the files, as names or numbers; defaults to the owner of the replaced files, else
    /// this user. Needs root
    #[arg(long, value_name = "USER[:GROUP]", value_parser = owner)]
    owner: Option<(u32, u32)>,
    /// Mode of the key, which gives nothing to everybody; that of the key it replaces, or 0600, where it is left out
    #[arg(long, value_name = "MODE", value_parser = mode)]
    mode: Option<u32>,
    /// Print what was written as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    let now = SystemTime::now();
    let holder = Holder::new(&args.out, &args.name);
    let access = Access {
        owner: args.owner,
        key_mode: args.mode,
    };
    // Neither a renewal of nothing nor a secret that is not there makes the folder.
    let secret = match args.renew {
        true if !holder.chain_path().exists() => return Err(nothing_to_renew(&holder)),
        true => None,
        false => Some(by_secret(args)?),
    };
    let _lock = holder.lock(access).map_err(failure)?;
    let held = holder.held().map_err(failure)?;
    let mut given = None;
    let (credential, algorithm, overwrite) = if let Some(secret) = secret {
        let overwrite = holder.require_free().map_err(|error| match error {
            Error::FileExists(_) => Failure::new(error).hint("--renew replaces a certificate by its own authority"),
            other => failure(other),
        })?;
        let algorithm = args.key_algorithm.unwrap_or(Algorithm::MlDsa65);
        (secret, algorithm, overwrite)
    } else {
        let held = held.ok_or_else(|| nothing_to_renew(&holder))?;
        let hint = "fetch it again (`bartizan ca serve` gives it at /crl.pem), or remove it";
        let (lists, left_out) = holder.lists().map_err(|error| failure(error).hint(hint))?;
        for why in &left_out {
            errln!("note: {}: {why}; it is left out", holder.lists_path().display());
            errln!("  hint: {hint}");
        }
        let trust = Trust::new(held.roots.clone()).revoking(lists);
        let algorithm = args.key_algorithm.unwrap_or(held.key.algorithm());
        let (own, identity) = (held.chain.first().cloned(), Identity::new(held.key, held.chain));
        let identity = identity.map_err(enrolment)?;
        if let (Some(days), Some(own)) = (args.within, own)
            && !ends_within(&own, days, now)
            && !has_later_root(&args.server, &identity, &own, &trust, now)
        {
            return Ok(left_alone(args, &own));
        }
        given = Some(held.given);
        let credential = Credential::Certificate { identity, trust };
        (credential, algorithm, Overwrite::Replace)
    };
    let key = holder.pending_key(algorithm, access).map_err(failure)?;
    let copy = PrivateKey::from_pkcs8(key.to_pkcs8()).map_err(failure)?;
    let (mut requester, request) = Requester::begin(credential, key, args.name.as_str(), now).map_err(enrolment)?;
    let answer = post(&args.server, &request)?;
    let received = requester.receive(&answer, SystemTime::now());
    // It may be that of an attempt before, for the same key, which is certified no more.
    if args.renew && received.as_ref().is_err_and(bartizan_enrol::Error::is_revocation) {
        let _ = holder.give_up_pending();
    }
    let Next::Store { enrolled, confirmation } = received.map_err(enrolment)? else {
        return Err(Failure::new("the authority acknowledges what it was not asked for"));
    };
    for root in &enrolled.unproven {
        errln!(
            "note: the authority gives a root that no root held here has signed; it is not trusted: {}",
            root.subject()
        );
        errln!(
            "  hint: where it is right, add its certificate to {}",
            holder.root_path().display()
        );
    }
    let mut issued = Issued::received(&args.name, &enrolled.chain, enrolled.roots, copy).map_err(failure)?;
    if let Some(given) = given {
        issued = issued.renewing(given);
    }
    // The files are there before the authority learns that they are: until then it gives the same certificate to the same key again.
    holder.write(&issued, overwrite, access).map_err(failure)?;
    let confirmed = post(&args.server, &confirmation)
        .and_then(|answer| requester.receive(&answer, SystemTime::now()).map_err(enrolment));
    if let Err(failure) = confirmed {
        errln!(
            "note: the certificate is written, and its confirmation did not arrive: {}",
            &failure.message
        );
    }
    report(args, &holder, &issued.certificate);
    note_foreign_roots(&issued, &args.out);
    Ok(Outcome::Clean)
}

fn nothing_to_renew(holder: &Holder<'_>) -> Failure {
    let path = holder.chain_path();
    Failure::new(format!("{} is not there: nothing to renew", path.display()))
        .hint("enrol first, by --reference and --secret-file")
}

fn by_secret(args: &Args) -> Result<Credential, Failure> {
    let reference = args
        .reference
        .clone()
        .ok_or_else(|| Failure::usage("no --reference of an invitation"))?;
    let text = match &args.secret_file {
        Some(path) => secret_in(path).map_err(failure)?,
        None => Zeroizing::new(std::env::var(VARIABLE).map_err(|_| {
            Failure::usage("no secret").hint(format!("--secret-file FILE, or the environment variable {VARIABLE}"))
        })?),
    };
    let secret = Zeroizing::new(text.lines().next().unwrap_or_default().trim().to_owned());
    if secret.is_empty() {
        return Err(Failure::usage("the secret is empty"));
    }
    Ok(Credential::Secret { reference, secret })
}

fn ends_within(own: &Certificate, days: u32, now: SystemTime) -> bool {
    own.not_after() <= now + Duration::from_secs(86_400) * days
}

/// Returns true if the authority has a root newer than this certificate: a renewal brings that
/// root, and the renewed certificate is then the newer one. An unreachable authority counts as
/// false; nothing is lost yet.
fn has_later_root(server: &HttpUrl, identity: &Identity, own: &Certificate, trust: &Trust, now: SystemTime) -> bool {
    let asked = Inquiry::begin(identity, trust.clone(), now).map_err(enrolment);
    let answered = asked.and_then(|(inquiry, message)| {
        let answer = post(server, &message)?;
        inquiry.receive(&answer, SystemTime::now()).map_err(enrolment)
    });
    match answered {
        Ok(all) => all.iter().any(|given| {
            given.subject() == given.issuer()
                && given.not_before() > own.not_before()
                && trust.roots.iter().all(|root| root.der() != given.der())
        }),
        Err(failure) => {
            errln!(
                "note: the authority was not asked whether it has another root: {}",
                &failure.message
            );
            false
        }
    }
}

fn left_alone(args: &Args, own: &Certificate) -> Outcome {
    let until = date(own);
    if args.json {
        outln!(
            "{:#}",
            json!({ "name": args.name.as_str(), "renewed": false, "not_after": until })
        );
    } else {
        outln!("{} is valid until {until}: left as it is", args.name.as_str());
    }
    Outcome::Clean
}

fn report(args: &Args, holder: &Holder<'_>, certificate: &Certificate) {
    let (verb, renewed) = if args.renew {
        ("renewed", true)
    } else {
        ("enrolled", false)
    };
    let files = [
        ("certificate", holder.chain_path()),
        ("key", holder.key_path()),
        ("root", holder.root_path()),
    ];
    if args.json {
        let paths: serde_json::Map<_, _> = files
            .iter()
            .map(|(what, path)| ((*what).to_owned(), json!(path.display().to_string())))
            .collect();
        outln!(
            "{:#}",
            json!({
                "name": args.name.as_str(),
                "renewed": renewed,
                "serial": certificate.serial(),
                "algorithm": certificate.algorithm(),
                "names": certificate.names(),
                "not_after": date(certificate),
                "files": paths,
            })
        );
        return;
    }
    outln!(
        "{verb} {}: {}, {}, valid until {}",
        args.name.as_str(),
        certificate.algorithm(),
        certificate.names().join(", "),
        date(certificate)
    );
    for (what, path) in files {
        outln!("  {what:<15} {}", path.display());
    }
}

fn date(certificate: &Certificate) -> String {
    time::OffsetDateTime::from(certificate.not_after()).date().to_string()
}

fn enrolment(error: bartizan_enrol::Error) -> Failure {
    use bartizan_enrol::{Error, Failure as Refused};
    let message = error.to_string();
    match error {
        Error::Authority(error) => failure(error),
        Error::Refused {
            failure: Some(Refused::BadMessageCheck),
            ..
        } => Failure::new(message).hint("reference and secret as `bartizan ca invite` gave them; an invitation ends"),
        Error::Refused {
            failure: Some(Refused::NotAuthorized),
            ..
        } => {
            Failure::new(message).hint("an invitation is for one key: ask for another one, or bring the first key back")
        }
        Error::Refused {
            failure: Some(Refused::BadTemplate),
            ..
        } => Failure::new(message).hint("the authority does not certify what --name and --key-algorithm ask for: `bartizan ca invitations` there prints the name that it expects"),
        Error::Refused {
            failure: Some(Refused::SignerNotTrusted | Refused::CertificateRevoked),
            ..
        } => Failure::new(message).hint("run it again, or enrol by a new invitation in an empty --out"),
        _ => Failure::new(message),
    }
}
