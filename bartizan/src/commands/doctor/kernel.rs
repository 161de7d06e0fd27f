//! Abilities of this kernel, as `host` determines by trial.

use bartizan_host::{Feature, Support};

use super::thing::{Examined, Presence, Thing};

/// Thing, name for a reader, the kernel's option that builds it in or as a module.
fn row(feature: Feature) -> (Thing, &'static str, &'static str) {
    match feature {
        Feature::Sctp => (Thing::Sctp, "SCTP", "CONFIG_IP_SCTP"),
        Feature::Esp => (
            Thing::Esp,
            "ESP (XFRM) with AES-GCM",
            "CONFIG_INET_ESP, CONFIG_XFRM_USER",
        ),
        Feature::Macsec => (Thing::Macsec, "MACsec", "CONFIG_MACSEC"),
        Feature::Netem => (Thing::Netem, "delay and loss (netem)", "CONFIG_NET_SCH_NETEM"),
        Feature::Veth => (Thing::VethDevice, "virtual Ethernet", "CONFIG_VETH"),
        Feature::Tun => (Thing::Tun, "TUN devices", "CONFIG_TUN"),
        Feature::KernelTls => (Thing::KernelTls, "TLS in the kernel", "CONFIG_TLS"),
        Feature::Nftables => (
            Thing::Nftables,
            "nftables with NAT",
            "CONFIG_NF_TABLES_INET, CONFIG_NFT_NAT",
        ),
        Feature::AfXdp => (Thing::AfXdp, "AF_XDP sockets", "CONFIG_XDP_SOCKETS"),
    }
}

/// Maps a thing to the kernel feature behind [`examine`], if it is one.
pub(super) fn feature_of(thing: Thing) -> Option<Feature> {
    Feature::ALL.into_iter().find(|&feature| row(feature).0 == thing)
}

/// Tries each of these.
pub(super) fn examine(features: impl Iterator<Item = Feature>) -> Vec<Examined> {
    features.map(tried).collect()
}

fn tried(feature: Feature) -> Examined {
    let (thing, name, option) = row(feature);
    // The guest is for what has no business on the host: a redirect, a sidecar and a TUN device are wanted on this machine itself.
    let in_guest = matches!(feature, Feature::Sctp | Feature::Esp | Feature::Macsec | Feature::Netem);
    let guest = if in_guest {
        "; experiments run it in a guest: --kernel guest"
    } else {
        ""
    };
    let presence = match feature.try_now() {
        Support::Present => Presence::present(),
        Support::Absent(reason) => Presence::absent(reason, format!("a kernel with {option}{guest}")),
        Support::Unknown(reason) => Presence::unknown(reason, "ask as root, with iproute2 and nftables installed"),
    };
    Examined::new(thing, name, presence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_of_a_kernel_is_a_thing_of_its_own() {
        for feature in Feature::ALL {
            assert_eq!(feature_of(row(feature).0), Some(feature));
        }
    }
}
