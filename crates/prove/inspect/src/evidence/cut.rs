//! Cuts of captures into parts.

use super::Source;

/// A slice of one capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// Index of the capture, from 0.
    pub file: usize,
    /// Bytes of it before the slice.
    pub from: u64,
    /// Bytes up to the end of the slice.
    pub to: u64,
    /// True if the capture ends with it.
    pub last: bool,
}

/// Sections of the captures in the part with this number, from 1. Each byte is in one part; a
/// capture that is packed, or empty, is whole in the one where it begins.
pub fn sections(files: &[Source], part: u32, parts: u32) -> Vec<Section> {
    let total: u128 = files.iter().map(|file| u128::from(file.bytes)).sum();
    let place = |part: u32| total * u128::from(part) / u128::from(parts.max(1));
    let (low, high) = (place(part.saturating_sub(1)), place(part));
    let mut begin = 0;
    let mut all = Vec::new();
    for (file, Source { bytes, packed, .. }) in files.iter().enumerate() {
        let end = begin + u128::from(*bytes);
        let begins = (low..high).contains(&begin) || begin == total && part == parts;
        if *packed || *bytes == 0 {
            let (from, to, last) = (0, *bytes, true);
            all.extend(begins.then_some(Section { file, from, to, last }));
        } else if begin.max(low) < end.min(high) {
            // Within a file, whose size is of 64 bits.
            let within = |place: u128| u64::try_from(place.clamp(begin, end) - begin).unwrap_or(*bytes);
            let (from, to, last) = (within(low), within(high), end <= high);
            all.push(Section { file, from, to, last });
        }
        begin = end;
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parts_have_every_byte_once_and_every_end_once(
            sizes in prop::collection::vec((prop_oneof![Just(0u64), 0..9u64, 0..100_000u64], prop::bool::weighted(0.2)), 1..6),
            parts in 1u32..13,
        ) {
            let source = |(bytes, packed): &(u64, bool)| Source { name: String::new(), bytes: *bytes, packed: *packed };
            let files: Vec<Source> = sizes.iter().map(source).collect();
            let all: Vec<_> = (1..=parts).flat_map(|part| sections(&files, part, parts)).collect();
            let (mut file, mut at) = (0, 0);
            for section in all {
                prop_assert_eq!((section.file, section.from), (file, at));
                at = section.to;
                prop_assert_eq!(section.last, at == files[file].bytes);
                prop_assert!(section.last || !files[file].packed);
                if section.last {
                    (file, at) = (file + 1, 0);
                }
            }
            prop_assert_eq!(file, files.len());
        }
    }
}
