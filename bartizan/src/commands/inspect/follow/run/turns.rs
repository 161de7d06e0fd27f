//! Turns of the sources, and the views between them.

use std::collections::HashSet;
use std::thread;
use std::time::{Duration, Instant};

use bartizan_follow::event_writer::since_1970;
use bartizan_follow::source::Turn;
use bartizan_follow::stream::Context;
use bartizan_inspect::follow::Event;
use bartizan_wire::Timestamp;

use super::{Reason, Run, Watched};
use crate::Failure;
use crate::interrupt::Interrupt;

/// Pause where no source has anything.
const PAUSE: Duration = Duration::from_millis(20);
/// Between two views where something came, and where nothing did.
const BUSY_TICK: Duration = Duration::from_millis(250);
const QUIET_TICK: Duration = Duration::from_secs(1);
/// A view may take this part of the time between two: one tenth.
const SHARE: u32 = 10;
/// Time for sources to hand over packets that had arrived when the end was requested.
const DRAIN: Duration = Duration::from_secs(30);
/// Number of recorded handshakes beyond which those without a held connection are dropped, and the
/// interval of that check.
const REMEMBERED: usize = 50_000;
const REMEMBERING: Duration = Duration::from_secs(60);

impl Run<'_> {
    /// Until there is a reason to end.
    pub(super) fn go(&mut self, interrupt: &Interrupt) -> Result<Reason, Failure> {
        let (mut ticked, mut changed) = (Instant::now(), true);
        loop {
            let busy = self.turn()?;
            changed |= busy;
            let pause = if changed { BUSY_TICK } else { QUIET_TICK };
            if ticked.elapsed() >= pause.max(self.view_took * SHARE) {
                self.tick(false)?;
                (ticked, changed) = (Instant::now(), false);
            }
            if interrupt.asked() {
                return Ok(Reason::Signal);
            }
            if self
                .args
                .live
                .lasting
                .is_some_and(|lasting| self.begun.elapsed() >= lasting)
            {
                return Ok(Reason::Time);
            }
            if self.teller.as_ref().is_some_and(|teller| teller.unheard) {
                return Ok(Reason::Unheard);
            }
            if self
                .watched
                .iter()
                .all(|watched| watched.ended || watched.stream.is_full())
            {
                let full = self.watched.iter().all(|watched| watched.stream.is_full());
                return Ok(if full { Reason::Packets } else { Reason::Sources });
            }
            if !busy {
                thread::sleep(PAUSE);
            }
        }
    }

    /// Each source's turn; says whether there was anything.
    pub(super) fn turn(&mut self) -> Result<bool, Failure> {
        let (mut busy, mut reported, mut failed) = (false, Vec::new(), Vec::new());
        for (place, watched) in self.watched.iter_mut().enumerate() {
            if watched.ended || watched.stream.is_full() {
                continue;
            }
            let mut context = Context {
                ledgers: &self.ledgers,
                keys: &self.keys,
                inventory: self.inventory.as_mut(),
            };
            let turn = watched.source.turn(&mut watched.stream, &mut context, |notice| {
                reported.push((place, notice));
            });
            match turn {
                Ok(Turn::Busy) => busy = true,
                Ok(Turn::Quiet) => {}
                Ok(Turn::Ended) => watched.ended = true,
                // The findings of the other sources must not be lost by it.
                Err(failure) => {
                    watched.ended = true;
                    failed.push((place, failure));
                }
            }
        }
        for (place, notice) in reported {
            self.noticed(place, &notice)?;
        }
        for (place, failure) in failed {
            self.failed(place, failure)?;
        }
        Ok(busy)
    }

    /// Reads ledgers on, lets go what is old, and tells what has changed. The last one waits for nothing that may come yet.
    pub(super) fn tick(&mut self, last: bool) -> Result<(), Failure> {
        // The last time reads all of it.
        while self.growing.read_on(&mut self.ledgers) && last {}
        let mut events = Vec::new();
        let begun = Instant::now();
        for (place, watched) in self.watched.iter_mut().enumerate() {
            let mut context = Context {
                ledgers: &self.ledgers,
                keys: &self.keys,
                inventory: self.inventory.as_mut(),
            };
            watched.stream.age(&mut context);
            if self.teller.is_some() {
                let mut view = watched.stream.view(&self.ledgers, self.deployment, last);
                let newest = watched.stream.newest;
                let forget = u64::try_from(self.args.live.forget.as_nanos()).unwrap_or(u64::MAX);
                let forget = Timestamp(newest.0.saturating_sub(forget));
                let lost = last.then(|| [watched.stream.dropped(), self.ledgers.lost()]);
                let totals = watched.stream.totals();
                events.extend(watched.tracker.compare(&view, totals, newest, forget, lost));
                if let Some(page) = &mut self.page {
                    page.look(place, &mut view, &mut watched.stream, &watched.tracker);
                }
            }
        }
        self.view_took = begun.elapsed();
        if self.teller.is_some() {
            events.extend(self.listed(last));
        }
        let lost = self.ledgers.lost();
        if lost > self.lost_by_ledger {
            let records = lost - self.lost_by_ledger;
            self.lost_by_ledger = lost;
            let words =
                format!("{records} records were lost by the ledgers, as they say themselves, damaged or missing");
            events.push(
                Event::new("loss", words)
                    .with("records", records)
                    .with("where", "ledger"),
            );
        }
        for event in &events {
            self.tell(event)?;
        }
        self.delivered(last)?;
        self.forget_records();
        let numbers = self.numbers();
        self.progress.show(&numbers.sources, numbers.findings.values().sum());
        if let Some(page) = &mut self.page {
            page.publish(&numbers);
        }
        self.metrics.set(numbers);
        Ok(())
    }

    /// Drops recorded handshakes of unseen connections: ledgers report every handshake.
    pub(super) fn forget_records(&mut self) {
        if self.ledgers.handshakes() < REMEMBERED || self.remembered.elapsed() < REMEMBERING {
            return;
        }
        self.remembered = Instant::now();
        let clock = since_1970();
        let times = self.watched.iter();
        let newest = times
            .filter_map(|watched| watched.source.now(&watched.stream, clock))
            .min();
        let wanted: HashSet<[u8; 32]> = self
            .watched
            .iter()
            .flat_map(|watched| watched.stream.client_randoms())
            .collect();
        let grace = u64::try_from(self.args.live.grace.as_micros()).unwrap_or(u64::MAX);
        let since = newest.map_or(0, |newest| (newest.0 / 1000).saturating_sub(grace.saturating_mul(2)));
        self.ledgers.forget_handshakes(since, |random| wanted.contains(random));
    }

    /// Takes what had arrived when the end was asked for.
    pub(super) fn drain(&mut self, reason: Reason) -> Result<(), Failure> {
        self.watched.iter_mut().for_each(|watched| watched.source.stop());
        let until = Instant::now() + DRAIN;
        while reason != Reason::Packets && Instant::now() < until {
            let busy = self.turn()?;
            let open = |watched: &Watched| !watched.ended && !watched.stream.is_full();
            let waits = self
                .watched
                .iter()
                .any(|watched| open(watched) && watched.source.is_interface());
            if !busy && !waits {
                break;
            }
            if !busy {
                thread::sleep(PAUSE);
            }
        }
        Ok(())
    }
}
