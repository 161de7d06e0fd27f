//! Phases of a link.

use bartizan_wire::Moment;

use super::held;
use super::part::{Occasion, Part};
use crate::{Kind, Verdict};

/// Phases of a link distinguished; an unauthenticated peer may choose what is negotiated.
const PHASES: usize = 32;

bartizan_registry::made! {
    /// Parts of a link that are alike in what they negotiated and what that is worth.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Phase, of(part: &Part<'_>) {
        let posture = part.posture;
        /// Beginning of these parts.
        pub occasion: Occasion = part.occasion,
        /// Kind of these parts.
        pub kind: Kind = posture.kind,
        /// Their key exchange, where one is known.
        pub key_exchange: Option<String> = posture.key_exchange(),
        /// Their confidentiality.
        pub confidentiality: Verdict = posture.confidentiality.verdict(),
        /// Their authenticity.
        pub authenticity: Verdict = posture.authenticity.verdict(),
        /// First packet of the first of them.
        pub first: Moment = part.first,
        /// First packet of the latest of them.
        pub latest: Moment = part.first,
        /// Last packet of any of them.
        pub last: Moment = part.last,
        /// Number of parts.
        pub parts: u64 = 1,
        /// Rekeys inside them.
        pub rekeys: u64 = part.rekeys,
    }
}

impl Phase {
    fn is_like(&self, other: &Self) -> bool {
        let key = |phase: &Self| {
            let Self {
                occasion,
                kind,
                confidentiality,
                authenticity,
                ..
            } = *phase;
            (occasion, kind, confidentiality, authenticity)
        };
        key(self) == key(other) && self.key_exchange == other.key_exchange
    }

    fn take(&mut self, other: &Self) {
        if other.first.packet < self.first.packet {
            self.first = other.first;
        }
        if other.latest.packet > self.latest.packet {
            self.latest = other.latest;
        }
        if other.last.packet > self.last.packet {
            self.last = other.last;
        }
        self.parts += other.parts;
        self.rekeys += other.rekeys;
    }
}

/// The phases of a link.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    phases: Vec<Phase>,
    /// Parts whose phase was one too many.
    omitted: u64,
}

impl History {
    pub(super) fn add(&mut self, part: &Part<'_>) {
        self.take(Phase::of(part));
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.omitted += other.omitted;
        for phase in other.phases {
            self.take(phase);
        }
    }

    fn take(&mut self, phase: Phase) {
        if let Some(known) = self.phases.iter_mut().find(|known| known.is_like(&phase)) {
            known.take(&phase);
        } else if self.phases.len() < PHASES {
            // Most links have one phase.
            if self.phases.len() == self.phases.capacity() {
                self.phases.reserve_exact(1 + self.phases.len() / 2);
            }
            self.phases.push(phase);
        } else {
            self.omitted += phase.parts;
        }
    }

    /// Bytes it holds besides its own.
    pub(super) fn held(&self) -> usize {
        let names = self.phases.iter().filter_map(|phase| phase.key_exchange.as_ref());
        let names = names.map(|name| held(name.capacity(), 1));
        held(self.phases.capacity(), size_of::<Phase>()) + names.sum::<usize>()
    }

    /// The phases in the order of first packets, and how many parts are in none.
    pub(super) fn finish(mut self) -> (Vec<Phase>, u64) {
        self.phases.sort_by_key(|phase| phase.first.packet);
        (self.phases, self.omitted)
    }
}
