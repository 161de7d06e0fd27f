//! ESP in UDP by two IKE daemons that do it themselves: AES-256-GCM, keyed by X25519 and ML-KEM-768.

use std::path::Path;

use bartizan_deployment::IkeEngine;
use bartizan_host::Namespace;
use bartizan_ipsec::vici::Section;
use bartizan_ipsec::{Engine, Kernel};

use super::{INSIDE, Maker, NUMBER, PATH, ip};
use crate::Error;
use crate::stand_in::charons::{self, Charons, PATIENCE, Papers, child, connection, described_with, refused};
use crate::stand_in::proxies::Tools;

const KEY_EXCHANGE: &str = "x25519-ke1_mlkem768";
const CIPHER: &str = "aes256gcm16";
/// The devices: ours, and charon's.
const DEVICE: &str = "esp-tunnel";
const OF_CHARON: &str = "ipsec0";

/// Both ends up, and an SA between them.
pub(super) fn start(
    maker: Maker,
    tools: &Tools,
    papers: &Papers,
    ends: &[Namespace; 2],
    folder: &Path,
) -> Result<Charons, Error> {
    let (engine, kind, kernel, device) = match maker {
        Maker::Bartizan => {
            let engine = Engine::Bartizan(tools.sidecar.clone());
            (engine, IkeEngine::Bartizan, Kernel::Userspace, DEVICE)
        }
        _ => {
            let engine = Engine::LabRoot(charons::root(tools)?.clone());
            (engine, IkeEngine::Strongswan, Kernel::Libipsec, OF_CHARON)
        }
    };
    let place = |end: usize| (&ends[end], folder.join(format!("{device}-{end}")));
    let mut charons = Charons::start_engine(&engine, [place(0), place(1)], |settings| {
        settings.kernel = kernel;
        settings.userspace = (kernel == Kernel::Userspace).then(|| (DEVICE.to_owned(), PATH));
    })?;
    for end in [0, 1] {
        let mut client = charons.client(end)?;
        let credentials = match kind {
            IkeEngine::Strongswan => papers.load(end),
            IkeEngine::Bartizan => papers.load_der(end)?,
        };
        for (command, message) in credentials {
            client.command(command, message).map_err(refused)?;
        }
    }
    load_and_initiate(&charons, kind, papers, (KEY_EXCHANGE, CIPHER))?;
    for namespace in ends {
        ip(namespace, &["link", "set", "dev", device, "mtu", &INSIDE.to_string()])?;
    }
    // Several threads carry the packets.
    charons.spread()?;
    Ok(charons)
}

/// Makes the connection known to both ends, and has its SAs set up.
fn load_and_initiate(
    charons: &Charons,
    kind: IkeEngine,
    papers: &Papers,
    (key_exchange, cipher): (&str, &str),
) -> Result<(), Error> {
    for end in [0, 1] {
        let described = described_with(cipher, kind, (NUMBER, end), key_exchange, &[key_exchange], papers)?;
        let message = Section::new().with_section(connection(NUMBER), described);
        let mut client = charons.client(end)?;
        client.command("load-conn", message).map_err(refused)?;
    }
    let ask = Section::new()
        .with("child", child("first", NUMBER))
        .with("ike", connection(NUMBER))
        .with("timeout", PATIENCE.as_millis().to_string());
    let initiated = charons.client(0)?.command_within("initiate", ask, PATIENCE * 2);
    initiated.map_err(refused)?;
    Ok(())
}

/// Ends the SAs of two engines of Bartizan, and has others set up by this key exchange and with this cipher.
pub(super) fn key(
    charons: &Charons,
    papers: &Papers,
    ends: &[Namespace; 2],
    key_exchange: &str,
    cipher: &str,
) -> Result<(), Error> {
    charons.delete_all()?;
    load_and_initiate(charons, IkeEngine::Bartizan, papers, (key_exchange, cipher))?;
    // Each cipher leaves another room; packets are to be the same.
    for namespace in ends {
        ip(namespace, &["link", "set", "dev", DEVICE, "mtu", &INSIDE.to_string()])?;
    }
    Ok(())
}
