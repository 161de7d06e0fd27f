//! Scenario of a simulation: every number resolved, within its bounds.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::procedure::Procedures;

/// Nanoseconds of a millisecond.
pub const MILLISECOND: u64 = 1_000_000;
/// Nanoseconds of a second.
pub const SECOND: u64 = 1_000 * MILLISECOND;
/// Nanoseconds of an hour.
pub const HOUR: u64 = 3_600 * SECOND;

/// Reason why a scenario is not simulated.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ScenarioError {
    /// A number lies outside of what makes sense, or of what a run can hold.
    #[error("{what}: {}, and it is {} ({why})", quantity(*given, unit), range(*least, *most, unit))]
    OutOfBounds {
        /// Name of the number.
        what: &'static str,
        /// The given number.
        given: u64,
        /// The least that is accepted.
        least: u64,
        /// The most that is accepted.
        most: u64,
        /// The unit of all three.
        unit: &'static str,
        /// Reason for the bounds, in a few words.
        why: &'static str,
    },
    /// A procedure without an exchange.
    #[error("a procedure has no exchange")]
    NoExchange,
    /// It was asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The storm needs something that the procedures do not have.
    #[error("sessions are to be resumed, and there is no procedure that resumes one")]
    NoResumption,
}

/// A number with its unit; of times, the largest unit in which it is whole.
fn quantity(value: u64, unit: &str) -> String {
    if unit != "ns" || value == 0 {
        return format!("{value} {unit}");
    }
    let whole = [
        (HOUR, "h"),
        (SECOND, "s"),
        (MILLISECOND, "ms"),
        (1_000, "us"),
        (1, "ns"),
    ]
    .into_iter()
    .find(|(size, _)| value.is_multiple_of(*size));
    whole.map_or_else(
        || format!("{value} ns"),
        |(size, name)| format!("{} {name}", value / size),
    )
}

/// Both ends of what is accepted.
fn range(least: u64, most: u64, unit: &str) -> String {
    if unit == "ns" {
        format!("between {} and {}", quantity(least, unit), quantity(most, unit))
    } else {
        format!("between {least} and {most} {unit}")
    }
}

/// Bounds of each number.
#[derive(Debug, Clone, Copy)]
pub struct Bounds;

impl Bounds {
    /// Most sites of one run.
    pub const SITES: u64 = 1_000_000;
    /// Most gateways.
    pub const GATEWAYS: u64 = 10_000;
    /// Most cores of a gateway.
    pub const CORES: u64 = 1_024;
    /// Longest time that is simulated.
    pub const HORIZON: u64 = 24 * HOUR;
    /// Most events that a run is expected to have: some minutes.
    pub const EVENTS: u64 = 2_000_000_000;

    /// A number within its bounds.
    pub fn hold(
        what: &'static str,
        given: u64,
        least: u64,
        most: u64,
        unit: &'static str,
        why: &'static str,
    ) -> Result<u64, ScenarioError> {
        if (least..=most).contains(&given) {
            Ok(given)
        } else {
            Err(ScenarioError::OutOfBounds {
                what,
                given,
                least,
                most,
                unit,
                why,
            })
        }
    }
}

/// Sites, gateways and what is between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Sites, dealt to the gateways in turn.
    pub sites: u64,
    /// Gateways.
    pub gateways: u64,
    /// Cores of each gateway.
    pub cores: u64,
    /// Shortest round trip of a site, in nanoseconds.
    pub round_trip_from_ns: u64,
    /// Longest; between the two each is as likely as any other.
    pub round_trip_to_ns: u64,
    /// Probability that a packet is lost, in millionths.
    pub loss_ppm: u64,
    /// Rate of a site's access, in bits per second.
    pub site_rate: u64,
    /// Rate of a gateway's link, each direction, in bits per second.
    pub gateway_rate: u64,
    /// Cores that all sites share, as in a laboratory where one machine plays them; 0: each has its own.
    pub site_cores: u64,
}

