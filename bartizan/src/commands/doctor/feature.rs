//! Requirements of each feature, and their state on this host.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde::Serialize;

use super::thing::{Examined, Presence, Thing};

/// A feature of Bartizan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Feature {
    /// The proxy of a network function
    Sidecar,
    /// The rules that lead a function's traffic to its sidecar
    Redirect,
    /// The certificate authority
    Ca,
    /// Verdicts from captures
    Inspect,
    /// The demonstration on real traffic
    Demo,
    /// IPsec links by strongSwan, and experiments with them
    Ipsec,
    /// IPsec links by the engine of Bartizan
    IkeEngine,
    /// MACsec links of the open fronthaul
    Macsec,
    /// A kernel of its own for what this machine's lacks: `--kernel guest`
    Guest,
    /// Debian releases in a directory, for programs newer than this machine's
    LabRoot,
}

/// Weight of a requirement for its feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Weight {
    /// Without it the feature does not work.
    Needed,
    /// Without it the feature does less, and says so.
    Wanted,
}

/// A requirement of a feature, met by any one of several things.
struct Requirement {
    any: &'static [Thing],
    weight: Weight,
    /// A noun phrase that fits behind the words of the summary.
    because: &'static str,
}

/// A requirement, and what became of it here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Need {
    /// Any of these will do.
    pub(super) any: Vec<Thing>,
    pub(super) weight: Weight,
    pub(super) because: String,
    pub(super) met: bool,
    /// Why it is not met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    /// Command or hint to install it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) get: Option<String>,
}

bartizan_registry::made! {
    /// A feature as it stands here.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    pub(super) struct Readiness, pub(super) new(feature: String, default: bool, needs: Vec<Need>) {
        pub(super) feature: String = feature,
        /// True if its findings count when no feature is requested by name.
        pub(super) default: bool = default,
        /// True if it works here.
        pub(super) ready: bool = needs.iter().all(|need| need.met || need.weight == Weight::Wanted),
        pub(super) needs: Vec<Need> = needs,
    }
}

impl Feature {
    pub(super) fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns true for features that all users need. Other features are requested by name.
    pub(super) fn is_default(self) -> bool {
        matches!(self, Self::Sidecar | Self::Redirect | Self::Ca | Self::Inspect)
    }

    fn requirements(self) -> &'static [Requirement] {
        match self {
            Self::Ca | Self::Inspect => &[],
            Self::Sidecar => SIDECAR,
            Self::Redirect => REDIRECT,
            Self::Demo => DEMO,
            Self::Ipsec => IPSEC,
            Self::IkeEngine => IKE_ENGINE,
            Self::Macsec => MACSEC,
            Self::Guest => GUEST,
            Self::LabRoot => LAB_ROOT,
        }
    }

    /// Everything it asks of the host.
    pub(super) fn things(self) -> impl Iterator<Item = Thing> {
        self.requirements().iter().flat_map(|one| one.any).copied()
    }

    /// Returns the readiness of the feature on this host.
    pub(super) fn readiness(self, inventory: &Inventory) -> Readiness {
        let needs: Vec<Need> = self.requirements().iter().map(|one| one.need(inventory)).collect();
        Readiness::new(self.name(), self.is_default(), needs)
    }
}

/// Requirements, each by its weight, the things of which any will do, and its use.
macro_rules! requirements {
    ($($name:ident { $($weight:ident [$($thing:ident)+] $because:literal;)+ })+) => {
        $(const $name: &[Requirement] = &[$(Requirement {
            any: &[$(Thing::$thing),+],
            weight: Weight::$weight,
            because: $because,
        }),+];)+
    };
}

