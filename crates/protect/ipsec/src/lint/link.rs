//! Requirements of a link beyond the abilities of one charon.

use bartizan_deployment::{IkeEngine, Interface, IpsecLink, KeyExchange, Mode, Selector, TrafficProtocol};
use bartizan_registry::{Safety, signature};
use time::Date;

use super::ability::{self, MAX_PACKET};
use super::{Classical, Protocol, Remark, Severity, proposals};
use crate::Charon;
use crate::proposal;

/// Flaws of a link of the file, before this charon receives it.
#[must_use]
pub fn link(interface: &Interface, link: &IpsecLink, charon: &Charon, today: Date) -> Vec<Remark> {
    let [one, other] = &interface.between;
    let about = format!("{} {one} -- {other}", interface.kind.name());
    let policy = interface.policy.in_effect(today).ipsec;
    let classical = if interface.policy.admits_classical(today) {
        Classical::Admitted
    } else {
        Classical::Refused
    };
    let mut remarks = Vec::new();
    let means = charon.means();
    for (protocol, texts) in [
        (Protocol::Ike, proposal::ike(&policy)),
        (
            Protocol::Esp,
            proposal::esp(
                &policy,
                link.extended_sequence_numbers && means.extended_sequence_numbers,
            ),
        ),
    ] {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        remarks.extend(proposals(protocol, &texts, classical));
    }
    let mut say = |severity, cause: String, hint: &str| remarks.push(Remark::new(severity, &about, cause, hint));
    for exchange in &policy.key_exchanges {
        of_exchange(exchange, link, charon, &mut say);
    }
    for algorithm in policy.ciphers.iter().chain(&policy.prfs) {
        if let Some((cause, hint)) = ability::lacks(charon, *algorithm) {
            say(Severity::Refused, cause, hint);
        }
    }
    let classical_scheme = |code: &_| signature(*code).is_none_or(|known| known.forgery != Safety::QuantumSafe);
    if charon.engine == IkeEngine::Strongswan && !policy.signatures.iter().any(classical_scheme) {
        say(
            Severity::Refused,
            format!(
                "asks for post-quantum signatures, and strongSwan {} has none",
                charon.version
            ),
            "write `engine: bartizan` for both nodes, or `ipsec: { authentication: classical-accepted }` in the policy",
        );
    }
    if charon.has_libipsec() && link.mode == Mode::Transport {
        let cause = "asks for transport mode, and kernel-libipsec has tunnel mode alone".to_owned();
        say(
            Severity::Refused,
            cause,
            "write `mode: tunnel`, or use a kernel with ESP",
        );
    }
    if charon.has_libipsec() && link.extended_sequence_numbers {
        let cause = "asks for sequence numbers of 64 bits, and kernel-libipsec counts 32".to_owned();
        say(
            Severity::Noted,
            cause,
            "the link is loaded without, and rekeyed before they end; a kernel with ESP has them",
        );
    }
    let with_port = |selector: &Selector| selector.protocol == TrafficProtocol::Sctp && selector.port.is_some();
    if !means.sctp_ports && link.selectors.iter().any(with_port) {
        let cause = "is for one port of SCTP, and kernel-libipsec does not find SCTP's ports".to_owned();
        say(
            Severity::Noted,
            cause,
            "the link is loaded for all of SCTP between its addresses; it carries nothing where the peer's charon narrows it to the \
             port, as one with a kernel's ESP does",
        );
    }
    remarks
}