/// Retransmission of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retransmission {
    /// Wait after the first sending, in nanoseconds, to which nothing is added for the round trip.
    pub first_ns: u64,
    /// Each wait by the one before, in hundredths.
    pub factor_percent: u64,
    /// No wait is longer, in nanoseconds.
    pub longest_ns: u64,
    /// Sendings after the first.
    pub tries: u64,
    /// A wait is shorter by up to this share, in hundredths.
    pub jitter_percent: u64,
}

impl Retransmission {
    /// The wait after a sending, counted from 0, before jitter, in nanoseconds.
    #[must_use]
    pub fn wait(&self, sending: u64) -> u64 {
        let mut wait = u128::from(self.first_ns);
        for _ in 0..sending {
            wait = (wait * u128::from(self.factor_percent) / 100).min(u128::from(self.longest_ns));
        }
        u64::try_from(wait).unwrap_or(u64::MAX).min(self.longest_ns)
    }

    /// From the first sending until the site gives up, before jitter, in nanoseconds.
    #[must_use]
    pub fn patience(&self) -> u64 {
        (0..=self.tries).fold(0, |sum: u64, sending| sum.saturating_add(self.wait(sending)))
    }
}

/// Retry of a site after a set-up that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// Pause after the first failure, in nanoseconds; it doubles with each.
    pub first_ns: u64,
    /// No pause is longer, in nanoseconds.
    pub longest_ns: u64,
    /// A pause is shorter by up to this share, in hundredths.
    pub jitter_percent: u64,
}

/// Admission of set-ups by a gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Admission {
    /// Half-open set-ups from which on a cookie is asked for; none: never.
    pub cookies_from: Option<u64>,
    /// Requests that wait for a core from which on a set-up's first is dropped; none: never.
    pub queue: Option<u64>,
    /// Time for which a half-open set-up is kept, in nanoseconds.
    pub half_open_ns: u64,
    /// Bytes of the gateway's answer that asks for a cookie.
    pub cookie_answer_bytes: u64,
    /// Bytes by which a request grows that carries it.
    pub cookie_request_bytes: u64,
}

/// Duties of every site in steady state. 0 means never.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steady {
    /// From one dead peer detection to the next, in nanoseconds.
    pub dead_peer_ns: u64,
    /// From one rekey of a CHILD_SA to the next, in nanoseconds; each is up to a tenth earlier.
    pub rekey_child_ns: u64,
    /// The same of the IKE_SA.
    pub rekey_ike_ns: u64,
    /// Mean time until a site loses its SA and sets up anew, exponentially distributed, in nanoseconds.
    pub reconnect_ns: u64,
    /// From one certificate to the next, in nanoseconds; with it the site authenticates anew.
    pub renew_ns: u64,
    /// From one fetched CRL to the next, in nanoseconds.
    pub fetch_list_ns: u64,
}

/// Event that concerns many sites at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StormKind {
    /// Nothing: steady state.
    None,
    /// An outage ends: sites that were cut off come back and set up.
    Reattach,
    /// Another authority: every site fetches a certificate and authenticates anew; until then it stays up.
    Rollover,
    /// Certificates are revoked: their sites are cut off, get a new certificate and set up; all others fetch the list.
    Revocation,
}

/// A storm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Storm {
    /// Kind of the storm.
    pub kind: StormKind,
    /// Share of the sites that it concerns, in millionths.
    pub share_ppm: u64,
    /// Within which time after its beginning they begin, in nanoseconds: each at a moment of its own, evenly.
    pub window_ns: u64,
}

