//! What was observed, folded into assets.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use aws_lc_rs::digest::{SHA256, digest};
use bartizan_ledger::Handshake;
use bartizan_posture::{JudgedEspSa, JudgedIkeSa, Posture, Reply, Source, Verdict};
use bartizan_registry::CipherSuite;
use bartizan_wire::datagrams::Datagrams;
use bartizan_wire::sctp::Association;
use bartizan_wire::ssh::KexInit;
use bartizan_wire::tls::ServerHello;
use bartizan_wire::{Connection, Content, Moment, Seen, Totals};
use serde_json::{Value, json};

use super::algorithm::Algorithm;
use super::certificate::Described;
use super::evidence::{Evidence, Place, instant};
use super::protocol::{Additional, Agreed, Protocol, Seen as Shown};
use super::service::{Service, property};

/// Assets and links told apart: what is negotiated, a stranger may choose.
const KEPT: usize = 10_000;

/// Nobody tells how the ends were authenticated.
const NOBODY: [Vec<Place>; 2] = [Vec::new(), Vec::new()];

/// A capture that was read.
#[derive(Debug)]
struct Capture {
    name: String,
    sha256: Option<String>,
    packets: u64,
    last: Option<Moment>,
    complete: bool,
}

/// A component of the document.
#[derive(Debug)]
struct Asset {
    name: String,
    /// `cryptoProperties`.
    properties: Value,
    depends_on: BTreeSet<String>,
    evidence: Evidence,
}

/// Everything observed, on its way to a document.
#[derive(Debug, Default)]
pub struct Inventory {
    captures: Vec<Capture>,
    assets: BTreeMap<String, Asset>,
    services: BTreeMap<String, (Service, BTreeSet<String>)>,
    beyond: u64,
}

impl Inventory {
    /// From here on things are of this capture.
    pub fn begin(&mut self, name: impl Display) {
        self.captures.push(Capture {
            name: name.to_string(),
            sha256: None,
            packets: 0,
            last: None,
            complete: false,
        });
    }

    /// The capture was read, and this is the SHA-256 of all its bytes as they lie on disk, in lower-case hexadecimal; none
    /// where it was not read to its end.
    pub fn end(&mut self, sha256: Option<String>, totals: &Totals) {
        if let Some(capture) = self.captures.last_mut() {
            capture.complete = sha256.is_some();
            capture.sha256 = sha256;
            capture.packets = totals.packets;
            capture.last = totals.last;
        }
    }

    /// Adds a connection, what follows from it, and what ledgers say of it.
    pub fn connection<'a>(
        &mut self,
        connection: &Connection,
        posture: &Posture,
        records: impl Iterator<Item = (Source, &'a Handshake)>,
    ) {
        let between = format!("{} -> {}", connection.client, connection.server);
        let mut uses = BTreeSet::new();
        if let Content::Tls(tls) = &connection.content
            && let Some(hello) = &tls.server_hello
        {
            uses.insert(self.agreed("tls", hello, posture, &between));
        }
        if let Content::Ssh(ssh) = &connection.content
            && let Some(protocol) = Protocol::ssh(ssh)
        {
            let ends = [&ssh.client, &ssh.server].map(|end| end.kex_init.as_ref());
            let place = |seen: &Seen<KexInit>| self.packets(seen.first, seen.last, &between);
            let places: Vec<Place> = ends.into_iter().flatten().map(place).collect();
            let signed = ssh.host_key.as_ref();
            let signed = signed.map(|seen| self.packets(seen.first, seen.last, &between));
            uses.insert(self.protocol(protocol, &places, &[signed.into_iter().collect(), Vec::new()]));
        }
        for (source, handshake) in records {
            let place = Place::of(&source, self.current(), &between);
            for certificate in &handshake.chain {
                let described = Described::new(certificate);
                let related = self.algorithms(&described.algorithms, place.as_slice());
                let properties = json!({ "assetType": "certificate", "certificateProperties": described.properties });
                self.asset(
                    &described.reference,
                    &described.name,
                    properties,
                    related,
                    place.as_slice(),
                );
                uses.insert(described.reference);
            }
        }
        let span = (connection.first.packet, connection.last.packet);
        self.service("tcp", &connection.server.to_string(), posture, span, uses);
    }

