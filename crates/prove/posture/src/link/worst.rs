//! The worst of many statements, with how many say so.

use std::sync::Arc;

use super::reasons::Reasons;
use crate::answer::Basis;
use crate::{Answer, Judged, Judgement, Reply, Source, Verdict};

/// Sources kept for a statement: the first places to look.
const SOURCES: usize = 8;

/// A statement that can be ranked from worst to best.
pub(super) trait Statement: Copy {
    /// 0 is the worst.
    fn rank(self) -> u8;
}

impl Statement for Judged {
    fn rank(self) -> u8 {
        Self::rank(self)
    }
}

/// An answer to a question of which one answer is the good one: to the question for plaintext that is *no*.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted<const YES: bool>(pub(super) Answer);

impl<const YES: bool> Statement for Wanted<YES> {
    fn rank(self) -> u8 {
        match (self.0, YES) {
            (Answer::No, true) | (Answer::Yes, false) => Verdict::Vulnerable.rank(),
            (Answer::NotObservable, _) => Verdict::NotObservable.rank(),
            (Answer::NotSeen, _) => Verdict::NotSeen.rank(),
            (Answer::Yes, true) | (Answer::No, false) => Verdict::QuantumSafe.rank(),
        }
    }
}

/// A source by the first packet of its part, with the reason that it is for.
type Cited = (u64, Source, Arc<str>);

/// Sources of several parts. Most links have one part, and need no list: it is kept apart.
#[derive(Debug, Clone)]
struct Sources(Vec<Cited>);

/// The worst of the statements added, in whatever order they came.
#[derive(Debug, Clone)]
pub(super) struct Worst<S> {
    worst: Option<(S, Basis)>,
    /// First packet of the part that said so.
    at: u64,
    /// Sources of those that agree with the worst, by the first packet of their part; of one alone its grounds have them.
    sources: Option<Box<Sources>>,
    agree: u64,
    total: u64,
}

impl<S> Default for Worst<S> {
    fn default() -> Self {
        Self {
            worst: None,
            at: 0,
            sources: None,
            agree: 0,
            total: 0,
        }
    }
}

impl<S: Statement> Worst<S> {
    /// Adds what a part says whose first packet is `at`.
    pub(super) fn add(&mut self, said: S, basis: &Basis, at: u64, reasons: &mut Reasons) {
        // Most parts of a link agree, and nothing more is kept of what is no worse, or says what many have said before.
        if let Some((worst, _)) = &self.worst {
            let agrees = worst.rank() == said.rank();
            let full = self.sources.as_ref().filter(|sources| sources.0.len() == SOURCES);
            let late = full
                .and_then(|sources| sources.0.last())
                .is_some_and(|(last, ..)| at >= *last);
            if worst.rank() < said.rank() || (agrees && late) {
                self.agree += u64::from(agrees);
                self.total += 1;
                return;
            }
        }
        let basis = Basis {
            because: reasons.one(&basis.because),
            sources: Arc::clone(&basis.sources),
        };
        self.merge(Self {
            worst: Some((said, basis)),
            at,
            sources: None,
            agree: 1,
            total: 1,
        });
    }

    /// Adds what another has gathered.
    pub(super) fn merge(&mut self, other: Self) {
        self.total += other.total;
        let Some((theirs, _)) = &other.worst else { return };
        let ours = self.worst.as_ref().map(|(ours, _)| ours.rank());
        if ours.is_none_or(|ours| theirs.rank() < ours) {
            let total = self.total;
            *self = Self { total, ..other };
        } else if ours == Some(theirs.rank()) {
            self.agree += other.agree;
            let theirs = other.sources();
            let mut sources = self.sources.take().map_or_else(|| self.own(), |sources| sources.0);
            sources.extend(theirs);
            // Stable: the sources of one part keep their order.
            sources.sort_by_key(|(at, ..)| *at);
            sources.dedup_by(|one, other| one.1 == other.1 && one.2 == other.2);
            sources.truncate(SOURCES);
            self.sources = Some(Box::new(Sources(sources)));
            if other.at < self.at {
                self.at = other.at;
                self.worst = other.worst;
            }
        }
    }

