//! Contents that keys opened, below a connection's row.

use bartizan_wire::keys::Certificate;
use bartizan_wire::tls::Opened;

use super::counted;

pub(super) fn explain(opened: &Opened) -> Vec<String> {
    let mut lines = Vec::new();
    let ends = [
        ("server", &opened.server_certificates),
        ("client", &opened.client_certificates),
    ];
    for (end, chain) in ends {
        if let Some(chain) = chain {
            lines.push(format!("opened    {end} {}", of(&chain.value)));
        }
    }
    if let Some(http2) = &opened.http2 {
        lines.push(format!("opened    HTTP/2, {}", counted(http2.streams, "request")));
    }
    let proxies = opened.tunnel.iter().flat_map(|tunnel| tunnel.negotiations());
    lines.extend(proxies.map(|hop| format!("opened    {hop}")));
    let [client, server] = &opened.ended;
    for (end, ended) in [("client", client), ("server", server)] {
        if let Some(seen) = ended {
            let packet = seen.last.packet;
            lines.push(format!("unopened  {end}: {} (packet {packet})", seen.value));
        }
    }
    lines
}

/// A chain in a few words.
pub(super) fn of(chain: &[Certificate]) -> String {
    let Some(leaf) = chain.first() else {
        return "sent no certificate".into();
    };
    let keys: Vec<&str> = chain.iter().map(|one| one.public_key.as_str()).collect();
    format!("{}, keys {}", leaf.subject, keys.join(" by "))
}
