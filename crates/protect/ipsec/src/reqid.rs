//! The number by which the kernel joins a link's policies, templates and states.

use bartizan_deployment::Interface;

/// First of our numbers: charon counts its own from 1, manual ones are small, and those of the
/// guard by XFRM begin at 2^30.
const FIRST: u32 = 1 << 29;

/// The number of a link's CHILD_SA, by its place among those of the link. It is the same in every
/// run of every version, so that the guard knows it before charon is asked, and a different number
/// at the peer does no harm: it stays in the kernel.
pub(crate) fn of(interface: &Interface, index: usize) -> u32 {
    let [one, other] = &interface.between;
    // The order of the ends in the file is not theirs.
    let (first, second) = (one.min(other), one.max(other));
    let text = format!("{first} {second} {} {index}", interface.kind.name());
    FIRST | (fingerprint(&text) & (FIRST - 1))
}

/// FNV-1a, 32 bits.
pub fn fingerprint(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}
