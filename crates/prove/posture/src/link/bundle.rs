//! Parts between the same ends, folded as they come: a link of a hundred thousand connections takes no more room than
//! one of two.

use std::collections::BTreeSet;

use bartizan_registry::NamedGroup;
use bartizan_wire::Moment;
use bartizan_wire::ike::KeyExchangeMethod;

use super::history::History;
use super::omitted::Missing;
use super::part::Part;
use super::reasons::Reasons;
use super::worst::{Wanted, Worst};
use super::{Direction, held};
use crate::{Answer, Judged, Judgement, Kind, Posture, Reply, Source, Verdict};

/// Groups and methods of a link distinguished.
const ALGORITHMS: usize = 64;
/// Kinds of parts distinguished: versions of TLS are whatever an end writes.
const KINDS: usize = 256;

/// The questions whose answers are of a part, and not of one of its ends.
#[derive(Debug, Clone, Default)]
struct Questions {
    offered: Worst<Wanted<true>>,
    preferred: Worst<Wanted<true>>,
    negotiated: Worst<Wanted<true>>,
    stayed: Worst<Wanted<true>>,
    clear: Worst<Wanted<false>>,
}

impl Questions {
    fn add(&mut self, posture: &Posture, at: u64, reasons: &mut Reasons) {
        self.offered.replied(&posture.offered, at, reasons);
        self.preferred.replied(&posture.preferred, at, reasons);
        self.negotiated.replied(&posture.negotiated, at, reasons);
        self.stayed.replied(&posture.stayed, at, reasons);
        self.clear.replied(&posture.clear, at, reasons);
    }

    fn merge(&mut self, other: Self) {
        self.offered.merge(other.offered);
        self.preferred.merge(other.preferred);
        self.negotiated.merge(other.negotiated);
        self.stayed.merge(other.stayed);
        self.clear.merge(other.clear);
    }

    fn share(&mut self, reasons: &mut Reasons) {
        for question in [
            &mut self.offered,
            &mut self.preferred,
            &mut self.negotiated,
            &mut self.stayed,
        ] {
            question.share(reasons);
        }
        self.clear.share(reasons);
    }

    fn held(&self) -> usize {
        let of_key_exchange = [&self.offered, &self.preferred, &self.negotiated, &self.stayed];
        of_key_exchange.into_iter().map(Worst::held).sum::<usize>() + self.clear.held()
    }
}

/// Traffic sent by one end.
#[derive(Debug, Clone, Default)]
struct Sent {
    packets: u64,
    bytes: u64,
    authenticated: Worst<Wanted<true>>,
    /// Questions of parts in which this end alone sent: ESP has one direction.
    alone: Option<Box<Questions>>,
}

/// Parts folded. Its two directions are those of a pair of ends that its owner knows.
#[derive(Debug, Clone, Default)]
pub(super) struct Bundle {
    sent: [Sent; 2],
    /// Questions of parts in which both ends sent: most of them.
    both: Questions,
    confidentiality: Worst<Judged>,
    authenticity: Worst<Judged>,
    pub(super) by_kind: Vec<(Kind, u64)>,
    pub(super) history: History,
    pub(super) groups: BTreeSet<NamedGroup>,
    pub(super) ssh_methods: BTreeSet<String>,
    /// Functions of its two ends, if any are known.
    functions: Option<Box<[Vec<&'static str>; 2]>>,
    /// Key exchanges of IKEv2, each with the methods that were mixed, in their order.
    key_exchanges: Vec<Box<[KeyExchangeMethod]>>,
    pub(super) in_ledger: u64,
    /// First and last packet, and whether the second of the two ends asked first.
    span: Option<(Moment, Moment, bool)>,
    pub(super) parts: u64,
}

impl Bundle {
    /// Adds a part whose asking end is the one at `asks` of the pair.
    pub(super) fn add(&mut self, part: &Part<'_>, asks: usize, reasons: &mut Reasons) {
        let (posture, at) = (part.posture, part.first.packet);
        let authenticated = [&posture.client_authenticated, &posture.server_authenticated];
        for (index, reply) in authenticated.into_iter().enumerate() {
            let sent = &mut self.sent[asks ^ index];
            sent.packets += part.packets[index];
            sent.bytes += part.bytes[index];
            if part.packets[index] > 0 {
                sent.authenticated.replied(reply, at, reasons);
            }
        }
        let questions = match part.packets {
            [0, 0] => None,
            [_, 0] => Some(&mut **self.sent[asks].alone.get_or_insert_default()),
            [0, _] => Some(&mut **self.sent[1 - asks].alone.get_or_insert_default()),
            _ => Some(&mut self.both),
        };
        if let Some(questions) = questions {
            questions.add(posture, at, reasons);
        }
        self.confidentiality.judged(&posture.confidentiality, at, reasons);
        self.authenticity.judged(&posture.authenticity, at, reasons);
        self.count(posture.kind, 1);
        self.history.add(part);
        if self.groups.len() < ALGORITHMS {
            self.groups.extend(posture.group);
        }
        for (index, names) in posture.functions.iter().enumerate() {
            self.name(asks ^ index, names);
        }
        if self.ssh_methods.len() < ALGORITHMS {
            self.ssh_methods.extend(posture.ssh_key_exchange.clone());
        }
        if !posture.key_exchanges.is_empty() {
            self.exchanged(&posture.key_exchanges);
        }
        self.in_ledger += u64::from(posture.in_ledger);
        self.parts += 1;
        self.stretch(part.first, part.last, asks);
    }

