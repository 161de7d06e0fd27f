//! Bytes that a part leaves out, and checks that they can be left out of the whole.

use std::ops::Range;

use bartizan_wire::reduce::Hole;
use bartizan_wire::{Before, Connection, Limits, Observer, Packet, Sink};

bartizan_registry::made! {
    /// Leaves out of a part's packets what nothing depends on.
    pub struct Reducer,
    /// At the first packet of a part; `before` says whether that is the first of its capture.
    pub new(limits: Limits, before: Before) {
        observer: Observer = Observer::new(limits),
        before: Before = before,
        holes: Vec<Hole> = Vec::new(),
    }
}

/// Takes nothing.
struct Nothing;

impl Sink for Nothing {
    fn connection(&mut self, _: Connection) {}
}

impl Reducer {
    /// The holes of the next packet.
    pub fn holes(&mut self, packet: &Packet<'_>) -> &[Hole] {
        let holes = &mut self.holes;
        holes.clear();
        self.observer
            .counted(packet, self.before, |run| holes.extend(Hole::of(packet.data, run)));
        self.observer.observe(packet, &mut Nothing);
        holes
    }
}

/// Returns true if nothing depends on what was in these holes of the packet that an observer of
/// everything before is to take next. With that the reports from packets with holes are those from
/// whole ones: a part may be mistaken in what it leaves out, but not unnoticed.
#[must_use]
pub fn is_counted(observer: &Observer, packet: &Packet<'_>, holes: &[Range<usize>]) -> bool {
    let Some(first) = holes.first() else { return true };
    // Runs that touch are one.
    let (mut run, mut left) = (first.start..first.start, holes.iter().peekable());
    observer.counted(packet, Before::All, |next| {
        run = if next.start == run.end {
            run.start..next.end
        } else {
            next
        };
        while left
            .next_if(|hole| run.start <= hole.start && hole.end <= run.end)
            .is_some()
        {}
    });
    left.peek().is_none()
}
