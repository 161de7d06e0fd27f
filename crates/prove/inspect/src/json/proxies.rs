//! Negotiations with proxies.

use bartizan_registry::object;
use bartizan_wire::proxy::{self, Secret, Stage};
use serde::Serialize;

pub(super) fn hop_facts(hop: &proxy::Hop) -> impl Serialize {
    let place = |place: &Option<proxy::Place>| place.as_ref().map(ToString::to_string);
    let secret = hop.secret.as_ref();
    object!(Hop {
        protocol: hop.protocol.name(),
        command: hop.command.name(),
        source: place(&hop.source),
        destination: place(&hop.destination),
        bound: place(&hop.bound),
        stage: hop.stage.name(),
        // The code that the proxy refused with, or the number of a method that is not read.
        code: match hop.stage {
            Stage::Refused(code) => Some(code),
            Stage::Method(method) => Some(u16::from(method)),
            _ => None,
        },
        refusals: hop.refusals,
        // Kind of the credentials that the client sent in plaintext; never the secret itself.
        secret: secret.map(|seen| match &seen.value {
            Secret::UserPassword => "user and password".to_owned(),
            Secret::Http(scheme) => scheme.to_string(),
        }),
        secret_packet: secret.map(|seen| seen.last.packet),
        bytes_from_client: hop.bytes[0],
        bytes_from_server: hop.bytes[1],
        bytes_not_read: hop.unread,
        first_packet: hop.span.map(|(first, _)| first.packet),
        last_packet: hop.span.map(|(_, last)| last.packet),
        said_of_tls: hop.tls.as_ref().map(ToString::to_string),
        fields: hop.fields.clone(),
    })
}