    /// Adds another's parts; its directions are the other way round where `turned`.
    pub(super) fn merge(&mut self, other: Self, turned: bool) {
        let [one, two] = other.sent;
        let sent = if turned { [two, one] } else { [one, two] };
        for (ours, theirs) in self.sent.iter_mut().zip(sent) {
            ours.packets += theirs.packets;
            ours.bytes += theirs.bytes;
            ours.authenticated.merge(theirs.authenticated);
            if let Some(alone) = theirs.alone {
                ours.alone.get_or_insert_default().merge(*alone);
            }
        }
        self.both.merge(other.both);
        self.confidentiality.merge(other.confidentiality);
        self.authenticity.merge(other.authenticity);
        for (kind, count) in other.by_kind {
            self.count(kind, count);
        }
        self.history.merge(other.history);
        let room = |len: usize| ALGORITHMS.saturating_sub(len);
        self.groups = other
            .groups
            .into_iter()
            .take(room(self.groups.len()))
            .chain(std::mem::take(&mut self.groups))
            .collect();
        let of_ssh = room(self.ssh_methods.len());
        self.ssh_methods.extend(other.ssh_methods.into_iter().take(of_ssh));
        for (index, names) in other.functions.iter().flat_map(|ends| ends.iter().enumerate()) {
            self.name(index ^ usize::from(turned), names);
        }
        other.key_exchanges.iter().for_each(|methods| self.exchanged(methods));
        self.in_ledger += other.in_ledger;
        self.parts += other.parts;
        if let Some((first, last, asks)) = other.span {
            self.stretch(first, last, usize::from(asks != turned));
        }
    }

    /// Gives its reasons as these keep them.
    pub(super) fn share(&mut self, reasons: &mut Reasons) {
        self.confidentiality.share(reasons);
        self.authenticity.share(reasons);
        self.both.share(reasons);
        for sent in &mut self.sent {
            sent.authenticated.share(reasons);
            if let Some(alone) = &mut sent.alone {
                alone.share(reasons);
            }
        }
    }

    /// Packets that either end sent.
    pub(super) fn packets(&self) -> [u64; 2] {
        [&self.sent[0], &self.sent[1]].map(|sent| sent.packets)
    }

    /// Records parts between the same ends that were not read, the first of them at packet `at`:
    /// that answers every question.
    pub(super) fn not_read(&mut self, because: &Judgement, at: u64, reasons: &mut Reasons) {
        let reply = Reply::on(Answer::NotSeen, because.basis().clone());
        self.confidentiality.judged(because, at, reasons);
        self.authenticity.judged(because, at, reasons);
        for sent in &mut self.sent {
            sent.authenticated.replied(&reply, at, reasons);
        }
        let questions = &mut self.both;
        for question in [
            &mut questions.offered,
            &mut questions.preferred,
            &mut questions.negotiated,
            &mut questions.stayed,
        ] {
            question.replied(&reply, at, reasons);
        }
        questions.clear.replied(&reply, at, reasons);
    }

    /// Nothing of it was read at all: what is known is that there were packets, from either end.
    pub(super) fn nothing_read(&mut self, missing: &Missing) {
        for (sent, packets) in self.sent.iter_mut().zip(missing.packets) {
            sent.packets += packets;
        }
        let asks = usize::from(missing.packets[0] == 0);
        self.stretch(missing.first, missing.last, asks);
        self.parts += 1;
    }

    fn count(&mut self, kind: Kind, parts: u64) {
        if let Some((_, count)) = self.by_kind.iter_mut().find(|(known, _)| *known == kind) {
            *count += parts;
        } else if self.by_kind.len() < KINDS {
            // Most links have one kind.
            self.by_kind.reserve_exact(1);
            self.by_kind.push((kind, parts));
        }
    }

