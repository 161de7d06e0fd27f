//! Proposals, and the choice among them (RFC 7296, section 3.3).

use std::fmt;

use bartizan_registry::{TransformKind, transform};

use super::{KeyExchangeMethod, Malformed};
use crate::cursor::Cursor;

/// Proposals of one SA payload that are read; strongSwan's default is two.
const PROPOSALS: usize = 64;
/// Transforms of one proposal that are read.
const TRANSFORMS: usize = 128;
/// Attributes of one transform.
const ATTRIBUTES: usize = 8;
/// Attribute type of the key length, the only one there is.
const KEY_LENGTH: u16 = 14;

/// One algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Transform {
    /// Transform type: 1 ENCR, 2 PRF, 3 INTEG, 4 KE, 5 SN, 6 to 12 ADDKE1 to ADDKE7.
    pub kind: u8,
    /// Transform ID.
    pub id: u16,
    /// Its key length in bits, where it has several.
    pub key_length: Option<u16>,
}

impl Transform {
    /// Transform type of the first key exchange.
    pub const KE: u8 = 4;
    /// Transform types of the additional key exchanges ADDKE1 to ADDKE7 (RFC 9370).
    pub const ADDITIONAL_KE: std::ops::RangeInclusive<u8> = 6..=12;

    /// The method, if it is a key exchange of any place.
    pub fn key_exchange(self) -> Option<KeyExchangeMethod> {
        (self.kind == Self::KE || self.is_additional()).then_some(KeyExchangeMethod(self.id))
    }

    /// Returns true if it is an additional key exchange.
    #[must_use]
    pub fn is_additional(self) -> bool {
        Self::ADDITIONAL_KE.contains(&self.kind)
    }
}

impl fmt::Display for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(method) = self.key_exchange() {
            return match self.kind {
                Self::KE => method.fmt(f),
                additional => write!(f, "ke{}_{method}", additional - 5),
            };
        }
        match TransformKind::of(self.kind).and_then(|kind| transform(kind, self.id)) {
            Some(known) => f.write_str(known.name)?,
            None => write!(f, "unknown({}:{})", self.kind, self.id)?,
        }
        match self.key_length {
            Some(bits) => write!(f, "-{bits}"),
            None => Ok(()),
        }
    }
}

/// Algorithms that an end would use together, of each type one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Proposal {
    /// Its number: proposals are numbered from 1, the chosen one keeps the number of the offered.
    pub number: u8,
    /// Protocol: 1 IKE, 2 AH, 3 ESP.
    pub protocol: u8,
    /// The sender's SPI; empty in IKE_SA_INIT.
    pub spi: Vec<u8>,
    /// Several of one type are alternatives.
    pub transforms: Vec<Transform>,
}

impl Proposal {
    /// The key exchanges named, in their order; those that are NONE are left out.
    pub fn key_exchanges(&self) -> impl Iterator<Item = KeyExchangeMethod> {
        self.transforms
            .iter()
            .filter_map(|transform| transform.key_exchange())
            .filter(|method| *method != KeyExchangeMethod::NONE)
    }

    /// The additional key exchanges named, in the order of their types; those that are NONE are left out.
    pub fn additional_key_exchanges(&self) -> impl Iterator<Item = &Transform> {
        let is_one = |transform: &&Transform| transform.is_additional() && transform.id != KeyExchangeMethod::NONE.0;
        // An end may write them in any order: that of their types is the one in which they take place.
        let mut all: Vec<&Transform> = self.transforms.iter().filter(is_one).collect();
        all.sort_by_key(|transform| transform.kind);
        all.into_iter()
    }

    /// Reads the proposals of an SA payload.
    pub(super) fn read_all(mut body: Cursor<'_>) -> Result<Vec<Self>, Malformed> {
        const SHORT: Malformed = Malformed("a proposal shorter than its fields");
        let mut proposals = Vec::new();
        loop {
            let last = body.u8().ok_or(SHORT)?;
            body.u8().ok_or(SHORT)?;
            let length = usize::from(body.u16().ok_or(SHORT)?);
            let rest = length.checked_sub(4).and_then(|length| body.take(length));
            let mut rest = Cursor::new(rest.ok_or(Malformed("a proposal longer than its payload"))?);
            if proposals.len() == PROPOSALS {
                return Err(Malformed("more than 64 proposals"));
            }
            proposals.push(Self::read(&mut rest)?);
            match (last, body.is_empty()) {
                (0, true) => return Ok(proposals),
                (2, false) => {}
                (0, false) => return Err(Malformed("bytes behind the last proposal")),
                (_, _) => return Err(Malformed("proposals that end before their last")),
            }
        }
    }

