//! The life-long watch: every IKE_SA and CHILD_SA, at set-up and at every rekey and re-authentication, into the ledger; what breaks
//! the policy is taken down.

mod converging;
mod dead_peer;
mod ending;
mod expectation;
mod hearing;
mod judging;
mod logged;
mod memory;
mod overdue;
mod taking_down;
mod track;
mod trouble;

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use bartizan_deployment::Breach;
use bartizan_ledger::{Cause, Recorder, SaClosed, SaRefused, Verdict, Why};

use converging::Doubled;
use dead_peer::DeadPeers;
pub use ending::NOT_ANEW;
use ending::Parting;
pub use expectation::{Ends, Expectation, Expectations, ExpectedChild, Form};
use logged::Logged;
use memory::Memory;
pub use memory::{Ended, OfLink, Refused, Remembered, remembered};
pub use overdue::Overdue;
use taking_down::Condemned;
use track::Tracked;
use trouble::{Said, Trouble};

use crate::metrics::Metrics;
use crate::vici::{Client, Error};

/// Events about SAs.
const EVENTS: [&str; 4] = ["ike-updown", "child-updown", "ike-rekey", "child-rekey"];

/// charon's alerts: what it refuses, and who does not answer. Released since 6.0; one without them is watched by its log.
const ALERT: &str = "alert";

/// charon's log: the only place that says how peers proved themselves and how IKE messages went.
const LOG: &str = "log";

/// Time limit of charon's answers to the watch.
const PATIENCE: Duration = Duration::from_secs(10);

/// Wait for events before the other work is done.
const TURN: Duration = Duration::from_millis(200);

/// Interval between checks of all SAs: exceptions expire while SAs stand, and missed events are
/// found.
const SWEEP: Duration = Duration::from_secs(30);

/// Time that the record of an IKE_SA waits for charon's log: the log comes a moment after the
/// event.
const TELL: Duration = Duration::from_millis(500);

/// Wait between attempts to reach a charon that is away.
const RECONNECT: Duration = Duration::from_millis(500);

