//! CRC32c (RFC 9260, appendix A): that of iSCSI, lowest bit first.

/// The polynomial 0x1edc6f41, reflected.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// Remainder for each byte, and for each byte followed by up to seven bytes of zeros.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            let carry = remainder & 1 == 1;
            remainder >>= 1;
            if carry {
                remainder ^= POLYNOMIAL;
            }
            bit += 1;
        }
        tables[0][byte] = remainder;
        byte += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[table - 1][byte];
            tables[table][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
}

/// A remainder with more bytes behind it; the first is all ones, and the checksum is the last one inverted.
pub(super) fn update(mut remainder: u32, bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let mixed = u64::from_le_bytes(*word) ^ u64::from(remainder);
        remainder = mixed
            .to_le_bytes()
            .iter()
            .zip(TABLES.iter().rev())
            .fold(0, |sum, (byte, table)| sum ^ table[usize::from(*byte)]);
    }
    for byte in rest {
        remainder = remainder >> 8 ^ TABLES[0][usize::from(remainder as u8 ^ byte)];
    }
    remainder
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3720, appendix B.4.
    #[test]
    fn known_answers_come_out() {
        let descending: Vec<u8> = (0..32).rev().collect();
        let ascending: Vec<u8> = (0..32).collect();
        for (bytes, sum) in [
            (&[0; 32][..], 0x8a91_36aa_u32),
            (&[0xff; 32], 0x62a8_ab43),
            (&ascending, 0x46dd_794e),
            (&descending, 0x113f_db5c),
            (b"123456789", 0xe306_9283),
        ] {
            assert_eq!(!update(u32::MAX, bytes), sum);
            // In any pieces.
            let (one, other) = bytes.split_at(bytes.len() / 3);
            assert_eq!(!update(update(u32::MAX, one), other), sum);
        }
    }
}
