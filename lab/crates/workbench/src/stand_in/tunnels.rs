//! Tunnels in user space between two namespaces on a cable, each with the same addresses inside:
//! ESP by Bartizan and by strongSwan, WireGuard by wireguard-go and by boringtun, and the cable
//! alone.

mod esp;
mod wireguard;

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use bartizan_host::{Feature, Namespace, Program, Support};
use bartizan_testing::Wiring as _;
use bartizan_testing::{Port, connect};

use crate::Error;
use crate::stand_in::Lack;
use crate::stand_in::charons::{self, Charons, Papers, inner};
use crate::stand_in::proxies::Tools;
use wireguard::Wireguard;

/// The interface of the cable in both namespaces.
const INTERFACE: &str = "path";
/// MTU of the cable and of each tunnel, in octets. All tunnels have that of strongSwan's.
const PATH: u16 = 1500;
pub(crate) const INSIDE: u16 = 1400;
/// Time limit for `ip`.
const IP_TIMEOUT: Duration = Duration::from_secs(20);
/// Addresses and names of what stands here have this number.
const NUMBER: u8 = 1;

/// Implementation of a tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Maker {
    /// No tunnel: the cable.
    None,
    /// The engine of Bartizan with `data-path: userspace`.
    Bartizan,
    /// strongSwan's charon with kernel-libipsec.
    Libipsec,
    WireguardGo,
    Boringtun,
}

impl Maker {
    const ALL: [Self; 5] = [
        Self::None,
        Self::Bartizan,
        Self::Libipsec,
        Self::WireguardGo,
        Self::Boringtun,
    ];
    /// In the order of [`Self::ALL`].
    pub(crate) const NAMES: &[&str] = &["none", "bartizan", "libipsec", "wireguard-go", "boringtun"];

    pub(crate) fn named(name: &str) -> Option<Self> {
        let place = Self::NAMES.iter().position(|known| *known == name)?;
        Self::ALL.get(place).copied()
    }

    /// First requirement that this machine does not meet.
    pub(crate) fn lacks(self, tools: &Tools) -> Option<Lack> {
        let lack = |what: &str, reason: String, hint: &str| Lack {
            what: what.to_owned(),
            reason,
            hint: hint.to_owned(),
            feature: None,
        };
        if !nix::unistd::geteuid().is_root() {
            return Some(lack(
                "root",
                "two ends on a cable need it".to_owned(),
                "run this as root",
            ));
        }
        if self != Self::None
            && let Support::Absent(reason) | Support::Unknown(reason) = Feature::Tun.tried()
        {
            return Some(lack("TUN devices", reason, "modprobe tun, or another kernel"));
        }
        match self {
            Self::None | Self::Bartizan => None,
            Self::Libipsec => charons::lack(tools),
            Self::WireguardGo | Self::Boringtun => {
                let (name, script) = wireguard::names(self);
                let is_there = wireguard::program(self).is_some();
                (!is_there).then(|| lack(name, format!("there is no {name}"), script))
            }
        }
    }
}

/// The processes that carry packets of a tunnel.
enum Carrier {
    None,
    Esp(Box<Charons>),
    Wireguard(Wireguard),
}

/// A tunnel that stands.
pub(crate) struct Tunnel {
    // Before the namespaces it runs in.
    carrier: Carrier,
    ends: [Namespace; 2],
    program: String,
}

impl Tunnel {
    /// Makes two namespaces, a cable and the tunnel.
    pub(crate) fn make(maker: Maker, tools: &Tools, papers: &Papers, folder: &Path) -> Result<Self, Error> {
        let ends = [Namespace::create("near")?, Namespace::create("far")?];
        let port = |end: usize| Port::new(&ends[end], INTERFACE).address(&format!("{}/24", outer(end)));
        connect(&port(0)?, &port(1)?, PATH)?;
        for (end, namespace) in ends.iter().enumerate() {
            namespace.add_address("lo", format!("{}/32", inner(NUMBER, end)).parse()?)?;
        }
        let (carrier, program) = match maker {
            Maker::None => {
                for (end, namespace) in ends.iter().enumerate() {
                    let via = outer(1 - end).to_string();
                    route(namespace, end, &["via", &via, "dev", INTERFACE])?;
                }
                (Carrier::None, "no tunnel".to_owned())
            }
            Maker::Bartizan | Maker::Libipsec => {
                let charons = esp::start(maker, tools, papers, &ends, folder)?;
                let version = charons.version()?;
                (Carrier::Esp(Box::new(charons)), version)
            }
            Maker::WireguardGo | Maker::Boringtun => {
                let wireguard = Wireguard::start(maker, &ends)?;
                let version = wireguard.version().to_owned();
                (Carrier::Wireguard(wireguard), version)
            }
        };
        Ok(Self { carrier, ends, program })
    }

    /// Has its engine set its SAs up anew, by this key exchange and with this cipher.
    pub(crate) fn key(&self, papers: &Papers, key_exchange: &str, cipher: &str) -> Result<(), Error> {
        match &self.carrier {
            Carrier::Esp(charons) => esp::key(charons, papers, &self.ends, key_exchange, cipher),
            _ => Err(Error::Configuration("a tunnel that IKE does not key".to_owned())),
        }
    }

    /// The namespace of an end, and its address inside.
    pub(crate) fn end(&self, end: usize) -> (&Namespace, Ipv4Addr) {
        (&self.ends[end], inner(NUMBER, end))
    }

    /// Processor time used by the programs at both ends so far.
    pub(crate) fn spent(&mut self) -> Result<Duration, Error> {
        Ok(match &mut self.carrier {
            Carrier::None => Duration::ZERO,
            Carrier::Esp(charons) => charons.usage()?.into_iter().map(|usage| usage.cpu).sum(),
            Carrier::Wireguard(wireguard) => wireguard.spent()?,
        })
    }

    /// Name and version of what makes it.
    pub(crate) fn program(&self) -> &str {
        &self.program
    }
}

/// The address of an end on the cable.
fn outer(end: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, NUMBER, if end == 0 { 1 } else { 2 })
}

/// Leads what is for the other end by this way, from the address inside.
fn route(namespace: &Namespace, end: usize, by: &[&str]) -> Result<(), Error> {
    let to = format!("{}/32", inner(NUMBER, 1 - end));
    let (from, mtu) = (inner(NUMBER, end).to_string(), INSIDE.to_string());
    let all = [&["route", "add", &to], by, &["src", &from, "mtu", &mtu]].concat();
    ip(namespace, &all)
}

fn ip(namespace: &Namespace, arguments: &[&str]) -> Result<(), Error> {
    let program = Program::new("ip").package("iproute2");
    program
        .arguments(["-n", namespace.name()])
        .arguments(arguments)
        .run(IP_TIMEOUT)?;
    Ok(())
}
