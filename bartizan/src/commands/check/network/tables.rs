//! Tables of a network's report.

use std::collections::HashSet;

use bartizan_budget::network::{
    Concern, Given, Link, Move, REQUIREMENTS, Requirement, Severity, TABLE_1_HEADINGS, TABLE_1_NOTE,
};
use bartizan_page::grid;
use bartizan_page::sheet::{Field, Grid, Section, Tone};

use crate::commands::accept::{Acceptance, Fault};

/// Table 1 of the paper next to what was read in the standards.
pub(super) fn table_1() -> Section {
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
pub(super) fn by_severity<'a>(concerns: impl Iterator<Item = &'a Concern> + Clone) -> String {
    let severities = [
        (Severity::Critical, "critical"),
        (Severity::High, "high"),
        (Severity::Medium, "medium"),
        (Severity::Low, "low"),
    ];
    let count = |severity| concerns.clone().filter(|concern| concern.severity == severity).count();
    severities
        .map(|(severity, name)| format!("{} {name}", count(severity)))
        .join(", ")
}

/// The state of the network on one screen.
pub(super) fn by_interface(links: &[Link], concerns: &[Concern]) -> Section {
    let mut section = Section::new("by interface");
    let mut kinds: Vec<&str> = Vec::new();
    for link in links {
        if !kinds.contains(&link.interface) {
            kinds.push(link.interface);
        }
    }
    section.tables.push(grid! { "", kind in kinds, {
            let of: Vec<&Link> = links.iter().filter(|link| link.interface == kind).collect();
            let share = |count: usize| {
                let tone = if count == of.len() { Tone::Good } else { Tone::Bad };
                Field::toned(format!("{count} of {}", of.len()), tone)
            };
            let holding = |holds: &dyn Fn(&Link) -> bool| of.iter().filter(|link| holds(link)).count();
            let names: HashSet<_> = of.iter().map(|link| link.about.as_str()).collect();
            let own = concerns.iter().filter(|concern| names.contains(concern.about.as_str()));
        };
        "interface": kind,
        "#links": of.len().to_string(),
        "#by the protocol asked for": share(holding(&|link| link.requirement.met_by.contains(&link.protection))),
        "#post-quantum against recording": share(holding(&|link| link.recording == Given::PostQuantum)),
        "#against forgery": share(holding(&|link| link.forgery == Given::PostQuantum)),
        "#within budget": if of.iter().all(|link| link.predicted.is_none()) {
            Field::from("not asked")
        } else {
            share(holding(&|link| link.predicted.as_ref().is_some_and(|predicted| predicted.passed().is_none())))
        },
        "findings": if own.clone().count() == 0 { "none".to_owned() } else { by_severity(own) },
    });
    section
}

pub(super) fn findings(concerns: &[Concern]) -> Section {
    let mut section = Section::new("findings, the worst first");
    if concerns.is_empty() {
        section.text.push("None.".to_owned());
        return section;
    }
    section.tables.push(grid! { "", concern in concerns;
        "severity": match concern.severity {
            Severity::Critical => Field::toned("critical", Tone::Bad),
            Severity::High => Field::toned("high", Tone::Bad),
            Severity::Medium => Field::toned("medium", Tone::Plain),
            Severity::Low => Field::toned("low", Tone::Faint),
        },
        "about": concern.about.clone(),
        "finding": concern.finding.clone(),
        "what to do": concern.hint.clone(),
        "source": concern.source.clone(),
    });
    section
}

/// Accepted findings, and faults of the file that accepts them.
pub(super) fn accepted(concerns: &[Concern], acceptances: &[Option<Acceptance>], faults: &[Fault]) -> Section {
    let accepted = concerns.iter().zip(acceptances);
    let accepted = accepted.filter_map(|(concern, acceptance)| Some((concern, acceptance.as_ref()?)));
    let lines: Vec<_> = accepted
        .map(|(concern, acceptance)| format!("{}: {}: {}", concern.about, concern.finding, acceptance.text()))
        .collect();
    let mut section = Section::new("accepted findings");
    section.text.push(format!("{} of {}.", lines.len(), concerns.len()));
    section.text.extend(lines);
    let faults = faults.iter().map(|fault| {
        let severity = fault.severity.name();
        format!(
            "Finding ({severity}): {}: {}; {}.",
            fault.about, fault.finding, fault.hint
        )
    });
    section.text.extend(faults);
    section
}

pub(super) fn order(moves: &[Move]) -> Section {
    let mut section = Section::new("in which order to move");
    section
        .text
        .push("The most exposed first; of those what others can reach most easily, then what costs least.".to_owned());
    if moves.is_empty() {
        section.text.push("Nothing is left to move.".to_owned());
    } else {
        section.tables.push(grid! { "", (index, step) in (1..).zip(moves);
            "#": index.to_string(),
            "link": step.about.clone(),
            "exposure": step.exposure.name(),
            "step": step.step.clone(),
            "reason": step.reason.clone(),
        });
    }
    section
}

/// Returns the frameworks' requirements that findings violate, each once.
pub(super) fn frameworks(concerns: &[Concern]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for asked in concerns.iter().flat_map(|concern| concern.rule.asked()) {
        let words = format!("{} ({}): {}", asked.name, asked.edition, asked.asks);
        if !all.contains(&words) {
            all.push(words);
        }
    }
    all
}
