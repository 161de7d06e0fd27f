//! SAs asked for by whole commands, of which one is this binary.

mod as_root {
    use crate::stage::{Stage, stderr, trials};
    use bartizan_testing::Build as _;

    #[test]
    fn an_sa_is_set_up_from_nothing_by_up_and_by_swanctl_and_the_packets_are_those_of_a_hybrid() {
        bartizan_testing::needs_root();
        bartizan_host::LabRoot::sid().unwrap().ensure(&mut |_| {}).unwrap();
        let stage = Stage::with(
            "id: floor\ntitle: Whole commands\nquestion: Do they come up?\ninvalid: []\nparts:\n\
             \x20 - id: driver\n    workload: ipsec-set-up\n    factors:\n\
             \x20     - { name: driver, levels: [up, swanctl-load-all] }\n\
             \x20     - { name: key-exchange, levels: [x25519-ke1_mlkem768] }\n\
             \x20   parameters: { rekeys: false }\n    repetitions: 2\n    quick: { repetitions: 2 }\n\
             \x20   bound: 300\n    metrics: [total, call, exchanges, bytes]\n",
        );
        let output = stage.run(&["--kernel", "host"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let trials = trials(&stage.records_file());
        let of = |driver: &str| -> Vec<&serde_json::Value> {
            let of_it = trials.iter().filter(|trial| trial["levels"]["driver"] == driver);
            of_it.collect()
        };
        for driver in ["up", "swanctl-load-all"] {
            assert_eq!(of(driver).len(), 2, "{driver}");
            for trial in of(driver) {
                assert_eq!(trial["values"]["exchanges"][0], 3.0, "{trial}");
            }
        }
    }

    #[test]
    fn set_ups_of_both_engines_are_taken_in_one_run_and_each_is_what_was_asked_for() {
        bartizan_testing::needs_root();
        bartizan_host::LabRoot::sid().unwrap().ensure(&mut |_| {}).unwrap();
        let stage = Stage::with(
            "id: floor\ntitle: Two engines\nquestion: Do they come up?\ninvalid: []\nparts:\n\
             \x20 - id: engines\n    workload: ipsec-set-up\n    factors:\n\
             \x20     - { name: engine, levels: [strongswan, bartizan] }\n\
             \x20     - { name: authentication, levels: [ecdsa-p256, ml-dsa-65] }\n\
             \x20     - { name: key-exchange, levels: [x25519-ke1_mlkem768] }\n\
             \x20   except: [ { engine: strongswan, authentication: ml-dsa-65 } ]\n\
             \x20   repetitions: 2\n    quick: { repetitions: 2 }\n\
             \x20   bound: 300\n    metrics: [total, rekey, exchanges, bytes, cpu-responder]\n",
        );
        let output = stage.run(&["--kernel", "guest"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let trials = trials(&stage.records_file());
        let bytes = |engine: &str, authentication: &str| -> Vec<f64> {
            let of_it = trials.iter().filter(|trial| {
                let levels = &trial["levels"];
                levels["engine"] == engine && levels["authentication"] == authentication
            });
            let bytes = of_it.map(|trial| {
                assert_eq!(trial["outcome"], "measured", "{trial}");
                assert_eq!(trial["values"]["exchanges"][0], 3.0, "{trial}");
                assert!(trial["values"]["rekey"][0].as_f64() > Some(0.0), "{trial}");
                // User-Mode Linux counts it in ticks of 10 ms: a set-up may have none.
                assert!(trial["values"]["cpu-responder"][0].as_f64() >= Some(0.0), "{trial}");
                trial["values"]["bytes"][0].as_f64().unwrap()
            });
            bytes.collect()
        };
        let [charon, ours, ml_dsa] = [
            ("strongswan", "ecdsa-p256"),
            ("bartizan", "ecdsa-p256"),
            ("bartizan", "ml-dsa-65"),
        ]
        .map(|(engine, authentication)| bytes(engine, authentication));
        assert_eq!([charon.len(), ours.len(), ml_dsa.len()], [2; 3]);
        // Two certificates, each with a key and a signature of the authority, and two signatures.
        let known = bartizan_registry::signature_named("ml-dsa-65").expect("known");
        let [key, signature] = [known.public_key, known.signature].map(|bytes| f64::from(bytes.expect("known")));
        let added = 2.0 * (key + 2.0 * signature);
        // On a busy machine a message is repeated, and counted twice.
        let fewest = |bytes: &[f64]| bytes.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(fewest(&ml_dsa) - fewest(&ours) > 0.95 * added, "{ours:?} {ml_dsa:?}");
        assert!((fewest(&ours) - fewest(&charon)).abs() < 600.0, "{charon:?} {ours:?}");
    }
}