requirements! {
    SIDECAR {
        Wanted [AesInstructions] "AES instructions of the processor";
    }
    REDIRECT {
        Needed [NetAdmin] "CAP_NET_ADMIN for rules and routes";
        Needed [Nft] "nft to install the rules";
        Needed [Nftables] "nftables in the kernel";
        Needed [Ip] "ip for the routes of the fence";
    }
    DEMO {
        Needed [Laboratory] "bartizan-lab";
        Needed [CurlHttp2] "curl as the client, with HTTP/2";
        Needed [Nghttpd] "nghttpd as the server";
        Wanted [Veth] "virtual cables (else it uses loopback)";
        Wanted [Capture] "captures of what an eavesdropper sees";
        Wanted [Nft] "nft to redirect traffic by rules";
        Wanted [Sctp SidRoot] "SCTP for `demo --n2`, here or in a guest";
    }
    IPSEC {
        Needed [Root] "root for an IKE daemon and routes";
        Needed [NetAdmin] "CAP_NET_ADMIN for SAs and policies";
        Needed [CharonHybrid] "strongSwan with X25519 and ML-KEM";
        Needed [Esp Tun] "ESP in the kernel, or a TUN device";
        Wanted [Esp] "ESP in the kernel (else ESP in UDP)";
        Wanted [Sctp] "SCTP for E2, N2, F1-C, E1 and Xn-C";
        Wanted [CharonMlDsa] "ML-DSA signatures of strongSwan";
    }
    IKE_ENGINE {
        Needed [Root] "root for UDP port 500 and routes";
        Needed [NetAdmin] "CAP_NET_ADMIN for SAs, or a device";
        Needed [Esp Tun] "ESP in the kernel, or a TUN device";
        Wanted [Esp] "ESP in the kernel, with transport mode";
        Needed [Ip] "ip to clean up after a killed engine";
        Wanted [Nftables] "nftables (else a guard of XFRM policies)";
        Wanted [Sctp] "SCTP for E2, N2, F1-C, E1 and Xn-C";
    }
    MACSEC {
        Needed [Root] "root for devices and packet sockets";
        Needed [NetAdmin] "CAP_NET_ADMIN for MACsec devices";
        Needed [Macsec] "MACsec in the kernel";
        Needed [Nft] "nft to install the guard";
        Needed [Nftables] "nftables in the kernel";
        Wanted [WpaMacsec] "wpa_supplicant for `keying: mka`";
        Wanted [WpaKeys256] "256-bit suites of `keying: mka`";
        Wanted [WpaEapTls] "wpa_supplicant for `keying: eap-tls`";
        Wanted [WpaHybrid] "X25519MLKEM768, ML-DSA-65 in EAP-TLS";
    }
    GUEST {
        Needed [Root] "root for the namespaces of its files";
        Needed [Unshare] "unshare for the namespaces of its files";
        Needed [SidRoot] "Debian sid with User-Mode Linux";
        Wanted [DebianKernel] "Debian's kernel: nftables next to ESP";
        Wanted [Qemu] "qemu for Debian's kernel";
    }
    LAB_ROOT {
        Needed [Root] "root to unpack a system with its owners";
        Needed [SysAdmin] "CAP_SYS_ADMIN for mounts";
        Needed [Debootstrap] "debootstrap to unpack Debian";
        Needed [DebianKeys] "Debian's keys to verify packages";
        Needed [Unshare] "unshare to end its mounts with it";
        Wanted [Chroot] "chroot to run programs of the root";
    }
}

impl Requirement {
    fn need(&self, inventory: &Inventory) -> Need {
        let met = self.any.iter().any(|&thing| inventory.has(thing));
        let (mut reasons, mut remedies) = (Vec::new(), Vec::new());
        if !met {
            for &thing in self.any {
                let (name, reason, get) = inventory.want_of(thing);
                reasons.push(format!("{name}: {reason}"));
                if !remedies.contains(&get) {
                    remedies.push(get);
                }
            }
        }
        Need {
            any: self.any.to_vec(),
            weight: self.weight,
            because: self.because.to_owned(),
            met,
            reason: (!met).then(|| reasons.join("; ")),
            get: (!met).then(|| remedies.join(", or ")),
        }
    }
}

