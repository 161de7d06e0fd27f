//! The life-long watch: every IKE_SA and CHILD_SA, at set-up and at every rekey and re-authentication, into the ledger; what breaks
//! the policy is taken down.

mod expectation;
mod told;
mod track;

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use bartizan_deployment::{Breach, day_of};
use bartizan_ledger::{Cause, Event, Recorder, Verdict, Why};

pub use expectation::{Expectation, Expectations};
use told::Told;
use track::Tracked;

use crate::metrics::Metrics;
use crate::sa::{ChildSa, IkeSa};
use crate::vici::{Client, Error, Event as Heard, Section};

/// Events that tell of SAs.
const EVENTS: [&str; 4] = ["ike-updown", "child-updown", "ike-rekey", "child-rekey"];

/// charon's log: the only place that says how peers proved themselves and how IKE messages went.
const LOG: &str = "log";

/// How long charon may take to answer the watch.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long events are waited for before the rest is seen to.
const TURN: Duration = Duration::from_millis(200);

/// How often all SAs are looked at anew: exceptions expire while SAs stand, and what was missed is found.
const SWEEP: Duration = Duration::from_secs(30);

/// How long a CHILD_SA may take to be deleted together with the peer before its IKE_SA is destroyed without asking.
const ESCALATE: Duration = Duration::from_secs(1);

/// How long the record of an IKE_SA waits for what charon's log tells of it: the log comes a moment after the event.
const TELL: Duration = Duration::from_millis(500);

/// How long the watch waits between attempts to reach a charon that is away.
const RECONNECT: Duration = Duration::from_millis(500);

/// What the watch has to say while it runs.
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
    /// An SA that broke its policy is gone, this long after charon told of it.
    TakenDown(&'a Sighting, Duration),
    /// It could not be taken down; it is tried again.
    NotTakenDown(&'a Sighting, &'a Error),
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
    /// How it came about.
    pub cause: Cause,
    /// Its key exchanges in a sentence.
    pub keyed_by: String,
    /// What the policy says.
    pub verdict: Verdict,
}

/// A watch over one charon.
#[derive(Debug)]
pub struct Watch<'a> {
    socket: PathBuf,
    expectations: &'a Expectations,
    recorder: Recorder,
    metrics: &'a Metrics,
    tracked: Tracked,
    told: Told,
    /// Records that wait for charon's log, by its number of the IKE_SA.
    untold: Vec<(u32, Instant, bartizan_ledger::IkeSa)>,
    /// What is to be gone, and since when.
    condemned: Vec<Condemned>,
}

#[derive(Debug)]
struct Condemned {
    ike: u32,
    child: Option<u32>,
    since: Instant,
    tried: Option<Instant>,
    sighting: Sighting,
}

impl<'a> Watch<'a> {
    /// A watch over the charon behind `socket`, whose connections are those of `expectations`.
    #[must_use]
    pub fn new(socket: PathBuf, expectations: &'a Expectations, recorder: Recorder, metrics: &'a Metrics) -> Self {
        Self {
            socket,
            expectations,
            recorder,
            metrics,
            tracked: Tracked::default(),
            told: Told::default(),
            untold: Vec::new(),
            condemned: Vec::new(),
        }
    }

    /// Watches until `stop` says so; a charon that goes away is waited for.
    pub fn run(mut self, stop: &dyn Fn() -> bool, notice: &mut dyn FnMut(Notice<'_>)) {
        let mut away = false;
        while !stop() {
            let ended = self.session(stop, notice, &mut away);
            self.write(true);
            let Err(error) = ended else { return };
            self.metrics.connected(false);
            if !away {
                notice(Notice::Away(&error));
                away = true;
            }
            // A charon that is gone has taken its SAs along. One that stalls has not: the next sweep says.
            if matches!(error, Error::Absent { .. } | Error::Died { .. }) {
                self.all_gone();
            }
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
                self.metrics.standing(self.tracked.standing());
            }
            self.write(false);
            self.take_down(&mut commands, notice)?;
            // Events that wait say better than a sweep how an SA came about.
            if heard.is_none() && swept.elapsed() >= SWEEP {
                self.sweep(&mut commands, notice)?;
                swept = Instant::now();
            }
        }
        Ok(())
    }

