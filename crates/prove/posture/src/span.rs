//! When an SA stood, by a ledger: SPIs come again, and a record of another time is none of this one.

use bartizan_wire::Moment;

use crate::evidence::CLOCKS;

bartizan_registry::made! {
    /// When an SA stood, by a ledger: microseconds since 1970.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Span,
    /// Written at some time of an SA that had stood for so many seconds.
    pub(crate) written(at_us: u64, stood_s: u64) {
        since: u64 = at_us.saturating_sub(stood_s.saturating_mul(1_000_000)),
        until: Option<u64> = None,
    }
}

impl Span {
    /// Returns true if packets from `first` to `last` may be of it; `begun` is true if they show
    /// its set-up. SPIs are reused.
    pub(crate) fn allows(self, first: Moment, last: Moment, begun: bool) -> bool {
        let [first, last] = [first, last].map(|at| at.time.0 / 1000);
        let early = begun && self.since.saturating_add(CLOCKS) < first;
        let over = self.until.is_some_and(|until| until.saturating_add(CLOCKS) < last);
        !early && !over && self.since <= last.saturating_add(CLOCKS)
    }

    /// It ended: of what both ends tell the later counts.
    pub(crate) fn ends(&mut self, at_us: u64) {
        self.until = Some(self.until.map_or(at_us, |until| until.max(at_us)));
    }
}
