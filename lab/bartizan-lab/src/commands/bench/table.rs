//! The figures as tables.

use std::fmt::Write as _;

use bartizan_estimators::Sample;
use bartizan_page::quantity::Shown;
use bartizan_report::bench::{Figure, Name, Target, Verdict};
use bartizan_workbench::runner::trial::Environment;
use bartizan_workbench::stand_in::proxies::Mode;

use crate::commands::bench::report::Report;
use crate::table::Side::{Left, Right};
use crate::table::Table;

pub(super) fn render(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for group in report.figures.chunk_by(|one, other| heading(one) == heading(other)) {
        let typical = Sample::new(group.iter().map(|figure| figure.summary.median.abs()));
        // As reports show the same: one unit for all of them, digits as the intervals have it.
        let shown = bartizan_report::quantity::for_values(group[0].unit, typical.map_or(0.0, |sample| sample.median()));
        let _ = writeln!(text, "{}", titled(&group[0], &shown));
        let mut table = Table::new([Left, Left, Right, Right, Right, Right, Right, Right, Left]);
        table.push([
            "",
            "",
            "n",
            "quartile",
            "median",
            "quartile",
            "95 % interval",
            "CPU us",
            "target",
        ]);
        for figure in group {
            table.push(row(figure, &shown));
        }
        text.push_str(&table.indented());
        text.push('\n');
    }
    closing(&mut text, report);
    text
}

fn heading(figure: &Figure) -> String {
    let what = match figure.figure {
        Name::RoundTrip => "request on a kept-alive connection, direct".to_owned(),
        Name::Added => "added to a request on a kept-alive connection".to_owned(),
        Name::Ratio => "request on a kept-alive connection, post-quantum over classical".to_owned(),
        Name::OtherAdded => "added to a request on a kept-alive connection, over that of the other build".to_owned(),
        Name::Throughput => match figure.streams {
            Some(1) => "throughput, one request at a time".to_owned(),
            streams => format!("throughput, {} requests at a time", streams.unwrap_or(0)),
        },
        Name::NewConnection => "request on a new connection with a full handshake".to_owned(),
        Name::HandshakesInMemory => "full handshakes per second and core, server's half, in memory".to_owned(),
        Name::FirstContactsInMemory => {
            "full handshakes per second and core, server's half, in memory, of ends that never met".to_owned()
        }
        Name::HandshakesOverTcp => "full handshakes per second and core, server's process, over TCP".to_owned(),
        Name::Memory => "resident memory of a proxy after 64 streams of load".to_owned(),
    };
    format!("{what} ({})", figure.placement.name())
}

/// The heading with the unit.
fn titled(figure: &Figure, shown: &Shown) -> String {
    let heading = heading(figure);
    match (heading.rsplit_once(" ("), shown.symbol.as_str()) {
        (Some((what, place)), unit) if !unit.is_empty() => format!("{what}, {unit} ({place}"),
        _ => heading,
    }
}

fn row(figure: &Figure, shown: &Shown) -> [String; 9] {
    let summary = figure.summary;
    let number = |value: f64| shown.number(value);
    let (median, interval) = match figure.interval {
        Some(interval) => shown.parts(summary.median, interval),
        None => (number(summary.median), "-".to_owned()),
    };
    let proxy = match (figure.figure, figure.proxy) {
        (_, Some(proxy)) => proxy.name(),
        (Name::HandshakesInMemory | Name::FirstContactsInMemory, None) => "bartizan",
        (_, None) => "direct",
    };
    [
        proxy.to_owned(),
        figure.mode.map_or("", Mode::name).to_owned(),
        summary.n.to_string(),
        number(summary.lower_quartile),
        median,
        number(summary.upper_quartile),
        interval,
        figure.cpu_us.map_or_else(|| "-".to_owned(), |us| format!("{us:.1}")),
        verdict(figure),
    ]
}

fn verdict(figure: &Figure) -> String {
    let bound = match figure.target {
        None => return failures(figure),
        Some(Target::AtMost(bound)) => format!("at most {bound}"),
        Some(Target::AtLeast(bound)) => format!("at least {bound}"),
        Some(Target::Inside(low, high)) => format!("inside {low} .. {high}"),
    };
    let said = match &figure.verdict {
        Verdict::Reached => "reached".to_owned(),
        Verdict::NotReached => "NOT REACHED".to_owned(),
        Verdict::NotJudged(reason) => format!("not judged ({reason})"),
        Verdict::NoTarget => String::new(),
    };
    format!("{bound}: {said}{}", failures(figure))
}

fn failures(figure: &Figure) -> String {
    match figure.failed {
        0 => String::new(),
        failed => format!(" ({failed} trials failed)"),
    }
}

fn closing(text: &mut String, report: &Report) {
    if report.quick {
        text.push_str("quick: these figures are a look and prove nothing\n");
    }
    for left_out in &report.left_out {
        let _ = writeln!(text, "left out: {}: {}", left_out.proxy, left_out.reason);
    }
    let Some(Environment {
        version,
        kernel,
        processor,
        processors,
        priority,
        programs,
        ..
    }) = &report.environment
    else {
        return;
    };
    let load = report
        .load
        .map_or_else(|| "unknown".to_owned(), |(low, high)| format!("{low} .. {high}"));
    let _ = writeln!(
        text,
        "bartizan {version}, seed {}, {} trials, {} failed; Linux {kernel}, {} x {}; load average {load} (ours included), \
         priority {priority}\nprograms: {}\n\
         CPU us: processor time of both proxies together per request; the median of repetitions. Interval: with the dependence of\n\
         trials that follow each other; of what is added and of ratios, over pairs of the same repetition.",
        report.seed,
        report.trials,
        report.failed,
        processors.len(),
        processor.as_deref().unwrap_or("unknown processor"),
        programs.join("; "),
    );
}
