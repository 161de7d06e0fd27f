//! Features of the kernel, found by trying: a version says nothing about what was built, and a
//! module that is there may not load.
//!
//! Each try happens in a network namespace that passes with it. Without root one is made in a user
//! namespace, where the system lets users have those.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Error, Program};

/// Time limit of a try: milliseconds, and more where a module is loaded on a busy machine.
const TRY: Duration = Duration::from_secs(30);

bartizan_registry::named! {
    /// Something that some kernels have and others lack.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Feature, name {
        /// SCTP sockets (E2, N2, Xn, F1, E1).
        Sctp = "sctp",
        /// ESP with AES-GCM through XFRM, as an IKE daemon sets it up.
        Esp = "esp",
        /// MACsec devices.
        Macsec = "macsec",
        /// Delay, jitter, loss and rate of an interface (`tc netem`).
        Netem = "netem",
        /// Pairs of virtual Ethernet devices.
        Veth = "veth",
        /// TUN devices: ESP or other tunnels in user space.
        Tun = "tun",
        /// TLS records made by the kernel (kTLS).
        KernelTls = "kernel-tls",
        /// Packet filter rules with address translation (`nft`): the redirect.
        Nftables = "nftables",
        /// Packets past the kernel's stack (AF_XDP).
        AfXdp = "af-xdp",
    }
}

/// The outcome of a try.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "support", content = "reason")]
pub enum Support {
    /// It worked.
    Present,
    /// The kernel has it not, in its own words.
    Absent(String),
    /// It could not be tried: no privilege, or no program to try it with.
    Unknown(String),
}

impl Feature {
    /// The kernel's support of this feature, tried once by this process: a kernel does not change
    /// while it runs.
    pub fn tried(self) -> Support {
        static TRIED: Mutex<BTreeMap<Feature, Support>> = Mutex::new(BTreeMap::new());
        let mut tried = TRIED.lock().unwrap_or_else(PoisonError::into_inner);
        tried.entry(self).or_insert_with(|| self.try_now()).clone()
    }

    /// Tries it now; leaves nothing behind but a module that the kernel may have loaded.
    pub fn try_now(self) -> Support {
        match self {
            Self::Sctp => socket(libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_SCTP),
            Self::AfXdp => socket(libc::AF_XDP, libc::SOCK_RAW, 0),
            Self::Nftables => in_a_namespace(NFTABLES),
            Self::KernelTls => kernel_tls(),
            Self::Esp => in_a_namespace(ESP),
            Self::Macsec => in_a_namespace(MACSEC),
            Self::Netem => in_a_namespace("tc qdisc add dev lo root netem delay 1ms"),
            Self::Veth => in_a_namespace(VETH),
            Self::Tun => in_a_namespace("ip tuntap add mode tun name btz0"),
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

const VETH: &str = "ip link add name btz0 type veth peer name btz1";
const MACSEC: &str =
    "ip link add name btz0 type veth peer name btz1 && ip link add link btz0 name btz2 type macsec encrypt on";
const NFTABLES: &str = "nft 'add table inet btz0; add chain inet btz0 c { type nat hook output priority -100; }; add rule inet btz0 c redirect'";
/// A key of 16 bytes and a salt of four (RFC 4106, section 8.1), which nothing is ever encrypted
/// with. The addresses are those of RFC 5737.
const ESP: &str = "ip xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1000 mode tunnel \
    aead 'rfc4106(gcm(aes))' 0x0102030405060708090a0b0c0d0e0f1011121314 128";

/// Runs a line of shell in a network namespace of its own.
fn in_a_namespace(line: &str) -> Support {
    let mut program = Program::new("unshare").package("util-linux");
    if !nix::unistd::geteuid().is_root() {
        program = program.arguments(["--user", "--map-root-user"]);
    }
    let program = program
        .environment("LC_ALL", "C")
        .environment("PATH", path_with_sbin())
        .arguments(["--net", "--", "sh", "-c", line]);
    match program.run(TRY) {
        Ok(_) => Support::Present,
        Err(Error::Failed { status, tail, .. }) => {
            let reason = tail.lines().next().unwrap_or_default().trim().to_owned();
            let refused = ["not permitted", "Permission denied", "unshare failed", "write failed"];
            // 127 is the shell's word for a program that is not there.
            if status.code() == Some(127) || refused.iter().any(|word| reason.contains(word)) {
                Support::Unknown(reason)
            } else {
                Support::Absent(reason)
            }
        }
        Err(error) => Support::Unknown(error.to_string()),
    }
}

/// `ip` and `tc` are in `sbin`, which users do not always have in their path.
pub(crate) fn path_with_sbin() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{path}:/usr/sbin:/sbin")
}

/// Makes a socket and closes it.
fn socket(family: i32, kind: i32, protocol: i32) -> Support {
    // SAFETY: socket takes numbers and returns a descriptor that nothing else owns.
    let made = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) };
    if made < 0 {
        let error = io::Error::last_os_error();
        return match error.kind() {
            io::ErrorKind::PermissionDenied => Support::Unknown(format!("socket: {error}")),
            _ => Support::Absent(format!("socket: {error}")),
        };
    }
    // SAFETY: the kernel has just made it, for us.
    drop(unsafe { OwnedFd::from_raw_fd(made) });
    Support::Present
}

/// The upper layer protocol `tls` is asked for on a connection of loopback.
fn kernel_tls() -> Support {
    use std::os::fd::AsRawFd as _;
    let connection = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| {
        let connection = std::net::TcpStream::connect(listener.local_addr()?)?;
        listener.accept().map(|accepted| (connection, accepted))
    });
    let (connection, _accepted) = match connection {
        Ok(connection) => connection,
        Err(error) => return Support::Unknown(format!("a connection over loopback: {error}")),
    };
    let name = b"tls";
    // SAFETY: the descriptor is open, and the kernel reads as many bytes of `name` as it has.
    let set = unsafe {
        libc::setsockopt(
            connection.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_ULP,
            name.as_ptr().cast(),
            name.len() as libc::socklen_t,
        )
    };
    if set == 0 {
        return Support::Present;
    }
    Support::Absent(format!("setsockopt TCP_ULP: {}", io::Error::last_os_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_gives_an_answer_and_a_refusal_says_why() {
        for feature in &Feature::ALL {
            match feature.try_now() {
                Support::Present => {}
                Support::Absent(reason) | Support::Unknown(reason) => {
                    assert!(!reason.is_empty(), "{feature}");
                }
            }
        }
    }

    #[test]
    fn a_device_that_no_kernel_has_is_absent_and_a_missing_program_is_unknown() {
        let made_up = in_a_namespace("ip link add name btz0 type nosuchkind");
        assert_ne!(made_up, Support::Present);
        let missing = in_a_namespace("no-such-program");
        assert!(matches!(missing, Support::Unknown(_)), "{missing:?}");
    }

    #[test]
    fn names_are_those_of_the_json() {
        for feature in &Feature::ALL {
            let text = serde_json::to_string(feature).unwrap();
            assert_eq!(text, format!("\"{feature}\""));
        }
    }
}
