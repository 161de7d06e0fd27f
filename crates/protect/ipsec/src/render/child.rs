//! The CHILD_SAs of a link.

use bartizan_deployment::{CopyDscp, IkeEngine, Interface, IpsecLink, Mode, Start};
use time::Date;

use super::{Means, seconds};
use crate::proposal;
use crate::reqid;
use crate::traffic;
use crate::vici::Section;
use crate::xfrm::policy;

/// Packets after which an SA with sequence numbers of 32 bits is rekeyed at the latest (RFC 4303, section 3.3.3).
const PACKETS_OF_32_BITS: u64 = 1 << 31;

/// Remaining part of a CHILD_SA's life when its rekey begins, as a divisor: a tenth, as in
/// strongSwan for time.
const LEFT_FOR_REKEY: u64 = 10;

/// Each child of a link with its name, seen from `node`.
pub(super) fn children(
    node: &str,
    interface: &Interface,
    link: &IpsecLink,
    means: Means,
    today: Date,
) -> Vec<(String, Section)> {
    let common = common(node, interface, link, means, today);
    let pairs = traffic::pairs(node, link);
    let named = pairs.iter().enumerate();
    let children = named.map(|(index, pair)| {
        let [here, there] = pair;
        // Both ends count alike, so that the names are the same.
        let name = match index {
            0 => interface.kind.name().to_owned(),
            more => format!("{}-{}", interface.kind.name(), more + 1),
        };
        let selectors = Section::new()
            .with_list("local_ts", here.texts(means))
            .with_list("remote_ts", there.texts(means));
        let mut child = common.clone();
        // The guard knows a link's packets by it.
        child.set("reqid", reqid::of(interface, index).to_string());
        // charon would give both the same, and which comes first would be that which was set up first.
        if means.engine == IkeEngine::Strongswan && pairs.iter().any(|other| traffic::are_crossed(pair, other)) {
            let [local, remote] = [here, there].map(|end| end.selectors(means));
            child.set("priority", policy::priority_of(&local, &remote).to_string());
        }
        for (name, value) in selectors.entries() {
            child.push(name, value.clone());
        }
        (name, child)
    });
    children.collect()
}

/// Common settings of all children of a link.
fn common(node: &str, interface: &Interface, link: &IpsecLink, means: Means, today: Date) -> Section {
    let policy = interface.policy.in_effect(today).ipsec;
    let long_numbers = link.extended_sequence_numbers && means.extended_sequence_numbers;
    let packets = match link.lifetimes.child_packets {
        None if !long_numbers => Some(PACKETS_OF_32_BITS),
        Some(packets) if !long_numbers => Some(packets.min(PACKETS_OF_32_BITS)),
        packets => packets,
    };
    let peer = link.ends_from(node).map(|(_, there)| there.reached_at());
    // Traps stay installed: a packet that finds no SA waits for one and is never sent unencrypted. charon has none for a peer whose address it
    // does not know; what finds no SA is the guard's alone there.
    let (trap, again, lost) = match link.start {
        _ if peer == Some(None) => ("none", "none", "clear"),
        // The engine of Bartizan has its policies in the kernel whatever it is asked to do with what they catch.
        Start::AtOnce if means.engine == IkeEngine::Bartizan => match link.initiator.as_str() == node {
            true => ("none", "start", "start"),
            false => ("none", "trap", "trap"),
        },
        Start::AtOnce if link.initiator.as_str() == node => ("trap", "start", "start"),
        _ => ("trap", "trap", "trap"),
    };
    let mut child = Section::new()
        .with("mode", link.mode.name())
        .with_list("esp_proposals", proposal::esp(&policy, long_numbers))
        .with("start_action", trap)
        .with("close_action", again)
        .with("dpd_action", lost)
        .with("replay_window", link.replay_window.to_string())
        .with("rekey_time", seconds(link.lifetimes.child));
    for (rekey, life, value) in [
        ("rekey_bytes", "life_bytes", link.lifetimes.child_bytes),
        ("rekey_packets", "life_packets", packets),
    ] {
        if let Some(value) = value {
            child.set(rekey, value.to_string());
            child.set(life, value.saturating_add(value / LEFT_FOR_REKEY).to_string());
        }
    }
    if link.mode == Mode::Tunnel {
        let copied = match link.copy_dscp {
            CopyDscp::Out => "out",
            CopyDscp::In => "in",
            CopyDscp::Both => "yes",
            CopyDscp::Neither => "no",
        };
        child.set("copy_dscp", copied);
    }
    child
}
