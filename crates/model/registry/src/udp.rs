//! Protocols over UDP on the interfaces of a mobile network, and those that protect them: ports.

/// One protocol over UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UdpApplication {
    /// Its name: `GTP-U`.
    pub protocol: &'static str,
    /// Port assigned by IANA.
    pub port: u16,
    /// The interfaces it serves, as the standards call them.
    pub interfaces: &'static [&'static str],
}

/// Every protocol over UDP this project knows.
pub static UDP_APPLICATIONS: &[UdpApplication] = &[
    UdpApplication {
        protocol: "GTP-U",
        port: 2152,
        interfaces: &["N3", "N9", "F1-U", "Xn"],
    },
    UdpApplication {
        protocol: "PFCP",
        port: 8805,
        interfaces: &["N4"],
    },
    UdpApplication {
        protocol: "GTPv2-C",
        port: 2123,
        interfaces: &["N26", "S11", "S5"],
    },
];

/// A version of QUIC. The keys of its Initial packets follow from a connection identifier in
/// plaintext.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuicVersion {
    /// As long headers carry it.
    pub version: u32,
    /// Its name.
    pub name: &'static str,
    /// Salt of the keys of Initial packets (RFC 9001, section 5.2).
    pub salt: [u8; 20],
    /// Prefix of the labels of its keys: `quic key`, `quic iv`, `quic hp`.
    pub label: &'static str,
    /// The type of Initial packets in the header; 0-RTT, Handshake and Retry follow it, modulo four.
    pub initial: u8,
}

const SALT_1: [u8; 20] = *b"\x38\x76\x2c\xf7\xf5\x59\x34\xb3\x4d\x17\x9a\xe6\xa4\xc8\x0c\xad\xcc\xbb\x7f\x0a";
const SALT_2: [u8; 20] = *b"\x0d\xed\xe3\xde\xf7\x00\xa6\xdb\x81\x93\x81\xbe\x6e\x26\x9d\xcb\xf9\xbd\x2e\xd9";
const SALT_29: [u8; 20] = *b"\xaf\xbf\xec\x28\x99\x93\xd2\x4c\x9e\x97\x86\xf1\x9c\x61\x11\xe0\x43\x90\xa8\x99";
const SALT_23: [u8; 20] = *b"\xc3\xee\xf7\x12\xc7\x2e\xbb\x5a\x11\xa7\xd2\x43\x2b\xb4\x63\x65\xbe\xf9\xf5\x02";

/// Versions of QUIC: 1 (RFC 9000), 2 (RFC 9369), and the drafts of version 1 that were in use.
pub static QUIC_VERSIONS: &[QuicVersion] = &[
    version_1(0x0000_0001, "QUIC version 1", SALT_1),
    QuicVersion {
        version: 0x6b33_43cf,
        name: "QUIC version 2",
        salt: SALT_2,
        label: "quicv2",
        initial: 1,
    },
    version_1(0xff00_0022, "QUIC draft 34", SALT_1),
    version_1(0xff00_0021, "QUIC draft 33", SALT_1),
    version_1(0xff00_0020, "QUIC draft 32", SALT_29),
    version_1(0xff00_001f, "QUIC draft 31", SALT_29),
    version_1(0xff00_001e, "QUIC draft 30", SALT_29),
    version_1(0xff00_001d, "QUIC draft 29", SALT_29),
    version_1(0xff00_001c, "QUIC draft 28", SALT_23),
    version_1(0xff00_001b, "QUIC draft 27", SALT_23),
    version_1(0xff00_0019, "QUIC draft 25", SALT_23),
    version_1(0xff00_0018, "QUIC draft 24", SALT_23),
    version_1(0xff00_0017, "QUIC draft 23", SALT_23),
];

const fn version_1(version: u32, name: &'static str, salt: [u8; 20]) -> QuicVersion {
    QuicVersion {
        version,
        name,
        salt,
        label: "quic",
        initial: 0,
    }
}

/// The version of QUIC under a number, where its Initial packets can be opened.
pub fn quic_version(version: u32) -> Option<&'static QuicVersion> {
    QUIC_VERSIONS.iter().find(|known| known.version == version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_protocols_share_a_port() {
        for (index, one) in UDP_APPLICATIONS.iter().enumerate() {
            for other in &UDP_APPLICATIONS[index + 1..] {
                assert_ne!(one.port, other.port);
            }
        }
    }
}
