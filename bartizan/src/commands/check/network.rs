//! `bartizan check --interfaces`, `--budget`, `--migrate`: a deployment file against the standards.

mod in_short;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bartizan_budget::network::{
    Assessment, Concern, Conditions, Given, Link, Move, REQUIREMENTS, Requirement, Severity, TABLE_1_HEADINGS,
    TABLE_1_NOTE, assess, migrate,
};
use bartizan_budget::published;
use bartizan_budget::unit::{BitsPerSecond, Metres};
use bartizan_deployment::{Deployment, Protection, day_of};
use bartizan_inspect::text::counted;
use bartizan_page::sheet::{Field, Grid, Section, Sheet, Tone, sheet_html};
use bartizan_registry::Asked;
use serde::Serialize;

use super::sarif;
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
    /// With one of these: exit with 1 only where a finding is at least as severe.
    #[arg(long, value_name = "SEVERITY", value_parser = ["high", "medium", "low"], conflicts_with_all = ["swanctl", "node"])]
    fail_on: Option<String>,
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

    /// Refuses `--fail-on` without a report that has severities.
    pub(super) fn fit(&self) -> Result<(), Failure> {
        if self.fail_on.is_none() || self.is_asked_for() {
            return Ok(());
        }
        Err(Failure::usage("--fail-on is for findings with a severity")
            .hint("with --interfaces, --budget, --migrate, --html FILE or --sarif FILE"))
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
    /// Present with --migrate.
    moves: Option<&'a [Move]>,
}

/// A concern, with the frameworks that require otherwise.
#[derive(Serialize)]
struct Finding<'a> {
    #[serde(flatten)]
    concern: &'a Concern,
    frameworks: Vec<Asked>,
}

/// Form of the report on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Json,
    Nothing,
}

pub(super) fn run(
    args: &NetworkArgs,
    deployment: &Deployment,
    file: &Path,
    now: SystemTime,
    form: Form,
) -> Result<Outcome, Failure> {
    let conditions = args.wants(args.budget).then_some(Conditions {
        distance: args.distance,
        rate: args.rate,
    });
    let assessment = assess(deployment, now, conditions.as_ref());
    let moves = migrate(&assessment.links);
    let sheet = sheet(args, file, &assessment, conditions.as_ref(), &moves);
    if let Some(path) = &args.html {
        write_document(path, &sheet_html(&sheet))?;
    }
    if let Some(path) = &args.sarif {
        write_document(path, &sarif::document(file, &assessment.concerns)?)?;
    }
    if form == Form::Json {
        let report = Report {
            schema: SCHEMA,
            file: file.display().to_string(),
            day: day_of(now).to_string(),
            conditions,
            links: &assessment.links,
            findings: assessment.concerns.iter().map(finding).collect(),
            moves: args.wants(args.migrate).then_some(&moves),
        };
        print(&(serde_json::to_string_pretty(&report).map_err(Failure::new)? + "\n"))?;
    } else if form == Form::Text {
        print(&text(&sheet))?;
    }
    let least = match args.fail_on.as_deref() {
        Some("high") => Severity::High,
        Some("medium") => Severity::Medium,
        _ => Severity::Low,
    };
    let finding = assessment.concerns.iter().any(|concern| concern.severity <= least);
    Ok(if finding { Outcome::Finding } else { Outcome::Clean })
}

fn finding(concern: &Concern) -> Finding<'_> {
    Finding {
        concern,
        frameworks: concern.rule.asked(),
    }
}

/// Returns the frameworks' requirements that findings violate, each once.
fn frameworks(concerns: &[Concern]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for asked in concerns.iter().flat_map(|concern| concern.rule.asked()) {
        let words = format!("{} ({}): {}", asked.name, asked.edition, asked.asks);
        if !all.contains(&words) {
            all.push(words);
        }
    }
    all
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
        by_interface(links, &assessment.concerns),
        findings(&assessment.concerns),
    ];
    if args.wants(args.interfaces) {
        sections.push(asked_and_given(links));
    }
    if let Some(conditions) = conditions {
        sections.push(budgets(links, conditions));
    }
    if args.wants(args.migrate) {
        sections.push(order(moves));
    }
    if args.wants(args.interfaces) {
        sections.push(table_1());
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
            by_severity(assessment.concerns.iter()),
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
        .chain(frameworks(&assessment.concerns))
        .collect(),
        again: again(),
    }
}

