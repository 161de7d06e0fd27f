//! Tables of links: what is asked of them and given, and their budgets.

use bartizan_budget::network::{Conditions, Given, Link};
use bartizan_page::sheet::{Field, Grid, Section, Tone};

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

pub(super) fn asked_and_given(links: &[Link]) -> Section {
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

pub(super) fn budgets(links: &[Link], conditions: &Conditions) -> Section {
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
