//! IKEv1 (RFC 2408, RFC 2409): what phase 1 negotiates before it encrypts.

use super::Malformed;
use crate::cursor::Cursor;

/// Payloads of one message, proposals and transforms of one payload, attributes of one transform that are read.
const PAYLOADS: usize = 32;
const TRANSFORMS: usize = 128;
const ATTRIBUTES: usize = 32;
/// Payload types (RFC 2408, section 3.1).
const SECURITY_ASSOCIATION: u8 = 1;
const TRANSFORM: u8 = 3;
/// The flag that says that what follows the header is encrypted (RFC 2408, section 3.1).
const ENCRYPTED: u8 = 1;

/// Phase 1 exchanges (RFC 2408, section 3.1; RFC 2409, section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Main mode: identities are encrypted.
    Main,
    /// Aggressive mode: identities and a hash over the pre-shared key are not.
    Aggressive,
}

/// One transform of phase 1, by numbers (RFC 2409, appendix A).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Phase1 {
    /// Cipher.
    pub encryption: Option<u16>,
    /// Bits of its key, where its length varies.
    pub key_length: Option<u16>,
    /// Hash.
    pub hash: Option<u16>,
    /// Authentication method.
    pub authentication: Option<u16>,
    /// Diffie-Hellman group.
    pub group: Option<u16>,
}

impl Phase1 {
    /// Returns true if a pre-shared key goes into the secret (RFC 2409, section 5): alone, or
    /// together with another proof of one end's (XAUTH).
    #[must_use]
    pub fn is_keyed_by_shared_key(&self) -> bool {
        matches!(self.authentication, Some(1 | 65001 | 65002))
    }
}

/// The mode of a message whose payloads are not encrypted; none for others.
pub(super) fn mode(exchange: u8, flags: u8) -> Option<Mode> {
    match exchange {
        _ if flags & ENCRYPTED != 0 => None,
        2 => Some(Mode::Main),
        4 => Some(Mode::Aggressive),
        _ => None,
    }
}

/// The transforms of the security association payload among those that begin with `next`; none where there is none.
pub(super) fn transforms(next: u8, rest: &[u8]) -> Result<Option<Vec<Phase1>>, Malformed> {
    let fail = Malformed("payloads of IKEv1");
    let (mut cursor, mut kind) = (Cursor::new(rest), next);
    for _ in 0..PAYLOADS {
        if kind == 0 {
            return Ok(None);
        }
        let (following, body) = payload(&mut cursor).ok_or(fail)?;
        if kind == SECURITY_ASSOCIATION {
            return proposals(body)
                .map(Some)
                .ok_or(Malformed("a security association of IKEv1"));
        }
        kind = following;
    }
    Ok(None)
}

/// The next payload: the type of the one behind it, and its body.
fn payload<'a>(cursor: &mut Cursor<'a>) -> Option<(u8, Cursor<'a>)> {
    let next = cursor.u8()?;
    cursor.u8()?;
    let length = usize::from(cursor.u16()?).checked_sub(4)?;
    Some((next, Cursor::new(cursor.take(length)?)))
}

/// A domain of interpretation, a situation, proposals (RFC 2408, sections 3.4 to 3.6).
fn proposals(mut body: Cursor<'_>) -> Option<Vec<Phase1>> {
    body.take(8)?;
    let mut all = Vec::new();
    while !body.is_empty() && all.len() < TRANSFORMS {
        let (_, mut proposal) = payload(&mut body)?;
        // Its number and protocol, the length of its SPI, how many transforms.
        proposal.take(2)?;
        let spi = usize::from(proposal.u8()?);
        proposal.u8()?;
        proposal.take(spi)?;
        let mut kind = TRANSFORM;
        while kind == TRANSFORM && !proposal.is_empty() && all.len() < TRANSFORMS {
            let (next, mut transform) = payload(&mut proposal)?;
            // Its number and identifier, two reserved octets.
            transform.take(4)?;
            all.push(attributes(transform)?);
            kind = next;
        }
    }
    all.shrink_to_fit();
    Some(all)
}

/// Attributes of two octets, or of a length that stands before them (RFC 2408, section 3.3).
fn attributes(mut transform: Cursor<'_>) -> Option<Phase1> {
    const SHORT: u16 = 0x8000;
    let mut read = Phase1::default();
    for _ in 0..ATTRIBUTES {
        if transform.is_empty() {
            break;
        }
        let kind = transform.u16()?;
        if kind & SHORT == 0 {
            transform.vector16()?;
            continue;
        }
        let value = transform.u16()?;
        let place = match kind & !SHORT {
            1 => &mut read.encryption,
            2 => &mut read.hash,
            3 => &mut read.authentication,
            4 => &mut read.group,
            14 => &mut read.key_length,
            _ => continue,
        };
        place.get_or_insert(value);
    }
    Some(read)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn short(kind: u16, value: u16) -> Vec<u8> {
        [(0x8000 | kind).to_be_bytes(), value.to_be_bytes()].concat()
    }

    fn wrapped(next: u8, body: &[u8]) -> Vec<u8> {
        let length = u16::try_from(body.len() + 4).unwrap().to_be_bytes();
        [&[next, 0][..], &length, body].concat()
    }

    /// AES-CBC with 256 bits, SHA-1, a pre-shared key, group 2; and 3DES, RSA, group 1, with a lifetime of four octets.
    fn association() -> Vec<u8> {
        let one = [short(1, 7), short(14, 256), short(2, 2), short(3, 1), short(4, 2)].concat();
        let other = [
            short(1, 5),
            short(2, 1),
            short(3, 3),
            short(4, 1),
            vec![0, 12, 0, 4, 0, 0, 1, 0],
        ]
        .concat();
        let one = wrapped(3, &[&[1, 1, 0, 0][..], &one].concat());
        let other = wrapped(0, &[&[2, 1, 0, 0][..], &other].concat());
        let proposal = wrapped(0, &[&[1, 1, 0, 2][..], &one, &other].concat());
        wrapped(13, &[&[0, 0, 0, 1, 0, 0, 0, 1][..], &proposal].concat())
    }

    #[test]
    fn what_phase_1_proposes_is_read_by_numbers() {
        // A vendor's identification follows.
        let message = [association(), wrapped(0, &[7; 16])].concat();
        let [one, other] = transforms(1, &message).unwrap().unwrap()[..] else {
            panic!("two transforms")
        };
        assert_eq!(
            (one.encryption, one.key_length, one.hash),
            (Some(7), Some(256), Some(2))
        );
        assert_eq!((one.authentication, one.group), (Some(1), Some(2)));
        assert!(one.is_keyed_by_shared_key());
        assert_eq!(
            (other.encryption, other.authentication, other.group),
            (Some(5), Some(3), Some(1))
        );
        assert!(!other.is_keyed_by_shared_key());
        assert_eq!(transforms(13, &wrapped(0, &[7; 16])), Ok(None));
        assert!(transforms(1, &message[..30]).is_err());
    }

    #[test]
    fn what_is_encrypted_is_of_no_mode() {
        assert_eq!(
            (mode(2, 0), mode(4, 0), mode(2, 1), mode(32, 0)),
            (Some(Mode::Main), Some(Mode::Aggressive), None, None)
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_fault(next in any::<u8>(), bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(Some(all)) = transforms(next, &bytes) {
                prop_assert!(all.len() <= TRANSFORMS);
            }
            if let Ok(Some(all)) = transforms(1, &bytes) {
                prop_assert!(all.len() <= TRANSFORMS);
            }
        }
    }
}
