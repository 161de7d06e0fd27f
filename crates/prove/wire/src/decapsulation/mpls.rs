//! MPLS: labels, and what stands below them.

use super::frame::{Carried, Step};
use super::{looks_like_ethernet, looks_like_ip};
use crate::frames::FrameProtocol;
use crate::path::{Encapsulation, Layer};

/// Labels of one stack. A network uses four.
const LABELS: usize = 16;
/// Entropy label indicator: the label behind it differs for each conversation (RFC 6790).
const ENTROPY: u32 = 7;

/// Follows labels to the bottom of their stack (RFC 3032, section 2.1). The bottom one counts:
/// those above lead through the network, may change on the way, and are gone on its last hop.
pub(super) fn labels<'a>(mut rest: &'a [u8], layers: &mut Vec<Layer>) -> Option<Step<'a>> {
    let (mut bottom, mut above) = (None, 0);
    for _ in 0..LABELS {
        let (entry, behind) = rest.split_first_chunk::<4>()?;
        let entry = u32::from_be_bytes(*entry);
        rest = behind;
        let label = entry >> 12;
        if label != ENTROPY && above != ENTROPY {
            bottom = Some(label);
        }
        above = label;
        if entry & 0x100 != 0 {
            layers.push(Layer::new(Encapsulation::Mpls, bottom));
            return Some(below(rest, layers));
        }
    }
    Some(Step::Other(FrameProtocol::Deep, rest))
}

/// Payload of a label stack, which nothing names. An IP packet shows its version; a pseudowire has
/// a control word that begins with zero (RFC 4385, section 3), or none.
fn below<'a>(bytes: &'a [u8], layers: &mut Vec<Layer>) -> Step<'a> {
    // The first half of a frame's address may look like a version.
    if looks_like_ip(bytes) && !(looks_like_ethernet(bytes) && bytes[0] >> 4 == 6) {
        return Step::On(Carried::Ip(bytes));
    }
    let behind_word = bytes.get(4..).unwrap_or_default();
    let frame = match bytes.first() {
        Some(first) if first >> 4 == 0 && looks_like_ethernet(behind_word) => behind_word,
        _ if looks_like_ethernet(bytes) => bytes,
        // Neither a whole header of IP nor a frame: what was captured of a packet may end here.
        Some(first) if matches!(first >> 4, 4 | 6) => return Step::On(Carried::Ip(bytes)),
        _ => return channel(bytes),
    };
    layers.push(Layer::new(Encapsulation::PseudoWire, None));
    Step::On(Carried::Ethernet(frame))
}

/// An associated channel (RFC 5586, section 2.1): its type says what is in it. Faults, delays and
/// continuity need no judgement, and IP is followed; the rest may be anything, as that between
/// managers is (RFC 5718).
fn channel(bytes: &[u8]) -> Step<'_> {
    let Some((&[0x10, 0, high, low], rest)) = bytes.split_first_chunk::<4>() else {
        return Step::Other(FrameProtocol::PseudoWire, bytes);
    };
    match u16::from_be_bytes([high, low]) {
        0x0021 | 0x0057 => Step::On(Carried::Ip(rest)),
        // BFD, loss and delay, continuity, protection, LSP ping, state, faults, CFM.
        0x0007 | 0x000a..=0x000e | 0x0022..=0x0027 | 0x0058 | 0x8902 => {
            Step::Other(FrameProtocol::AssociatedChannel, rest)
        }
        _ => Step::Other(FrameProtocol::PseudoWire, bytes),
    }
}
