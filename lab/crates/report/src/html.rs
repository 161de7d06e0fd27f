//! A report as one HTML file that needs nothing else: no script, no font, no picture from anywhere, no network.

mod parts;

use bartizan_estimators::Interval;
use base64::Engine as _;
use maud::{Markup, html as markup};

use crate::csv::{samples_csv, summary_csv};
use crate::json::json;
use crate::model::{AnswerPiece, Measured, PublishedValues, Quickness, Report};
use crate::quantity::words;
use bartizan_page::frame;
use bartizan_page::quantity::Shown;

/// Samples are put into the page up to this size: reports are kept in repositories, and samples are
/// in the record files too.
const MOST_EMBEDDED: usize = 256 << 10;

/// The whole page.
#[must_use]
pub fn html(report: &Report) -> String {
    let heading = &report.heading;
    let quick = report.quickness == Quickness::Quick;
    let body = markup! {
                header {
                    p.kicker { "Bartizan lab report · " (heading.id)
                        @if let Some((first, last)) = &heading.span { " · " (days(first, last)) } }
                    h1 { (heading.title) @if quick { " " span.badge { "quick run" } } }
                    p.question { (heading.question) }
                    @if let Some(source) = &heading.source {
                        p.meta { "First measured by: " (source.paper) ", " (source.title) ", " (source.place) "." }
                    }
                }
                @if quick {
                    p.quick { "This is a quick run: a look with few repetitions, which proves nothing. Take figures from a full run." }
                }
                (answer(&report.answer))
                (navigation(report))
                (warnings(report))
                (noise(report))
                @if let Some(published) = &report.published { (published_table(published, report)) }
                @for part in &report.parts { (parts::part(part, report.quickness)) }
                (conditions(report))
                @if !heading.invalid.is_empty() {
                    section id="invalid" {
                        h2 { "What would make it invalid" }
                        ul { @for sentence in &heading.invalid { li { (sentence) } } }
                    }
                }
                (method())
                (repeat(report))
                (raw(report))
                (cite(report))
                footer { "Made by Bartizan " (env!("CARGO_PKG_VERSION")) " from the records named above. The same records give the same report." }
    };
    let title = format!("{}{}", heading.title, if quick { " (quick run)" } else { "" });
    frame::page(&title, &[], "", &body)
}

fn answer(pieces: &[AnswerPiece]) -> Markup {
    markup! {
        @if !pieces.is_empty() {
            p.answer {
                span.by { "Answer" }
                @for piece in pieces {
                    @match piece {
                        AnswerPiece::Text(words) => (words),
                        AnswerPiece::Measured(words) => strong { (words) },
                        AnswerPiece::Missing(words) => em { (words) },
                    }
                }
            }
        }
    }
}

fn navigation(report: &Report) -> Markup {
    markup! {
        nav aria-label="Contents" { ul {
            @if report.published.is_some() { li { a href="#published" { "Published and measured" } } }
            @for part in &report.parts { li { a href=(format!("#{}", anchor(&part.id))) { (part.id) } } }
            li { a href="#conditions" { "Conditions" } }
            li { a href="#records" { "Raw data" } }
            li { a href="#cite" { "How to cite" } }
        } }
    }
}

fn warnings(report: &Report) -> Markup {
    markup! {
        @if !report.warnings.is_empty() {
            section.warnings id="warnings" {
                h2 { "Before you believe it" }
                ul { @for warning in &report.warnings { li { b { (warning.kind) } " — " (warning.text) } } }
            }
        }
    }
}

