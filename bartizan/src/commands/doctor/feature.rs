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
        Wanted [AesInstructions] "AES in instructions of the processor; without them it is computed by general ones";
    }
    REDIRECT {
        Needed [NetAdmin] "rules of a packet filter, routes";
        Needed [Nft] "the rules are nftables'";
        Needed [Nftables] "the kernel's side of them";
        Needed [Ip] "the fence is made of routes";
    }
    DEMO {
        Needed [Laboratory] "the program of the laboratory, which has the demonstration";
        Needed [CurlHttp2] "the client that knows of no sidecar";
        Needed [Nghttpd] "the server that knows of no sidecar";
        Wanted [Veth] "hosts joined by virtual cables; without them all runs on loopback";
        Wanted [Capture] "what an eavesdropper sees";
        Wanted [Nft] "the part that leads traffic by rules";
        Wanted [Sctp SidRoot] "`demo --n2`: SCTP of this kernel, or of a guest's";
    }
    IPSEC {
        Needed [Root] "an IKE daemon, addresses, routes";
        Needed [NetAdmin] "SAs and policies";
        Needed [CharonHybrid] "strongSwan that speaks ML-KEM together with X25519";
        Needed [Esp Tun] "an ESP data path: the kernel, or charon through a TUN device";
        Wanted [Esp] "ESP by the kernel, without UDP around it";
        Wanted [Sctp] "E2, N2, F1-C, E1 and Xn-C, which are SCTP";
        Wanted [CharonMlDsa] "authentication that no quantum computer forges";
    }
    IKE_ENGINE {
        Needed [Root] "UDP port 500, addresses, routes";
        Needed [NetAdmin] "SAs and policies, or a device and routes";
        Needed [Esp Tun] "an ESP data path: the kernel, or with `data-path: userspace` a TUN device";
        Wanted [Esp] "ESP by the kernel, in transport mode too";
        Needed [Ip] "what an engine that was killed has left is removed by it";
        Wanted [Nftables] "the guard; without them it is made of XFRM policies";
        Wanted [Sctp] "E2, N2, F1-C, E1 and Xn-C, which are SCTP";
    }
    MACSEC {
        Needed [Root] "devices, keys, packet sockets";
        Needed [NetAdmin] "MACsec devices and their keys";
        Needed [Macsec] "the kernel encrypts the frames";
        Needed [Nft] "the guard at the ports";
        Needed [Nftables] "the kernel's side of the guard";
        Wanted [WpaMacsec] "`keying: mka`";
        Wanted [WpaKeys256] "`keying: mka` with suites of 256 bits";
        Wanted [WpaEapTls] "`keying: eap-tls`";
        Wanted [WpaHybrid] "`keying: eap-tls` with X25519MLKEM768 and ML-DSA-65";
    }
    GUEST {
        Needed [Root] "namespaces for its files";
        Needed [Unshare] "namespaces for its files";
        Needed [SidRoot] "User-Mode Linux, and the programs that make a guest ready";
        Wanted [DebianKernel]
            "a distribution's kernel: nftables together with ESP, two processors, booted in ten seconds";
        Wanted [Qemu] "what the distribution's kernel runs in";
    }
    LAB_ROOT {
        Needed [Root] "unpacking a system with its owners";
        Needed [SysAdmin] "mounts while it is unpacked";
        Needed [Debootstrap] "it unpacks Debian";
        Needed [DebianKeys] "what is unpacked is checked against them";
        Needed [Unshare] "its mounts and processes go with it";
        Wanted [Chroot] "programs that see the root's files only";
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
