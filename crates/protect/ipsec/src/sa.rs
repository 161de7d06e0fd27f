//! Security associations as charon reports them (`list-sas` and its events), read into the ledger's
//! terms.

use std::net::{IpAddr, SocketAddr};

use bartizan_ledger::{Algorithm, Bytes, EspSpi, IkeSpi, Key};
use bartizan_registry::{TransformKind, transform_named};
use serde::Serialize;

use crate::vici::Section;

/// Additional key exchanges that an SA may have (RFC 9370, section 2.1).
const MOST_ADDITIONAL: usize = 7;

/// Seconds between an IKE_SA and the CHILD_SA that was set up with it, at most: both are made when one message is read.
pub const TOGETHER_S: u64 = 5;

bartizan_registry::made! {
    /// An IKE_SA. Serialized as `bartizan status --json` has it.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    pub struct IkeSa,
    /// Reads the section of an IKE_SA; none where it lacks what every IKE_SA has.
    #[must_use]
    pub read(connection: &str, section: &Section) -> Option<Self> {
        let spi = |name| IkeSpi::parse(section.text(name)?).filter(|spi| spi.0 != 0);
        let address = |host: &str, port: &str| {
            let ip: IpAddr = section.text(host)?.parse().ok()?;
            Some(SocketAddr::new(ip, section.number(port)?.try_into().ok()?))
        };
        let key = spi("initiator-spi")
            .zip(spi("responder-spi"))
            .map(|(initiator_spi, responder_spi)| Key::Ike {
                initiator_spi,
                responder_spi,
            });
        let children = section.section("child-sas").into_iter().flat_map(Section::sections);
        /// The connection it belongs to.
        #[serde(skip)]
        pub connection: String = connection.to_owned(),
        /// charon's own number.
        #[serde(skip)]
        pub id: u32 = section.number("uniqueid")?.try_into().ok()?,
        /// charon's word: `CONNECTING`, `ESTABLISHED`, `REKEYING`, `REKEYED`, `DELETING` ...
        pub state: String = section.text("state")?.to_owned(),
        /// Its SPIs; absent until the responder has answered.
        #[serde(rename = "spis")]
        pub key: Option<Key>,
        /// We began it.
        pub initiator: bool = section.is_yes("initiator"),
        /// The identity the peer has proven, or is expected to prove.
        #[serde(skip)]
        pub peer_identity: Option<String> = section.text("remote-id").map(str::to_owned),
        /// Our end.
        pub local: Option<SocketAddr> = address("local-host", "local-port"),
        /// Their end.
        pub remote: Option<SocketAddr> = address("remote-host", "remote-port"),
        /// The first key exchange and the additional ones, in order.
        pub key_exchanges: Vec<Algorithm> = key_exchanges(section),
        /// A pre-shared post-quantum key went into it.
        pub ppk: bool = section.is_yes("ppk"),
        /// Encryption algorithm.
        pub encryption: Option<Algorithm> = encryption(section),
        /// Integrity algorithm. None if the cipher authenticates.
        #[serde(skip)]
        pub integrity: Option<Algorithm> = integrity(section),
        /// Pseudorandom function for key derivation.
        #[serde(skip)]
        pub prf: Option<Algorithm> = algorithm(TransformKind::PseudoRandomFunction, "", section.text("prf-alg")),
        /// Seconds since it was established.
        pub established_s: u64 = section.number("established").unwrap_or_default(),
        /// Seconds since both ends authenticated each other, rekeys apart. charon does not say.
        pub authenticated_s: Option<u64> = section.number("authenticated"),
        /// Seconds until it is rekeyed, where it will be.
        pub rekey_in_s: Option<u64> = section.number("rekey-time"),
        /// Its CHILD_SAs, as far as this message reports them.
        #[serde(skip)]
        pub children: Vec<ChildSa> = children.filter_map(|(_, child)| ChildSa::read(child)).collect(),
    }
}