    /// Gives its reason as these keep it.
    pub(super) fn share(&mut self, reasons: &mut Reasons) {
        if let Some((_, basis)) = &mut self.worst {
            basis.because = reasons.one(&basis.because);
        }
    }

    /// Bytes it holds besides its own, its reason not among them.
    pub(super) fn held(&self) -> usize {
        let own = self
            .worst
            .as_ref()
            .map_or(0, |(_, basis)| super::held(2 + basis.sources.len(), 24));
        let more = self.sources.as_ref();
        own + more.map_or(0, |more| {
            super::held(1, size_of::<Sources>()) + super::held(more.0.capacity(), size_of::<Cited>())
        })
    }

    fn sources(&self) -> Vec<Cited> {
        self.sources
            .as_ref()
            .map_or_else(|| self.own(), |sources| sources.0.clone())
    }

    fn own(&self) -> Vec<Cited> {
        let cited = |basis: &Basis, source: &Source| (self.at, source.clone(), Arc::clone(&basis.because));
        let bases = self.worst.iter().map(|(_, basis)| basis);
        let sources = bases.flat_map(|basis| basis.sources.iter().map(move |source| cited(basis, source)));
        sources.take(SOURCES).collect()
    }

    /// The worst, with how many of them say so where not all do; none where there were none.
    pub(super) fn finish(self) -> Option<(S, Basis)> {
        let (worst, mut basis) = self.worst?;
        // A reason cites what supports it, and nothing that says the same for another reason.
        let because = Arc::clone(&basis.because);
        if self.agree < self.total {
            basis.because = format!("{} ({} of {})", basis.because, self.agree, self.total).into();
        }
        if let Some(sources) = self.sources {
            let sources = sources.0.into_iter().filter(|(.., reason)| *reason == because);
            let sources = sources.map(|(_, source, _)| source).collect();
            basis = Basis::new(basis.because, sources);
        } else if basis.sources.len() > SOURCES {
            basis.sources = basis.sources[..SOURCES].into();
        }
        Some((worst, basis))
    }
}

impl Worst<Judged> {
    pub(super) fn judged(&mut self, judgement: &Judgement, at: u64, reasons: &mut Reasons) {
        self.add(judgement.judged(), judgement.basis(), at, reasons);
    }

    /// The judgement, if there was one.
    pub(super) fn judgement(self) -> Option<Judgement> {
        self.finish().map(|(judged, basis)| Judgement::on(judged, basis))
    }
}

impl<const YES: bool> Worst<Wanted<YES>> {
    pub(super) fn replied(&mut self, reply: &Reply, at: u64, reasons: &mut Reasons) {
        self.add(Wanted(reply.answer()), reply.basis(), at, reasons);
    }

    /// The reply, if there was one.
    pub(super) fn reply(self) -> Option<Reply> {
        self.finish().map(|(wanted, basis)| Reply::on(wanted.0, basis))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_cites_the_packets_that_support_it_and_those_of_no_other_reason() {
        let said = |because: &str, packet| Judgement::new(Verdict::Vulnerable, because, vec![Source::packet(packet)]);
        let parts = [
            ("x25519 negotiated", 6),
            ("TLS 1.2 negotiated", 24),
            ("x25519 negotiated", 42),
        ];
        for turned in [false, true] {
            let mut parts = parts;
            if turned {
                parts.reverse();
            }
            let mut worst = Worst::default();
            let mut reasons = Reasons::default();
            for (because, packet) in parts {
                worst.judged(&said(because, packet), packet, &mut reasons);
            }
            let judgement = worst.judgement().unwrap();
            assert_eq!(judgement.because(), "x25519 negotiated");
            assert_eq!(judgement.sources(), [Source::packet(6), Source::packet(42)]);
        }
    }
}
