//! Workloads whose link two charons key, one short trial of each; no time is judged.

use std::collections::BTreeMap;

use super::*;

mod as_root {

    use super::*;
    use crate::workload::{Kind, Observation};

    const HYBRID: &str = "ike-x25519-ke1_mlkem768";

    /// The test runs itself again in a guest, whose kernel has SCTP and ESP.
    #[test]
    fn workloads_run_over_a_link_that_charons_key() {
        if !bartizan_testing::in_a_guest(&[]) {
            inside();
        }
    }

    fn inside() {
        an_exchange_whose_first_packet_sets_the_sa_up();
        a_start_up_waits_for_its_sa();
        rekeys_of_both_ends_collide_and_stay_hybrid();
        every_cipher_of_a_published_table_encrypts_and_is_set_up();
        datagrams_go_under_load_by_this_program_and_by_sockperf();
    }

    /// Those of Otero-García et al. 2025: AES of three lengths with SHA-2 of three.
    fn every_cipher_of_a_published_table_encrypts_and_is_set_up() {
        let names: Vec<String> = [128, 192, 256]
            .iter()
            .flat_map(|bits| [256, 384, 512].map(|hash| format!("aes{bits}-cbc-sha{hash}")))
            .chain(["aes192-gcm".to_owned(), "aes192-ccm".to_owned()])
            .collect();
        let levels: Vec<[(&str, &str); 2]> = names
            .iter()
            .map(|name| [("protection", name.as_str()), ("transport", "udp")])
            .collect();
        let levels: Vec<&[(&str, &str)]> = levels.iter().map(<[_; 2]>::as_slice).collect();
        for one in trials(&ECHO, &[("messages", 3)], &levels) {
            assert_eq!(one.values["half-round-trip"].len(), 3);
        }
        for one in trials(&CIPHER, &[("packets", 3)], &levels) {
            assert_eq!(one.values["encryption"].len(), 3);
        }
    }

    fn datagrams_go_under_load_by_this_program_and_by_sockperf() {
        let levels: [&[(&str, &str)]; 4] = [
            &[("protection", "aes256-gcm"), ("rate", "1000")],
            &[("protection", "none"), ("mode", "ping-pong")],
            &[("protection", "aes256-gcm"), ("rate", "1000"), ("program", "sockperf")],
            &[("protection", "none"), ("mode", "ping-pong"), ("program", "sockperf")],
        ];
        for (number, one) in trials(&UNDER_LOAD, &[], &levels).iter().enumerate() {
            for metric in ["latency", "mean", "lost", "sent"] {
                assert!(!one.values[metric].is_empty(), "{number}: {metric}");
            }
            assert_eq!(one.values.contains_key("jitter"), number < 2);
        }
    }

    /// One trial of each combination; nothing leaves readable.
    fn trials(kind: &'static Kind, given: &[(&str, u64)], combinations: &[&[(&str, &str)]]) -> Vec<Observation> {
        let all = crate::workload::trials::trials(kind, given, combinations);
        if kind.metric("clear-packets").is_some() {
            assert!(
                all.iter().all(|one| one.values["clear-packets"] == [0.0]),
                "{combinations:?}"
            );
        }
        all
    }

    fn keyed_by(facts: &BTreeMap<String, Value>, key_exchange: &str) {
        let text = |name: &str| facts[name].as_str().unwrap().to_owned();
        assert_eq!(
            text("keys"),
            format!("IKEv2 by two charons, {key_exchange}, ecdsa-p256")
        );
        assert_eq!(text("esp"), "kernel");
        assert!(text("charon").starts_with("strongSwan 6."), "{}", text("charon"));
    }

    fn an_exchange_whose_first_packet_sets_the_sa_up() {
        // The SA goes and comes again between the first two, and static keys take its place for the last.
        let levels: [&[(&str, &str)]; 3] = [
            &[("protection", HYBRID)],
            &[("protection", HYBRID)],
            &[("protection", "aes256-gcm")],
        ];
        let all = trials(&EXCHANGE, &[("lasting", 500)], &levels);
        for one in &all {
            assert_eq!(
                (&one.values["lost"], &one.values["reconnects"]),
                (&vec![0.0], &vec![0.0])
            );
            assert!(!one.values["loop"].is_empty());
        }
        keyed_by(&all[1].facts, "x25519-ke1_mlkem768");
        assert_eq!(
            all[2].facts["keys"].as_str().unwrap(),
            "static random keys by ip xfrm, no IKE"
        );
    }

    fn a_start_up_waits_for_its_sa() {
        let levels: [&[(&str, &str)]; 3] = [
            &[("protection", "none")],
            &[("protection", HYBRID), ("sa", "trap"), ("rto-initial", "500")],
            &[("protection", "ike-x25519"), ("sa", "standing")],
        ];
        let [clear, trap, established] = &trials(&START_UP, &[], &levels)[..] else {
            panic!("one of each");
        };
        for one in [clear, trap, established] {
            for metric in ["delivered", "associated", "node-packet", "ric-packet"] {
                assert_eq!(one.values[metric].len(), 1, "{metric}");
            }
        }
        keyed_by(&trap.facts, "x25519-ke1_mlkem768");
        keyed_by(&established.facts, "x25519");
        // The kernel dropped the packet that asked for the SA, and SCTP had to send another.
        assert!(trap.values["inits-again"][0] >= 1.0, "{:?}", trap.values);
        assert!(
            trap.facts["esp-counters"]["XfrmOutNoStates"].as_u64() >= Some(1),
            "{:?}",
            trap.facts
        );
        assert_eq!((trap.values["ike"].len(), trap.values["idle"].len()), (1, 1));
        assert!(!established.values.contains_key("idle"));
        assert!(!clear.values.contains_key("ike"));
    }

    fn rekeys_of_both_ends_collide_and_stay_hybrid() {
        let given = [("lasting", 5000), ("period", 1500), ("ike-every", 3), ("delay", 100)];
        let levels: [&[(&str, &str)]; 1] = [&[("protection", HYBRID), ("rekeys", "both-ends")]];
        // A trial fails if the rekeys do not happen as requested, or with another key exchange.
        let [one] = &trials(&REKEY, &given, &levels)[..] else {
            panic!("one trial");
        };
        keyed_by(&one.facts, "x25519-ke1_mlkem768");
        assert!(one.values["collisions"][0] >= 1.0 && one.values["child-rekeys"][0] >= 1.0);
        assert_eq!(one.values["loop-worst"].len(), 1);
        let parts = one.values["loop-during"].len() + one.values["loop-beside"].len();
        assert_eq!(one.values["loop"].len(), parts);
    }
}
