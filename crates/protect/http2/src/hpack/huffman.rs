//! The Huffman code of HPACK (RFC 7541, section 5.2 and appendix B).

/// Code and its length in bits of every octet, then of the end of a string.
#[rustfmt::skip]
const CODES: [(u32, u8); 257] = [
    (0x1ff8, 13), (0x7fffd8, 23), (0xfffffe2, 28), (0xfffffe3, 28), (0xfffffe4, 28), (0xfffffe5, 28),
    (0xfffffe6, 28), (0xfffffe7, 28), (0xfffffe8, 28), (0xffffea, 24), (0x3ffffffc, 30), (0xfffffe9, 28),
    (0xfffffea, 28), (0x3ffffffd, 30), (0xfffffeb, 28), (0xfffffec, 28), (0xfffffed, 28), (0xfffffee, 28),
    (0xfffffef, 28), (0xffffff0, 28), (0xffffff1, 28), (0xffffff2, 28), (0x3ffffffe, 30), (0xffffff3, 28),
    (0xffffff4, 28), (0xffffff5, 28), (0xffffff6, 28), (0xffffff7, 28), (0xffffff8, 28), (0xffffff9, 28),
    (0xffffffa, 28), (0xffffffb, 28), (0x14, 6), (0x3f8, 10), (0x3f9, 10), (0xffa, 12), (0x1ff9, 13), (0x15, 6),
    (0xf8, 8), (0x7fa, 11), (0x3fa, 10), (0x3fb, 10), (0xf9, 8), (0x7fb, 11), (0xfa, 8), (0x16, 6), (0x17, 6),
    (0x18, 6), (0x0, 5), (0x1, 5), (0x2, 5), (0x19, 6), (0x1a, 6), (0x1b, 6), (0x1c, 6), (0x1d, 6), (0x1e, 6),
    (0x1f, 6), (0x5c, 7), (0xfb, 8), (0x7ffc, 15), (0x20, 6), (0xffb, 12), (0x3fc, 10), (0x1ffa, 13), (0x21, 6),
    (0x5d, 7), (0x5e, 7), (0x5f, 7), (0x60, 7), (0x61, 7), (0x62, 7), (0x63, 7), (0x64, 7), (0x65, 7), (0x66, 7),
    (0x67, 7), (0x68, 7), (0x69, 7), (0x6a, 7), (0x6b, 7), (0x6c, 7), (0x6d, 7), (0x6e, 7), (0x6f, 7), (0x70, 7),
    (0x71, 7), (0x72, 7), (0xfc, 8), (0x73, 7), (0xfd, 8), (0x1ffb, 13), (0x7fff0, 19), (0x1ffc, 13), (0x3ffc, 14),
    (0x22, 6), (0x7ffd, 15), (0x3, 5), (0x23, 6), (0x4, 5), (0x24, 6), (0x5, 5), (0x25, 6), (0x26, 6), (0x27, 6),
    (0x6, 5), (0x74, 7), (0x75, 7), (0x28, 6), (0x29, 6), (0x2a, 6), (0x7, 5), (0x2b, 6), (0x76, 7), (0x2c, 6),
    (0x8, 5), (0x9, 5), (0x2d, 6), (0x77, 7), (0x78, 7), (0x79, 7), (0x7a, 7), (0x7b, 7), (0x7ffe, 15), (0x7fc, 11),
    (0x3ffd, 14), (0x1ffd, 13), (0xffffffc, 28), (0xfffe6, 20), (0x3fffd2, 22), (0xfffe7, 20), (0xfffe8, 20),
    (0x3fffd3, 22), (0x3fffd4, 22), (0x3fffd5, 22), (0x7fffd9, 23), (0x3fffd6, 22), (0x7fffda, 23), (0x7fffdb, 23),
    (0x7fffdc, 23), (0x7fffdd, 23), (0x7fffde, 23), (0xffffeb, 24), (0x7fffdf, 23), (0xffffec, 24), (0xffffed, 24),
    (0x3fffd7, 22), (0x7fffe0, 23), (0xffffee, 24), (0x7fffe1, 23), (0x7fffe2, 23), (0x7fffe3, 23), (0x7fffe4, 23),
    (0x1fffdc, 21), (0x3fffd8, 22), (0x7fffe5, 23), (0x3fffd9, 22), (0x7fffe6, 23), (0x7fffe7, 23), (0xffffef, 24),
    (0x3fffda, 22), (0x1fffdd, 21), (0xfffe9, 20), (0x3fffdb, 22), (0x3fffdc, 22), (0x7fffe8, 23), (0x7fffe9, 23),
    (0x1fffde, 21), (0x7fffea, 23), (0x3fffdd, 22), (0x3fffde, 22), (0xfffff0, 24), (0x1fffdf, 21), (0x3fffdf, 22),
    (0x7fffeb, 23), (0x7fffec, 23), (0x1fffe0, 21), (0x1fffe1, 21), (0x3fffe0, 22), (0x1fffe2, 21), (0x7fffed, 23),
    (0x3fffe1, 22), (0x7fffee, 23), (0x7fffef, 23), (0xfffea, 20), (0x3fffe2, 22), (0x3fffe3, 22), (0x3fffe4, 22),
    (0x7ffff0, 23), (0x3fffe5, 22), (0x3fffe6, 22), (0x7ffff1, 23), (0x3ffffe0, 26), (0x3ffffe1, 26), (0xfffeb, 20),
    (0x7fff1, 19), (0x3fffe7, 22), (0x7ffff2, 23), (0x3fffe8, 22), (0x1ffffec, 25), (0x3ffffe2, 26), (0x3ffffe3, 26),
    (0x3ffffe4, 26), (0x7ffffde, 27), (0x7ffffdf, 27), (0x3ffffe5, 26), (0xfffff1, 24), (0x1ffffed, 25),
    (0x7fff2, 19), (0x1fffe3, 21), (0x3ffffe6, 26), (0x7ffffe0, 27), (0x7ffffe1, 27), (0x3ffffe7, 26),
    (0x7ffffe2, 27), (0xfffff2, 24), (0x1fffe4, 21), (0x1fffe5, 21), (0x3ffffe8, 26), (0x3ffffe9, 26),
    (0xffffffd, 28), (0x7ffffe3, 27), (0x7ffffe4, 27), (0x7ffffe5, 27), (0xfffec, 20), (0xfffff3, 24), (0xfffed, 20),
    (0x1fffe6, 21), (0x3fffe9, 22), (0x1fffe7, 21), (0x1fffe8, 21), (0x7ffff3, 23), (0x3fffea, 22), (0x3fffeb, 22),
    (0x1ffffee, 25), (0x1ffffef, 25), (0xfffff4, 24), (0xfffff5, 24), (0x3ffffea, 26), (0x7ffff4, 23),
    (0x3ffffeb, 26), (0x7ffffe6, 27), (0x3ffffec, 26), (0x3ffffed, 26), (0x7ffffe7, 27), (0x7ffffe8, 27),
    (0x7ffffe9, 27), (0x7ffffea, 27), (0x7ffffeb, 27), (0xffffffe, 28), (0x7ffffec, 27), (0x7ffffed, 27),
    (0x7ffffee, 27), (0x7ffffef, 27), (0x7fffff0, 27), (0x3ffffee, 26), (0x3fffffff, 30),
];
/// The end of a string, which must not occur in one.
const END: usize = 256;
/// Inner nodes of the code's tree: a complete binary tree with 257 leaves.
const NODES: usize = 256;

