//! Frames at an offered rate, and now and then one whose delay is taken: what arrives, and what the processor does.

use std::time::Duration;

use bartizan_machine::Departures;

use super::planes::{losses, unchanged};
use super::{PORT_MTU, PROTECTION, count, facts, lacks, metric, parameter, protection_of, time};
use crate::stand_in::fronthaul::play::{Due, Script, play};
use crate::stand_in::fronthaul::tally::Lane;
use crate::stand_in::fronthaul::{Link, probe};
use crate::workload::e2::machine::{Shares, Ticks, processors};
use crate::workload::{Better, Error, FactorKind, Kind, Observation, Setting, Targets, Trial, Workload, number};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "fronthaul-load",
    about: "Sends eCPRI frames of one size at a rate from an O-DU to an O-RU, and every so often a probe of another size: what arrives of them, how long probes take, what the processor does.",
    factors: &[
        PROTECTION,
        FactorKind {
            name: "offered",
            about: "Mb/s of frames without MACsec and check sequence; 0 for as much as the kernel takes",
            levels: &[],
        },
        FactorKind {
            name: "probe",
            about: "bytes of a probe, 64 to 9018; 0 for none",
            levels: &[],
        },
    ],
    parameters: &[
        parameter("lasting", "milliseconds for which is sent", 1000.0),
        parameter("size", "bytes of a frame of the load, 64 to 9018", 7678.0),
        parameter("probe-every", "microseconds between two probes", 2000.0),
    ],
    metrics: &[
        metric(
            "achieved",
            "Mb/s",
            "what arrived of the load, from its first frame to its last",
            Better::Higher,
        ),
        metric("lost", "%", "frames of the load that did not arrive", Better::Lower),
        metric(
            "cpu",
            "%",
            "time of all processors of the kernel that ran it that was not idle while frames were sent",
            Better::Lower,
        ),
        metric(
            "cpu-by-rate",
            "%/(Mb/s)",
            "per cent of one processor for each megabit per second that arrived",
            Better::Lower,
        ),
        time(
            "probe-delay",
            "one way of a probe: from handing it to the kernel to having it at the other end",
        ),
        time(
            "probe-in",
            "of it, from the other port to the program: decryption, and waiting for its turn",
        ),
        count("probes-lost", "probes that did not arrive"),
    ],
    targets: Targets::Own,
    lacks,
    start,
};

/// The part of a trial's probes that warms up.
const WARM: f64 = 0.2;

struct LoadWorkload {
    link: Link,
    lasting: Duration,
    size: usize,
    every: Duration,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let parameters = setting.parameters;
    Ok(Box::new(LoadWorkload {
        link: Link::make(PORT_MTU)?,
        lasting: Duration::from_millis(parameters.count("lasting")?.max(1) as u64),
        size: of_a_frame("size", parameters.count("size")?)?,
        every: Duration::from_micros(parameters.count("probe-every")?.max(1) as u64),
    }))
}

fn of_a_frame(name: &str, size: usize) -> Result<usize, Error> {
    let fits = (probe::LEAST..=probe::MOST).contains(&size);
    let range = || format!("`{name}` is {} to {} bytes", probe::LEAST, probe::MOST);
    fits.then_some(size).ok_or_else(|| Error::Configuration(range()))
}

/// A script, with how the processors spent their time while it was played.
pub(super) struct Watched<S> {
    script: S,
    began: Option<Ticks>,
    ended: Option<Ticks>,
}

impl<S> Watched<S> {
    pub(super) fn new(script: S) -> Self {
        Self {
            script,
            began: None,
            ended: None,
        }
    }

    /// Shares of the processors' time from the first frame to the last; none where no tick has passed.
    pub(super) fn shares(&self) -> Option<Shares> {
        self.ended.zip(self.began).and_then(|(ended, began)| ended.since(began))
    }
}

impl<S: Script> Script for Watched<S> {
    fn next(&mut self, buffer: &mut Vec<u8>) -> Option<Due> {
        if self.began.is_none() {
            self.began = Ticks::now().ok();
        }
        let due = self.script.next(buffer);
        if due.is_none() {
            self.ended = Ticks::now().ok();
        }
        due
    }