/// Table 1 of the paper next to what was read in the standards.
fn table_1() -> Section {
    let mut section = Section::new("table 1 of Groen et al. 2024 next to the standards");
    section.text.push(TABLE_1_NOTE.to_owned());
    let mut grid = Grid::under("", TABLE_1_HEADINGS);
    REQUIREMENTS
        .iter()
        .filter_map(Requirement::next_to_table_1)
        .for_each(|row| grid.push(row));
    section.tables.push(grid);
    section
}

/// Counts findings by severity.
fn by_severity<'a>(concerns: impl Iterator<Item = &'a Concern> + Clone) -> String {
    let severities = [
        (Severity::High, "high"),
        (Severity::Medium, "medium"),
        (Severity::Low, "low"),
    ];
    let count = |severity| concerns.clone().filter(|concern| concern.severity == severity).count();
    severities
        .map(|(severity, name)| format!("{} {name}", count(severity)))
        .join(", ")
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

/// The state of the network on one screen.
fn by_interface(links: &[Link], concerns: &[Concern]) -> Section {
    let mut section = Section::new("by interface");
    let mut grid = Grid::under(
        "",
        [
            "interface",
            "#links",
            "#by the protocol asked for",
            "#post-quantum against recording",
            "#against forgery",
            "#within budget",
            "findings",
        ],
    );
    let mut kinds: Vec<&str> = Vec::new();
    for link in links {
        if !kinds.contains(&link.interface) {
            kinds.push(link.interface);
        }
    }
    for kind in kinds {
        let of: Vec<&Link> = links.iter().filter(|link| link.interface == kind).collect();
        let share = |count: usize| {
            let tone = if count == of.len() { Tone::Good } else { Tone::Bad };
            Field::toned(format!("{count} of {}", of.len()), tone)
        };
        let holding = |holds: &dyn Fn(&Link) -> bool| of.iter().filter(|link| holds(link)).count();
        let names: HashSet<_> = of.iter().map(|link| link.about.as_str()).collect();
        let own = concerns.iter().filter(|concern| names.contains(concern.about.as_str()));
        grid.push([
            Field::from(kind),
            Field::from(of.len().to_string()),
            share(holding(&|link| link.requirement.met_by.contains(&link.protection))),
            share(holding(&|link| link.recording == Given::PostQuantum)),
            share(holding(&|link| link.forgery == Given::PostQuantum)),
            if of.iter().all(|link| link.predicted.is_none()) {
                Field::from("not asked")
            } else {
                share(holding(&|link| {
                    link.predicted
                        .as_ref()
                        .is_some_and(|predicted| predicted.passed().is_none())
                }))
            },
            Field::from(if own.clone().count() == 0 {
                "none".to_owned()
            } else {
                by_severity(own)
            }),
        ]);
    }
    section.tables.push(grid);
    section
}

fn findings(concerns: &[Concern]) -> Section {
    let mut section = Section::new("findings, the worst first");
    if concerns.is_empty() {
        section.text.push("None.".to_owned());
        return section;
    }
    let mut grid = Grid::under("", ["severity", "about", "finding", "what to do", "source"]);
    for concern in concerns {
        let (words, tone) = match concern.severity {
            Severity::High => ("high", Tone::Bad),
            Severity::Medium => ("medium", Tone::Plain),
            Severity::Low => ("low", Tone::Faint),
        };
        grid.push([
            Field::toned(words, tone),
            Field::from(concern.about.clone()),
            Field::from(concern.finding.clone()),
            Field::from(concern.hint.clone()),
            Field::from(concern.source.clone()),
        ]);
    }
    section.tables.push(grid);
    section
}

/// Links of which all is the same but their ends, as one: `SBI: 21 links, the first amf -- nrf`.
fn alike(links: &[Link]) -> Vec<(String, &Link)> {
    let mut groups: Vec<(&Link, usize)> = Vec::new();
    for link in links {
        let same = |known: &&mut (&Link, usize)| {
            let of = |link: &Link| (link.interface, link.protection, link.recording, link.forgery);
            of(known.0) == of(link) && known.0.predicted == link.predicted
        };
        match groups.iter_mut().find(same) {
            Some(known) => known.1 += 1,
            None => groups.push((link, 1)),
        }
    }
    let label = |link: &Link, count: usize| match count {
        1 => link.about.clone(),
        _ => format!(
            "{}: {count} links, the first {} -- {}",
            link.interface, link.between[0], link.between[1]
        ),
    };
    groups
        .into_iter()
        .map(|(link, count)| (label(link, count), link))
        .collect()
}

fn asked_and_given(links: &[Link]) -> Section {
    let mut section = Section::new("what is asked, and what the file gives");
    section
        .text
        .push("C confidentiality, I integrity, A authentication, R replay protection.".to_owned());
    let mut grid = Grid::under(
        "",
        [
            "link",
            "C",
            "I",
            "A",
            "R",
            "use",
            "by",
            "clause",
            "the file",
            "against recording",
            "against forgery",
        ],
    );
    for (label, link) in alike(links) {
        let asked = link.requirement;
        let toned = |given: Given| {
            let tone = match given {
                Given::PostQuantum => Tone::Good,
                Given::Nothing | Given::Classical | Given::Either => Tone::Bad,
                Given::Unknown => Tone::Faint,
            };
            Field::toned(given.name(), tone)
        };
        let mut row = vec![Field::from(label)];
        for demand in [
            asked.confidentiality,
            asked.integrity,
            asked.authentication,
            asked.replay,
        ] {
            row.push(Field::from(demand.name()));
        }
        row.extend([
            Field::from(asked.usage.name()),
            Field::from(asked.protocols),
            Field::from(asked.clause),
            Field::from(link.protection.name()),
            toned(link.recording),
            toned(link.forgery),
        ]);
        grid.push(row);
    }
    section.tables.push(grid);
    section
}

fn budgets(links: &[Link], conditions: &Conditions) -> Section {
    let mut section = Section::new("predicted delay against budget");
    section.text.push(format!(
        "Over {} km at {} Gb/s, one hop.",
        conditions.distance.value() / 1e3,
        conditions.rate.value() / 1e9
    ));
    let mut grid = Grid::under(
        "",
        [
            "link",
            "#frame",
            "#sent",
            "#path us",
            "#added us",
            "#one way us",
            "#budget us",
            "#set-up round trips",
            "#set-up ms",
            "#budget ms",
            "budget",
            "where it has no figure",
            "source",
            "added from",
        ],
    );
    for (label, link) in alike(links) {
        let Some(predicted) = &link.predicted else { continue };
        let or_none = |value: Option<f64>, scale: f64| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{:.0}", value / scale))
        };
        let tone = if predicted.passed().is_some() {
            Tone::Bad
        } else {
            Tone::Plain
        };
        grid.push([
            Field::from(label),
            Field::from(predicted.frame[0].value().to_string()),
            Field::from(predicted.frame[1].value().to_string()),
            Field::from(format!("{:.1}", predicted.path_us)),
            Field::from(format!("{:.1}", predicted.added_us)),
            Field::toned(format!("{:.1}", predicted.packet_us()), tone),
            Field::from(or_none(predicted.budget.packet_us, 1.0)),
            Field::from(
                predicted
                    .round_trips
                    .map_or_else(|| "-".to_owned(), |trips| trips.to_string()),
            ),
            Field::toned(
                predicted
                    .set_up_us
                    .map_or_else(|| "-".to_owned(), |set_up| format!("{:.2}", set_up / 1e3)),
                tone,
            ),
            Field::from(or_none(predicted.budget.set_up_us, 1e3)),
            Field::from(match predicted.category_pairs {
                Some([within, all]) => format!("{}: {within} of {all} pairs allow it at best", predicted.budget.what),
                None => predicted.budget.what.to_owned(),
            }),
            Field::from(if predicted.budget.without.is_empty() {
                "-"
            } else {
                predicted.budget.without
            }),
            Field::from(predicted.budget.cited()),
            Field::from(predicted.added_from),
        ]);
    }
    section.tables.push(grid);
    section
}

fn order(moves: &[Move]) -> Section {
    let mut section = Section::new("in which order to move");
    section
        .text
        .push("The most exposed first; of those what others can reach most easily, then what costs least.".to_owned());
    let mut grid = Grid::under("", ["#", "link", "exposure", "step", "reason"]);
    for (index, step) in moves.iter().enumerate() {
        grid.push([
            (index + 1).to_string(),
            step.about.clone(),
            step.exposure.name().to_owned(),
            step.step.clone(),
            step.reason.clone(),
        ]);
    }
    if moves.is_empty() {
        section.text.push("Nothing is left to move.".to_owned());
    } else {
        section.tables.push(grid);
    }
    section
}
