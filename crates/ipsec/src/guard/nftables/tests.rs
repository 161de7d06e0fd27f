use super::super::tests::{INNER, deployment};
use super::*;

fn guard(node: &str, link: &str) -> Nftables {
    Nftables::of(&deployment(link), node)
}

#[test]
fn what_the_e2_link_is_for_is_dropped_unprotected_both_ways_and_ike_passes() {
    let guard = guard("cu", INNER);
    let (written, _) = &guard.written[0];
    insta::assert_snapshot!(written.table.script().replace(&written.mark, "MARK"));
}

#[test]
fn a_kernel_that_cannot_tell_whose_an_sa_is_is_asked_for_any_and_tun_devices_pass_for_libipsec_alone() {
    let guard = guard("ric", INNER);
    let scripts: Vec<_> = guard
        .written
        .iter()
        .map(|(written, _)| written.table.script())
        .collect();
    let has = |text: &str| scripts.iter().map(|script| script.contains(text)).collect::<Vec<_>>();
    assert_eq!(has("ipsec out reqid"), [true, false, true, false]);
    assert_eq!(has("rt ipsec exists accept"), [false, true, false, true]);
    assert_eq!(has("meta ipsec exists accept"), [false, true, false, true]);
    assert_eq!(has("oifname \"ipsec*\" accept"), [false, false, true, true]);
    let mut marks: Vec<_> = guard.written.iter().map(|(written, _)| &written.mark).collect();
    marks.dedup();
    assert_eq!(marks.len(), 4);
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
