//! Captures that could not be read to their end.

use std::fmt::Display;

use bartizan_inspect::Report;
use bartizan_wire::CaptureError;

use bartizan_terminal::Failure;

/// Why a report's capture could not be read to its end, if it could not.
pub fn failure(report: &Report) -> Option<Failure> {
    Some(damaged(report.name(), report.damage()?, report.packets()))
}

/// Why a capture could not be read to its end, after so many packets.
pub fn damaged(name: impl Display, damage: &CaptureError, packets: u64) -> Failure {
    let failure = Failure::new(format!("{name}: {damage}"));
    let read = match packets {
        0 => None,
        1 => Some("the packet before that place was read; what is reported is of it".to_owned()),
        many => Some(format!(
            "the {many} packets before that place were read; what is reported is of them"
        )),
    };
    let failure = match damage {
        CaptureError::Empty => failure.hint("was the capture stopped before its first packet, or was the disk full?"),
        // The beginning of every record.
        CaptureError::NotACapture {
            magic: [b'{', b'"', b'v', b'"'],
        } => failure
            .hint(format!("a ledger is printed by `bartizan ledger {name}`"))
            .hint("with a capture of the same connections: `bartizan inspect FILE --ledger LEDGER`"),
        CaptureError::NotACapture { .. } => {
            failure.hint("inspect reads pcap and pcapng, as `tcpdump -w FILE` and `dumpcap` write them")
        }
        CaptureError::Compressed { with } => failure.hint(format!(
            "decompress it first, or pipe it: `{with} -dc FILE | bartizan inspect -`"
        )),
        CaptureError::Unsupported { .. } => failure.hint("`editcap -F pcapng OLD NEW` (Wireshark) writes it anew"),
        CaptureError::Damaged { .. } => {
            failure.hint("the file was changed or its disk failed: capture again, or copy it again")
        }
        CaptureError::Cut { .. } => failure.hint("the capture was still being written, or its copy stopped half-way"),
    };
    failure.with_hints(read)
}
