//! Deletes SAs that break their policy, and closes SAs that are gone in the ledger.

use std::time::{Duration, Instant};

use bartizan_ledger::{Event, SaClosed, Why};

use super::converging::Doubled;
use super::ending::{self, Parting};
use super::{Notice, Parted, Sighting, TELL, Watch};
use crate::vici::{Client, Error, Section};

/// Time limit for the deletion of a CHILD_SA together with the peer before its IKE_SA is destroyed
/// without asking.
const ESCALATE: Duration = Duration::from_secs(1);

bartizan_registry::made! {
    /// An SA that is to be gone, and since when.
    #[derive(Debug)]
    pub(super) struct Condemned,
    /// As of now.
    pub(super) new(ike: u32, child: Option<u32>, sighting: Sighting) {
        pub(super) ike: u32,
        pub(super) child: Option<u32>,
        since: Instant = Instant::now(),
        tried: Option<Instant> = None,
        sighting: Sighting,
    }
}

impl Watch<'_> {
    /// Takes down what is condemned: a CHILD_SA with its peer; where that takes too long, and for an IKE_SA, without asking.
    pub(super) fn take_down(&mut self, commands: &mut Client, notice: &mut dyn FnMut(Notice<'_>)) -> Result<(), Error> {
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

    /// charon reports, or a sweep finds, that it is gone.
    pub(super) fn gone(&mut self, ike: u32, child: Option<u32>, notice: &mut dyn FnMut(Notice<'_>)) {
        let is_it = |condemned: &Condemned| condemned.ike == ike && (child.is_none() || condemned.child == child);
        let why = self.doubled.why(ike).or_else(|| self.tracked.replaced(ike));
        let mut why = why.unwrap_or(Why::Deleted);
        for condemned in self.condemned.extract_if(.., |condemned| is_it(condemned)) {
            why = Why::Breach;
            let after = condemned.since.elapsed();
            self.metrics.taken_down(&condemned.sighting);
            notice(Notice::TakenDown(&condemned.sighting, after));
        }
        self.closed(ike, child, why);
        if child.is_none() {
            self.doubled.forget(ike);
            if let Some(overdue) = self.overdue {
                overdue.gone(ike);
            }
        }
    }

    /// It is gone, for this reason, or for one in charon's log.
    pub(super) fn closed(&mut self, ike: u32, child: Option<u32>, why: Why) {
        // An attempt that never stood has no name here, and ends without a record.
        let connection = self.tracked.connection(ike).unwrap_or_default().to_owned();
        let closed = self.tracked.close(ike, child, why);
        self.partings.push(Parting {
            id: ike,
            since: Instant::now(),
            whole: child.is_none(),
            connection,
            closed,
        });
        self.tell_established();
    }

    /// Records the ends that charon's log has reported, or will not; all of them at the end.
    pub(super) fn part(&mut self, all: bool, notice: &mut dyn FnMut(Notice<'_>)) {
        let ready = |parting: &mut Parting| {
            let known = |(_, closed): &(_, SaClosed)| closed.why != Why::Deleted;
            all || (!parting.closed.is_empty() && parting.closed.iter().all(known)) || parting.since.elapsed() >= TELL
        };
        let ready: Vec<_> = self.partings.extract_if(.., ready).collect();
        for Parting {
            id,
            whole,
            connection,
            closed,
            ..
        } in ready
        {
            for (name, mut closed) in closed {
                if closed.why == Why::Deleted
                    && let Some((why, detail)) = ending::why(self.logged.lines(id), name.as_ref())
                {
                    closed.why = why;
                    closed.detail = Some(detail);
                }
                let parted = Parted {
                    child: name.map(|name| name.child),
                    peer: self.expectations.of(&connection).map(|known| known.peer.clone()),
                    connection: connection.clone(),
                    why: closed.why,
                    detail: closed.detail.clone(),
                };
                self.metrics.ended(&parted);
                if parted.child.is_none() {
                    self.silence_ended(id, &connection, parted.why, notice);
                }
                if parted.why != Why::Replaced {
                    self.memory.ended(&connection, parted.why, parted.detail.clone());
                    notice(Notice::Ended(&parted));
                }
                match self.unreported.iter_mut().find(|waiting| waiting.id == id) {
                    Some(waiting) => waiting.closed.push(closed),
                    None => self.recorder.record(Event::SaClosed(closed)),
                }
            }
            if whole && !self.unreported.iter().any(|waiting| waiting.id == id) {
                self.logged.forget(id);
            }
        }
    }

    /// charon is no more, and with it every SA.
    pub(super) fn all_gone(&mut self) {
        self.condemned.clear();
        if let Some(overdue) = self.overdue {
            overdue.all_gone();
        }
        self.doubled = Doubled::default();
        for id in self.tracked.ids() {
            self.closed(id, None, Why::DaemonGone);
        }
    }
}
