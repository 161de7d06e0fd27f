//! Contents of a TLS connection that keys opened.

use bartizan_wire::keys::Certificate;
use bartizan_wire::tls::{self, Unopened};
use bartizan_wire::{Seen, Side};
use serde::Serialize;

use super::Http2;
use super::proxies::Hop;

#[derive(Serialize)]
pub(super) struct Opened {
    alpn: Option<String>,
    certificate_requested: bool,
    server_certificates: Option<Vec<Shown>>,
    client_certificates: Option<Vec<Shown>>,
    server_finished_packet: Option<u64>,
    client_finished_packet: Option<u64>,
    tickets: u64,
    key_updates_by_client: u64,
    key_updates_by_server: u64,
    records_from_client: u64,
    records_from_server: u64,
    alerts: Vec<String>,
    wrong_secrets: Vec<String>,
    client_not_opened: Option<String>,
    server_not_opened: Option<String>,
    http2: Option<Http2>,
    proxies: Vec<Hop>,
}

#[derive(Serialize)]
pub(super) struct Shown {
    subject: String,
    public_key: String,
    signature: String,
    not_after: i64,
    sha256: String,
}

impl Opened {
    pub(super) fn new(opened: &tls::Opened) -> Self {
        let chain = |seen: &Option<Seen<Vec<Certificate>>>| seen.as_ref().map(|seen| shown(&seen.value));
        let ended = |side: Side| {
            let [client, server] = &opened.ended;
            let ended: &Option<Seen<Unopened>> = if side == Side::Client { client } else { server };
            ended
                .as_ref()
                .map(|seen| format!("{} (packet {})", seen.value, seen.last.packet))
        };
        Self {
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
            alerts: opened.alerts.iter().map(|seen| seen.value.to_string()).collect(),
            wrong_secrets: opened.wrong.iter().map(|seen| seen.value.clone()).collect(),
            client_not_opened: ended(Side::Client),
            server_not_opened: ended(Side::Server),
            http2: opened.http2.as_deref().map(Http2::new),
            proxies: opened
                .tunnel
                .iter()
                .flat_map(|tunnel| tunnel.negotiations())
                .map(Hop::new)
                .collect(),
        }
    }
}

/// A chain, the sender's own certificate first.
pub(super) fn shown(chain: &[Certificate]) -> Vec<Shown> {
    chain.iter().map(Shown::new).collect()
}

impl Shown {
    pub(super) fn new(certificate: &Certificate) -> Self {
        Self {
            subject: certificate.subject.clone(),
            public_key: certificate.public_key.clone(),
            signature: certificate.signature.clone(),
            not_after: certificate.not_after,
            sha256: certificate.sha256.clone(),
        }
    }
}
