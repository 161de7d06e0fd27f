//! Probability that a set-up ends within a deadline under packet loss.

use bartizan_stats::Random;
use serde::Serialize;

use crate::unit::{Microseconds, Share, UnitError};

/// When an end sends again what was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Retransmission {
    /// The first wait.
    pub first_us: Microseconds,
    /// By how much each wait is longer than the one before.
    pub factor: f64,
    /// Retransmissions before the sender gives up.
    pub tries: u32,
    /// Upper bound of each wait, if any.
    pub most_us: Option<Microseconds>,
}

impl Retransmission {
    /// strongSwan's defaults: 4 s, then 1.8 times as long, five times (`retransmit_timeout`, `retransmit_base`, `retransmit_tries` of strongswan.conf).
    pub const STRONGSWAN: (f64, f64, u32) = (4e6, 1.8, 5);
    /// The charon that `bartizan up` configures: 1 s, 1.8 times as long, six times, and no wait longer than [`Self::OURS_MOST`].
    pub const OURS: (f64, f64, u32) = (1e6, 1.8, 6);
    /// Its `retransmit_limit`: 4 s.
    pub const OURS_MOST: f64 = 4e6;
    /// TCP's SYN: 1 s (RFC 6298, section 2.1), doubled; six times as Linux does (`tcp_syn_retries`).
    pub const TCP_SYN: (f64, f64, u32) = (1e6, 2.0, 6);
    /// TCP once it has a sample of the round trip: 1 s at least (RFC 6298, section 2.4), doubled; Linux waits 200 ms at least.
    pub const TCP_RTO_LEAST: f64 = 1e6;
    /// QUIC before it has a sample: 333 ms and four times half of it (RFC 9002, sections 6.2.1 and 6.2.2), doubled.
    pub const QUIC_PTO_FIRST: f64 = 999e3;

    /// Builds a timer from first wait (microseconds), factor and number of tries.
    pub fn new((first_us, factor, tries): (f64, f64, u32)) -> Result<Self, UnitError> {
        let bound = |what, given, least, most, unit| {
            if (least..=most).contains(&given) {
                return Ok(());
            }
            Err(UnitError::OutOfBounds {
                quantity: what,
                given,
                unit,
                least,
                most,
                why: "",
            })
        };
        bound("factor of retransmission", factor, 1.0, 100.0, "times")?;
        bound("number of retransmissions", f64::from(tries), 0.0, 100.0, "times")?;
        Ok(Self {
            first_us: Microseconds::new(first_us)?,
            factor,
            tries,
            most_us: None,
        })
    }

    /// The same with waits no longer than this.
    #[must_use]
    pub fn no_longer_than(self, most: Microseconds) -> Self {
        Self {
            most_us: Some(most),
            ..self
        }
    }

    /// The waits, one for each try and one before it gives up.
    fn waits(&self) -> impl Iterator<Item = f64> + use<> {
        let most = self.most_us.map_or(f64::INFINITY, Microseconds::value);
        let factor = self.factor;
        let waits = std::iter::successors(Some(self.first_us.value()), move |wait| Some(wait * factor));
        waits.map(move |wait| wait.min(most)).take(self.tries as usize + 1)
    }
}

/// A step of a set-up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Leg {
    /// A request and a response, repeated by the initiator alone: a SYN, an IKEv2 exchange. Fragments that have arrived stay.
    Exchange {
        /// Packets of the request.
        request: u32,
        /// Packets of the response.
        response: u32,
        /// The initiator's timer.
        timer: Retransmission,
    },
    /// A flight of a protocol that acknowledges packets and sends again those that are missing: TLS over TCP, QUIC.
    Flight {
        /// Packets.
        packets: u32,
        /// Times the sender's window holds it up, the last one included.
        rounds: u32,
        /// The timer of the sender, where fewer than three later packets show the loss.
        timer: Retransmission,
    },
}

/// A set-up: steps one after the other, on a path with this round trip.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetUp {
    /// Its steps.
    pub legs: Vec<Leg>,
    /// The round trip of the path.
    pub round_trip_us: Microseconds,
}

/// Probability of completion, and its delay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Within {
    /// The share of trials that ended in time.
    pub probability: f64,
    /// Lower end of its 95 % interval (Wilson).
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The median of all trials; none where half of them were given up.
    pub median_us: Option<Microseconds>,
    /// The 99th percentile; none where one in a hundred was given up.
    pub p99_us: Option<Microseconds>,
    /// Number of trials.
    pub trials: u32,
    /// The seed that repeats them.
    pub seed: u64,
}

/// The most trials, packets of a step and steps: so that no answer takes more than seconds.
const MOST_TRIALS: f64 = 10_000_000.0;
const MOST_PACKETS: u32 = 10_000;