fn of_exchange(
    exchange: &KeyExchange,
    link: &IpsecLink,
    charon: &Charon,
    say: &mut impl FnMut(Severity, String, &str),
) {
    if exchange.methods().len() > 1
        && let Some((cause, hint)) = ability::lacks_additional(charon)
    {
        say(Severity::Refused, format!("asks for {exchange}, and {cause}"), hint);
    }
    for method in exchange.methods() {
        if let Some((cause, hint)) = ability::lacks(charon, *method) {
            say(Severity::Refused, format!("asks for {exchange}, and {cause}"), hint);
        }
    }
    let largest = exchange
        .methods()
        .iter()
        .filter_map(|method| method.known().initiator)
        .max();
    if charon.engine == IkeEngine::Strongswan && largest.is_some_and(|octets| octets > MAX_PACKET) {
        let cause = format!("{exchange} makes messages of more than {MAX_PACKET} octets, which charon drops");
        say(
            Severity::Noted,
            cause,
            "set `max_packet = 30000` in strongswan.conf at both ends",
        );
    }
    if let Some(octets) = link
        .least_init(exchange)
        .filter(|octets| *octets > usize::from(link.mtu))
    {
        let cause = format!(
            "IKE_SA_INIT with {exchange} takes {octets} octets or more, and a packet has {}: IP fragments it",
            link.mtu
        );
        say(
            Severity::Noted,
            cause,
            "IKE cannot fragment its first message (RFC 7383): begin with a small exchange, as in ecp384-ke1_mlkem1024",
        );
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bartizan_deployment::Deployment;
    use time::macros::date;

    use super::*;
    use crate::vici::Section;

    /// A charon of this version with these key exchanges and what else it has.
    fn charon(version: &str, exchanges: &[&str], plugins: &[&str]) -> Charon {
        let all = |names: &[&str]| {
            names
                .iter()
                .fold(Section::new(), |all, name| all.with(*name, "openssl"))
        };
        let algorithms = Section::new()
            .with_section("ke", all(exchanges))
            .with_section("aead", all(&["AES_GCM_16", "CHACHA20_POLY1305"]))
            .with_section("encryption", all(&["AES_CBC"]))
            .with_section("integrity", all(&["HMAC_SHA2_384_192"]))
            .with_section("prf", all(&["PRF_HMAC_SHA2_384"]));
        let version = Section::new().with("daemon", "charon-systemd").with("version", version);
        let stats = Section::new().with_list("plugins", plugins);
        Charon::of(&version, &stats, &algorithms)
    }

    fn said(policy: &str, settings: &str, charon: &Charon) -> Vec<String> {
        let text = format!(
            "policy: {policy}\nnodes:\n  cu: {{ function: O-CU-CP, address: 10.0.0.1 }}\n  ric: {{ function: near-RT RIC, address: 10.0.0.2 }}\n\
             interfaces:\n  - {{ kind: E2, between: [cu, ric], with: ipsec, ipsec: {{ {settings} }} }}\n"
        );
        let deployment = Deployment::parse(&text, "e2.yaml", Path::new("/")).expect("a deployment");
        let interface = &deployment.interfaces()[0];
        let remarks = link(
            interface,
            interface.ipsec.as_ref().unwrap(),
            charon,
            date!(2026 - 11 - 21),
        );
        let noted = |remark: &Remark| format!("{:?} {}", remark.severity, remark.cause);
        remarks.iter().map(noted).collect()
    }

    const SID: [&str; 5] = ["CURVE_25519", "ECP_256", "ECP_384", "ML_KEM_768", "ML_KEM_1024"];

    #[test]
    fn the_default_link_suits_the_release_that_has_ml_kem() {
        assert_eq!(
            said("hybrid", "", &charon("6.1.0", &SID, &["kernel-netlink"])),
            Vec::<String>::new()
        );
    }

    #[test]
    fn what_a_release_lacks_is_reported_before_anything_is_loaded() {
        let trixie = charon("6.0.1", &["CURVE_25519", "ECP_384"], &["kernel-netlink"]);
        let lacks = "asks for x25519-ke1_mlkem768, and no plugin that strongSwan 6.0.1 has loaded knows mlkem768";
        assert_eq!(said("hybrid", "", &trixie), [format!("Refused {lacks}")]);
        let old = charon("5.9.14", &SID, &["kernel-netlink"]);
        let unknown = "asks for x25519-ke1_mlkem768, and strongSwan 5.9.14 knows no additional key exchanges";
        assert_eq!(said("hybrid", "", &old), [format!("Refused {unknown}")]);
        let sid = charon("6.1.0", &SID, &["kernel-netlink"]);
        let signatures = "asks for post-quantum signatures, and strongSwan 6.1.0 has none";
        let strict = "{ ipsec: { authentication: post-quantum } }";
        assert_eq!(said(strict, "", &sid), [format!("Refused {signatures}")]);
        let frodo = said("{ ipsec: { key-exchanges: [x25519-ke1_frodoa3] } }", "", &sid);
        assert_eq!(
            frodo,
            [
                "Refused asks for x25519-ke1_frodoa3, and no plugin that strongSwan 6.1.0 has loaded knows frodoa3",
                "Noted x25519-ke1_frodoa3 makes messages of more than 10000 octets, which charon drops"
            ]
        );
        let cipher = said("{ ipsec: { ciphers: [aes256ctr] } }", "", &sid);
        assert_eq!(
            cipher,
            ["Refused no plugin that strongSwan 6.1.0 has loaded knows aes256ctr"]
        );
    }

    #[test]
    fn a_first_message_of_ip_fragments_is_reported_and_one_that_begins_small_is_none() {
        let sid = charon("6.1.0", &SID, &["kernel-netlink"]);
        let policy = |exchange: &str| format!("{{ ipsec: {{ key-exchanges: [{exchange}] }} }}");
        let alone = said(&policy("mlkem1024"), "", &sid);
        assert_eq!(
            alone,
            ["Noted IKE_SA_INIT with mlkem1024 takes 1688 octets or more, and a packet has 1500: IP fragments it"]
        );
        assert_eq!(said(&policy("ecp384-ke1_mlkem1024"), "", &sid), Vec::<String>::new());
        assert_eq!(said(&policy("mlkem1024"), "mtu: 9000", &sid), Vec::<String>::new());
    }

    #[test]
    fn what_kernel_libipsec_cannot_do_is_reported() {
        let libipsec = charon("6.1.0", &SID, &["kernel-libipsec", "kernel-netlink"]);
        let port = "Noted is for one port of SCTP, and kernel-libipsec does not find SCTP's ports";
        assert_eq!(said("hybrid", "esn: false", &libipsec), [port]);
        let whole = "esn: false, selectors: [{ protocol: sctp }]";
        assert_eq!(said("hybrid", whole, &libipsec), Vec::<String>::new());
        assert_eq!(
            said("hybrid", "mode: transport", &libipsec),
            [
                "Refused asks for transport mode, and kernel-libipsec has tunnel mode alone",
                "Noted asks for sequence numbers of 64 bits, and kernel-libipsec counts 32",
                port
            ]
        );
    }

    #[test]
    fn an_exception_is_reported_while_it_holds() {
        let sid = charon("6.1.0", &SID, &["kernel-netlink"]);
        let policy = |expires| format!("{{ profile: transition, reason: r, expires: {expires} }}");
        assert_eq!(said(&policy("2026-11-20"), "", &sid), Vec::<String>::new());
        let during = said(&policy("2026-11-21"), "", &sid);
        // x25519, ecp256 and ecp384, for IKE and for ESP.
        assert_eq!(during.len(), 6, "{during:?}");
        assert!(
            during
                .iter()
                .all(|remark| remark.starts_with("Noted a peer can choose ")),
            "{during:?}"
        );
    }
}
