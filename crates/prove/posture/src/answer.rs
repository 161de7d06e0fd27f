//! Answers, verdicts, and what they rest on.

use std::sync::Arc;

use bartizan_wire::{Connection, Moment, Seen};

bartizan_registry::named! {
    /// The answer to a question about a link.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Answer, name {
        /// It was so.
        Yes = "yes",
        /// It was not so.
        No = "no",
        /// The protocol does not show it, and no ledger tells.
        NotObservable = "not observable",
        /// The capture lacks the packets that would show it.
        NotSeen = "not seen",
    }
}

bartizan_registry::named! {
    /// Success of an attacker with a quantum computer.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Verdict, name {
        /// No attack is known on the algorithms that were used.
        QuantumSafe = "quantum-safe",
        /// The attacker succeeds.
        Vulnerable = "vulnerable",
        /// Sent unencrypted: a recorder reads it now, without a quantum computer. Only a verdict of
        /// confidentiality.
        ReadableNow = "readable now",
        /// Not decidable from this evidence: the protocol hides it, and no ledger records it.
        NotObservable = "not observable",
        /// Not decidable from this evidence: the packets that would show it are missing.
        NotSeen = "not seen",
    }
}

impl Verdict {
    /// Returns true if an attacker with a quantum computer succeeds, even one who does not need it.
    #[must_use]
    pub fn is_vulnerable(self) -> bool {
        matches!(self, Self::Vulnerable | Self::ReadableNow)
    }

    /// The verdict for keys made in a conversation of this verdict: unencrypted messages do not
    /// show the secret of a key exchange in them.
    pub(crate) fn of_keys(self) -> Self {
        match self {
            Self::ReadableNow => Self::Vulnerable,
            other => other,
        }
    }

    /// From 0, the worst.
    pub(crate) fn rank(self) -> u8 {
        match self {
            Self::ReadableNow => 0,
            Self::Vulnerable => 1,
            Self::NotObservable => 2,
            Self::NotSeen => 3,
            Self::QuantumSafe => 4,
        }
    }
}

/// The source of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// Packets of the capture, by number: the first and the last of them.
    #[non_exhaustive]
    Packets {
        /// First packet.
        first: u64,
        /// Last packet.
        last: u64,
    },
    /// A record of a ledger.
    #[non_exhaustive]
    Ledger {
        /// The node that wrote it.
        node: Arc<str>,
        /// Its time: microseconds since 1970.
        at_us: u64,
    },
}

impl Source {
    pub(crate) fn seen<T>(seen: &Seen<T>) -> Self {
        Self::between(seen.first, seen.last)
    }

    pub(crate) fn between(first: Moment, last: Moment) -> Self {
        Self::Packets {
            first: first.packet,
            last: last.packet,
        }
    }

    pub(crate) fn packet(number: u64) -> Self {
        Self::Packets {
            first: number,
            last: number,
        }
    }

    pub(crate) fn all(connection: &Connection) -> Self {
        Self::between(connection.first, connection.last)
    }
}

/// Each source once, in the order of first mention.
fn distinct(sources: Vec<Source>) -> Arc<[Source]> {
    if sources.len() < 2 {
        return sources.into();
    }
    let mut distinct = Vec::with_capacity(sources.len());
    for source in sources {
        if !distinct.contains(&source) {
            distinct.push(source);
        }
    }
    distinct.into()
}

bartizan_registry::made! {
    /// A reason and what it rests on. Shared, not copied: a hundred thousand links say few
    /// different things.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct Basis, pub(crate) new(because: impl Into<Arc<str>>, sources: Vec<Source>) {
        pub(crate) because: Arc<str> = because.into(),
        pub(crate) sources: Arc<[Source]> = distinct(sources),
    }
}

/// A verdict, and if it is one that an exception for classical algorithms excuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judged {
    verdict: Verdict,
    /// True where nothing is wrong, or unknown, but a key exchange or a signature that is classical,
    /// or may be.
    by_classical: bool,
}

impl Judged {
    /// Vulnerable for a key exchange or a signature that is classical, and for nothing else.
    pub(crate) const CLASSICAL: Self = Self {
        verdict: Verdict::Vulnerable,
        by_classical: true,
    };
    /// Not observable, and more than a key exchange or a signature is not known.
    pub(crate) const UNKNOWN: Self = Self {
        verdict: Verdict::NotObservable,
        by_classical: false,
    };

    /// From 0, the worst. What an exception excuses is the better of two that are vulnerable.
    pub(crate) fn rank(self) -> u8 {
        2 * self.verdict.rank() + u8::from(self.by_classical)
    }

    /// The same of keys made in a conversation.
    pub(crate) fn of_keys(self) -> Self {
        Self {
            verdict: self.verdict.of_keys(),
            ..self
        }
    }

    /// The worse of two, where both must hold: one weak half is enough for an attacker, and one unknown half keeps the
    /// whole unknown.
    pub(crate) fn worse(self, other: Self) -> Self {
        if other.rank() < self.rank() { other } else { self }
    }
}

impl From<Verdict> for Judged {
    fn from(verdict: Verdict) -> Self {
        Self {
            verdict,
            by_classical: !verdict.is_vulnerable(),
        }
    }
}

bartizan_registry::made! {
    /// A statement with its reason. Only this crate makes one, from [`Evidence`](crate::Evidence).
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Founded<S>, pub(crate) on(statement: S, basis: Basis) {
        statement: S,
        basis: Basis,
        /// Algorithms of all keys and signatures that it rests on, where they are known.
        algorithms: Arc<[&'static str]> = Arc::default(),
    }
}

/// An answer with its reason.
pub type Reply = Founded<Answer>;

/// A verdict with its reason.
pub type Judgement = Founded<Judged>;

impl<S> Founded<S> {
    pub(crate) fn new(statement: impl Into<S>, because: impl Into<Arc<str>>, sources: Vec<Source>) -> Self {
        Self::on(statement.into(), Basis::new(because, sources))
    }

    pub(crate) fn basis(&self) -> &Basis {
        &self.basis
    }

    /// The reason, in words.
    pub fn because(&self) -> &str {
        &self.basis.because
    }

    pub(crate) fn with_algorithms(mut self, algorithms: impl Into<Arc<[&'static str]>>) -> Self {
        self.algorithms = algorithms.into();
        self
    }

    /// Algorithms of all keys and signatures that an authenticity rests on, by the names of
    /// certificates; none where not all are known.
    pub fn algorithms(&self) -> &[&'static str] {
        &self.algorithms
    }

    /// The packets and records it rests on.
    pub fn sources(&self) -> &[Source] {
        &self.basis.sources
    }
}

impl Reply {
    /// The answer.
    pub fn answer(&self) -> Answer {
        self.statement
    }
}

impl Judgement {
    /// The verdict.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.statement.verdict
    }

    pub(crate) fn judged(&self) -> Judged {
        self.statement
    }

    /// Returns true if an exception for classical algorithms excuses it.
    #[must_use]
    pub fn is_by_classical(&self) -> bool {
        self.statement.by_classical
    }
}
