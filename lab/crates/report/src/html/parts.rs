//! A part of an experiment in HTML: plots, comparisons, tables.

use maud::{Markup, PreEscaped, html as markup};

use super::{anchor, estimate};
use crate::model::{Comparison, Control, Direction, Effect, Figure, Mode, Part, Quickness, Table, Verdict};
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
            (controls(&part.controls))
            @for table in &part.tables { (metric(table)) }
        }
    }
}

fn plot(figure: &Figure, quick: bool) -> Markup {
    markup! {
        figure {
            h3 { (figure.drawing.title) @if quick { " " span.badge { "quick run" } } }
            div.drawing { (PreEscaped(figure.drawing.inline())) }
            figcaption { (figure.caption) }
        }
    }
}

fn comparisons(comparisons: &[Comparison]) -> Markup {
    let within = comparisons.iter().any(|comparison| !comparison.within.is_empty());
    let speeds = comparisons.iter().any(|one| one.by_speed.iter().any(Option::is_some));
    markup! {
        @if !comparisons.is_empty() {
            h3 { "Comparisons" }
            div.wide { table {
                thead { tr {
                    th { "Comparison" } th { "Metric" } th { "Of" } th { "Over" } @if within { th { "Within" } }
                    th.number { "Value" } th { "95 % interval" } th.number { "n" }
                    @if speeds { th { "Fast mode" } th { "Slow mode" } }
                    th { "Effect" }
                } }
                tbody { @for comparison in comparisons { tr {
                    td { (comparison.id) }
                    td { (comparison.metric.name) ", " (comparison.form.name()) }
                    td { (words(&comparison.of)) }
                    td { (words(&comparison.over)) }
                    @if within { td { (words(&comparison.within)) } }
                    (value(comparison))
                    td.number { (counts(comparison.n)) }
                    @if speeds { @for at in &comparison.by_speed {
                        td { @if let Some(at) = at { (comparison.sentence_at(at)) } }
                    } }
                    td { span class=(format!("verdict {}", class(&comparison.effect))) { (comparison.effect.words()) } }
                } } }
            } }
        }
    }
}

fn controls(controls: &[Control]) -> Markup {
    markup! {
        @if !controls.is_empty() {
            h3 { "Two of the same" }
            p.meta { "Started alike and interleaved with everything else: what they seem to differ by is no difference." }
            div.wide { table {
                thead { tr {
                    th { "Control" } th { "Metric" } th { "Twin less combination, 95 %" } th.number { "n" } th { "Effect" }
                } }
                tbody { @for control in controls { tr {
                    td { (words(&control.levels)) }
                    td { (control.metric.name) }
                    td { (control.sentence().unwrap_or_else(|| "\u{2013}".to_owned())) }
                    td.number { (control.n) }
                    td { span class=(format!("verdict {}", class(&control.effect))) { (control.effect.words()) } }
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

fn class(effect: &Effect) -> &'static str {
    match (effect.verdict, effect.direction) {
        (Verdict::More | Verdict::Less, Direction::Better) => "better",
        (Verdict::More | Verdict::Less, Direction::Worse) => "worse",
        (Verdict::More | Verdict::Less, Direction::Neither) => "other",
        (Verdict::NoDifference | Verdict::WithinControl, _) => "no-difference",
        (Verdict::TooFew, _) => "unknown",
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
    let speeds = measured.iter().any(|(_, statistics)| statistics.slow.is_some());
    let modes = measured.iter().any(|(_, statistics)| statistics.modes.is_some());
    let number = |value: f64| table.shown.number(value);
    markup! {
        div.wide { table {
            thead { tr {
                @for factor in &table.factors { th { (factor) } }
                th.number { "Trials" } @if failed { th.number { "Failed" } }
                th.number { "Median" } th { "95 % interval" }
                @if speeds { th { "Fast mode, n" } th { "Slow mode, n" } }
                @if modes { th { "Two modes" } }
                th.number { "Quartiles" } th.number { "Mean" } th { "Student 95 %" }
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
                    @if speeds { @for mode in [statistics.fast, statistics.slow] {
                        td { @if let Some(mode) = mode { (at_speed(table, &mode)) } }
                    } }
                    @if modes { td { @if let Some(modes) = statistics.modes { (super::two_modes(&table.shown, &modes)) } } }
                    td.number { (table.shown.range(statistics.quartiles.low, statistics.quartiles.high)) }
                    @match statistics.student {
                        Some(student) => (estimate(&table.shown, student.value, Some(student.interval), false)),
                        None => { td { } td { } },
                    }
                    @if !single {
                        td.number { (statistics.samples) }
                        td.number { @if let (Some(low), Some(high)) = (statistics.spread[1], statistics.spread[3]) { (table.shown.range(low, high)) } }
                        td.number { @if let Some(value) = statistics.spread[4] { (number(value)) } }
                        td.number { @if let Some(value) = statistics.spread[5] { (number(value)) } }
                    }
                }
            } }
        } }
    }
}

/// Median and number of the trials in one mode of the machine.
fn at_speed(table: &Table, mode: &Mode) -> String {
    let median = super::with_interval(&table.shown, mode.median, mode.interval);
    format!("{median}, {}", mode.trials)
}

fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    letters
        .next()
        .map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
