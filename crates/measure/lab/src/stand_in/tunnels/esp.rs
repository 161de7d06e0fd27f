//! ESP in UDP by two IKE daemons that do it themselves: AES-256-GCM, keyed by X25519 and ML-KEM-768.

use std::path::Path;

use bartizan_deployment::IkeEngine;
use bartizan_host::Namespace;
use bartizan_ipsec::vici::Section;
use bartizan_ipsec::{Engine, Kernel};

use super::{INSIDE, Maker, NUMBER, PATH, ip};
use crate::Error;
use crate::stand_in::charons::{self, Charons, PATIENCE, Papers, child, connection, described, refused};
use crate::stand_in::proxies::Tools;

const KEY_EXCHANGE: &str = "x25519-ke1_mlkem768";
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
            let engine = Engine::Bartizan(tools.own.clone());
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
        let described = described(kind, (NUMBER, end), KEY_EXCHANGE, &[KEY_EXCHANGE], papers)?;
        let message = Section::new().with_section(connection(NUMBER), described);
        client.command("load-conn", message).map_err(refused)?;
    }
    let ask = Section::new()
        .with("child", child("first", NUMBER))
        .with("ike", connection(NUMBER))
        .with("timeout", PATIENCE.as_millis().to_string());
    let initiated = charons.client(0)?.command_within("initiate", ask, PATIENCE * 2);
    initiated.map_err(refused)?;
    for namespace in ends {
        ip(namespace, &["link", "set", "dev", device, "mtu", &INSIDE.to_string()])?;
    }
    // What they carry they carry by several threads.
    charons.spread()?;
    Ok(charons)
}
