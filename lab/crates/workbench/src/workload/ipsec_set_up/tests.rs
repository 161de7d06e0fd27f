//! Packets of each combination; no time is judged.

use super::*;

#[test]
fn every_level_of_the_key_exchange_is_one() {
    for level in KEY_EXCHANGE.levels {
        assert!(methods(level).is_ok(), "{level}");
    }
}

mod as_root {
    use std::env;

    use bartizan_host::LabRoot;
    use bartizan_testing::Build as _;

    use super::kind::lacks;
    use super::*;
    use crate::stand_in::proxies::Tools;
    use crate::workload::started::started;

    /// In the environment of a test that runs itself in a guest.
    const LONG: Duration = Duration::from_secs(240);

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
        bartizan_testing::needs_root();
        LabRoot::sid().unwrap().ensure(&mut |_| {}).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let tools = Tools::find(std::env::current_exe().unwrap(), None).unwrap();
        let combinations = [
            levels("x25519", "ecdsa-p256", "bartizan", "bartizan"),
            levels("mlkem1024", "ed25519", "bartizan", "bartizan"),
            levels("x25519-ke1_mlkem768", "ecdsa-p256", "bartizan", "swanctl"),
            levels("x25519-ke1_mlkem768", "ecdsa-p256", "default", "bartizan"),
            levels("mlkem768", "ecdsa-p256", "default", "bartizan").with(LOG.name, "4"),
        ];
        for levels in &combinations {
            assert_eq!(lacks(levels, &tools), None);
        }
        let mut workload = set_ups(&combinations, &tools, folder.path(), 30.0);
        assert!(
            workload.programs()[0].starts_with("strongSwan 6."),
            "{:?}",
            workload.programs()
        );

        let mut of = |number: usize| values(&mut *workload, &combinations[number]);
        let [classical, large, hybrid, default, logged] = [of(0), of(1), of(2), of(3), of(4)];
        for values in [&classical, &large, &hybrid, &default, &logged] {
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

    #[test]
    fn whose_ml_kem_it_is_charon_says_and_one_that_is_not_there_is_said_to_lack() {
        let root = LabRoot::sid().unwrap().ensure(&mut |_| {}).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let tools = Tools::find(env::current_exe().unwrap(), None).unwrap();
        let by = |plugin: &str| levels("mlkem768", "ecdsa-p256", "bartizan", "bartizan").with(PROVIDER.name, plugin);
        let lack = lacks(&levels("mlkem768", "ml-dsa-65", "bartizan", "bartizan"), &tools);
        assert_eq!(lack.expect("it is lacking").what, "ML-DSA of strongSwan");
        let mut plugins = vec!["openssl"];
        match lacks(&by("ml"), &tools) {
            // As Debian has it; who built the plugin has it tried here.
            Some(lack) => assert_eq!(lack.what, "strongSwan's plugin ml"),
            None => plugins.push("ml"),
        }
        for plugin in plugins {
            let link = pair_of(&by(plugin), (folder.path(), &tools.sidecar), &root, 1500, false).unwrap();
            assert_eq!(link.ml_kem().unwrap(), plugin);
        }
    }

    #[test]
    fn what_sas_take_of_memory_is_counted_with_all_of_them_established() {
        LabRoot::sid().unwrap().ensure(&mut |_| {}).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let tools = Tools::find(env::current_exe().unwrap(), None).unwrap();
        let combinations = [Levels::default().with(KEY_EXCHANGE.name, "x25519-ke1_mlkem768")];
        let mut workload = started(&MEMORY, &combinations, &[("sas", 8.into())], &tools, folder.path(), &[]);
        // A second trial has charons of its own.
        for _ in 0..2 {
            let values = values(&mut *workload, &combinations[0]);
            assert!(values["idle"][0] > 1.0, "{values:?}");
            assert!(values["responder-per-sa"][0].is_finite() && values["initiator-per-sa"][0].is_finite());
        }
    }

    /// Two set-ups and their rekeys.
    fn set_ups(combinations: &[Levels], tools: &Tools, folder: &std::path::Path, patience: f64) -> Box<dyn Workload> {
        let given = [
            ("set-ups", Value::from(2)),
            ("mtu", Value::from(1500)),
            ("rekeys", Value::from(true)),
            ("patience", Value::from(patience)),
        ];
        started(&KIND, combinations, &given, tools, folder, &[])
    }

    fn values(workload: &mut dyn Workload, levels: &Levels) -> BTreeMap<&'static str, Vec<f64>> {
        let trial = Trial {
            levels,
            repetition: 0,
            seed: 1,
            deadline: Instant::now() + LONG,
        };
        workload.trial(&trial).unwrap().values
    }

