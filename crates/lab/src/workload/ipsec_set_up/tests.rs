//! What each combination looks like on the wire; no time is judged.

use super::*;

#[test]
fn a_hybrid_in_strongswans_words_is_its_code_points_in_order() {
    assert_eq!(methods("x25519").unwrap(), [31]);
    assert_eq!(methods("mlkem1024").unwrap(), [37]);
    assert_eq!(methods("x25519-ke1_mlkem768").unwrap(), [31, 36]);
    assert!(methods("x25519-ke1_nothing").is_err());
}

#[test]
fn every_level_of_the_key_exchange_is_one() {
    for level in KEY_EXCHANGE.levels {
        assert!(methods(level).is_ok(), "{level}");
    }
}

mod as_root {
    use bartizan_host::LabRoot;

    use super::*;
    use crate::experiment::Parameters;

    fn levels(key_exchange: &str, authentication: &str, configuration: &str, driver: &str) -> Levels {
        [
            (KEY_EXCHANGE.name, key_exchange),
            (AUTHENTICATION.name, authentication),
            (CONFIGURATION.name, configuration),
            (DRIVER.name, driver),
        ]
        .into_iter()
        .map(|(name, level)| (name.to_owned(), level.to_owned()))
        .collect()
    }

    #[test]
    fn charons_negotiate_what_each_combination_asks_and_the_packets_are_counted() {
        assert!(
            bartizan_host::Facts::gather().root,
            "NOT RUN: this test needs root (`make test` as root runs it, `-- --skip as_root` leaves it out)"
        );
        LabRoot::sid().unwrap().ensure(&mut |_| {}).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let tools = Tools::find(std::env::current_exe().unwrap(), None).unwrap();
        let combinations = [
            levels("x25519", "ecdsa-p256", "bartizan", "bartizan"),
            levels("mlkem1024", "ed25519", "bartizan", "bartizan"),
            levels("x25519-ke1_mlkem768", "ecdsa-p256", "bartizan", "swanctl"),
            levels("x25519-ke1_mlkem768", "ecdsa-p256", "default", "bartizan"),
        ];
        for levels in &combinations {
            assert_eq!(lacks(levels, &tools), None);
        }
        let parameters: Parameters = [("set-ups", Value::from(2)), ("mtu", Value::from(1500))]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        let mut workload = start(&Setting {
            part: "test",
            combinations: &combinations,
            parameters: &parameters,
            tools: &tools,
            folder: folder.path(),
            seed: 1,
            quick: true,
            target: None,
            processors: &[],
        })
        .unwrap();
        assert!(
            workload.programs()[0].starts_with("strongSwan 6."),
            "{:?}",
            workload.programs()
        );

        let mut of = |number: usize| {
            let trial = Trial {
                levels: &combinations[number],
                repetition: 0,
                seed: 1,
                deadline: Instant::now() + Duration::from_secs(60),
            };
            workload.trial(&trial).unwrap().values
        };
        let [classical, large, hybrid, default] = [of(0), of(1), of(2), of(3)];
        for values in [&classical, &large, &hybrid, &default] {
            for metric in [
                "ike-sa-init",
                "ike-auth",
                "total",
                "child-sa",
                "rekey",
                "call",
                "cpu-initiator",
            ] {
                assert_eq!(values[metric].len(), 2, "{metric}");
                assert!(values[metric].iter().all(|&time| time > 0.0), "{metric}");
            }
        }
        // Repeated on a busy machine, a message is counted twice.
        let calm = |values: &BTreeMap<&str, Vec<f64>>| values["retransmissions"] == [0.0, 0.0];
        assert_eq!(classical["exchanges"], [2.0, 2.0]);
        assert!(!classical.contains_key("intermediate"));
        assert_eq!(classical["ip-fragments"], [0.0, 0.0]);
        assert_eq!(hybrid["exchanges"], [3.0, 3.0]);
        assert_eq!(hybrid["ip-fragments"], [0.0, 0.0]);
        assert_eq!(default["exchanges"], [3.0, 3.0]);
        if calm(&classical) && calm(&large) && calm(&hybrid) {
            assert_eq!(classical["packets"], [4.0, 4.0]);
            // IKE_SA_INIT cannot be in IKE fragments: both halves are two IP packets.
            assert_eq!(large["ip-fragments"], [4.0, 4.0]);
            // The request of ML-KEM-768 is two IKE fragments of 1280 bytes, its response one packet.
            assert_eq!(hybrid["ike-fragments"], [2.0, 2.0]);
            assert_eq!(hybrid["packets"], [7.0, 7.0]);
        }
    }
}
