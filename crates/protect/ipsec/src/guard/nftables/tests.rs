use super::super::tests::{INNER, deployment};
use super::*;

fn guard(node: &str, link: &str) -> Nftables {
    Nftables::of(&deployment(link), node)
}

#[test]
fn what_the_e2_link_is_for_is_dropped_unprotected_in_both_directions_and_ike_passes() {
    let guard = guard("cu", INNER);
    let (written, _) = &guard.written[0];
    insta::assert_snapshot!(written.table.script().replace(&written.mark, "MARK"));
}

#[test]
fn a_kernel_that_cannot_tell_whose_an_sa_is_is_asked_for_any_and_tun_devices_pass_for_who_encrypts_by_them_alone() {
    let guard = guard("ric", INNER);
    let scripts: Vec<_> = guard
        .written
        .iter()
        .map(|(written, _)| written.table.script())
        .collect();
    let has = |text: &str| scripts.iter().map(|script| script.contains(text)).collect::<Vec<_>>();
    assert_eq!(has("ipsec out reqid"), [true, false].repeat(3));
    assert_eq!(has("rt ipsec exists accept"), [false, true].repeat(3));
    assert_eq!(has("meta ipsec exists accept"), [false, true].repeat(3));
    let [no, yes] = [false, true];
    assert_eq!(has("oifname \"ipsec*\" accept"), [no, no, yes, yes, no, no]);
    assert_eq!(has("oifname \"esp-ric\" accept"), [no, no, no, no, yes, yes]);
    assert_eq!(has("iifname \"esp-ric\" accept"), [no, no, no, no, yes, yes]);
    let mut marks: Vec<_> = guard.written.iter().map(|(written, _)| &written.mark).collect();
    marks.dedup();
    assert_eq!(marks.len(), 6);
}

#[test]
fn behind_nat_ike_passes_to_the_address_that_the_peer_is_reached_at_and_from_nowhere_for_a_hidden_one() {
    let link = "selectors: [{ protocol: any }], external: { cu: any, ric: 203.0.113.7 }";
    let script = |node| guard(node, link).written[0].0.table.script();
    let cu = script("cu");
    for rule in [
        "    ip saddr 10.0.0.1/32 ip daddr 203.0.113.7/32 udp sport { 500, 4500 } accept",
        "    ip saddr 203.0.113.7/32 ip daddr 10.0.0.1/32 udp dport { 500, 4500 } accept",
        "    ip saddr 10.0.0.1/32 ip daddr 10.0.0.2/32 goto leaving-ric-E2",
    ] {
        assert!(cu.contains(rule), "{rule}: {cu}");
    }
    // The RIC's packets to a NAT's address match no traffic of the link, and so are not asked
    // about.
    let ric = script("ric");
    assert!(
        !ric.contains("udp sport") && ric.contains("goto leaving-cu-E2"),
        "{ric}"
    );
}

#[test]
fn both_families_and_networks_within_networks_make_sets_that_the_kernel_takes() {
    let many = "inner: { cu: [10.78.0.0/16, 10.78.1.1, 'fd00::1'], ric: [10.79.0.1, 10.79.0.1, 'fd00::2', 'fd00::3'] }, selectors: [{ protocol: any }]";
    let script = guard("ric", many).written[0].0.table.script();
    for rule in [
        "    ip saddr 10.79.0.1/32 ip daddr 10.78.0.0/16 goto leaving-cu-E2",
        "    ip6 saddr { fd00::2/128, fd00::3/128 } ip6 daddr fd00::1/128 goto leaving-cu-E2",
        "    ct direction original ct original ip6 saddr { fd00::2/128, fd00::3/128 } ct original ip6 daddr fd00::1/128 goto translated-cu-E2",
    ] {
        assert!(script.contains(rule), "{rule}: {script}");
    }
}
