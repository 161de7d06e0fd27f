//! SAs in the sections by which charon reports them.

use std::net::IpAddr;
use std::time::Instant;

use bartizan_esp::SequenceNumbers;
use bartizan_ike::{Mode, Selector};
use bartizan_registry::{TransformKind, transform};
use bartizan_wire::ike::Transform;

use crate::association::{ChildSa, Sa};
use crate::connection::Connection;
use bartizan_ipsec::vici::Section;
use bartizan_ipsec::xfrm::Counted;

/// An IKE_SA without its CHILD_SAs. It has no connection before its peer is authenticated.
pub(crate) fn ike(sa: &Sa, connection: Option<&Connection>, now: Instant) -> Section {
    let [own, peer] = connection.map_or(["%any"; 2], |known| known.identities.each_ref().map(String::as_str));
    let mut section = Section::new()
        .with("uniqueid", sa.number.to_string())
        .with("version", "2")
        .with("state", sa.state())
        .with("local-host", sa.ends.local.ip().to_string())
        .with("local-port", sa.ends.local.port().to_string())
        .with("local-id", own)
        .with("remote-host", sa.ends.remote.ip().to_string())
        .with("remote-port", sa.ends.remote.port().to_string())
        .with("remote-id", peer)
        .with("initiator-spi", format!("{:016x}", sa.spis.0))
        .with("responder-spi", format!("{:016x}", sa.spis.1));
    if sa.initiator {
        section.set("initiator", "yes");
    }
    if let Some(agreed) = &sa.agreed {
        algorithms(&mut section, &agreed.transforms);
        if agreed.ppk {
            section.set("ppk", "yes");
        }
    }
    if let Some(since) = sa.established {
        section.set(
            "established",
            now.saturating_duration_since(since).as_secs().to_string(),
        );
    }
    section
}

/// The same of a CHILD_SA; counters are of what it receives and sends.
pub(crate) fn child(child: &ChildSa, name: &str, counted: [Option<Counted>; 2], now: Instant) -> Section {
    let mode = match child.mode {
        Mode::Tunnel => "TUNNEL",
        Mode::Transport => "TRANSPORT",
    };
    let yes_no = |is: bool| if is { "yes" } else { "no" };
    let state = match (child.superseded, child.lost) {
        (true, _) => "REKEYED",
        (false, Some(_)) => "DELETED",
        (false, None) => "INSTALLED",
    };
    let mut section = Section::new()
        .with("name", name)
        .with("uniqueid", child.number.to_string())
        .with("state", state)
        .with("mode", mode)
        .with("protocol", "ESP")
        .with("encap", yes_no(child.in_udp))
        .with("spi-in", format!("{:08x}", child.inbound))
        .with("spi-out", format!("{:08x}", child.outbound))
        .with("esn", yes_no(child.numbers == SequenceNumbers::Extended));
    algorithms(&mut section, &child.transforms);
    let [received, sent] = counted;
    for (bytes, packets, of) in [("bytes-in", "packets-in", received), ("bytes-out", "packets-out", sent)] {
        let of = of.map_or((0, 0), |of| (of.bytes, of.packets));
        section.set(bytes, of.0.to_string());
        section.set(packets, of.1.to_string());
    }
    let age = now.saturating_duration_since(child.installed).as_secs();
    section
        .with("install-time", age.to_string())
        .with_list("local-ts", child.local.iter().map(selector))
        .with_list("remote-ts", child.remote.iter().map(selector))
}

fn algorithms(section: &mut Section, transforms: &[Transform]) {
    for one in transforms {
        let Some(kind) = TransformKind::of(one.kind) else {
            continue;
        };
        let Some(known) = transform(kind, one.id) else {
            continue;
        };
        match kind {
            TransformKind::Encryption => {
                section.set("encr-alg", known.name);
                if let Some(bits) = one.key_length {
                    section.set("encr-keysize", bits.to_string());
                }
            }
            TransformKind::Integrity => section.set("integ-alg", known.name),
            TransformKind::PseudoRandomFunction => section.set("prf-alg", known.name),
            TransformKind::KeyExchange if one.id == 0 => {}
            TransformKind::KeyExchange if one.is_additional() => {
                let place = one.kind - Transform::ADDITIONAL_KE.start() + 1;
                section.set(format!("ake{place}"), known.name);
            }
            TransformKind::KeyExchange => section.set("dh-group", known.name),
            TransformKind::SequenceNumbers => {}
        }
    }
}

/// As charon prints one: `10.78.1.1/32[132/36421]`.
pub(crate) fn selector(selector: &Selector) -> String {
    let (first, last) = selector.addresses;
    let bits = match (first, last) {
        (IpAddr::V4(first), IpAddr::V4(last)) => prefix(u128::from(first.to_bits()), u128::from(last.to_bits()), 32),
        (IpAddr::V6(first), IpAddr::V6(last)) => prefix(first.to_bits(), last.to_bits(), 128),
        _ => None,
    };
    let addresses = match bits {
        Some(bits) => format!("{first}/{bits}"),
        None => format!("{first}..{last}"),
    };
    match (selector.protocol, selector.ports) {
        (0, (0, u16::MAX)) => addresses,
        (protocol, (0, u16::MAX)) => format!("{addresses}[{protocol}]"),
        (protocol, (one, other)) if one == other => format!("{addresses}[{protocol}/{one}]"),
        (protocol, (one, other)) => format!("{addresses}[{protocol}/{one}-{other}]"),
    }
}

/// Prefix length, of `width` bits, of the network from the first to the last address. None if they
/// are no network.
fn prefix(first: u128, last: u128, width: u32) -> Option<u32> {
    let open = first ^ last;
    let is_network = open.checked_add(1).is_none_or(u128::is_power_of_two) && first & open == 0;
    is_network.then(|| width - (u128::BITS - open.leading_zeros()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bartizan_ipsec::TrafficSelector;

    #[test]
    fn a_selector_is_printed_as_it_is_written_and_read_again() {
        for text in [
            "10.78.1.1/32[132/36421]",
            "10.78.0.0/16[17]",
            "10.0.0.0/8",
            "0.0.0.0/0",
            "fd00::/64[132/38412]",
            "::/0",
            "10.0.0.1..10.0.0.2[17/1-9]",
        ] {
            let read = TrafficSelector::parse(text).expect(text).negotiated();
            assert_eq!(selector(&read), text);
        }
    }
}
