//! Two network namespaces joined by a veth pair, a charon in each, a certificate authority and its certificates.

mod authority;

use std::net::Ipv4Addr;
use std::path::PathBuf;

use bartizan_host::{LabRoot, Namespace};
use bartizan_ipsec::vici::{Client, Section};
use bartizan_ipsec::{Engine, Instance, Kernel, Settings, StartError};
use bartizan_testing::{Build as _, Wiring as _};
use bartizan_testing::{Port, connect};
use tempfile::TempDir;

pub(crate) use authority::Authority;
pub(crate) use bartizan_testing::{PATIENCE, eventually};

pub(crate) const HYBRID: &str = "x25519-ke1_mlkem768";

/// One end: its namespace, its charon and what it is called.
pub(crate) struct End {
    // Ends before the namespace it runs in.
    pub(crate) charon: Option<Instance>,
    pub(crate) space: Namespace,
    pub(crate) name: &'static str,
    number: u8,
    directory: PathBuf,
    engine: Engine,
}

pub(crate) struct Stage {
    pub(crate) near: End,
    pub(crate) far: End,
    pub(crate) authority: Authority,
    // Last: the charons' directories are in it.
    _directory: TempDir,
}

impl Stage {
    /// Both charons run and have loaded nothing.
    pub(crate) fn set_up() -> Self {
        Self::set_up_with(engine())
    }

    /// The same with charons of this engine.
    pub(crate) fn set_up_with(engine: Engine) -> Self {
        Self::joined(engine, |near, far| {
            let port = |end: &End| format!("{}/24", end.address());
            connect(
                &Port::new(&near.space, "v0").address(&port(near)).expect("an address"),
                &Port::new(&far.space, "v0").address(&port(far)).expect("an address"),
                1500,
            )
            .expect("a veth pair");
        })
    }

    /// The same with something of one's own between `v0` of both ends.
    pub(crate) fn joined(engine: Engine, join: impl FnOnce(&End, &End)) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let end = |name: &'static str, number: u8| End {
            charon: None,
            space: Namespace::create(name).expect("a namespace"),
            name,
            number,
            directory: directory.path().join(name),
            engine: engine.clone(),
        };
        let (mut near, mut far) = (end("near", 1), end("far", 2));
        join(&near, &far);
        for end in [&mut near, &mut far] {
            let inner = format!("{}/32", end.inner()).parse().expect("an address");
            end.space.add_address("lo", inner).expect("an address");
            end.start();
        }
        Self {
            near,
            far,
            authority: Authority::new(),
            _directory: directory,
        }
    }

    /// Loads credentials and a connection `e2` at both ends.
    pub(crate) fn load(&self, ike: &str, esp: &str) {
        for (end, other) in [(&self.near, &self.far), (&self.far, &self.near)] {
            end.load(other, &self.authority, ike, esp);
        }
    }
}

impl End {
    pub(crate) fn address(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, 0, self.number)
    }

    pub(crate) fn inner(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 78, 0, self.number)
    }

    /// Starts its charon.
    pub(crate) fn start(&mut self) {
        self.charon = Some(self.start_another().expect("charon starts"));
    }

    pub(crate) fn start_another(&self) -> Result<Instance, StartError> {
        let settings = Settings::new(Kernel::of_this_machine().expect("root"), 1);
        Instance::start(&self.engine, &self.directory, Some(&self.space), &settings)
    }

    pub(crate) fn load(&self, other: &Self, authority: &Authority, ike: &str, esp: &str) {
        let mut client = self.client();
        let (certificate, key) = authority.issue(self.name);
        client.command("load-cert", authority.load()).expect("the CA");
        client.command("load-cert", certificate).expect("the certificate");
        client.command("load-key", key).expect("the key");
        let connection = self.connection(other, ike, esp);
        client
            .command("load-conn", Section::new().with_section("e2", connection))
            .expect("the connection");
    }

    pub(crate) fn client(&self) -> Client {
        let charon = self.charon.as_ref().expect("it runs");
        charon.client(PATIENCE).expect("it listens")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.charon.as_ref().expect("it runs").socket()
    }

    /// A connection `e2` to the other end with these key exchanges of IKE (or a whole proposal, which begins with its cipher) and
    /// of CHILD_SAs, comma-separated; an empty one of a CHILD_SA stands for none.
    pub(crate) fn connection(&self, other: &Self, ike: &str, esp: &str) -> Section {
        let end = |name: &str| Section::new().with("auth", "pubkey").with("id", format!("{name}.test"));
        let ike = ike.split(',').map(|exchange| {
            let is_whole = ["aes", "chacha"].iter().any(|cipher| exchange.starts_with(cipher));
            if is_whole {
                exchange.to_owned()
            } else {
                format!("aes256gcm16-prfsha384-{exchange}")
            }
        });
        let esp = esp.split(',').map(|exchange| match exchange {
            "" => "aes256gcm16".to_owned(),
            exchange => format!("aes256gcm16-{exchange}"),
        });
        let child = Section::new()
            .with("mode", "tunnel")
            .with_list("local_ts", [format!("{}/32", self.inner())])
            .with_list("remote_ts", [format!("{}/32", other.inner())])
            .with_list("esp_proposals", esp)
            .with("rekey_time", "0");
        Section::new()
            .with("version", "2")
            .with("mobike", "no")
            .with_list("local_addrs", [self.address().to_string()])
            .with_list("remote_addrs", [other.address().to_string()])
            .with_list("proposals", ike)
            .with("send_cert", "always")
            .with_section("local-1", end(self.name))
            .with_section("remote-1", end(other.name))
            .with_section("children", Section::new().with_section("e2", child))
            .with("rekey_time", "0")
            .with("dpd_delay", "0")
    }
}

pub(crate) fn engine() -> Engine {
    let blueprint = LabRoot::sid().expect("a cache directory");
    Engine::LabRoot(blueprint.ensure(&mut |_| {}).expect("a lab root"))
}