/// The share of set-ups that end within `deadline`, by `trials` of a seeded simulation in which each packet is lost independently.
///
/// Loss in bursts is not modelled, nor time to compute, nor congestion control after a loss (a flight that lost goes on where it stopped).
pub fn set_up_within(
    set_up: &SetUp,
    loss: Share,
    deadline: Microseconds,
    trials: u32,
    seed: u64,
) -> Result<Within, UnitError> {
    let packets: f64 = set_up
        .legs
        .iter()
        .map(|leg| f64::from(leg.packets().min(MOST_PACKETS + 1)))
        .sum();
    let out_of = |quantity, given: f64, least: f64, most: f64| UnitError::OutOfBounds {
        quantity,
        given,
        unit: "in all",
        least,
        most,
        why: "an answer is to take seconds",
    };
    if !(1.0..=MOST_TRIALS).contains(&f64::from(trials)) {
        return Err(out_of("number of trials", f64::from(trials), 1.0, MOST_TRIALS));
    }
    if packets > f64::from(MOST_PACKETS) {
        return Err(out_of("number of packets", packets, 0.0, f64::from(MOST_PACKETS)));
    }
    let mut chance = Chance {
        random: Random::seeded(seed),
        loss: loss.value(),
    };
    let mut times: Vec<f64> = Vec::new();
    for _ in 0..trials {
        times.extend(set_up.once(&mut chance));
    }
    times.sort_by(f64::total_cmp);
    let in_time = times.partition_point(|time| *time <= deadline.value());
    let n = f64::from(trials);
    let (low, high) = share_interval(in_time as f64, n);
    let quantile = |share: f64| {
        let index = (share * n).ceil() as usize;
        let time = times.get(index.max(1) - 1)?;
        Microseconds::new(*time).ok()
    };
    Ok(Within {
        probability: in_time as f64 / n,
        low,
        high,
        median_us: quantile(0.5),
        p99_us: quantile(0.99),
        trials,
        seed,
    })
}

struct Chance {
    random: Random,
    loss: f64,
}

impl Chance {
    fn lost(&mut self) -> bool {
        // 2^30 steps: a loss of a billionth is the finest there is.
        const STEPS: usize = 1 << 30;
        (self.random.below(STEPS) as f64) < self.loss * STEPS as f64
    }

    /// Draws the number of packets lost out of `packets`.
    fn losses(&mut self, packets: u32) -> u32 {
        (0..packets).filter(|_| self.lost()).count() as u32
    }
}

impl Leg {
    fn packets(&self) -> u32 {
        match *self {
            Self::Exchange { request, response, .. } => request.saturating_add(response),
            Self::Flight { packets, .. } => packets,
        }
    }

    /// Microseconds it took; none where it was given up.
    fn once(&self, round_trip: f64, chance: &mut Chance) -> Option<f64> {
        match *self {
            Self::Exchange {
                request,
                response,
                timer,
            } => {
                let (mut asked, mut answered, mut now) = (request, response, 0.0);
                for wait in timer.waits() {
                    // The responder sends its response again to a request it sees again, by its first packet.
                    let seen_again = !chance.lost();
                    let was_missing = asked;
                    asked = if was_missing > 0 {
                        chance.losses_of(asked, seen_again)
                    } else {
                        0
                    };
                    let complete = asked == 0 && (was_missing > 0 || seen_again);
                    if complete {
                        answered = chance.losses(answered);
                        if answered == 0 {
                            return Some(now + round_trip);
                        }
                    }
                    now += wait;
                }
                None
            }
            Self::Flight { packets, rounds, timer } => {
                let mut now = round_trip / 2.0 + f64::from(rounds.saturating_sub(1)) * round_trip;
                let (mut outstanding, mut waits) = (packets, timer.waits().take(timer.tries as usize));
                loop {
                    let lost: Vec<bool> = (0..outstanding).map(|_| chance.lost()).collect();
                    let missing = lost.iter().filter(|lost| **lost).count() as u32;
                    if missing == 0 {
                        return Some(now);
                    }
                    let first = lost.iter().position(|lost| *lost).unwrap_or_default();
                    let behind = lost.iter().skip(first).filter(|lost| !**lost).count();
                    if behind >= 3 {
                        now += round_trip;
                    } else {
                        now += waits.next()?;
                    }
                    outstanding = missing;
                }
            }
        }
    }
}

impl Chance {
    /// Draws the number of packets lost; the first packet's fate is already known.
    fn losses_of(&mut self, packets: u32, first_arrived: bool) -> u32 {
        u32::from(!first_arrived) + self.losses(packets - 1)
    }
}

impl SetUp {
    /// Microseconds until all steps are done; none where one was given up.
    fn once(&self, chance: &mut Chance) -> Option<f64> {
        let round_trip = self.round_trip_us.value();
        self.legs
            .iter()
            .try_fold(0.0, |time, leg| Some(time + leg.once(round_trip, chance)?))
    }
}

