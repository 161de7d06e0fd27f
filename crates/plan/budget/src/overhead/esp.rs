//! ESP (RFC 4303), in UDP where there is NAT (RFC 3948).

use bartizan_registry::{EspEncryption, EspIntegrity, Header, IP_PACKET_MOST};
use serde::Serialize;

use super::{IpVersion, Layout, OverheadError, Part, least, most};
use crate::unit::Bytes;

/// Part of a packet that ESP encrypts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The whole packet, behind an outer IP header: what TS 33.501 (clause 9.1.2) makes mandatory.
    Tunnel,
    /// The packet's payload; its IP header stays.
    Transport,
}

/// UDP encapsulation of ESP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UdpEncapsulation {
    /// Port 4500, through NAT.
    InUdp,
    /// IP protocol 50.
    Direct,
}

/// A cipher of ESP, and what authenticates where it does not do so itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct EspCipher {
    encryption: &'static EspEncryption,
    integrity: Option<&'static EspIntegrity>,
}

impl EspCipher {
    /// An AEAD by itself, any other cipher with an integrity transform; `None` of other combinations (RFC 8221, section 4).
    pub fn new(encryption: &'static EspEncryption, integrity: Option<&'static EspIntegrity>) -> Option<Self> {
        (encryption.icv.is_some() != integrity.is_some()).then_some(Self { encryption, integrity })
    }

    /// Bytes of integrity check value.
    pub fn icv(&self) -> u8 {
        let own = self.encryption.icv;
        own.or(self.integrity.map(|known| known.icv)).unwrap_or_default()
    }

    fn icv_document(&self) -> &'static str {
        self.integrity.map_or(self.encryption.document, |known| known.document)
    }
}

/// ESP protection of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Esp {
    /// Tunnel or transport.
    pub mode: Mode,
    /// In UDP or not.
    pub udp: UdpEncapsulation,
    /// The IP version of the header that is sent.
    pub outer: IpVersion,
    /// Ciphers.
    pub cipher: EspCipher,
}

impl Esp {
    /// The IP packet that is sent for an IP packet of `inner` bytes, headers included.
    ///
    /// Padding fills payload and trailer up to the cipher's block, and to four bytes in any case (RFC 4303, section 2.4), with no more than that:
    /// traffic flow confidentiality (section 2.7) is not modelled.
    pub fn packet(&self, inner: Bytes, version: IpVersion) -> Result<Layout, OverheadError> {
        most(inner, u64::from(IP_PACKET_MOST), "an IP packet")?;
        let carried = least(inner, version.header(), "IP")?;
        let (header, payload) = match self.mode {
            Mode::Tunnel => (Part::header(self.outer.header()), Part::payload("IP packet", inner)),
            Mode::Transport => (Part::kept(version.header()), Part::payload("payload of IP", carried)),
        };
        let encryption = self.cipher.encryption;
        let block = u16::from(encryption.block).max(Header::ESP_ALIGNMENT.bytes);
        let unpadded = payload.bytes + Bytes::from(Header::ESP_TRAILER.bytes);
        let padding = unpadded.padded_to(block).beyond(unpadded);
        let mut parts = vec![header];
        if self.udp == UdpEncapsulation::InUdp {
            parts.push(Part::header(Header::UDP));
        }
        parts.extend([
            Part::header(Header::ESP),
            Part::added("initialization vector", encryption.iv, encryption.document),
            payload,
            Part::padding("padding", padding, "RFC 4303, section 2.4"),
            Part::header(Header::ESP_TRAILER),
            Part::added("integrity check value", self.cipher.icv(), self.cipher.icv_document()),
        ]);
        let layout = Layout::of(parts);
        most(layout.total(), u64::from(IP_PACKET_MOST), "an IP packet in ESP")?;
        Ok(layout)
    }
}
