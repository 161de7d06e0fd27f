//! Network namespaces.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use nix::sched::{CloneFlags, setns};

use crate::owner::Owner;
use crate::sweep;
use crate::{Error, Program};

/// Every namespace of ours begins with this; the owner and the label follow.
pub(crate) const PREFIX: &str = "btz-";

/// Time limit of an `ip` command: they take milliseconds; a machine out of memory takes longer.
pub(crate) const IP_TIMEOUT: Duration = Duration::from_secs(20);

/// A network namespace of our own, visible to `ip netns`, with its loopback up.
///
/// Dropping it kills every process left inside and removes it, and with it its end of every veth pair.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    handle: File,
}

impl Namespace {
    /// Makes one, named `btz-<pid>-<start>-<number>-<label>`. The first call of a process also sweeps what killed
    /// runs have left behind.
    ///
    /// # Errors
    ///
    /// [`Error::NotPermitted`] without root, [`Error::MissingProgram`] without iproute2.
    pub fn create(label: &str) -> Result<Self, Error> {
        static SWEEP: Once = Once::new();
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if label.is_empty()
            || label.len() > 64
            || !label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        {
            return Err(Error::Unfit {
                what: format!("label `{label}` of a namespace"),
                reason: "only letters, digits and `-`, at most 64".to_owned(),
            });
        }
        if !nix::unistd::geteuid().is_root() {
            return Err(Error::NotPermitted {
                action: "making a network namespace".to_owned(),
            });
        }
        SWEEP.call_once(|| {
            // Leftovers of others do not stop this run: the names cannot collide. [`sweep::sweep`] reports them.
            let _ = sweep::sweep();
        });
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}-{label}", Owner::current());
        ip(["netns", "add", &name])?;
        let handle = File::open(path(&name)).map_err(|source| {
            // The namespace exists and nothing owns it yet.
            sweep::remove_namespace(&name);
            Error::io(format!("opening the network namespace {name}"))(source)
        })?;
        let namespace = Self { name, handle };
        ip(["-n", &namespace.name, "link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// The name that `ip netns` shows.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs `work` on a thread of its own inside the namespace and returns what it returned. Sockets opened there
    /// belong to the namespace for their whole life, wherever they are used.
    ///
    /// # Errors
    ///
    /// When the kernel does not let the thread enter.
    ///
    /// # Panics
    ///
    /// When `work` panics.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                self.enter_this_thread()?;
                Ok(work())
            });
            match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Moves the calling thread into the namespace for the rest of its life (for a thread that runs a runtime
    /// there); other threads stay where they are.
    ///
    /// # Errors
    ///
    /// When the kernel does not let the thread enter.
    pub fn enter_this_thread(&self) -> Result<(), Error> {
        setns(self.handle.as_fd(), CloneFlags::CLONE_NEWNET)
            .map_err(Error::errno(format!("entering the network namespace {}", self.name)))
    }

    /// Adds an address to an interface; usable at once (IPv6 without duplicate address detection).
    ///
    /// # Errors
    ///
    /// The error of `ip address add`: no such interface, address already there.
    pub fn add_address(&self, interface: &str, address: Address) -> Result<(), Error> {
        let address_text = format!("{}/{}", address.ip, address.prefix_length);
        let mut arguments = vec!["-n", &self.name, "address", "add", &address_text, "dev", interface];
        if address.ip.is_ipv6() {
            arguments.push("nodad");
        }
        ip(arguments)
    }

    /// Sends packets to a network out of an interface, through the next hop if one is given;
    /// `0.0.0.0/0` and `::/0` stand for all that no other route covers. An older route to the same
    /// network is replaced.
    ///
    /// # Errors
    ///
    /// The error of `ip route`: no such interface, a next hop that no address of the interface
    /// reaches, bits beyond the prefix.
    pub fn add_route(&self, network: Address, via: Option<IpAddr>, interface: &str) -> Result<(), Error> {
        let network = format!("{}/{}", network.ip, network.prefix_length);
        let via = via.map(|hop| hop.to_string());
        let mut arguments = vec!["-n", &self.name, "route", "replace", &network];
        if let Some(hop) = &via {
            arguments.extend(["via", hop]);
        }
        arguments.extend(["dev", interface]);
        ip(arguments)
    }

    /// Sets the longest packet that an interface takes, in bytes of IP; the other end of a cable keeps its own.
    ///
    /// # Errors
    ///
    /// The error of `ip link set`: no such interface, a size it cannot have.
    pub fn set_mtu(&self, interface: &str, mtu: u16) -> Result<(), Error> {
        let mtu = mtu.to_string();
        ip(["-n", &self.name, "link", "set", "dev", interface, "mtu", &mtu])
    }

    /// Another handle to the same namespace, for a child that is to run inside.
    pub(crate) fn handle(&self) -> Result<File, Error> {
        self.handle
            .try_clone()
            .map_err(Error::io(format!("opening the network namespace {}", self.name)))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        sweep::remove_namespace(&self.name);
    }
}

/// An address of an interface with the length of its network's prefix in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    ip: IpAddr,
    prefix_length: u8,
}

impl Address {
    /// An IPv4 address; `None` when the prefix is longer than 32 bits.
    #[must_use]
    pub fn v4(ip: Ipv4Addr, prefix_length: u8) -> Option<Self> {
        (prefix_length <= 32).then_some(Self {
            ip: ip.into(),
            prefix_length,
        })
    }

    /// An IPv6 address; `None` when the prefix is longer than 128 bits.
    #[must_use]
    pub fn v6(ip: Ipv6Addr, prefix_length: u8) -> Option<Self> {
        (prefix_length <= 128).then_some(Self {
            ip: ip.into(),
            prefix_length,
        })
    }

    /// The address without its prefix length.
    #[must_use]
    pub fn ip(self) -> IpAddr {
        self.ip
    }
}

impl std::str::FromStr for Address {
    type Err = Error;

    /// Reads `10.0.0.1/24` or `fd00::1/64`.
    fn from_str(text: &str) -> Result<Self, Error> {
        text.split_once('/')
            .and_then(|(ip, length)| match ip.parse().ok()? {
                IpAddr::V4(ip) => Self::v4(ip, length.parse().ok()?),
                IpAddr::V6(ip) => Self::v6(ip, length.parse().ok()?),
            })
            .ok_or_else(|| Error::Unfit {
                what: format!("address `{text}`"),
                reason: "not an IP address with a prefix length, like 10.0.0.1/24 or fd00::1/64".to_owned(),
            })
    }
}

/// The file in which `ip netns` keeps the handle of a namespace.
pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from("/run/netns").join(name)
}

/// Runs `ip` with these arguments.
pub(crate) fn ip<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<(), Error> {
    Program::new("ip")
        .package("iproute2")
        .arguments(arguments)
        .run(IP_TIMEOUT)
        .map(drop)
}
