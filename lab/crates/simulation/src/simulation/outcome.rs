//! Outcome of a run in whole numbers, so that outcomes are compared and merged exactly.

use serde::{Deserialize, Serialize};

/// Shares at which the return of sites is kept: every hundredth, from none to all.
pub const QUANTILES: usize = 101;

/// Counters of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// Events of the run.
    pub events: u64,
    /// Set-ups begun, whether whole or resumed.
    pub attempts: u64,
    /// Completed attempts.
    pub completed: u64,
    /// Attempts given up after the last retransmission.
    pub failed: u64,
    /// Attempts under way at the end of the time.
    pub under_way: u64,
    /// Other procedures that were completed.
    pub duties: u64,
    /// SAs lost because a peer did not answer.
    pub lost_peers: u64,
    /// Requests sent again.
    pub retransmissions: u64,
    /// Requests for a cookie.
    pub cookies: u64,
    /// First requests dropped because too many waited.
    pub dropped: u64,
    /// Requests that arrived while the same one waited or was served, or after its set-up had expired.
    pub ignored: u64,
    /// Half-open set-ups that expired.
    pub expired: u64,
    /// Packets lost on the way.
    pub lost_packets: u64,
    /// Bytes that sites sent, lost ones included.
    pub bytes_up: u64,
    /// Bytes that gateways sent.
    pub bytes_down: u64,
    /// Packets in both directions.
    pub packets: u64,
    /// Processor time of all gateways, in nanoseconds.
    pub gateway_ns: u64,
    /// Requests that gateways served.
    pub served: u64,
    /// Sum of the times that these waited for a core, in nanoseconds.
    pub waited_ns: u64,
}

/// Outcome of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// Sites that the storm concerned.
    pub concerned: u64,
    /// Sites concerned that had done all of it at the end of the time.
    pub done: u64,
    /// After which time since the beginning each hundredth of those concerned had, in nanoseconds,
    /// from the first to the last site; as many as were reached, so that fewer than [`QUANTILES`]
    /// mean that some never were.
    pub reached_ns: Vec<u64>,
    /// Sites whose SA was up when the time was over.
    pub up: u64,
    /// Counters of the run.
    pub counters: Counters,
    /// The most requests that waited at one gateway.
    pub longest_queue: u64,
    /// The most half-open set-ups of one gateway.
    pub most_half_open: u64,
    /// Processor time of the busiest gateway over its cores and the whole time, in millionths.
    pub busiest_ppm: u64,
    /// The same of the busiest ten seconds of any gateway.
    pub peak_ppm: u64,
    /// The most bytes per second of any gateway over ten seconds, both directions.
    pub peak_bytes_per_second: u64,
}

impl Outcome {
    /// After which time this share of the sites concerned had done all of it, in hundredths, in
    /// nanoseconds; none where that share never had.
    #[must_use]
    pub fn reached(&self, percent: usize) -> Option<u64> {
        self.reached_ns.get(percent).copied()
    }
}

/// The list of [`Outcome::reached_ns`] of the times of those that were done, in any order.
pub(super) fn reached(mut done: Vec<u64>, concerned: u64) -> Vec<u64> {
    done.sort_unstable();
    (0..QUANTILES as u64)
        .map_while(|percent| {
            // The site that makes it this share: of 250 sites the 125th makes it 50 %.
            let site = (concerned * percent).div_ceil(100).max(1);
            let index = usize::try_from(site - 1).ok()?;
            done.get(index).copied()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_reached_with_the_site_that_completes_it() {
        let times = (1..=250).rev().collect();
        let list = reached(times, 250);
        assert_eq!(
            (list.len(), list[0], list[50], list[99], list[100]),
            (QUANTILES, 1, 125, 248, 250)
        );
    }

    #[test]
    fn a_share_that_was_never_reached_is_not_in_the_list() {
        let list = reached((1..=95).collect(), 100);
        assert_eq!((list.len(), list.last()), (96, Some(&95)));
        assert_eq!(reached(Vec::new(), 100), Vec::<u64>::new());
    }
}
