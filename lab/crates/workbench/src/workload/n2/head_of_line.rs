//! A quiet stream next to a busy one of the same association, whose packets the cable loses.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use bartizan_testing::Impairment;
use bartizan_testing::Wiring as _;

use super::{
    LOSS, PROTECTION, ROUND_TRIP, Stage, count, lacks, milliseconds, number, number_of, numbered, p99, parameter,
};
use super::{round_trip, soon};
use crate::stand_in::e2::link::INTERFACE;
use crate::stand_in::n2::function::{Function, Waiting};
use crate::stand_in::proxies::Tools;
use crate::workload::{
    Error, FactorKind, Kind, Lack, Levels, MetricKind, Observation, Setting, Targets, Trial, Workload,
};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "n2-head-of-line",
    about: "Sends short messages on a quiet stream and long ones on a busy stream of the same association, each at its rate, while the cable loses long packets alone.",
    factors: &[
        PROTECTION,
        FactorKind {
            about: "long packets of a hundred that the cable loses from the gNB to the AMF; shorter ones, as those with nothing but a quiet message, pass",
            ..LOSS
        },
        ROUND_TRIP,
    ],
    parameters: &[
        parameter("lasting", "milliseconds for which is sent", 3000.0),
        parameter(
            "busy-size",
            "octets of a message of the busy stream, more than long packets have",
            1200.0,
        ),
        parameter("busy-every", "microseconds between two of them", 2000.0),
        parameter("quiet-size", "octets of a message of the quiet stream", 165.0),
        parameter("quiet-every", "microseconds between two of them", 5300.0),
    ],
    metrics: &[
        MetricKind::lower(
            "quiet",
            "ms",
            "from handing a message of the quiet stream to the kernel to having it at the AMF",
        ),
        MetricKind::lower("quiet-p99", "ms", "what one of a hundred of them exceeds, of a trial"),
        MetricKind::lower("busy-p99", "ms", "the same of the busy stream"),
        count(
            "lost",
            "messages of either stream that did not arrive, or not as they were sent",
        ),
    ],
    targets: Targets::Own,
    lacks: lacks_netem_too,
    start,
};

/// Length of a packet, with IP header, from which it counts as long.
const LONG: u16 = 1024;
/// The streams.
const QUIET: u16 = 1;
const BUSY: u16 = 2;

/// Long packets are found by netem's neighbours, also where nothing is lost.
fn lacks_netem_too(levels: &Levels, tools: &Tools) -> Option<Lack> {
    lacks(&levels.clone().with(LOSS.name, "1"), tools)
}

struct HeadOfLine {
    stage: Stage,
    lasting: Duration,
    busy: Flow,
    quiet: Flow,
}

/// Messages of a stream.
#[derive(Clone, Copy)]
struct Flow {
    stream: u16,
    size: usize,
    every: Duration,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let parameters = setting.parameters;
    let flow = |stream, name: &str| {
        let every = Duration::from_micros(parameters.count(&format!("{name}-every"))? as u64);
        if every.is_zero() {
            return Err(Error::Configuration(format!("{name}-every is 0")));
        }
        Ok(Flow {
            stream,
            size: parameters.count(&format!("{name}-size"))?,
            every,
        })
    };
    Ok(Box::new(HeadOfLine {
        stage: Stage::make(setting, 1)?,
        lasting: Duration::from_millis(parameters.count("lasting")? as u64),
        busy: flow(BUSY, "busy")?,
        quiet: flow(QUIET, "quiet")?,
    }))
}

/// A message's stream and number, and when it was sent or came.
type Moment = (u16, u32, Instant);

impl Workload for HeadOfLine {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let places = self.stage.prepare(trial.levels)?;
        let short = Impairment {
            delay: round_trip(trial.levels)? / 2,
            ..Impairment::default()
        };
        let long = Impairment {
            loss_percent: number(trial.levels, LOSS.name, 0.0)?,
            ..short
        };
        let link = self.stage.link();
        let (gnb, amf) = (link.node(), link.ric());
        bartizan_machine::impair_by_length(gnb, INTERFACE, LONG, &long, &short)?;
        amf.impair(INTERFACE, &short)?;
        let deadline = trial.deadline;
        let (sent, arrived) = thread::scope(|scope| {
            let waiting = Waiting::at(amf, places.service)?;
            let far = scope.spawn(move || arrivals(&waiting, deadline));
            let near = Function::open(gnb, places.local(), places.entry)?;
            let sent = self.send(&near, deadline);
            let ended = near.close(deadline);
            let far = far.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let sent = sent?;
            ended?;
            Ok::<_, Error>((sent, far?))
        })?;
        let mut observation = Observation {
            facts: self.stage.facts(trial.levels)?,
            ..Observation::default()
        };
        let values = &mut observation.values;
        // By stream and number: one that came twice counts once.
        let mut left: BTreeMap<(u16, u32), Instant> = sent
            .iter()
            .map(|&(stream, number, at)| ((stream, number), at))
            .collect();
        let mut times = [Vec::new(), Vec::new()];
        for (stream, number, at) in arrived {
            if let Some(sent) = left.remove(&(stream, number)) {
                times[usize::from(stream == BUSY)].push(milliseconds(at.saturating_duration_since(sent)));
            }
        }
        let [quiet, busy] = times;
        values.insert("lost", vec![left.len() as f64]);
        values.insert("quiet-p99", p99(&quiet));
        values.insert("busy-p99", p99(&busy));
        values.insert("quiet", quiet);
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.stage.programs()
    }
}

impl HeadOfLine {
    /// Sends both flows, each at its rate.
    fn send(&self, near: &Function, deadline: Instant) -> Result<Vec<Moment>, Error> {
        let began = Instant::now();
        let mut sent = Vec::new();
        // The quiet one begins between two messages of the busy one.
        let mut flows = [(self.busy, began, 0), (self.quiet, began + self.busy.every / 2, 0)];
        loop {
            let next = usize::from(flows[1].1 < flows[0].1);
            let (flow, due, number) = &mut flows[next];
            if due.saturating_duration_since(began) >= self.lasting {
                return Ok(sent);
            }
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let message = numbered(flow.stream, *number, flow.size);
            sent.push((flow.stream, *number, Instant::now()));
            near.send(&message, deadline)?;
            *due += flow.every;
            *number += 1;
        }
    }
}

/// Arrival times by the octets of each message. The stream is read from the octets, so that a relay
/// which changes streams is measured too.
fn arrivals(waiting: &Waiting, deadline: Instant) -> Result<Vec<Moment>, Error> {
    let mut association = waiting.accept(soon(deadline))?;
    let mut arrived = Vec::new();
    while let Some(message) = association.receive(deadline)? {
        let now = Instant::now();
        // The octets behind the number say the stream.
        let stream = message.octets.get(4).map(|octet| u16::from(*octet));
        if let (Some(stream), Some(number)) = (stream, number_of(&message)) {
            arrived.push((stream, number, now));
        }
    }
    Ok(arrived)
}
