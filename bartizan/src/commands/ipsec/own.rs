//! A charon of our own for a node.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use bartizan_deployment::{DataPath, External, IkeEngine};
use bartizan_host::LabRoot;
use bartizan_ipsec::vici::{self, Client, Section};
use bartizan_ipsec::{Engine, Instance, Kernel, Settings, StartError, device_name};

use super::PATIENCE;
use super::node::IpsecHost;
use crate::Failure;

/// Octets of a packet on Ethernet.
const ETHERNET: u16 = 1500;

/// Timeout of a charon that another command starts.
const START: Duration = Duration::from_secs(60);

/// Interval of these checks.
const LOOK: Duration = Duration::from_millis(50);

/// Starts it in `directory`; none where one of ours runs there already. One that another command has begun to start is waited for.
pub(super) fn start(host: &IpsecHost, directory: &Path) -> Result<Option<Instance>, Failure> {
    let kernel = match host.files.data_path {
        DataPath::Userspace => Kernel::Userspace,
        DataPath::Kernel => Kernel::of_this_machine().map_err(|error| {
            Failure::new(error).hint("an IKE engine of our own needs root, iproute2 and util-linux")
        })?,
    };
    let number = |peers: usize| u32::try_from(peers).unwrap_or(u32::MAX);
    let links = || host.deployment.ipsec_links(&host.node);
    let translated = links().filter_map(|(_, _, link)| link.ends_from(&host.node));
    let translated = translated.filter(|(_, there)| there.external != External::Same);
    let settings = Settings {
        // All of them may be behind one NAT.
        peers_per_address: number(translated.count().max(1)),
        userspace: (kernel == Kernel::Userspace).then(|| {
            // One device for all links: what is in it fits every path.
            let mtu = links().map(|(_, _, link)| link.mtu).min();
            (device_name(&host.node), mtu.unwrap_or(ETHERNET))
        }),
        ..Settings::new(kernel, number(links().count()))
    };
    let (engine, deadline) = (engine(host.files.engine, kernel)?, Instant::now() + START);
    loop {
        match Instance::start(&engine, directory, None, &settings) {
            Ok(instance) => {
                // It has loaded nothing yet: what stands is of one that was killed.
                host.remove_leftover()?;
                return Ok(Some(instance));
            }
            Err(StartError::Taken(_)) if answers(host) => return Ok(None),
            // It is not there yet, or goes: then the directory is free again.
            Err(StartError::Taken(_)) if Instant::now() < deadline => thread::sleep(LOOK),
            Err(error @ StartError::Taken(_)) => {
                let hint = "`bartizan status` asks it, `bartizan down` ends it";
                return Err(Failure::new(error).hint(hint).held());
            }
            Err(error) => {
                return Err(Failure::new(error).hint("`bartizan doctor` says what this host has and what IPsec needs"));
            }
        }
    }
}

/// Returns true if a charon serves the socket: the socket exists a moment earlier.
fn answers(host: &IpsecHost) -> bool {
    let asked = Client::connect(&host.place.socket(), PATIENCE)
        .and_then(|mut client| client.request("version", Section::new()));
    // A stalled charon exists, and the next caller reports it.
    !matches!(asked, Err(vici::Error::Absent(_) | vici::Error::Died(_)))
}

/// Bartizan's own, or the strongSwan that is installed, else that of a lab root that is there.
fn engine(wanted: IkeEngine, kernel: Kernel) -> Result<Engine, Failure> {
    if wanted == IkeEngine::Bartizan {
        if kernel == Kernel::Libipsec {
            return Err(Failure::new("the engine of Bartizan needs a kernel that does ESP, and this one does not")
                .hint("load esp4, esp6 and xfrm_user, or use a kernel with CONFIG_INET_ESP and CONFIG_XFRM_USER: `bartizan doctor`")
                .hint("or write `data-path: userspace` for the node: then the engine does ESP itself, which needs /dev/net/tun"));
        }
        let program =
            std::env::current_exe().map_err(|error| Failure::new(format!("where this program is: {error}")))?;
        return Ok(Engine::Bartizan(program));
    }
    if let Some(installed) = Engine::installed() {
        return Ok(installed);
    }
    // A service has no home, and so no folder for lab roots: there is none then.
    match LabRoot::sid().ok().and_then(|root| root.present()) {
        Some(root) => Ok(Engine::LabRoot(root)),
        None => Err(Failure::new("no strongSwan is installed")
            .hint("install charon-systemd of strongSwan 6.1.0 or later, as Debian sid has it")
            .hint("or write `engine: bartizan` for the node: Bartizan's own engine needs no strongSwan")
            .hint("for a try-out: `bartizan lab root sid` unpacks one in a directory")),
    }
}
