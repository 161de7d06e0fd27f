//! Throughput, processor time and added round-trip time of a tunnel in user space, by
//! implementation.

mod datagrams;
mod echo;
mod keyed;
mod stream;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::thread;
use std::time::{Duration, Instant};

use bartizan_pki::Profile;

use super::e2::machine::{self, Ticks};
use super::{
    Better, Default, Error, FactorKind, Kind, Lack, Levels, MetricKind, Observation, ParameterKind, Setting, Targets,
    Trial, Workload, number,
};
use crate::stand_in::charons::Papers;
use crate::stand_in::proxies::Tools;
use crate::stand_in::tunnels::{INSIDE, Maker, Tunnel};

const TUNNEL: FactorKind = FactorKind {
    name: "tunnel",
    about: "who makes it: none (the cable), the engine of Bartizan with `data-path: userspace`, strongSwan's kernel-libipsec (both ESP with AES-256-GCM in UDP), or WireGuard by wireguard-go or boringtun",
    levels: Maker::NAMES,
};

pub(super) use keyed::KIND as KEYED;

const TRAFFIC: FactorKind = FactorKind {
    name: "traffic",
    about: "stream: one connection of TCP, as much as goes; datagrams: UDP at the rate of `offered`; echo: a datagram there and back, one at a time",
    levels: &["stream", "datagrams", "echo"],
};

pub(super) static KIND: Kind = Kind {
    name: "tunnels",
    about: "Sends through tunnels in user space between two namespaces, all of which stand from the first trial to the last.",
    factors: &[TUNNEL, TRAFFIC, SIZE, OFFERED],
    parameters: PARAMETERS,
    metrics: METRICS,
    targets: Targets::Own,
    lacks,
    start,
};

const SIZE: FactorKind = FactorKind {
    name: "size",
    about: "octets of a full IP packet in the tunnel, 1400 at most",
    levels: &[],
};

const OFFERED: FactorKind = FactorKind {
    name: "offered",
    about: "megabits per second that `datagrams` offers, without headers; 0 for as much as goes",
    levels: &[],
};

const PARAMETERS: &[ParameterKind] = &[
    ParameterKind {
        name: "lasting",
        about: "milliseconds for which is counted",
        default: Some(Default::Number(1000.0)),
    },
    ParameterKind {
        name: "warming",
        about: "milliseconds for which is sent before",
        default: Some(Default::Number(200.0)),
    },
    ParameterKind {
        name: "messages",
        about: "round trips of `echo`",
        default: Some(Default::Number(1000.0)),
    },
];

const METRICS: &[MetricKind] = &[
    MetricKind {
        name: "throughput",
        unit: "Mb/s",
        about: "what the receiving program got, without headers",
        better: Better::Higher,
    },
    MetricKind {
        name: "cpu-by-gb",
        unit: "s/GB",
        about: "time on a processor of the tunnel's two processes, over what the receiving program got; a kernel's work in their system calls is in it",
        better: Better::Lower,
    },
    MetricKind {
        name: "machine-by-gb",
        unit: "s/GB",
        about: "time of all processors that was not idle, over the same: sender, receiver and kernel are in it",
        better: Better::Lower,
    },
    MetricKind {
        name: "lost",
        unit: "%",
        about: "datagrams that the sender's kernel took and the receiving program did not get",
        better: Better::Lower,
    },
    MetricKind {
        name: "round-trip",
        unit: "us",
        about: "from handing a datagram to the kernel to having it back",
        better: Better::Lower,
    },
    MetricKind {
        name: "round-trip-p99",
        unit: "us",
        about: "what one of a hundred of them exceeds, of a trial",
        better: Better::Lower,
    },
    MetricKind {
        name: "jitter",
        unit: "us",
        about: "by how much a round trip differs from the one before it, the mean of a trial",
        better: Better::Lower,
    },
];

/// Bytes of a header of IPv4 and of UDP, and of TCP with its time stamps.
const UDP_IN_IP: usize = 20 + 8;
const TCP_IN_IP: usize = 20 + 20;
const PORT: u16 = 5201;
const PATIENCE: Duration = Duration::from_secs(5);

struct Tunnels {
    // In the order of their makers.
    all: BTreeMap<Maker, Tunnel>,
    sending: Sending,
}

/// Traffic through a tunnel.
struct Sending {
    lasting: Duration,
    warming: Duration,
    messages: usize,
}

impl Sending {
    fn of(setting: &Setting<'_>) -> Result<Self, Error> {
        let milliseconds = |name: &str| Ok::<_, Error>(Duration::from_millis(setting.parameters.count(name)? as u64));
        Ok(Self {
            lasting: milliseconds("lasting")?.max(Duration::from_millis(1)),
            warming: milliseconds("warming")?,
            messages: setting.parameters.count("messages")?,
        })
    }