    fn hear(&mut self, event: &Heard, notice: &mut dyn FnMut(Notice<'_>)) {
        let message = &event.message;
        let old_and_new =
            |section: &'_ Section| Some((section.section("old")?.clone(), section.section("new")?.clone()));
        match event.name.as_str() {
            LOG => self.told.hear(message),
            "ike-updown" => {
                let up = message.is_yes("up");
                for sa in IkeSa::of_row(message) {
                    if up {
                        let cause = self.tracked.cause_of(&sa);
                        self.ike(&sa, cause, None, notice);
                    } else {
                        self.gone(sa.id, None, notice);
                    }
                }
            }
            "ike-rekey" => {
                for (connection, section) in message.sections() {
                    let Some((old, new)) = old_and_new(section) else {
                        continue;
                    };
                    let (Some(old), Some(new)) = (IkeSa::read(connection, &old), IkeSa::read(connection, &new)) else {
                        continue;
                    };
                    self.told.carry_on(old.id, new.id);
                    self.ike(&new, Cause::Rekey, Some(&old), notice);
                    self.tracked.hand_over(old.id, new.id);
                    self.condemned
                        .retain(|condemned| condemned.ike != old.id || condemned.child.is_some());
                    for condemned in self.condemned.iter_mut().filter(|condemned| condemned.ike == old.id) {
                        condemned.ike = new.id;
                    }
                    self.closed(old.id, None, Why::Replaced);
                }
            }
            "child-updown" => {
                let up = message.is_yes("up");
                for sa in IkeSa::of_row(message) {
                    for child in &sa.children {
                        if up {
                            self.child(&sa, child, Cause::SetUp, None, notice);
                        } else {
                            self.tracked.count(sa.id, child);
                            self.gone(sa.id, Some(child.id), notice);
                        }
                    }
                }
            }
            "child-rekey" => {
                for (connection, section) in message.sections() {
                    let Some(sa) = IkeSa::read(connection, section) else {
                        continue;
                    };
                    let children = section.section("child-sas").into_iter().flat_map(Section::sections);
                    for (old, new) in children.filter_map(|(_, section)| old_and_new(section)) {
                        let (Some(old), Some(new)) = (ChildSa::read(&old), ChildSa::read(&new)) else {
                            continue;
                        };
                        self.child(&sa, &new, Cause::Rekey, Some(&old), notice);
                        self.tracked.count(sa.id, &old);
                        self.closed(sa.id, Some(old.id), Why::Replaced);
                    }
                }
            }
            _ => {}
        }
    }

    /// All SAs as charon has them: unknown ones are recorded, known ones judged by today's policy, missing ones closed.
    fn sweep(&mut self, commands: &mut Client, notice: &mut dyn FnMut(Notice<'_>)) -> Result<(), Error> {
        let rows = commands.streamed("list-sas", "list-sa", Section::new())?;
        let sas: Vec<_> = rows.iter().flat_map(IkeSa::of_row).filter(IkeSa::stands).collect();
        for (ike, child) in self.tracked.missing(&sas) {
            self.gone(ike, child, notice);
        }
        for sa in &sas {
            self.ike(sa, Cause::Found, None, notice);
            for child in sa.children.iter().filter(|child| child.stands()) {
                self.tracked.count(sa.id, child);
                self.child(sa, child, Cause::Found, None, notice);
            }
        }
        self.metrics.standing(self.tracked.standing());
        Ok(())
    }

    /// An IKE_SA stands: recorded when it is new, judged in any case.
    fn ike(&mut self, sa: &IkeSa, cause: Cause, replaces: Option<&IkeSa>, notice: &mut dyn FnMut(Notice<'_>)) {
        let Some(key) = sa.key else { return };
        let today = day_of(SystemTime::now());
        let expectation = self.expectations.of(&sa.connection);
        let policy = expectation.map(|expectation| expectation.policy.in_force(today));
        let verdict = crate::judge::of_ike(sa, policy.as_ref());
        let sighting = Sighting {
            connection: sa.connection.clone(),
            child: None,
            peer: expectation.map(|expectation| expectation.peer.clone()),
            cause,
            keyed_by: crate::judge::shown(&sa.key_exchanges),
            verdict: verdict.clone(),
        };
        if self.tracked.is_new(sa, key, &verdict) {
            self.metrics.ike(&sighting);
            let set_up = self.told.of(sa.id).map(|tale| tale.begun.elapsed());
            let record = track::ike_record(sa, key, replaces, expectation, set_up, cause, verdict);
            self.untold.push((sa.id, Instant::now(), record));
            self.notify(
                &sighting,
                policy.as_ref().map(|policy| policy.ipsec.breach),
                sa.id,
                None,
                notice,
            );
        } else if self.tracked.judged(sa.id, None, &verdict) {
            self.notify(
                &sighting,
                policy.as_ref().map(|policy| policy.ipsec.breach),
                sa.id,
                None,
                notice,
            );
        }
    }

    /// Writes the records of IKE_SAs that charon's log has told of, or will not; `all` of them at the end.
    fn write(&mut self, all: bool) {
        let told = &self.told;
        let ready = |(id, since, record): &mut (u32, Instant, bartizan_ledger::IkeSa)| {
            let whole = told
                .of(*id)
                .is_some_and(|tale| tale.local.is_some() && tale.peer.is_some());
            all || whole || record.cause == Cause::Found || since.elapsed() >= TELL
        };
        for (id, _, mut record) in self.untold.extract_if(.., ready) {
            if record.cause != Cause::Found
                && let Some(tale) = told.of(id)
            {
                record.authentication = crate::judge::authentication(tale.local.clone(), tale.peer.clone());
                record.messages = Some(tale.messages);
            }
            self.recorder.record(Event::IkeSa(Box::new(record)));
        }
    }

    fn child(
        &mut self,
        sa: &IkeSa,
        child: &ChildSa,
        cause: Cause,
        replaces: Option<&ChildSa>,
        notice: &mut dyn FnMut(Notice<'_>),
    ) {
        let Some(key) = sa.key else { return };
        let today = day_of(SystemTime::now());
        let expectation = self.expectations.of(&sa.connection);
        let interface = expectation.and_then(|expectation| expectation.child(&child.name));
        let policy = interface.map(|(_, policy)| policy.in_force(today));
        let ike_policy = expectation.map(|expectation| expectation.policy.in_force(today));
        let of_ike = crate::judge::of_ike(sa, ike_policy.as_ref());
        let rekeyed = cause == Cause::Rekey;
        let verdict = crate::judge::of_child(child, rekeyed, &of_ike, policy.as_ref());
        let sighting = Sighting {
            connection: sa.connection.clone(),
            child: Some(child.name.clone()),
            peer: expectation.map(|expectation| expectation.peer.clone()),
            cause,
            keyed_by: crate::judge::shown(&child.key_exchanges),
            verdict: verdict.clone(),
        };
        let breach = policy.as_ref().map(|policy| policy.ipsec.breach);
        if self.tracked.is_new_child(sa, child, key, &verdict) {
            self.metrics.child(&sighting);
            let interface = interface.map(|(kind, _)| kind.name().to_owned());
            let peer = sighting.peer.clone();
            let record = track::child_record(sa, child, key, replaces, (interface, peer), cause, verdict);
            self.recorder.record(Event::ChildSa(Box::new(record)));
            self.notify(&sighting, breach, sa.id, Some(child.id), notice);
        } else if cause == Cause::Found && self.tracked.judged(sa.id, Some(child.id), &verdict) {
            self.notify(&sighting, breach, sa.id, Some(child.id), notice);
        }
    }

    fn notify(
        &mut self,
        sighting: &Sighting,
        breach: Option<Breach>,
        ike: u32,
        child: Option<u32>,
        notice: &mut dyn FnMut(Notice<'_>),
    ) {
        let (Verdict::Refused { .. }, Some(breach)) = (&sighting.verdict, breach) else {
            // What belongs to no interface of the file belongs to somebody else: it is recorded and left alone.
            notice(Notice::Stands(sighting));
            return;
        };
        self.metrics.breach(sighting);
        notice(Notice::Breach(sighting, breach));
        if breach == Breach::Down {
            self.condemned.push(Condemned {
                ike,
                child,
                since: Instant::now(),
                tried: None,
                sighting: sighting.clone(),
            });
        }
    }

    /// Takes down what is condemned: a CHILD_SA with its peer; where that takes too long, and for an IKE_SA, without asking.
    fn take_down(&mut self, commands: &mut Client, notice: &mut dyn FnMut(Notice<'_>)) -> Result<(), Error> {
        let mut vanished = Vec::new();
        for condemned in &mut self.condemned {
            if condemned.tried.is_some_and(|tried| tried.elapsed() < ESCALATE) {
                continue;
            }
            let message = match (condemned.child, condemned.tried) {
                (Some(child), None) => Section::new().with("child-id", child.to_string()),
                _ => Section::new()
                    .with("ike-id", condemned.ike.to_string())
                    .with("force", "yes"),
            };
            condemned.tried = Some(Instant::now());
            // -1: charon answers at once, and its events say when it is done.
            match commands.command("terminate", message.with("timeout", "-1")) {
                Ok(_) => {}
                // It went by itself in the meantime: its event is on the way, or the next sweep sees it.
                Err(Error::Refused { .. }) if !self.tracked.stands(condemned.ike, condemned.child) => {
                    vanished.push((condemned.ike, condemned.child));
                }
                Err(error @ Error::Refused { .. }) => notice(Notice::NotTakenDown(&condemned.sighting, &error)),
                Err(error) => return Err(error),
            }
        }
        self.condemned
            .retain(|condemned| !vanished.contains(&(condemned.ike, condemned.child)));
        Ok(())
    }

    /// charon tells, or a sweep finds, that it is no more.
    fn gone(&mut self, ike: u32, child: Option<u32>, notice: &mut dyn FnMut(Notice<'_>)) {
        let is_it = |condemned: &Condemned| condemned.ike == ike && (child.is_none() || condemned.child == child);
        let mut why = Why::Deleted;
        for condemned in self.condemned.extract_if(.., |condemned| is_it(condemned)) {
            why = Why::Breach;
            let after = condemned.since.elapsed();
            self.metrics.taken_down(&condemned.sighting);
            notice(Notice::TakenDown(&condemned.sighting, after));
        }
        self.closed(ike, child, why);
    }

    fn closed(&mut self, ike: u32, child: Option<u32>, why: Why) {
        if self.untold.iter().any(|(id, ..)| *id == ike) {
            self.write(true);
        }
        for record in self.tracked.close(ike, child, why) {
            self.recorder.record(Event::SaClosed(record));
        }
        if child.is_none() {
            self.told.forget(ike);
        }
        self.metrics.standing(self.tracked.standing());
    }

    fn all_gone(&mut self) {
        self.condemned.clear();
        for id in self.tracked.ids() {
            self.closed(id, None, Why::DaemonGone);
        }
    }
}
