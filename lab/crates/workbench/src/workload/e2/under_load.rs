//! Messages at a rate, some of which are answered, or one after the other: what `sockperf
//! under-load` and `sockperf ping-pong` do, by sockperf itself and by this program in the same
//! shape.

mod sockperf;

use std::io;
use std::net::UdpSocket;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::{PROTECTION, Protected, microseconds, protection_of};
use crate::stand_in::e2::link::{NODE, RIC};
use crate::stand_in::e2::protection::Selector;
use crate::stand_in::proxies::Tools;
use crate::workload::Levels;
use crate::workload::{
    Better, Default, Error, FactorKind, Kind, Lack, MetricKind, Observation, ParameterKind, Setting, Targets, Trial,
    Workload, number,
};

const PROGRAM: FactorKind = FactorKind {
    name: "program",
    about: "who sends, answers and measures: this program, or sockperf of the distribution",
    levels: &["bartizan", "sockperf"],
};

const MODE: FactorKind = FactorKind {
    name: "mode",
    about: "messages at a rate, some of them answered, or each when the one before was answered",
    levels: &["under-load", "ping-pong"],
};

const RATE: FactorKind = FactorKind {
    name: "rate",
    about: "messages of a second under load; sockperf's own is 10000",
    levels: &[],
};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "e2-under-load",
    about: "Sends datagrams of UDP at a rate, of which one in so many is answered, or in turn with their answers, as `sockperf ul` and `sockperf pp` do.",
    factors: &[PROTECTION, PROGRAM, MODE, RATE],
    parameters: &[
        ParameterKind {
            name: "lasting",
            about: "milliseconds for which is sent; sockperf takes whole seconds",
            default: Some(Default::Number(1000.0)),
        },
        ParameterKind {
            name: "size",
            about: "bytes of a message, 14 to 1400; 14 are sockperf's own",
            default: Some(Default::Number(14.0)),
        },
        ParameterKind {
            name: "reply-every",
            about: "under load, the messages of which one is answered; 100 is sockperf's own",
            default: Some(Default::Number(100.0)),
        },
    ],
    metrics: &[
        time(
            "latency",
            "half of a round trip of a message that was answered; of sockperf its median",
        ),
        time(
            "mean",
            "the mean of them in a trial, which is what sockperf calls latency",
        ),
        time(
            "jitter",
            "how unevenly messages arrive at the other end, smoothed over them (RFC 3550, section 6.4.1); by this program alone, whose ends have one clock",
        ),
        MetricKind {
            name: "lost",
            unit: "%",
            about: "messages that did not arrive; of sockperf those it calls dropped",
            better: Better::Lower,
        },
        MetricKind {
            name: "sent",
            unit: "1/s",
            about: "messages sent in a second: whether the rate was kept",
            better: Better::Neither,
        },
    ],
    targets: Targets::Own,
    lacks,
    start,
};

const fn time(name: &'static str, about: &'static str) -> MetricKind {
    MetricKind {
        name,
        unit: "us",
        about,
        better: Better::Lower,
    }
}

/// Port of the far end (echo, RFC 862).
const PORT: u16 = 7;
/// The part of what is sent that warms up, as sockperf leaves out its first 400 ms of a second.
const WARM: f64 = 0.4;
/// A sender that is ahead by more sleeps; by less it lets others run.
const AHEAD: Duration = Duration::from_micros(200);
const PATIENCE: Duration = Duration::from_secs(2);
/// Number of a message, and whether it is to be answered.
const HEADER: usize = 5;

fn lacks(levels: &Levels, tools: &Tools) -> Option<Lack> {
    super::lacks(levels, tools).or_else(|| (levels.level(PROGRAM.name) == Some("sockperf")).then(sockperf::lack)?)
}

struct UnderLoad {
    link: Protected,
    asked: Asked,
}

/// Parameters that all trials share.
#[derive(Debug, Clone, Copy)]
struct Asked {
    lasting: Duration,
    size: usize,
    every: usize,
}

/// One trial of it.
#[derive(Debug, Clone, Copy)]
struct Load {
    rate: f64,
    /// True if each message waits for the answer to the one before.
    in_turn: bool,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let size = setting.parameters.count("size")?;
    if !(14..=1400).contains(&size) {
        return Err(Error::Configuration("`size` is 14 to 1400 bytes".to_owned()));
    }
    Ok(Box::new(UnderLoad {
        link: Protected::make(setting)?,
        asked: Asked {
            lasting: Duration::from_millis(setting.parameters.count("lasting")?.max(1) as u64),
            size,
            every: setting.parameters.count("reply-every")?.max(1),
        },
    }))
}