    /// Methods that were mixed in a key exchange.
    fn exchanged(&mut self, methods: &[KeyExchangeMethod]) {
        let known = self.key_exchanges.iter().any(|known| **known == *methods);
        if !known && self.key_exchanges.len() < ALGORITHMS {
            self.key_exchanges.reserve_exact(1);
            self.key_exchanges.push(methods.into());
        }
    }

    /// Key exchanges of IKEv2, by the methods of each, and all of these.
    pub(super) fn key_exchanges(&mut self) -> (BTreeSet<Vec<KeyExchangeMethod>>, BTreeSet<KeyExchangeMethod>) {
        let key_exchanges = std::mem::take(&mut self.key_exchanges);
        let methods = key_exchanges
            .iter()
            .flat_map(|methods| methods.iter().copied())
            .collect();
        (key_exchanges.into_iter().map(Vec::from).collect(), methods)
    }

    /// Adds functions of one of its ends.
    fn name(&mut self, end: usize, names: &[&'static str]) {
        for name in names {
            let known = &mut self.functions.get_or_insert_default()[end];
            if !known.contains(name) {
                known.reserve_exact(1);
                known.push(name);
            }
        }
    }

    /// Functions of its two ends, by name.
    pub(super) fn functions(&mut self) -> [Vec<&'static str>; 2] {
        let mut functions = self
            .functions
            .take()
            .map_or_else(Default::default, |functions| *functions);
        functions.iter_mut().for_each(|names| names.sort_unstable());
        functions
    }

    fn stretch(&mut self, first: Moment, last: Moment, asks: usize) {
        let asks = asks == 1;
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
            .map(|(first, last, second)| (first, last, usize::from(second)))
    }

    /// Bytes it holds, what its reasons say not among them.
    pub(super) fn held(&self) -> usize {
        let sent = self.sent.iter().map(|sent| {
            let alone = sent.alone.as_ref();
            sent.authenticated.held() + alone.map_or(0, |alone| held(1, size_of::<Questions>()) + alone.held())
        });
        let verdicts = self.confidentiality.held() + self.authenticity.held();
        // A set's leaf has room for eleven.
        let methods = self
            .key_exchanges
            .iter()
            .map(|methods| held(methods.len(), size_of::<KeyExchangeMethod>()));
        held(1, size_of::<Self>())
            + sent.sum::<usize>()
            + self.both.held()
            + verdicts
            + held(self.by_kind.capacity(), size_of::<(Kind, u64)>())
            + self.history.held()
            + held(self.groups.len().div_ceil(6), 48)
            + held(self.key_exchanges.capacity(), size_of::<Box<[KeyExchangeMethod]>>())
            + methods.sum::<usize>()
            + held(self.ssh_methods.len().div_ceil(6), 288)
            + self.ssh_methods.iter().map(|name| held(1, name.len())).sum::<usize>()
            + self.functions.as_ref().map_or(0, |ends| {
                let names = ends.iter().map(|names| held(names.capacity(), size_of::<&str>()));
                held(2, size_of::<Vec<&str>>()) + names.sum::<usize>()
            })
    }

    /// Both directions and both verdicts, which rest on `all` where nothing else is said.
    pub(super) fn finish(self, all: &[Source]) -> ([Direction; 2], Judgement, Judgement) {
        let judgement = |worst: Worst<Judged>| {
            worst
                .judgement()
                .unwrap_or_else(|| Judgement::new(Verdict::NotSeen, "nothing was sent", all.to_vec()))
        };
        let both = self.both;
        let directions = self.sent.map(|sent| direction(sent, both.clone(), all));
        (
            directions,
            judgement(self.confidentiality),
            judgement(self.authenticity),
        )
    }
}

fn direction(sent: Sent, mut questions: Questions, all: &[Source]) -> Direction {
    fn reply<const YES: bool>(worst: Worst<Wanted<YES>>, all: &[Source]) -> Reply {
        worst
            .reply()
            .unwrap_or_else(|| Reply::new(Answer::NotSeen, "nothing was sent in this direction", all.to_vec()))
    }
    if let Some(alone) = sent.alone {
        questions.merge(*alone);
    }
    Direction {
        packets: sent.packets,
        bytes: sent.bytes,
        offered: reply(questions.offered, all),
        preferred: reply(questions.preferred, all),
        negotiated: reply(questions.negotiated, all),
        authenticated: reply(sent.authenticated, all),
        stayed: reply(questions.stayed, all),
        clear: reply(questions.clear, all),
    }
}