/// Reports of the running watch.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice<'a> {
    /// It sees charon, and has recorded what stands.
    Connected,
    /// charon went away, or is not there; the watch goes on trying.
    Away(&'a Error),
    /// An SA stands and its policy accepts it.
    Stands(&'a Sighting),
    /// An SA breaks its policy.
    Breach(&'a Sighting, Breach),
    /// An SA that broke its policy is gone, this long after charon reported it.
    TakenDown(&'a Sighting, Duration),
    /// It could not be taken down; it is tried again.
    NotTakenDown(&'a Sighting, &'a Error),
    /// Something that was asked for did not come about; with what to do, and how many of the kind there were since it was last reported.
    Refused(&'a SaRefused, &'static str, u64),
    /// An SA ended, and no other took its place.
    Ended(&'a Parted),
    /// A peer gives no answer.
    Silent(&'a Silence),
    /// It does again.
    Answers(&'a Silence),
    /// Several IKE_SAs of this connection stood side by side, and all but one are deleted.
    Converges(&'a str),
}

/// An SA that ended.
#[derive(Debug, Clone)]
pub struct Parted {
    /// The connection, by its name in charon.
    pub connection: String,
    /// The CHILD_SA's name; none for an IKE_SA.
    pub child: Option<String>,
    /// The node at the other end.
    pub peer: Option<String>,
    /// Why.
    pub why: Why,
    /// charon's own line about it, where it wrote one.
    pub detail: Option<String>,
}

/// A peer that does not answer.
#[derive(Debug, Clone)]
pub struct Silence {
    /// The connection, by its name in charon.
    pub connection: String,
    /// The node at the other end.
    pub peer: String,
    /// The first retransmission.
    pub since: SystemTime,
    /// Number of charon's retransmissions of the same message.
    pub retransmissions: u32,
    /// Its IKE_SA stands; else it is being set up.
    pub stands: bool,
}

/// An SA and what was said of it.
#[derive(Debug, Clone)]
pub struct Sighting {
    /// The connection, by its name in charon.
    pub connection: String,
    /// The CHILD_SA's name; none for an IKE_SA.
    pub child: Option<String>,
    /// The node at the other end.
    pub peer: Option<String>,
    /// Cause of the SA.
    pub cause: Cause,
    /// Its key exchanges in a sentence.
    pub keyed_by: String,
    /// The policy's verdict.
    pub verdict: Verdict,
}

bartizan_registry::made! {
    /// A watch over one charon.
    #[derive(Debug)]
    #[must_use]
    pub struct Watch<'a>,
    /// A watch over the charon behind `socket`, whose connections are those of `expectations`.
    pub new(socket: PathBuf, expectations: &'a Expectations, recorder: Recorder, metrics: &'a Metrics) {
        socket: PathBuf,
        expectations: &'a Expectations,
        recorder: Recorder,
        metrics: &'a Metrics,
        tracked: Tracked = Tracked::default(),
        logged: Logged = Logged::default(),
        /// Records that wait for charon's log.
        unreported: Vec<Unreported> = Vec::new(),
        /// SAs to be deleted, and since when.
        condemned: Vec<Condemned> = Vec::new(),
        /// Refusals that wait for charon's log.
        troubles: Vec<Trouble> = Vec::new(),
        /// Subjects of earlier notices.
        said: Said = Said::default(),
        /// Ended SAs that wait for charon's log.
        partings: Vec<Parting> = Vec::new(),
        /// Peers that do not answer.
        silences: DeadPeers = DeadPeers::default(),
        /// IKE_SAs that stand side by side.
        doubled: Doubled = Doubled::default(),
        overdue: Option<&'a Overdue> = None,
        memory: Memory = Memory::default(),
        clock: fn() -> SystemTime = SystemTime::now,
        sweep: Duration = SWEEP,
    }
}

/// The record of an IKE_SA that waits for charon's log.
#[derive(Debug)]
struct Unreported {
    /// charon's number of it.
    id: u32,
    since: Instant,
    record: bartizan_ledger::IkeSa,
    /// Its SAs that ended in the meantime: they are written after it.
    closed: Vec<SaClosed>,
}

impl<'a> Watch<'a> {
    /// The same, with what is to be known of its links left for `status` to read.
    pub fn remembering(mut self) -> Self {
        if let Some(file) = memory::file_of(&self.socket) {
            self.memory = Memory::in_file(file);
        }
        self
    }

    /// The same, with IKE_SAs that have to be replaced or taken down.
    pub fn replacing(mut self, overdue: &'a Overdue) -> Self {
        self.overdue = Some(overdue);
        self
    }

    /// The same by another clock, for the day whose policies are in effect, and with all SAs looked at anew this often.
    pub fn with_time(mut self, clock: fn() -> SystemTime, sweep: Duration) -> Self {
        self.clock = clock;
        self.sweep = sweep;
        self
    }

    /// Watches until `stop` says so; a charon that goes away is waited for.
    pub fn run(mut self, stop: &dyn Fn() -> bool, notice: &mut dyn FnMut(Notice<'_>)) {
        let mut away = false;
        while !stop() {
            let ended = self.session(stop, notice, &mut away);
            self.refuse(true, notice);
            self.write(true);
            self.part(true, notice);
            let Err(error) = ended else { return };
            self.metrics.connected(false);
            if !away {
                notice(Notice::Away(&error));
                away = true;
            }
            // A charon that is gone has taken its SAs along. One that stalls has not: the next sweep says.
            if matches!(error, Error::Absent(_) | Error::Died(_)) {
                self.all_gone();
                self.part(true, notice);
                self.silences.clear();
                self.tell_silence();
            }
            self.memory.write();
            let until = Instant::now() + RECONNECT;
            while !stop() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }

    /// One connection to charon.
    fn session(
        &mut self,
        stop: &dyn Fn() -> bool,
        notice: &mut dyn FnMut(Notice<'_>),
        away: &mut bool,
    ) -> Result<(), Error> {
        let mut events = Client::connect(&self.socket, PATIENCE)?;
        let mut commands = Client::connect(&self.socket, PATIENCE)?;
        // First the events, then what stands: an SA in between is seen twice rather than never.
        for event in EVENTS.into_iter().chain([LOG]) {
            events.register(event)?;
        }
        match events.register(ALERT) {
            Ok(()) | Err(Error::Unknown(_)) => {}
            Err(error) => return Err(error),
        }
        self.sweep(&mut commands, notice)?;
        *away = false;
        self.metrics.connected(true);
        notice(Notice::Connected);
        let mut swept = Instant::now();
        while !stop() {
            let turn = if self.condemned.is_empty() { TURN } else { TURN / 10 };
            let heard = events.event(turn)?;
            if let Some(event) = &heard {
                self.hear(event, notice);
                self.tell_established();
            }
            self.refuse(false, notice);
            self.write(false);
            self.part(false, notice);
            self.condemn_overdue(notice);
            self.take_down(&mut commands, notice)?;
            self.converge(&mut commands, notice)?;
            self.memory.write();
            // Events that wait say better than a sweep how an SA came about.
            if heard.is_none() && swept.elapsed() >= self.sweep {
                self.sweep(&mut commands, notice)?;
                swept = Instant::now();
            }
        }
        Ok(())
    }
}