/// Everything that was looked at, by thing.
#[derive(Debug, Default)]
pub(super) struct Inventory(BTreeMap<Thing, Examined>);

impl Inventory {
    pub(super) fn add(&mut self, examined: Examined) {
        // A thing found in one place counts as present.
        let known = self.0.get(&examined.thing);
        if !known.is_some_and(|known| known.presence.is_present()) {
            self.0.insert(examined.thing, examined);
        }
    }

    fn has(&self, thing: Thing) -> bool {
        self.0.get(&thing).is_some_and(|one| one.presence.is_present())
    }

    /// Name, why it is not there, and how to get it.
    fn want_of(&self, thing: Thing) -> (String, String, String) {
        match self.0.get(&thing) {
            Some(Examined {
                name,
                presence: Presence::Absent { reason, get } | Presence::Unknown { reason, get },
                ..
            }) => ((*name).to_owned(), reason.clone(), get.clone()),
            // The abilities of a missing program are not examined.
            _ => match thing.program() {
                Some(program) => self.want_of(program),
                None => (format!("{thing:?}"), "not looked for".to_owned(), String::new()),
            },
        }
    }
}

impl Thing {
    /// The program whose ability this is.
    fn program(self) -> Option<Self> {
        Some(match self {
            Self::CurlHttp2 => Self::Curl,
            Self::OpensslMlKem | Self::OpensslMlDsa | Self::OpensslTlsHybrid => Self::Openssl,
            Self::TsharkMlKem | Self::TsharkIkeMlKem => Self::Tshark,
            Self::DebianKeys => Self::Debootstrap,
            Self::StrongswanMlDsa => Self::StrongswanPki,
            Self::WpaMacsec | Self::WpaKeys256 | Self::WpaEapTls | Self::WpaHybrid => Self::WpaSupplicant,
            Self::HostapdMacsec => Self::Hostapd,
            Self::CharonMlKem
            | Self::CharonHybrid
            | Self::CharonPpk
            | Self::CharonMlDsa
            | Self::CharonLibipsec
            | Self::CharonPlugins => Self::Charon,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn absent(thing: Thing, name: &'static str) -> Examined {
        Examined::new(
            thing,
            name,
            Presence::absent("not in PATH", format!("apt-get install {name}")),
        )
    }

    #[test]
    fn what_is_needed_decides_and_what_is_wanted_does_not() {
        let mut inventory = Inventory::default();
        let readiness = Feature::Demo.readiness(&inventory);
        assert!(!readiness.ready);
        inventory.add(Examined::new(Thing::CurlHttp2, "HTTP/2", Presence::present()));
        inventory.add(Examined::new(Thing::Nghttpd, "nghttpd", Presence::present()));
        // The commands of the demonstration are bartizan-lab's.
        assert!(!Feature::Demo.readiness(&inventory).ready);
        inventory.add(Examined::new(Thing::Laboratory, "bartizan-lab", Presence::present()));
        let readiness = Feature::Demo.readiness(&inventory);
        assert!(readiness.ready);
        assert_eq!(readiness.needs.iter().filter(|need| !need.met).count(), 4);
    }

    #[test]
    fn an_ability_of_a_program_that_is_not_there_is_got_by_getting_the_program() {
        let mut inventory = Inventory::default();
        inventory.add(absent(Thing::Curl, "curl"));
        let readiness = Feature::Demo.readiness(&inventory);
        let need = &readiness.needs[1];
        assert_eq!(need.reason.as_deref(), Some("curl: not in PATH"));
        assert_eq!(need.get.as_deref(), Some("apt-get install curl"));
    }

    #[test]
    fn every_feature_has_a_name_that_the_command_line_takes() {
        for feature in Feature::value_variants() {
            assert_eq!(Feature::from_str(&feature.name(), false).as_ref(), Ok(feature));
        }
    }
}