/// Wilson's interval of a share of at least one, at 95 %.
pub fn share_interval(successes: f64, n: f64) -> (f64, f64) {
    const Z: f64 = 1.959_963_985;
    let share = successes / n;
    let middle = share + Z * Z / (2.0 * n);
    let half = Z * f64::sqrt(share * (1.0 - share) / n + Z * Z / (4.0 * n * n));
    let scale = 1.0 + Z * Z / n;
    (((middle - half) / scale).max(0.0), ((middle + half) / scale).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(us: f64) -> Microseconds {
        Microseconds::new(us).unwrap()
    }

    fn ike(packets: u32) -> SetUp {
        let timer = Retransmission::new(Retransmission::STRONGSWAN).unwrap();
        SetUp {
            legs: vec![Leg::Exchange {
                request: packets,
                response: packets,
                timer,
            }],
            round_trip_us: time(10_000.0),
        }
    }

    fn within(set_up: &SetUp, loss: f64, deadline: f64) -> Within {
        set_up_within(set_up, Share::new(loss).unwrap(), time(deadline), 20_000, 7).unwrap()
    }

    #[test]
    fn without_loss_a_set_up_takes_its_round_trips() {
        let all = within(&ike(3), 0.0, 10_000.0);
        assert_eq!(
            (all.probability, all.median_us, all.p99_us),
            (1.0, Some(time(10_000.0)), Some(time(10_000.0)))
        );
        assert_eq!(within(&ike(3), 0.0, 9_999.0).probability, 0.0);
    }

    #[test]
    fn an_exchange_of_one_packet_each_way_agrees_with_the_closed_form() {
        // Attempts at 0, 4 and 11.2 s; each succeeds with (1 - p)^2.
        for loss in [0.01_f64, 0.1, 0.3] {
            let once = (1.0 - loss) * (1.0 - loss);
            for (deadline, attempts) in [(1e6, 1), (5e6, 2), (12e6, 3)] {
                let exact = 1.0 - (1.0 - once).powi(attempts);
                let simulated = within(&ike(1), loss, deadline);
                // Four of its own standard errors.
                let error = 4.0 * f64::sqrt(exact * (1.0 - exact) / 20_000.0) + 1e-4;
                assert!(
                    (simulated.probability - exact).abs() < error,
                    "{loss} {deadline}: {simulated:?} {exact}"
                );
            }
        }
    }

    #[test]
    fn a_flight_of_one_packet_agrees_with_the_closed_form() {
        let timer = Retransmission::new(Retransmission::TCP_SYN).unwrap();
        let flight = SetUp {
            legs: vec![Leg::Flight {
                packets: 1,
                rounds: 1,
                timer,
            }],
            round_trip_us: time(10_000.0),
        };
        let simulated = within(&flight, 0.2, 1.5e6);
        assert!((simulated.probability - 0.96).abs() < 0.006, "{simulated:?}");
        assert!(simulated.low < 0.96 && simulated.high > 0.96 || (simulated.probability - 0.96).abs() < 0.006);
    }

    #[test]
    fn the_same_seed_gives_the_same_answer_and_more_loss_or_packets_never_a_better_one() {
        assert_eq!(within(&ike(4), 0.1, 5e6), within(&ike(4), 0.1, 5e6));
        assert!(within(&ike(4), 0.2, 5e6).probability < within(&ike(4), 0.05, 5e6).probability);
        assert!(within(&ike(8), 0.1, 1e6).probability < within(&ike(2), 0.1, 1e6).probability);
        assert!(within(&ike(4), 0.1, 20e6).probability >= within(&ike(4), 0.1, 5e6).probability);
    }

    #[test]
    fn our_charon_waits_four_seconds_at_most() {
        let ours = Retransmission::new(Retransmission::OURS)
            .unwrap()
            .no_longer_than(time(Retransmission::OURS_MOST));
        let waits: Vec<f64> = ours.waits().map(|wait| (wait / 1e4).round() / 100.0).collect();
        assert_eq!(waits, [1.0, 1.8, 3.24, 4.0, 4.0, 4.0, 4.0]);
        let strongswan: f64 = Retransmission::new(Retransmission::STRONGSWAN).unwrap().waits().sum();
        // As its documentation says: gives up after 165 s.
        assert_eq!((strongswan / 1e6).round(), 165.0);
    }

    #[test]
    fn a_set_up_that_no_packet_reaches_is_given_up() {
        let none = within(&ike(1), 1.0, 1e12);
        assert_eq!((none.probability, none.median_us), (0.0, None));
    }

    #[test]
    fn an_interval_is_that_of_wilson() {
        // Wilson's score interval for 8 of 10: 0.4902 to 0.9433.
        let (low, high) = share_interval(8.0, 10.0);
        assert!(
            (low - 0.4902).abs() < 1e-4 && (high - 0.9433).abs() < 1e-4,
            "{low} {high}"
        );
    }

    #[test]
    fn absurd_numbers_are_refused_with_the_bound() {
        let share = Share::new(0.1).unwrap();
        let refused = set_up_within(&ike(1), share, time(1.0), 0, 1).unwrap_err().to_string();
        assert!(
            refused.contains("number of trials of 0 in all: it is between 1 and 10000000"),
            "{refused}"
        );
        let refused = set_up_within(&ike(6000), share, time(1.0), 1, 1)
            .unwrap_err()
            .to_string();
        assert!(refused.contains("number of packets"), "{refused}");
        assert!(Retransmission::new((1e6, 0.5, 3)).is_err());
    }
}
