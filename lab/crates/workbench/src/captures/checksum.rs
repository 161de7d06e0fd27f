//! Checksums of packets that are changed.

/// Replaces two bytes and keeps a checksum of the Internet right (RFC 1624, equation 3).
pub(super) fn replaced(checksum: u16, old: u16, new: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    let sum = (sum & 0xffff) + (sum >> 16);
    !(((sum & 0xffff) + (sum >> 16)) as u16)
}

/// The checksum of the Internet over these bytes (RFC 1071), whose own place holds zeros.
pub(super) fn internet(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)])))
        .sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !(((sum & 0xffff) + (sum >> 16)) as u16)
}

/// CRC32c as SCTP has it (RFC 9260, appendix A).
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    /// The polynomial, reflected.
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            let mut value = byte as u32;
            let mut bit = 0;
            while bit < 8 {
                value = (value >> 1) ^ (if value & 1 == 1 { POLYNOMIAL } else { 0 });
                bit += 1;
            }
            table[byte] = value;
            byte += 1;
        }
        table
    };
    !bytes
        .iter()
        .fold(!0, |crc: u32, byte| (crc >> 8) ^ TABLE[usize::from(crc as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32c_of_the_digits_is_that_of_the_rfcs() {
        // RFC 3720, appendix B.4, and the check value of the CRC catalogue.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn a_replaced_word_leaves_the_checksum_of_the_new_bytes() {
        let mut bytes = [0x45, 0, 0x12, 0x34, 0xff, 0xfe, 0xab];
        let before = internet(&bytes);
        let (old, new) = (0xfffe, 0x0102);
        bytes[4..6].copy_from_slice(&[0x01, 0x02]);
        assert_eq!(replaced(before, old, new), internet(&bytes));
    }
}
