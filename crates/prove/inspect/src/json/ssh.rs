//! SSH connections.

use bartizan_wire::{Seen, Side, ssh};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Ssh {
    client: End,
    server: End,
    key_exchange: Option<String>,
    host_key_algorithm: Option<String>,
    cipher_from_client: Option<String>,
    cipher_from_server: Option<String>,
    established: bool,
    host_key: Option<HostKey>,
    disconnected_by: Option<String>,
}

#[derive(Serialize)]
struct End {
    identification: Option<String>,
    key_exchanges_offered: Vec<String>,
    host_keys_offered: Vec<String>,
    ciphers_from_client_offered: Vec<String>,
    ciphers_from_server_offered: Vec<String>,
    kex_init_packet: Option<u64>,
    share_bytes: Option<u32>,
    new_keys_packet: Option<u64>,
    protected_bytes: u64,
    lost_packet: Option<u64>,
}

#[derive(Serialize)]
struct HostKey {
    key: String,
    bits: Option<u32>,
    signature: String,
    packet: u64,
}

impl Ssh {
    pub(super) fn new(ssh: &ssh::Ssh) -> Self {
        let name = |name: Option<&str>| name.map(str::to_owned);
        Self {
            client: End::new(&ssh.client),
            server: End::new(&ssh.server),
            key_exchange: name(ssh.key_exchange()),
            host_key_algorithm: name(ssh.host_key_algorithm()),
            cipher_from_client: name(ssh.cipher(Side::Client)),
            cipher_from_server: name(ssh.cipher(Side::Server)),
            established: ssh.established(),
            host_key: ssh.host_key.as_ref().map(|seen| HostKey {
                key: seen.value.key.clone(),
                bits: seen.value.bits,
                signature: seen.value.signature.clone(),
                packet: seen.last.packet,
            }),
            disconnected_by: ssh.disconnected.as_ref().map(|seen| seen.value.to_string()),
        }
    }
}

impl End {
    fn new(end: &ssh::Sent) -> Self {
        let list = |of: fn(&ssh::KexInit) -> &str| -> Vec<String> {
            let text = end.kex_init.as_ref().map_or("", |seen| of(&seen.value));
            text.split(',')
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let packet = |seen: &Seen<ssh::KexInit>| seen.last.packet;
        Self {
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
        }
    }
}
