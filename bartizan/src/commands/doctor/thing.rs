//! Things that a feature may need of a host, and their presence.

use serde::Serialize;

/// Something that a feature may need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Thing {
    Root,
    NetAdmin,
    SysAdmin,
    UserNamespaces,
    NetworkNamespaces,
    Veth,
    Capture,
    AesInstructions,
    Sctp,
    Esp,
    Macsec,
    Netem,
    VethDevice,
    Tun,
    KernelTls,
    Nftables,
    AfXdp,
    Ip,
    Nft,
    Curl,
    CurlHttp2,
    Nghttpd,
    H2load,
    Openssl,
    OpensslMlKem,
    OpensslMlDsa,
    OpensslTlsHybrid,
    Tshark,
    TsharkMlKem,
    TsharkIkeMlKem,
    Debootstrap,
    DebianKeys,
    Unshare,
    Chroot,
    Swanctl,
    StrongswanPki,
    StrongswanMlDsa,
    Charon,
    CharonMlKem,
    CharonHybrid,
    CharonPpk,
    CharonMlDsa,
    CharonLibipsec,
    CharonPlugins,
    WpaSupplicant,
    WpaMacsec,
    WpaKeys256,
    WpaEapTls,
    WpaHybrid,
    Hostapd,
    HostapdMacsec,
    Qemu,
    DebianKernel,
    TrixieRoot,
    SidRoot,
    Laboratory,
}

/// Presence of a thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "lowercase")]
pub(super) enum Presence {
    /// It was tried and works.
    Present {
        /// Further details.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// It was tried and does not, or is not there.
    Absent {
        /// Why, in the words of what refused.
        reason: String,
        /// Command or hint to install it.
        get: String,
    },
    /// It could not be tried.
    Unknown {
        /// Why not.
        reason: String,
        /// Remedy.
        get: String,
    },
}

/// Something that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Examined {
    pub(super) thing: Thing,
    /// Displayed name.
    pub(super) name: &'static str,
    #[serde(flatten)]
    pub(super) presence: Presence,
}

impl Presence {
    pub(super) fn present() -> Self {
        Self::Present { detail: None }
    }

    pub(super) fn absent(reason: impl Into<String>, get: impl Into<String>) -> Self {
        let (reason, get) = (reason.into(), get.into());
        Self::Absent { reason, get }
    }

    pub(super) fn unknown(reason: impl Into<String>, get: impl Into<String>) -> Self {
        let (reason, get) = (reason.into(), get.into());
        Self::Unknown { reason, get }
    }

    pub(super) fn is_present(&self) -> bool {
        matches!(self, Self::Present { .. })
    }

    /// From what came of trying it.
    pub(super) fn tried(result: Result<Option<String>, String>, get: impl Into<String>) -> Self {
        match result {
            Ok(detail) => Self::Present { detail },
            Err(reason) => Self::absent(reason, get.into()),
        }
    }
}

impl Examined {
    pub(super) fn new(thing: Thing, name: &'static str, presence: Presence) -> Self {
        Self { thing, name, presence }
    }
}

/// The first line of what an error says.
pub(super) fn in_a_line(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("no reason given").to_owned();
    // The output of a failed program is behind the first line.
    match lines.next() {
        Some(said) => format!("{first}: {said}"),
        None => first,
    }
}
