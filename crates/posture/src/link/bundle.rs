//! Parts between the same ends, folded as they come: a link of a hundred thousand connections takes no more room than
//! one of two.

use std::collections::{BTreeMap, BTreeSet};

use bartizan_registry::NamedGroup;
use bartizan_wire::Moment;
use bartizan_wire::ike::KeyExchangeMethod;

use super::Direction;
use super::history::History;
use super::part::Part;
use super::worst::{Wanted, Worst};
use crate::{Answer, Judgement, Kind, Reply, Source, Verdict};

/// Groups and methods of a link told apart.
const ALGORITHMS: usize = 64;

/// The questions of one direction.
#[derive(Debug, Clone, Default)]
struct Questions {
    packets: u64,
    bytes: u64,
    offered: Worst<Wanted<true>>,
    preferred: Worst<Wanted<true>>,
    negotiated: Worst<Wanted<true>>,
    authenticated: Worst<Wanted<true>>,
    stayed: Worst<Wanted<true>>,
    clear: Worst<Wanted<false>>,
}

impl Questions {
    /// Adds what a part says of what one of its ends sent: the end at `index` of [`Part::ends`].
    fn add(&mut self, part: &Part<'_>, index: usize) {
        self.packets += part.packets[index];
        self.bytes += part.bytes[index];
        if part.packets[index] == 0 {
            return;
        }
        let (posture, at) = (part.posture, part.first.packet);
        let authenticated = if index == 0 {
            &posture.client_authenticated
        } else {
            &posture.server_authenticated
        };
        self.offered.add(Wanted(posture.offered.clone()), at);
        self.preferred.add(Wanted(posture.preferred.clone()), at);
        self.negotiated.add(Wanted(posture.negotiated.clone()), at);
        self.authenticated.add(Wanted(authenticated.clone()), at);
        self.stayed.add(Wanted(posture.stayed.clone()), at);
        self.clear.add(Wanted(posture.clear.clone()), at);
    }

    fn merge(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.offered.merge(other.offered);
        self.preferred.merge(other.preferred);
        self.negotiated.merge(other.negotiated);
        self.authenticated.merge(other.authenticated);
        self.stayed.merge(other.stayed);
        self.clear.merge(other.clear);
    }

    fn finish(self, all: &[Source]) -> Direction {
        fn reply<const YES: bool>(worst: Worst<Wanted<YES>>, all: &[Source]) -> Reply {
            worst.finish().map_or_else(
                || Reply::new(Answer::NotSeen, "nothing was sent in this direction", all.to_vec()),
                |wanted| wanted.0,
            )
        }
        Direction {
            packets: self.packets,
            bytes: self.bytes,
            offered: reply(self.offered, all),
            preferred: reply(self.preferred, all),
            negotiated: reply(self.negotiated, all),
            authenticated: reply(self.authenticated, all),
            stayed: reply(self.stayed, all),
            clear: reply(self.clear, all),
        }
    }
}

/// Parts folded. Its two directions are those of a pair of ends that its owner knows.
#[derive(Debug, Clone, Default)]
pub(super) struct Bundle {
    directions: [Questions; 2],
    confidentiality: Worst<Judgement>,
    authenticity: Worst<Judgement>,
    pub(super) by_kind: BTreeMap<Kind, u64>,
    pub(super) history: History,
    pub(super) groups: BTreeSet<NamedGroup>,
    pub(super) methods: BTreeSet<KeyExchangeMethod>,
    /// What its two ends are, by what was said.
    pub(super) functions: [BTreeSet<&'static str>; 2],
    pub(super) in_ledger: u64,
    /// First and last packet, and which of the two ends asked first.
    span: Option<(Moment, Moment, usize)>,
    pub(super) parts: u64,
}

impl Bundle {
    /// Adds a part whose asking end is the one at `asks` of the pair.
    pub(super) fn add(&mut self, part: &Part<'_>, asks: usize) {
        self.directions[asks].add(part, 0);
        self.directions[1 - asks].add(part, 1);
        let (posture, at) = (part.posture, part.first.packet);
        self.confidentiality.add(posture.confidentiality.clone(), at);
        self.authenticity.add(posture.authenticity.clone(), at);
        *self.by_kind.entry(posture.kind).or_default() += 1;
        self.history.add(part);
        if self.groups.len() < ALGORITHMS {
            self.groups.extend(posture.group);
        }
        if self.methods.len() < ALGORITHMS {
            self.methods.extend(&posture.key_exchanges);
        }
        let [ours, theirs] = &posture.functions;
        self.functions[asks].extend(ours);
        self.functions[1 - asks].extend(theirs);
        self.in_ledger += u64::from(posture.in_ledger);
        self.parts += 1;
        self.stretch(part.first, part.last, asks);
    }

    /// Adds another's parts; its directions are the other way round where `turned`.
    pub(super) fn merge(&mut self, other: Self, turned: bool) {
        let [one, two] = other.directions;
        let [one, two] = if turned { [two, one] } else { [one, two] };
        self.directions[0].merge(one);
        self.directions[1].merge(two);
        self.confidentiality.merge(other.confidentiality);
        self.authenticity.merge(other.authenticity);
        for (kind, count) in other.by_kind {
            *self.by_kind.entry(kind).or_default() += count;
        }
        self.history.merge(other.history);
        let room = |len: usize| ALGORITHMS.saturating_sub(len);
        self.groups = other
            .groups
            .into_iter()
            .take(room(self.groups.len()))
            .chain(std::mem::take(&mut self.groups))
            .collect();
        self.methods = other
            .methods
            .into_iter()
            .take(room(self.methods.len()))
            .chain(std::mem::take(&mut self.methods))
            .collect();
        let [one, two] = other.functions;
        let [one, two] = if turned { [two, one] } else { [one, two] };
        self.functions[0].extend(one);
        self.functions[1].extend(two);
        self.in_ledger += other.in_ledger;
        self.parts += other.parts;
        if let Some((first, last, asks)) = other.span {
            self.stretch(first, last, if turned { 1 - asks } else { asks });
        }
    }

    fn stretch(&mut self, first: Moment, last: Moment, asks: usize) {
        let (begins, ends, asked) = self.span.get_or_insert((first, last, asks));
        if first.packet < begins.packet {
            (*begins, *asked) = (first, asks);
        }
        if last.packet > ends.packet {
            *ends = last;
        }
    }

    /// First and last packet, and which of the two ends asked first.
    pub(super) fn span(&self) -> Option<(Moment, Moment, usize)> {
        self.span
    }

    /// Both directions and both verdicts, which rest on `all` where nothing else is said.
    pub(super) fn finish(self, all: &[Source]) -> ([Direction; 2], Judgement, Judgement) {
        let judgement = |worst: Worst<Judgement>| {
            worst
                .finish()
                .unwrap_or_else(|| Judgement::new(Verdict::NotSeen, "nothing was sent", all.to_vec()))
        };
        (
            self.directions.map(|questions| questions.finish(all)),
            judgement(self.confidentiality),
            judgement(self.authenticity),
        )
    }
}
