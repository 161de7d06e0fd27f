//! `bartizan ca list` and `bartizan ca show`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use bartizan_authority::moment;
use bartizan_pki::{Destination, Entry, Error, Overwrite, Phase, Profile, Register, Role, State};
use serde_json::{Value, json};

use super::DirectoryArgs;
use super::failure::failure;
use crate::outcome::{Failure, Outcome};
use crate::output::{errln, out, outln};
use crate::table::Table;

/// From this long before its end on, `list` speaks of a revocation list.
const STALE_SOON: Duration = Duration::from_secs(2 * 86_400);

/// List every certificate of the authority; what ends first stands first.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan ca list --dir ca\n  \
    bartizan ca list --dir ca --json | jq .certificates")]
pub(super) struct ListArgs {
    #[command(flatten)]
    at: DirectoryArgs,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Show one certificate, and write it out again if wanted.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan ca show --dir ca nrf\n  \
    bartizan ca show --dir ca nrf --pem > nrf.crt.pem")]
pub(super) struct ShowArgs {
    #[command(flatten)]
    at: DirectoryArgs,
    /// Serial number, or name: the newest certificate of that name
    #[arg(value_name = "SERIAL|NAME")]
    certificate: String,
    /// As JSON
    #[arg(long, conflicts_with = "pem")]
    json: bool,
    /// As PEM, with the intermediates
    #[arg(long)]
    pem: bool,
    /// Write NAME.crt.pem and ca.crt.pem to this directory again
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace files that are there
    #[arg(long, requires = "out")]
    force: bool,
}

pub(super) fn list(args: &ListArgs) -> Result<Outcome, Failure> {
    let now = SystemTime::now();
    let register = Register::open(&args.at.dir).map_err(failure)?;
    let phases = Phases::of(&register)?;
    if args.json {
        list_json(&register, &phases, now)?;
    } else {
        out!("{}", table(&register, &phases, now)?);
    }
    if let Some(end) = register.lists_end().map_err(failure)?
        && end < now + STALE_SOON
    {
        let tense = if end < now { "ended" } else { "ends" };
        errln!(
            "note: a revocation list {tense} on {}: `bartizan ca crl` signs new ones",
            date(end)
        );
    }
    Ok(Outcome::Clean)
}

pub(super) fn show(args: &ShowArgs) -> Result<Outcome, Failure> {
    let now = SystemTime::now();
    let register = Register::open(&args.at.dir).map_err(failure)?;
    let entry = register.find(&args.certificate).map_err(failure)?;
    if let Some(out) = &args.out {
        let destination = Destination {
            overwrite: if args.force {
                Overwrite::Replace
            } else {
                Overwrite::Refuse
            },
            ..Destination::new(out)
        };
        register.export(&entry, &destination).map_err(failure)?;
    }
    let phases = Phases::of(&register)?;
    if args.json {
        outln!("{:#}", describe(&entry, &phases, now));
    } else if args.pem {
        out!("{}", register.chain_pem(&entry).map_err(failure)?);
    } else {
        out!("{}", page(&entry, &phases, now));
    }
    Ok(Outcome::Clean)
}

bartizan_registry::made! {
    /// Succession phases of the authority's own certificates, by serial number.
    struct Phases, of(register: &Register) -> Result<Self, Failure> {
        let own = register.succession().map_err(failure)?;
        let serial = |entry: &Entry| entry.serial.to_string();
        let revoked = own.iter().filter(|(entry, ..)| entry.revocation().is_some());
        all: BTreeMap<String, Phase> = own.iter().map(|(entry, phase, _)| (serial(entry), *phase)).collect(),
        /// Those that were revoked.
        revoked: BTreeSet<String> = revoked.map(|(entry, ..)| serial(entry)).collect(),
    }
}

impl Phases {
    fn phase(&self, entry: &Entry) -> Option<Phase> {
        self.all.get(&entry.serial.to_string()).copied()
    }

    /// The recorded state, or what time or the issuer's revocation made of it.
    fn plain_state(&self, entry: &Entry, now: SystemTime) -> &'static str {
        match entry.state {
            State::Issued if entry.certificate.not_after() < now => "expired",
            State::Issued if self.revoked.contains(&entry.issuer.to_string()) => "issuer revoked",
            State::Issued if entry.certificate.not_before() > now => "not yet valid",
            State::Issued => "valid",
            other => other.name(),
        }
    }

    /// The state, and the phase where it is not the ordinary one.
    fn state(&self, entry: &Entry, now: SystemTime) -> String {
        let state = self.plain_state(entry, now);
        match self.phase(entry) {
            Some(phase) if phase != Phase::Current => format!("{state}, {phase}"),
            _ => state.to_owned(),
        }
    }
}

