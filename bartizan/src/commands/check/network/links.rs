//! Tables of links: what is asked of them and given, and their budgets.

use bartizan_budget::network::{Conditions, Given, Link};
use bartizan_page::grid;
use bartizan_page::sheet::{Field, Section, Tone};

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
    let toned = |given: Given| {
        let tone = match given {
            Given::PostQuantum => Tone::Good,
            Given::Nothing | Given::Classical | Given::Either => Tone::Bad,
            Given::Unknown => Tone::Faint,
        };
        Field::toned(given.name(), tone)
    };
    section.tables.push(
        grid! { "", (label, link) in alike(links), { let asked = link.requirement; };
            "link": label,
            "C": asked.confidentiality.name(),
            "I": asked.integrity.name(),
            "A": asked.authentication.name(),
            "R": asked.replay.name(),
            "use": asked.usage.name(),
            "by": asked.protocols,
            "clause": asked.clause,
            "the file": link.protection.name(),
            "against recording": toned(link.recording),
            "against forgery": toned(link.forgery),
        },
    );
    section
}

pub(super) fn budgets(links: &[Link], conditions: &Conditions) -> Section {
    let mut section = Section::new("predicted delay against budget");
    section.text.push(format!(
        "Over {} km at {} Gb/s, one hop.",
        conditions.distance.value() / 1e3,
        conditions.rate.value() / 1e9
    ));
    let or_none =
        |value: Option<f64>, scale: f64| value.map_or_else(|| "-".to_owned(), |value| format!("{:.0}", value / scale));
    section.tables.push(grid! { "", (label, link) in alike(links), {
            let Some(predicted) = &link.predicted else { continue };
            let (budget, set_up_us) = (&predicted.budget, predicted.set_up_us);
            let tone = if predicted.passed().is_some() { Tone::Bad } else { Tone::Plain };
        };
        "link": label,
        "#frame": predicted.frame[0].value().to_string(),
        "#sent": predicted.frame[1].value().to_string(),
        "#path us": format!("{:.1}", predicted.path_us),
        "#added us": format!("{:.1}", predicted.added_us),
        "#one way us": Field::toned(format!("{:.1}", predicted.packet_us()), tone),
        "#budget us": or_none(budget.packet_us, 1.0),
        "#set-up round trips": predicted.round_trips.map_or_else(|| "-".to_owned(), |trips| trips.to_string()),
        "#set-up ms": Field::toned(set_up_us.map_or_else(|| "-".to_owned(), |us| format!("{:.2}", us / 1e3)), tone),
        "#budget ms": or_none(budget.set_up_us, 1e3),
        "budget": match predicted.category_pairs {
            Some([within, all]) => format!("{}: {within} of {all} pairs allow it at best", budget.what),
            None => budget.what.to_owned(),
        },
        "where it has no figure": if budget.without.is_empty() { "-" } else { budget.without },
        "source": budget.cited(),
        "added from": predicted.added_from,
    });
    section
}
