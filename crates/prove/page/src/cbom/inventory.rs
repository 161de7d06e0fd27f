//! Observations, folded into assets.

mod document;
mod ipsec;

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::fmt::Display;

use bartizan_inspect::Recorder;
use bartizan_posture::{JudgedEspSa, JudgedIkeSa, Ledgers, Posture, Reply};
use bartizan_registry::CipherSuite;
use bartizan_wire::datagrams::Datagrams;
use bartizan_wire::sctp::Association;
use bartizan_wire::ssh::KexInit;
use bartizan_wire::tls::{Certificates, Opened, ServerHello, Version};
use bartizan_wire::{Connection, Content, Moment, Seen, Totals, keys};
use serde_json::{Value, json};

use super::algorithm::Algorithm;
use super::certificate::Described;
use super::evidence::{Evidence, Place, Read};
use super::protocol::{Agreed, Protocol, Seen as Shown};
use super::service::Service;

/// Assets and links distinguished: what is negotiated, an unauthenticated peer may choose.
const KEPT: usize = 10_000;
/// Assets named by links, each time counted.
const USES: usize = 10 * KEPT;

/// No evidence of how the ends were authenticated.
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

/// A ledger that was read.
#[derive(Debug)]
struct Ledger {
    name: String,
    sha256: Option<String>,
    records: u64,
    nodes: BTreeSet<String>,
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
    ledgers: Vec<Ledger>,
    assets: BTreeMap<String, Asset>,
    services: BTreeMap<String, (Service, BTreeSet<String>)>,
    used: usize,
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

    /// The capture was read, and this is the SHA-256 of all its bytes as they lie on disk, in
    /// lower-case hexadecimal; none where it was not read to its end.
    pub fn end(&mut self, sha256: Option<String>, totals: &Totals) {
        if let Some(capture) = self.captures.last_mut() {
            capture.complete = sha256.is_some();
            capture.sha256 = sha256;
            capture.packets = totals.packets;
            capture.last = totals.last;
        }
    }

    /// A ledger was read: so many records, which these nodes wrote. The SHA-256 is that of all its bytes.
    pub fn ledger(&mut self, name: impl Display, sha256: Option<String>, records: u64, nodes: BTreeSet<String>) {
        self.ledgers.push(Ledger {
            name: name.to_string(),
            sha256,
            records,
            nodes,
        });
    }
}

impl Recorder for Inventory {
    fn connection(&mut self, connection: &Connection, posture: &Posture, recorded: &bartizan_posture::Evidence<'_>) {
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
        for (source, chain) in recorded.recorded_chains() {
            let place = Place::of(&source, self.current(), &between);
            for certificate in chain {
                uses.insert(self.certificate(Described::of_ledger(certificate), place.as_slice()));
            }
        }
        if let Content::Tls(tls) = &connection.content {
            uses.extend(self.shown([&tls.server_certificates, &tls.client_certificates], &between));
            if let Some(opened) = tls.opened.as_deref() {
                uses.extend(self.opened(opened, &between));
            }
        }
        let span = (connection.first.packet, connection.last.packet);
        self.service("tcp", &connection.server.to_string(), posture, span, uses);
    }

    fn association(&mut self, association: &Association, posture: &Posture) {
        let between = format!("{} -> {}", association.initiator, association.responder);
        let mut uses = BTreeSet::new();
        if let Some(hello) = association.dtls.as_ref().and_then(|dtls| dtls.server_hello.as_ref()) {
            uses.insert(self.agreed("dtls", hello, posture, &between));
        }
        if let Some(dtls) = &association.dtls {
            uses.extend(self.shown([&dtls.server_certificates, &dtls.client_certificates], &between));
        }
        let span = (association.first.packet, association.last.packet);
        self.service("sctp", &association.responder.to_string(), posture, span, uses);
    }

