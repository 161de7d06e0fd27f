//! The page around the map: what it amounts to, the findings, and the evidence of every link.

use bartizan_inspect::text::counted;
use bartizan_inspect::{Coverage, Finding, Remedy};
use bartizan_posture::{Direction, Judgement, Link, Listing, Phase, Reply, Source, Verdict};
use maud::{Markup, PreEscaped, html as markup};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::Survey;
use super::map::{self, NODES};
use crate::frame::{self, coded};
use crate::plot::canvas::Canvas;

/// Links whose evidence is on the page, the worst ones; the others are in the JSON.
const CARDS: usize = 600;
/// Links in the table.
const ROWS: usize = 2000;
/// Findings and notes shown.
const FINDINGS: usize = 200;

/// One page for all captures that were read together.
pub(super) fn page(surveys: &[Survey<'_>]) -> String {
    let names: Vec<&str> = surveys.iter().map(|survey| survey.report.name()).collect();
    let kicker = format!("Bartizan inspect · {}", names.join(" · "));
    let body = markup! {
        header {
            p.kicker { (kicker) }
            h1 { "What the packets show" }
            p.question { "Which links can be read now, which can be recorded today and decrypted later, and where identities can be forged: "
                "two verdicts for each link, never merged, and only from evidence." }
        }
        (answer(surveys))
        @for (index, survey) in surveys.iter().enumerate() { (capture(index, survey)) }
        (method())
        footer { "Made by Bartizan " (env!("CARGO_PKG_VERSION")) " from the captures named above. The same captures give the same page." }
    };
    frame::page("What the packets show", &[include_str!("style.css")], "broad", &body)
}

fn all_links<'a>(surveys: &'a [Survey<'_>]) -> impl Iterator<Item = &'a Link> {
    surveys.iter().flat_map(|survey| &survey.report.network().links)
}

/// Links with each verdict: readable now, vulnerable, unknown, and safe.
fn count(surveys: &[Survey<'_>], verdict: impl Fn(&Link) -> Verdict) -> [usize; 4] {
    all_links(surveys)
        .filter(|link| link.carried())
        .fold([0; 4], |mut counts, link| {
            counts[match verdict(link) {
                Verdict::ReadableNow => 0,
                Verdict::Vulnerable => 1,
                Verdict::NotObservable | Verdict::NotSeen => 2,
                Verdict::QuantumSafe => 3,
            }] += 1;
            counts
        })
}

fn answer(surveys: &[Survey<'_>]) -> Markup {
    let of_recorder = count(surveys, |link| link.confidentiality.verdict());
    let of_forger = count(surveys, |link| link.authenticity.verdict());
    let total = all_links(surveys).count();
    let without_data = all_links(surveys).filter(|link| !link.carried()).count();
    let carried: usize = of_recorder.iter().sum();
    let line = |counts: [usize; 4], of: [&str; 4]| {
        let said: Vec<(usize, &str)> = counts.into_iter().zip(of).filter(|(count, _)| *count > 0).collect();
        let last = said.len().saturating_sub(1);
        markup! { @for (index, (count, what)) in said.iter().enumerate() {
            @if index > 0 { @if index == last { ", and " } @else { ", " } }
            strong { (count) } " " (what)
        } ". " }
    };
    markup! {
        p.answer {
            span.by { "Answer" }
            @if carried == 0 {
                "None of " strong { (total) } " links carried anything in these captures."
            } @else {
                "Of " strong { (total) } @if total == 1 { " link: " } @else { " links: " }
                (line(of_recorder, ["can be read now", "can be harvested now and decrypted later", "nobody can tell from these packets", "withstand a recorder by all that is known"]))
                @if without_data > 0 { strong { (without_data) } " carried nothing. " }
                "Of their identities: "
                (line(of_forger, ["", "can be forged", "nobody can tell from these packets", "withstand a forger by all that is known"]))
            }
        }
        @for survey in surveys { (judged(survey, surveys.len() > 1)) }
    }
}

/// Shares judged, findings by severity, and first steps.
fn judged(survey: &Survey<'_>, named: bool) -> Markup {
    let answer = survey.report.answer();
    let Coverage { unproven, not_read, .. } = answer.coverage;
    markup! {
        div.first {
            p {
                @if named { b { (survey.report.name()) } ": " }
                strong { (answer.coverage.percent()) } " of " (answer.coverage.wanted()) " bytes judged"
                @if unproven > 0 { ", " (unproven) " unproven" }
                @if not_read > 0 { ", " (not_read) " not read" }
                ". Findings: "
                @if answer.severities.is_empty() { "none." }
                @for (index, (severity, count)) in answer.severities.iter().enumerate() {
                    @if index > 0 { ", " } strong { (count) } " " (severity.name())
                }
                @if !answer.severities.is_empty() { "." }
            }
            @if !answer.steps.is_empty() {
                p { b { "What to do first" } }
                ol { @for step in &answer.steps { li { (coded(step.remedy)) " " span.because { "(" (step.mends) ")" } } } }
            }
        }
    }
}

fn capture(index: usize, survey: &Survey<'_>) -> Markup {
    let (name, network) = (survey.report.name(), survey.report.network());
    let links = &network.links;
    let order = worst_first(links);
    let shown = &order[..order.len().min(CARDS)];
    let (drawing, drawn) = map::map(&format!("The network in {name}"), index, shown, &survey.unseen);
    markup! {
        section id=(format!("capture-{}", index + 1)) {
            h2 { (name) }
            @if let Some(damage) = survey.report.damage() {
                div.warnings { b { "not read to its end" } " — " (damage.to_string()) }
            }
            @if links.is_empty() && survey.unseen.is_empty() {
                p { "No links." }
            } @else {
                figure.map id=(format!("map-{}", index + 1)) {
                    div.legend { (PreEscaped(map::legend().inline())) }
                    div.drawing { (PreEscaped(drawing.inline())) }
                    figcaption {
                        "Of the two strokes of a link the upper (or left) one is " b { "confidentiality" } " against someone who records now and has a quantum "
                        "computer later, the lower (or right) one " b { "authenticity" } " against someone who forges with one; the two chips say the same in "
                        "that order, where there is room for them. A click on a link leads to its evidence. "
                        @if drawn < links.len() {
                            "Drawn are " (drawn) " of " (links.len()) " links, the worst first, of " (NODES) " ends at most; the table has "
                            (links.len().min(ROWS)) " of them, the JSON all. "
                        }
                        @if network.untracked > 0 { (network.untracked) " connections are in no link, because there were too many links." }
                    }
                }
            }
            (findings("Findings", &survey.findings))
            @if !links.is_empty() { (table(index, &order)) }
            (facts(survey))
            @if !links.is_empty() { h2 { "Evidence" } }
            @for &(number, link) in shown { (card(index, number, link)) }
            @if links.len() > CARDS {
                p.meta { "The evidence of " (links.len() - CARDS) " further links, none of them worse, is in the JSON." }
            }
        }
    }
}

fn findings(title: &str, reported: &[(Finding, Option<String>)]) -> Markup {
    markup! {
        @if !reported.is_empty() {
            div.findings {
                h3 { (title) }
                ul { @for (one, accepted) in reported.iter().take(FINDINGS) {
                    li { b { (one.severity().name()) ", " (one.concern.name()) } " — " (coded(&format!("{}: {}", counted(one.count, one.unit), one.because))) br; (remedy(&one.remedy)) @if let Some(example) = &one.example { br; span.places { "first: " (example) } } @if let Some(accepted) = accepted { br; span.places { (accepted) } } }
                } }
                @if reported.len() > FINDINGS { p.meta { (reported.len() - FINDINGS) " further ones are in the JSON." } }
            }
        }
    }
}

fn remedy(remedy: &Remedy) -> Markup {
    let (asked, clause) = (remedy.asked(), remedy.clause);
    let met = remedy.met().map(|sides| sides.map(|side| side.join(", ")));
    markup! {
        span.remedy { "Remedy: " (coded(remedy.what)) }
        @for change in remedy.changes { br; span.change { "in " (change.file) ": " code { (change.entry) } } }
        @if let Some(command) = remedy.command { br; span.change { "command: " code { (command) } } }
        @if let Some(clause) = clause { br; span.places { "asked by: " (clause) } }
        @if !asked.is_empty() {
            br; span.places { "asked by: " @for (place, one) in asked.iter().enumerate() {
                @if place > 0 { "; " } span title=(one.asks) { (one.name) " (" (one.edition) ", " (one.place) ")" }
            } }
        }
        @if let Some([met, others]) = met {
            br; span.places { "this remedy meets " (met) @if !others.is_empty() { "; not " (others) } }
        }
    }
}

/// Links with their numbers in the order of first packets, the worst first.
fn worst_first(links: &[Link]) -> Vec<(usize, &Link)> {
    let mut order: Vec<(usize, &Link)> = links.iter().enumerate().collect();
    order.sort_by_key(|(number, link)| {
        let rank = |verdict| match verdict {
            Verdict::ReadableNow => 0,
            Verdict::Vulnerable => 1,
            Verdict::NotObservable => 2,
            Verdict::NotSeen => 3,
            Verdict::QuantumSafe => 4,
        };
        (
            // A link that carried nothing endangers nothing.
            !link.carried(),
            rank(link.confidentiality.verdict()),
            rank(link.authenticity.verdict()),
            *number,
        )
    });
    order
}

fn table(index: usize, order: &[(usize, &Link)]) -> Markup {
    markup! {
        h3 { "Links, the worst first" }
        div.wide { table.links {
            thead { tr { th { "Interface" } th { "Ends" } th { "What" } th { "Key exchange" } th { "Confidentiality" } th { "Authenticity" } } }
            tbody { @for (place, &(number, link)) in order.iter().enumerate().take(ROWS) { tr {
                td { @if place < CARDS { a href=(format!("#{}", map::anchor(index, number))) { (name(link)) } } @else { (name(link)) } }
                td { (link.ends[0]) " – " (link.ends[1]) @for path in &link.paths { br; span.because { "in " (path.to_string()) } } }
                td { (kinds(link)) }
                td { (algorithms(link)) }
                td { (says(&link.confidentiality)) }
                td { (says(&link.authenticity)) }
            } } }
        } }
    }
}

fn facts(survey: &Survey<'_>) -> Markup {
    let totals = survey.report.totals();
    markup! {
        h3 { "The capture" }
        dl {
            dt { "packets" } dd { (totals.packets) }
            @if let (Some(first), Some(last)) = (totals.first, totals.last) {
                dt { "from" } dd { (instant(first.time.0)) } dt { "to" } dd { (instant(last.time.0)) }
            }
            @if let Some(sha256) = survey.report.sha256() { dt { "SHA-256" } dd { code { (sha256) } } }
        }
        @if !survey.notes.is_empty() {
            ul.meta { @for note in survey.notes.iter().take(FINDINGS) { li { (coded(note)) } } }
        }
    }
}

fn card(index: usize, number: usize, link: &Link) -> Markup {
    markup! {
        article.card id=(map::anchor(index, number)) {
            a.up href=(format!("#map-{}", index + 1)) { "to the map" }
            h3 { (name(link)) " · " (link.ends[0]) " – " (link.ends[1]) }
            p.meta {
                (kinds(link)) " · " (link.parts) @if link.parts == 1 { " connection or association" } @else { " connections or associations" }
                @if link.attempts > 0 { ", " (link.attempts) " more refused or without data" }
                " · packets " (link.first.packet) "–" (link.last.packet)
                @if link.in_ledger > 0 { " · " (link.in_ledger) " known to a ledger" }
                @match &link.listing {
                    Listing::Unlisted => " · not in the deployment file",
                    Listing::Within(_) => " · within a node",
                    Listing::Listed(_) | Listing::NoDeployment => "",
                }
                @if let Some(interface) = link.interface { " · interface named by " (interface.by.name()) }
                @for path in &link.paths { " · in " (path.to_string()) }
            }
            div.verdicts {
                (verdict("Confidentiality", &link.confidentiality))
                (verdict("Authenticity", &link.authenticity))
            }
            @if !link.objections.is_empty() {
                h4 { "To object to" }
                ul.findings { @for objection in &link.objections {
                    li { b { (objection.concern.name()) } " — " (objection.because) " " (places(&objection.sources)) }
                } }
            }
            @if let Some(exception) = &link.exception { p { b { "Let through: " } (exception) } }
            (questions(link))
            (history(link))
        }
    }
}

fn verdict(axis: &str, judgement: &Judgement) -> Markup {
    markup! {
        div class=(map::class(judgement.verdict())) {
            b { (axis) } ": " (chip(judgement.verdict())) span.says { (judgement.verdict().name()) }
            br; (judgement.because())
            br; (places(judgement.sources()))
        }
    }
}

fn says(judgement: &Judgement) -> Markup {
    markup! {
        span class=(map::class(judgement.verdict())) { (chip(judgement.verdict())) span.says { (judgement.verdict().name()) } }
        br; span.because { (judgement.because()) }
    }
}

fn chip(verdict: Verdict) -> Markup {
    let mut canvas = Canvas::default();
    map::sign(&mut canvas, (0.0, 0.0), 15.0, verdict);
    let sign = canvas.finish("", "", 15.0, 15.0).inside("chip-in-text");
    markup! { (PreEscaped(sign)) }
}

fn questions(link: &Link) -> Markup {
    let [one, other] = &link.ends;
    let [there, back] = &link.directions;
    let directions: [(&Direction, String); 2] =
        [(there, format!("{one} → {other}")), (back, format!("{other} → {one}"))];
    markup! {
        h4 { "Six questions, for each direction" }
        div.wide { table {
            thead { tr { th { "Was post-quantum …" } @for (direction, ends) in &directions { th { (ends) " (" (direction.packets) " packets, " (direction.bytes) " bytes)" } } } }
            tbody { @for (place, question) in ASKED.iter().enumerate() { tr {
                td { (question) }
                @for (direction, _) in &directions { td { (reply(direction.questions()[place].1)) } }
            } } }
        } }
    }
}

/// The questions in the words of the page, in the order of [`Direction::questions`].
const ASKED: [&str; 6] = [
    "offered?",
    "preferred?",
    "negotiated?",
    "… and the sender authenticated, with what?",
    "… and did it stay so?",
    "… or anything sent unencrypted?",
];

fn reply(reply: &Reply) -> Markup {
    markup! { b { (reply.answer().name()) } " " span.because { (reply.because()) } " " (places(reply.sources())) }
}

fn history(link: &Link) -> Markup {
    markup! {
        @if link.phases.len() > 1 || link.phases.iter().any(|phase| phase.rekeys > 0) {
            h4 { "What it was first, and what it became" }
            div.wide { table {
                thead { tr { th { "How" } th { "What" } th { "Confidentiality" } th { "Authenticity" } th.number { "Times" } th.number { "Rekeys inside" } th.number { "Packets" } } }
                tbody { @for phase in &link.phases { (row(phase)) } }
            } }
            @if link.beyond_phases > 0 { p.meta { (link.beyond_phases) " connections of further kinds are left out." } }
        }
    }
}

fn row(phase: &Phase) -> Markup {
    markup! { tr {
        td { (phase.occasion.name()) }
        td { (phase.kind.name()) @if let Some(key_exchange) = &phase.key_exchange { ", " (key_exchange) } }
        @for verdict in [phase.confidentiality, phase.authenticity] {
            td class=(map::class(verdict)) { (chip(verdict)) span.says { (verdict.name()) } }
        }
        td.number { (phase.parts) } td.number { (phase.rekeys) } td.number { (phase.first.packet) "–" (phase.last.packet) }
    } }
}

fn name(link: &Link) -> String {
    match (link.interface, link.service) {
        (Some(interface), _) => interface.name.to_owned(),
        (None, Some(port)) => format!("tcp/{port}"),
        (None, None) => "unnamed".to_owned(),
    }
}

fn kinds(link: &Link) -> String {
    let kinds: Vec<String> = link
        .by_kind
        .iter()
        .map(|(kind, count)| format!("{count} × {}", kind.name()))
        .collect();
    if kinds.is_empty() {
        "nothing carried".into()
    } else {
        kinds.join(", ")
    }
}

fn algorithms(link: &Link) -> String {
    let groups = link.groups.iter().map(ToString::to_string);
    let all: Vec<String> = groups.chain(link.methods.iter().map(ToString::to_string)).collect();
    if all.is_empty() { "–".into() } else { all.join(", ") }
}

fn places(sources: &[Source]) -> Markup {
    let places: Vec<String> = sources.iter().map(place).collect();
    markup! { @if !places.is_empty() { span.places { "[" (places.join("; ")) "]" } } }
}

fn place(source: &Source) -> String {
    match source {
        Source::Packets { first, last, .. } if first == last => format!("packet {first}"),
        Source::Packets { first, last, .. } => format!("packets {first}–{last}"),
        Source::Ledger { node, at_us, .. } => format!("ledger of {node}, {}", instant(at_us.saturating_mul(1000))),
        _ => "elsewhere".into(),
    }
}

/// Nanoseconds since 1970 as RFC 3339 writes them.
fn instant(nanoseconds: u64) -> String {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(nanoseconds))
        .ok()
        .and_then(|instant| instant.format(&Rfc3339).ok())
        .unwrap_or_else(|| format!("{nanoseconds} ns"))
}

fn method() -> Markup {
    markup! {
        section id="method" {
            h2 { "How to read it" }
            p.meta { "A verdict is the worst over everything a link consists of, and is made from packets and ledgers only; what neither shows is "
                "“not observable” (the protocol hides it) or “not seen” (the capture lacks it), never safe. TLS 1.3 and IKEv2 encrypt how "
                "ends prove who they are: the ledgers of both ends supply it. Packet numbers are those Wireshark shows. Of long lists of places the "
                "first eight are given." }
        }
    }
}
