//! Sizes of what protocols put around a payload: fixed headers, and what a limit of theirs is.

use serde::Serialize;

use crate::macsec::{MACSEC_ICV, MACSEC_SCI, MACSEC_SECTAG};

/// Bytes that a protocol puts in front of or behind what it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Header {
    /// Its name.
    pub name: &'static str,
    /// Its size in bytes.
    pub bytes: u16,
    /// The document that defines it.
    pub document: &'static str,
    /// The section, clause or figure within.
    pub section: &'static str,
}

macro_rules! headers {
    ($($constant:ident $name:literal $bytes:tt $document:literal $section:literal;)*) => {
        impl Header {
            $(#[doc = concat!($name, ": ", stringify!($bytes), " bytes (", $document, ", ", $section, ").")]
              pub const $constant: Self = Self { name: $name, bytes: $bytes, document: $document, section: $section };)*
        }

        /// Every header this project has a size of.
        pub static HEADERS: &[Header] = &[$(Header::$constant),*];
    };
}

headers! {
    // constant, name, bytes, document, section
    ETHERNET           "Ethernet header"              14 "IEEE 802.3-2022"   "clause 3.1.1";
    ETHERNET_LEAST     "least Ethernet frame"         60 "IEEE 802.3-2022"   "clause 4A.4.2";
    ETHERNET_FCS       "frame check sequence"          4 "IEEE 802.3-2022"   "clause 3.2.9";
    ETHERNET_GAP       "preamble and gap"             20 "IEEE 802.3-2022"   "clauses 3.2.1 and 4A.4.2";
    VLAN_TAG           "VLAN tag"                      4 "IEEE 802.1Q-2022"  "clause 9.5";
    SECTAG             "MACsec SecTAG"                 MACSEC_SECTAG "IEEE 802.1AE-2018" "clause 9.3";
    SECTAG_SCI         "MACsec SCI"                    MACSEC_SCI "IEEE 802.1AE-2018" "clause 9.9";
    MACSEC_ICV         "MACsec ICV"                   MACSEC_ICV "IEEE 802.1AE-2018" "clause 14.5";
    IPV4               "IPv4 header"                  20 "RFC 791"           "section 3.1";
    IPV6               "IPv6 header"                  40 "RFC 8200"          "section 3";
    IPV6_FRAGMENT      "IPv6 fragment header"          8 "RFC 8200"          "section 4.5";
    UDP                "UDP header"                    8 "RFC 768"           "page 1";
    TCP                "TCP header"                   20 "RFC 9293"          "section 3.1";
    TCP_TIMESTAMPS     "TCP timestamps, padded"       12 "RFC 7323"          "section 3.2 and appendix A";
    SCTP               "SCTP common header"           12 "RFC 9260"          "section 3.1";
    SCTP_DATA          "SCTP DATA chunk header"       16 "RFC 9260"          "section 3.3.1";
    SCTP_SACK          "SCTP SACK chunk"              16 "RFC 9260"          "section 3.3.4";
    ICMP_ECHO          "ICMP echo header"              8 "RFC 792"           "page 14";
    ESP                "ESP header"                    8 "RFC 4303"          "section 2";
    ESP_TRAILER        "ESP trailer"                   2 "RFC 4303"          "sections 2.5 and 2.6";
    ESP_ALIGNMENT      "ESP alignment"                 4 "RFC 4303"          "section 2.4";
    NON_ESP_MARKER     "non-ESP marker"                4 "RFC 3948"          "section 2.2";
    IKE                "IKE header"                   28 "RFC 7296"          "section 3.1";
    IKE_PAYLOAD        "IKE generic payload header"    4 "RFC 7296"          "section 3.2";
    IKE_FRAGMENT       "IKE fragment numbers"          4 "RFC 7383"          "section 2.5";
    GTP_U              "GTP-U header"                  8 "3GPP TS 29.281"    "clause 5.1";
    GTP_U_EXTENDED     "GTP-U header with PDU session container" 16 "3GPP TS 38.415" "clause 5.5.2";
    VXLAN              "VXLAN header"                  8 "RFC 7348"          "section 5";
    GENEVE             "Geneve header"                 8 "RFC 8926"          "section 3.4";
    PPPOE              "PPPoE and PPP headers"         8 "RFC 2516"          "sections 4 and 7";
    ECPRI              "eCPRI header"                  4 "eCPRI 2.0"         "section 3.1.3";
    TLS_RECORD         "TLS record header"             5 "RFC 9846"          "section 5.1";
    TLS_CONTENT_TYPE   "TLS inner content type"        1 "RFC 9846"          "section 5.2";
    TLS_HANDSHAKE      "TLS handshake header"          4 "RFC 9846"          "section 4";
    SSH_LENGTHS        "SSH packet and padding length" 5 "RFC 4253"         "section 6";
    SSH_PADDING_LEAST  "least SSH padding"             4 "RFC 4253"          "section 6";
    SSH_GCM_TAG        "SSH AES-GCM tag"              16 "RFC 5647"          "section 7";
    QUIC_FLAGS         "QUIC short header flags"       1 "RFC 9000"          "section 17.3";
    QUIC_TAG           "QUIC AEAD tag"                16 "RFC 9001"          "section 5.3";
}

/// The most bytes of content in one TLS record (RFC 9846, section 5.1): 2^14.
pub const TLS_RECORD_CONTENT: u16 = 16_384;
/// The least bytes of a UDP datagram with a QUIC Initial packet (RFC 9000, section 14.1).
pub const QUIC_INITIAL_LEAST: u16 = 1200;
/// Factor of the bytes received that bounds the bytes a QUIC server may send before the address is
/// validated (RFC 9000, section 8.1).
pub const QUIC_AMPLIFICATION: u8 = 3;
/// Segments in TCP's initial window at most (RFC 6928, section 2).
pub const TCP_INITIAL_SEGMENTS: u16 = 10;
/// Bytes in TCP's initial window where that is less than ten segments and more than two (RFC 6928, section 2).
pub const TCP_INITIAL_BYTES: u16 = 14_600;
/// The least MTU of a link with IPv4 (RFC 791, section 3.2).
pub const IPV4_MTU_LEAST: u16 = 68;
/// The least MTU of a link with IPv6 (RFC 8200, section 5).
pub const IPV6_MTU_LEAST: u16 = 1280;
/// The most bytes of an IPv4 packet (RFC 791, section 3.1).
pub const IP_PACKET_MOST: u16 = 65_535;
/// The most payload of an eCPRI message over Ethernet, as Groen et al. 2024 (section 3.2.1) and
/// their figure 15 take it.
pub const ECPRI_PAYLOAD_PUBLISHED: u16 = 8192;
/// Data of a fragment of IP comes in units of eight bytes (RFC 791, section 3.1; RFC 8200, section 4.5).
pub const FRAGMENT_UNIT: u8 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_once() {
        let mut names: Vec<_> = HEADERS.iter().map(|header| header.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), HEADERS.len());
    }

    #[test]
    fn a_sctp_sack_on_ethernet_has_62_bytes() {
        // As Groen et al. 2024 print it (table 2).
        let parts = [Header::ETHERNET, Header::IPV4, Header::SCTP, Header::SCTP_SACK];
        assert_eq!(parts.iter().map(|part| part.bytes).sum::<u16>(), 62);
    }
}
