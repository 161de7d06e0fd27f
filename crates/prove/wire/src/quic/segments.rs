//! Datagrams that a host sent at once (UDP_SEGMENT, UDP_GRO): a capture on it shows them as one, at
//! a fixed stride.

use super::header::{self, Cid};

/// The largest payload of a link without jumbo frames.
const LARGEST: usize = 1500;
/// No datagram with a packet is shorter (RFC 9001, section 5.4.2).
const SHORTEST: usize = 21;
/// Identifiers that are shorter may stand anywhere by chance.
const TELLING: usize = 4;

/// The datagrams in a payload, and bytes that are missing behind each.
pub(super) fn segments<'a>(
    payload: &'a [u8],
    missing: usize,
    cids: &[Cid],
) -> impl Iterator<Item = (&'a [u8], usize)> + use<'a> {
    let stride = stride(payload, missing, cids).unwrap_or(payload.len().max(1));
    let last = payload.len().saturating_sub(1) / stride;
    payload.chunks(stride).enumerate().map(move |(place, segment)| {
        let missing = if place == last { missing } else { 0 };
        (segment, missing)
    })
}

/// The distance at which packets for known identifiers follow each other to the end of the payload.
fn stride(payload: &[u8], missing: usize, cids: &[Cid]) -> Option<usize> {
    if payload.len() + missing <= LARGEST {
        return None;
    }
    let begins = |place: usize| payload.get(place..).is_some_and(|packet| begins(packet, cids));
    let last = payload.len().checked_sub(SHORTEST)?;
    let mut strides = (SHORTEST..=last).filter(|stride| begins(*stride));
    strides.find(|stride| {
        (2..)
            .map(|number| number * stride)
            .take_while(|place| *place <= last)
            .all(begins)
    })
}

/// True where a packet begins here that is for one of these identifiers.
fn begins(packet: &[u8], cids: &[Cid]) -> bool {
    let mut telling = cids.iter().filter(|cid| cid.bytes().len() >= TELLING);
    match packet.first() {
        Some(first) if first & 0x80 != 0 => {
            header::long(packet).is_some_and(|long| long.known.is_some() && telling.any(|cid| *cid == long.destination))
        }
        Some(_) => telling.any(|cid| packet[1..].starts_with(cid.bytes())),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet with a short header for this identifier, of bytes that are none of it.
    fn short(cid: &Cid, length: usize) -> Vec<u8> {
        let mut packet = vec![0x41];
        packet.extend(cid.bytes());
        packet.resize(length, 0x5a);
        packet
    }

    #[test]
    fn packets_of_one_stride_are_apart_and_others_are_left_alone() {
        let cids = [Cid::new(&[7, 8, 9, 10, 11, 12, 13, 14]).unwrap()];
        let [whole, rest] = [1252, 300].map(|length| short(&cids[0], length));
        let payload = [&whole[..], &whole, &whole, &rest].concat();
        let lengths = |payload: &[u8], missing, cids: &[Cid]| -> Vec<(usize, usize)> {
            let found = segments(payload, missing, cids);
            found.map(|(segment, missing)| (segment.len(), missing)).collect()
        };
        assert_eq!(lengths(&payload, 0, &cids), [(1252, 0), (1252, 0), (1252, 0), (300, 0)]);
        // Only the beginning was captured.
        let cut = &payload[..2000];
        assert_eq!(lengths(cut, payload.len() - 2000, &cids), [(1252, 0), (748, 2056)]);
        assert_eq!(lengths(&payload, 0, &[]), [(payload.len(), 0)]);
        assert_eq!(lengths(&whole, 0, &cids), [(1252, 0)]);
        // One packet for the identifier, and none behind it at twice the distance.
        let other = [&whole[..], &rest, &[0x5a; 2000]].concat();
        assert_eq!(lengths(&other, 0, &cids), [(other.len(), 0)]);
    }
}