    /// Adds an association.
    pub fn association(&mut self, association: &Association, posture: &Posture) {
        let between = format!("{} -> {}", association.initiator, association.responder);
        let mut uses = BTreeSet::new();
        if let Some(hello) = association.dtls.as_ref().and_then(|dtls| dtls.server_hello.as_ref()) {
            uses.insert(self.agreed("dtls", hello, posture, &between));
        }
        let span = (association.first.packet, association.last.packet);
        self.service("sctp", &association.responder.to_string(), posture, span, uses);
    }

    /// Adds a protocol over UDP: none that is read has cryptography of its own in sight, and it is listed all the same.
    pub fn datagrams(&mut self, datagrams: &Datagrams, posture: &Posture) {
        let span = (datagrams.first.packet, datagrams.last.packet);
        self.service("udp", &datagrams.server.to_string(), posture, span, BTreeSet::new());
    }

    /// Adds an IKE_SA.
    pub fn ike(&mut self, judged: &JudgedIkeSa) {
        let sa = &judged.sa;
        let between = format!("{} -> {}", sa.initiator, sa.responder);
        let mut uses = BTreeSet::new();
        if let Some(chosen) = &sa.chosen {
            let place = self.packets(chosen.first, chosen.last, &between);
            // Chosen is not done: a verdict is safe only where the exchange itself was seen.
            let additional = match judged.posture.confidentiality.verdict() {
                Verdict::QuantumSafe => Additional::Shown,
                _ => Additional::NotShown,
            };
            let protocol = Protocol::ike(sa.version, &chosen.value, additional);
            uses.insert(self.protocol(protocol, &[place], &NOBODY));
        }
        let span = (sa.first.packet, sa.last.packet);
        self.service("udp", &sa.responder.to_string(), &judged.posture, span, uses);
    }

    /// Adds an ESP security association.
    pub fn esp(&mut self, judged: &JudgedEspSa) {
        let sa = &judged.sa;
        let between = format!("{} -> {}, SPI 0x{:08x}", sa.source, sa.destination, sa.spi);
        let place = self.packets(sa.first, sa.last, &between);
        let uses = BTreeSet::from([self.protocol(Protocol::esp(sa), &[place], &NOBODY)]);
        let server = match sa.destination {
            std::net::IpAddr::V4(address) => address.to_string(),
            std::net::IpAddr::V6(address) => format!("[{address}]"),
        };
        self.service("esp", &server, &judged.posture, (sa.first.packet, sa.last.packet), uses);
    }

    /// The document. It has no clock: its time is that of the last packet, its serial number is made from its content.
    #[must_use]
    pub fn document(&self) -> Value {
        let names: Vec<String> = self.captures.iter().map(|capture| capture.name.clone()).collect();
        let mut components: Vec<Value> = self.captures.iter().enumerate().map(Capture::component).collect();
        components.extend(
            self.assets
                .iter()
                .map(|(reference, asset)| asset.component(reference, &names)),
        );
        let services: Vec<Value> = self
            .services
            .iter()
            .map(|(reference, (service, _))| service.document(reference, &names))
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
        document["serialNumber"] = json!(serial_number(&document));
        document
    }

    fn current(&self) -> usize {
        self.captures.len().saturating_sub(1)
    }

    fn packets(&self, first: Moment, last: Moment, between: &str) -> Place {
        Place::Packets {
            capture: self.current(),
            first: first.packet,
            last: last.packet,
            between: between.to_owned(),
        }
    }

