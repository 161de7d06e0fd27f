//! The timings for programs: schema `bartizan-timing/1`, documented in docs/timing.md.

use bartizan_registry::object;
use bartizan_stats::Sample;
use bartizan_wire::Side;
use bartizan_wire::timing::{Handshake, Sent, Timed};
use serde::Serialize;

use super::{Timings, milliseconds, ratio};

/// Name and version of the schema.
const SCHEMA: &str = "bartizan-timing/1";
/// Shares of packets whose largest size is given.
pub(super) const SHARES: [f64; 9] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0];

/// All files as one document.
pub(super) fn render(all: &[Timings]) -> Result<String, serde_json::Error> {
    let document = object!(Document {
        schema: SCHEMA,
        files: all.iter().map(file_facts).collect::<Vec<_>>(),
    });
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}

bartizan_registry::made! {
    /// All connections of a capture.
    #[derive(Serialize)]
    pub(super) struct Overview, pub(super) new(timings: &Timings) {
        let overview = &timings.overview;
        let duration_ms = milliseconds(overview.duration_ns());
        let handshakes = || {
            timings
                .connections
                .iter()
                .filter_map(|timed| timed.handshake.as_ref().ok())
        };
        let bytes = |handshake: &Handshake| both(handshake, Handshake::frame_bytes);
        let frames: usize = handshakes().map(|handshake| handshake.frames.len()).sum();
        let total: f64 = handshakes().map(bytes).sum();
        pub(super) connections: u64 = overview.connections,
        pub(super) handshakes: u64 = overview.handshakes,
        pub(super) packets: u64 = overview.packets,
        pub(super) bytes: u64 = overview.frame_bytes,
        pub(super) duration_ms: f64 = duration_ms,
        pub(super) bytes_per_packet: Option<f64> = ratio(overview.frame_bytes as f64, overview.packets as f64),
        pub(super) bytes_per_second: Option<f64> = ratio(overview.frame_bytes as f64, duration_ms / 1e3),
        pub(super) mean_gap_ms: Option<f64> = ratio(duration_ms, overview.packets.saturating_sub(1) as f64),
        pub(super) sent: Losses = Losses::new(&overview.sent),
        pub(super) sizes: Vec<Size> = SHARES
            .into_iter()
            .filter_map(|share| {
                Some(Size {
                    share,
                    bytes: overview.size_quantile(share)?,
                })
            })
            .collect(),
        pub(super) handshake_ms: Option<Distribution> =
            Distribution::of(handshakes().map(|handshake| milliseconds(handshake.duration_ns()))),
        pub(super) handshake_from_syn_ms: Option<Distribution> = Distribution::of(
            handshakes().filter_map(|handshake| handshake.since_syn_ns().map(milliseconds)),
        ),
        pub(super) handshake_gap_ms: Option<Distribution> = Distribution::of(
            handshakes().flat_map(|handshake| handshake.gaps_ns().map(milliseconds)),
        ),
        pub(super) handshake_packets: Option<Distribution> =
            Distribution::of(handshakes().map(|handshake| handshake.frames.len() as f64)),
        pub(super) handshake_bytes: Option<Distribution> = Distribution::of(handshakes().map(bytes)),
        pub(super) handshake_bytes_per_packet: Option<f64> = ratio(total, frames as f64),
    }
}

bartizan_registry::made! {
    /// Losses of segments.
    #[derive(Serialize)]
    pub(super) struct Losses, new(sent: &Sent) {
        pub(super) data_packets: u64 = sent.data_packets,
        pub(super) retransmitted: u64 = sent.retransmitted,
        pub(super) out_of_order: u64 = sent.out_of_order,
        pub(super) holes: u64 = sent.holes,
        pub(super) retransmitted_share: Option<f64> = ratio(sent.retransmitted as f64, sent.data_packets as f64),
    }
}

/// A share of packets, and the size in bytes it does not exceed.
#[derive(Serialize)]
pub(super) struct Size {
    pub(super) share: f64,
    pub(super) bytes: u32,
}

bartizan_registry::made! {
    /// A sample in short.
    #[derive(Serialize)]
    pub(super) struct Distribution, new(sample: &Sample) {
        pub(super) n: usize = sample.n(),
        pub(super) least: f64 = sample.quantile(0.0),
        pub(super) quartile_low: f64 = sample.quantile(0.25),
        pub(super) median: f64 = sample.median(),
        pub(super) quartile_high: f64 = sample.quantile(0.75),
        pub(super) p95: f64 = sample.quantile(0.95),
        pub(super) most: f64 = sample.quantile(1.0),
        pub(super) mean: f64 = sample.mean(),
    }
}

fn file_facts(timings: &Timings) -> impl Serialize {
    object!(File {
        file: &timings.name,
        complete: timings.damage.is_none(),
        damage: timings.damage.as_deref(),
        overview: Overview::new(timings),
        not_listed: timings.not_listed,
        // Packets of connections that memory did not allow to follow.
        untracked: timings.untracked,
        connections: timings.connections.iter().map(connection_facts).collect::<Vec<_>>(),
    })
}

/// Sum over both sides.
fn both(handshake: &Handshake, of: impl Fn(&Handshake, Side) -> u64) -> f64 {
    (of(handshake, Side::Client) + of(handshake, Side::Server)) as f64
}

impl Distribution {
    /// `None` of nothing.
    fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        Some(Self::new(&Sample::new(values).ok()?))
    }
}

fn connection_facts(timed: &Timed) -> impl Serialize {
    let connection = &timed.connection;
    let direction = |sent: &Sent| {
        object!(Direction {
            packets: sent.packets,
            frame_bytes: sent.frame_bytes,
            payload_bytes: sent.payload_bytes,
            #[serde(flatten)]
            losses: Losses::new(sent),
        })
    };
    object!(Connection {
        number: connection.number,
        client: connection.client.to_string(),
        server: connection.server.to_string(),
        first_packet: connection.first.packet,
        last_packet: connection.last.packet,
        duration_ms: milliseconds(timed.duration_ns()),
        round_trip_ms: timed.round_trip_ns.map(milliseconds),
        from_client: direction(&timed.from_client),
        from_server: direction(&timed.from_server),
        handshake: timed.handshake.as_ref().ok().map(phase_facts),
        untimed: timed.handshake.as_ref().err().map(ToString::to_string),
    })
}

fn phase_facts(handshake: &Handshake) -> impl Serialize {
    object!(Phase {
        syn_packet: handshake.syn.map(|moment| moment.packet),
        hello_packet: handshake.hello.packet,
        server_flight_packet: handshake.server_flight.packet,
        finished_packet: handshake.finished.packet,
        duration_ms: milliseconds(handshake.duration_ns()),
        from_syn_ms: handshake.since_syn_ns().map(milliseconds),
        server_flight_ms: milliseconds(handshake.server_flight.time.since(handshake.hello.time)),
        client_packets: handshake.packets(Side::Client),
        server_packets: handshake.packets(Side::Server),
        client_frame_bytes: handshake.frame_bytes(Side::Client),
        server_frame_bytes: handshake.frame_bytes(Side::Server),
        client_tls_bytes: handshake.client_bytes,
        server_tls_bytes: handshake.server_bytes,
        gaps_ms: handshake.gaps_ns().map(milliseconds).collect::<Vec<_>>(),
    })
}
