//! `bartizan check --interfaces`, `--budget`, `--migrate`: a deployment file against the standards.

mod in_short;
mod links;
mod tables;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bartizan_budget::network::{Assessment, Concern, Conditions, Given, Link, Move, assess, migrate};
use bartizan_budget::published;
use bartizan_budget::unit::{BitsPerSecond, Metres};
use bartizan_deployment::{Deployment, Protection, day_of};
use bartizan_inspect::text::counted;
use bartizan_page::sheet::{Sheet, sheet_html};
use bartizan_registry::Asked;
use serde::Serialize;

use super::{Form, sarif};
use crate::commands::accept::{Acceptance, Accepted, Fault, Links};
use crate::commands::severity::Severity;
use crate::output::print;
use crate::output::write_document;
use crate::{Failure, Outcome};
use bartizan_terminal::answer::{again, text};

/// Version of the JSON form: it changes when a field changes its meaning or goes.
const SCHEMA: &str = "bartizan-check-network/1";

/// The network's view.
#[derive(clap::Args)]
pub(super) struct NetworkArgs {
    /// Compare each interface with the requirements of 3GPP TS 33.501 and O-RAN WG11; reports
    /// contradictions and gaps.
    #[arg(long, conflicts_with_all = ["swanctl", "node"])]
    interfaces: bool,
    /// Predicted delay and set-up of each link against the interface's budget.
    #[arg(long, conflicts_with_all = ["swanctl", "node"])]
    budget: bool,
    /// The order in which to move links to post-quantum protection, each with its reason.
    #[arg(long, conflicts_with_all = ["swanctl", "node"])]
    migrate: bool,
    /// With --budget: length of the fibre of each link.
    #[arg(long, value_name = "DISTANCE", default_value = "20km", allow_hyphen_values = true)]
    distance: Metres,
    /// With --budget: rate of its line.
    #[arg(long, value_name = "RATE", default_value = "10Gb/s", allow_hyphen_values = true)]
    rate: BitsPerSecond,
    /// With one of these: also write a page to this file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// With one of these: also write the findings to this file as SARIF 2.1.0.
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
}

impl NetworkArgs {
    /// Returns true if any of these reports was requested.
    pub(super) fn is_asked_for(&self) -> bool {
        self.interfaces || self.budget || self.migrate || self.html.is_some() || self.sarif.is_some()
    }

    /// All of it, where a page or SARIF alone is asked for.
    fn wants(&self, one: bool) -> bool {
        one || !(self.interfaces || self.budget || self.migrate)
    }
}

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    file: String,
    /// The day (UTC) whose policies these are.
    day: String,
    /// Present with --budget.
    conditions: Option<Conditions>,
    links: &'a [Link],
    findings: Vec<Finding<'a>>,
    /// Findings on the file of accepted ones.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    accept_faults: &'a [Fault],
    /// Present with --migrate.
    moves: Option<&'a [Move]>,
}

/// A concern, with the frameworks that require otherwise.
#[derive(Serialize)]
struct Finding<'a> {
    #[serde(flatten)]
    concern: &'a Concern,
    frameworks: Vec<Asked>,
    /// None where it is not accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted: Option<&'a Acceptance>,
}

pub(super) fn run(
    args: &NetworkArgs,
    deployment: &Deployment,
    file: &Path,
    now: SystemTime,
    (form, least, accepted): (Form, Option<Severity>, &Accepted),
) -> Result<Outcome, Failure> {
    let conditions = args.wants(args.budget).then_some(Conditions {
        distance: args.distance,
        rate: args.rate,
    });
    let assessment = assess(deployment, now, conditions.as_ref());
    let moves = migrate(&assessment.links);
    let acceptances = assessment.concerns.iter().map(|concern| {
        let line = format!("{}: {}", concern.about, concern.finding);
        accepted.takes(&[&line], 1, &Links::default())
    });
    let acceptances: Vec<_> = acceptances.collect();
    let faults = accepted.faults();
    let mut sheet = sheet(args, file, &assessment, conditions.as_ref(), &moves);
    if accepted.file().is_some() {
        // Behind the findings.
        sheet
            .sections
            .insert(3, tables::accepted(&assessment.concerns, &acceptances, &faults));
    }
    if let Some(path) = &args.html {
        write_document(path, &sheet_html(&sheet))?;
    }
    if let Some(path) = &args.sarif {
        write_document(
            path,
            &sarif::document(file, &assessment.concerns, &acceptances, accepted)?,
        )?;
    }
    if form == Form::Json {
        let report = Report {
            schema: SCHEMA,
            file: file.display().to_string(),
            day: day_of(now).to_string(),
            conditions,
            links: &assessment.links,
            findings: assessment.concerns.iter().zip(&acceptances).map(finding).collect(),
            accept_faults: &faults,
            moves: args.wants(args.migrate).then_some(&moves),
        };
        print(&(serde_json::to_string_pretty(&report).map_err(Failure::new)? + "\n"))?;
    } else if form == Form::Text {
        print(&text(&sheet))?;
    }
    let open = assessment.concerns.iter().zip(&acceptances);
    let open = open.filter(|(_, acceptance)| acceptance.is_none());
    let severities = open.map(|(concern, _)| Severity::from(concern.severity));
    let mut severities = severities.chain(faults.iter().map(|fault| fault.severity));
    let finding = severities.any(|severity| severity.reaches(least));
    Ok(if finding { Outcome::Finding } else { Outcome::Clean })
}

