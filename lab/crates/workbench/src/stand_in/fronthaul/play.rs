//! Sends what a script says when it says so, at one end, and takes what arrives at the other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bartizan_machine::{Arrival, Departure, Departures, EthernetSocket, Handed, Receives};

use super::link::Link;
use super::tally::{Lane, Received, Sent, moment, now};
use crate::Error;

/// The frames to send.
pub trait Script: Send {
    /// Writes the next frame in place of what `buffer` has; none at the end.
    fn next(&mut self, buffer: &mut Vec<u8>) -> Option<Due>;
    /// True if frames leave exactly when they are due. The source then spins for the last fifth of
    /// a millisecond, which costs processor time. Otherwise frames leave when the kernel wakes the
    /// source, and late frames leave at once.
    fn is_exact(&self) -> bool {
        true
    }
}

/// A frame of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// Time since the beginning.
    pub at: Duration,
    /// Kind of the frame. Its number is the count of earlier frames of that kind.
    pub lane: usize,
}

/// Recognises which frame of a script one is that has arrived, without its VLAN tag.
pub trait Recogniser: Send {
    /// Judges a frame.
    fn recognise(&mut self, bytes: &[u8]) -> Verdict;
}

/// Verdict of a recogniser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A frame of the script, every byte as it was sent.
    Whole {
        /// Its kind.
        lane: usize,
        /// Its number of the kind.
        number: usize,
    },
    /// One of the script's that came after a later one of its kind, or twice.
    Late {
        /// Its kind.
        lane: usize,
        /// Its number of the kind.
        number: usize,
    },
    /// One that claims to be of the script and is not what was sent.
    Changed,
    /// Nothing of ours.
    Foreign,
}

/// Result of a played script.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Played {
    /// By kind.
    pub lanes: Vec<Lane>,
    /// Frames that the sender's socket had no room for; they were not sent.
    pub unsent: u64,
    /// Frames that found the sender's interface down; they were not sent.
    pub down: u64,
    /// Frames that came after a later one of their kind, or twice.
    pub late: u64,
    /// Frames that were changed on their way.
    pub changed: u64,
    /// Frames that are not from this script.
    pub foreign: u64,
    /// Frames for which the receiver's socket had no room.
    pub dropped: u64,
    /// From the first frame to the last.
    pub took: Duration,
}

/// Largest number of frames that this program holds. A script with more is refused.
pub const MOST: usize = 4_000_000;
/// A source that is ahead by more sleeps; by less it lets others run.
const AHEAD: Duration = Duration::from_micros(200);
/// Time that the sink waits for frames under way after the source has ended.
const QUIET: Duration = Duration::from_millis(100);
/// Time that a source without room waits for some.
const ROOM: Duration = Duration::from_millis(100);
/// More than the longest frame that a port takes.
const BUFFER: usize = 10_000;

/// The socket that sends frames.
pub trait Outlet: Sync {
    /// Sends one, without waiting for long.
    ///
    /// # Errors
    /// The kernel's error.
    fn send(&self, frame: &[u8]) -> Result<Handed, Error>;
    /// Waits for room after there was none; whether there is.
    ///
    /// # Errors
    /// The kernel's error.
    fn room_within(&self, wait: Duration) -> Result<bool, Error>;
    /// The next time at which a frame left its port, where the kernel gives them.
    ///
    /// # Errors
    /// The kernel's error.
    fn departure(&self) -> Result<Option<Departure>, Error>;
}

/// The socket that receives frames.
pub trait Inlet: Sync {
    /// The next, without its VLAN tag; none where none comes for so long.
    ///
    /// # Errors
    /// The kernel's error.
    fn receive(&self, buffer: &mut [u8], wait: Duration) -> Result<Option<Arrival>, Error>;
    /// Those that found no room.
    ///
    /// # Errors
    /// The kernel's error.
    fn dropped(&self) -> Result<u64, Error>;
}

impl Outlet for EthernetSocket {
    fn send(&self, frame: &[u8]) -> Result<Handed, Error> {
        Ok(Self::send(self, frame)?)
    }

    fn room_within(&self, wait: Duration) -> Result<bool, Error> {
        Ok(Self::room_within(self, wait)?)
    }

