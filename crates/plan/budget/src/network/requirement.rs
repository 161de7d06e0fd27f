//! Requirements of 3GPP and O-RAN WG11 on each interface, with the clause. None of these texts asks
//! for post-quantum cryptography.

use bartizan_deployment::{InterfaceKind, Protection};
use serde::{Serialize, Serializer};

bartizan_registry::named! {
    /// Strength of a requirement.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Demand, name {
        /// No requirement was found.
        NotFound = "-",
        /// May.
        May = "may",
        /// Should.
        Should = "should",
        /// Shall.
        Shall = "shall",
    }
}

bartizan_registry::named! {
    /// Required state: in use, or only supported.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Use, name {
        /// It is to be used, unless the link is secured by other means.
        Required = "to be used",
        /// It must be supported; whether it is used is the operator's decision.
        OperatorDecides = "to be supported, use is the operator's decision",
        /// Nothing binding was found.
        NotFound = "no requirement found",
    }
}

/// Entry of table 1 of Groen et al. 2024 for an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Published {
    /// Confidentiality, integrity, authentication, replay protection, as ticks stand there.
    pub ticks: [bool; 4],
    /// The protocol.
    pub protocol: &'static str,
    /// The least overhead in bytes.
    pub overhead: &'static str,
    /// Contradiction with the standards read here.
    pub note: &'static str,
}

/// Requirement on one interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Requirement {
    /// The interface.
    #[serde(serialize_with = "kind_name")]
    pub kind: InterfaceKind,
    /// Confidentiality.
    pub confidentiality: Demand,
    /// Integrity.
    pub integrity: Demand,
    /// Authentication.
    pub authentication: Demand,
    /// Replay protection.
    pub replay: Demand,
    /// Required state of the protection.
    pub usage: Use,
    /// The protocols named.
    pub protocols: &'static str,
    /// Protections of a deployment file that meet the requirement.
    #[serde(skip)]
    pub met_by: &'static [Protection],
    /// Document and clause.
    pub clause: &'static str,
    /// Caveat on the requirement.
    pub note: &'static str,
    /// Entry of table 1 of Groen et al. 2024.
    pub published: Option<Published>,
}

fn kind_name<S: Serializer>(kind: &InterfaceKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.name())
}

use Demand::{Shall, Should};
use Protection::{Ipsec, Macsec, Sidecar};

macro_rules! requirements {
    ($($kind:ident [$c:ident $i:ident $a:ident $r:ident] $usage:ident $protocols:literal [$($met:ident)*] $clause:literal $note:literal $published:expr;)*) => {
        &[$(Requirement {
            kind: InterfaceKind::$kind,
            confidentiality: $c,
            integrity: $i,
            authentication: $a,
            replay: $r,
            usage: Use::$usage,
            protocols: $protocols,
            met_by: &[$($met),*],
            clause: $clause,
            note: $note,
            published: $published,
        }),*]
    };
}

const fn published(
    ticks: [bool; 4],
    protocol: &'static str,
    overhead: &'static str,
    note: &'static str,
) -> Option<Published> {
    Some(Published {
        ticks,
        protocol,
        overhead,
        note,
    })
}

const ALL_FOUR: [bool; 4] = [true; 4];
const NO_REPLAY: [bool; 4] = [true, true, true, false];

