//! Requests and answers of protocols over UDP that number them: a name needs an answer that fits.

use super::{DatagramProtocol, Datagrams, Named, named};
use crate::Side;

/// Requests of each end that an answer is looked for. They are forgotten with the first one.
const ASKED: usize = 256;

/// Requests of either end that are not answered, by number, the newest last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answers {
    asked: [Vec<u64>; 2],
    answered: bool,
}

/// The number that a message asks by, and the one that it answers. A message of which only the
/// number shows whether it answers has both.
type Numbers = (Option<u64>, Option<u64>);

impl Answers {
    /// Those of a protocol whose messages are numbered.
    pub(crate) fn of(protocol: DatagramProtocol) -> Option<Self> {
        let numbered = match protocol {
            DatagramProtocol::Pfcp | DatagramProtocol::GtpC => true,
            DatagramProtocol::Named(named) => matches!(
                named,
                Named::Dns
                    | Named::Radius
                    | Named::Ntp
                    | Named::Gtp1C
                    | Named::GtpPrime
                    | Named::Snmp1
                    | Named::Snmp2
                    | Named::Snmp3
                    | Named::Snmp3Private
            ),
            _ => false,
        };
        numbered.then(Self::default)
    }

    /// Takes a datagram of an end.
    pub(crate) fn take(&mut self, protocol: DatagramProtocol, bytes: &[u8], from: Side) {
        if self.answered {
            return;
        }
        let (asks, answers) = numbers(protocol, bytes).unwrap_or_default();
        let [ours, theirs] = match from {
            Side::Client => [0, 1],
            Side::Server => [1, 0],
        };
        if answers.is_some_and(|answers| self.asked[theirs].contains(&answers)) {
            *self = Self {
                answered: true,
                ..Self::default()
            };
            return;
        }
        let asked = &mut self.asked[ours];
        if let Some(asks) = asks.filter(|asks| !asked.contains(asks)) {
            if asked.len() == ASKED {
                asked.remove(0);
            }
            asked.push(asks);
        }
    }

    /// Bytes it holds on the heap.
    pub(crate) fn held(&self) -> usize {
        let asked = self.asked.iter();
        asked
            .map(|asked| crate::allocation::allocated(asked.capacity() * size_of::<u64>()))
            .sum()
    }

    /// Names what was seen as UDP where its name is not believed: an end asked, and the other spoke
    /// and did not answer, or the structure is weak and nothing was answered.
    pub(crate) fn judge(&self, seen: &mut Datagrams) {
        let spoke = [seen.from_client.packets > 0, seen.from_server.packets > 0];
        let ignored = |from: usize| !self.asked[from].is_empty() && spoke[1 - from];
        let is_weak = matches!(seen.protocol, DatagramProtocol::Named(named) if named.is_weak());
        if !self.answered && (is_weak || ignored(0) || ignored(1)) {
            seen.protocol = DatagramProtocol::Udp;
            seen.messages = super::Messages::default();
            seen.controlled_by = None;
        }
    }
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.first_chunk::<N>()?;
    Some(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// A number with the type of its request: answers have the next one.
fn by_type(kind: u8, number: u64) -> Numbers {
    let of = |kind: u8| number << 8 | u64::from(kind);
    (Some(of(kind)), kind.checked_sub(1).map(of))
}

fn numbers(protocol: DatagramProtocol, bytes: &[u8]) -> Option<Numbers> {
    let (&first, &kind) = (bytes.first()?, bytes.get(1)?);
    let either = |answers: bool, number: u64| {
        if answers {
            (None, Some(number))
        } else {
            (Some(number), None)
        }
    };
    Some(match protocol {
        // TS 29.244, section 7.2.2, and TS 29.274, section 5.1: the number is behind session or
        // tunnel.
        DatagramProtocol::Pfcp => by_type(kind, number::<3>(bytes, if first & 0x01 != 0 { 12 } else { 4 })?),
        DatagramProtocol::GtpC => by_type(kind, number::<3>(bytes, if first & 0x08 != 0 { 8 } else { 4 })?),
        // TS 29.060, section 6.
        DatagramProtocol::Named(Named::Gtp1C) if first & 0x02 != 0 => by_type(kind, number::<2>(bytes, 8)?),
        DatagramProtocol::Named(Named::GtpPrime) => by_type(kind, number::<2>(bytes, 4)?),
        // QR (RFC 1035, section 4.1.1).
        DatagramProtocol::Named(Named::Dns) => either(bytes.get(2)? & 0x80 != 0, number::<2>(bytes, 0)?),
        // Codes of requests (RFC 2865, section 4; RFC 5176, section 2.3).
        DatagramProtocol::Named(Named::Radius) => {
            either(!matches!(first, 1 | 4 | 12 | 13 | 40 | 43), number::<1>(bytes, 1)?)
        }
        // Mode 6 and 7: the R bit and a sequence number (RFC 9327, section 2). Others: an answer
        // has the time at which its request was sent (RFC 5905, section 8).
        DatagramProtocol::Named(Named::Ntp) => match first & 0x07 {
            6 => either(kind & 0x80 != 0, number::<2>(bytes, 2)?),
            7 => either(first & 0x80 != 0, u64::from(kind & 0x7f)),
            5 => return None,
            _ => {
                let time = |at: usize| number::<8>(bytes, at).filter(|time| *time != 0);
                (time(40), time(24))
            }
        },
        DatagramProtocol::Named(Named::Snmp1 | Named::Snmp2 | Named::Snmp3 | Named::Snmp3Private) => {
            let (kind, number) = named::snmp_number(bytes)?;
            match kind {
                // GetRequest, GetNextRequest, SetRequest, GetBulkRequest, InformRequest (RFC 3416,
                // section 3).
                Some(0xa0 | 0xa1 | 0xa3 | 0xa5 | 0xa6) => (Some(number), None),
                Some(0xa2 | 0xa8) => (None, Some(number)),
                Some(_) => return None,
                None => (Some(number), Some(number)),
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
