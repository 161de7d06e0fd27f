//! A recording scaled to a load: number of nodes, pace, repetitions and added messages.

use std::time::Duration;

use super::exchange::{Exchange, Message, Procedure};
use super::synthetic;

/// Pace of the indications.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// As recorded, this many times faster, each indication once.
    Recorded {
        /// 1 for the recording's own time.
        faster: f64,
    },
    /// The recorded indications over and over, in their order and with their gaps stretched or
    /// shrunk alike, so that all nodes together send this much.
    Rate {
        /// Kilobits of indications per second (user messages, without any header).
        kilobits: f64,
        /// Duration for which each node sends.
        lasting: Duration,
    },
}

/// Load of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// E2 nodes, each with an association of its own.
    pub nodes: usize,
    /// Pace of the indications.
    pub pace: Pace,
    /// Bytes of the synthetic control message with which the RIC answers each indication, and of
    /// the node's reply; none without a control loop.
    pub control: Option<usize>,
    /// The payload protocol identifier instead of the recorded one.
    pub payload_protocol: Option<u32>,
}

/// A message of the script and how long after its cause it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The message.
    pub message: Message,
    /// Since the message before it was sent or came.
    pub after: Duration,
}

/// The messages of each pair of ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// E2 Setup Request, at once.
    pub setup_request: Step,
    /// Its response.
    pub setup_response: Step,
    /// RIC Subscription Request.
    pub subscription_request: Step,
    /// Its response.
    pub subscription_response: Step,
    /// RIC Subscription Delete Request, behind the last indication.
    pub delete_request: Step,
    /// Its response.
    pub delete_response: Step,
    /// The recorded indications.
    indications: Vec<Message>,
    /// Send times after the subscription's response; the node's own offset is added.
    dues: Vec<Duration>,
    /// Between the first indications of two nodes.
    stagger: Duration,
    /// As in [`Load`].
    pub control: Option<usize>,
    /// As in [`Load`].
    pub nodes: usize,
}

/// More indications than any trial has; a rate beyond it is a mistake.
const MOST: usize = 1 << 20;

/// Reason why a load cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unplayable(&'static str);

impl Script {
    /// The script of a load.
    ///
    /// # Errors
    /// Fails if the load has no node, a pace that is no positive number, or too many indications.
    pub fn new(exchange: &Exchange, load: Load) -> Result<Self, Unplayable> {
        if load.nodes == 0 {
            return Err(Unplayable("there is no node"));
        }
        let mut indications: Vec<Message> = exchange.indications().cloned().collect();
        // An exchange that was read has two at least, and what is asked for below.
        let whole = Unplayable("the exchange is not whole");
        let (Some(first), Some(last)) = (indications.first(), indications.last()) else {
            return Err(whole);
        };
        let (start, span) = (first.at, last.at.saturating_sub(first.at));
        let offsets: Vec<Duration> = indications.iter().map(|one| one.at.saturating_sub(start)).collect();
        // Behind the last comes the first again, after the mean gap.
        let gap = span.div_f64((indications.len().max(2) - 1) as f64);
        let period = (span + gap).as_secs_f64();
        let bits = 8.0 * indications.iter().map(|one| one.bytes.len()).sum::<usize>() as f64;
        let (scale, dues, stagger) = match load.pace {
            Pace::Recorded { faster } if faster.is_finite() && faster > 0.0 => {
                let (_, wait) = exchange.first(Procedure::Indication).ok_or(whole.clone())?;
                let dues = offsets.iter().map(|&offset| (wait + offset).div_f64(faster)).collect();
                (1.0 / faster, dues, Duration::ZERO)
            }
            Pace::Rate { kilobits, lasting } if kilobits.is_finite() && kilobits > 0.0 && period > 0.0 => {
                let each = kilobits * 1000.0 / load.nodes as f64;
                let scale = bits / each / period;
                let wanted = lasting.as_secs_f64() / (period * scale) * indications.len() as f64;
                if wanted > MOST as f64 {
                    return Err(Unplayable("there are more than a million indications"));
                }
                let due = |number: usize| {
                    let (cycle, place) = (number / offsets.len(), number % offsets.len());
                    Duration::from_secs_f64((cycle as f64 * period + offsets[place].as_secs_f64()) * scale)
                };
                let dues = (0..).map(due).take_while(|&due| due < lasting).collect();
                let stagger = Duration::from_secs_f64(period * scale / load.nodes as f64);
                // With a given rate, the recorded software's processing time is left out.
                (0.0, dues, stagger)
            }
            _ => return Err(Unplayable("the pace is not a positive number")),
        };
        for message in &mut indications {
            message.payload_protocol = load.payload_protocol.unwrap_or(message.payload_protocol);
        }
        let step = |procedure| {
            let (message, after) = exchange.first(procedure).ok_or(whole.clone())?;
            let mut message = message.clone();
            message.payload_protocol = load.payload_protocol.unwrap_or(message.payload_protocol);
            Ok(Step {
                message,
                after: after.mul_f64(scale),
            })
        };
        Ok(Self {
            setup_request: step(Procedure::SetupRequest)?,
            setup_response: step(Procedure::SetupResponse)?,
            subscription_request: step(Procedure::SubscriptionRequest)?,
            subscription_response: step(Procedure::SubscriptionResponse)?,
            delete_request: step(Procedure::DeleteRequest)?,
            delete_response: step(Procedure::DeleteResponse)?,
            indications,
            dues,
            stagger,
            control: load.control.map(|size| size.max(synthetic::SHORTEST)),
            nodes: load.nodes,
        })
    }