impl Workload for UnderLoad {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let load = Load {
            rate: number(trial.levels, RATE.name, 10_000.0)?.clamp(1.0, 1e6),
            in_turn: trial.levels.level(MODE.name) == Some("ping-pong"),
        };
        self.link.with(protection_of(trial.levels)?, Selector::All)?;
        let link = &self.link.link;
        let mut observation = Observation {
            facts: self.link.facts()?,
            ..Observation::default()
        };
        observation.values = if trial.levels.level(PROGRAM.name) == Some("sockperf") {
            sockperf::measure(link, self.asked, load)?
        } else {
            let near = link
                .node()
                .enter(|| UdpSocket::bind((NODE, 0)))?
                .map_err(Error::Broken)?;
            let far = link
                .ric()
                .enter(|| UdpSocket::bind((RIC, PORT)))?
                .map_err(Error::Broken)?;
            near.connect((RIC, PORT)).map_err(Error::Broken)?;
            let seen = play(&near, &far, self.asked, load, trial.deadline).map_err(Error::Broken)?;
            seen.values()?
        };
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.link.programs().into_iter().chain(sockperf::version()).collect()
    }
}

/// Times of the messages, by their numbers.
#[derive(Debug, Default)]
struct Seen {
    sent: Vec<Instant>,
    arrived: Vec<(usize, Instant)>,
    answered: Vec<(usize, Instant)>,
    /// The first that counts.
    first: usize,
    took: Duration,
}

fn play(near: &UdpSocket, far: &UdpSocket, asked: Asked, load: Load, deadline: Instant) -> io::Result<Seen> {
    far.set_read_timeout(Some(PATIENCE))?;
    near.set_read_timeout(Some(PATIENCE))?;
    thread::scope(|scope| {
        let arrived = scope.spawn(move || answer(far));
        let (tell, reported) = mpsc::channel();
        let answered = scope.spawn(move || answers(near, &tell));
        let mut message = vec![0x20; asked.size];
        let mut sent: Vec<Instant> = Vec::new();
        let began = Instant::now();
        let each = Duration::from_secs_f64(1.0 / load.rate);
        let mut due = began;
        let mut first = None;
        while began.elapsed() < asked.lasting && Instant::now() < deadline {
            if !load.in_turn {
                wait_until(due);
                due += each;
            }
            if began.elapsed() >= asked.lasting.mul_f64(WARM) {
                first.get_or_insert(sent.len());
            }
            let wanted = load.in_turn || sent.len().is_multiple_of(asked.every);
            message[..4].copy_from_slice(&(sent.len() as u32).to_be_bytes());
            message[4] = u8::from(wanted);
            sent.push(Instant::now());
            near.send(&message)?;
            // One that is lost is not waited for for ever.
            if load.in_turn && reported.recv_timeout(PATIENCE).is_err() {
                break;
            }
        }
        let took = began.elapsed();
        near.send(&[])?;
        let join = |handle: thread::ScopedJoinHandle<'_, Vec<(usize, Instant)>>| {
            handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        Ok(Seen {
            first: first.unwrap_or(sent.len()),
            sent,
            arrived: join(arrived),
            answered: join(answered),
            took,
        })
    })
}

fn wait_until(due: Instant) {
    loop {
        let ahead = due.saturating_duration_since(Instant::now());
        if ahead.is_zero() {
            return;
        }
        match ahead > AHEAD {
            true => thread::sleep(ahead - AHEAD / 2),
            // On one processor the other end has to run meanwhile.
            false => thread::yield_now(),
        }
    }
}

/// The far end: until an empty message, which it sends back, or none comes any more.
fn answer(far: &UdpSocket) -> Vec<(usize, Instant)> {
    let mut arrived = Vec::new();
    let mut buffer = [0; 2048];
    while let Ok((length, from)) = far.recv_from(&mut buffer) {
        let now = Instant::now();
        let message = &buffer[..length];
        let (number, wanted) = match header(message) {
            Some((number, wanted)) => (Some(number), wanted),
            None => (None, true),
        };
        if wanted && far.send_to(message, from).is_err() {
            break;
        }
        match number {
            Some(number) => arrived.push((number, now)),
            None => break,
        }
    }
    arrived
}

