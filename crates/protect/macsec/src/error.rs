//! Failures of a MACsec link on this host, by whose fault.

use std::path::PathBuf;

use bartizan_host::netlink::Refused;

/// Why the kernel has no such link, or does not do with it what it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The environment: this user may not do it.
    #[error("{0} is not permitted: this needs root or CAP_NET_ADMIN in the network namespace of the port")]
    NotPermitted(String),
    /// The environment: the kernel was built without MACsec, or its module is not there.
    #[error("this kernel has no MACsec: {0}")]
    NoMacsec(String),
    /// Configuration, or the environment: the interface is not there, or no longer.
    #[error("there is no interface {0} in this network namespace")]
    NoInterface(String),
    /// Configuration, or the environment: the port was renamed.
    #[error(
        "the port {port} is called {now} now: frames go on under the last keys, which do not change until it has its name again"
    )]
    PortRenamed {
        /// Its name in the file.
        port: String,
        /// Its name now.
        now: String,
    },
    /// Configuration: what carries MACsec has addresses of six octets.
    #[error("the interface {0} is no Ethernet port")]
    NotEthernet(String),
    /// Configuration: frames with SecTAG and ICV would not fit.
    #[error(
        "the port {port} has an MTU of {has}: MACsec adds {adds} octets, which leaves {} for frames, and the file asks for {asked}",
        .has.saturating_sub(*.adds)
    )]
    MtuTooSmall {
        /// The port.
        port: String,
        /// Its MTU.
        has: u32,
        /// Octets of SecTAG, SCI and ICV.
        adds: u32,
        /// MTU that frames of the link need.
        asked: u32,
    },
    /// The environment: an interface has the name, and is no MACsec device of this port.
    #[error("the interface {device} is there and {what}")]
    DeviceTaken {
        /// Its name.
        device: String,
        /// Description of the interface.
        what: String,
    },
    /// The kernel refused.
    #[error("{action}: {refused}")]
    Kernel {
        /// The attempted action.
        action: String,
        /// The kernel's refusal.
        refused: Refused,
    },
    /// The environment: the installed wpa_supplicant cannot do what the file asks for.
    #[error("wpa_supplicant {version} cannot key {suite}: {reason}")]
    Incapable {
        /// Its version.
        version: String,
        /// The cipher suite.
        suite: &'static str,
        /// The missing ability.
        reason: &'static str,
    },
    /// The environment: the installed wpa_supplicant cannot be authenticated as the file asks.
    #[error("wpa_supplicant {version} cannot be authenticated by EAP-TLS as the file asks: {reason}")]
    IncapableOfEap {
        /// Its version.
        version: String,
        /// The missing ability.
        reason: String,
    },
    /// The environment: wpa_supplicant did not start.
    #[error("wpa_supplicant did not start: {0}")]
    Supplicant(String),
    /// Configuration: the file that the CAK is in.
    #[error("the CAK in {}: {reason}", .path.display())]
    CakFile {
        /// Its path.
        path: PathBuf,
        /// The flaw.
        reason: String,
    },
    /// The operating system refused something else.
    #[error(transparent)]
    Host(#[from] bartizan_host::Error),
    /// Ours: what the kernel answered cannot be read.
    #[error("the kernel's answer about {0} cannot be read")]
    Answer(String),
}

impl Error {
    /// The next step for the operator.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotPermitted(_) => "run it as root, in the network namespace of the port".to_owned(),
            Self::NoMacsec(_) => {
                "a kernel with CONFIG_MACSEC has it (`modprobe macsec`); `bartizan doctor` says what this one has"
                    .to_owned()
            }
            Self::NoInterface(_) => {
                "`ip link` lists those of this namespace: was it renamed or unplugged?".to_owned()
            }
            Self::PortRenamed { port, now } => {
                format!("`ip link set {now} name {port}`, or write `{now}` as `port` in the file and start `up` again")
            }
            Self::NotEthernet(_) => "name the Ethernet port that leads to the peer".to_owned(),
            Self::MtuTooSmall { port, adds, asked, .. } => {
                format!(
                    "`ip link set {port} mtu {}`, or a smaller `mtu` in the file",
                    asked + adds
                )
            }
            Self::DeviceTaken { device, .. } => format!("`ip link delete {device}`, or another `device` in the file"),
            Self::Incapable { suite, .. } if suite.contains("256") => {
                "write `cipher: gcm-aes-128`, or `keying: direct` where both ends run Bartizan, or install one of version 2.11 or later".to_owned()
            }
            Self::IncapableOfEap { .. } => {
                "change that in the file, name this end as `initiator`, or write `keying: direct` where both ends run Bartizan".to_owned()
            }
            Self::Incapable { .. } => "Debian's package wpasupplicant has it; `bartizan doctor` says what is installed".to_owned(),
            Self::Supplicant(_) => "its log is next to the controller's socket; `bartizan doctor` says what it can".to_owned(),
            Self::CakFile { path, .. } => format!(
                "two lines, `ckn = ` with 2 to 64 hexadecimal digits and `cak = ` with 32 or 64, the same as at the other end; `chmod 600 {}`",
                path.display()
            ),
            Self::Host(error) => return error.hint(),
            Self::Kernel { .. } => return None,
            Self::Answer(_) => "this is a fault of bartizan: please report it with `uname -r`".to_owned(),
        })
    }

    /// For `map_err`: what the kernel refused, with what was tried.
    pub(crate) fn kernel(action: impl Into<String>) -> impl FnOnce(Refused) -> Self {
        let action = action.into();
        move |refused| match refused.source.kind() {
            std::io::ErrorKind::PermissionDenied => Self::NotPermitted(action),
            _ => Self::Kernel { action, refused },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mtu_that_is_too_small_is_said_with_the_numbers() {
        let error = Error::MtuTooSmall {
            port: "ens1".to_owned(),
            has: 1500,
            adds: 32,
            asked: 1500,
        };
        assert_eq!(
            error.to_string(),
            "the port ens1 has an MTU of 1500: MACsec adds 32 octets, which leaves 1468 for frames, and the file asks for 1500"
        );
        assert_eq!(
            error.hint().as_deref(),
            Some("`ip link set ens1 mtu 1532`, or a smaller `mtu` in the file")
        );
    }
}
