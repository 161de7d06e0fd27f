//! `bartizan ca invite`, `invitations` and `withdraw`: who may enrol by a secret.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use bartizan_pki::{Error, ForeignCertificate, Invitation, Invite, Name, Profile, Register, SecretFile, Vendor};
use serde_json::{Value, json};

use super::failure::failure;
use super::leaf::{LifetimeArgs, NameArgs};
use super::show::date;
use super::{AuthorityArgs, DirectoryArgs};
use crate::outcome::{Failure, Outcome};
use crate::output::{errln, out, outln};
use crate::table::Table;

/// Invite a network function or base station to enrol: by a secret, or by its vendor's certificate, it gets one certificate.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan ca invite --dir ca --name gnb1 --dns gnb1.ran --secret-file gnb1.secret\n  \
    bartizan ca invite --dir ca --name amf --dns amf.5gc --nf-type AMF --open-for 12h --json\n  \
    bartizan ca invite --dir ca --name gnb2 --dns gnb2.ran --vendor-root vendor.pem --vendor-name SN-0815")]
pub(super) struct Args {
    #[command(flatten)]
    authority: AuthorityArgs,
    /// Common name of the certificate that it gets
    #[arg(long, value_name = "NAME")]
    name: Name,
    #[command(flatten)]
    names: NameArgs,
    /// Use of the certificate: nf (a network function, TLS) or ipsec (an end of IPsec links, IKEv2)
    #[arg(long, value_name = "PROFILE", default_value_t)]
    profile: Profile,
    #[command(flatten)]
    lifetime: LifetimeArgs,
    /// Lifetime of the invitation, such as 12h or 7d
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = humantime::parse_duration)]
    open_for: Duration,
    /// Come by a vendor's certificate instead of a secret: the vendor's root, PEM or DER
    #[arg(long, value_name = "FILE", requires = "vendor_name", conflicts_with = "secret_file")]
    vendor_root: Option<PathBuf>,
    /// Common name, or serial number, in the subject of the vendor's certificate
    #[arg(long, value_name = "NAME", requires = "vendor_root")]
    vendor_name: Option<String>,
    /// Certify a classical key too, although the authority is quantum-safe
    #[arg(long)]
    allow_classical: bool,
    /// Write the secret to this new file (mode 0600) instead of printing it
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// List invitations and what became of them; secrets are not shown.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan ca invitations --dir ca\n  \
    bartizan ca invitations --dir ca --json | jq '.invitations[] | select(.state == \"open\")'")]
