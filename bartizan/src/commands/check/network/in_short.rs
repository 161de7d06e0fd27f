//! The first lines of a check against the standards: what is open, how close delay comes to its budget, what is missing.

use bartizan_budget::network::{Concern, Exposure, Link, Move, Rule};
use bartizan_page::sheet::Section;

/// Summary without tables: exposed links, delay margins, missing protection.
pub(super) fn section(links: &[Link], concerns: &[Concern], moves: &[Move]) -> Section {
    let mut section = Section::new("in short");
    for (exposure, what) in [
        (
            Exposure::Readable,
            "an attacker on the path reads and changes it today; protect it first",
        ),
        (
            Exposure::Recordable,
            "harvest now, decrypt later; require a post-quantum key exchange",
        ),
        (
            Exposure::Unknown,
            "nothing in the file shows how its keys are agreed on",
        ),
        (
            Exposure::Forgeable,
            "what is recorded stays closed; signatures can follow when both ends have ML-DSA",
        ),
    ] {
        let of: Vec<&str> = moves
            .iter()
            .filter(|step| step.exposure == exposure)
            .map(|step| step.about.as_str())
            .collect();
        if !of.is_empty() {
            section
                .text
                .push(format!("- {}: {}: {what}.", exposure.name(), some_of(&of)));
        }
    }
    section.text.extend(tightest(links));
    let gaps: Vec<&str> = concerns
        .iter()
        .filter(|concern| matches!(concern.rule, Rule::Missing | Rule::WrongEnds))
        .map(|concern| concern.about.as_str())
        .collect();
    if !gaps.is_empty() {
        section.text.push(format!(
            "- missing or contradictory: {}: the findings say what.",
            some_of(&gaps)
        ));
    }
    if section.text.is_empty() {
        section
            .text
            .push("- every link is post-quantum against recording and forgery, and nothing is missing.".to_owned());
    }
    section
}

/// The number of names, and the first of them.
fn some_of(names: &[&str]) -> String {
    const NAMED: usize = 3;
    let first = names[..names.len().min(NAMED)].join(", ");
    match names.len() {
        1 => first,
        many if many <= NAMED => format!("{many} ({first})"),
        many => format!("{many} ({first} and {} more)", many - NAMED),
    }
}

/// The link whose largest frame comes closest to its budget.
fn tightest(links: &[Link]) -> Option<String> {
    let used = links.iter().filter_map(|link| {
        let predicted = link.predicted.as_ref()?;
        Some((link, predicted.packet_us(), predicted.budget.packet_us?))
    });
    let (link, takes, most) = used.max_by(|one, other| (one.1 / one.2).total_cmp(&(other.1 / other.2)))?;
    let rest = most - takes;
    Some(if rest >= 0.0 {
        format!(
            "- delay: {} comes closest to its budget, {takes:.0} us of {most:.0} for its largest frame; {rest:.0} us are left.",
            link.about
        )
    } else {
        format!(
            "- delay: {} passes its budget, {takes:.0} us of {most:.0} for its largest frame.",
            link.about
        )
    })
}