/// One for each interface a deployment file can name, by the documents that docs/interfaces names: TS 33.501 v20.0.0, O-RAN WG11 Security Requirements (SRCS) and
/// Security Protocols (SPS) R004 v11.00, WG4 CUS and M-plane v17.01, WG3 E2GAP v07, WG2 A1TP v03.04.
pub static REQUIREMENTS: &[Requirement] = requirements! {
    // kind, [confidentiality integrity authentication replay], use, protocols, [met by], clause, note, table 1
    Sbi [Shall Shall Shall Shall] Required "mutual TLS, OAuth 2.0" [Sidecar Ipsec] "TS 33.501, clauses 13.1.0, 13.3.2.1 and 13.4.1"
        "TLS is to be used unless the network is secured otherwise; NDS/IP may be added. Tokens (JWS) and SUCI are apart from it and stay classical" None;
    N2 [Shall Shall Shall Shall] OperatorDecides "IPsec; also DTLS over SCTP" [Ipsec] "TS 33.501, clause 9.2"
        "IPsec is mandatory to implement on the gNB; a security gateway may end it at the core" None;
    N3 [Shall Shall Shall Shall] OperatorDecides "IPsec" [Ipsec] "TS 33.501, clause 9.3"
        "IPsec is mandatory to implement on the gNB" None;
    N4 [Shall Shall Shall Shall] Required "IPsec" [Ipsec] "TS 33.501, clause 9.9"
        "to be used unless secured by other means" None;
    N9 [Shall Shall Shall Shall] Required "IPsec" [Ipsec] "TS 33.501, clause 9.9"
        "to be used unless secured by other means" None;
    N26 [Shall Shall Shall Shall] OperatorDecides "IPsec (NDS/IP)" [Ipsec] "TS 33.501, clause 9.5"
        "NDS/IP is to be supported unless other means are there" None;
    N32 [Shall Shall Shall Shall] Required "TLS; PRINS where intermediaries are" [Sidecar] "TS 33.501, clauses 13.1.2 and 13.2"
        "PRINS takes its keys from the TLS of N32-c, and signs with ES256 alone: classical whatever TLS does" None;
    E1 [Shall Shall Shall Shall] OperatorDecides "IPsec; also DTLS over SCTP" [Ipsec] "TS 33.501, clause 9.8.3"
        "IPsec is mandatory to support" published(NO_REPLAY, "IPsec", "57 or more", "replay protection is asked for too");
    E2 [Shall Shall Shall Shall] Required "IPsec: ESP in tunnel mode, IKEv2 with certificates" [Ipsec] "SRCS, clause 5.2.4; E2GAP, clause 7"
        "no DTLS is named; transport mode is optional" published(ALL_FOUR, "IPsec", "57 or more", "agrees but for the overhead, which is 54 at least with AES-GCM");
    F1C [Shall Shall Shall Shall] OperatorDecides "IPsec; also DTLS over SCTP" [Ipsec] "TS 33.501, clause 9.8.2"
        "IPsec is mandatory to support" published([true, true, false, true], "TLS", "25 or more", "it is DTLS over SCTP, not TLS, and mutual authentication is asked for");
    F1U [Shall Shall Shall Shall] OperatorDecides "IPsec" [Ipsec] "TS 33.501, clause 9.8.2"
        "IPsec is mandatory to support" published(NO_REPLAY, "IPsec", "57 or more", "replay protection is asked for too");
    Xn [Shall Shall Shall Shall] OperatorDecides "IPsec; Xn-C also DTLS over SCTP" [Ipsec] "TS 33.501, clause 9.4"
        "IPsec is mandatory to support" published(NO_REPLAY, "IPsec", "57 or more", "replay protection is asked for too");
    A1 [Shall Shall Shall Shall] Required "mutual TLS, OAuth 2.0" [Sidecar] "SRCS, clause 5.2.1; A1TP"
        "" published(ALL_FOUR, "TLS", "25 or more", "agrees but for the overhead, which is 22 with TLS 1.3");
    O1 [Shall Shall Shall Shall] Required "mutual TLS, NACM" [Sidecar] "SRCS, clause 5.2.2"
        "O1 itself still admits NETCONF over SSH" published(NO_REPLAY, "TLS", "25 or more", "replay protection comes with TLS and is asked for");
    O2 [Shall Shall Shall Shall] Required "mutual TLS, OAuth 2.0" [Sidecar] "SRCS, clauses 5.2.3 and 5.1.8.9.1"
        "" published(ALL_FOUR, "TLS", "25 or more", "agrees but for the overhead, which is 22 with TLS 1.3");
    OpenFronthaul [Should Should Shall Should] OperatorDecides "802.1X; MACsec; on the M-plane SSHv2 and TLS" [Macsec] "SRCS, clause 5.2.5 (OFCP-1 to 4, OFUP-1 to 4, OFSP-1 to 8); MP, clause 5.4"
        "authentication of the C-plane shall, its confidentiality and integrity should, MACsec should; the user plane may be encrypted. 802.1X authenticates a port and nothing else"
        published([false, false, true, false], "802.1X; M-plane SSHv2 or TLS", "none; 28 or 25 or more", "MACsec is 'should' for the C-plane since then; the M-plane is asked for both protocols");
};

