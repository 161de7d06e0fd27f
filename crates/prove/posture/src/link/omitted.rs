//! Packets that were not read, or not kept, because memory was full: their hosts and their first
//! packet.

use bartizan_wire::{Address, Moment};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::part::Carrier;
use crate::{Judgement, Source, Verdict};

/// Pairs of hosts that are named. Of more it is only known whether they are among those of which something is missing.
const NAMED: usize = 256;
/// Words of marks: 32 KiB.
const WORDS: usize = 4096;

/// Two hosts, the lesser first, and what carried what is missing.
pub(super) type Pair = (Carrier, [Address; 2]);

/// Missing packets between two hosts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Missing {
    pub(super) first: Moment,
    pub(super) last: Moment,
    /// Packets from the lesser host, and from the other.
    pub(super) packets: [u64; 2],
}

/// All that is missing. A pair of which something is missing is always found; one of which nothing is may be, where very many
/// are marked: then it is called unproven, never safe.
#[derive(Debug, Default)]
pub(super) struct Omitted {
    marks: Vec<u64>,
    named: BTreeMap<Pair, Missing>,
    first: Option<Moment>,
}

impl Omitted {
    /// Something from `source` to `destination` is missing.
    pub(super) fn add(&mut self, carrier: Carrier, source: Address, destination: Address, at: Moment, packets: u64) {
        let turned = destination < source;
        let (ends, packets) = if turned {
            ([destination, source], [0, packets])
        } else {
            ([source, destination], [packets, 0])
        };
        let missing = Missing {
            first: at,
            last: at,
            packets,
        };
        self.miss((carrier, ends), &missing);
    }

    /// All that another knows to be missing is missing here too.
    pub(super) fn merge(&mut self, other: &Self) {
        let Some(first) = other.first else { return };
        self.marks.resize(WORDS, 0);
        for (ours, theirs) in self.marks.iter_mut().zip(&other.marks) {
            *ours |= theirs;
        }
        for (pair, missing) in &other.named {
            self.miss(*pair, missing);
        }
        // Those that were not named may have begun before all that were.
        if self.first.is_none_or(|known| first.packet < known.packet) {
            self.first = Some(first);
        }
    }

    fn miss(&mut self, pair: Pair, more: &Missing) {
        if self.first.is_none_or(|first| more.first.packet < first.packet) {
            self.first = Some(more.first);
        }
        self.marks.resize(WORDS, 0);
        for (word, bit) in places(&pair) {
            self.marks[word] |= bit;
        }
        let named = self.named.len();
        let missing = match self.named.entry(pair) {
            std::collections::btree_map::Entry::Vacant(_) if named >= NAMED => return,
            entry => entry.or_insert(Missing {
                packets: [0; 2],
                ..*more
            }),
        };
        if more.first.packet < missing.first.packet {
            missing.first = more.first;
        }
        if more.last.packet > missing.last.packet {
            missing.last = more.last;
        }
        for (ours, theirs) in missing.packets.iter_mut().zip(more.packets) {
            *ours += theirs;
        }
    }

    /// Reason why traffic between these two is not fully known, if packets are missing, with the
    /// first of them.
    pub(super) fn of(&self, pair: &Pair) -> Option<(Judgement, Moment)> {
        let marked = !self.marks.is_empty() && places(pair).iter().all(|&(word, bit)| self.marks[word] & bit != 0);
        let first = self.named.get(pair).map(|missing| missing.first).or(self.first)?;
        let because = format!(
            "memory was full: of what passed from packet {} on a part was not read",
            first.packet
        );
        let judgement = Judgement::new(Verdict::NotSeen, because, vec![Source::between(first, first)]);
        marked.then_some((judgement, first))
    }

    /// The pairs that are named.
    pub(super) fn named(&self) -> impl Iterator<Item = (&Pair, &Missing)> {
        self.named.iter()
    }

    /// The first packet of all.
    pub(super) fn first(&self) -> Option<Moment> {
        self.first
    }
}

/// Marks for each pair.
const MARKS: usize = 4;

/// The marks of a pair: words, and bits in them. The hash has no secret: a sender that makes pairs
/// collide makes them unproven.
fn places(pair: &Pair) -> [(usize, u64); MARKS] {
    let mut hasher = DefaultHasher::new();
    pair.hash(&mut hasher);
    let hash = hasher.finish();
    let (first, step) = (hash as u32, (hash >> 32) as u32 | 1);
    std::array::from_fn(|index| {
        let place = first.wrapping_add(step.wrapping_mul(index as u32));
        ((place >> 6) as usize % WORDS, 1 << (place & 63))
    })
}

#[cfg(test)]
mod tests {
    use bartizan_wire::Timestamp;

    use super::*;

    #[test]
    fn whatever_is_missing_is_found_in_either_direction_and_few_others_are() {
        let host = |number: u32| Address::Ip(number.to_be_bytes().into());
        let at = |packet| Moment {
            packet,
            time: Timestamp(packet),
        };
        let mut omitted = Omitted::default();
        for number in 0..1000 {
            omitted.add(
                Carrier::Tcp,
                host(number + 1),
                host(number),
                at(u64::from(number) + 7),
                1,
            );
        }
        let pair = |number| (Carrier::Tcp, [host(number), host(number + 1)]);
        for number in 0..1000 {
            let (judgement, _) = omitted.of(&pair(number)).unwrap();
            assert_eq!(judgement.verdict(), Verdict::NotSeen);
        }
        assert_eq!(omitted.of(&pair(5)).unwrap().1.packet, 12);
        let others = (2000..12_000)
            .filter(|&number| omitted.of(&pair(number)).is_some())
            .count();
        // 4000 of 262144 marks, four for each pair: one in 18 million by chance.
        assert_eq!(others, 0);
        assert_eq!(omitted.named().count(), NAMED);
        assert_eq!(omitted.first().unwrap().packet, 7);
    }
}
