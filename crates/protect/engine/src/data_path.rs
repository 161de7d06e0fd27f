//! The daemon's ESP data path: the kernel, or this process.

use std::io;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd};

use bartizan_host::{Interest, bypass_esp_policies, carry_esp};
use bartizan_ike::{Ends, Mode, Selector};

use crate::connection::Protected;
use crate::userspace::Userspace;
use bartizan_ipsec::vici::Section;
use bartizan_ipsec::xfrm::{Asked, Associations, Counted, Direction, Error, Path};

/// Octets of a description that leave the daemon: VICI has room for 65,535, and a reader for the
/// first few sentences.
const SHOWN: usize = 2000;

/// The beginning of a text that may be long.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{} ...", &text[..at]),
        None => text.to_owned(),
    }
}

/// An ESP data path.
#[derive(Debug)]
pub(crate) enum DataPath {
    /// The kernel, which says what packets ask for from when a connection is loaded that is set up by such a one.
    Kernel(Option<Asked>),
    Userspace(Box<Userspace>),
}

impl DataPath {
    /// In the answer to `stats`, in the place of charon's plugins.
    pub(crate) fn plugin(&self) -> &'static str {
        match self {
            Self::Kernel(_) => "kernel-netlink",
            Self::Userspace(_) => bartizan_ipsec::USERSPACE,
        }
    }

    /// The same, with what it is made of, has dropped and has done.
    pub(crate) fn section(&self) -> Option<Section> {
        let Self::Userspace(userspace) = self else { return None };
        let section = Section::new()
            .with("device", userspace.device())
            .with("mtu", userspace.mtu().to_string());
        let counts = |counts: &[(&'static str, u64)]| {
            let counts = counts.iter();
            counts.fold(Section::new(), |all, (name, count)| all.with(*name, count.to_string()))
        };
        let section = section.with_section("dropped", counts(&userspace.dropped()));
        let (restored, last) = userspace.restored();
        let mut routing = Section::new().with("restored", restored.to_string());
        for (name, differences) in [("last", last.map(str::to_owned)), ("lost", userspace.lost())] {
            if let Some(differences) = differences {
                routing.set(name, shortened(&differences));
            }
        }
        let section = section.with_section("routing", routing);
        Some(section.with_section("work", counts(&userspace.work())))
    }

    /// Prepares the sockets of an address, of port 500 and of port 4500.
    pub(crate) fn attach(&mut self, address: IpAddr, sockets: [&UdpSocket; 2]) -> io::Result<()> {
        match self {
            Self::Kernel(_) => {
                for socket in sockets {
                    bypass_esp_policies(socket)?;
                }
                carry_esp(sockets[1])
            }
            Self::Userspace(userspace) => {
                // A kernel without ESP has no policies to pass.
                for socket in sockets {
                    let _ = bypass_esp_policies(socket);
                }
                userspace.attach(address, sockets)
            }
        }
    }

    pub(crate) fn retain(&mut self, needed: impl Fn(&IpAddr) -> bool) {
        if let Self::Userspace(userspace) = self {
            userspace.retain(needed);
        }
    }

    /// Returns true if this process, and no thread of the data path, reads port 4500.
    pub(crate) fn leaves_nat_port(&self) -> bool {
        matches!(self, Self::Kernel(_))
    }

    /// Messages of IKE that the data path has received.
    pub(crate) fn messages(&self) -> Vec<(Ends, Vec<u8>)> {
        match self {
            Self::Kernel(_) => Vec::new(),
            Self::Userspace(userspace) => userspace.messages().collect(),
        }
    }

    /// Returns an error if the data path is no longer usable.
    pub(crate) fn stands(&self) -> Result<(), Error> {
        match self {
            Self::Kernel(_) => Ok(()),
            Self::Userspace(userspace) => userspace.stands(),
        }
    }

    /// Compares what leads packets to the device with what was installed, and installs it again; a
    /// line for the log where there was something.
    pub(crate) fn keep(&mut self) -> Option<String> {
        let Self::Userspace(userspace) = self else { return None };
        Some(match userspace.keep_routes() {
            Ok(None) => return None,
            Ok(Some(differences)) => format!("routing to the device was lost and is installed again: {differences}"),
            Err(error) => format!("routing to the device cannot be kept: {error}"),
        })
    }

    /// Description for the log. None for the kernel.
    pub(crate) fn shown(&self) -> Option<String> {
        let Self::Userspace(userspace) = self else { return None };
        Some(format!(
            "ESP in user space by {}: packets of the links have {} octets at most",
            userspace.device(),
            userspace.mtu()
        ))
    }

    /// Descriptor that the daemon waits for in addition to its sockets.
    pub(crate) fn waits_for(&self) -> Option<(BorrowedFd<'_>, Interest)> {
        match self {
            Self::Kernel(asked) => asked.as_ref().map(|asked| (asked.as_fd(), Interest::Read)),
            Self::Userspace(userspace) => Some((userspace.woken(), Interest::Read)),
        }
    }

    /// Hears from now on what packets ask for.
    pub(crate) fn hear(&mut self) -> io::Result<()> {
        if let Self::Kernel(asked @ None) = self {
            *asked = Some(Asked::listen()?);
        }
        Ok(())
    }

    /// The numbers of the links whose packets have found no SA since.
    pub(crate) fn asked(&self) -> Vec<u32> {
        match self {
            // Lost acquire events are sent again by the kernel.
            Self::Kernel(asked) => asked
                .as_ref()
                .and_then(|asked| asked.numbers().ok())
                .unwrap_or_default(),
            Self::Userspace(userspace) => userspace.asked(),
        }
    }

    /// Requires ESP of the traffic of a CHILD_SA.
    pub(crate) fn require(&mut self, child: &Protected) -> Result<(), Error> {
        match self {
            Self::Kernel(_) => child.path.require(child.mode, &child.local, &child.remote),
            Self::Userspace(_) if child.mode != Mode::Tunnel => {
                Err(Error::Userspace("there is no transport mode".to_owned()))
            }
            Self::Userspace(userspace) => {
                let (local, remote) = (&child.local, &child.remote);
                userspace.require(child.path.reqid, local, remote)?;
                let path_mtu = userspace.path_mtu();
                let is_v4 = child.path.local.is_ipv4();
                let longest = |suite: &bartizan_esp::Suite| crate::userspace::longest(*suite, path_mtu, is_v4);
                userspace.fit(child.suites.iter().map(longest))
            }
        }
    }

    /// Ends that for these.
    pub(crate) fn release(&mut self, path: Path, local: &Selector, remote: &Selector) -> Result<(), Error> {
        let (local, remote) = ([*local], [*remote]);
        match self {
            Self::Kernel(_) => path.release(&local, &remote),
            Self::Userspace(userspace) => userspace.release(path.reqid, &local, &remote),
        }
    }

    /// Place where the SAs of a CHILD_SA are installed.
    pub(crate) fn associations(&self, path: Path) -> Result<Box<dyn Associations>, Error> {
        Ok(match self {
            Self::Kernel(_) => Box::new(path),
            Self::Userspace(userspace) => Box::new(userspace.associations(path)?),
        })
    }

    /// Traffic counters of an SA.
    pub(crate) fn counted(&self, path: Path, spi: u32, direction: Direction) -> Option<Counted> {
        match self {
            Self::Kernel(_) => path.counted(spi, direction).ok().flatten(),
            Self::Userspace(userspace) => userspace.counted(path.reqid, spi, direction),
        }
    }
}