/// Result of four bits from one inner node.
#[derive(Clone, Copy)]
struct Step {
    next: u8,
    /// Octet that the bits completed, where `gives`; no code has fewer than five bits, so that it
    /// is one at most.
    octet: u8,
    gives: bool,
    /// They spelled the end of a string.
    ends: bool,
}

/// The tree walked four bits at a time.
static STEPS: [[Step; 16]; NODES] = steps();

/// A string may end here: the bits since the last octet are fewer than eight, and all ones (section 5.2).
static MAY_END: [bool; NODES] = may_end();

/// Both children of each inner node: another inner node, or `NODES` and the symbol.
const fn tree() -> [[u16; 2]; NODES] {
    let mut tree = [[0_u16; 2]; NODES];
    let mut used = 1;
    let mut symbol = 0;
    while symbol < CODES.len() {
        let (code, bits) = CODES[symbol];
        let mut node = 0;
        let mut bit = bits;
        while bit > 0 {
            bit -= 1;
            let branch = ((code >> bit) & 1) as usize;
            if bit == 0 {
                tree[node][branch] = (NODES + symbol) as u16;
            } else if tree[node][branch] == 0 {
                tree[node][branch] = used as u16;
                node = used;
                used += 1;
            } else {
                node = tree[node][branch] as usize;
            }
        }
        symbol += 1;
    }
    tree
}

