//! Bytes that protection adds to every packet, part by part, from the registry's sizes.
//!
//! A protection takes what it protects (an IP packet, an Ethernet frame, bytes of an application) and gives its parts on the wire. Nothing is
//! estimated: the sums are compared with frames of real kernels and daemons in `tests/captured.rs`.

mod esp;
mod macsec;
mod named;
mod tls;

use std::borrow::Cow;

use bartizan_registry::Header;
use serde::Serialize;
use thiserror::Error;

pub use esp::{Esp, EspCipher, Mode, UdpEncapsulation};
pub use macsec::{Macsec, Sci};
pub use named::{NameError, Protection};
pub use tls::Tls;

use crate::unit::Bytes;

/// A version of the Internet Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum IpVersion {
    /// IPv4, without options.
    #[serde(rename = "IPv4")]
    V4,
    /// IPv6, without extension headers.
    #[serde(rename = "IPv6")]
    V6,
}

impl IpVersion {
    /// Its header.
    pub const fn header(self) -> Header {
        match self {
            Self::V4 => Header::IPV4,
            Self::V6 => Header::IPV6,
        }
    }
}

/// Purpose of a part of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Unprotected content.
    Payload,
    /// A header, a trailer or a check value.
    Added,
    /// Padding: it depends on the size of the payload.
    Padding,
}

bartizan_registry::made! {
    /// One part of a packet, in order.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    pub struct Part, header(header: Header) {
        /// Name of the part.
        pub name: Cow<'static, str> = Cow::Borrowed(header.name),
        /// Size of the part.
        pub bytes: Bytes = Bytes::from(header.bytes),
        /// Purpose of the part.
        pub role: Role = Role::Added,
        /// Document and section that define its size.
        pub document: Cow<'static, str> = Cow::Owned(format!("{}, {}", header.document, header.section)),
    }
}

impl Part {
    fn kept(header: Header) -> Self {
        Self {
            role: Role::Payload,
            ..Self::header(header)
        }
    }

    fn added(name: &'static str, bytes: impl Into<Bytes>, document: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: Cow::Borrowed(name),
            bytes: bytes.into(),
            role: Role::Added,
            document: document.into(),
        }
    }

    fn padding(name: &'static str, bytes: Bytes, document: &'static str) -> Self {
        Self {
            role: Role::Padding,
            ..Self::added(name, bytes, document)
        }
    }

    fn payload(name: &'static str, bytes: Bytes) -> Self {
        Self {
            name: Cow::Borrowed(name),
            bytes,
            role: Role::Payload,
            document: Cow::Borrowed(""),
        }
    }
}

/// A packet in its parts, as they stand on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Layout {
    /// Its parts, in order.
    pub parts: Vec<Part>,
}

impl Layout {
    fn of(parts: Vec<Part>) -> Self {
        Self {
            parts: parts.into_iter().filter(|part| part.bytes != Bytes::ZERO).collect(),
        }
    }

    /// All bytes.
    pub fn total(&self) -> Bytes {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// Bytes that protection added, padding included.
    pub fn overhead(&self) -> Bytes {
        let added = self.parts.iter().filter(|part| part.role != Role::Payload);
        added.map(|part| part.bytes).sum()
    }
}

/// Why there is no such packet.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OverheadError {
    /// It is smaller than the headers it must have.
    #[error("a packet of {given} bytes: {what} needs {least} at least")]
    TooSmall {
        /// Bytes given.
        given: u64,
        /// Bytes of its headers.
        least: u64,
        /// Protection with those headers.
        what: &'static str,
    },
    /// It is larger than a packet of its kind can be.
    #[error("{what} of {given} bytes: it has {most} at most")]
    TooLarge {
        /// Bytes given.
        given: u64,
        /// Bytes at most.
        most: u64,
        /// Limited quantity.
        what: &'static str,
    },
}

fn least(given: Bytes, header: Header, what: &'static str) -> Result<Bytes, OverheadError> {
    let least = u64::from(header.bytes);
    if given.value() < least {
        return Err(OverheadError::TooSmall {
            given: given.value(),
            least,
            what,
        });
    }
    Ok(given.beyond(Bytes::from(header.bytes)))
}

fn most(given: Bytes, most: u64, what: &'static str) -> Result<(), OverheadError> {
    if given.value() > most {
        return Err(OverheadError::TooLarge {
            given: given.value(),
            most,
            what,
        });
    }
    Ok(())
}