/// Returns the requirement on an interface.
pub fn requirement(kind: InterfaceKind) -> Option<&'static Requirement> {
    REQUIREMENTS.iter().find(|known| known.kind == kind)
}

/// Headings of [`Requirement::next_to_table_1`]; `#` marks numbers.
pub const TABLE_1_HEADINGS: [&str; 8] = [
    "interface",
    "printed",
    "protocol",
    "#bytes",
    "asked for",
    "protocols",
    "clause",
    "difference",
];

/// Legend of the same table.
pub const TABLE_1_NOTE: &str = "C confidentiality, I integrity, A authentication, R replay protection. W1 and X2, which are printed in the row of F1, E1 and Xn, are no interfaces of a deployment file.";

impl Requirement {
    /// Row of table 1 of Groen et al. 2024 next to the standards; none for an interface that is not in it.
    pub fn next_to_table_1(&self) -> Option<[String; 8]> {
        let printed = self.published?;
        let demands = [
            ("C", self.confidentiality),
            ("I", self.integrity),
            ("A", self.authentication),
            ("R", self.replay),
        ];
        let ticked = demands.iter().zip(printed.ticks).filter(|(_, tick)| *tick);
        let letters: String = ticked.map(|((letter, _), _)| *letter).collect();
        let asked_for = if demands.iter().all(|(_, demand)| *demand == self.confidentiality) {
            format!("C I A R {}", self.confidentiality.name())
        } else {
            demands
                .map(|(letter, demand)| format!("{letter} {}", demand.name()))
                .join(", ")
        };
        Some([
            self.kind.name().to_owned(),
            letters,
            printed.protocol.to_owned(),
            printed.overhead.to_owned(),
            asked_for,
            self.protocols.to_owned(),
            self.clause.to_owned(),
            printed.note.to_owned(),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_interface_of_a_deployment_file_has_one_requirement_with_its_clause() {
        let names = [
            "SBI", "N2", "N3", "N4", "N9", "N26", "N32", "E1", "E2", "F1-C", "F1-U", "Xn", "A1", "O1", "O2", "FH",
        ];
        assert_eq!(REQUIREMENTS.len(), names.len());
        for name in names {
            let of: Vec<_> = REQUIREMENTS.iter().filter(|known| known.kind.name() == name).collect();
            assert_eq!(of.len(), 1, "{name}");
            assert!(of[0].clause.contains("clause") && !of[0].met_by.is_empty(), "{name}");
            assert!(
                !of[0].met_by.contains(&Protection::Sidecar) || of[0].kind.over_tcp(),
                "{name}"
            );
        }
    }

    #[test]
    fn the_seven_rows_of_the_published_table_are_each_compared() {
        // A1 and O2 share a row, F1-U, E1 and Xn do (with W1 and X2, which no deployment file names), the fronthaul has two.
        let rows = REQUIREMENTS.iter().filter(|known| known.published.is_some());
        assert_eq!(rows.count(), 9);
        assert!(
            REQUIREMENTS
                .iter()
                .filter_map(|known| known.published)
                .all(|printed| !printed.note.is_empty())
        );
    }
}