/// Answers at the near end. Each one also wakes the sender that waits for it.
fn answers(near: &UdpSocket, tell: &mpsc::Sender<()>) -> Vec<(usize, Instant)> {
    let mut answered = Vec::new();
    let mut buffer = [0; 2048];
    while let Ok(length) = near.recv(&mut buffer) {
        let now = Instant::now();
        let Some((number, _)) = header(&buffer[..length]) else {
            break;
        };
        answered.push((number, now));
        if tell.send(()).is_err() {
            break;
        }
    }
    answered
}

fn header(message: &[u8]) -> Option<(usize, bool)> {
    let (number, rest) = message.split_first_chunk::<4>()?;
    (message.len() >= HEADER).then(|| (u32::from_be_bytes(*number) as usize, rest[0] == 1))
}

impl Seen {
    fn values(&self) -> Result<std::collections::BTreeMap<&'static str, Vec<f64>>, Error> {
        let since = |&(number, then): &(usize, Instant)| {
            let sent = self.sent.get(number).filter(|_| number >= self.first)?;
            Some((number, microseconds(then.saturating_duration_since(*sent))))
        };
        let halves: Vec<f64> = self
            .answered
            .iter()
            .filter_map(since)
            .map(|(_, trip)| trip / 2.0)
            .collect();
        let transits: Vec<f64> = self
            .arrived
            .iter()
            .filter_map(since)
            .map(|(_, transit)| transit)
            .collect();
        let counted = self.sent.len() - self.first;
        if halves.is_empty() || counted == 0 {
            return Err(Error::Handshake(format!(
                "{counted} messages were sent and none was answered"
            )));
        }
        let mean = halves.iter().sum::<f64>() / halves.len() as f64;
        let lost = 100.0 * counted.saturating_sub(transits.len()) as f64 / counted as f64;
        Ok([
            ("mean", vec![mean]),
            ("latency", halves),
            ("jitter", vec![jitter(&transits)]),
            ("lost", vec![lost]),
            ("sent", vec![self.sent.len() as f64 / self.took.as_secs_f64()]),
        ]
        .into())
    }
}

/// RFC 3550, section 6.4.1: of times in transit in the order of arrival, in their unit.
pub(in crate::workload) fn jitter(transits: &[f64]) -> f64 {
    transits
        .windows(2)
        .fold(0.0, |jitter, pair| jitter + ((pair[1] - pair[0]).abs() - jitter) / 16.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_is_that_of_the_rfc() {
        assert_eq!(jitter(&[5.0, 5.0, 5.0]), 0.0);
        assert_eq!(jitter(&[5.0]), 0.0);
        // 16 / 16, then 1 + (0 - 1) / 16.
        assert_eq!(jitter(&[0.0, 16.0, 16.0]), 1.0 - 1.0 / 16.0);
    }

    #[test]
    fn messages_at_a_rate_are_numbered_and_one_in_so_many_is_answered() {
        let [near, far] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        near.connect(far.local_addr().unwrap()).unwrap();
        let asked = Asked {
            lasting: Duration::from_millis(300),
            size: 14,
            every: 10,
        };
        let late = Instant::now() + Duration::from_secs(60);
        let load = Load {
            rate: 1000.0,
            in_turn: false,
        };
        let seen = play(&near, &far, asked, load, late).unwrap();
        assert!(seen.answered.iter().all(|(number, _)| number % 10 == 0), "{seen:?}");
        assert!(seen.answered.len() * 10 <= seen.sent.len() + 10, "{seen:?}");
        assert!(seen.arrived.len() <= seen.sent.len());
        let in_turn = Load { in_turn: true, ..load };
        let seen = play(&near, &far, asked, in_turn, late).unwrap();
        assert!(!seen.answered.is_empty() && seen.answered.len() <= seen.sent.len());
        let values = Seen { first: 0, ..seen }.values().unwrap();
        assert!(values["latency"].iter().all(|half| *half >= 0.0));
        assert_eq!(values["jitter"].len(), 1);
    }

    #[test]
    fn a_message_too_short_for_its_number_ends_and_does_not_panic() {
        for message in [&[][..], &[1], &[0, 0, 0, 1]] {
            assert_eq!(header(message), None);
        }
        assert_eq!(header(&[0, 0, 1, 0, 1, 9]), Some((256, true)));
    }
}
