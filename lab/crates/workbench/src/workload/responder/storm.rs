//! Many set-ups that begin at once with one responder. Time is that of a model, in which the
//! responder has one processor and takes what arrives in its order: each datagram for as long as it
//! really took the responder's thread. Initiators take none.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use bartizan_ike::{HalfOpen, IkeSa};
use bartizan_wire::ike::Header;

use super::{AUTHENTICATION, KEY_EXCHANGE, Pairs};
use crate::stand_in::responder::{MOST, Pair, Responder, initiator, set_up_and_forget, to_send};
use crate::workload::{
    Default, Error, FactorKind, Kind, MetricKind, Observation, ParameterKind, Setting, Targets, Trial, Workload,
    lacks_nothing,
};

const COOKIES: FactorKind = FactorKind {
    name: "cookies",
    about: "from when on first requests must come again with a cookie: while 30 IKE_SAs are half open, twice as many as there are initiators being the most, as in the daemon, or never, without a bound",
    levels: &["from-30", "never"],
};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "responder-storm",
    about: "IKE_SAs that many initiators begin at once with one responder of Bartizan's engine in memory, by a model of time in which it has one processor.",
    factors: &[KEY_EXCHANGE, AUTHENTICATION, COOKIES],
    parameters: &[
        ParameterKind {
            name: "clients",
            about: "initiators, each with an address of its own",
            default: Some(Default::Number(10_000.0)),
        },
        ParameterKind {
            name: "round-trip",
            about: "milliseconds of the path, half of them each way",
            default: Some(Default::Number(1.0)),
        },
    ],
    metrics: &[
        MetricKind::lower(
            "connected-after",
            "s",
            "from the beginning of the storm until an initiator's SAs were up, of each",
        ),
        MetricKind::lower("all-connected", "s", "until the last one's were"),
        MetricKind::lower(
            "responder-cpu",
            "us",
            "processor time of the responder over set-ups: cookies and messages that came again are in it",
        ),
        MetricKind::lower("cookies", "messages", "answers that ask for a cookie, over set-ups"),
        MetricKind::lower(
            "retransmissions",
            "messages",
            "datagrams that initiators sent again, over set-ups",
        ),
        MetricKind::lower("half-open", "SAs", "IKE_SAs that were half open at once, at most"),
    ],
    targets: Targets::Own,
    lacks: lacks_nothing,
    start,
};

struct Storm {
    pairs: Pairs,
    clients: usize,
    /// Half of a round trip.
    way: Duration,
    processors: Vec<usize>,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let clients = setting.parameters.count("clients")?;
    let round_trip = setting.parameters.number("round-trip")?;
    let round_trip = Duration::try_from_secs_f64(round_trip / 1e3);
    let round_trip = round_trip.map_err(|_| Error::Configuration("`round-trip` is milliseconds".to_owned()))?;
    if !(1..MOST).contains(&clients) {
        return Err(Error::Configuration(format!("`clients` is 1 to {}", MOST - 1)));
    }
    Ok(Box::new(Storm {
        pairs: Pairs::make(setting.folder, setting.combinations)?,
        clients,
        way: round_trip / 2,
        processors: setting.processors.to_vec(),
    }))
}

impl Workload for Storm {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let pair = self.pairs.of(trial.levels)?;
        let last = self.processors.last().map_or(&[][..], std::slice::from_ref);
        bartizan_machine::pin_this_thread(last)?;
        let half_open = match COOKIES.of(trial.levels) {
            "never" => HalfOpen {
                cookies_from: usize::MAX,
                most: usize::MAX,
                ..HalfOpen::default()
            },
            _ => HalfOpen {
                cookies_from: 30,
                most: 2 * self.clients,
                ..HalfOpen::default()
            },
        };
        let mut model = Model::begin(pair, half_open, self.clients, self.way)?;
        model.run(trial.deadline)?;
        let clients = self.clients as f64;
        let over = |count: u64| vec![count as f64 / clients];
        let connected: Vec<f64> = model.connected.iter().flatten().map(Duration::as_secs_f64).collect();
        let mut observation = Observation::default();
        observation.values.extend([
            ("all-connected", vec![connected.iter().copied().fold(0.0, f64::max)]),
            ("connected-after", connected),
            (
                "responder-cpu",
                vec![model.responder.spent.as_secs_f64() * 1e6 / clients],
            ),
            ("cookies", over(model.cookies)),
            ("retransmissions", over(model.repeated)),
            ("half-open", vec![model.half_open as f64]),
        ]);
        observation.facts.insert("clients".to_owned(), self.clients.into());
        Ok(observation)
    }
}

/// A coming event. Events are ordered by time, then by number.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Happens {
    after: Duration,
    number: u64,
    what: What,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A datagram of this initiator is at the responder.
    Asked(usize, Vec<u8>),
    /// One of the responder is at this initiator.
    Answered(usize, Vec<u8>),
    /// Something may be due at this initiator.
    Due(usize),
}

struct Model<'a> {
    pair: &'a Pair,
    responder: Responder,
    initiators: Vec<Option<IkeSa>>,
    /// Time at which each was connected.
    connected: Vec<Option<Duration>>,
    waiting: usize,
    /// The clock that engines are given: this, and the time of the model.
    epoch: Instant,
    /// Time at which the responder's processor is done with its queue.
    free: Duration,
    way: Duration,
    coming: BinaryHeap<Reverse<Happens>>,
    numbered: u64,
    cookies: u64,
    repeated: u64,
    half_open: usize,
}

