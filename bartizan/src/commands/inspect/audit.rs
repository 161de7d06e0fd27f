//! Scope of a report, as audits ask for it: the capture, the policy, what was not seen, exceptions,
//! certificates.

use std::collections::{BTreeMap, BTreeSet};

use bartizan_deployment::{Deployment, InterfaceKind};
use bartizan_inspect::text::counted;
use bartizan_inspect::{Against, Report};
use bartizan_posture::Ledgers;
use bartizan_registry::{FRAMEWORKS, Framework};
use time::OffsetDateTime;

use super::Args;

/// Certificates and exceptions that are listed.
const MOST: usize = 200;

/// The framework of this name in options.
pub(super) fn framework(key: &str) -> Result<&'static Framework, String> {
    let found = FRAMEWORKS.iter().find(|framework| framework.key == key);
    let known: Vec<_> = FRAMEWORKS.iter().map(|framework| framework.key).collect();
    found.ok_or_else(|| format!("one of {}", known.join(", ")))
}

/// Pass or fail against the framework that was asked for. The notes of the first report get the
/// scope, and for a page the outcome too.
pub(super) fn against(
    args: &Args,
    reports: &mut [Report],
    deployment: Option<&Deployment>,
    ledgers: &Ledgers,
) -> Option<Against> {
    let against = Against::of(args.against?, reports);
    let mut notes = scope(args, reports, deployment, ledgers);
    if args.html.is_some() {
        notes.insert(0, against.headline());
    }
    if let Some(first) = reports.first_mut() {
        notes.into_iter().for_each(|note| first.remark(note));
    }
    Some(against)
}

fn scope(args: &Args, reports: &[Report], deployment: Option<&Deployment>, ledgers: &Ledgers) -> Vec<String> {
    let version = env!("CARGO_PKG_VERSION");
    let mut lines = vec![match &args.deployment {
        Some(file) => format!("policy: those of {}, by bartizan {version}", file.display()),
        None => format!("policy: hybrid of bartizan {version}, as no deployment file is given"),
    }];
    for report in reports {
        let made = report.about().iter().map(|line| format!("{}: {line}", report.name()));
        lines.extend(made);
    }
    let links = || reports.iter().flat_map(|report| &report.network().links);
    let seen: BTreeSet<_> = links().filter_map(|link| Some(link.interface?.name)).collect();
    let unseen = InterfaceKind::ALL.into_iter().map(InterfaceKind::name);
    let unseen: Vec<_> = unseen.filter(|name| !seen.contains(name)).collect();
    lines.push(format!("interfaces that no packet shows: {}", unseen.join(", ")));
    let mut exceptions: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for interface in deployment.map(Deployment::interfaces).unwrap_or_default() {
        if let Some(exception) = &interface.policy.exception {
            let [one, other] = &interface.between;
            let link = format!("{} {one} -- {other}", interface.kind.name());
            exceptions
                .entry((exception.expires, exception.why()))
                .or_default()
                .push(link);
        }
    }
    for ((expires, reason), links) in exceptions.into_iter().take(MOST) {
        let others = match links.len() as u64 - 1 {
            0 => String::new(),
            more => format!(" and {}", counted(more, "more link")),
        };
        lines.push(format!("exception until {expires}: {}{others}: {reason}", links[0]));
    }
    let certificates: BTreeSet<_> = ledgers
        .certificates()
        .map(|certificate| {
            (
                certificate.not_after,
                &certificate.subject,
                &certificate.public_key,
                &certificate.serial,
            )
        })
        .collect();
    for (ends, subject, key, serial) in certificates.into_iter().take(MOST) {
        let ends =
            OffsetDateTime::from_unix_timestamp(ends).map_or_else(|_| "-".to_owned(), |end| end.date().to_string());
        lines.push(format!(
            "certificate of {subject}, serial {serial}, key of {key}, ends with {ends}"
        ));
    }
    lines
}