    /// What a ServerHello agreed to; the reference of the protocol.
    fn agreed(&mut self, kind: &'static str, hello: &Seen<ServerHello>, posture: &Posture, between: &str) -> String {
        let schemes = [posture.server_signature, posture.client_signature];
        let protocol = Protocol::tls(&Agreed {
            kind,
            version: hello.value.version,
            suite: CipherSuite(hello.value.cipher_suite),
            group: posture.group,
            schemes,
        });
        let places = [self.packets(hello.first, hello.last, between)];
        let of = |reply: &Reply| {
            let sources = reply.sources().iter();
            sources
                .filter_map(|source| Place::of(source, self.current(), between))
                .collect::<Vec<_>>()
        };
        let signed = [of(&posture.server_authenticated), of(&posture.client_authenticated)];
        self.protocol(protocol, &places, &signed)
    }

    /// Adds a protocol that was agreed on at `places`, and how its two ends were authenticated there; its reference.
    fn protocol(&mut self, protocol: Protocol, places: &[Place], signed: &[Vec<Place>; 2]) -> String {
        let [server, client] = signed;
        let mut uses = BTreeSet::new();
        for (shown, places) in [
            (Shown::InHello, places),
            (Shown::ByServer, server),
            (Shown::ByClient, client),
        ] {
            let algorithms: Vec<Algorithm> = protocol
                .algorithms
                .iter()
                .filter(|(_, by)| *by == shown)
                .map(|(algorithm, _)| algorithm.clone())
                .collect();
            uses.extend(self.algorithms(&algorithms, places));
        }
        let properties = json!({ "assetType": "protocol", "protocolProperties": protocol.properties });
        self.asset(&protocol.reference, &protocol.name, properties, uses, places);
        protocol.reference
    }

    /// Adds algorithms and what they are made of; their references.
    fn algorithms(&mut self, algorithms: &[Algorithm], places: &[Place]) -> BTreeSet<String> {
        let mut references = BTreeSet::new();
        for algorithm in algorithms {
            // Two ends that sign alike are one use of one algorithm.
            if !references.insert(algorithm.reference.clone()) {
                continue;
            }
            let parts = self.algorithms(&algorithm.parts, places);
            let properties = json!({ "assetType": "algorithm", "algorithmProperties": algorithm.properties });
            self.asset(&algorithm.reference, &algorithm.name, properties, parts, places);
        }
        references
    }

    fn asset(
        &mut self,
        reference: &str,
        name: &str,
        properties: Value,
        depends_on: BTreeSet<String>,
        places: &[Place],
    ) {
        if !self.assets.contains_key(reference) && self.assets.len() >= KEPT {
            self.beyond += 1;
            return;
        }
        let asset = self.assets.entry(reference.to_owned()).or_insert_with(|| Asset {
            name: name.to_owned(),
            properties,
            depends_on: BTreeSet::new(),
            evidence: Evidence::default(),
        });
        asset.depends_on.extend(depends_on);
        asset.evidence.add(places.iter().cloned());
    }

    fn service(&mut self, scheme: &str, server: &str, posture: &Posture, span: (u64, u64), uses: BTreeSet<String>) {
        let (reference, service) = Service::new(scheme, server, posture, self.current(), span);
        if let Some((known, used)) = self.services.get_mut(&reference) {
            known.take(&service);
            used.extend(uses);
        } else if self.services.len() < KEPT {
            self.services.insert(reference, (service, uses));
        } else {
            self.beyond += 1;
        }
    }
}

impl Capture {
    fn component((index, capture): (usize, &Self)) -> Value {
        let complete = if capture.complete {
            "yes"
        } else {
            "no: not read to its end, so it has no hash here"
        };
        let mut component = json!({
            "type": "file",
            "bom-ref": format!("capture/{}", index + 1),
            "name": capture.name,
            "properties": [property("packets", &capture.packets.to_string()), property("complete", complete)],
        });
        if let Some(sha256) = &capture.sha256 {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sha256 }]);
        }
        component
    }
}

impl Asset {
    fn component(&self, reference: &str, captures: &[String]) -> Value {
        json!({
            "type": "cryptographic-asset",
            "bom-ref": reference,
            "name": self.name,
            "cryptoProperties": self.properties,
            "evidence": { "occurrences": self.evidence.occurrences(captures) },
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
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "urn:uuid:{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}
