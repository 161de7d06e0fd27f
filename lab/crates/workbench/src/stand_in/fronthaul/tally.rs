//! Times of every frame: sent, left its port, arrived at the other port, received.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Nanoseconds since 1970, by the kernel's clock.
pub(crate) type Moment = u64;

/// A moment by the kernel's clock.
pub(crate) fn moment(since_1970: Duration) -> Moment {
    u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX)
}

pub(crate) fn now() -> Moment {
    moment(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// A frame that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Time at which it was handed to the kernel. All times here are nanoseconds since 1970 by the
    /// kernel's clock.
    pub at: u64,
    /// Delay after its due time, in nanoseconds.
    pub late: u64,
    /// Time at which the port's driver had it; none if departure times are off, or the kernel had
    /// no room for the timestamp.
    pub departed: Option<u64>,
    /// Its arrival at the other end of the link; none if it did not arrive.
    pub arrived: Option<Received>,
}

/// A frame that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Time of arrival at the port; none if the kernel took no timestamp.
    pub arrived: Option<u64>,
    /// Time at which this program received it.
    pub at: u64,
}

/// Frames of a kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lane {
    /// Those that the kernel took, by number.
    pub sent: Vec<Sent>,
}

/// Parts of a frame's delay, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delay {
    /// From handing it to the kernel to having it.
    pub whole: f64,
    /// From handing it to the kernel to the port's driver: what encrypts is here. None without times.
    pub out: Option<f64>,
    /// From driver to driver.
    pub wire: Option<f64>,
    /// From the port's driver to the program: what decrypts is here.
    pub inward: Option<f64>,
}

impl Lane {
    /// Those that did not arrive.
    #[must_use]
    pub fn lost(&self) -> usize {
        self.sent.iter().filter(|sent| sent.arrived.is_none()).count()
    }

    /// Delay of every frame that arrived, in send order, starting at the frame of this number.
    pub fn delays(&self, first: usize) -> impl Iterator<Item = Delay> {
        let counted = self.sent.iter().skip(first);
        counted.filter_map(|sent| {
            let received = sent.arrived?;
            Some(Delay {
                whole: microseconds(sent.at, received.at),
                out: sent.departed.map(|departed| microseconds(sent.at, departed)),
                wire: sent
                    .departed
                    .zip(received.arrived)
                    .map(|(departed, arrived)| microseconds(departed, arrived)),
                inward: received.arrived.map(|arrived| microseconds(arrived, received.at)),
            })
        })
    }
}

/// Between two moments; negative where a clock was set back in between.
pub(crate) fn microseconds(from: Moment, until: Moment) -> f64 {
    (until as f64 - from as f64) / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_delay_add_up_to_it_and_what_did_not_arrive_is_lost() {
        let arrived = Some(Received {
            arrived: Some(7_000),
            at: 11_000,
        });
        let sent = Sent {
            at: 1_000,
            late: 0,
            departed: Some(5_000),
            arrived,
        };
        let lost = Sent { arrived: None, ..sent };
        let lane = Lane {
            sent: vec![sent, lost, Sent { departed: None, ..sent }],
        };
        assert_eq!(lane.lost(), 1);
        let delays: Vec<Delay> = lane.delays(0).collect();
        let [first, second] = delays[..] else {
            panic!("{delays:?}");
        };
        assert_eq!(first.whole, 10.0);
        assert_eq!((first.out, first.wire, first.inward), (Some(4.0), Some(2.0), Some(4.0)));
        assert_eq!((second.whole, second.out, second.wire), (10.0, None, None));
        assert_eq!(lane.delays(2).count(), 1);
    }
}