    /// QUIC and DTLS with what they agreed on, and all others as services.
    fn datagrams(&mut self, datagrams: &Datagrams, posture: &Posture) {
        let between = format!("{} -> {}", datagrams.client, datagrams.server);
        let mut uses = BTreeSet::new();
        if let Some(hello) = datagrams.quic.as_ref().and_then(|quic| quic.tls.server_hello.as_ref()) {
            uses.insert(self.agreed("tls", hello, posture, &between));
        }
        if let Some(dtls) = &datagrams.dtls {
            if let Some(hello) = &dtls.server_hello {
                uses.insert(self.agreed("dtls", hello, posture, &between));
            }
            uses.extend(self.shown([&dtls.server_certificates, &dtls.client_certificates], &between));
        }
        let span = (datagrams.first.packet, datagrams.last.packet);
        self.service("udp", &datagrams.server.to_string(), posture, span, uses);
    }

    fn ike(&mut self, judged: &JudgedIkeSa, ledgers: &Ledgers) {
        self.ike_sa(judged, ledgers.of_ike(&judged.sa));
    }

    fn esp(&mut self, judged: &JudgedEspSa, ledgers: &Ledgers) {
        self.esp_sa(judged, ledgers.of_esp(&judged.sa));
    }
}

impl Inventory {
    fn current(&self) -> usize {
        self.captures.len().saturating_sub(1)
    }

    fn packets(&self, first: Moment, last: Moment, between: &str) -> Place {
        Place::Packets {
            capture: self.current(),
            first: first.packet,
            last: last.packet,
            between: between.to_owned(),
            read: Read::Plain,
        }
    }

    /// The chains that keys opened of a connection; their references.
    fn opened(&mut self, opened: &Opened, between: &str) -> Vec<String> {
        let chains = [&opened.server_certificates, &opened.client_certificates];
        let mut references = Vec::new();
        for chain in chains.into_iter().flatten() {
            let place = self.packets(chain.first, chain.last, between).opened();
            references.extend(self.chain(&chain.value, &place));
        }
        references
    }

    /// The chains that both ends showed in plaintext, as before TLS 1.3; their references.
    fn shown(&mut self, chains: [&Option<Seen<Certificates>>; 2], between: &str) -> Vec<String> {
        let mut references = Vec::new();
        for seen in chains.into_iter().flatten() {
            let place = self.packets(seen.first, seen.last, between);
            references.extend(self.chain(&seen.value.chain, &place));
        }
        references
    }

    /// Certificates of one chain in one place; their references.
    fn chain(&mut self, chain: &[keys::Certificate], place: &Place) -> Vec<String> {
        let place = std::slice::from_ref(place);
        let described = chain.iter().map(Described::shown);
        described.map(|described| self.certificate(described, place)).collect()
    }

    fn certificate(&mut self, described: Described, places: &[Place]) -> String {
        let related = self.algorithms(&described.algorithms, places);
        let properties = json!({ "assetType": "certificate", "certificateProperties": described.properties });
        self.asset(&described.reference, &described.name, properties, related, places);
        described.reference
    }

    /// Adds the choices of a ServerHello; returns the reference of the protocol.
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
        // TLS 1.3 encrypts how its ends are authenticated: packets say so to those who have the keys.
        let hidden = hello.value.version == Version::TLS13;
        let of = |reply: &Reply| {
            let places = reply.sources().iter();
            let places = places.filter_map(|source| Place::of(source, self.current(), between));
            places
                .map(|place| if hidden { place.opened() } else { place })
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
            let mut properties = json!({ "assetType": "algorithm", "algorithmProperties": algorithm.properties });
            if let Some(oid) = algorithm.oid {
                properties["oid"] = json!(oid);
            }
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
        if !self.services.contains_key(&reference) && self.services.len() >= KEPT {
            self.beyond += 1;
            return;
        }
        let used = match self.services.entry(reference) {
            Entry::Occupied(known) => {
                let (known, used) = known.into_mut();
                known.take(&service);
                used
            }
            Entry::Vacant(new) => &mut new.insert((service, BTreeSet::new())).1,
        };
        // A server may show another certificate to each client.
        for reference in uses.into_iter().filter(|reference| self.assets.contains_key(reference)) {
            if self.used < USES {
                self.used += usize::from(used.insert(reference));
            } else {
                self.beyond += u64::from(!used.contains(&reference));
            }
        }
    }
}

#[cfg(test)]
mod tests;
