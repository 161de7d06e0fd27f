//! Connections as both IKE daemons are configured with them: everything of one stands in networks of its number.

use std::net::Ipv4Addr;

use bartizan_deployment::IkeEngine;
use bartizan_ipsec::vici::Section;

use super::Papers;
use crate::Error;

/// The name of a connection.
pub(crate) fn connection(number: u8) -> String {
    format!("c{number}")
}

/// The name of a CHILD_SA of it.
pub(crate) fn child(which: &str, number: u8) -> String {
    format!("{which}{number}")
}

/// The address that a connection's first CHILD_SA protects at an end.
pub(crate) fn inner(number: u8, end: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 78, number, if end == 0 { 1 } else { 2 })
}

/// Cipher of an IKE_SA, and of a CHILD_SA where nothing else is asked for.
const CIPHER: &str = "aes256gcm16";

/// `load-conn` at one of the ends.
pub(crate) fn described(
    engine: IkeEngine,
    place: (u8, usize),
    ike: &str,
    children: &[&str],
    papers: &Papers,
) -> Result<Section, Error> {
    described_with(CIPHER, engine, place, ike, children, papers)
}

/// The same with these algorithms of ESP.
pub(crate) fn described_with(
    esp: &str,
    engine: IkeEngine,
    (number, end): (u8, usize),
    ike: &str,
    children: &[&str],
    papers: &Papers,
) -> Result<Section, Error> {
    let other = 1 - end;
    let address = |network: u8, end: usize| format!("10.{network}.{number}.{}", end + 1);
    let party = |end: usize| Section::new().with("auth", "pubkey").with("id", papers.identity(end));
    let proposal = |key_exchange: &&str| match *key_exchange {
        "" => esp.to_owned(),
        key_exchange => format!("{esp}-{key_exchange}"),
    };
    let child_sa = |network: u8| {
        Section::new()
            .with("mode", "tunnel")
            .with_list("local_ts", [format!("{}/32", address(network, end))])
            .with_list("remote_ts", [format!("{}/32", address(network, other))])
            .with_list("esp_proposals", children.iter().map(proposal))
            .with("rekey_time", "0")
    };
    // charon takes numbers for the kernel by itself.
    let child_sa = |network: u8| match engine {
        IkeEngine::Strongswan => child_sa(network),
        IkeEngine::Bartizan => {
            child_sa(network).with("reqid", (2 * u32::from(number) + u32::from(network % 2)).to_string())
        }
    };
    let both = Section::new()
        .with_section(child("first", number), child_sa(78))
        .with_section(child("second", number), child_sa(79));
    let (own, peer) = match engine {
        IkeEngine::Strongswan => (party(end), party(other)),
        IkeEngine::Bartizan => {
            let [certificate, authority] = papers.der(end)?;
            let own = party(end).with_list("certs", [certificate]);
            let peer = party(other)
                .with_list("cacerts", [authority])
                .with_list("signatures", [papers.signature()]);
            (own, peer)
        }
    };
    Ok(Section::new()
        .with("version", "2")
        .with("mobike", "no")
        .with_list("local_addrs", [address(77, end)])
        .with_list("remote_addrs", [address(77, other)])
        .with_list("proposals", [format!("{CIPHER}-prfsha384-{ike}")])
        .with("send_cert", "always")
        .with_section("local", own)
        .with_section("remote", peer)
        .with_section("children", both)
        // Rekeys are asked for here, none comes by itself.
        .with("rekey_time", "0")
        .with("dpd_delay", "0"))
}