/// Distribution of a core's service time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variation {
    /// As long as the procedure says, every time.
    Constant,
    /// That long on average, exponentially distributed: the M of M/M/c.
    Exponential,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Sites and gateways.
    pub network: Network,
    /// Procedures between sites and gateways.
    pub procedures: Procedures,
    /// Retransmission of requests.
    pub retransmission: Retransmission,
    /// Retry of failed set-ups.
    pub retry: Retry,
    /// Admission by gateways.
    pub admission: Admission,
    /// Duties of every site in steady state.
    pub steady: Steady,
    /// Event that concerns many sites at once.
    pub storm: Storm,
    /// True if returning sites resume a session.
    pub resumes: bool,
    /// Factor for each service time, in thousandths: 1000 is the measured median.
    pub cost_permille: u64,
    /// Distribution of a core's service time.
    pub variation: Variation,
    /// Simulated time of the network, in nanoseconds.
    pub horizon_ns: u64,
}

/// A rate of nothing per second is no link; a terabit is more than gateways have.
const RATE: (u64, u64) = (1_000, 1_000_000_000_000);

impl Scenario {
    /// Fails unless every number is within its bounds, and a run of it within the limits of a run.
    pub fn check(&self) -> Result<(), ScenarioError> {
        let hold = Bounds::hold;
        let network = &self.network;
        hold(
            "sites",
            network.sites,
            1,
            Bounds::SITES,
            "sites",
            "memory of one run; split a larger network by region",
        )?;
        let most = Bounds::GATEWAYS.min(network.sites);
        hold("gateways", network.gateways, 1, most, "gateways", "no more than sites")?;
        hold("cores", network.cores, 1, Bounds::CORES, "cores", "no gateway has more")?;
        hold(
            "cores of all sites",
            network.site_cores,
            0,
            Bounds::CORES,
            "cores",
            "no machine has more",
        )?;
        let minute = 60 * SECOND;
        hold("round trip", network.round_trip_from_ns, 0, minute, "ns", "a minute")?;
        hold(
            "round trip",
            network.round_trip_to_ns,
            network.round_trip_from_ns,
            minute,
            "ns",
            "from the shortest to a minute",
        )?;
        hold(
            "loss",
            network.loss_ppm,
            0,
            500_000,
            "millionths",
            "with half of the packets lost no set-up is planned",
        )?;
        hold(
            "rate of a site",
            network.site_rate,
            RATE.0,
            RATE.1,
            "bit/s",
            "a kilobit to a terabit",
        )?;
        hold(
            "rate of a gateway",
            network.gateway_rate,
            RATE.0,
            RATE.1,
            "bit/s",
            "a kilobit to a terabit",
        )?;
        let again = &self.retransmission;
        hold(
            "first retransmission",
            again.first_ns,
            MILLISECOND,
            10 * minute,
            "ns",
            "a millisecond to ten minutes",
        )?;
        hold(
            "retransmission's factor",
            again.factor_percent,
            100,
            1_000,
            "%",
            "no shorter, ten times longer",
        )?;
        hold(
            "longest retransmission",
            again.longest_ns,
            again.first_ns,
            HOUR,
            "ns",
            "from the first to an hour",
        )?;
        hold("retransmissions", again.tries, 0, 30, "sendings", "an hour of them")?;
        hold(
            "jitter of retransmissions",
            again.jitter_percent,
            0,
            99,
            "%",
            "some of a wait has to be left",
        )?;
        hold(
            "pause",
            self.retry.first_ns,
            MILLISECOND,
            HOUR,
            "ns",
            "a millisecond to an hour",
        )?;
        hold(
            "longest pause",
            self.retry.longest_ns,
            self.retry.first_ns,
            HOUR,
            "ns",
            "from the first to an hour",
        )?;
        hold(
            "jitter of pauses",
            self.retry.jitter_percent,
            0,
            99,
            "%",
            "some of a pause has to be left",
        )?;
        hold(
            "half-open time",
            self.admission.half_open_ns,
            MILLISECOND,
            HOUR,
            "ns",
            "a millisecond to an hour",
        )?;
        for bytes in [self.admission.cookie_answer_bytes, self.admission.cookie_request_bytes] {
            hold("bytes of a cookie", bytes, 0, 1_500, "bytes", "one packet")?;
        }
        hold(
            "share of sites",
            self.storm.share_ppm,
            0,
            1_000_000,
            "millionths",
            "the whole",
        )?;
        hold(
            "horizon",
            self.horizon_ns,
            SECOND,
            Bounds::HORIZON,
            "ns",
            "a second to a day",
        )?;
        hold(
            "window",
            self.storm.window_ns,
            0,
            self.horizon_ns,
            "ns",
            "no longer than what is simulated",
        )?;
        hold(
            "cost",
            self.cost_permille,
            1,
            1_000_000,
            "thousandths",
            "a thousand times the measured one",
        )?;
        let steady = &self.steady;
        for (what, period) in [
            ("period of dead peer detection", steady.dead_peer_ns),
            ("life of a CHILD_SA", steady.rekey_child_ns),
            ("life of an IKE_SA", steady.rekey_ike_ns),
            ("time until a reconnection", steady.reconnect_ns),
            ("life of a certificate", steady.renew_ns),
            ("life of a CRL", steady.fetch_list_ns),
        ] {
            if period != 0 {
                hold(
                    what,
                    period,
                    10 * MILLISECOND,
                    100 * 365 * 24 * HOUR,
                    "ns",
                    "a hundredth of a second to a century",
                )?;
            }
        }
        for procedure in self.procedures.all() {
            if procedure.exchanges.is_empty() {
                return Err(ScenarioError::NoExchange);
            }
            hold(
                "exchanges",
                procedure.exchanges.len() as u64,
                1,
                32,
                "exchanges",
                "no procedure has more",
            )?;
            for exchange in &procedure.exchanges {
                hold("time of a core", exchange.gateway_ns, 0, minute, "ns", "a minute")?;
                hold("time of a site", exchange.site_ns, 0, minute, "ns", "a minute")?;
                for message in [exchange.request, exchange.answer] {
                    hold(
                        "bytes of a message",
                        u64::from(message.bytes),
                        1,
                        1_000_000_000,
                        "bytes",
                        "a gigabyte",
                    )?;
                    hold(
                        "packets of a message",
                        u64::from(message.packets),
                        1,
                        u64::from(u16::MAX),
                        "packets",
                        "65 535",
                    )?;
                }
            }
            hold("time of a site", procedure.after_ns, 0, minute, "ns", "a minute")?;
        }
        if self.resumes && self.procedures.resume.is_none() {
            return Err(ScenarioError::NoResumption);
        }
        hold(
            "events",
            self.expected_events(),
            0,
            Bounds::EVENTS,
            "events",
            "a run of some minutes; simulate a shorter time or fewer sites",
        )?;
        Ok(())
    }

    /// About how many events a run has, if nothing fails: four of each exchange.
    #[must_use]
    pub fn expected_events(&self) -> u64 {
        let times = |period: u64, exchanges: usize| {
            let rounds = self
                .horizon_ns
                .checked_div(period)
                .map_or(0, |rounds| u128::from(rounds) + 1);
            rounds * exchanges as u128
        };
        let (steady, procedures) = (&self.steady, &self.procedures);
        let set_up = procedures.set_up.exchanges.len();
        let each = set_up as u128 * 2
            + times(steady.dead_peer_ns, procedures.dead_peer.exchanges.len())
            + times(steady.rekey_child_ns, procedures.rekey_child.exchanges.len())
            + times(steady.rekey_ike_ns, procedures.rekey_ike.exchanges.len())
            + times(steady.reconnect_ns, set_up)
            + times(steady.renew_ns, procedures.renew.exchanges.len() + set_up)
            + times(steady.fetch_list_ns, procedures.fetch_list.exchanges.len());
        u64::try_from(each * 4 * u128::from(self.network.sites)).unwrap_or(u64::MAX)
    }
}
