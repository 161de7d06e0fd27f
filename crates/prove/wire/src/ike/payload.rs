//! The payloads of a message (RFC 7296, section 3).

use super::{KeyExchangeMethod, Malformed, NotifyType, PayloadType, Proposal};
use crate::cursor::Cursor;

/// Payloads of one message that are read: an IKE_SA_INIT has about ten.
const PAYLOADS: usize = 64;
/// Traffic selectors and configuration attributes of one payload that are read.
const ITEMS: usize = 256;

/// One payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload<'a> {
    /// Type.
    pub kind: PayloadType,
    /// True if a receiver that does not know it must refuse the message.
    pub critical: bool,
    /// Body.
    pub body: Body<'a>,
}

/// Body of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body<'a> {
    /// SA.
    Proposals(Vec<Proposal>),
    /// KE.
    KeyExchange {
        /// Made with.
        method: KeyExchangeMethod,
        /// A public key or a ciphertext.
        data: &'a [u8],
    },
    /// Nonce.
    Nonce(&'a [u8]),
    /// N.
    Notify {
        /// 1 IKE, 2 AH, 3 ESP; zero where it is about no SA.
        protocol: u8,
        /// SPI of the SA; empty for an IKE_SA.
        spi: &'a [u8],
        /// Notify message type.
        kind: NotifyType,
        /// Details.
        data: &'a [u8],
    },
    /// V.
    Vendor(&'a [u8]),
    /// IDi and IDr.
    Identification {
        /// Address, name, distinguished name, ...
        kind: u8,
        /// The identity.
        data: &'a [u8],
    },
    /// CERT; CERTREQ, whose data are hashes of authorities' keys.
    Certificate {
        /// 4 is an X.509 certificate.
        encoding: u8,
        /// In that encoding.
        data: &'a [u8],
    },
    /// AUTH.
    Authentication {
        /// The method, by its number in the registry.
        method: u8,
        /// Signature or MAC.
        data: &'a [u8],
    },
    /// D.
    Delete {
        /// 1 IKE, 2 AH, 3 ESP.
        protocol: u8,
        /// Bytes of each SPI; zero for the IKE_SA itself.
        spi_size: u8,
        /// Number of SPIs.
        count: u16,
        /// One behind the other.
        spis: &'a [u8],
    },
    /// TSi and TSr.
    TrafficSelectors(Vec<TrafficSelector<'a>>),
    /// SK: encrypted.
    Encrypted {
        /// Type of the first inner payload.
        first: PayloadType,
        /// Initialization vector, ciphertext and integrity check.
        data: &'a [u8],
    },
    /// SKF: a part of what is encrypted (RFC 7383).
    EncryptedFragment {
        /// Type of the first inner payload; none in all fragments but the first.
        first: PayloadType,
        /// From 1.
        number: u16,
        /// Total number of fragments.
        total: u16,
        /// Initialization vector, ciphertext and integrity check.
        data: &'a [u8],
    },
    /// CP.
    Configuration {
        /// 1 request, 2 reply, 3 set, 4 acknowledge.
        kind: u8,
        /// Type and value of each.
        attributes: Vec<(u16, &'a [u8])>,
    },
    /// EAP (RFC 3748).
    Eap {
        /// 1 request, 2 response, 3 success, 4 failure.
        code: u8,
        /// Joins request and response.
        identifier: u8,
        /// The method, and what it says.
        data: &'a [u8],
    },
    /// Another payload.
    Other(&'a [u8]),
}

/// Traffic that an end wants protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrafficSelector<'a> {
    /// 7 an IPv4 range, 8 an IPv6 range.
    pub kind: u8,
    /// IP protocol; zero is any.
    pub protocol: u8,
    /// First and last port, first and last address.
    pub range: &'a [u8],
}

/// The payloads of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message<'a> {
    /// In their order.
    pub payloads: Vec<Payload<'a>>,
}

impl<'a> Message<'a> {
    /// Reads the payloads behind a header, of which the first is a `first`.
    ///
    /// # Errors
    /// [`Malformed`] where a length or a count cannot be right.
    pub fn read(first: PayloadType, bytes: &'a [u8]) -> Result<Self, Malformed> {
        const SHORT: Malformed = Malformed("a payload shorter than its header");
        let mut rest = Cursor::new(bytes);
        let mut kind = first;
        let mut payloads = Vec::new();
        while kind != PayloadType::NONE {
            let next = PayloadType(rest.u8().ok_or(SHORT)?);
            let critical = rest.u8().ok_or(SHORT)? & 0x80 != 0;
            let length = usize::from(rest.u16().ok_or(SHORT)?);
            let body = length.checked_sub(4).and_then(|length| rest.take(length));
            let body = body.ok_or(Malformed("a payload longer than its message"))?;
            if payloads.len() == PAYLOADS {
                return Err(Malformed("more than 64 payloads"));
            }
            let sealed = matches!(kind, PayloadType::ENCRYPTED | PayloadType::ENCRYPTED_FRAGMENT);
            let body = Body::read(kind, next, body)?;
            payloads.push(Payload { kind, critical, body });
            // Its next payload field names the first payload inside.
            kind = if sealed { PayloadType::NONE } else { next };
        }
        if !rest.is_empty() {
            return Err(Malformed("bytes behind the last payload"));
        }
        Ok(Self { payloads })
    }

    /// Type of the first payload, and all payloads in wire format; none if a value does not fit its
    /// field.
    pub fn encode(&self) -> Option<(PayloadType, Vec<u8>)> {
        let mut bytes = Vec::new();
        for (index, payload) in self.payloads.iter().enumerate() {
            let next = match payload.body {
                Body::Encrypted { first, .. } | Body::EncryptedFragment { first, .. } => first,
                _ => self.payloads.get(index + 1).map_or(PayloadType::NONE, |next| next.kind),
            };
            let body = payload.body.encode()?;
            bytes.extend([next.0, if payload.critical { 0x80 } else { 0 }]);
            bytes.extend(u16::try_from(body.len() + 4).ok()?.to_be_bytes());
            bytes.extend(body);
        }
        let first = self.payloads.first().map_or(PayloadType::NONE, |payload| payload.kind);
        Some((first, bytes))
    }
}

impl<'a> Body<'a> {
    fn read(kind: PayloadType, next: PayloadType, bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut rest = Cursor::new(bytes);
        let read = match kind {
            PayloadType::SA => return Proposal::read_all(rest).map(Self::Proposals),
            PayloadType::KE => Self::key_exchange(&mut rest),
            PayloadType::NONCE => Some(Self::Nonce(bytes)),
            PayloadType::NOTIFY => Self::notify(&mut rest),
            PayloadType::VENDOR => Some(Self::Vendor(bytes)),
            PayloadType::ID_INITIATOR | PayloadType::ID_RESPONDER => {
                typed(&mut rest).map(|(kind, data)| Self::Identification { kind, data })
            }
            PayloadType::AUTH => typed(&mut rest).map(|(method, data)| Self::Authentication { method, data }),
            PayloadType::CERT | PayloadType::CERTREQ => rest.u8().map(|encoding| Self::Certificate {
                encoding,
                data: rest.rest(),
            }),
            PayloadType::DELETE => Self::delete(&mut rest),
            PayloadType::TS_INITIATOR | PayloadType::TS_RESPONDER => Self::selectors(&mut rest),
            PayloadType::ENCRYPTED => Some(Self::Encrypted {
                first: next,
                data: bytes,
            }),
            PayloadType::ENCRYPTED_FRAGMENT => Self::fragment(next, &mut rest),
            PayloadType::CONFIGURATION => Self::configuration(&mut rest),
            PayloadType::EAP => Self::eap(&mut rest),
            _ => Some(Self::Other(bytes)),
        };
        read.ok_or(Malformed("a payload shorter than its fields"))
    }

    fn key_exchange(rest: &mut Cursor<'a>) -> Option<Self> {
        let method = KeyExchangeMethod(rest.u16()?);
        rest.u16()?;
        let data = rest.rest();
        Some(Self::KeyExchange { method, data })
    }

    fn notify(rest: &mut Cursor<'a>) -> Option<Self> {
        let protocol = rest.u8()?;
        let spi_size = rest.u8()?;
        let kind = NotifyType(rest.u16()?);
        let spi = rest.take(spi_size.into())?;
        let data = rest.rest();
        Some(Self::Notify {
            protocol,
            spi,
            kind,
            data,
        })
    }

    fn delete(rest: &mut Cursor<'a>) -> Option<Self> {
        let (protocol, spi_size, count) = (rest.u8()?, rest.u8()?, rest.u16()?);
        let spis = rest.rest();
        (spis.len() == usize::from(spi_size) * usize::from(count)).then_some(Self::Delete {
            protocol,
            spi_size,
            count,
            spis,
        })
    }

    fn selectors(rest: &mut Cursor<'a>) -> Option<Self> {
        let count = usize::from(rest.u8()?);
        rest.take(3)?;
        let mut selectors = Vec::new();
        while !rest.is_empty() {
            let (kind, protocol, length) = (rest.u8()?, rest.u8()?, rest.u16()?);
            let range = rest.take(usize::from(length).checked_sub(4)?)?;
            selectors.push(TrafficSelector { kind, protocol, range });
            if selectors.len() > ITEMS {
                return None;
            }
        }
        (selectors.len() == count).then_some(Self::TrafficSelectors(selectors))
    }

    fn fragment(first: PayloadType, rest: &mut Cursor<'a>) -> Option<Self> {
        let (number, total) = (rest.u16()?, rest.u16()?);
        let data = rest.rest();
        (number > 0 && number <= total).then_some(Self::EncryptedFragment {
            first,
            number,
            total,
            data,
        })
    }

    fn configuration(rest: &mut Cursor<'a>) -> Option<Self> {
        let kind = rest.u8()?;
        rest.take(3)?;
        let mut attributes = Vec::new();
        while !rest.is_empty() {
            // The highest bit is reserved.
            let kind = rest.u16()? & 0x7fff;
            attributes.push((kind, rest.vector16()?.rest()));
            if attributes.len() > ITEMS {
                return None;
            }
        }
        Some(Self::Configuration { kind, attributes })
    }

    fn eap(rest: &mut Cursor<'a>) -> Option<Self> {
        let (code, identifier, length) = (rest.u8()?, rest.u8()?, rest.u16()?);
        let data = rest.take(usize::from(length).checked_sub(4)?)?;
        rest.is_empty().then_some(Self::Eap { code, identifier, data })
    }

    fn encode(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        match self {
            Self::Proposals(proposals) => return Proposal::encode_all(proposals),
            Self::KeyExchange { method, data } => {
                bytes.extend(method.0.to_be_bytes());
                bytes.extend([0, 0]);
                bytes.extend(*data);
            }
            Self::Nonce(data) | Self::Vendor(data) | Self::Other(data) | Self::Encrypted { data, .. } => {
                bytes.extend(*data);
            }
            Self::Notify {
                protocol,
                spi,
                kind,
                data,
            } => {
                bytes.extend([*protocol, u8::try_from(spi.len()).ok()?]);
                bytes.extend(kind.0.to_be_bytes());
                bytes.extend(*spi);
                bytes.extend(*data);
            }
            Self::Identification { kind: byte, data } | Self::Authentication { method: byte, data } => {
                bytes.extend([*byte, 0, 0, 0]);
                bytes.extend(*data);
            }
            Self::Certificate { encoding, data } => {
                bytes.push(*encoding);
                bytes.extend(*data);
            }
            Self::Delete {
                protocol,
                spi_size,
                count,
                spis,
            } => {
                bytes.extend([*protocol, *spi_size]);
                bytes.extend(count.to_be_bytes());
                bytes.extend(*spis);
            }
            Self::TrafficSelectors(selectors) => {
                bytes.extend([u8::try_from(selectors.len()).ok()?, 0, 0, 0]);
                for selector in selectors {
                    bytes.extend([selector.kind, selector.protocol]);
                    bytes.extend(u16::try_from(selector.range.len() + 4).ok()?.to_be_bytes());
                    bytes.extend(selector.range);
                }
            }
            Self::EncryptedFragment {
                number, total, data, ..
            } => {
                bytes.extend(number.to_be_bytes());
                bytes.extend(total.to_be_bytes());
                bytes.extend(*data);
            }
            Self::Configuration { kind, attributes } => {
                bytes.extend([*kind, 0, 0, 0]);
                for (kind, value) in attributes {
                    bytes.extend(kind.to_be_bytes());
                    bytes.extend(u16::try_from(value.len()).ok()?.to_be_bytes());
                    bytes.extend(*value);
                }
            }
            Self::Eap { code, identifier, data } => {
                bytes.extend([*code, *identifier]);
                bytes.extend(u16::try_from(data.len() + 4).ok()?.to_be_bytes());
                bytes.extend(*data);
            }
        }
        Some(bytes)
    }
}

/// A byte that says what follows, and three that are reserved.
fn typed<'a>(rest: &mut Cursor<'a>) -> Option<(u8, &'a [u8])> {
    let kind = rest.u8()?;
    rest.take(3)?;
    Some((kind, rest.rest()))
}