bartizan_registry::made! {
    /// A CHILD_SA. Serialized as `bartizan status --json` has it.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    pub struct ChildSa,
    /// Reads the section of a CHILD_SA; none where it has no SPIs yet.
    #[must_use]
    pub read(section: &Section) -> Option<Self> {
        let spi = |name| section.text(name).and_then(EspSpi::parse);
        let count = |name| section.number(name).unwrap_or_default();
        let texts = |name| section.list(name).map(str::to_owned).collect();
        /// Its name in the configuration.
        #[serde(skip)]
        pub name: String = section.text("name")?.to_owned(),
        /// charon's own number.
        #[serde(skip)]
        pub id: u32 = section.number("uniqueid")?.try_into().ok()?,
        /// charon's word: `INSTALLED`, `REKEYING`, `REKEYED`, `DELETING`, `DELETED` ...
        pub state: String = section.text("state")?.to_owned(),
        /// `TUNNEL` or `TRANSPORT`.
        pub mode: String = section.text("mode").unwrap_or_default().to_owned(),
        /// `ESP` or `AH`; none where charon does not say.
        #[serde(skip)]
        pub protocol: Option<String> = section.text("protocol").map(str::to_owned),
        /// SPI of what we receive.
        pub spi_in: EspSpi = spi("spi-in")?,
        /// SPI of what we send.
        pub spi_out: EspSpi = spi("spi-out")?,
        /// ESP travels in UDP.
        pub udp: bool = section.is_yes("encap"),
        /// Sequence numbers have 64 bits.
        #[serde(skip)]
        pub extended_sequence_numbers: bool = section.text("esn").is_some_and(|esn| esn != "0" && esn != "no"),
        /// Key exchanges of its own; none for one that is keyed from its IKE_SA.
        pub key_exchanges: Vec<Algorithm> = key_exchanges(section),
        /// Encryption algorithm.
        pub encryption: Option<Algorithm> = encryption(section),
        /// Integrity algorithm. None if the cipher authenticates.
        #[serde(skip)]
        pub integrity: Option<Algorithm> = integrity(section),
        /// Plain text carried.
        pub bytes: Bytes = Bytes {
            sent: count("bytes-out"),
            received: count("bytes-in"),
        },
        /// Packets carried.
        pub packets: Bytes = Bytes {
            sent: count("packets-out"),
            received: count("packets-in"),
        },
        /// Seconds since it was installed.
        pub installed_s: u64 = count("install-time"),
        /// Seconds until it is rekeyed, where it will be.
        pub rekey_in_s: Option<u64> = section.number("rekey-time"),
        /// Protected traffic of our end.
        pub local: Vec<String> = texts("local-ts"),
        /// Protected traffic of the peer's end.
        pub remote: Vec<String> = texts("remote-ts"),
    }
}

impl IkeSa {
    /// The IKE_SAs in a row of `list-sas`.
    pub fn of_row(row: &Section) -> impl Iterator<Item = Self> {
        row.sections().filter_map(|(connection, sa)| Self::read(connection, sa))
    }

    /// Returns true if this CHILD_SA of it was made by an exchange of its own, after the IKE_SA was
    /// set up: only the first is keyed together with it (RFC 7296, section 1.2). By charon's clock:
    /// one made within [`TOGETHER_S`] counts as the first, and so does every one that is older than
    /// an IKE_SA which was itself rekeyed.
    #[must_use]
    pub fn keyed_later(&self, child: &ChildSa) -> bool {
        child.installed_s.saturating_add(TOGETHER_S) < self.established_s
    }

    /// True before it is established: its keys are not known, and its peer has proven nothing.
    #[must_use]
    pub fn is_being_set_up(&self) -> bool {
        matches!(self.state.as_str(), "CREATED" | "CONNECTING")
    }

    /// Returns true if it stands: packets of its CHILD_SAs flow.
    #[must_use]
    pub fn stands(&self) -> bool {
        matches!(self.state.as_str(), "ESTABLISHED" | "REKEYING")
    }
}

impl ChildSa {
    /// Returns true if packets flow in it. A rekeyed one lives on for a moment for packets in
    /// flight.
    #[must_use]
    pub fn stands(&self) -> bool {
        matches!(self.state.as_str(), "INSTALLED" | "REKEYING")
    }
}

/// The old and the new IKE_SA of an event `ike-rekey`.
pub fn rekeyed_ike_sas(message: &Section) -> impl Iterator<Item = (IkeSa, IkeSa)> {
    message.sections().filter_map(|(connection, section)| {
        let (old, new) = (section.section("old")?, section.section("new")?);
        Some((IkeSa::read(connection, old)?, IkeSa::read(connection, new)?))
    })
}

/// The IKE_SA, the old and the new CHILD_SA of an event `child-rekey`.
pub fn rekeyed_child_sas(message: &Section) -> impl Iterator<Item = (IkeSa, ChildSa, ChildSa)> {
    message.sections().flat_map(|(connection, section)| {
        let sa = IkeSa::read(connection, section);
        let children = section.section("child-sas").into_iter().flat_map(Section::sections);
        children.filter_map(move |(_, child)| {
            let (old, new) = (child.section("old")?, child.section("new")?);
            Some((sa.clone()?, ChildSa::read(old)?, ChildSa::read(new)?))
        })
    })
}

fn key_exchanges(section: &Section) -> Vec<Algorithm> {
    let additional = (1..=MOST_ADDITIONAL).map(|number| format!("ake{number}"));
    std::iter::once("dh-group".to_owned())
        .chain(additional)
        .filter_map(|name| algorithm(TransformKind::KeyExchange, "", section.text(&name)))
        .collect()
}

fn encryption(section: &Section) -> Option<Algorithm> {
    let known = algorithm(TransformKind::Encryption, "ENCR_", section.text("encr-alg"))?;
    Some(Algorithm {
        bits: section.number("encr-keysize").and_then(|bits| bits.try_into().ok()),
        ..known
    })
}

fn integrity(section: &Section) -> Option<Algorithm> {
    algorithm(TransformKind::Integrity, "AUTH_", section.text("integ-alg"))
}

