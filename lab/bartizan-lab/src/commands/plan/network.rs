//! The network that is planned, as flags.

use std::fmt::Display;
use std::str::FromStr;

use bartizan_budget::unit::{BitsPerSecond, Microseconds, Share};
use bartizan_simulation::Sourced;
use bartizan_simulation::cost::{Authentication, Engine, Suite, Worked};
use bartizan_simulation::simulation::{Network, Scenario, ScenarioError, Steady, Storm, Timers, Variation};
use bartizan_simulation::storm::{Range, Variant};

use super::costs::Costs;
use super::handshake::{self, Handshake};
use crate::Failure;

/// Two values, `A..B`, or one that stands for both.
#[derive(Debug, Clone, Copy)]
pub(super) struct Between<T> {
    pub(super) from: T,
    pub(super) to: T,
}

impl<T: FromStr + Copy> FromStr for Between<T>
where
    T::Err: Display,
{
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = |text: &str| text.parse::<T>().map_err(|error| error.to_string());
        let (from, to) = text.split_once("..").unwrap_or((text, text));
        Ok(Self {
            from: read(from)?,
            to: read(to)?,
        })
    }
}

/// A factor of measured times.
#[derive(Debug, Clone, Copy)]
pub(super) struct Factor(f64);

impl FromStr for Factor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let value: f64 = text.trim().parse().map_err(|_| format!("`{text}` is no number"))?;
        if (0.001..=1000.0).contains(&value) {
            Ok(Self(value))
        } else {
            Err(format!("{value}: between 0.001 and 1000"))
        }
    }
}

/// Sites, gateways, what is between them, what is compared.
#[derive(clap::Args)]
pub(super) struct NetworkArgs {
    /// Sites, each with one SA to its gateway
    #[arg(long, allow_hyphen_values = true, value_name = "N", default_value_t = 2000)]
    sites: u64,
    /// Gateways, to which sites are dealt in turn
    #[arg(long, allow_hyphen_values = true, value_name = "N", default_value_t = 1)]
    gateways: u64,
    /// Cores of each gateway
    #[arg(long, allow_hyphen_values = true, value_name = "N", default_value_t = 4)]
    cores: u64,
    /// Round trip of a site: one for all, or A..B, each as likely as any other between
    #[arg(
        long,
        allow_hyphen_values = true,
        value_name = "TIME[..TIME]",
        default_value = "5ms..20ms"
    )]
    round_trip: Between<Microseconds>,
    /// Probability that a packet is lost: one, or A..B of which each seed draws one
    #[arg(
        long,
        allow_hyphen_values = true,
        value_name = "SHARE[..SHARE]",
        default_value = "0%..0.1%"
    )]
    loss: Between<Share>,
    /// Factor of measured processor times: one number, or A..B of which each seed draws one
    #[arg(
        long,
        allow_hyphen_values = true,
        value_name = "FACTOR[..FACTOR]",
        default_value = "1"
    )]
    cost_factor: Between<Factor>,
    /// Rate of a site's access
    #[arg(long, allow_hyphen_values = true, value_name = "RATE", default_value = "100Mb/s")]
    site_rate: BitsPerSecond,
    /// Rate of a gateway's link, each direction
    #[arg(long, allow_hyphen_values = true, value_name = "RATE", default_value = "10Gb/s")]
    gateway_rate: BitsPerSecond,
    /// Engine whose processor time is used: strongswan (IKEv2), bartizan (TLS 1.3 between sidecars)
    #[arg(long, value_name = "ENGINE", default_value = "strongswan")]
    engine: String,
    /// Suites to compare: KEY-EXCHANGE/AUTHENTICATION[/CHAIN], as in
    /// x25519-ke1_mlkem768/ml-dsa-65/2 [default: classical, pure and hybrid with ECDSA, then with
    /// ML-DSA]
    #[arg(long, value_name = "SUITE,...", value_delimiter = ',')]
    suite: Vec<String>,
    /// Processor time of the gateway for a whole set-up, as you measured it, in place of the
    /// record's; for one of several suites SUITE=TIME, may be repeated
    #[arg(long, value_name = "[SUITE=]TIME", conflicts_with = "scale")]
    handshake: Vec<Handshake>,
    /// Compare each suite without and with sessions that are resumed (engine bartizan)
    #[arg(long)]
    resumption: bool,
    /// Retransmission, pauses and cookies: strongswan (its defaults), bartizan (what it
    /// configures), tcp [default: bartizan for strongswan, tcp for bartizan]
    #[arg(long, value_name = "WHOSE")]
    timers: Option<String>,
    /// Pause after a set-up that failed, doubled with each up to the second: FIRST..LONGEST
    /// [default: that of the timers]
    #[arg(long, allow_hyphen_values = true, value_name = "TIME[..TIME]")]
    retry: Option<Between<Microseconds>>,
    /// Share by which pauses are shorter at random
    #[arg(long, allow_hyphen_values = true, value_name = "SHARE", default_value = "0%")]
    retry_jitter: Share,
    /// Half-open set-ups of a gateway from which on it asks for cookies, or never [default: that of the timers]
    #[arg(long, value_name = "N|never")]
    cookies_from: Option<String>,
    /// Requests that wait at a gateway from which on it drops the first of a set-up [default: never]
    #[arg(long, value_name = "N")]
    queue: Option<u64>,
    /// From one dead peer detection to the next; 0s: never
    #[arg(long, allow_hyphen_values = true, value_name = "TIME", default_value = "30s")]
    dead_peer: Microseconds,
    /// Life of a CHILD_SA; 0s: never rekeyed
    #[arg(long, allow_hyphen_values = true, value_name = "TIME", default_value = "1h")]
    rekey_child: Microseconds,
    /// Life of an IKE_SA; 0s: never rekeyed
    #[arg(long, allow_hyphen_values = true, value_name = "TIME", default_value = "4h")]
    rekey_ike: Microseconds,
    /// Mean time until a site loses its SA and sets up anew; 0s: never
    #[arg(long, allow_hyphen_values = true, value_name = "TIME", default_value = "24h")]
    reconnect: Microseconds,
    /// Life of a certificate; 0s: never renewed
    #[arg(long, allow_hyphen_values = true, value_name = "TIME", default_value = "30d")]
    renew: Microseconds,
    /// From one fetched CRL to the next; 0s: never
    #[arg(long, allow_hyphen_values = true, value_name = "TIME", default_value = "24h")]
    fetch_crl: Microseconds,
    /// Entries of the CRL [default: as many as a storm revokes]
    #[arg(long, value_name = "N")]
    crl_entries: Option<u32>,
    /// Simulated time
    #[arg(long, allow_hyphen_values = true, value_name = "TIME", default_value = "1h")]
    horizon: Microseconds,
}

