//! Keys of MACsec links, and exchanges that did not come to their end.

use serde::{Deserialize, Serialize};

use crate::record::{Certificate, Code, Direction, Key, Negotiated, Verdict};

/// A key of a secure association came into use. Packets show its channel and association number in
/// each SecTAG; the key itself is in no ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MacsecKey {
    /// Link.
    #[serde(flatten)]
    pub link: MacsecLink,
    /// End that sends with it.
    pub used_by: MacsecEnd,
    /// Secure channel identifier in hexadecimal: address and port of the sender.
    pub sci: String,
    /// Association number, 0 to 3.
    pub an: u8,
    /// The name of the key, in hexadecimal; `ip macsec show` has it as well.
    pub key_id: String,
    /// Number of the key in its exchange and direction, from 0; with MKA, the number of its key
    /// server's key, from 1.
    pub generation: u64,
    /// Cause.
    pub cause: MacsecCause,
    /// Cipher suite by its name in IEEE 802.1AE.
    pub suite: String,
    /// Frames are encrypted; otherwise their integrity alone is protected.
    pub encrypted: bool,
    /// Origin.
    pub origin: MacsecOrigin,
    /// Verdict of the policy on the origin.
    pub verdict: Verdict,
}

/// A MACsec link as this end knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MacsecLink {
    /// The interface of the standards: `FH`.
    pub interface: String,
    /// The node at the other end.
    pub peer: String,
    /// The port that carries it.
    pub port: String,
    /// The MACsec device.
    pub device: String,
}

/// End whose frames a key protects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MacsecEnd {
    /// Those of the writer.
    Us,
    /// Those of its peer.
    Peer,
}

/// Cause of a new key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MacsecCause {
    /// It is the first of an exchange.
    Exchange,
    /// The one before was old.
    Time,
    /// The one before had protected many frames.
    Packets,
    /// It was requested.
    Asked,
    /// The peer decided so.
    Peer,
    /// The key server of MKA decided so.
    KeyServer,
    /// It was in use when the writer began.
    Found,
}

/// Origin of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "keying", rename_all = "kebab-case")]
pub enum MacsecOrigin {
    /// A TLS 1.3 connection between both ends, by its exporter.
    Direct {
        /// Direction: the end that began the connection.
        direction: Direction,
        /// Identifier of the connection in captures.
        key: Option<Key>,
        /// Negotiated algorithms.
        negotiated: Box<Negotiated>,
        /// The chain of the peer, leaf first.
        chain: Vec<Certificate>,
    },
    /// MKA (IEEE 802.1X, clause 9), by wpa_supplicant.
    Mka {
        /// The name of the CAK in hexadecimal: each MKPDU shows it.
        ckn: String,
        /// Origin of the CAK.
        cak: MacsecCak,
    },
}

/// Origin of the CAK of MKA.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "kebab-case")]
pub enum MacsecCak {
    /// A TLS 1.3 connection between both ends, by its exporter.
    Exchange {
        /// Direction: the end that began the connection.
        direction: Direction,
        /// Identifier of the connection in captures.
        key: Option<Key>,
        /// Negotiated algorithms.
        negotiated: Box<Negotiated>,
        /// The chain of the peer, leaf first.
        chain: Vec<Certificate>,
    },
    /// An exchange before the writer began: a record before this one names the same CKN.
    Earlier,
    /// A file that the deployment file names; the origin of its key is known to its author only.
    File {
        /// Path of the file.
        path: String,
    },
    /// EAP-TLS, of which the writer was the authenticator (IEEE 802.1X, clause 6.2.2).
    EapTls {
        /// Identifier of its handshake in captures.
        key: Option<Key>,
        /// Negotiated algorithms.
        negotiated: Box<Negotiated>,
        /// The chain of the peer, leaf first.
        chain: Vec<Certificate>,
    },
    /// EAP-TLS, of which the writer's wpa_supplicant was the peer: it judged the authenticator.
    EapTlsPeer {
        /// Key exchange groups that it was allowed, of which one was used; none where the writer
        /// began later.
        groups: Vec<Code>,
    },
}

/// The peer of a link was authenticated again, and the key stayed the same: authentication alone
/// does not change what protects frames.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MacsecNotRekeyed {
    /// Link.
    #[serde(flatten)]
    pub link: MacsecLink,
    /// Association number.
    pub an: u8,
    /// The name of the key.
    pub key_id: String,
}

/// A key was used for longer than its policy lets it be. It is removed, unless its CAK is of a
/// file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MacsecOutlived {
    /// Link.
    #[serde(flatten)]
    pub link: MacsecLink,
    /// Association number.
    pub an: u8,
    /// The name of the key.
    pub key_id: String,
    /// Seconds since it came into use, or since this process saw it first.
    pub age_s: u64,
    /// Frames that it has protected.
    pub packets: u64,
}

/// An exchange of keys that did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MacsecRefused {
    /// Link.
    #[serde(flatten)]
    pub link: MacsecLink,
    /// Direction: the end that began it.
    pub direction: Direction,
    /// A stable word: `unknown-ca`, `wrong-name`, `timed-out`.
    pub reason: String,
    /// The same in a sentence.
    pub detail: String,
    /// Number of refused exchanges since the last record: any station on the wire can begin one.
    pub times: u64,
    /// Negotiated algorithms, if it came so far.
    pub negotiated: Option<Box<Negotiated>>,
    /// The chain that the peer sent, leaf first.
    #[serde(default)]
    pub chain: Vec<Certificate>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Event;

    #[test]
    fn key_of_mka_is_read_as_it_was_written_wherever_its_cak_is_from() {
        let key = |cak| MacsecKey {
            link: MacsecLink {
                interface: "FH".to_owned(),
                peer: "oru".to_owned(),
                port: "eth0".to_owned(),
                device: "macsec0".to_owned(),
            },
            used_by: MacsecEnd::Us,
            sci: "0200000000010001".to_owned(),
            an: 1,
            key_id: "00".repeat(16),
            generation: 1,
            cause: MacsecCause::KeyServer,
            suite: "GCM-AES-128".to_owned(),
            encrypted: true,
            origin: MacsecOrigin::Mka {
                ckn: "0a".to_owned(),
                cak,
            },
            verdict: Verdict::Accepted,
        };
        let code = |code, name: &str| Code {
            code,
            name: name.to_owned(),
        };
        for cak in [
            MacsecCak::Earlier,
            MacsecCak::File {
                path: "/etc/fh.cak".to_owned(),
            },
            MacsecCak::EapTlsPeer {
                groups: vec![code(0x11ec, "X25519MLKEM768")],
            },
        ] {
            let event = Event::MacsecKey(Box::new(key(cak)));
            let text = serde_json::to_string(&event).unwrap();
            assert!(text.contains(r#""keying":"mka""#), "{text}");
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
        }
    }
}
