//! The timings for spreadsheets: one line per connection.

use std::fmt::Write as _;

use bartizan_inspect::coverage_csv::quoted;
use bartizan_wire::Side;

use super::{Timings, milliseconds};

const COLUMNS: &str = "file,number,client,server,first_packet,last_packet,duration_ms,round_trip_ms,client_packets,server_packets,\
    client_frame_bytes,server_frame_bytes,data_packets,retransmitted,out_of_order,holes,handshake_ms,handshake_from_syn_ms,\
    handshake_client_packets,handshake_server_packets,handshake_client_frame_bytes,handshake_server_frame_bytes,\
    handshake_client_tls_bytes,handshake_server_tls_bytes,handshake_mean_gap_ms";

pub(super) fn render(all: &[Timings]) -> String {
    let mut text = format!("{COLUMNS}\n");
    for timings in all {
        for timed in &timings.connections {
            let connection = &timed.connection;
            let (client, server) = (&timed.from_client, &timed.from_server);
            let or_empty = |ns: Option<u64>| ns.map_or(String::new(), |ns| milliseconds(ns).to_string());
            // Writing to a String cannot fail.
            let _ = write!(
                text,
                "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
                quoted(&timings.name),
                connection.number,
                connection.client,
                connection.server,
                connection.first.packet,
                connection.last.packet,
                milliseconds(timed.duration_ns()),
                or_empty(timed.round_trip_ns),
                client.packets,
                server.packets,
                client.frame_bytes,
                server.frame_bytes,
                client.data_packets + server.data_packets,
                client.retransmitted + server.retransmitted,
                client.out_of_order + server.out_of_order,
                client.holes + server.holes,
            );
            let _ = match &timed.handshake {
                Ok(handshake) => {
                    let gaps = handshake.frames.len().saturating_sub(1);
                    let mean = (gaps > 0).then(|| milliseconds(handshake.duration_ns()) / gaps as f64);
                    writeln!(
                        text,
                        ",{},{},{},{},{},{},{},{},{}",
                        milliseconds(handshake.duration_ns()),
                        or_empty(handshake.since_syn_ns()),
                        handshake.packets(Side::Client),
                        handshake.packets(Side::Server),
                        handshake.frame_bytes(Side::Client),
                        handshake.frame_bytes(Side::Server),
                        handshake.client_bytes,
                        handshake.server_bytes,
                        mean.map_or(String::new(), |mean| mean.to_string()),
                    )
                }
                Err(_) => writeln!(text, ",,,,,,,,,"),
            };
        }
    }
    text
}
