//! All connections of a capture together.

use std::collections::BTreeMap;

use super::{Sent, Timed};
use crate::Moment;

/// Sizes are distinguished up to here: what segmentation offload hands to a capture at most. A capture can claim more.
const LARGEST: u32 = 256 * 1024;

/// All TCP connections of a capture together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overview {
    /// Connections given.
    pub connections: u64,
    /// Whole TLS handshakes among them.
    pub handshakes: u64,
    /// Packets of connections.
    pub packets: u64,
    /// Bytes of their frames.
    pub frame_bytes: u64,
    /// Number of packets of each size in bytes; larger packets count as 256 KiB.
    pub sizes: BTreeMap<u32, u64>,
    /// Earliest packet of a connection, by its time.
    pub first: Option<Moment>,
    /// Latest one.
    pub last: Option<Moment>,
    /// Packets of both ends of all connections.
    pub sent: Sent,
}

impl Overview {
    pub(super) fn packet(&mut self, length: u32, at: Moment) {
        self.packets += 1;
        self.frame_bytes += u64::from(length);
        *self.sizes.entry(length.min(LARGEST)).or_default() += 1;
        at.widen(&mut self.first, &mut self.last);
    }

    pub(super) fn connection(&mut self, timed: &Timed) {
        self.connections += 1;
        self.handshakes += u64::from(timed.handshake.is_ok());
        for sent in [timed.from_client, timed.from_server] {
            self.sent.packets += sent.packets;
            self.sent.frame_bytes += sent.frame_bytes;
            self.sent.data_packets += sent.data_packets;
            self.sent.payload_bytes += sent.payload_bytes;
            self.sent.retransmitted += sent.retransmitted;
            self.sent.out_of_order += sent.out_of_order;
            self.sent.holes += sent.holes;
        }
    }

    /// From the first packet to the last, in nanoseconds.
    pub fn duration_ns(&self) -> u64 {
        match (self.first, self.last) {
            (Some(first), Some(last)) => last.time.since(first.time),
            _ => 0,
        }
    }

    /// The size that this share of all packets does not exceed: the inverse of the cumulative
    /// distribution. `None` without packets, and for a share that is not above 0 and at most 1.
    pub fn size_quantile(&self, share: f64) -> Option<u32> {
        if !(share > 0.0 && share <= 1.0) {
            return None;
        }
        let mut below = 0;
        self.sizes
            .iter()
            .find(|(_, count)| {
                below += **count;
                // Counts of packets are far below 2^52.
                below as f64 >= share * self.packets as f64
            })
            .map(|(size, _)| *size)
    }
}
