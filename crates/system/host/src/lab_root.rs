//! Lab roots: a release of Debian in a directory, for programs newer than those of this machine.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{Error, Program};

mod blueprint;
mod stamp;

pub use blueprint::Blueprint;
pub use stamp::RootStamp;

bartizan_registry::made! {
    /// A verified directory with a release of Debian.
    #[derive(Debug, Clone)]
    pub struct LabRoot,
    /// The root in a directory; `None` without a stamp that can be read.
    #[must_use]
    pub read(directory: &Path) -> Option<Self> {
        directory: PathBuf = directory.to_owned(),
        stamp: RootStamp = RootStamp::read(directory)?,
    }
}

impl LabRoot {
    /// Debian 13 with OpenSSL 3.5 (ML-KEM, ML-DSA), curl, nginx, haproxy, socat, stunnel, the
    /// programs of nghttp2, tshark and tcpdump; wpa_supplicant 2.10, which keys MACsec.
    ///
    /// # Errors
    ///
    /// When neither `BARTIZAN_CACHE` nor `XDG_CACHE_HOME` nor `HOME` says where to keep it.
    pub fn trixie() -> Result<Blueprint, Error> {
        const PACKAGES: &[&str] = &[
            "ca-certificates",
            "curl",
            "ethtool",
            "haproxy",
            "iproute2",
            "iputils-ping",
            "kmod",
            "libnginx-mod-stream",
            "lksctp-tools",
            "nghttp2-client",
            "nghttp2-proxy",
            "nghttp2-server",
            "nginx-light",
            "openssl",
            "socat",
            "stunnel4",
            "tcpdump",
            "tshark",
            "user-mode-linux",
            "wpasupplicant",
        ];
        Ok(Blueprint {
            suite: "trixie",
            name: "trixie",
            version: 5,
            packages: PACKAGES,
            besides: &[],
            cache: cache()?,
        })
    }

    /// Debian sid, which changes from day to day: for strongSwan 6.1 (ML-KEM; trixie's 6.0.1 has
    /// none), nginx 1.30 (HTTP/2 to its upstreams) with OpenSSL 3.6, Libreswan 5.2 (which Debian
    /// does not let into one system with strongSwan: it is unpacked besides), and the kernel of a
    /// guest (trixie's 6.12 does not boot on a processor with AMX, and has no nftables).
    /// Built only when it is asked for; what was unpacked, and when it is old, its package list
    /// says.
    ///
    /// # Errors
    ///
    /// When neither `BARTIZAN_CACHE` nor `XDG_CACHE_HOME` nor `HOME` says where to keep it.
    pub fn sid() -> Result<Blueprint, Error> {
        const PACKAGES: &[&str] = &[
            "ca-certificates",
            "charon-systemd",
            "iproute2",
            "iputils-ping",
            "kmod",
            "libcharon-extra-plugins",
            "libstrongswan-extra-plugins",
            "libstrongswan-standard-plugins",
            "lksctp-tools",
            "nginx",
            "openssl",
            "strongswan-pki",
            "strongswan-swanctl",
            "tcpdump",
            "user-mode-linux",
        ];
        Ok(Blueprint {
            suite: "sid",
            name: "sid",
            version: 4,
            packages: PACKAGES,
            besides: &["libreswan"],
            cache: cache()?,
        })
    }

    /// The directory, an absolute path.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Every package in it with its version, sorted by name.
    pub fn packages(&self) -> impl Iterator<Item = (&str, &str)> {
        let packages = self.stamp.packages.iter();
        packages.map(|(name, version)| (name.as_str(), version.as_str()))
    }

    /// A program of the root that sees this machine's files and network: it is run by the root's
    /// own loader with the root's libraries, and is pointed at the root's OpenSSL configuration.
    /// Programs that it starts itself are this machine's.
    ///
    /// # Errors
    ///
    /// [`Error::LabRoot`] when the root has no such program, [`Error::Architecture`] where no loader is known.
    pub fn command(&self, program: &str) -> Result<Program, Error> {
        let path = self.find(program)?;
        let (loader, libraries) = self.loader()?;
        Ok(Program::new(loader)
            .shown_as(program)
            .argument("--argv0")
            .argument(program)
            .argument("--library-path")
            .argument(&libraries)
            .argument(path)
            .environment("OPENSSL_CONF", self.directory.join("etc/ssl/openssl.cnf"))
            .environment("OPENSSL_MODULES", libraries.join("ossl-modules"))
            .environment("OPENSSL_ENGINES", libraries.join("engines-3"))
            .environment("WIRESHARK_DATA_DIR", self.directory.join("usr/share/wireshark"))
            .hide_arguments(5))
    }

    /// A program of the root that sees the root's files only, and this machine's network. Needs root.
    pub fn chroot(&self, program: &str) -> Program {
        Program::new("chroot")
            .package("coreutils")
            .argument(&self.directory)
            .argument(program)
    }

    /// The loader of its programs, and the folder of their libraries.
    ///
    /// # Errors
    ///
    /// [`Error::Architecture`] where no loader is known.
    pub fn loader(&self) -> Result<(PathBuf, PathBuf), Error> {
        let architecture = Architecture::of_this_machine()?;
        let libraries = self.directory.join("usr/lib").join(architecture.triplet);
        Ok((self.directory.join(architecture.loader), libraries))
    }

    /// The path of a program in it.
    ///
    /// # Errors
    ///
    /// [`Error::LabRoot`] when the root has no such program.
    pub fn find(&self, program: &str) -> Result<PathBuf, Error> {
        ["usr/bin", "usr/sbin", "usr/libexec/ipsec"]
            .into_iter()
            .map(|directory| self.directory.join(directory).join(program))
            .find(|path| !program.contains('/') && fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF")))
            .ok_or_else(|| Error::LabRoot {
                place: self.directory.display().to_string(),
                reason: format!("it has no program `{program}`"),
            })
    }
}

/// Debian's places of the loader and the libraries of an architecture.
struct Architecture {
    loader: &'static str,
    triplet: &'static str,
}

impl Architecture {
    fn of_this_machine() -> Result<Self, Error> {
        match env::consts::ARCH {
            "x86_64" => Ok(Self {
                loader: "usr/lib64/ld-linux-x86-64.so.2",
                triplet: "x86_64-linux-gnu",
            }),
            "aarch64" => Ok(Self {
                loader: "usr/lib/ld-linux-aarch64.so.1",
                triplet: "aarch64-linux-gnu",
            }),
            architecture => Err(Error::Architecture(architecture)),
        }
    }
}

/// The cache directory of Bartizan: `$BARTIZAN_CACHE`, `$XDG_CACHE_HOME/bartizan` or `~/.cache/bartizan`.
///
/// # Errors
///
/// When neither `BARTIZAN_CACHE` nor `XDG_CACHE_HOME` nor `HOME` says where it is.
pub fn cache() -> Result<PathBuf, Error> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let directory = set("BARTIZAN_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("bartizan")))
        .or_else(|| Some(set("HOME")?.join(".cache/bartizan")))
        .ok_or_else(|| Error::Unfit {
            what: "cache directory".to_owned(),
            reason: "none of BARTIZAN_CACHE, XDG_CACHE_HOME and HOME is set".to_owned(),
        })?;
    std::path::absolute(&directory).map_err(Error::io(format!("finding {}", directory.display())))
}