/// A suite as it is planned.
pub(super) struct Planned {
    pub(super) variant: Variant,
    /// The ends of the 95 % interval of the measured processor time as shares of its median.
    pub(super) cost_interval: [f64; 2],
    /// Bytes of an SA or a connection.
    pub(super) memory: Option<Sourced<u64>>,
}

/// Suites that a plan compares by default.
const IKE_SUITES: &[&str] = &[
    "x25519/ecdsa-p256",
    "mlkem768/ecdsa-p256",
    "x25519-ke1_mlkem768/ecdsa-p256",
    "x25519-ke1_mlkem768/ml-dsa-44",
    "mlkem768/ml-dsa-65",
    "x25519-ke1_mlkem768/ml-dsa-65",
    "x25519-ke1_mlkem768/ml-dsa-65/2",
    "x25519-ke1_mlkem1024/ml-dsa-87",
];
const TLS_SUITES: &[&str] = &[
    "X25519/ecdsa-p256",
    "X25519MLKEM768/ecdsa-p256",
    "X25519MLKEM768/ml-dsa-44",
    "MLKEM768/ml-dsa-65",
    "X25519MLKEM768/ml-dsa-65",
    "X25519MLKEM768/ml-dsa-65/2",
    "X25519MLKEM768/ml-dsa-87",
];

/// Whole nanoseconds: below 3.2e16.
pub(super) fn nanoseconds(time: Microseconds) -> u64 {
    (time.value() * 1e3).round() as u64
}

fn millionths(share: Share) -> u64 {
    (share.value() * 1e6).round() as u64
}

impl NetworkArgs {
    pub(super) fn loss(&self) -> Range {
        Range {
            from: millionths(self.loss.from),
            to: millionths(self.loss.to),
        }
    }