    fn departure(&self) -> Result<Option<Departure>, Error> {
        Ok(Self::departure(self)?)
    }
}

impl Inlet for EthernetSocket {
    fn receive(&self, buffer: &mut [u8], wait: Duration) -> Result<Option<Arrival>, Error> {
        Ok(Self::receive(self, buffer, wait)?)
    }

    fn dropped(&self) -> Result<u64, Error> {
        Ok(Self::dropped(self)?)
    }
}

/// The way from a source to a sink.
#[derive(Debug)]
pub struct Way<O, I> {
    /// The source's end.
    pub source: O,
    /// The sink's.
    pub sink: I,
    /// True if the interface of either end may be down for a moment.
    pub goes_down: bool,
    /// Departure times by the kernel.
    pub departures: Departures,
}

/// Plays a script from the O-DU to the O-RU, through what protects the link.
///
/// # Errors
/// Fails if the interface disappears, if it goes down on a link that must stay up, or if the script
/// is not over at the deadline.
pub fn play(
    link: &Link,
    script: &mut dyn Script,
    recogniser: &mut dyn Recogniser,
    lanes: usize,
    departures: Departures,
    deadline: Instant,
) -> Result<Played, Error> {
    let interface = link.interface();
    let source = || EthernetSocket::open(interface, Receives::Nothing, departures);
    let sink = || EthernetSocket::open(interface, Receives::All, Departures::Unstamped);
    let way = Way {
        source: link.du().enter(source)??,
        sink: link.ru().enter(sink)??,
        goes_down: link.goes_down(),
        departures,
    };
    way.play(script, recogniser, lanes, deadline)
}

impl<O: Outlet, I: Inlet> Way<O, I> {
    /// Plays a script along it.
    ///
    /// # Errors
    /// As [`play`].
    pub fn play(
        &self,
        script: &mut dyn Script,
        recogniser: &mut dyn Recogniser,
        lanes: usize,
        deadline: Instant,
    ) -> Result<Played, Error> {
        let over = AtomicBool::new(false);
        let (sent, received) = thread::scope(|scope| {
            let receiving = scope.spawn(|| self.receive(recogniser, lanes, &over, deadline));
            let sent = self.send(script, lanes, deadline);
            over.store(true, Ordering::Release);
            let received = receiving
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok::<_, Error>((sent?, received?))
        })?;
        let mut played = sent;
        played.late = received.late;
        played.changed = received.changed;
        played.foreign = received.foreign;
        played.dropped = received.dropped;
        for (lane, arrived) in played.lanes.iter_mut().zip(received.lanes) {
            if arrived.len() > lane.sent.len() {
                return Err(Error::Protocol("frames arrived that were not sent".to_owned()));
            }
            for (sent, arrived) in lane.sent.iter_mut().zip(arrived) {
                sent.arrived = arrived;
            }
        }
        Ok(played)
    }

    fn send(&self, script: &mut dyn Script, lanes: usize, deadline: Instant) -> Result<Played, Error> {
        let (socket, departures) = (&self.source, self.departures);
        let mut played = Played {
            lanes: vec![Lane::default(); lanes],
            ..Played::default()
        };
        // By the kernel's numbers: which of which kind.
        let mut taken: Vec<(usize, usize)> = Vec::new();
        let mut buffer = Vec::with_capacity(BUFFER);
        let began = Instant::now();
        while let Some(due) = script.next(&mut buffer) {
            wait_until(began + due.at, script.is_exact());
            if Instant::now() >= deadline {
                return Err(Error::Broken(std::io::ErrorKind::TimedOut.into()));
            }
            let late = u64::try_from(began.elapsed().saturating_sub(due.at).as_nanos()).unwrap_or(u64::MAX);
            let at = now();
            // None where the interface is down for a moment.
            let hand = || match socket.send(&buffer) {
                Err(error) if self.goes_down && is_down(&error) => Ok(None),
                handed => handed.map(Some),
            };
            let mut handed = hand()?;
            if handed == Some(Handed::NoRoom) && socket.room_within(ROOM)? {
                handed = hand()?;
            }
            let lane = played
                .lanes
                .get_mut(due.lane)
                .ok_or_else(|| Error::Configuration("a script has more kinds than were declared".to_owned()))?;
            match handed {
                None => played.down += 1,
                Some(Handed::NoRoom) => played.unsent += 1,
                Some(_) if departures == Departures::Stamped => taken.push((due.lane, lane.sent.len())),
                Some(_) => {}
            }
            // A frame that was not sent keeps its number: it counts as lost.
            lane.sent.push(Sent {
                at,
                late,
                departed: None,
                arrived: None,
            });
            departed(socket, departures, &taken, &mut played)?;
            if played.lanes.iter().map(|lane| lane.sent.len()).sum::<usize>() > MOST {
                return Err(Error::Configuration(format!("a script of more than {MOST} frames")));
            }
        }
        played.took = began.elapsed();
        // The last may still wait in a queue of the interface.
        thread::sleep(QUIET / 10);
        departed(socket, departures, &taken, &mut played)?;
        Ok(played)
    }