fn published_table(published: &PublishedValues, report: &Report) -> Markup {
    markup! {
        section id="published" {
            h2 { "Published and measured" }
            p { "Values as the publication prints them in its text and tables; nothing is read off a picture. Another machine, another core "
                "and other software were measured there: the ratio says how far apart the two are, not which one is right." }
            table {
                thead { tr { th { "Condition" } th { "Publication" } th { "Here" } } }
                tbody { @for (name, condition) in published.conditions.rows() {
                    tr { td { (name) } td { (condition.paper) } td { (condition.here) } }
                } }
            }
            div.wide { table {
                thead { tr {
                    th { "What" } th { "Statistic" } th { "Place" } th.number { "Published" } th.number { "Measured here" } th { }
                    th.number { "n" } th { "Measured is" }
                } }
                tbody { @for row in &published.rows { tr {
                    td { (row.subject()) @if report.quickness == Quickness::Quick { " " span.badge { "quick" } } }
                    td { (row.statistic()) }
                    td { (row.place()) }
                    td.number { (row.printed()) }
                    @match &row.measured {
                        Measured::Measured { value, interval, n, .. } => {
                            (estimate(&row.shown(), *value, *interval, true))
                            td.number { (n) }
                            td { (row.relation().unwrap_or_default()) }
                        }
                        Measured::Nothing { reason } => { td.note colspan="4" { (reason) } }
                    }
                } } }
            } }
            @let noted: Vec<_> = published.rows.iter().filter_map(|row| Some((row, row.note()?))).collect();
            @if !noted.is_empty() {
                h3 { "Notes" }
                ul.meta { @for (row, note) in noted { li { (row.subject()) ", " (row.statistic()) " " (row.printed()) ": " (note) } } }
            }
            @if !published.conflicts.is_empty() {
                h3 { "Where the publication disagrees with itself" }
                ul { @for conflict in &published.conflicts { li { (conflict.note) } } }
            }
        }
    }
}

fn noise(report: &Report) -> Markup {
    let sentences: Vec<String> = report.noise.sentences().collect();
    markup! {
        @if !sentences.is_empty() || !report.noise.cannot.is_empty() {
            section id="noise" {
                h2 { "What the machine did, and what this cannot tell" }
                ul { @for sentence in sentences.iter().chain(&report.noise.cannot) { li { (sentence) } } }
            }
        }
    }
}

fn repeat(report: &Report) -> Markup {
    let commit = report.conditions.iter().find(|condition| condition.name == "commit");
    markup! {
        section id="repeat" {
            h2 { "To measure it again" }
            p.meta { "As root, on an otherwise idle machine. Measured was commit " code { (commit.map_or_else(|| "not recorded".to_owned(), crate::Condition::words)) } "." }
            pre { (report.repeat.join("\n")) }
        }
    }
}

fn conditions(report: &Report) -> Markup {
    markup! {
        section id="conditions" {
            h2 { "Conditions" }
            dl {
                @for condition in &report.conditions { dt { (condition.name) } dd { (condition.words()) } }
                @if let Some((first, last)) = &report.heading.span { dt { "trials began" } dd { (first) " to " (last) } }
            }
            @if !report.left_out.is_empty() {
                h3 { "Not run on this machine" }
                ul.meta { @for left in &report.left_out {
                    li { (left.part) ", " (words(&left.levels)) ": " (left.what) " (" (left.reason) ")" }
                } }
            }
        }
    }
}

fn method() -> Markup {
    markup! {
        section id="method" {
            h2 { "How figures are made" }
            p.meta { "The unit of observation is the trial: samples within a trial depend on each other, so each trial counts by its median. "
                "Trials of one repetition follow each other in random order by the recorded seed. Intervals are 95 %. That of a median lies between "
                "two of the trials' medians, by the sign test with the dependence of trials that follow each other (Newey and West); shifts and "
                "ratios are those of Hodges and Lehmann over pairs of one repetition, so that what made the machine slow does so to both; "
                "Student's is over the trials' medians, as publications on the SBI report it. Below six trials no interval is given. An effect is "
                "named where all comparisons of a part together are 99 % sure of it, and where it is larger than what two of the same differ by "
                "(the control's interval); its size is a share of what it is set against. Two modes are reported where the dip of Hartigan and "
                "Hartigan is larger than chance has it (1 % of calibrations, 5 % of a combination) and they are a tenth apart at least. Drift is "
                "Pettitt's test for one step of all combinations of a part together, each value over its combination's median, at 1 %; warm-up the "
                "shift of the first tenth over the rest, the error of all such tests together 5 %. A percentile is given where five samples or more "
                "lie beyond it." }
        }
    }
}