    #[test]
    fn a_path_that_delays_costs_a_hybrid_three_round_trips_and_one_that_loses_all_is_a_result() {
        // In a guest, whose kernel has netem.
        if !bartizan_testing::in_a_guest(&[]) {
            over_a_path();
        }
    }

    fn over_a_path() {
        let [folder, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let tools = Tools::find(env::current_exe().unwrap(), None).unwrap();
        let on = |key_exchange: &str, round_trip: &str, loss: &str| {
            levels(key_exchange, "ecdsa-p256", "bartizan", "bartizan")
                .with(ROUND_TRIP.name, round_trip)
                .with(LOSS.name, loss)
        };
        let combinations = [
            on("x25519-ke1_mlkem768", "20", "0"),
            on("x25519-ke1_mlkem768", "0", "100"),
            on("x25519", "20", "0"),
        ];
        for levels in &combinations {
            assert_eq!(lacks(levels, &tools), None);
        }
        let mut workload = set_ups(&combinations, &tools, folder.path(), 30.0);
        let mut of = |number: usize| values(&mut *workload, &combinations[number]);
        let (hybrid, classical) = (of(0), of(2));
        for (values, exchanges) in [(&hybrid, 3.0), (&classical, 2.0)] {
            assert_eq!(values["exchanges"], [exchanges; 2]);
            assert_eq!(values["ip-fragments"], [0.0; 2]);
            // A packet that netem delays is never early; on a busy machine it is late.
            let waited = &values["round-trips"];
            assert!(
                waited.len() == 2 && waited.iter().all(|count| *count >= exchanges),
                "{waited:?}"
            );
            assert_eq!(values["rekey-packets"].len(), 2);
            assert!(!values.contains_key("failures"), "nothing is lost by chance there");
        }
        drop(workload);

        // Nothing arrives: a result, after which nothing of it is left at either end, or the trial had failed.
        let mut workload = set_ups(&combinations, &tools, other.path(), 1.0);
        let lost = values(&mut *workload, &combinations[1]);
        assert_eq!(lost["failures"], [100.0; 2]);
        assert_eq!(lost.len(), 1, "{lost:?}");
        drop(workload);
    }

    #[test]
    fn a_rekey_that_drops_its_additional_key_exchange_is_taken_down_and_what_went_through_it_is_counted() {
        bartizan_testing::needs_root();
        LabRoot::sid().unwrap().ensure(&mut |_| {}).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let tools = Tools::find(env::current_exe().unwrap(), None).unwrap();
        let combinations: Vec<Levels> = ["x25519", "none"]
            .map(|left| Levels::default().with("rekey", left))
            .into();
        assert_eq!((BREACH.lacks)(&combinations[0], &tools), None);
        let given = [("interval", 1000.into()), ("size", 100.into())];
        let mut workload = started(&BREACH, &combinations, &given, &tools, folder.path(), &[]);
        for levels in &combinations {
            // That it was a breach, and that it is gone, a trial has seen in packets and by
            // charon's events, or it fails.
            let values = values(&mut *workload, levels);
            assert!(values["gone"][0] > 0.0, "{values:?}");
            assert_eq!(values["carried-packets"][0] == 0.0, values["carried-bytes"][0] == 0.0);
        }
    }
}