pub(super) struct ListArgs {
    #[command(flatten)]
    at: DirectoryArgs,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Close an invitation: its secret opens nothing more. A certificate that was issued for it stays.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  bartizan ca withdraw --dir ca mfrggzdf")]
pub(super) struct WithdrawArgs {
    #[command(flatten)]
    authority: AuthorityArgs,
    /// Reference of the invitation
    #[arg(value_name = "REFERENCE")]
    reference: String,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let now = SystemTime::now();
    // Before the invitation is recorded: its secret is known only by this file.
    let reserved = args.secret_file.as_deref().map(SecretFile::reserve).transpose();
    let file = reserved.map_err(|error| match error {
        Error::FileExists(_) => Failure::new(error).hint("choose a new --secret-file"),
        other => failure(other),
    })?;
    let mut authority = args.authority.open(now)?;
    let invite = Invite {
        name: args.name.clone(),
        names: args.names.names(),
        functions: args.names.functions(),
        profile: args.profile,
        days: args.lifetime.days,
        long_life: args.lifetime.allow_long,
        classical: args.allow_classical,
        open_for: args.open_for,
        vendor: vendor(args)?,
    };
    let invitation = authority.invite(&invite, now).map_err(failure)?;
    if let (Some(file), Some(secret)) = (file, invitation.secret())
        && let Err(error) = file.write(secret)
    {
        authority
            .close_invitation(invitation.reference(), now)
            .map_err(failure)?;
        return Err(failure(error).hint("the invitation is closed again"));
    }
    let shown = invitation.secret().filter(|_| args.secret_file.is_none());
    if args.json {
        let mut described = describe(&invitation, now);
        described["secret"] = json!(shown);
        described["secret_file"] = json!(args.secret_file.as_ref().map(|path| path.display().to_string()));
        outln!("{described:#}");
        return Ok(Outcome::Clean);
    }
    outln!("invited {}, until {}", invitation.name(), date(invitation.expires()));
    outln!("  {:<15} {}", "reference", invitation.reference());
    if let Some(vendor) = invitation.vendor() {
        outln!("  {:<15} {vendor}, by its vendor's certificate", "comes as");
        errln!("note: any holder of a certificate of that name under that root enrols; it works for one key");
        return Ok(Outcome::Clean);
    }
    match &args.secret_file {
        Some(path) => outln!("  {:<15} {}", "secret", path.display()),
        None => outln!("  {:<15} {}", "secret", shown.unwrap_or_default()),
    }
    errln!(
        "note: any holder of the secret enrols as {}; it works for one key",
        invitation.name()
    );
    Ok(Outcome::Clean)
}

/// The vendor's certificate that is waited for, if one is.
fn vendor(args: &Args) -> Result<Option<Vendor>, Failure> {
    let (Some(path), Some(name)) = (&args.vendor_root, &args.vendor_name) else {
        return Ok(None);
    };
    let contents =
        std::fs::read(path).map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
    let unusable = |reason: String| {
        Failure::new(format!("{}: {reason}", path.display())).hint("--vendor-root is a root certificate, PEM or DER")
    };
    let root = ForeignCertificate::read(&contents).map_err(|error| unusable(error.to_string()))?;
    if !root.is_authority() {
        return Err(unusable("it may not sign certificates".to_owned()));
    }
    if name.is_empty() {
        return Err(Failure::usage("--vendor-name is empty"));
    }
    Ok(Some(Vendor {
        root,
        name: name.clone(),
    }))
}

pub(super) fn list(args: &ListArgs) -> Result<Outcome, Failure> {
    let now = SystemTime::now();
    let invitations = Register::open(&args.at.dir)
        .and_then(|register| register.invitations())
        .map_err(failure)?;
    if args.json {
        let rows: Vec<Value> = invitations.iter().map(|invitation| describe(invitation, now)).collect();
        outln!("{:#}", json!({ "invitations": rows }));
        return Ok(Outcome::Clean);
    }
    if invitations.is_empty() {
        outln!("no invitations");
        return Ok(Outcome::Clean);
    }
    let mut table = Table::under(["reference", "name", "state", "until", "certificate"]);
    for invitation in &invitations {
        table.push([
            invitation.reference().to_owned(),
            invitation.name().to_owned(),
            invitation.state_at(now).to_string(),
            date(invitation.expires()),
            invitation
                .serial()
                .map_or_else(String::new, |serial| serial.to_string()),
        ]);
    }
    out!("{}", table.render());
    Ok(Outcome::Clean)
}

pub(super) fn withdraw(args: &WithdrawArgs) -> Result<Outcome, Failure> {
    let now = SystemTime::now();
    let mut authority = args.authority.open(now)?;
    let known = authority.has_invitation(&args.reference).map_err(failure)?;
    if !known {
        return Err(
            Failure::new(format!("no invitation has the reference {:?}", args.reference))
                .hint("`bartizan ca invitations` lists them"),
        );
    }
    // One that is closed stays so: withdrawing twice is no mistake.
    authority.close_invitation(&args.reference, now).map_err(failure)?;
    outln!("closed {}", args.reference);
    Ok(Outcome::Clean)
}

fn describe(invitation: &Invitation, now: SystemTime) -> Value {
    json!({
        "reference": invitation.reference(),
        "name": invitation.name(),
        "state": invitation.state_at(now).to_string(),
        "until": bartizan_authority::moment(invitation.expires()),
        "serial": invitation.serial(),
        "vendor_name": invitation.vendor(),
    })
}
