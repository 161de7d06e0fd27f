//! Integers with a prefix (RFC 7541, section 5.1).

/// Larger ones mean nothing here: no length, index or table size comes near.
const AT_MOST: usize = 1 << 28;

/// Takes an integer from the front; the first octet's lower `prefix` bits belong to it. `None`
/// where it is cut off or too large.
pub(super) fn take(block: &mut &[u8], prefix: u32) -> Option<usize> {
    let (&first, mut rest) = block.split_first()?;
    let mask = (1_u8 << prefix) - 1;
    let mut value = usize::from(first & mask);
    if first & mask == mask {
        let mut shift = 0;
        loop {
            let (&byte, after) = rest.split_first()?;
            rest = after;
            value = value.checked_add(usize::from(byte & 0x7f) << shift)?;
            if value > AT_MOST || shift > 28 {
                return None;
            }
            if byte & 0x80 == 0 {
                break;
            }
            shift += 7;
        }
    }
    *block = rest;
    Some(value)
}

/// Appends an integer; `pattern` has the bits above the prefix.
pub(super) fn put(out: &mut Vec<u8>, pattern: u8, prefix: u32, value: usize) {
    let mask = (1_usize << prefix) - 1;
    if value < mask {
        // Fits by the comparison.
        out.push(pattern | value as u8);
        return;
    }
    out.push(pattern | mask as u8);
    let mut rest = value - mask;
    while rest >= 0x80 {
        out.push(0x80 | (rest & 0x7f) as u8);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn integers_of_the_rfc() {
        // Appendix C.1.
        let mut out = Vec::new();
        put(&mut out, 0, 5, 10);
        put(&mut out, 0, 5, 1337);
        put(&mut out, 0, 7, 42);
        assert_eq!(out, [0b0000_1010, 0b0001_1111, 0b1001_1010, 0b0000_1010, 0b0010_1010]);
    }

    proptest! {
        #[test]
        fn what_is_put_is_taken(value in 0..AT_MOST, prefix in 4_u32..=7) {
            let mut out = Vec::new();
            put(&mut out, 0, prefix, value);
            let mut block = &out[..];
            prop_assert_eq!(take(&mut block, prefix), Some(value));
            prop_assert!(block.is_empty());
        }

        #[test]
        fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..12), prefix in 4_u32..=7) {
            let _ = take(&mut &bytes[..], prefix);
        }
    }
}
