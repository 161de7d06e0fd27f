//! IKEv2 and ESP: what was agreed on, by packets, by what keys opened, or by the word of a ledger.

use bartizan_ledger as ledger;
use bartizan_registry::TransformKind;
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::{Proposal, Transform};
use serde_json::{Map, Value, json};

use super::{Protocol, Seen};
use crate::cbom::algorithm::Algorithm;

/// Evidence that the additional key exchanges which an IKE_SA chose have taken place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cbom) enum Additional {
    Shown,
    NotShown,
}

bartizan_registry::made! {
    /// An algorithm of a security association.
    #[derive(Debug, Clone, PartialEq)]
    struct Transformed, shown(transform: Transform) {
        /// Transform type.
        kind: u8 = transform.kind,
        /// Its identifier; none where the ledger has a name alone.
        id: Option<u16> = Some(transform.id),
        /// Bits of its key, where they are negotiated.
        bits: Option<u16> = transform.key_length,
        /// As proposals are written: `ke1_ml-kem-768`.
        text: String = transform.to_string(),
        algorithm: Algorithm = Algorithm::transform(transform),
    }
}

/// Transforms agreed on for a security association, in the order of their types.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cbom) struct Agreement(Vec<Transformed>);

impl Transformed {
    fn of_ledger(kind: u8, of_ledger: &ledger::Algorithm) -> Self {
        match of_ledger.code {
            Some(id) => Self::shown(Transform {
                kind,
                id,
                key_length: of_ledger.bits,
            }),
            None => Self {
                kind,
                id: None,
                bits: of_ledger.bits,
                text: of_ledger.name.clone(),
                algorithm: Algorithm::unnumbered(kind, &of_ledger.name),
            },
        }
    }
}

impl Agreement {
    /// A proposal that was chosen. Additional key exchanges that are not `shown` to have happened
    /// are left out.
    pub(in crate::cbom) fn shown(chosen: &Proposal, shown: Additional) -> Self {
        let counts = |transform: &&Transform| shown == Additional::Shown || !transform.is_additional();
        let transforms = chosen.transforms.iter().filter(counts);
        Self::of(transforms.map(|&transform| Transformed::shown(transform)))
    }

    /// An IKE_SA of which a ledger tells.
    pub(in crate::cbom) fn of_ike(record: &ledger::IkeSa) -> Self {
        let parts = [
            (TransformKind::Encryption, &record.encryption),
            (TransformKind::PseudoRandomFunction, &record.prf),
            (TransformKind::Integrity, &record.integrity),
        ];
        Self::of(of_ledger(&parts).chain(exchanges(&record.key_exchanges)))
    }

    /// A CHILD_SA of which a ledger tells.
    pub(in crate::cbom) fn of_child(record: &ledger::ChildSa) -> Self {
        let parts = [
            (TransformKind::Encryption, &record.encryption),
            (TransformKind::Integrity, &record.integrity),
        ];
        let numbers = Transformed::shown(Transform {
            kind: TransformKind::SequenceNumbers.code(),
            id: u16::from(record.extended_sequence_numbers),
            key_length: None,
        });
        Self::of(
            of_ledger(&parts)
                .chain(exchanges(&record.key_exchanges))
                .chain([numbers]),
        )
    }

    fn of(transforms: impl Iterator<Item = Transformed>) -> Self {
        let mut transforms: Vec<Transformed> = transforms.collect();
        transforms.sort_by_key(|transform| transform.kind);
        Self(transforms)
    }

    fn text(&self, between: &str) -> String {
        let texts: Vec<&str> = self.0.iter().map(|transform| transform.text.as_str()).collect();
        texts.join(between)
    }

    /// The family of key agreement, where it is the only key exchange: evaluators judge a protocol
    /// by its name.
    fn classical(&self) -> String {
        let exchanges = self.0.iter().map(|transform| &transform.algorithm);
        let family = |algorithm: &Algorithm| algorithm.properties["algorithmFamily"].as_str().map(str::to_owned);
        let is_exchange =
            |algorithm: &&Algorithm| matches!(algorithm.properties["primitive"].as_str(), Some("key-agree" | "kem"));
        let mut families = exchanges.filter(is_exchange).map(family);
        match (families.next().flatten(), families.next()) {
            (Some(family), None) if family.ends_with("DH") => format!("{family}, "),
            _ => String::new(),
        }
    }

    fn algorithms(&self) -> impl Iterator<Item = (Algorithm, Seen)> {
        self.0
            .iter()
            .map(|transform| (transform.algorithm.clone(), Seen::InHello))
    }
}

fn of_ledger<'a>(
    parts: &'a [(TransformKind, &'a Option<ledger::Algorithm>)],
) -> impl Iterator<Item = Transformed> + use<'a> {
    let named = parts
        .iter()
        .filter_map(|(kind, of_ledger)| Some((kind, of_ledger.as_ref()?)));
    named.map(|(kind, of_ledger)| Transformed::of_ledger(kind.code(), of_ledger))
}