fn raw(report: &Report) -> Markup {
    let id = &report.heading.id;
    let document = json(report).to_string();
    let summary = summary_csv(report);
    let samples = samples_csv(report);
    let link = |name: &str, kind: &str, text: &str| {
        let data = base64::engine::general_purpose::STANDARD.encode(text);
        markup! { a download=(format!("{id}{name}")) href=(format!("data:{kind};base64,{data}")) { (format!("{id}{name}")) } }
    };
    markup! {
        section id="records" {
            h2 { "Raw data" }
            p { "In this page, to be saved:" }
            ul.downloads {
                li { (link(".json", "application/json", &document)) }
                li { (link("-summary.csv", "text/csv", &summary)) }
                @if samples.len() <= MOST_EMBEDDED { li { (link("-samples.csv", "text/csv", &samples)) } }
            }
            @if samples.len() > MOST_EMBEDDED {
                p.meta { "All samples would be " (format!("{:.1} MB", samples.len() as f64 / 1e6)) ": they are in the record files." }
            }
            table {
                thead { tr { th { "Record file" } th.number { "Trials used" } th.number { "Lines left out" } } }
                tbody { @for (name, trials, damaged) in &report.files { tr {
                    td { code { (name) } } td.number { (trials) } td.number { (damaged) }
                } } }
            }
            p.meta { "Experiment file: SHA-256 " code { (report.heading.digest) } }
        }
    }
}

fn cite(report: &Report) -> Markup {
    let heading = &report.heading;
    let year = heading
        .span
        .as_ref()
        .and_then(|(_, last)| last.get(..4))
        .unwrap_or_default();
    let day = heading
        .span
        .as_ref()
        .and_then(|(_, last)| last.get(..10))
        .unwrap_or_default();
    let digest = heading.digest.get(..12).unwrap_or(&heading.digest);
    let version = env!("CARGO_PKG_VERSION");
    let bibtex = format!(
        "@techreport{{bartizan-{id},\n  author = {{{{The Bartizan developers}}}},\n  title = {{{title}}},\n  institution = {{Bartizan {version}}},\n  \
         year = {{{year}}},\n  note = {{Experiment {id}, file {digest}, last trial of {day}}}\n}}",
        id = heading.id,
        title = heading.title,
    );
    markup! {
        section id="cite" {
            h2 { "How to cite" }
            p { "The Bartizan developers: " em { (heading.title) } ". Bartizan " (version) ", experiment " (heading.id) " (file " code { (digest) } "), "
                (day) "." @if report.quickness == Quickness::Quick { " Quick run." } }
            pre { (bibtex) }
            @if let Some(source) = &heading.source {
                p.meta { "The experiment repeats: " (source.paper) ", " (source.title) ", " (source.place) ". Cite it too." }
            }
        }
    }
}

/// A number with its unit, and its interval in small type: two fields of a table, so that both are aligned.
fn estimate(shown: &Shown, value: f64, interval: Option<Interval>, unit: bool) -> Markup {
    let (number, interval) = match interval {
        Some(interval) => {
            let (number, interval) = shown.parts(value, interval);
            (number, Some(interval))
        }
        None => (shown.number(value), None),
    };
    markup! {
        td.number.main { (number) @if unit && !shown.symbol.is_empty() { "\u{a0}" (shown.symbol) } }
        td.interval { @if let Some(interval) = interval { (interval) } }
    }
}

/// Note on trials with two modes: their medians, and the share of the upper one.
pub(crate) fn two_modes(shown: &Shown, modes: &bartizan_estimators::Modes) -> String {
    let [low, high] = modes.medians.map(|median| shown.number(median));
    format!("{low} and {high} ({})", crate::quantity::percent(modes.upper))
}

/// A number and its interval without unit, as plain words.
pub(crate) fn with_interval(shown: &Shown, value: f64, interval: Option<Interval>) -> String {
    match interval {
        Some(interval) => {
            let (number, interval) = shown.parts(value, interval);
            format!("{number} [{interval}]")
        }
        None => shown.number(value),
    }
}

/// An id that is a name in HTML whatever the text is.
fn anchor(id: &str) -> String {
    let plain: String = id
        .chars()
        .map(|character| {
            if character.is_ascii_alphanumeric() {
                character
            } else {
                '-'
            }
        })
        .collect();
    format!("part-{plain}")
}

/// The days of two instants, `2026-11-21` or `2026-11-21 to 2026-11-22`.
fn days(first: &str, last: &str) -> String {
    let day = |instant: &str| instant.get(..10).unwrap_or(instant).to_owned();
    let (first, last) = (day(first), day(last));
    if first == last {
        first
    } else {
        format!("{first} to {last}")
    }
}
