//! Contents of a TLS connection that keys opened.

use bartizan_registry::object;
use bartizan_wire::keys::Certificate;
use bartizan_wire::tls::{self, Unopened};
use bartizan_wire::{Seen, Side};
use serde::Serialize;

use super::proxies::hop_facts;
use super::{at_packet, http2_facts, list};

pub(super) fn opened_facts(opened: &tls::Opened) -> impl Serialize {
    let chain = |seen: &Option<Seen<Vec<Certificate>>>| seen.as_ref().map(|seen| shown(&seen.value));
    let ended = |side: Side| {
        let [client, server] = &opened.ended;
        let ended: &Option<Seen<Unopened>> = if side == Side::Client { client } else { server };
        ended.as_ref().map(at_packet)
    };
    object!(Opened {
        alpn: opened.alpn.as_ref().map(|seen| seen.value.clone()),
        certificate_requested: opened.certificate_request.is_some(),
        server_certificates: chain(&opened.server_certificates),
        client_certificates: chain(&opened.client_certificates),
        server_finished_packet: opened.server_finished.as_ref().map(|seen| seen.last.packet),
        client_finished_packet: opened.client_finished.as_ref().map(|seen| seen.last.packet),
        tickets: opened.tickets,
        key_updates_by_client: opened.key_updates[0],
        key_updates_by_server: opened.key_updates[1],
        records_from_client: opened.records[0],
        records_from_server: opened.records[1],
        alerts: list(&opened.alerts, |seen| seen.value.to_string()),
        wrong_secrets: list(&opened.wrong, |seen| seen.value.clone()),
        client_not_opened: ended(Side::Client),
        server_not_opened: ended(Side::Server),
        http2: opened.http2.as_deref().map(http2_facts),
        proxies: list(opened.tunnel.iter().flat_map(|tunnel| tunnel.negotiations()), hop_facts),
    })
}

/// A chain, the sender's own certificate first.
pub(super) fn shown(chain: &[Certificate]) -> Vec<impl Serialize + use<>> {
    list(chain, shown_facts)
}

fn shown_facts(certificate: &Certificate) -> impl Serialize + use<> {
    object!(Shown {
        subject: certificate.subject.clone(),
        public_key: certificate.public_key.clone(),
        signature: certificate.signature.clone(),
        not_after: certificate.not_after,
        sha256: certificate.sha256.clone(),
    })
}
