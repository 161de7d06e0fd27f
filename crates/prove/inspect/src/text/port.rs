//! Evidence of MKA and MACsec, line by line.

use bartizan_registry::macsec_suite;
use bartizan_wire::datagrams::{Datagrams, Port};
use bartizan_wire::macsec::MacSec;
use bartizan_wire::mka::Mka;

/// Lines that stand under a conversation at a port.
pub(super) fn explain(datagrams: &Datagrams) -> Vec<String> {
    match datagrams.port.as_deref() {
        Some(Port::Mka(mka)) => mka_lines(mka),
        Some(Port::MacSec(seen)) => macsec_lines(seen),
        Some(Port::Eap(_)) | None => Vec::new(),
    }
}

fn mka_lines(mka: &Mka) -> Vec<String> {
    let mut lines = Vec::new();
    for end in mka.ends.iter().filter(|end| end.pdus > 0) {
        let channel = end
            .channel
            .map_or_else(|| "-".to_owned(), |channel| channel.to_string());
        let role = if end.key_server { ", key server" } else { "" };
        let names: Vec<String> = end.names.iter().map(|(name, _)| name.to_string()).collect();
        lines.push(format!("channel   {channel}{role}, CKN {}", names.join(", ")));
        for given in &end.distributed {
            let suite = macsec_suite(given.suite).map_or("a suite nobody knows", |known| known.name);
            lines.push(format!(
                "key       {} as association {}, {suite}, packet {}",
                given.key.number, given.association, given.first.packet
            ));
        }
    }
    lines
}

fn macsec_lines(seen: &MacSec) -> Vec<String> {
    let line = |known: &bartizan_wire::macsec::Association| {
        format!(
            "channel   {}, association {}: {} frames, packet numbers {} to {}",
            known.channel, known.number, known.frames, known.first_number, known.highest_number
        )
    };
    seen.associations.iter().map(line).collect()
}
