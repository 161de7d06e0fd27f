use super::super::tests::{INNER, deployment};
use super::*;

fn guard(node: &str, link: &str) -> Xfrm {
    Xfrm::of(&deployment(link), node)
}

fn lines(guard: &Xfrm) -> String {
    let lines = guard.ranks.iter().flat_map(|rank| {
        let policies = rank.policies.iter();
        policies.map(move |policy| format!("{policy} {}\n", policy.with_priority(rank.priority)))
    });
    lines.collect()
}

#[test]
fn what_the_e2_link_is_for_is_blocked_in_both_directions_whatever_its_mark() {
    insta::assert_snapshot!(lines(&guard("cu", INNER)));
}

#[test]
fn neighbours_are_found_where_all_of_ipv6_is_for_the_link_and_not_blocked_before() {
    let link = "inner: { cu: ['fd00::1', 10.78.1.1], ric: ['fd00::2', 10.78.1.2] }, selectors: [{ protocol: any }]";
    let guard = guard("ric", link);
    let [passed, dropped] = &guard.ranks;
    assert!(passed.priority < dropped.priority);
    // Three directions, four messages, two marks; the other way round of three directions and two families.
    assert_eq!((passed.policies.len(), dropped.policies.len()), (3 * 4 * 2, 3 * 2 * 2));
    let text = lines(&guard);
    assert!(
        text.contains("src fd00::2/128 dst fd00::1/128 proto 58 type 135 dir out"),
        "{text}"
    );
    assert!(!text.contains("src 10.78.1.1/32 dst fd00"), "{text}");
}

/// As iproute2 6.1 prints it, by a host with and one without /etc/protocols.
#[test]
fn what_is_listed_is_what_was_added() {
    for (protocol, icmp) in [("sctp", "ipv6-icmp"), ("132", "58")] {
        let listed = Policy::listed(&format!(
            "src 10.78.1.1/32 dst 10.78.2.0/24 proto {protocol} dport 36421 \n\tdir out priority 1 ptype main \n\
             \tmark 0/0x80000000 \n\ttmpl src 0.0.0.0 dst 0.0.0.0\n\t\tproto comp reqid 1 mode transport\n\
             src fd00::2/128 dst fd00:0::1/128 proto {icmp} type 135 \n\tdir in priority 1 ptype main \n\
             \tmark 0x80000000/0x80000000 \n\
             src 10.78.2.0/24 dst 10.78.1.1/32 proto {protocol} sport 36421 \n\tdir in action block priority 1 ptype main \n\
             \tmark 0/0x80000000 \n\
             src 0.0.0.0/0 dst 0.0.0.0/0 \n\tsocket in priority 0 ptype main \n\
             src 10.78.1.1/32 dst 10.78.2.0/24 \n\tdir out priority 1 ptype main \n"
        ));
        let shown: Vec<_> = listed.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "src 10.78.1.1/32 dst 10.78.2.0/24 proto 132 dport 36421 dir out mark 0x0 mask 0x80000000",
                "src fd00::2/128 dst fd00::1/128 proto 58 type 135 dir in mark 0x80000000 mask 0x80000000",
                "src 10.78.2.0/24 dst 10.78.1.1/32 proto 132 sport 36421 dir in mark 0x0 mask 0x80000000",
            ]
        );
        let guard = guard("cu", INNER);
        let ours = listed.iter().map(|policy| guard.ranks[1].policies.contains(policy));
        assert_eq!(ours.collect::<Vec<_>>(), [true, false, true]);
    }
}

#[test]
fn the_number_of_a_name_stays_the_same_and_counts_are_read_by_name() {
    let numbers = ["", "cu", "ric"].map(number);
    assert_eq!(numbers, [0x011c_9dc1, 0x0c29_8167, 0x0812_a0f7]);
    let counts = "XfrmInError             \t0\nXfrmInPolBlock          \t3\nXfrmOutNoStates         \t12\n";
    let expected = Dropped {
        leaving: Some(12),
        arriving: Some(3),
        links: Vec::new(),
    };
    assert_eq!(dropped(counts), expected);
    assert_eq!(dropped(""), Dropped::default());
}
