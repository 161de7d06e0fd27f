//! The timings for people.

use std::fmt::{Display, Write as _};

use bartizan_wire::Side;
use bartizan_wire::timing::Timed;

use super::document::Overview;
use super::{Timings, milliseconds};
use crate::table::Side::{Left, Right};
use crate::table::Table;
use bartizan_inspect::text::printable;

/// Connections printed; the rest are in JSON and CSV.
const ROWS: usize = 50;

pub(super) fn render(all: &[Timings]) -> String {
    let mut text = String::new();
    for (index, timings) in all.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        // Writing to a String cannot fail.
        let _ = one(&mut text, timings);
    }
    text
}

fn one(text: &mut String, timings: &Timings) -> std::fmt::Result {
    let overview = Overview::new(timings);
    writeln!(
        text,
        "{}: {} TCP connections, {} TLS handshakes, {} packets, {} bytes, {:.3} s",
        printable(&timings.name),
        overview.connections,
        overview.handshakes,
        overview.packets,
        overview.bytes,
        overview.duration_ms / 1e3
    )?;
    if !timings.connections.is_empty() {
        let mut table = Table::new([Right, Left, Right, Right, Right, Right, Right, Right]);
        table.push([
            "number",
            "client -> server",
            "hello, ms",
            "SYN, ms",
            "packets c/s",
            "bytes c/s",
            "again",
            "TLS bytes",
        ]);
        for timed in timings.connections.iter().take(ROWS) {
            table.push(row(timed));
        }
        write!(text, "\n{}", table.render())?;
    }
    if timings.connections.len() > ROWS {
        writeln!(
            text,
            "  ... and {} more: see --csv or --json",
            timings.connections.len() - ROWS
        )?;
    }
    summary(text, &overview)?;
    if let Some(damage) = &timings.damage {
        writeln!(text, "note: {}", printable(damage))?;
    }
    Ok(())
}

fn row(timed: &Timed) -> [String; 8] {
    let connection = &timed.connection;
    let ends = format!("{} -> {}", connection.client, connection.server);
    let again = timed.from_client.retransmitted + timed.from_server.retransmitted;
    let both = |client: &dyn Display, server: &dyn Display| format!("{client}/{server}");
    let ms = |ns| format!("{:.3}", milliseconds(ns));
    let (hello, since_syn, packets, bytes, tls) = match &timed.handshake {
        Ok(handshake) => (
            ms(handshake.duration_ns()),
            handshake.since_syn_ns().map_or("-".to_owned(), ms),
            both(&handshake.packets(Side::Client), &handshake.packets(Side::Server)),
            both(
                &handshake.frame_bytes(Side::Client),
                &handshake.frame_bytes(Side::Server),
            ),
            both(&handshake.client_bytes, &handshake.server_bytes),
        ),
        Err(untimed) => (
            "-".to_owned(),
            "-".to_owned(),
            both(&timed.from_client.packets, &timed.from_server.packets),
            both(&timed.from_client.frame_bytes, &timed.from_server.frame_bytes),
            format!("({untimed})"),
        ),
    };
    [
        connection.number.to_string(),
        ends,
        hello,
        since_syn,
        packets,
        bytes,
        again.to_string(),
        tls,
    ]
}

fn summary(text: &mut String, overview: &Overview) -> std::fmt::Result {
    let distributions = [
        ("ClientHello to Finished, ms", &overview.handshake_ms),
        ("SYN to Finished, ms", &overview.handshake_from_syn_ms),
        ("gap between packets, ms", &overview.handshake_gap_ms),
        ("packets", &overview.handshake_packets),
        ("bytes of frames", &overview.handshake_bytes),
    ];
    if overview.handshakes > 0 {
        let mut table = Table::new([Left, Right, Right, Right, Right, Right, Right, Right]);
        table.push(
            [
                "handshakes",
                "n",
                "least",
                "quartile",
                "median",
                "quartile",
                "most",
                "mean",
            ]
            .map(str::to_owned),
        );
        for (name, distribution) in distributions {
            if let Some(one) = distribution {
                let values = [
                    one.least,
                    one.quartile_low,
                    one.median,
                    one.quartile_high,
                    one.most,
                    one.mean,
                ];
                let values = values.map(|value| format!("{value:.3}"));
                table.push([format!("  {name}"), one.n.to_string()].into_iter().chain(values));
            }
        }
        write!(text, "\n{}", table.render())?;
    }
    let or_none = |value: Option<f64>, unit: &str| value.map_or("-".to_owned(), |value| format!("{value:.3}{unit}"));
    if overview.handshakes > 0 {
        writeln!(
            text,
            "  bytes per packet            {}",
            or_none(overview.handshake_bytes_per_packet, "")
        )?;
    }
    writeln!(
        text,
        "\nall packets: {} bytes per packet, {} bytes per second, {} ms between packets on average",
        or_none(overview.bytes_per_packet, ""),
        or_none(overview.bytes_per_second, ""),
        or_none(overview.mean_gap_ms, "")
    )?;
    let sent = &overview.sent;
    writeln!(
        text,
        "segments: {} with data, {} sent again, {} out of order, {} behind a hole",
        sent.data_packets, sent.retransmitted, sent.out_of_order, sent.holes
    )?;
    if !overview.sizes.is_empty() {
        let sizes = overview.sizes.iter();
        let sizes = sizes.map(|size| format!("{} % <= {}", size.share * 100.0, size.bytes));
        writeln!(text, "sizes in bytes: {}", sizes.collect::<Vec<_>>().join(", "))?;
    }
    Ok(())
}