fn describe(entry: &Entry, phases: &Phases, now: SystemTime) -> Value {
    let certificate = &entry.certificate;
    let (revoked, reason) = match entry.revocation() {
        Some((when, reason)) => (json!(moment(when)), json!(reason.name())),
        None => (Value::Null, Value::Null),
    };
    json!({
        "name": entry.name,
        "serial": entry.serial,
        "role": entry.role.name(),
        "state": phases.plain_state(entry, now),
        "phase": phases.phase(entry).map(Phase::name),
        "profile": match entry.role {
            Role::NetworkFunction => json!(certificate.profile().name()),
            Role::Root | Role::Intermediate => Value::Null,
        },
        "algorithm": certificate.algorithm(),
        "subject": certificate.subject(),
        "issuer": certificate.issuer(),
        "issuer_serial": entry.issuer,
        "names": certificate.names(),
        "nf_types": certificate.functions(),
        "origin": entry.origin.name(),
        "issued": moment(entry.created()),
        "not_before": moment(certificate.not_before()),
        "not_after": moment(certificate.not_after()),
        "days_left": days_left(entry, now),
        "revoked": revoked,
        "reason": reason,
        "replaces": entry.replaces,
    })
}

/// Prints one certificate after the other: there may be hundreds of thousands.
fn list_json(register: &Register, phases: &Phases, now: SystemTime) -> Result<(), Failure> {
    out!("{{\n  \"certificates\": [");
    let mut before = "";
    let each = |entry: Entry| {
        let row = format!("{:#}", describe(&entry, phases, now)).replace('\n', "\n    ");
        out!("{before}\n    {row}");
        before = ",";
        Ok::<_, Error>(())
    };
    register.each_entry(each).map_err(failure)?;
    outln!("\n  ]\n}}");
    Ok(())
}

fn table(register: &Register, phases: &Phases, now: SystemTime) -> Result<String, Failure> {
    let mut table = Table::under(["NAME", "STATE", "ALGORITHM", "NOT AFTER", "DAYS", "SERIAL", "NAMES"]);
    let each = |entry: Entry| {
        let certificate = &entry.certificate;
        table.push([
            entry.name.to_owned(),
            phases.state(&entry, now),
            certificate.algorithm().to_string(),
            date(certificate.not_after()),
            days_left(&entry, now).to_string(),
            entry.serial.to_string(),
            certificate.names().join(" "),
        ]);
        Ok::<_, Error>(())
    };
    register.each_entry(each).map_err(failure)?;
    Ok(table.render())
}

fn page(entry: &Entry, phases: &Phases, now: SystemTime) -> String {
    let certificate = &entry.certificate;
    let mut lines = vec![
        ("name", entry.name.to_owned()),
        ("serial", entry.serial.to_string()),
        ("role", entry.role.to_string()),
        ("state", phases.state(entry, now)),
    ];
    if let Some((when, reason)) = entry.revocation() {
        lines.push(("revoked", format!("{} ({reason})", moment(when))));
    }
    if entry.role == Role::NetworkFunction && certificate.profile() == Profile::Ipsec {
        let kind = match certificate.algorithm().is_quantum_safe() {
            true => "ML-DSA, for `engine: bartizan`",
            false => "classical",
        };
        lines.push(("profile", format!("ipsec: an end of IPsec links, {kind}")));
    }
    lines.extend([
        ("algorithm", certificate.algorithm().to_string()),
        ("subject", certificate.subject().to_owned()),
        ("issuer", certificate.issuer().to_owned()),
    ]);
    for name in certificate.names() {
        lines.push(("alternative name", name.clone()));
    }
    if !certificate.functions().is_empty() {
        lines.push(("function", certificate.functions().join(", ")));
    }
    lines.extend([
        (
            "key made by",
            match entry.origin.name() {
                "request" => "the requester".to_owned(),
                _ => "the authority".to_owned(),
            },
        ),
        ("issued", moment(entry.created())),
        ("not before", moment(certificate.not_before())),
        (
            "not after",
            format!(
                "{} ({} days left)",
                moment(certificate.not_after()),
                days_left(entry, now)
            ),
        ),
    ]);
    if let Some(old) = entry.replaces {
        lines.push(("replaces", old.to_string()));
    }
    lines
        .iter()
        .map(|(what, value)| format!("{what:<17} {value}\n"))
        .collect()
}

/// Whole days until the certificate ends; 0 on its last day, negative afterwards.
fn days_left(entry: &Entry, now: SystemTime) -> i64 {
    let days = |duration: Duration| i64::try_from(duration.as_secs() / 86_400).unwrap_or(i64::MAX);
    match entry.certificate.not_after().duration_since(now) {
        Ok(left) => days(left),
        Err(past) => -days(past.duration()) - 1,
    }
}

/// `2027-02-19`, in UTC.
pub(super) fn date(moment: SystemTime) -> String {
    time::OffsetDateTime::from(moment).date().to_string()
}
