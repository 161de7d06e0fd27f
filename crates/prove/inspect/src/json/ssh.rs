//! SSH connections.

use bartizan_registry::object;
use bartizan_wire::{Seen, Side, ssh};
use serde::Serialize;

pub(super) fn ssh_facts(ssh: &ssh::Ssh) -> impl Serialize {
    let name = |name: Option<&str>| name.map(str::to_owned);
    object!(Ssh {
        client: end_facts(&ssh.client),
        server: end_facts(&ssh.server),
        key_exchange: name(ssh.key_exchange()),
        host_key_algorithm: name(ssh.host_key_algorithm()),
        cipher_from_client: name(ssh.cipher(Side::Client)),
        cipher_from_server: name(ssh.cipher(Side::Server)),
        established: ssh.established(),
        host_key: ssh.host_key.as_ref().map(|seen| object!(HostKey {
            key: seen.value.key.clone(),
            bits: seen.value.bits,
            signature: seen.value.signature.clone(),
            packet: seen.last.packet,
        })),
        disconnected_by: ssh.disconnected.as_ref().map(|seen| seen.value.to_string()),
    })
}

fn end_facts(end: &ssh::Sent) -> impl Serialize {
    let list = |of: fn(&ssh::KexInit) -> &str| -> Vec<String> {
        let text = end.kex_init.as_ref().map_or("", |seen| of(&seen.value));
        text.split(',')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let packet = |seen: &Seen<ssh::KexInit>| seen.last.packet;
    object!(End {
        identification: end.identification.as_ref().map(|seen| seen.value.clone()),
        key_exchanges_offered: list(|init| &init.key_exchange),
        host_keys_offered: list(|init| &init.host_key),
        ciphers_from_client_offered: list(|init| &init.cipher_to_server),
        ciphers_from_server_offered: list(|init| &init.cipher_to_client),
        kex_init_packet: end.kex_init.as_ref().map(packet),
        share_bytes: end.share.as_ref().map(|seen| seen.value),
        new_keys_packet: end.new_keys.map(|at| at.packet),
        protected_bytes: end.protected_bytes,
        lost_packet: end.lost.map(|at| at.packet),
    })
}