    pub(super) fn cost(&self, costs: &Costs) -> Range {
        let thousandths = |factor: Factor| (factor.0 * costs.scaling.ratio() * 1e3).round() as u64;
        Range {
            from: thousandths(self.cost_factor.from),
            to: thousandths(self.cost_factor.to),
        }
    }

    /// The suites, each with the text that gives it.
    fn suites(&self) -> Result<Vec<(&str, Suite)>, Failure> {
        let engine = Engine::named(&self.engine).map_err(Failure::usage)?;
        if self.resumption && engine == Engine::StrongSwan {
            return Err(
                Failure::usage("--resumption: IKEv2's resumption (RFC 5723) is in no record here")
                    .hint("--engine bartizan"),
            );
        }
        let default = match engine {
            Engine::StrongSwan => IKE_SUITES,
            Engine::Bartizan => TLS_SUITES,
        };
        let asked: Vec<&str> = match &self.suite[..] {
            [] => default.to_vec(),
            asked => asked.iter().map(String::as_str).collect(),
        };
        handshake::fit(&self.handshake, &asked)?;
        let suite = |text| {
            let text: &str = text;
            let mut words = text.split('/');
            let wrong = || Failure::usage(format!("suite {text}: write KEY-EXCHANGE/AUTHENTICATION[/CHAIN]"));
            let (Some(key_exchange), Some(authentication)) = (words.next(), words.next()) else {
                return Err(wrong());
            };
            let chain = words.next().unwrap_or("1").parse().map_err(|_| wrong())?;
            if words.next().is_some() {
                return Err(wrong());
            }
            let suite = Suite {
                engine,
                key_exchange: key_exchange.to_owned(),
                authentication: Authentication::named(authentication)
                    .map_err(|error| Failure::usage(format!("suite {text}: {error}")))?,
                chain,
                resumes: false,
            };
            Ok((text, suite))
        };
        let whole = asked.into_iter().map(suite).collect::<Result<Vec<_>, _>>()?;
        let resumed = |suite: &Suite| Suite {
            resumes: true,
            ..suite.clone()
        };
        Ok(if self.resumption {
            whole
                .iter()
                .flat_map(|(text, suite)| [(*text, suite.clone()), (*text, resumed(suite))])
                .collect()
        } else {
            whole
        })
    }

    /// A scenario for each suite.
    pub(super) fn variants(&self, costs: &Costs, storm: &Storm) -> Result<Vec<Variant>, Failure> {
        let planned = self.planned(costs, storm)?;
        Ok(planned.into_iter().map(|planned| planned.variant).collect())
    }

    /// The same, with what is known of each suite beyond its scenario.
    pub(super) fn planned(&self, costs: &Costs, storm: &Storm) -> Result<Vec<Planned>, Failure> {
        let revoked = u128::from(self.sites) * u128::from(storm.share_ppm) / 1_000_000;
        let entries = match (self.crl_entries, storm.kind) {
            (Some(entries), _) => entries,
            (None, bartizan_simulation::simulation::StormKind::Revocation) => {
                u32::try_from(revoked).unwrap_or(u32::MAX)
            }
            (None, _) => 0,
        };
        let suites = self.suites()?;
        let planned = suites.iter().map(|(text, suite)| {
            let mut worked = suite
                .worked(&costs.crypto, &costs.engines, entries)
                .map_err(|error| Failure::usage(format!("{}: {error}", suite.name())))?;
            let given = handshake::replace(&self.handshake, text, &mut worked);
            let mut planned = Planned {
                cost_interval: worked.cost_interval,
                memory: worked.memory.clone(),
                variant: self.variant(suite, worked, costs, storm)?,
            };
            planned.variant.sources.extend(given);
            Ok(planned)
        });
        planned.collect()
    }

