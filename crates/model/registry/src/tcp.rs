//! Ports of TCP that an interface of a mobile network is assigned.

/// A protocol over TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpApplication {
    /// Port assigned by IANA.
    pub port: u16,
    /// Its carrier: `SSH` or `TLS`.
    pub carrier: &'static str,
    /// The interface it serves.
    pub interface: &'static str,
    /// The document that assigns the port.
    pub document: &'static str,
}

/// Every such protocol this project knows: NETCONF.
pub static TCP_APPLICATIONS: &[TcpApplication] = &[
    TcpApplication {
        port: 830,
        carrier: "SSH",
        interface: "O1",
        document: "RFC 6242",
    },
    // Call home (RFC 8071): the client of SSH and of TLS is the end that was connected to.
    TcpApplication {
        port: 4334,
        carrier: "SSH",
        interface: "O1",
        document: "RFC 8071",
    },
    TcpApplication {
        port: 4335,
        carrier: "TLS",
        interface: "O1",
        document: "RFC 8071",
    },
    TcpApplication {
        port: 6513,
        carrier: "TLS",
        interface: "O1",
        document: "RFC 7589",
    },
];

/// The protocol with this port, where it is carried so.
pub fn tcp_application_at(port: u16, carrier: &str) -> Option<&'static TcpApplication> {
    TCP_APPLICATIONS
        .iter()
        .find(|known| known.port == port && known.carrier == carrier)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_counts_only_with_what_the_standard_carries_there() {
        assert_eq!(tcp_application_at(6513, "TLS").map(|known| known.interface), Some("O1"));
        assert_eq!(tcp_application_at(6513, "SSH"), None);
        let home = |port, carrier| tcp_application_at(port, carrier).map(|known| known.interface);
        assert_eq!(
            (home(4334, "SSH"), home(4335, "TLS"), home(4335, "SSH")),
            (Some("O1"), Some("O1"), None)
        );
    }
}
