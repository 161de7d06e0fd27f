//! Share of a capture that was judged, by bytes of its frames.

use bartizan_posture::{Posture, Verdict};
use bartizan_wire::{Captured, Totals};

bartizan_registry::named! {
    /// Fate of a conversation's packets.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) enum Fate, name {
        /// A verdict on its confidentiality stands.
        Judged = "judged",
        /// It carried data, and nothing shows what it is worth.
        Unproven = "unproven",
        /// It carried nothing to judge: refused, never answered, silent.
        WithoutData = "without data",
    }
}

impl Fate {
    pub(crate) fn of(posture: &Posture) -> Self {
        match posture.confidentiality.verdict() {
            Verdict::QuantumSafe | Verdict::Vulnerable | Verdict::ReadableNow => Self::Judged,
            _ if posture.kind.carries_data() => Self::Unproven,
            Verdict::NotObservable | Verdict::NotSeen => Self::WithoutData,
        }
    }
}

/// Bytes of frames by what became of them. Together they are those of the capture.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Coverage {
    /// Bytes of conversations whose confidentiality is quantum-safe, vulnerable or readable now.
    pub judged: u64,
    /// Bytes of those that carried data and whose safety nothing shows.
    pub unproven: u64,
    /// Bytes of those that were refused or carried nothing.
    pub without_data: u64,
    /// Bytes of packets that need no judgement.
    pub needless: u64,
    /// Bytes of packets that belong to nothing that was followed.
    pub not_read: u64,
}

impl Coverage {
    pub(crate) fn add(&mut self, posture: &Posture, captured: Captured) {
        *match Fate::of(posture) {
            Fate::Judged => &mut self.judged,
            Fate::Unproven => &mut self.unproven,
            Fate::WithoutData => &mut self.without_data,
        } += captured.bytes;
    }

    /// The same with what belongs to no conversation; what is in no list either was not read.
    pub(crate) fn with(self, totals: &Totals) -> Self {
        let needless = totals.unread.iter().filter(|(unread, _)| unread.is_housekeeping());
        let needless = needless.map(|(_, captured)| captured.bytes).sum();
        let known = self.judged + self.unproven + self.without_data + needless;
        Self {
            needless,
            not_read: totals.bytes.saturating_sub(known),
            ..self
        }
    }

    /// Those of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            judged: self.judged + other.judged,
            unproven: self.unproven + other.unproven,
            without_data: self.without_data + other.without_data,
            needless: self.needless + other.needless,
            not_read: self.not_read + other.not_read,
        }
    }

    /// All bytes.
    pub fn total(&self) -> u64 {
        self.judged + self.unproven + self.without_data + self.needless + self.not_read
    }

    /// Those of which a verdict is wanted: all that could carry something.
    pub fn wanted(&self) -> u64 {
        self.judged + self.unproven + self.not_read
    }

    /// Thousandths of the wanted bytes that were judged, rounded down: 1000 is all of them, and none of none.
    pub fn share(&self) -> u64 {
        let wanted = u128::from(self.wanted());
        let share = (u128::from(self.judged) * 1000).checked_div(wanted).unwrap_or(0);
        u64::try_from(share).unwrap_or(1000)
    }

    /// The share as reports write it: `98.2 %`.
    pub fn percent(&self) -> String {
        let share = self.share();
        format!("{}.{} %", share / 10, share % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_rounded_down_and_nothing_wanted_is_nothing_judged() {
        let coverage = |judged, unproven| Coverage {
            judged,
            unproven,
            needless: 5_000,
            ..Coverage::default()
        };
        assert_eq!(coverage(999_999, 1).percent(), "99.9 %");
        assert_eq!(coverage(1, 0).percent(), "100.0 %");
        assert_eq!(coverage(0, 0).percent(), "0.0 %");
        assert_eq!(coverage(0, 7).percent(), "0.0 %");
        assert_eq!(coverage(u64::MAX / 4, u64::MAX / 4).share(), 500);
    }
}