/// The first key exchange, and those that follow it as ADDKE1 and on.
fn exchanges(of_ledger: &[ledger::Algorithm]) -> impl Iterator<Item = Transformed> {
    let kinds = [Transform::KE].into_iter().chain(Transform::ADDITIONAL_KE);
    kinds
        .zip(of_ledger)
        .map(|(kind, of_ledger)| Transformed::of_ledger(kind, of_ledger))
}

impl Protocol {
    /// An IKE_SA by its agreed algorithms and by the proofs of its ends, as far as they are known.
    pub(in crate::cbom) fn ike(version: (u8, u8), agreed: &Agreement, proofs: &[(Algorithm, Seen)]) -> Self {
        let mut types: [Vec<Value>; 4] = Default::default();
        for transform in &agreed.0 {
            let algorithm = &transform.algorithm;
            let reference = &algorithm.reference;
            let named = |name: &str| json!({ "name": name, "algorithm": reference });
            let (place, described) = match TransformKind::of(transform.kind) {
                Some(TransformKind::Encryption) => {
                    let mut described = named(registry_name(algorithm));
                    if let Some(bits) = transform.bits {
                        described["keyLength"] = json!(bits);
                    }
                    (0, described)
                }
                Some(TransformKind::PseudoRandomFunction) => (1, named(&algorithm.name)),
                Some(TransformKind::Integrity) => (2, named(&algorithm.name)),
                Some(TransformKind::KeyExchange) => {
                    let mut described = json!({ "algorithm": reference });
                    if let Some(id) = transform.id {
                        described["group"] = json!(id);
                    }
                    (3, described)
                }
                Some(TransformKind::SequenceNumbers) | None => continue,
            };
            types[place].push(described);
        }
        let mut auth: Vec<&Algorithm> = proofs.iter().map(|(algorithm, _)| algorithm).collect();
        auth.dedup();
        let mut listed = Map::new();
        for (name, list) in ["encr", "prf", "integ", "ke"].into_iter().zip(types) {
            if !list.is_empty() {
                listed.insert(name.into(), Value::Array(list));
            }
        }
        let proven: Vec<&str> = auth.iter().map(|proof| proof.name.as_str()).collect();
        let mut by = String::new();
        if !auth.is_empty() {
            let described = auth
                .iter()
                .map(|proof| json!({ "name": proof.name, "algorithm": proof.reference }));
            listed.insert("auth".into(), described.collect());
            by = proven.join("+");
        }
        let version = format!("{}.{}", version.0, version.1);
        let [slash, comma] = if by.is_empty() { ["", ""] } else { ["/", ", "] };
        Self {
            reference: format!("protocol/ike/{version}/{}{slash}{by}", agreed.text("/")),
            name: format!("IKE {version}, {}{}{comma}{by}", agreed.classical(), agreed.text(", ")),
            properties: json!({ "type": "ike", "version": version, "ikev2TransformTypes": listed }),
            algorithms: agreed.algorithms().chain(proofs.iter().cloned()).collect(),
        }
    }

    /// ESP of which only its packets are there. Its cipher was agreed on in IKE_AUTH, encrypted:
    /// what can be seen is whether it encrypts at all.
    pub(in crate::cbom) fn esp(sa: &EspSa) -> Self {
        let (reference, name) = if sa.in_plaintext().is_some() {
            ("protocol/ipsec/esp-null", "ESP, NULL encryption")
        } else {
            ("protocol/ipsec/esp", "ESP, cipher not observable")
        };
        Self {
            reference: reference.into(),
            name: name.into(),
            properties: json!({ "type": "ipsec", "version": ESP }),
            algorithms: Vec::new(),
        }
    }

    /// ESP by what was agreed on for it.
    pub(in crate::cbom) fn esp_agreed(agreed: &Agreement) -> Self {
        let references: Vec<&String> = agreed
            .0
            .iter()
            .map(|transform| &transform.algorithm.reference)
            .collect();
        let text = agreed.text("/");
        Self {
            reference: format!("protocol/ipsec/esp/{text}"),
            name: format!("ESP, {}", agreed.text(", ")),
            properties: json!({
                "type": "ipsec",
                "version": ESP,
                "cipherSuites": [{ "name": text, "algorithms": references }],
            }),
            algorithms: agreed.algorithms().collect(),
        }
    }
}

const ESP: &str = "ESP (RFC 4303)";

/// An encryption transform's name without the key length, which has a field of its own.
fn registry_name(algorithm: &Algorithm) -> &str {
    let parameters = algorithm.properties["parameterSetIdentifier"].as_str();
    let plain = parameters.and_then(|bits| algorithm.name.strip_suffix(bits)?.strip_suffix('-'));
    plain.unwrap_or(&algorithm.name)
}
