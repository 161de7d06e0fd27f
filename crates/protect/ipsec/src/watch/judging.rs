//! Records each established SA once, and judges it by the policy of the day as often as it is seen.

use std::time::Instant;

use bartizan_deployment::{Breach, Policy, day_of};
use bartizan_ledger::{Cause, Event, Verdict};

use super::taking_down::Condemned;
use super::{Notice, Sighting, TELL, Unreported, Watch, track};
use crate::judge;
use crate::sa::{ChildSa, IkeSa};
use crate::vici::{Client, Error, Section};

impl Watch<'_> {
    /// All SAs as charon has them: unknown ones are recorded, known ones judged by today's policy, missing ones closed.
    pub(super) fn sweep(&mut self, commands: &mut Client, notice: &mut dyn FnMut(Notice<'_>)) -> Result<(), Error> {
        let rows = commands.streamed("list-sas", "list-sa", Section::new())?;
        let mut sas: Vec<_> = rows.iter().flat_map(IkeSa::of_row).collect();
        let listed: Vec<_> = sas.iter().map(|sa| sa.id).collect();
        sas.retain(IkeSa::stands);
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
        self.tell_established();
        self.forget_unlisted(&listed, notice);
        Ok(())
    }

    /// For the metrics.
    pub(super) fn tell_established(&self) {
        self.metrics.established(self.tracked.established());
        for expected in self.expectations.iter() {
            let since = self.tracked.authenticated(&expected.connection);
            self.metrics.authenticated(&expected.connection, since);
        }
    }

    /// An IKE_SA stands: recorded when it is new, judged in any case.
    pub(super) fn ike(
        &mut self,
        sa: &IkeSa,
        cause: Cause,
        replaces: Option<&IkeSa>,
        notice: &mut dyn FnMut(Notice<'_>),
    ) {
        let Some(key) = sa.key else { return };
        let today = day_of((self.clock)());
        let expectation = self.expectations.of(&sa.connection);
        let policy = expectation.map(|expectation| expectation.policy.in_effect(today));
        let verdict = self.expectations.judge_ike(sa, today);
        let sighting = Sighting {
            connection: sa.connection.clone(),
            child: None,
            peer: expectation.map(|expectation| expectation.peer.clone()),
            cause,
            keyed_by: judge::shown(&sa.key_exchanges),
            verdict: verdict.clone(),
        };
        let new = self.tracked.is_new(sa, key, &verdict);
        let other = !new && self.tracked.judged(sa.id, None, &verdict);
        if new
            && cause == Cause::Found
            && let Some(overdue) = self.overdue
        {
            overdue.found(sa);
        }
        if new {
            self.answered(sa.id, &sa.connection, notice);
            self.said.forget(&sa.connection);
            self.metrics.ike(&sighting);
            let set_up = self.logged.of(sa.id).map(|sa_log| sa_log.begun.elapsed());
            let record = track::ike_record(sa, key, replaces, expectation, set_up, cause, verdict);
            self.unreported.push(Unreported {
                id: sa.id,
                since: Instant::now(),
                record,
                closed: Vec::new(),
            });
        }
        if new || other {
            self.notify(&sighting, breach(policy.as_ref()), sa.id, None, notice);
        }
    }

    /// Writes the records of IKE_SAs that charon's log has reported, or will not; `all` of them at the end.
    pub(super) fn write(&mut self, all: bool) {
        let logged = &self.logged;
        let ready = |waiting: &mut Unreported| {
            let whole = logged
                .of(waiting.id)
                .is_some_and(|sa_log| sa_log.local.is_some() && sa_log.peer.is_some());
            all || whole || waiting.record.cause == Cause::Found || waiting.since.elapsed() >= TELL
        };
        let written: Vec<_> = self.unreported.extract_if(.., ready).collect();
        for Unreported {
            id, mut record, closed, ..
        } in written
        {
            if record.cause != Cause::Found
                && let Some(sa_log) = self.logged.of(id)
            {
                record.authentication =
                    judge::authentication(sa_log.local.clone(), sa_log.peer.clone(), sa_log.chains.clone());
                record.messages = Some(sa_log.messages);
            }
            if let Some(by) = &record.authentication {
                self.memory.authenticated(&record.connection, by);
            }
            let key = record.key;
            self.recorder.record(Event::IkeSa(Box::new(record)));
            if closed.iter().any(|closed| closed.spi_in.is_none() && closed.key == key) {
                self.logged.forget(id);
            }
            for closed in closed {
                self.recorder.record(Event::SaClosed(closed));
            }
        }
    }

    /// A CHILD_SA stands: recorded when it is new, judged in any case.
    pub(super) fn child(
        &mut self,
        sa: &IkeSa,
        child: &ChildSa,
        cause: Cause,
        replaces: Option<&ChildSa>,
        notice: &mut dyn FnMut(Notice<'_>),
    ) {
        let Some(key) = sa.key else { return };
        let today = day_of((self.clock)());
        let expectation = self.expectations.of(&sa.connection);
        let expected = expectation.and_then(|expectation| expectation.child(&child.name));
        let policy = expected.map(|expected| expected.policy.in_effect(today));
        // An SA that was seen to be rekeyed stays so, however it is met again.
        let rekeyed = cause == Cause::Rekey || self.tracked.was_rekeyed(sa.id, child) || sa.keyed_later(child);
        let verdict = self.expectations.judge_child(sa, child, rekeyed, today);
        let sighting = Sighting {
            connection: sa.connection.clone(),
            child: Some(child.name.clone()),
            peer: expectation.map(|expectation| expectation.peer.clone()),
            cause,
            keyed_by: judge::shown(&child.key_exchanges),
            verdict: verdict.clone(),
        };
        let new = self.tracked.is_new_child(sa, child, key, rekeyed, &verdict);
        let other = !new && self.tracked.judged(sa.id, Some(child.id), &verdict);
        if new {
            self.metrics.child(&sighting);
            let interface = expected.map(|expected| expected.interface.name().to_owned());
            let peer = sighting.peer.clone();
            let record = track::child_record(sa, child, key, replaces, (interface, peer), cause, verdict);
            self.recorder.record(Event::ChildSa(Box::new(record)));
        }
        if new || other {
            self.notify(&sighting, breach(policy.as_ref()), sa.id, Some(child.id), notice);
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
            // An SA of no interface of the file belongs to another program: it is recorded and left
            // alone.
            notice(Notice::Stands(sighting));
            return;
        };
        self.metrics.breach(sighting);
        notice(Notice::Breach(sighting, breach));
        let known = |condemned: &Condemned| condemned.ike == ike && condemned.child == child;
        if breach == Breach::Down && !self.condemned.iter().any(known) {
            self.condemned.push(Condemned::new(ike, child, sighting.clone()));
        }
    }
}

/// The policy's action on an SA that breaks it.
fn breach(policy: Option<&Policy>) -> Option<Breach> {
    policy.map(|policy| policy.ipsec.breach)
}
