//! The worst of many statements, with how many say so.

use crate::{Answer, Judgement, Reply, Source, Verdict};

/// Sources kept for a statement: the first places to look.
const SOURCES: usize = 8;

/// What can be ranked from worst to best.
pub(super) trait Statement: Clone {
    /// 0 is the worst.
    fn rank(&self) -> u8;
    fn because(&self) -> &str;
    fn sources(&self) -> &[Source];
    /// The same statement with another reason and other sources.
    fn with(&self, because: String, sources: Vec<Source>) -> Self;
}

impl Statement for Judgement {
    fn rank(&self) -> u8 {
        self.verdict().rank()
    }

    fn because(&self) -> &str {
        self.because()
    }

    fn sources(&self) -> &[Source] {
        self.sources()
    }

    fn with(&self, because: String, sources: Vec<Source>) -> Self {
        Self::new(self.verdict(), because, sources)
    }
}

/// A reply to a question of which one answer is the good one: to the question for clear text that is *no*.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted<const YES: bool>(pub(super) Reply);

impl<const YES: bool> Statement for Wanted<YES> {
    fn rank(&self) -> u8 {
        match (self.0.answer(), YES) {
            (Answer::No, true) | (Answer::Yes, false) => Verdict::Vulnerable.rank(),
            (Answer::NotObservable, _) => Verdict::NotObservable.rank(),
            (Answer::NotSeen, _) => Verdict::NotSeen.rank(),
            (Answer::Yes, true) | (Answer::No, false) => Verdict::QuantumSafe.rank(),
        }
    }

    fn because(&self) -> &str {
        self.0.because()
    }

    fn sources(&self) -> &[Source] {
        self.0.sources()
    }

    fn with(&self, because: String, sources: Vec<Source>) -> Self {
        Self(Reply::new(self.0.answer(), because, sources))
    }
}

/// The worst of the statements added, in whatever order they came.
#[derive(Debug, Clone)]
pub(super) struct Worst<S> {
    worst: Option<S>,
    /// First packet of the part that said so.
    at: u64,
    /// Sources of those that agree with the worst, by the first packet of their part.
    sources: Vec<(u64, Source)>,
    agree: u64,
    total: u64,
}

impl<S> Default for Worst<S> {
    fn default() -> Self {
        Self {
            worst: None,
            at: 0,
            sources: Vec::new(),
            agree: 0,
            total: 0,
        }
    }
}

impl<S: Statement> Worst<S> {
    /// Adds what a part says whose first packet is `at`.
    pub(super) fn add(&mut self, said: S, at: u64) {
        let sources = said.sources().iter().map(|source| (at, source.clone())).collect();
        self.merge(Self {
            worst: Some(said),
            at,
            sources,
            agree: 1,
            total: 1,
        });
    }

    /// Adds what another has gathered.
    pub(super) fn merge(&mut self, other: Self) {
        self.total += other.total;
        let Some(theirs) = &other.worst else { return };
        let ours = self.worst.as_ref().map(Statement::rank);
        if ours.is_none_or(|ours| theirs.rank() < ours) {
            let total = self.total;
            *self = Self { total, ..other };
            self.bound();
        } else if ours == Some(theirs.rank()) {
            self.agree += other.agree;
            if other.at < self.at {
                self.at = other.at;
                self.worst = other.worst;
            }
            self.sources.extend(other.sources);
            self.bound();
        }
    }

    fn bound(&mut self) {
        // Stable: the sources of one part keep their order.
        self.sources.sort_by_key(|(at, _)| *at);
        self.sources.dedup_by(|one, other| one.1 == other.1);
        self.sources.truncate(SOURCES);
    }

    /// The worst, with how many of them say so where not all do; none where there were none.
    pub(super) fn finish(self) -> Option<S> {
        let worst = self.worst?;
        let because = if self.agree < self.total {
            format!("{} ({} of {})", worst.because(), self.agree, self.total)
        } else {
            worst.because().to_owned()
        };
        let sources = self.sources.into_iter().map(|(_, source)| source).collect();
        Some(worst.with(because, sources))
    }
}
