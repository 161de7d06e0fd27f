//! ICMP (RFC 792, RFC 4443), as far as it needs no judgement: what its senders put into an echo
//! comes back, so a tunnel can be made of echoes.

/// Version of ICMP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

/// Bytes of a message before its data.
const HEADER: usize = 8;
/// Data of an echo in which programs put times, numbers and names of their own.
const FRONT: usize = 32;
/// The longest pattern with which a program fills an echo: that of Windows has 23 bytes.
const PATTERN: usize = 32;

impl Family {
    /// Returns true if a message of this type is an echo request or reply.
    fn is_echo(self, kind: u8) -> bool {
        match self {
            Self::V4 => matches!(kind, 0 | 8),
            Self::V6 => matches!(kind, 128 | 129),
        }
    }

    /// Returns true if IANA has assigned this type to the maintenance of a network; others are
    /// experimental or unassigned.
    fn is_known(self, kind: u8) -> bool {
        match self {
            Self::V4 => matches!(kind, 0 | 3..=6 | 8..=18 | 30..=43),
            Self::V6 => matches!(kind, 1..=4 | 128..=161),
        }
    }
}

/// Returns true if a message, as far as it was captured, carries no user data.
pub(super) fn keeps_together(family: Family, message: &[u8]) -> bool {
    let Some(&kind) = message.first() else { return true };
    match message.get(HEADER..) {
        Some(data) if family.is_echo(kind) => is_filler(data),
        _ => family.is_known(kind),
    }
}

/// Returns true if the data of an echo is the filler of known programs: bytes that count, or a
/// short pattern repeated.
fn is_filler(data: &[u8]) -> bool {
    let Some((_, rest)) = data.split_at_checked(FRONT) else {
        return true;
    };
    let counts = || rest.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1));
    let repeats = |length: usize| rest.iter().zip(&rest[length..]).all(|(one, other)| one == other);
    counts() || (1..=PATTERN.min(rest.len() / 2)).any(repeats) || rest.len() < 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(data: &[u8]) -> Vec<u8> {
        [&[8, 0, 0, 0, 0, 1, 0, 1][..], data].concat()
    }

    #[test]
    fn what_programs_fill_echoes_with_is_nobodys_data() {
        // Linux and BSD: a time, then bytes that count; Windows: letters; Cisco: 0xabcd; zeros; one letter.
        let linux: Vec<u8> = [0x5a; 16].into_iter().chain(0x10..0x38).collect();
        let long: Vec<u8> = (0..1472).map(|place| place as u8).collect();
        let windows: Vec<u8> = (0..1024).map(|place| b'a' + (place % 23) as u8).collect();
        let cisco: Vec<u8> = [0x11; 12].into_iter().chain([0xab, 0xcd].repeat(30)).collect();
        for data in [
            &linux[..],
            &long,
            &windows[..32],
            &windows,
            &cisco,
            &[0; 64],
            &[b'X'; 120],
            b"",
            b"short",
        ] {
            assert!(keeps_together(Family::V4, &echo(data)), "{data:02x?}");
        }
    }

    #[test]
    fn a_packet_in_an_echo_is_somebodys_data() {
        let mut packet = vec![
            0x45, 0, 0, 84, 0x1c, 0x46, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        packet.extend(b"\x9c\x42\0\x50\0\0\0\x01GET /nudm-sdm/v2/imsi-208930000000001 HTTP/1.1");
        assert!(!keeps_together(Family::V4, &echo(&packet)));
        let mut answer = echo(&packet);
        answer[0] = 129;
        assert!(!keeps_together(Family::V6, &answer));
    }

    #[test]
    fn types_that_nobody_assigned_are_somebodys_data() {
        for (family, kind, known) in [
            (Family::V4, 3, true),
            (Family::V4, 13, true),
            (Family::V4, 254, false),
            (Family::V6, 135, true),
            (Family::V6, 143, true),
            (Family::V6, 200, false),
        ] {
            assert_eq!(keeps_together(family, &[kind, 0, 0, 0, 0, 0, 0, 0]), known, "{kind}");
        }
    }
}
