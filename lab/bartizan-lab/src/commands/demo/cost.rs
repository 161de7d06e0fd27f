//! Cost of protection, as a table.

use std::fmt::Write as _;

use crate::commands::demo::registrations::{Run, Used};
use crate::output::err;

/// Prints the table on standard error, where all of the demo's words go.
pub(super) fn show(runs: &[Run]) {
    err!("\n{}", render(runs));
}

fn render(runs: &[Run]) -> String {
    let mut text = String::from(
        "what it cost: latency of a request in ms without the network function's own time; sidecars' CPU in ms of the whole 13.5 s\n\n\
         \x20                            requests         lower            upper  added to      TLS  on the     CPU of sidecars  memory of\n\
         \x20                            (errors)      quartile   median  quartile  median  hand-  link kB   consumers'  six of  one sidecar\n\
         \x20                                                                              shakes           one         NFs      MB\n",
    );
    let straight = runs
        .iter()
        .find(|run| run.handshakes.is_none())
        .and_then(|run| run.latency_us);
    for run in runs {
        let ms = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |us| format!("{:.3}", us / 1e3));
        let latency = run.latency_us;
        let added = latency
            .zip(straight)
            .filter(|_| run.handshakes.is_some())
            .map(|(with, without)| with.median - without.median);
        let count = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        let cpu = |used: Option<&Used>| used.map_or_else(|| "-".to_owned(), |used| format!("{:.0}", used.cpu_ms));
        let memory = run
            .consumers_sidecar
            .as_ref()
            .map(|used| used.peak_resident_bytes as f64 / 1e6);
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{:<28}{:>6} ({}){:>13}{:>9}{:>10}{:>8}{:>9}{:>9}{:>10}{:>10}{:>11}",
            run.short,
            run.requests,
            run.errors.len(),
            ms(latency.map(|of| of.lower_quartile)),
            ms(latency.map(|of| of.median)),
            ms(latency.map(|of| of.upper_quartile)),
            ms(added),
            count(run.handshakes),
            count(run.eavesdropper.as_ref().map(|view| view.bytes / 1000)),
            cpu(run.consumers_sidecar.as_ref()),
            cpu(run.producers_sidecars.as_ref()),
            memory.map_or_else(|| "-".to_owned(), |mb| format!("{mb:.1}")),
        );
    }
    text
}
