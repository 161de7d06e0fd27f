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
        interfaces: &["N26"],
    },
];

/// Versions of QUIC, as its long headers carry them: 1 (RFC 9000) and 2 (RFC 9369).
pub static QUIC_VERSIONS: &[u32] = &[0x0000_0001, 0x6b33_43cf];

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
