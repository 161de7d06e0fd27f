//! Abilities of a strongSwan: its charon is started in a temporary network namespace, and queried.
//!
//! `charon-systemd` has no option that prints a version: whatever it is given, it starts. So this is the only way to know.

use std::path::PathBuf;
use std::time::Duration;

use bartizan_deployment::IkeAlgorithm;
use bartizan_host::{Facts, LabRoot, Namespace};
use bartizan_ipsec::vici::{Client, Section};
use bartizan_ipsec::{Charon, Engine, Instance, Kernel, Settings};
use bartizan_pki::{Algorithm, PrivateKey};
use bartizan_registry::TransformKind;

use super::thing::{Examined, Presence, Thing, in_a_line};
use super::tool::{HOST, Tool, in_path};

const PROGRAM: &str = "charon-systemd";
/// Timeout of an answer from charon.
const PATIENCE: Duration = Duration::from_secs(60);
/// Hint for a sufficient release: Debian 12's 5.9.8 and Debian 13's 6.0.1 have no ML-KEM.
const INSTALL: &str = "strongSwan 6.1.0 or later (charon-systemd, libstrongswan-standard-plugins, libcharon-extra-plugins), as Debian sid has it, \
                       not 5.9.8 of Debian 12 or 6.0.1 of Debian 13; for a try-out: bartizan lab root sid";
const ML_KEM: &str =
    "strongSwan 6.0.2 or later with OpenSSL 3.5, as Debian sid has it; the lab has its own: bartizan lab root sid";
const NO_RELEASE: &str = "in no release of strongSwan: authentication stays classical";

/// The one that `bartizan up` would start, and where `PATH` has another, that one too.
pub(super) fn on_host(facts: &Facts) -> Vec<Tool> {
    let installed = match Engine::installed() {
        Some(Engine::Installed(path)) => Some(path),
        _ => None,
    };
    let named = in_path(PROGRAM).filter(|path| Some(path) != installed.as_ref());
    let found: Vec<PathBuf> = installed.into_iter().chain(named).collect();
    if found.is_empty() {
        let presence = Presence::absent("neither installed nor in PATH", INSTALL);
        return vec![tool(HOST.to_owned(), None, presence)];
    }
    let examined = |path: PathBuf| Tool {
        path: Some(path.clone()),
        ..examine(&Engine::Installed(path), HOST.to_owned(), facts)
    };
    found.into_iter().map(examined).collect()
}

/// The one of a lab root; `None` where it has none.
pub(super) fn in_root(root: &LabRoot, facts: &Facts) -> Option<Tool> {
    let packaged = root.packages().any(|(name, _)| name == PROGRAM);
    let of = root.directory().display().to_string();
    packaged.then(|| examine(&Engine::LabRoot(root.clone()), of, facts))
}

fn tool(of: String, version: Option<String>, presence: Presence) -> Tool {
    Tool {
        program: PROGRAM,
        of,
        path: None,
        version,
        presence,
        abilities: Vec::new(),
    }
}

fn examine(engine: &Engine, of: String, facts: &Facts) -> Tool {
    if !facts.root || !facts.namespaces.granted() {
        let presence = Presence::unknown(
            "it is there; starting it to ask takes root and a network namespace",
            "run this as root",
        );
        return tool(of, None, presence);
    }
    match ask(engine) {
        Ok((version, abilities)) => Tool {
            abilities,
            ..tool(of, Some(version), Presence::present())
        },
        Err(reason) => {
            let get = format!("{INSTALL}; a version that lists its algorithms by VICI, as 6.1.0 does");
            tool(of, None, Presence::Absent { reason, get })
        }
    }
}

fn ask(engine: &Engine) -> Result<(String, Vec<Examined>), String> {
    let space = Namespace::create("doctor").map_err(|error| in_a_line(&error))?;
    let folder = tempfile::tempdir().map_err(|error| format!("a temporary folder: {error}"))?;
    let kernel = Kernel::of_this_machine().map_err(|error| in_a_line(&error))?;
    // The plugin for charon's own ESP is asked for whatever the kernel can: whether it loads is a question too.
    let settings = Settings::new(Kernel::Libipsec, 1);
    let charon = Instance::start(engine, &folder.path().join("charon"), Some(&space), &settings)
        .map_err(|error| in_a_line(&error))?;
    let mut client = charon.client(PATIENCE).map_err(|error| in_a_line(&error))?;
    let known = Charon::ask(&mut client).map_err(|error| in_a_line(&error))?;
    let version = format!("strongSwan {}", known.version);
    let libipsec = match (known.has_libipsec(), kernel) {
        (true, _) => Ok(None),
        (false, Kernel::Netlink) => Err("kernel-libipsec is not loaded; this kernel has ESP".to_owned()),
        (false, Kernel::Libipsec | Kernel::Userspace) => Err("kernel-libipsec is not loaded".to_owned()),
    };
    let ability = |thing, name, result, get: &str| Examined::new(thing, name, Presence::tried(result, get));
    let abilities = vec![
        ability(Thing::CharonMlKem, "ML-KEM-768", ml_kem(&known), ML_KEM),
        ability(Thing::CharonHybrid, "hybrids of RFC 9370", hybrid(&mut client), ML_KEM),
        ability(
            Thing::CharonPpk,
            "PPK of RFC 8784",
            ppk(&mut client),
            "strongSwan 5.7 or later",
        ),
        ability(Thing::CharonMlDsa, "ML-DSA keys", ml_dsa(&mut client), NO_RELEASE),
        ability(
            Thing::CharonLibipsec,
            "ESP without the kernel's",
            libipsec,
            "apt-get install libcharon-extra-plugins",
        ),
        ability(
            Thing::CharonPlugins,
            "plugins",
            Ok(Some(known.plugins.join(" "))),
            INSTALL,
        ),
    ];
    Ok((version, abilities))
}

/// By which plugin.
fn ml_kem(charon: &Charon) -> Result<Option<String>, String> {
    let plugin =
        IkeAlgorithm::named(TransformKind::KeyExchange, "mlkem768").and_then(|method| charon.plugin_of(method));
    match plugin {
        Some(plugin) => Ok(Some(format!("by its plugin {plugin}"))),
        None => Err("not among its key exchanges".to_owned()),
    }
}

fn hybrid(client: &mut Client) -> Result<Option<String>, String> {
    let end = || Section::new().with("auth", "psk");
    let connection = Section::new()
        .with_list("proposals", ["aes256gcm16-prfsha384-x25519-ke1_mlkem768"])
        .with_section("local", end())
        .with_section("remote", end());
    let message = Section::new().with_section("hybrid", connection);
    tried(client, "load-conn", message)
}

fn ppk(client: &mut Client) -> Result<Option<String>, String> {
    // It protects nothing and goes with the charon.
    let message = Section::new().with("type", "ppk").with("data", [0; 32]);
    tried(client, "load-shared", message.with_list("owners", ["doctor"]))
}

fn ml_dsa(client: &mut Client) -> Result<Option<String>, String> {
    let key = PrivateKey::generate(Algorithm::MlDsa65).map_err(|error| in_a_line(&error))?;
    let message = Section::new().with("type", "any").with("data", key.to_pkcs8());
    tried(client, "load-key", message)
}

fn tried(client: &mut Client, command: &str, message: Section) -> Result<Option<String>, String> {
    let answer = client.command(command, message);
    answer.map(|_| None).map_err(|error| in_a_line(&error))
}
