//! IKE_SAs and ESP, by packets, by what keys opened, or by the word of a ledger.

use std::collections::BTreeSet;
use std::net::IpAddr;

use bartizan_ledger as ledger;
use bartizan_posture::{JudgedEspSa, JudgedIkeSa, Source, Verdict};
use bartizan_wire::ike::Opened;

use super::{Inventory, NOBODY};
use crate::cbom::algorithm::Algorithm;
use crate::cbom::evidence::Place;
use crate::cbom::protocol::{Additional, Agreement, Protocol, Seen as Shown};

/// Authentication of the ends of an IKE_SA, as far as packets or ledgers show it.
#[derive(Default)]
struct Proofs {
    algorithms: Vec<(Algorithm, Shown)>,
    /// The responder's places and the initiator's.
    places: [Vec<Place>; 2],
    /// References of the certificates they sent.
    certificates: Vec<String>,
}

impl Inventory {
    /// Adds an IKE_SA, what follows from it, and what ledgers say of it.
    pub(super) fn ike_sa<'a>(
        &mut self,
        judged: &JudgedIkeSa,
        records: impl Iterator<Item = (Source, &'a ledger::IkeSa)>,
    ) {
        let sa = &judged.sa;
        let between = format!("{} -> {}", sa.initiator, sa.responder);
        let records: Vec<(Source, &ledger::IkeSa)> = records.collect();
        let sources = records.iter().map(|(source, _)| source);
        let of_ledger: Vec<Place> = sources
            .filter_map(|source| Place::of(source, self.current(), &between))
            .collect();
        let recorded = records.first().map(|(_, record)| Agreement::of_ike(record));
        let mut uses = BTreeSet::new();
        let mut proofs = self.proofs_of_ledger(&records, &between);
        if let Some(opened) = sa.opened.as_deref() {
            proofs = self.proofs_opened(opened, &between).unwrap_or(proofs);
            uses.extend(self.made(sa.version, opened, &between));
        }
        uses.extend(std::mem::take(&mut proofs.certificates));
        let agreed = match &sa.chosen {
            Some(chosen) => {
                // Chosen is not done: a verdict is safe only where the exchange itself was seen.
                let additional = match judged.posture.confidentiality.verdict() {
                    Verdict::QuantumSafe => Additional::Shown,
                    _ => Additional::NotShown,
                };
                let agreed = Agreement::shown(&chosen.value, additional);
                let mut places = vec![self.packets(chosen.first, chosen.last, &between)];
                // A ledger that says something else is a finding; here packets count.
                if recorded.as_ref() == Some(&agreed) {
                    places.extend(of_ledger);
                }
                Some((agreed, places))
            }
            None => recorded.map(|agreed| (agreed, of_ledger)),
        };
        if let Some((agreed, places)) = agreed {
            let protocol = Protocol::ike(sa.version, &agreed, &proofs.algorithms);
            uses.insert(self.protocol(protocol, &places, &proofs.places));
        }
        let span = (sa.first.packet, sa.last.packet);
        self.service("udp", &sa.responder.to_string(), &judged.posture, span, uses);
    }

    /// Adds an ESP security association, what follows from it, and what a ledger says of its CHILD_SA.
    pub(super) fn esp_sa(&mut self, judged: &JudgedEspSa, record: Option<(Source, &ledger::ChildSa)>) {
        let sa = &judged.sa;
        let between = format!("{} -> {}, SPI 0x{:08x}", sa.source, sa.destination, sa.spi);
        let mut places = vec![self.packets(sa.first, sa.last, &between)];
        let protocol = match (&judged.made, record) {
            // Anyone can read it, whatever the ends agreed on.
            _ if sa.in_plaintext().is_some() => Protocol::esp(sa),
            (Some(made), _) => {
                places.push(self.packets(made.first, made.last, &between).opened());
                Protocol::esp_agreed(&Agreement::shown(&made.value.chosen, Additional::Shown))
            }
            (None, Some((source, record))) => {
                places.extend(Place::of(&source, self.current(), &between));
                Protocol::esp_agreed(&Agreement::of_child(record))
            }
            (None, None) => Protocol::esp(sa),
        };
        let uses = BTreeSet::from([self.protocol(protocol, &places, &NOBODY)]);
        let server = match sa.destination {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
        self.service("esp", &server, &judged.posture, (sa.first.packet, sa.last.packet), uses);
    }

    /// IKE_SAs that rekeys made, as keys opened them; their references.
    fn made(&mut self, version: (u8, u8), opened: &Opened, between: &str) -> Vec<String> {
        let made = opened.made.first.iter().filter(|made| made.value.is_ike());
        let mut references = Vec::new();
        for made in made {
            let place = self.packets(made.first, made.last, between).opened();
            let agreed = Agreement::shown(&made.value.chosen, Additional::Shown);
            references.push(self.protocol(Protocol::ike(version, &agreed, &[]), &[place], &NOBODY));
        }
        references
    }

    /// The authentication of both ends, in AUTH payloads that keys opened; the certificates they
    /// sent are added. None where no such payload was opened.
    fn proofs_opened(&mut self, opened: &Opened, between: &str) -> Option<Proofs> {
        let mut proofs = Proofs::default();
        let [initiator, responder] = &opened.proofs;
        for (end, (proof, shown)) in [(responder, Shown::ByServer), (initiator, Shown::ByClient)]
            .into_iter()
            .enumerate()
        {
            let Some(method) = &proof.method else { continue };
            let place = self.packets(method.first, method.last, between).opened();
            proofs
                .algorithms
                .extend(Algorithm::proof_opened(proof).map(|algorithm| (algorithm, shown)));
            proofs.certificates.extend(self.chain(&proof.certificates, &place));
            proofs.places[end].push(place);
        }
        (!proofs.algorithms.is_empty()).then_some(proofs)
    }

    /// The same by the word of ledgers: each says what its node did, and what it judged of its peer.
    fn proofs_of_ledger(&self, records: &[(Source, &ledger::IkeSa)], between: &str) -> Proofs {
        let mut proofs = Proofs::default();
        for (source, record) in records {
            let Some(authentication) = &record.authentication else {
                continue;
            };
            let Some(place) = Place::of(source, self.current(), between) else {
                continue;
            };
            let (peer, shown) = match record.direction {
                ledger::Direction::Outbound => (0, Shown::ByServer),
                ledger::Direction::Inbound => (1, Shown::ByClient),
            };
            if let Some(name) = authentication
                .peer
                .as_deref()
                .filter(|_| proofs.places[peer].is_empty())
            {
                let algorithm = Algorithm::proof_of_ledger(name, authentication.forgery);
                proofs.algorithms.push((algorithm, shown));
                let chain = authentication.peer_chain.iter();
                proofs
                    .algorithms
                    .extend(chain.map(|signed| (Algorithm::x509(signed), shown)));
                proofs.places[peer].push(place);
            }
        }
        proofs
    }
}