impl<'a> Model<'a> {
    fn begin(pair: &'a Pair, half_open: HalfOpen, clients: usize, way: Duration) -> Result<Self, Error> {
        let mut responder = Responder::new(pair, half_open);
        // Warm-up: one-time costs are paid now.
        set_up_and_forget(pair, &mut responder, clients)?;
        let mut model = Self {
            pair,
            responder,
            initiators: Vec::with_capacity(clients),
            connected: vec![None; clients],
            waiting: clients,
            epoch: Instant::now(),
            free: Duration::ZERO,
            way,
            coming: BinaryHeap::new(),
            numbered: 0,
            cookies: 0,
            repeated: 0,
            half_open: 0,
        };
        for number in 0..clients {
            model.responder.accept(number);
            let sa = initiator(model.pair, number, model.epoch)?;
            model.initiators.push(Some(sa));
            model.sends(number, Duration::ZERO, false)?;
        }
        model.responder.spent = Duration::ZERO;
        Ok(model)
    }

    /// Until all are connected.
    fn run(&mut self, deadline: Instant) -> Result<(), Error> {
        while self.waiting > 0 {
            if Instant::now() > deadline {
                return Err(Error::Handshake(format!(
                    "{} set-ups are not done in time",
                    self.waiting
                )));
            }
            let Some(Reverse(next)) = self.coming.pop() else {
                return Err(Error::Handshake(format!("{} set-ups do not end", self.waiting)));
            };
            let after = next.after;
            match next.what {
                What::Asked(number, datagram) => self.asked(number, &datagram, after)?,
                What::Answered(number, datagram) => {
                    let now = self.epoch + after;
                    if let Some(sa) = &mut self.initiators[number] {
                        sa.receive(now, &datagram);
                        self.sends(number, after, false)?;
                    }
                }
                What::Due(number) => {
                    let now = self.epoch + after;
                    if let Some(sa) = &mut self.initiators[number]
                        && sa.timeout().is_some_and(|due| due <= now)
                    {
                        sa.handle_timeout(now);
                        self.sends(number, after, true)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The responder takes a datagram when it is done with those before it.
    fn asked(&mut self, number: usize, datagram: &[u8], arrived: Duration) -> Result<(), Error> {
        self.free = self.free.max(arrived);
        let now = self.epoch + self.free;
        if self.responder.timeout().is_some_and(|due| due <= now) {
            let (_, took) = self.responder.handle_timeout(now)?;
            self.free += took;
        }
        let now = self.epoch + self.free;
        let (answers, took) = self.responder.receive(now, number, datagram)?;
        self.free += took;
        self.half_open = self.half_open.max(self.responder.count().1);
        for (_, answer) in answers {
            // Nothing is kept of who is asked for a cookie: the answer has no SPI of the responder.
            let header = Header::read(&answer);
            self.cookies += u64::from(header.is_ok_and(|header| header.responder_spi == 0));
            self.happens(self.free + self.way, What::Answered(number, answer));
        }
        Ok(())
    }

    /// Sends an initiator's datagrams to the responder. An initiator that is connected is done.
    fn sends(&mut self, number: usize, after: Duration, again: bool) -> Result<(), Error> {
        let Some(sa) = &mut self.initiators[number] else {
            return Ok(());
        };
        let sent = to_send(sa)?;
        let due = sa.timeout().map(|due| due.saturating_duration_since(self.epoch));
        let is_connected = sa.is_established();
        self.repeated += if again { sent.len() as u64 } else { 0 };
        for datagram in sent {
            self.happens(after + self.way, What::Asked(number, datagram));
        }
        if is_connected {
            self.initiators[number] = None;
            self.connected[number] = Some(after);
            self.waiting -= 1;
        } else if let Some(due) = due {
            self.happens(due, What::Due(number));
        }
        Ok(())
    }

    fn happens(&mut self, after: Duration, what: What) {
        self.numbered += 1;
        let number = self.numbered;
        self.coming.push(Reverse(Happens { after, number, what }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_initiators_of_a_storm_are_connected_and_cookies_are_asked_for_where_they_are_to_be() {
        let folder = tempfile::tempdir().unwrap();
        let pair = Pair::make(folder.path(), "x25519", "ecdsa-p256").unwrap();
        for (cookies_from, with_cookies) in [(4, true), (usize::MAX, false)] {
            let half_open = HalfOpen {
                cookies_from,
                ..HalfOpen::default()
            };
            let mut model = Model::begin(&pair, half_open, 40, Duration::from_millis(5)).unwrap();
            model.run(Instant::now() + Duration::from_secs(120)).unwrap();
            assert!(
                model
                    .connected
                    .iter()
                    .all(|after| *after >= Some(Duration::from_millis(20)))
            );
            assert_eq!(model.cookies > 0, with_cookies, "{}", model.cookies);
            assert!(model.half_open > 0 && model.responder.spent > Duration::ZERO);
            assert_eq!(model.responder.count().0, 40);
        }
    }
}
