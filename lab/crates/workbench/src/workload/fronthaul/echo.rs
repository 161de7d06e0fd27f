//! One frame there and back, by its size.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bartizan_machine::{Departures, EthernetSocket, Handed, Receives};
use bartizan_registry::ethertype::ECPRI;

use super::{PORT_MTU, PROTECTION, facts, lacks, parameter, protection_of, time};
use crate::stand_in::fronthaul::tally::{microseconds, moment, now};
use crate::stand_in::fronthaul::{Link, probe};
use crate::workload::{Error, FactorKind, Kind, Observation, Setting, Targets, Trial, Workload, number};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "fronthaul-echo",
    about: "Sends an eCPRI frame of a size from the O-DU, has the O-RU's program send it back, and waits for it, again and again.",
    factors: &[
        PROTECTION,
        FactorKind {
            name: "size",
            about: "bytes of the frame without MACsec and without check sequence, 64 to 9018 with its VLAN tag",
            levels: &[],
        },
    ],
    parameters: &[
        parameter("frames", "round trips in a trial", 200.0),
        parameter("pause", "before each, in microseconds", 0.0),
    ],
    metrics: &[
        time(
            "half-round-trip",
            "half the time from handing a frame to the kernel to having it back",
        ),
        time(
            "one-way",
            "from handing the frame to the kernel to the other end's program having it",
        ),
        time(
            "out",
            "of it, from handing it to the kernel to the port's driver: what encrypts is here",
        ),
        time(
            "wire",
            "of it, from the port's driver to the other port: no cipher is here",
        ),
        time("in", "of it, from the other port to the program: what decrypts is here"),
    ],
    targets: Targets::Own,
    lacks,
    start,
};

/// Round trips that warm up.
const WARM: usize = 20;
const PATIENCE: Duration = Duration::from_secs(5);
/// Wait of the far end for a frame before the next check of the stop flag.
const TURN: Duration = Duration::from_millis(20);
const BUFFER: usize = 10_000;

struct Echo {
    link: Link,
    frames: usize,
    pause: Duration,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    Ok(Box::new(Echo {
        link: Link::make(PORT_MTU)?,
        frames: setting.parameters.count("frames")?,
        pause: Duration::from_micros(setting.parameters.count("pause")? as u64),
    }))
}

/// Arrival times of a frame at the far end: at its port, and at its program.
struct Arrived {
    port: Option<u64>,
    at: u64,
}

impl Workload for Echo {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        self.link.protect(protection_of(trial.levels)?)?;
        let size = number(trial.levels, "size", 64.0)? as usize;
        if !(probe::LEAST..=probe::MOST).contains(&size) {
            let range = format!("`size` is {} to {} bytes", probe::LEAST, probe::MOST);
            return Err(Error::Configuration(range));
        }
        let interface = self.link.interface();
        let open = |receives, departures| EthernetSocket::open(interface, receives, departures);
        let near = self.link.du().enter(|| {
            let back = open(Receives::EtherType(ECPRI), Departures::Unstamped)?;
            Ok::<_, bartizan_host::Error>((open(Receives::Nothing, Departures::Stamped)?, back))
        })??;
        let far = self
            .link
            .ru()
            .enter(|| open(Receives::EtherType(ECPRI), Departures::Unstamped))??;
        let over = AtomicBool::new(false);
        let (trips, arrived) = thread::scope(|scope| {
            let answering = scope.spawn(|| answer(&far, size, &over));
            let trips = self.trips(&near, size, trial.deadline);
            over.store(true, Ordering::Release);
            let arrived = answering
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok::<_, Error>((trips?, arrived?))
        })?;
        let mut observation = Observation {
            facts: facts(&self.link),
            ..Observation::default()
        };
        let mut values = [const { Vec::new() }; 5];
        for (trip, there) in trips.iter().zip(&arrived).skip(WARM) {
            let parts = [
                Some(microseconds(trip.sent, trip.back) / 2.0),
                Some(microseconds(trip.sent, there.at)),
                trip.departed.map(|departed| microseconds(trip.sent, departed)),
                trip.departed
                    .zip(there.port)
                    .map(|(departed, arrived)| microseconds(departed, arrived)),
                there.port.map(|arrived| microseconds(arrived, there.at)),
            ];
            for (all, part) in values.iter_mut().zip(parts) {
                all.extend(part);
            }
        }
        let names = ["half-round-trip", "one-way", "out", "wire", "in"];
        observation.values.extend(names.into_iter().zip(values));
        Ok(observation)
    }
}

struct Trip {
    sent: u64,
    departed: Option<u64>,
    back: u64,
}

impl Echo {
    fn trips(
        &self,
        (there, back): &(EthernetSocket, EthernetSocket),
        size: usize,
        deadline: Instant,
    ) -> Result<Vec<Trip>, Error> {
        let (mut frame, mut room, mut buffer) = (Vec::new(), Vec::new(), vec![0; BUFFER]);
        let mut trips = Vec::with_capacity(WARM + self.frames);
        for number in 0..(WARM + self.frames) as u64 {
            if Instant::now() >= deadline {
                return Err(Error::Broken(std::io::ErrorKind::TimedOut.into()));
            }
            if !self.pause.is_zero() {
                thread::sleep(self.pause);
            }
            probe::write(0, number, size, false, &mut frame);
            let sent = now();
            if there.send(&frame)? != Handed::Taken {
                return Err(Error::Protocol(format!("the kernel did not take frame {number}")));
            }
            let arrival = back.receive(&mut buffer, PATIENCE)?;
            let back = now();
            let length = arrival
                .ok_or_else(|| Error::Protocol(format!("frame {number} did not come back")))?
                .length;
            let bytes = buffer.get(..length).unwrap_or_default();
            if probe::read(bytes, true, &mut room) != Some((0, number)) {
                return Err(Error::Protocol(format!("what came back is not frame {number}")));
            }
            let departed = there.departure()?.map(|departure| moment(departure.at));
            trips.push(Trip { sent, departed, back });
        }
        Ok(trips)
    }
}

/// The far end: sends every frame back, until it is over.
fn answer(socket: &EthernetSocket, size: usize, over: &AtomicBool) -> Result<Vec<Arrived>, Error> {
    let (mut frame, mut room, mut buffer) = (Vec::new(), Vec::new(), vec![0; BUFFER]);
    let mut all = Vec::new();
    while !over.load(Ordering::Acquire) {
        let Some(arrival) = socket.receive(&mut buffer, TURN)? else {
            continue;
        };
        let at = now();
        let bytes = buffer.get(..arrival.length).unwrap_or_default();
        let Some((channel, number)) = probe::read(bytes, false, &mut room) else {
            return Err(Error::Protocol("a frame was changed on its way".to_owned()));
        };
        probe::write(channel, number, size, true, &mut frame);
        socket.send(&frame)?;
        all.push(Arrived {
            port: arrival.at.map(moment),
            at,
        });
    }
    Ok(all)
}
