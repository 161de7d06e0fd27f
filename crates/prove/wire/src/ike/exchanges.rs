//! The exchanges of an IKE_SA, packed: it may be idle for days, and a hundred thousand others with it.

use super::{Exchange, ExchangeType, Half, Party};
use crate::allocation::allocated;
use crate::{Moment, Timestamp};

bartizan_registry::made! {
    /// Exchanges in the order of their first packets: the first of many, and how many there were
    /// beyond. Each takes a third of what it would as it is.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Exchanges, pub(super) from(base: Moment) {
        /// Packet and time that all of them are counted from.
        base: Moment = base,
        packed: Box<[u8]> = Box::default(),
        kept: usize = 0,
        /// Number of exchanges after those that are kept.
        pub omitted: u64 = 0,
    }
}

impl Exchanges {
    /// Those that are kept, in their order.
    pub fn iter(&self) -> impl Iterator<Item = Exchange> {
        let mut packed = Packed {
            base: self.base,
            bytes: &self.packed,
        };
        (0..self.kept).map_while(move |_| packed.exchange())
    }

    /// Number of all exchanges.
    pub fn count(&self) -> u64 {
        self.kept as u64 + self.omitted
    }

    /// Bytes they hold besides their own.
    pub(super) fn held(&self) -> usize {
        allocated(self.packed.len())
    }

    /// Adds one, if there are fewer than so many; gives its place.
    pub(super) fn push(&mut self, exchange: &Exchange, limit: usize) -> Option<usize> {
        if self.kept == limit {
            self.omitted += 1;
            return None;
        }
        let mut packed = std::mem::take(&mut self.packed).into_vec();
        put_exchange(&mut packed, self.base, exchange);
        self.packed = packed.into();
        self.kept += 1;
        Some(self.kept - 1)
    }

    /// Changes the one at a place.
    pub(super) fn change(&mut self, place: usize, change: impl FnOnce(&mut Exchange)) {
        let mut rest = Packed {
            base: self.base,
            bytes: &self.packed,
        };
        for _ in 0..place {
            rest.exchange();
        }
        let before = self.packed.len() - rest.bytes.len();
        let Some(mut exchange) = rest.exchange() else { return };
        change(&mut exchange);
        let mut packed = Vec::with_capacity(self.packed.len() + 64);
        packed.extend_from_slice(&self.packed[..before]);
        put_exchange(&mut packed, self.base, &exchange);
        packed.extend_from_slice(rest.bytes);
        self.packed = packed.into();
    }
}

const BY_RESPONDER: u8 = 1;
const REQUEST: u8 = 2;
const RESPONSE: u8 = 4;
const REQUEST_COMPLETE: u8 = 8;
const RESPONSE_COMPLETE: u8 = 16;

fn put_exchange(out: &mut Vec<u8>, base: Moment, exchange: &Exchange) {
    let complete = |half: Option<Half>| half.is_some_and(|half| half.complete);
    let flags = [
        (exchange.requester == Party::Responder, BY_RESPONDER),
        (exchange.request.is_some(), REQUEST),
        (exchange.response.is_some(), RESPONSE),
        (complete(exchange.request), REQUEST_COMPLETE),
        (complete(exchange.response), RESPONSE_COMPLETE),
    ];
    let flags = flags.into_iter().filter_map(|(set, flag)| set.then_some(flag)).sum();
    out.extend([exchange.kind.0, flags]);
    put(out, exchange.message_id.into());
    for half in [exchange.request, exchange.response].into_iter().flatten() {
        put_moment(out, base, half.first);
        put_moment(out, half.first, half.last);
        for number in [
            half.packets.into(),
            half.ip_fragments.into(),
            half.bytes,
            half.ip_bytes,
            half.fragments.into(),
            half.repeated.into(),
        ] {
            put(out, number);
        }
    }
}

fn put_moment(out: &mut Vec<u8>, base: Moment, moment: Moment) {
    // A moment before the base, as after a clock went back, takes ten bytes.
    put(out, moment.packet.wrapping_sub(base.packet));
    put(out, moment.time.0.wrapping_sub(base.time.0));
}

/// Seven bits in each byte, the lowest first; the eighth says that more follow.
fn put(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Packed exchanges that are not read yet.
struct Packed<'a> {
    base: Moment,
    bytes: &'a [u8],
}

impl Packed<'_> {
    fn exchange(&mut self) -> Option<Exchange> {
        let (&[kind, flags], rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        let has = |flag: u8| flags & flag != 0;
        let message_id = self.number()? as u32;
        let mut half = |there: bool, complete: bool| there.then(|| self.half(complete));
        let request = half(has(REQUEST), has(REQUEST_COMPLETE));
        let response = half(has(RESPONSE), has(RESPONSE_COMPLETE));
        Some(Exchange {
            kind: ExchangeType(kind),
            message_id,
            requester: if has(BY_RESPONDER) {
                Party::Responder
            } else {
                Party::Initiator
            },
            request: request.flatten(),
            response: response.flatten(),
        })
    }

    fn half(&mut self, complete: bool) -> Option<Half> {
        let first = self.moment(self.base)?;
        Some(Half {
            first,
            last: self.moment(first)?,
            packets: self.number()? as u32,
            ip_fragments: self.number()? as u32,
            bytes: self.number()?,
            ip_bytes: self.number()?,
            fragments: self.number()? as u16,
            repeated: self.number()? as u32,
            complete,
        })
    }

    fn moment(&mut self, base: Moment) -> Option<Moment> {
        Some(Moment {
            packet: base.packet.wrapping_add(self.number()?),
            time: Timestamp(base.time.0.wrapping_add(self.number()?)),
        })
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        fn half()(
            numbers in any::<[u64; 6]>(),
            small in any::<[u32; 3]>(),
            fragments in any::<u16>(),
            complete in any::<bool>(),
        ) -> Half {
            let moment = |packet, time| Moment { packet, time: Timestamp(time) };
            Half {
                first: moment(numbers[0], numbers[1]),
                last: moment(numbers[2], numbers[3]),
                packets: small[0],
                ip_fragments: small[1],
                bytes: numbers[4],
                ip_bytes: numbers[5],
                fragments,
                repeated: small[2],
                complete,
            }
        }
    }

    prop_compose! {
        fn exchange()(
            kind in any::<u8>(),
            message_id in any::<u32>(),
            by_responder in any::<bool>(),
            request in proptest::option::of(half()),
            response in proptest::option::of(half()),
        ) -> Exchange {
            let requester = if by_responder { Party::Responder } else { Party::Initiator };
            Exchange { kind: ExchangeType(kind), message_id, requester, request, response }
        }
    }

    proptest! {
        #[test]
        fn what_is_packed_is_what_it_was_also_after_a_change(
            exchanges in proptest::collection::vec(exchange(), 1..12),
            other in exchange(),
            place in any::<proptest::sample::Index>(),
            base in any::<(u64, u64)>(),
        ) {
            let base = Moment { packet: base.0, time: Timestamp(base.1) };
            let mut packed = Exchanges::from(base);
            for (place, exchange) in exchanges.iter().enumerate() {
                let kept = (place < 8).then_some(place);
                prop_assert_eq!(packed.push(exchange, 8), kept);
            }
            let mut expected = exchanges.clone();
            expected.truncate(8);
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), expected.clone());
            prop_assert_eq!(packed.count(), exchanges.len() as u64);
            let place = place.index(expected.len());
            expected[place] = other;
            packed.change(place, |exchange| *exchange = other);
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), expected);
        }
    }
}
