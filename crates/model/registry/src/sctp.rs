//! Application protocols of SCTP on the interfaces of a mobile network: payload protocol identifiers and ports.

use serde::Serialize;

use crate::row::{cell, note};

/// One application protocol over SCTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SctpApplication {
    /// The interface it belongs to: `N2`.
    pub interface: &'static str,
    /// Its name: `NGAP`.
    pub protocol: &'static str,
    /// Payload protocol identifier (IANA).
    pub payload_protocol: Option<u32>,
    /// Payload protocol identifier over DTLS (TS 33.501, clauses 9.2, 9.4 and 9.8).
    pub over_dtls: Option<u32>,
    /// Port assigned by IANA, or the usual one where none is.
    pub port: Option<u16>,
    /// A caveat beyond the numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

macro_rules! applications {
    ($($interface:literal $protocol:literal $ppid:tt $dtls:tt $port:tt $($note:literal)?;)*) => {
        &[$(SctpApplication {
            interface: $interface,
            protocol: $protocol,
            payload_protocol: cell!($ppid),
            over_dtls: cell!($dtls),
            port: cell!($port),
            note: note!($($note)?),
        }),*]
    };
}

/// Every application protocol over SCTP this project knows.
pub static SCTP_APPLICATIONS: &[SctpApplication] = applications! {
    // interface, protocol, PPID, PPID over DTLS, port, note
    "N2" "NGAP" 60 66 38412;
    "Xn" "XnAP" 61 67 38422;
    "F1" "F1AP" 62 68 38472;
    "E1" "E1AP" 64 69 38462;
    "X2" "X2AP" 27 -  36422 "the OSC RIC listens for E2 on its port";
    "W1" "W1AP" 73 -  37472;
    "E2" "E2AP" 70 -  36421 "no port is assigned; 36421 is that of FlexRIC and srsRAN, and FlexRIC sends PPID 0";
};

/// The application with this payload protocol identifier, and whether that announces DTLS. Some
/// stacks write the identifier in the other byte order: SCTP passes it through as it is given (RFC
/// 6458, section 5.3.2).
#[must_use]
pub fn sctp_application(payload_protocol: u32) -> Option<(&'static SctpApplication, bool)> {
    let named = |identifier: u32| {
        SCTP_APPLICATIONS.iter().find_map(|known| {
            let over_dtls = known.over_dtls == Some(identifier);
            (over_dtls || known.payload_protocol == Some(identifier)).then_some((known, over_dtls))
        })
    };
    named(payload_protocol).or_else(|| named(payload_protocol.swap_bytes()))
}

/// The application that usually listens on this port.
pub fn sctp_application_at(port: u16) -> Option<&'static SctpApplication> {
    SCTP_APPLICATIONS.iter().find(|known| known.port == Some(port))
}

/// ALPN name (RFC 7301) of SCTP associations that gateways carry over TLS, in the frames of version
/// 1.
pub const SCTP_OVER_TLS: &str = "bartizan-sctp/1";

/// The same over QUIC, with a stream for each of SCTP's.
pub const SCTP_OVER_QUIC: &str = "bartizan-sctp-quic/1";

/// The interface of this name among those that run over SCTP; `F1-C` is `F1` here.
pub fn sctp_interface_named(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix("-C").unwrap_or(name);
    let known = SCTP_APPLICATIONS.iter().find(|known| known.interface == name);
    known.map(|known| known.interface)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_applications_share_an_identifier_or_a_port() {
        for (index, one) in SCTP_APPLICATIONS.iter().enumerate() {
            for other in &SCTP_APPLICATIONS[index + 1..] {
                assert_ne!(one.port, other.port);
                let identifiers = |row: &SctpApplication| [row.payload_protocol, row.over_dtls];
                for identifier in identifiers(one).into_iter().flatten() {
                    assert!(!identifiers(other).contains(&Some(identifier)));
                }
            }
        }
    }

    #[test]
    fn an_identifier_over_dtls_says_so() {
        assert_eq!(
            sctp_application(60).map(|(known, dtls)| (known.interface, dtls)),
            Some(("N2", false))
        );
        assert_eq!(
            sctp_application(66).map(|(known, dtls)| (known.interface, dtls)),
            Some(("N2", true))
        );
        assert_eq!(sctp_application(0), None);
        assert_eq!(sctp_application_at(38472).map(|known| known.interface), Some("F1"));
    }
}