const fn steps() -> [[Step; 16]; NODES] {
    let tree = tree();
    let mut steps = [[Step {
        next: 0,
        octet: 0,
        gives: false,
        ends: false,
    }; 16]; NODES];
    let mut from = 0;
    while from < NODES {
        let mut bits = 0;
        while bits < 16 {
            let mut node = from;
            let mut bit = 4;
            while bit > 0 {
                bit -= 1;
                let to = tree[node][(bits >> bit) & 1] as usize;
                if to < NODES {
                    node = to;
                } else if to == NODES + END {
                    steps[from][bits].ends = true;
                    node = 0;
                } else {
                    steps[from][bits].octet = (to - NODES) as u8;
                    steps[from][bits].gives = true;
                    node = 0;
                }
            }
            steps[from][bits].next = node as u8;
            bits += 1;
        }
        from += 1;
    }
    steps
}

const fn may_end() -> [bool; NODES] {
    let tree = tree();
    let mut may_end = [false; NODES];
    let mut node = 0;
    let mut ones = 0;
    while ones < 8 {
        may_end[node] = true;
        // The code of the end has thirty bits, so that eight ones lead to no leaf.
        node = tree[node][1] as usize;
        ones += 1;
    }
    may_end
}

/// Appends what `coded` spells; `false` where it is no Huffman string.
pub(super) fn decode(coded: &[u8], to: &mut Vec<u8>) -> bool {
    let mut node = 0_u8;
    to.reserve(coded.len() + coded.len() / 2);
    for &byte in coded {
        for bits in [byte >> 4, byte & 0x0f] {
            let step = STEPS[usize::from(node)][usize::from(bits)];
            if step.gives {
                to.push(step.octet);
            }
            if step.ends {
                return false;
            }
            node = step.next;
        }
    }
    MAY_END[usize::from(node)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encode(text: &[u8]) -> Vec<u8> {
        let mut bits = String::new();
        for &octet in text {
            let (code, length) = CODES[usize::from(octet)];
            bits.push_str(&format!("{code:0width$b}", width = usize::from(length)));
        }
        while !bits.len().is_multiple_of(8) {
            bits.push('1');
        }
        bits.as_bytes()
            .chunks(8)
            .map(|byte| u8::from_str_radix(std::str::from_utf8(byte).unwrap(), 2).unwrap())
            .collect()
    }

    #[test]
    fn strings_of_the_rfc_are_read() {
        // RFC 7541, appendix C.4.1 and C.6.1.
        for (coded, text) in [
            (
                &[0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff][..],
                "www.example.com",
            ),
            (&[0xae, 0xc3, 0x77, 0x1a, 0x4b], "private"),
        ] {
            let mut read = Vec::new();
            assert!(decode(coded, &mut read));
            assert_eq!(read, text.as_bytes());
        }
    }

    #[test]
    fn wrong_padding_and_the_end_inside_are_refused() {
        let mut read = Vec::new();
        // `0` is 00000: zeroes, then eight ones or more, are no padding.
        assert!(!decode(&[0b0000_0000], &mut read));
        assert!(!decode(&[0b0000_0111, 0xff], &mut read));
        assert!(!decode(&[0xff; 4], &mut read));
    }

    proptest! {
        #[test]
        fn what_is_coded_reads_back(text in proptest::collection::vec(any::<u8>(), 0..100)) {
            let mut read = Vec::new();
            prop_assert!(decode(&encode(&text), &mut read));
            prop_assert_eq!(read, text);
        }

        #[test]
        fn nothing_panics(coded in proptest::collection::vec(any::<u8>(), 0..100)) {
            decode(&coded, &mut Vec::new());
        }
    }
}
