//! Ids of NF instances.

use std::fmt::Write as _;

use bartizan_estimators::Random;

/// A UUID of version 4 (RFC 9562, section 5.4) by chance of a seed.
#[must_use]
pub fn uuid(random: &mut Random) -> String {
    let mut bytes = [0_u8; 16];
    for byte in &mut bytes {
        // Below 256.
        *byte = u8::try_from(random.below(256)).unwrap_or_default();
    }
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_of_version_4_and_differ() {
        let mut random = Random::seeded(1);
        let (one, other) = (uuid(&mut random), uuid(&mut random));
        assert_ne!(one, other);
        for id in [one, other] {
            assert_eq!(id.len(), 36);
            assert_eq!(id.as_bytes()[14], b'4');
            assert!(b"89ab".contains(&id.as_bytes()[19]));
        }
        assert_eq!(uuid(&mut Random::seeded(9)), uuid(&mut Random::seeded(9)));
    }
}