    fn through(&self, tunnel: &mut Tunnel, trial: &Trial<'_>) -> Result<Observation, Error> {
        let size = number(trial.levels, SIZE.name, f64::from(INSIDE))? as usize;
        if !(68..=usize::from(INSIDE)).contains(&size) {
            return Err(Error::Configuration(format!("`size` is 68 to {INSIDE} octets")));
        }
        let mut observation = Observation::default();
        let values = &mut observation.values;
        let times = (self.warming, self.lasting);
        match trial.levels.level(TRAFFIC.name).unwrap_or(TRAFFIC.levels[0]) {
            "echo" => {
                let trips = echo::trips(tunnel, size - UDP_IN_IP, self.messages, trial.deadline)?;
                values.insert("round-trip-p99", p99(&trips));
                values.insert("jitter", jitter(&trips));
                values.insert("round-trip", trips);
            }
            "datagrams" => {
                let offered = number(trial.levels, OFFERED.name, 0.0)?;
                let (carried, lost) = datagrams::carried(tunnel, size - UDP_IN_IP, offered, times)?;
                values.insert("lost", vec![lost]);
                carried.put(values)?;
            }
            _ => stream::carried(tunnel, size - TCP_IN_IP, times)?.put(values)?,
        }
        Ok(observation)
    }
}

fn maker(levels: &Levels) -> Result<Maker, Error> {
    let name = levels.level(TUNNEL.name).unwrap_or(Maker::NAMES[0]);
    Maker::named(name).ok_or_else(|| Error::Configuration(format!("no tunnel {name}")))
}

fn lacks(levels: &Levels, tools: &Tools) -> Option<Lack> {
    maker(levels).ok()?.lacks(tools)
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let papers = Papers::issue(setting.folder, "ecdsa-p256", ["near", "far"], Profile::Ipsec)?;
    let mut all = BTreeMap::new();
    for levels in setting.combinations {
        let maker = maker(levels)?;
        if let Entry::Vacant(place) = all.entry(maker) {
            place.insert(Tunnel::make(maker, setting.tools, &papers, setting.folder)?);
        }
    }
    Ok(Box::new(Tunnels {
        all,
        sending: Sending::of(setting)?,
    }))
}

impl Workload for Tunnels {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let tunnel = self.all.get_mut(&maker(trial.levels)?);
        let tunnel = tunnel.ok_or_else(|| Error::Configuration("a tunnel that was not made".to_owned()))?;
        self.sending.through(tunnel, trial)
    }

    fn programs(&self) -> Vec<String> {
        self.all.values().map(|tunnel| tunnel.program().to_owned()).collect()
    }
}

fn p99(trips: &[f64]) -> Vec<f64> {
    let mut sorted = trips.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let place = (sorted.len() * 99).div_ceil(100).checked_sub(1);
    place.and_then(|place| sorted.get(place).copied()).into_iter().collect()
}

/// The mean difference of two that follow each other.
fn jitter(trips: &[f64]) -> Vec<f64> {
    let steps = trips.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    let count = steps.len();
    let sum: f64 = steps.sum();
    (count > 0).then(|| sum / count as f64).into_iter().collect()
}

/// Traffic received in a period, and its cost.
struct Carried {
    bytes: u64,
    took: Duration,
    /// Processor time of the tunnel's processes.
    spent: Duration,
    /// Busy time of all processors.
    busy: Duration,
}

impl Carried {
    /// Counts for so long, after having waited for so long.
    fn count(
        tunnel: &mut Tunnel,
        (warming, lasting): (Duration, Duration),
        received: impl Fn() -> u64,
    ) -> Result<Self, Error> {
        thread::sleep(warming);
        let (ticks, spent, bytes, began) = (Ticks::now()?, tunnel.spent()?, received(), Instant::now());
        thread::sleep(lasting);
        let (bytes, took) = (received() - bytes, began.elapsed());
        let (spent, shares) = (tunnel.spent()?.saturating_sub(spent), Ticks::now()?.since(ticks));
        let shares = shares.ok_or_else(|| Error::Configuration("the trial is shorter than a tick".to_owned()))?;
        Ok(Self {
            bytes,
            took,
            spent,
            busy: took.mul_f64(machine::processors()? * shares.busy / 100.0),
        })
    }

    fn put(&self, values: &mut BTreeMap<&'static str, Vec<f64>>) -> Result<(), Error> {
        if self.bytes == 0 {
            return Err(Error::Protocol("nothing came through the tunnel".to_owned()));
        }
        let gigabytes = self.bytes as f64 / 1e9;
        let throughput = 8e3 * gigabytes / self.took.as_secs_f64();
        values.insert("throughput", vec![throughput]);
        values.insert("cpu-by-gb", vec![self.spent.as_secs_f64() / gigabytes]);
        values.insert("machine-by-gb", vec![self.busy.as_secs_f64() / gigabytes]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_through_is_shown_by_its_rate_and_what_each_gigabyte_took() {
        let carried = Carried {
            bytes: 500_000_000,
            took: Duration::from_secs(2),
            spent: Duration::from_secs(1),
            busy: Duration::from_secs(3),
        };
        let mut values = BTreeMap::new();
        carried.put(&mut values).unwrap();
        assert_eq!(values["throughput"], [2000.0]);
        assert_eq!(values["cpu-by-gb"], [2.0]);
        assert_eq!(values["machine-by-gb"], [6.0]);
        assert!(Carried { bytes: 0, ..carried }.put(&mut values).is_err());
    }

    #[test]
    fn one_of_a_hundred_exceeds_the_ninety_ninth() {
        let trips: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        assert_eq!(p99(&trips), [198.0]);
        assert!(p99(&[]).is_empty());
    }

    #[test]
    fn jitter_is_the_mean_of_what_round_trips_differ_by() {
        assert_eq!(jitter(&[10.0, 14.0, 12.0]), [3.0]);
        assert!(jitter(&[10.0]).is_empty());
    }
}