    fn receive(
        &self,
        recogniser: &mut dyn Recogniser,
        lanes: usize,
        over: &AtomicBool,
        deadline: Instant,
    ) -> Result<Arrivals, Error> {
        let socket = &self.sink;
        let mut arrivals = Arrivals {
            lanes: vec![Vec::new(); lanes],
            ..Arrivals::default()
        };
        let mut buffer = vec![0; BUFFER];
        loop {
            // Before the socket: what it has when the source has ended is all there is.
            let ending = over.load(Ordering::Acquire);
            let arrival = match socket.receive(&mut buffer, QUIET) {
                // It is reported once; when the interface is up again frames come to the same socket.
                Err(error) if self.goes_down && is_down(&error) => None,
                arrival => arrival?,
            };
            let Some(arrival) = arrival else {
                if ending || Instant::now() >= deadline {
                    break;
                }
                continue;
            };
            let received = Received {
                at: now(),
                arrived: arrival.at.map(moment),
            };
            match recogniser.recognise(buffer.get(..arrival.length).unwrap_or_default()) {
                verdict @ (Verdict::Whole { lane, number } | Verdict::Late { lane, number }) => {
                    arrivals.late += u64::from(matches!(verdict, Verdict::Late { .. }));
                    let Some(lane) = arrivals.lanes.get_mut(lane).filter(|_| number < MOST) else {
                        arrivals.changed += 1;
                        continue;
                    };
                    if lane.len() <= number {
                        lane.resize(number + 1, None);
                    }
                    lane[number].get_or_insert(received);
                }
                Verdict::Changed => arrivals.changed += 1,
                Verdict::Foreign => arrivals.foreign += 1,
            }
        }
        arrivals.dropped = socket.dropped()?;
        Ok(arrivals)
    }
}

fn departed(
    socket: &impl Outlet,
    departures: Departures,
    taken: &[(usize, usize)],
    played: &mut Played,
) -> Result<(), Error> {
    if departures == Departures::Unstamped {
        return Ok(());
    }
    while let Some(departure) = socket.departure()? {
        let known = taken.get(departure.number as usize);
        if let Some(sent) = known.and_then(|&(lane, number)| played.lanes.get_mut(lane)?.sent.get_mut(number)) {
            sent.departed = Some(moment(departure.at));
        }
    }
    Ok(())
}

#[derive(Debug, Default)]
struct Arrivals {
    lanes: Vec<Vec<Option<Received>>>,
    late: u64,
    changed: u64,
    foreign: u64,
    dropped: u64,
}

/// True if the interface exists and is down.
fn is_down(error: &Error) -> bool {
    matches!(error, Error::Host(error) if error.is_interface_down())
}

/// Sleeps while there is time, and lets others run when there is little: on one processor the sink needs it.
fn wait_until(due: Instant, exact: bool) {
    loop {
        let ahead = due.saturating_duration_since(Instant::now());
        if ahead.is_zero() {
            return;
        }
        match ahead > AHEAD {
            _ if !exact => thread::sleep(ahead),
            true => thread::sleep(ahead - AHEAD / 2),
            false => thread::yield_now(),
        }
    }
}
