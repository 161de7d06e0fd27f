//! Cost of reading a capture: a program run to its end, with elapsed time, processor time and
//! memory.

use std::io::{self, BufWriter, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use serde::{Deserialize, Serialize};

use crate::captures::Flows;

/// Cost of a program's run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// From its start to its end, in nanoseconds.
    pub wall_ns: u64,
    /// On a processor, user and system, in nanoseconds.
    pub cpu_ns: u64,
    /// The most bytes that were resident at once.
    pub peak_bytes: u64,
    /// Its exit status; absent where a signal ended it.
    pub status: Option<i32>,
    /// Bytes and packets it was fed, where it read from a pipe.
    pub fed: Option<(u64, u64)>,
}

/// Runs a program, its output thrown away, and feeds it flows if there are any. The calling process
/// must not have waited for another child before: the kernel keeps the peak of all of them
/// together.
///
/// # Errors
/// Fails if it cannot be started, or fed.
pub fn measure(command: &mut Command, flows: Option<&Flows>) -> io::Result<Cost> {
    let input = if flows.is_some() { Stdio::piped() } else { Stdio::null() };
    let began = Instant::now();
    let mut child = command.stdin(input).stdout(Stdio::null()).spawn()?;
    let mut fed = None;
    if let (Some(flows), Some(pipe)) = (flows, child.stdin.take()) {
        let mut pipe = BufWriter::with_capacity(1 << 20, pipe);
        let written = flows
            .write(&mut pipe)
            .and_then(|written| pipe.flush().map(|()| written));
        drop(pipe);
        match written {
            Ok(written) => fed = Some((written.bytes, written.packets)),
            Err(error) => {
                // It has ended early, or must now.
                let _ = child.kill();
                let _ = child.wait();
                return Err(error);
            }
        }
    }
    let status = child.wait()?;
    let wall = began.elapsed();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let nanoseconds =
        |time: TimeVal| time.tv_sec().unsigned_abs() * 1_000_000_000 + time.tv_usec().unsigned_abs() * 1000;
    Ok(Cost {
        wall_ns: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
        cpu_ns: nanoseconds(usage.user_time()) + nanoseconds(usage.system_time()),
        // Linux counts it in units of 1024 bytes.
        peak_bytes: usage.max_rss().unsigned_abs() * 1024,
        status: status.code(),
        fed,
    })
}

/// The fields that `tshark -T fields` is asked for: those that verdicts rest on.
pub const TSHARK_FIELDS: [&str; 43] = [
    "frame.number",
    "frame.time_epoch",
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.len",
    "tls.record.content_type",
    "tls.handshake.type",
    "tls.handshake.random",
    "tls.handshake.session_id",
    "tls.handshake.ciphersuite",
    "tls.handshake.extensions.supported_version",
    "tls.handshake.extensions_supported_group",
    "tls.handshake.extensions_key_share_group",
    "tls.handshake.extensions_key_share_selected_group",
    "tls.handshake.extensions_key_share_key_exchange_length",
    "tls.handshake.sig_hash_alg",
    "tls.handshake.extensions_server_name",
    "tls.handshake.extensions.psk.identity.selected",
    "tls.handshake.server_named_curve",
    "tls.alert_message.desc",
    "http2.type",
    "http2.streamid",
    "sctp.srcport",
    "sctp.dstport",
    "sctp.chunk_type",
    "sctp.data_tsn_raw",
    "sctp.data_payload_proto_id",
    "sctp.sack_cumulative_tsn_ack_raw",
    "isakmp.ispi",
    "isakmp.rspi",
    "isakmp.exchangetype",
    "isakmp.messageid",
    "isakmp.tf.type",
    "isakmp.tf.id.encr",
    "isakmp.tf.id.dh",
    "isakmp.key_exchange.dh_group",
    "isakmp.notify.msgtype",
    "esp.spi",
    "esp.sequence",
];

/// The arguments with which tshark gives these fields of a capture. SBI on port 8000 is named:
/// tshark would not look for HTTP/2 there.
#[must_use]
pub fn tshark_arguments(capture: &str) -> Vec<String> {
    let mut arguments: Vec<String> = ["-n", "-r", capture, "-d", "tcp.port==8000,http2", "-T", "fields"]
        .map(str::to_owned)
        .into();
    for field in TSHARK_FIELDS {
        arguments.extend(["-e".to_owned(), field.to_owned()]);
    }
    arguments
}