    fn is_exact(&self) -> bool {
        self.script.is_exact()
    }
}

impl Workload for LoadWorkload {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        self.link.protect(protection_of(trial.levels)?)?;
        let offered = number(trial.levels, "offered", 0.0)?;
        let probe = match number(trial.levels, "probe", 0.0)? as usize {
            0 => None,
            size => Some((of_a_frame("probe", size)?, self.every)),
        };
        let load = probe::Load {
            size: self.size,
            gap: match offered > 0.0 {
                true => Duration::from_secs_f64(8.0 * self.size as f64 / offered / 1e6),
                false => Duration::ZERO,
            },
            probe,
            lasting: self.lasting,
        };
        let mut source = Watched::new(load.source());
        let mut sink = probe::Sink::default();
        let played = play(
            &self.link,
            &mut source,
            &mut sink,
            2,
            Departures::Unstamped,
            trial.deadline,
        )?;
        unchanged(&played)?;
        let [frames, probes] = &played.lanes[..] else {
            return Err(Error::Configuration("two kinds of frames are sent".to_owned()));
        };
        let mut observation = Observation {
            facts: facts(&self.link),
            ..Observation::default()
        };
        let values = &mut observation.values;
        let rate = achieved(&[(frames, self.size)]);
        values.extend(rate.map(|rate| ("achieved", vec![rate])));
        let sent = frames.sent.len().max(1) as f64;
        values.insert("lost", vec![100.0 * frames.lost() as f64 / sent]);
        if let (Some(shares), Some(rate)) = (source.shares(), rate) {
            values.insert("cpu", vec![shares.busy]);
            values.insert("cpu-by-rate", vec![processors()? * shares.busy / rate]);
        }
        if probe.is_some() {
            let counted = || probes.delays((probes.sent.len() as f64 * WARM) as usize);
            values.insert("probe-delay", counted().map(|delay| delay.whole).collect());
            values.insert("probe-in", counted().filter_map(|delay| delay.inward).collect());
            values.insert("probes-lost", vec![probes.lost() as f64]);
        }
        losses(&mut observation.facts, &played);
        Ok(observation)
    }
}

/// Rate of frames of these sizes in Mb/s, from the first arrival to the last. The first frame
/// starts the clock and is not counted. None for fewer than two arrivals.
pub(super) fn achieved(lanes: &[(&Lane, usize)]) -> Option<f64> {
    let of = |&(lane, size): &(&Lane, usize)| -> Vec<(u64, usize)> {
        let arrived = lane.sent.iter().filter_map(|sent| Some(sent.arrived?.at));
        arrived.map(|at| (at, size)).collect()
    };
    let mut arrived: Vec<(u64, usize)> = lanes.iter().flat_map(of).collect();
    arrived.sort_unstable();
    let (first, rest) = arrived.split_first()?;
    let took = rest.last()?.0.checked_sub(first.0).filter(|took| *took > 0)?;
    let bytes: usize = rest.iter().map(|(_, size)| size).sum();
    Some(8.0 * bytes as f64 / (took as f64 / 1e9) / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stand_in::fronthaul::tally::{Received, Sent};

    #[test]
    fn the_first_frame_starts_the_clock_and_lost_ones_count_for_nothing() {
        let sent = |at: Option<u64>| Sent {
            at: 0,
            late: 0,
            departed: None,
            arrived: at.map(|at| Received { arrived: None, at }),
        };
        let lane = |all: &[Option<u64>]| Lane {
            sent: all.iter().copied().map(sent).collect(),
        };
        // 2000 bytes in a millisecond.
        let some = lane(&[Some(0), Some(500_000), None, Some(1_000_000)]);
        let rate = achieved(&[(&some, 1000)]).unwrap();
        assert!((rate - 16.0).abs() < 1e-9, "{rate}");
        // And 500 bytes more, in the same time.
        let rate = achieved(&[(&some, 1000), (&lane(&[Some(7)]), 500)]).unwrap();
        assert!((rate - 20.0).abs() < 1e-9, "{rate}");
        assert_eq!(achieved(&[(&lane(&[Some(5), None]), 1000)]), None);
        assert_eq!(achieved(&[]), None);
    }
}