    fn read(body: &mut Cursor<'_>) -> Result<Self, Malformed> {
        const SHORT: Malformed = Malformed("a proposal shorter than its fields");
        let number = body.u8().ok_or(SHORT)?;
        let protocol = body.u8().ok_or(SHORT)?;
        let spi_size = body.u8().ok_or(SHORT)?;
        let count = usize::from(body.u8().ok_or(SHORT)?);
        let spi = body.take(spi_size.into()).ok_or(SHORT)?.to_vec();
        if count > TRANSFORMS {
            return Err(Malformed("more than 128 transforms"));
        }
        let mut transforms = Vec::with_capacity(count);
        while !body.is_empty() {
            if transforms.len() == count {
                return Err(Malformed("more transforms than the proposal counts"));
            }
            transforms.push(Transform::read(body)?);
        }
        if transforms.len() != count {
            return Err(Malformed("fewer transforms than the proposal counts"));
        }
        Ok(Self {
            number,
            protocol,
            spi,
            transforms,
        })
    }

    /// The proposals as the body of an SA payload; none where a length or a count does not fit its field.
    pub fn encode_all(proposals: &[Self]) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        for (index, proposal) in proposals.iter().enumerate() {
            let mut body = vec![
                proposal.number,
                proposal.protocol,
                u8::try_from(proposal.spi.len()).ok()?,
                u8::try_from(proposal.transforms.len()).ok()?,
            ];
            body.extend(&proposal.spi);
            for (index, transform) in proposal.transforms.iter().enumerate() {
                transform.encode(index + 1 == proposal.transforms.len(), &mut body);
            }
            bytes.extend([if index + 1 == proposals.len() { 0 } else { 2 }, 0]);
            bytes.extend(u16::try_from(body.len() + 4).ok()?.to_be_bytes());
            bytes.extend(body);
        }
        Some(bytes)
    }
}

impl fmt::Display for Proposal {
    /// As strongSwan's log writes it: `ENCR_AES_GCM_16-256/PRF_HMAC_SHA2_384/Curve25519/ke1_ml-kem-768`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, transform) in self.transforms.iter().enumerate() {
            let slash = if index > 0 { "/" } else { "" };
            write!(f, "{slash}{transform}")?;
        }
        Ok(())
    }
}

impl Transform {
    fn read(body: &mut Cursor<'_>) -> Result<Self, Malformed> {
        const SHORT: Malformed = Malformed("a transform shorter than its fields");
        body.take(2).ok_or(SHORT)?;
        let length = usize::from(body.u16().ok_or(SHORT)?);
        let rest = length.checked_sub(4).and_then(|length| body.take(length));
        let mut rest = Cursor::new(rest.ok_or(Malformed("a transform longer than its proposal"))?);
        let kind = rest.u8().ok_or(SHORT)?;
        rest.u8().ok_or(SHORT)?;
        let id = rest.u16().ok_or(SHORT)?;
        let mut key_length = None;
        for attribute in 0.. {
            if rest.is_empty() {
                break;
            }
            if attribute == ATTRIBUTES {
                return Err(Malformed("more than 8 attributes of a transform"));
            }
            let format = rest.u16().ok_or(SHORT)?;
            let value = rest.u16().ok_or(SHORT)?;
            // The highest bit says that the value stands in place of its length.
            if format & 0x8000 == 0 {
                rest.take(value.into()).ok_or(SHORT)?;
            } else if format & 0x7fff == KEY_LENGTH {
                key_length = Some(value);
            }
        }
        Ok(Self { kind, id, key_length })
    }

    fn encode(self, last: bool, bytes: &mut Vec<u8>) {
        let length: u16 = if self.key_length.is_some() { 12 } else { 8 };
        bytes.extend([if last { 0 } else { 3 }, 0]);
        bytes.extend(length.to_be_bytes());
        bytes.extend([self.kind, 0]);
        bytes.extend(self.id.to_be_bytes());
        if let Some(bits) = self.key_length {
            bytes.extend((KEY_LENGTH | 0x8000).to_be_bytes());
            bytes.extend(bits.to_be_bytes());
        }
    }
}
