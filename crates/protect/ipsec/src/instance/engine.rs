//! Location of charon's executable.

use std::path::{Path, PathBuf};

use bartizan_host::{Error, LabRoot, Program};

use super::Settings;

/// Paths at which Debian, Fedora and builds from source install the daemon that needs no pid file,
/// so that two can run side by side.
const PLACES: [&str; 5] = [
    "/usr/sbin/charon-systemd",
    "/usr/local/sbin/charon-systemd",
    "/usr/libexec/strongswan/charon-systemd",
    "/usr/lib/ipsec/charon-systemd",
    "/usr/libexec/ipsec/charon-systemd",
];

/// In a lab root the instance's directory is seen here.
const SEEN_AT: &str = "/run/bartizan";

/// Run with: root, directory. The mounts are in a namespace of their own and go with it; the root is not touched. charon needs
/// /dev for random numbers and TUN devices, /proc for what it sets in its network namespace.
const IN_ROOT: &str = r#"set -e
mount --rbind /dev "$1/dev"
mount --rbind /proc "$1/proc"
mount -t tmpfs -o mode=755 tmpfs "$1/run"
mkdir "$1/run/bartizan"
mount --bind "$2" "$1/run/bartizan"
exec chroot "$1" /usr/sbin/charon-systemd"#;

/// An IKE daemon that can be started.
#[derive(Debug, Clone)]
pub enum Engine {
    /// The one that is installed: its `charon-systemd`.
    Installed(PathBuf),
    /// The one of a lab root, which sees the root's files.
    LabRoot(LabRoot),
    /// Bartizan's own: this program, by its hidden command `ike-engine`.
    Bartizan(PathBuf),
}

impl Engine {
    /// The installed one, where there is one.
    pub fn installed() -> Option<Self> {
        PLACES
            .into_iter()
            .map(PathBuf::from)
            .find(|place| place.is_file())
            .map(Self::Installed)
    }

    /// Path of its directory as charon sees it.
    pub(super) fn sees(&self, directory: &Path) -> PathBuf {
        match self {
            Self::Installed(_) | Self::Bartizan(_) => directory.to_owned(),
            Self::LabRoot(_) => PathBuf::from(SEEN_AT),
        }
    }

    pub(super) fn program(&self, directory: &Path, settings: &Settings) -> Result<Program, Error> {
        Ok(match self {
            Self::Bartizan(path) => match &settings.userspace {
                Some((device, mtu)) => Program::new(path)
                    .arguments(["ike-engine", "--userspace", device, "--mtu"])
                    .argument(mtu.to_string()),
                None => Program::new(path).argument("ike-engine"),
            }
            .argument("--directory")
            .argument(directory)
            .argument("--peers")
            .argument(settings.peers.to_string())
            .argument("--fragment-size")
            .argument(settings.fragment_size.to_string()),
            Self::Installed(path) => Program::new(path).package("charon-systemd"),
            Self::LabRoot(root) => Program::new("unshare")
                .package("util-linux")
                .arguments([
                    "--mount",
                    "--propagation",
                    "private",
                    "sh",
                    "-c",
                    IN_ROOT,
                    "charon-systemd",
                ])
                .argument(root.directory())
                .argument(directory),
        })
    }
}
