//! The Encrypted payload, whole or in fragments (RFC 7296, section 3.14; RFC 5282; RFC 7383).

use bartizan_esp::{Associated, Opening, Sealing, Suite};
use bartizan_wire::ike::{Header, PayloadType};

use crate::error::Failure;
use crate::schedule::CipherKeys;

/// A generic payload header.
const PAYLOAD: usize = bartizan_registry::Header::IKE_PAYLOAD.bytes as usize;
/// Number and total of a fragment.
const FRAGMENT: usize = bartizan_registry::Header::IKE_FRAGMENT.bytes as usize;

bartizan_registry::made! {
    /// Seals what one end of an IKE_SA sends and opens what the other does, with keys of the time
    /// between two key exchanges.
    pub(crate) struct Protection,
    pub(crate) new(suite: Suite, keys: &CipherKeys, is_initiator: bool) -> Result<Self, Failure> {
        let [own, other] = if is_initiator { [0, 1] } else { [1, 0] };
        suite: Suite,
        sealing: Sealing = Sealing::new(suite, &keys[own]).map_err(|_| Failure::Cryptography)?,
        opening: Opening = Opening::new(suite, &keys[other]).map_err(|_| Failure::Cryptography)?,
        /// Messages sealed: initialization vectors.
        sealed: u64 = 0,
    }
}

/// A part of a message, proven.
pub(crate) struct Part {
    /// Type of the first inner payload.
    pub(crate) first: PayloadType,
    /// Number and total, from 1; of a whole message one of one.
    pub(crate) fragment: (u16, u16),
    pub(crate) content: Vec<u8>,
}

impl Protection {
    /// Bytes that content takes once it is sealed, with its vector, padding and check value.
    fn sealed_length(&self, content: usize) -> usize {
        let (iv, block, icv) = self.suite.framing();
        iv + (content + 1).next_multiple_of(block) + icv
    }

    /// The message as datagrams of at most `limit` bytes; where that is none, or the message fits, one.
    pub(crate) fn seal(
        &mut self,
        header: Header,
        first: PayloadType,
        content: &[u8],
        limit: Option<usize>,
    ) -> Result<Vec<Vec<u8>>, Failure> {
        let whole = Header::LENGTH + PAYLOAD + self.sealed_length(content.len());
        let Some(limit) = limit.filter(|limit| whole > *limit) else {
            return Ok(vec![self.seal_part(header, first, content, None)?]);
        };
        let (_, block, _) = self.suite.framing();
        let room = limit.saturating_sub(Header::LENGTH + PAYLOAD + FRAGMENT + self.sealed_length(0) - block);
        // Whole blocks, less the byte that counts the padding.
        let each = (room / block * block).saturating_sub(1);
        if each == 0 {
            return Err(Failure::Cryptography);
        }
        let total = u16::try_from(content.len().div_ceil(each)).map_err(|_| Failure::Cryptography)?;
        let parts = content.chunks(each).zip(1..);
        let parts = parts.map(|(part, number)| {
            let first = if number == 1 { first } else { PayloadType::NONE };
            self.seal_part(header, first, part, Some((number, total)))
        });
        parts.collect()
    }

    fn seal_part(
        &mut self,
        mut header: Header,
        first: PayloadType,
        content: &[u8],
        fragment: Option<(u16, u16)>,
    ) -> Result<Vec<u8>, Failure> {
        let start = Header::LENGTH + PAYLOAD + fragment.map_or(0, |_| FRAGMENT);
        let length = start + self.sealed_length(content.len());
        header.next = match fragment {
            None => PayloadType::ENCRYPTED,
            Some(_) => PayloadType::ENCRYPTED_FRAGMENT,
        };
        header.length = u32::try_from(length).map_err(|_| Failure::Cryptography)?;
        let payload = u16::try_from(length - Header::LENGTH).map_err(|_| Failure::Cryptography)?;
        let mut message = header.encode().to_vec();
        message.extend([first.0, 0]);
        message.extend(payload.to_be_bytes());
        if let Some((number, total)) = fragment {
            message.extend(number.to_be_bytes());
            message.extend(total.to_be_bytes());
        }
        message.resize(length, 0);
        let (iv, _, icv) = self.suite.framing();
        let (header, behind) = message.split_at_mut(start);
        self.sealed += 1;
        let (vector, rest) = behind.split_at_mut(iv);
        let sealed = self.sealing.write_vector(self.sealed, vector);
        sealed.map_err(|_| Failure::Cryptography)?;
        rest[..content.len()].copy_from_slice(content);
        let last = rest.len() - icv - 1;
        rest[last] = (last - content.len()) as u8;
        let upper = None;
        let sealed = self.sealing.seal(Associated { header, upper }, behind);
        sealed.map_err(|_| Failure::Cryptography)?;
        Ok(message)
    }

    /// Opens a message, or a fragment of one; none where it is not proven.
    pub(crate) fn open(&self, next: PayloadType, message: &[u8]) -> Option<Part> {
        let fields = message.get(Header::LENGTH..)?;
        let [first, _, high, low] = *fields.first_chunk::<PAYLOAD>()?;
        // Nothing stands behind it, and nothing but the header in front.
        if usize::from(u16::from_be_bytes([high, low])) != fields.len() {
            return None;
        }
        let (start, fragment) = match next {
            PayloadType::ENCRYPTED => (Header::LENGTH + PAYLOAD, (1, 1)),
            PayloadType::ENCRYPTED_FRAGMENT => {
                let [a, b, c, d] = *fields.get(PAYLOAD..)?.first_chunk::<FRAGMENT>()?;
                let numbers = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
                (Header::LENGTH + PAYLOAD + FRAGMENT, numbers)
            }
            _ => return None,
        };
        if fragment.0 == 0 || fragment.0 > fragment.1 {
            return None;
        }
        let (header, behind) = message.split_at_checked(start)?;
        let mut behind = behind.to_vec();
        let content = self
            .opening
            .open(Associated { header, upper: None }, &mut behind)
            .ok()?;
        let (&mut padding, content) = content.split_last_mut()?;
        let length = content.len().checked_sub(padding.into())?;
        Some(Part {
            first: PayloadType(first),
            fragment,
            content: content[..length].to_vec(),
        })
    }
}

/// The authenticated octets of an IKE_INTERMEDIATE message (RFC 9242, section 3.3.2): as if it were
/// whole and not encrypted.
pub(crate) fn intermediate(mut header: Header, first: PayloadType, content: &[u8]) -> Vec<u8> {
    header.next = PayloadType::ENCRYPTED;
    header.length = (Header::LENGTH + PAYLOAD + content.len()) as u32;
    let mut bytes = header.encode().to_vec();
    bytes.extend([first.0, 0]);
    bytes.extend(((PAYLOAD + content.len()) as u16).to_be_bytes());
    bytes.extend(content);
    bytes
}