    fn variant(&self, suite: &Suite, worked: Worked, costs: &Costs, storm: &Storm) -> Result<Variant, Failure> {
        let named = match (&self.timers, suite.engine) {
            (Some(name), _) => name.as_str(),
            (None, Engine::StrongSwan) => "bartizan",
            (None, Engine::Bartizan) => "tcp",
        };
        let timers =
            Timers::named(named).ok_or_else(|| Failure::usage(format!("timers {named}: strongswan, bartizan, tcp")))?;
        let mut admission = timers.admission(self.sites.div_ceil(self.gateways.max(1)));
        admission.queue = self.queue;
        if let Some(from) = &self.cookies_from {
            let wrong = |_| Failure::usage(format!("--cookies-from {from}: a number, or never"));
            admission.cookies_from = if from == "never" {
                None
            } else {
                Some(from.parse().map_err(wrong)?)
            };
        }
        let mut retry = timers.retry();
        if let Some(pause) = self.retry {
            (retry.first_ns, retry.longest_ns) = (nanoseconds(pause.from), nanoseconds(pause.to));
        }
        retry.jitter_percent = (self.retry_jitter.value() * 100.0).round() as u64;
        let mut sources: Vec<String> = worked.sources.iter().map(ToString::to_string).collect();
        sources.push(format!("primitives: {}", costs.name));
        sources.push(format!("timers: {}", timers.source()));
        if !worked.measured {
            sources.push("this suite was not measured with this engine: its primitives over the engine's own time of another suite".to_owned());
        }
        sources.extend(costs.of_two_processors(suite.engine));
        if let Some(source) = costs.scaling.source() {
            sources.push(format!("all times {} times as long: {source}", costs.scaling.ratio()));
        }
        // HTTP/2 over TLS has neither.
        let is_ike = suite.engine == Engine::StrongSwan;
        let of_ike = |time: Microseconds| if is_ike { nanoseconds(time) } else { 0 };
        Ok(Variant {
            name: suite.name(),
            sources,
            scenario: Scenario {
                network: Network {
                    sites: self.sites,
                    gateways: self.gateways,
                    cores: self.cores,
                    round_trip_from_ns: nanoseconds(self.round_trip.from),
                    round_trip_to_ns: nanoseconds(self.round_trip.to),
                    loss_ppm: millionths(self.loss.from),
                    site_rate: self.site_rate.value() as u64,
                    gateway_rate: self.gateway_rate.value() as u64,
                    site_cores: 0,
                },
                procedures: worked.procedures,
                retransmission: timers.retransmission(),
                retry,
                admission,
                steady: Steady {
                    dead_peer_ns: nanoseconds(self.dead_peer),
                    rekey_child_ns: of_ike(self.rekey_child),
                    rekey_ike_ns: of_ike(self.rekey_ike),
                    reconnect_ns: nanoseconds(self.reconnect),
                    renew_ns: nanoseconds(self.renew),
                    fetch_list_ns: nanoseconds(self.fetch_crl),
                },
                storm: storm.clone(),
                resumes: suite.resumes,
                cost_permille: self.cost(costs).from,
                variation: Variation::Constant,
                horizon_ns: nanoseconds(self.horizon),
            },
        })
    }
}

/// The share of a storm in millionths.
pub(super) fn share_ppm(share: Share) -> u64 {
    millionths(share)
}

/// The flag by which a number of a scenario is given.
const FLAGS: &[(&str, &str)] = &[
    ("sites", "--sites"),
    ("gateways", "--gateways"),
    ("cores", "--cores"),
    ("round trip", "--round-trip"),
    ("loss", "--loss"),
    ("rate of a site", "--site-rate"),
    ("rate of a gateway", "--gateway-rate"),
    ("pause", "--retry"),
    ("longest pause", "--retry"),
    ("jitter of pauses", "--retry-jitter"),
    ("share of sites", "--share"),
    ("horizon", "--horizon"),
    ("window", "--window"),
    ("cost", "--cost-factor"),
    ("period of dead peer detection", "--dead-peer"),
    ("life of a CHILD_SA", "--rekey-child"),
    ("life of an IKE_SA", "--rekey-ike"),
    ("time until a reconnection", "--reconnect"),
    ("life of a certificate", "--renew"),
    ("life of a CRL", "--fetch-crl"),
    ("events", "--horizon, --sites or --dead-peer"),
    ("target", "--target"),
];

/// Failure for a number out of bounds, with the flag that gives it.
pub(super) fn refused(error: &ScenarioError, whole: impl Display) -> Failure {
    let failure = Failure::usage(whole);
    let ScenarioError::OutOfBounds { what, .. } = error else {
        return failure;
    };
    match FLAGS.iter().find(|(known, _)| known == what) {
        Some((_, flag)) => failure.hint(format!("it is given by {flag}")),
        None => failure,
    }
}