    /// Number of indications that each node sends.
    #[must_use]
    pub fn count(&self) -> usize {
        self.dues.len()
    }

    /// An indication by its number, and when the node of this number sends it, from the subscription's response on.
    #[must_use]
    pub fn indication(&self, node: usize, number: usize) -> Option<(&Message, Duration)> {
        let due = *self.dues.get(number)?;
        let message = &self.indications[number % self.indications.len()];
        let offset = u32::try_from(node).map_or(Duration::ZERO, |node| self.stagger * node);
        Some((message, due + offset))
    }

    /// Longest time of a node from its subscription to its last indication.
    #[must_use]
    pub fn lasts(&self) -> Duration {
        let last = self.count().checked_sub(1);
        last.and_then(|last| self.indication(self.nodes - 1, last))
            .map_or(Duration::ZERO, |(_, due)| due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(nodes: usize, pace: Pace) -> Script {
        let load = Load {
            nodes,
            pace,
            control: Some(10),
            payload_protocol: Some(70),
        };
        Script::new(&Exchange::flexric(), load).unwrap()
    }

    #[test]
    fn at_the_recorded_pace_every_gap_is_the_recorded_one() {
        let exchange = Exchange::flexric();
        let script = script(1, Pace::Recorded { faster: 1.0 });
        let recorded: Vec<Duration> = exchange.indications().map(|one| one.at).collect();
        assert_eq!(script.count(), recorded.len());
        let (first, wait) = script.indication(0, 0).unwrap();
        assert_eq!(first.bytes, exchange.indications().next().unwrap().bytes);
        assert_eq!(first.payload_protocol, 70);
        assert_eq!(wait, exchange.first(Procedure::Indication).unwrap().1);
        for (number, pair) in recorded.windows(2).enumerate() {
            let due = |number| script.indication(0, number).unwrap().1;
            let error = (due(number + 1) - due(number)).abs_diff(pair[1] - pair[0]);
            assert!(error < Duration::from_micros(1), "{error:?}");
        }
        assert_eq!(
            script.delete_request.after,
            exchange.first(Procedure::DeleteRequest).unwrap().1
        );
        assert_eq!(
            script.control,
            Some(synthetic::SHORTEST),
            "no shorter than its mark and number"
        );
    }

    #[test]
    fn at_a_rate_all_nodes_together_send_that_much() {
        for (nodes, kilobits) in [(1, 200.0), (1, 3500.0), (8, 200.0), (8, 3500.0)] {
            let lasting = Duration::from_secs(100);
            let script = script(nodes, Pace::Rate { kilobits, lasting });
            let bytes: usize = (0..script.count())
                .map(|number| script.indication(0, number).unwrap().0.bytes.len())
                .sum();
            let sent = 8.0 * (nodes * bytes) as f64 / lasting.as_secs_f64() / 1000.0;
            assert!((sent / kilobits - 1.0).abs() < 0.05, "{sent} of {kilobits} kb/s");
        }
    }

    #[test]
    fn nodes_take_turns_within_a_period() {
        let pace = Pace::Rate {
            kilobits: 1000.0,
            lasting: Duration::from_secs(10),
        };
        let script = script(4, pace);
        let first: Vec<Duration> = (0..4).map(|node| script.indication(node, 0).unwrap().1).collect();
        let step = first[1] - first[0];
        assert!(!step.is_zero());
        assert_eq!(first[3] - first[2], step);
        assert!(script.lasts() >= script.indication(0, script.count() - 1).unwrap().1);
    }

    #[test]
    fn a_load_that_cannot_be_is_refused() {
        let exchange = Exchange::flexric();
        let load = |nodes, pace| Load {
            nodes,
            pace,
            control: None,
            payload_protocol: None,
        };
        let rate = |kilobits| Pace::Rate {
            kilobits,
            lasting: Duration::from_secs(10),
        };
        for load in [
            load(0, rate(1.0)),
            load(1, rate(0.0)),
            load(1, rate(f64::NAN)),
            load(1, rate(1e12)),
            load(1, Pace::Recorded { faster: -1.0 }),
        ] {
            assert!(Script::new(&exchange, load).is_err(), "{load:?}");
        }
    }
}
