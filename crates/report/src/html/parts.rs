//! A part of an experiment in HTML: plots, comparisons, tables.

use maud::{Markup, PreEscaped, html as markup};

use super::{anchor, estimate};
use crate::model::{Comparison, Figure, Part, Quickness, Table};
use crate::quantity::words;

/// Longer tables are folded on a screen; on paper they are open.
const LONG: usize = 16;

pub(super) fn part(part: &Part, quickness: Quickness) -> Markup {
    let quick = quickness == Quickness::Quick;
    markup! {
        section id=(anchor(&part.id)) {
            h2 { (part.id) @if quick { " " span.badge { "quick run" } } }
            @if let Some(question) = &part.question { p { (question) } }
            p.meta {
                "A trial: " (part.workload) @if !part.parameters.is_empty() { " (" (part.parameters.join(", ")) ")" }
            }
            @for figure in &part.figures { (plot(figure, quick)) }
            (comparisons(&part.comparisons))
            @for table in &part.tables { (metric(table)) }
        }
    }
}

fn plot(figure: &Figure, quick: bool) -> Markup {
    markup! {
        figure {
            h3 { (figure.drawing.title()) @if quick { " " span.badge { "quick run" } } }
            div.drawing { (PreEscaped(figure.drawing.inline())) }
            figcaption { (figure.caption) }
        }
    }
}

fn comparisons(comparisons: &[Comparison]) -> Markup {
    let within = comparisons.iter().any(|comparison| !comparison.within.is_empty());
    markup! {
        @if !comparisons.is_empty() {
            h3 { "Comparisons" }
            div.wide { table {
                thead { tr {
                    th { "Comparison" } th { "Metric" } th { "Of" } th { "Over" } @if within { th { "Within" } }
                    th.number { "Value" } th { "95 % interval" } th.number { "n" } th { "Verdict" }
                } }
                tbody { @for comparison in comparisons { tr {
                    td { (comparison.id) }
                    td { (comparison.metric.name) ", " (comparison.form.name()) }
                    td { (words(&comparison.of)) }
                    td { (words(&comparison.over)) }
                    @if within { td { (words(&comparison.within)) } }
                    (value(comparison))
                    td.number { (counts(comparison.n)) }
                    td { span class=(format!("verdict {}", class(comparison))) { (comparison.verdict.words()) } }
                } } }
            } }
        }
    }
}

fn value(comparison: &Comparison) -> Markup {
    let sentence = comparison.sentence().unwrap_or_else(|| "\u{2013}".to_owned());
    markup! {
        @match sentence.split_once(" [") {
            Some((number, interval)) => { td.number.main { (number) } td.interval { (interval.trim_end_matches(']')) } }
            None => { td.number.main { (sentence) } td.interval { } },
        }
    }
}

fn counts((one, other): (usize, usize)) -> String {
    if one == other {
        one.to_string()
    } else {
        format!("{one}, {other}")
    }
}

fn class(comparison: &Comparison) -> &'static str {
    use crate::model::Verdict::{Better, Less, More, NoDifference, Unknown, Worse};
    match comparison.verdict {
        Better => "better",
        Worse => "worse",
        NoDifference => "no-difference",
        More | Less => "other",
        Unknown => "unknown",
    }
}

fn metric(table: &Table) -> Markup {
    let measured = table.rows.iter().filter(|row| row.statistics.is_some()).count();
    let unit = match table.shown.symbol.as_str() {
        "" => String::new(),
        symbol => format!(" ({symbol})"),
    };
    markup! {
        h3 { (table.metric.name) (unit) }
        p.meta { (table.metric.about) @if !table.direction().is_empty() { " " (capitalised(table.direction())) "." } }
        @if measured == 0 {
            p.meta { "Nothing was measured." }
        } @else if measured > LONG {
            details { summary { "Table of " (measured) " combinations" } (rows(table)) }
        } @else { (rows(table)) }
    }
}

fn rows(table: &Table) -> Markup {
    let measured: Vec<_> = table
        .rows
        .iter()
        .filter_map(|cell| Some((cell, cell.statistics?)))
        .collect();
    // One sample a trial: quantiles of all samples would say the same again.
    let single = measured
        .iter()
        .all(|(_, statistics)| statistics.samples == statistics.trials);
    let failed = table.rows.iter().any(|cell| cell.failed > 0);
    let number = |value: f64| table.shown.number(value);
    markup! {
        div.wide { table {
            thead { tr {
                @for factor in &table.factors { th { (factor) } }
                th.number { "Trials" } @if failed { th.number { "Failed" } }
                th.number { "Median" } th { "95 % interval" } th.number { "Quartiles" } th.number { "Mean" } th { "Student 95 %" }
                @if !single { th.number { "Samples" } th.number { "25\u{2013}75 %" } th.number { "p95" } th.number { "p99" } }
            } }
            tbody { @for (index, (cell, statistics)) in measured.iter().enumerate() {
                tr {
                    @for (place, factor) in table.factors.iter().enumerate() {
                        @let level = cell.levels.level(factor).unwrap_or_default();
                        @let above = index.checked_sub(1).map(|before| &measured[before].0.levels);
                        @let same = above.is_some_and(|above| table.factors[..=place].iter().all(|factor| above.level(factor) == cell.levels.level(factor)));
                        td.level.same[same] { (level) @if cell.floor && place == 0 { " " i { "floor" } } }
                    }
                    td.number { (statistics.trials) } @if failed { td.number { (cell.failed) } }
                    (estimate(&table.shown, statistics.median, statistics.interval, false))
                    td.number { (table.shown.range(statistics.quartiles.low, statistics.quartiles.high)) }
                    @match statistics.student {
                        Some(student) => (estimate(&table.shown, student.value, Some(student.interval), false)),
                        None => { td { } td { } },
                    }
                    @if !single {
                        td.number { (statistics.samples) }
                        td.number { (table.shown.range(statistics.spread[1], statistics.spread[3])) }
                        td.number { (number(statistics.spread[4])) }
                        td.number { (number(statistics.spread[5])) }
                    }
                }
            } }
        } }
    }
}

fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    letters
        .next()
        .map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