/// An algorithm by charon's name: strongSwan's own, or IANA's without its prefix.
fn algorithm(kind: TransformKind, prefix: &str, name: Option<&str>) -> Option<Algorithm> {
    let name = name?;
    let known = transform_named(kind, name).or_else(|| transform_named(kind, &format!("{prefix}{name}")));
    Some(match known {
        Some(known) => Algorithm {
            code: Some(known.id),
            name: known.name.to_owned(),
            bits: None,
        },
        None => Algorithm {
            code: None,
            name: name.to_owned(),
            bits: None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Report of charon 6.1.0, cut to the parts that are read.
    fn reported() -> Section {
        let child = Section::new()
            .with("name", "e2")
            .with("uniqueid", "2")
            .with("state", "INSTALLED")
            .with("mode", "TUNNEL")
            .with("encap", "yes")
            .with("spi-in", "42ebcaae")
            .with("spi-out", "0adfb4cf")
            .with("encr-alg", "AES_CBC")
            .with("encr-keysize", "256")
            .with("integ-alg", "HMAC_SHA2_256_128")
            .with("dh-group", "CURVE_25519")
            .with("ake1", "ML_KEM_768")
            .with("bytes-out", "84")
            .with_list("local-ts", ["10.78.0.1/32"]);
        Section::new()
            .with("uniqueid", "1")
            .with("state", "ESTABLISHED")
            .with("local-host", "10.77.0.1")
            .with("local-port", "4500")
            .with("initiator", "yes")
            .with("initiator-spi", "9f815c2206ce1954")
            .with("responder-spi", "eef74d6b20dd86e3")
            .with("encr-alg", "AES_GCM_16")
            .with("encr-keysize", "256")
            .with("prf-alg", "PRF_HMAC_SHA2_384")
            .with("dh-group", "ECP_384")
            .with("ake1", "HQC_128")
            .with_section("child-sas", Section::new().with_section("e2-2", child))
    }

    fn names(algorithms: &[Algorithm]) -> Vec<(Option<u16>, &str)> {
        let named = algorithms.iter().map(|known| (known.code, known.name.as_str()));
        named.collect()
    }

    #[test]
    fn algorithms_are_known_by_their_numbers_and_what_is_not_keeps_its_name() {
        let sa = IkeSa::read("ric", &reported()).unwrap();
        assert_eq!(
            names(&sa.key_exchanges),
            [(Some(20), "384-bit random ECP"), (None, "HQC_128")]
        );
        assert_eq!(sa.encryption.as_ref().unwrap().name, "ENCR_AES_GCM_16");
        assert_eq!(sa.encryption.unwrap().bits, Some(256));
        assert_eq!(sa.prf.unwrap().code, Some(6));
        let child = &sa.children[0];
        assert_eq!(
            names(&child.key_exchanges),
            [(Some(31), "Curve25519"), (Some(36), "ml-kem-768")]
        );
        assert_eq!(child.integrity.as_ref().unwrap().name, "AUTH_HMAC_SHA2_256_128");
        assert_eq!((child.bytes.sent, child.bytes.received), (84, 0));
        assert!(child.stands() && child.udp);
    }

    #[test]
    fn a_rekey_is_reported_with_what_was_and_what_is() {
        let whole = reported();
        let children = whole.section("child-sas").unwrap();
        let (_, old) = children.sections().next().unwrap();
        // The first entry of a name counts.
        let mut new = Section::new().with("uniqueid", "3");
        for (name, value) in old.entries() {
            new.push(name, value.clone());
        }
        let pair = Section::new().with_section("old", old.clone()).with_section("new", new);
        let mut reported = Section::new();
        for (name, value) in whole.entries().filter(|(name, _)| *name != "child-sas") {
            reported.push(name, value.clone());
        }
        let reported = reported.with_section("child-sas", Section::new().with_section("e2-2", pair));
        let event = Section::new().with_section("ric", reported);
        let [(sa, old, new)] = &rekeyed_child_sas(&event).collect::<Vec<_>>()[..] else {
            panic!("one rekey is reported");
        };
        assert_eq!((sa.connection.as_str(), old.id, new.id), ("ric", 2, 3));
        let pair = Section::new()
            .with_section("old", whole.clone())
            .with_section("new", whole);
        let event = Section::new().with_section("ric", pair);
        assert_eq!(rekeyed_ike_sas(&event).count(), 1);
        assert_eq!(rekeyed_child_sas(&event).count(), 0);
        assert_eq!(rekeyed_ike_sas(&Section::new()).count(), 0);
    }

    #[test]
    fn an_sa_without_its_number_or_spis_is_none() {
        assert_eq!(IkeSa::read("ric", &Section::new()), None);
        let begun = Section::new()
            .with("uniqueid", "1")
            .with("state", "CONNECTING")
            .with("initiator-spi", "9f815c2206ce1954")
            .with("responder-spi", "0000000000000000");
        assert_eq!(IkeSa::read("ric", &begun).unwrap().key, None);
    }
}
