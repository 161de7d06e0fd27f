//! The document made of what was observed.

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::HEXLOWER;
use serde_json::{Value, json};

use super::{Asset, Capture, Inventory, Ledger};
use crate::cbom::evidence::{Names, instant};
use crate::cbom::service::property;

impl Inventory {
    /// The document, with the limits of its evidence in words. It has no clock: its time is that of
    /// the last packet, its serial number is made from its content.
    pub fn document(&self, limits: impl IntoIterator<Item = String>) -> Value {
        let names = self.names();
        let mut components: Vec<Value> = self.captures.iter().enumerate().map(Capture::component).collect();
        components.extend(self.ledgers.iter().enumerate().map(Ledger::component));
        components.extend(
            self.assets
                .iter()
                .map(|(reference, asset)| asset.component(reference, &names)),
        );
        let services: Vec<Value> = self
            .services
            .iter()
            .map(|(reference, (service, _))| service.document(reference, &names.captures))
            .collect();
        let of_assets = self
            .assets
            .iter()
            .map(|(reference, asset)| (reference, &asset.depends_on));
        let of_services = self.services.iter().map(|(reference, (_, uses))| (reference, uses));
        let dependencies: Vec<Value> = of_assets
            .chain(of_services)
            .map(|(reference, on)| {
                // An asset beyond the bound is in no component: nothing may refer to it.
                let on: Vec<&String> = on.iter().filter(|used| self.assets.contains_key(*used)).collect();
                json!({ "ref": reference, "dependsOn": on })
            })
            .collect();
        let last = self
            .captures
            .iter()
            .filter_map(|capture| capture.last)
            .map(|last| last.time.0)
            .max();
        let mut properties = vec![property(
            "confidentiality",
            "against a recorder who has a quantum computer later",
        )];
        properties.push(property("authenticity", "against a forger who has a quantum computer"));
        if self.beyond > 0 {
            properties.push(property(
                "beyond",
                &format!("{} further assets or links are left out", self.beyond),
            ));
        }
        let before = properties.len();
        properties.extend(limits.into_iter().map(|limit| property("limit", &limit)));
        let limited = properties.len() > before || self.beyond > 0;
        let mut document = json!({
            "$schema": "http://cyclonedx.org/schema/bom-1.7.schema.json",
            "bomFormat": "CycloneDX",
            "specVersion": "1.7",
            "version": 1,
            "metadata": {
                "timestamp": instant(u128::from(last.unwrap_or(0))),
                "lifecycles": [{ "phase": "operations" }],
                "tools": { "components": [{
                    "type": "application",
                    "name": "bartizan",
                    "version": env!("CARGO_PKG_VERSION"),
                    "description": "inspect: from packets to verdicts",
                }] },
                "properties": properties,
            },
            "components": components,
            "services": services,
            "dependencies": dependencies,
        });
        if limited {
            document["compositions"] = json!([{ "aggregate": "incomplete" }]);
        }
        document["serialNumber"] = json!(serial_number(&document));
        document
    }

    fn names(&self) -> Names {
        let mut names = Names {
            captures: self.captures.iter().map(|capture| capture.name.clone()).collect(),
            ..Names::default()
        };
        for ledger in &self.ledgers {
            for node in &ledger.nodes {
                // A node may have begun another file: the ledger does not keep which of them has a
                // record.
                let files = names.ledgers.entry(node.clone()).or_default();
                let between = if files.is_empty() { "" } else { " or " };
                *files = format!("{files}{between}{}", ledger.name);
            }
        }
        names
    }
}

/// A file that was read.
fn file(reference: String, name: &str, sha256: Option<&String>, properties: [Value; 2]) -> Value {
    let mut component = json!({ "type": "file", "bom-ref": reference, "name": name, "properties": properties });
    if let Some(sha256) = sha256 {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": sha256 }]);
    }
    component
}

impl Capture {
    fn component((index, capture): (usize, &Self)) -> Value {
        let complete = match capture.complete {
            true => "yes",
            false => "no: not read to its end, so it has no hash here",
        };
        let properties = [
            property("packets", &capture.packets.to_string()),
            property("complete", complete),
        ];
        file(
            format!("capture/{}", index + 1),
            &capture.name,
            capture.sha256.as_ref(),
            properties,
        )
    }
}

impl Ledger {
    fn component((index, ledger): (usize, &Self)) -> Value {
        let nodes: Vec<&str> = ledger.nodes.iter().map(String::as_str).collect();
        let properties = [
            property("records", &ledger.records.to_string()),
            property("ledger-of", &nodes.join(", ")),
        ];
        file(
            format!("ledger/{}", index + 1),
            &ledger.name,
            ledger.sha256.as_ref(),
            properties,
        )
    }
}

impl Asset {
    fn component(&self, reference: &str, names: &Names) -> Value {
        json!({
            "type": "cryptographic-asset",
            "bom-ref": reference,
            "name": self.name,
            "cryptoProperties": self.properties,
            "evidence": { "occurrences": self.evidence.occurrences(names) },
            "properties": [property("seen", &self.evidence.seen().to_string())],
        })
    }
}

/// A UUID of version 8 (RFC 9562) from the content: the same observation has the same number, another one another.
fn serial_number(document: &Value) -> String {
    let hash = digest(&SHA256, document.to_string().as_bytes());
    let mut bytes = [0; 16];
    for (byte, hashed) in bytes.iter_mut().zip(hash.as_ref()) {
        *byte = *hashed;
    }
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = HEXLOWER.encode(&bytes);
    format!(
        "urn:uuid:{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}