fn finding<'a>((concern, accepted): (&'a Concern, &'a Option<Acceptance>)) -> Finding<'a> {
    Finding {
        concern,
        accepted: accepted.as_ref(),
        frameworks: concern.rule.asked(),
    }
}

fn sheet(
    args: &NetworkArgs,
    file: &Path,
    assessment: &Assessment,
    conditions: Option<&Conditions>,
    moves: &[Move],
) -> Sheet {
    let links = &assessment.links;
    let count = |of: &dyn Fn(&Link) -> Given, given| links.iter().filter(|link| of(link) == given).count();
    let mut sections = vec![
        in_short::section(links, &assessment.concerns, moves),
        tables::by_interface(links, &assessment.concerns),
        tables::findings(&assessment.concerns),
    ];
    if args.wants(args.interfaces) {
        sections.push(links::asked_and_given(links));
    }
    if let Some(conditions) = conditions {
        sections.push(links::budgets(links, conditions));
    }
    if args.wants(args.migrate) {
        sections.push(tables::order(moves));
    }
    if args.wants(args.interfaces) {
        sections.push(tables::table_1());
    }
    Sheet {
        command: "bartizan check".to_owned(),
        title: format!("{}: {} against 3GPP and O-RAN", file.display(), counted(links.len() as u64, "link")),
        question: "What do the standards ask of each interface, what does the file give it, and what does a quantum computer open?".to_owned(),
        answer: format!(
            "{} of {} links are post-quantum against recording and {} against forgery; {} are protected by nothing.{} Findings: {}.{}",
            count(&|link| link.recording, Given::PostQuantum),
            links.len(),
            count(&|link| link.forgery, Given::PostQuantum),
            links.iter().filter(|link| link.protection == Protection::Nothing).count(),
            kept(links),
            tables::by_severity(assessment.concerns.iter()),
            first(&assessment.concerns, moves)
        ),
        sections,
        limits: vec![
            "A file says what is wanted; `bartizan inspect` proves from packets what is there.".to_owned(),
            "No 3GPP or O-RAN text asks for post-quantum cryptography: requirements and quantum safety are judged apart.".to_owned(),
            "Where a budget's source is marked as cited, its text was not within reach: hold the figure against it before relying on it.".to_owned(),
            "Delays are those of one hop over the path given, with processing as others measured it; time to compute a handshake is not in them.".to_owned(),
        ],
        sources: [
            "TS 33.501 v20.0.0; TS 24.501, table 10.2.1".to_owned(),
            "O-RAN WG11: Security Requirements and Controls (SRCS) and Security Protocols (SPS), R004 v11.00; WG4 CUS and M-plane (MP) v17.01; WG3 E2GAP v07; WG2 A1TP v03.04".to_owned(),
            format!("{} is {}: {}", published::PAPER, published::AUTHORS, published::TITLE),
            "How each was read: docs/interfaces".to_owned(),
        ]
        .into_iter()
        .chain(tables::frameworks(&assessment.concerns))
        .collect(),
        again: again(),
    }
}

/// Counts links that keep their budget, if it was predicted.
fn kept(links: &[Link]) -> String {
    let predicted: Vec<_> = links.iter().filter_map(|link| link.predicted.as_ref()).collect();
    if predicted.is_empty() {
        return String::new();
    }
    let kept = predicted
        .iter()
        .filter(|predicted| predicted.passed().is_none())
        .count();
    format!(" {kept} of {} keep their budget of delay and set-up.", predicted.len())
}

/// First action: for the worst finding, or for the first link to move.
fn first(concerns: &[Concern], moves: &[Move]) -> String {
    match (concerns.first(), moves.first()) {
        (Some(worst), _) => format!(" First: {}: {}.", worst.about, worst.hint),
        (None, Some(next)) => format!(" First: {}: {}.", next.about, next.step),
        (None, None) => {
            " Nothing is left to do in the file; `bartizan inspect` proves from packets that it holds.".to_owned()
        }
    }
}
