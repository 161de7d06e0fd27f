use super::super::tests::{INNER, deployment};
use super::*;

fn guard(node: &str, link: &str) -> Nftables {
    Nftables::of(&deployment(link), node)
}

#[test]
fn what_the_e2_link_is_for_is_dropped_in_clear_both_ways_and_ike_passes() {
    let guard = guard("cu", INNER);
    insta::assert_snapshot!(guard.script.replace(&guard.mark, "MARK"));
}

#[test]
fn both_families_and_networks_within_networks_make_sets_that_the_kernel_takes() {
    let many = "inner: { cu: [10.78.0.0/16, 10.78.1.1, 'fd00::1'], ric: [10.79.0.1, 10.79.0.1, 'fd00::2', 'fd00::3'] }, selectors: [{ protocol: any }]";
    let script = guard("ric", many).script;
    assert!(
        script.contains("ip saddr 10.79.0.1/32 ip daddr 10.78.0.0/16 counter"),
        "{script}"
    );
    assert!(
        script.contains("ip6 saddr { fd00::2/128, fd00::3/128 } ip6 daddr fd00::1/128 counter"),
        "{script}"
    );
}

/// As nftables 1.0.6 prints it.
fn listing(guard: &Nftables) -> String {
    let rule = format!(
        "\t\tip saddr 10.78.1.1 ip daddr 10.78.2.0/24 sctp dport 36421 counter name \"leaving\" drop comment \"{}\"\n",
        guard.mark
    );
    format!(
        "table inet bartizan-ipsec-cu {{\n\tcounter leaving {{\n\t\tpackets 7 bytes 420\n\t}}\n\n\tcounter arriving {{\n\
         \t\tpackets 2 bytes 120\n\t}}\n\n\tchain leaving {{\n{}\t}}\n}}\n",
        rule.repeat(guard.drops)
    )
}

#[test]
fn rules_that_were_taken_out_or_written_from_another_file_are_not_in_force() {
    let ours = guard("cu", INNER);
    let listed = listing(&ours);
    let dropped = Dropped {
        leaving: Some(7),
        arriving: Some(2),
    };
    assert_eq!(ours.read(&listed), Standing::InForce(By::Nftables, dropped));
    let (first, rest) = listed.split_once("drop comment").expect("a rule");
    assert_eq!(ours.read(&format!("{first}accept comment{rest}")), Standing::Other);
    assert_eq!(ours.read(&listing(&guard("cu", "mtu: 1400"))), Standing::Other);
    assert_eq!(ours.read(""), Standing::Other);
}
