//! SAs asked for by whole commands, of which one is this binary.

mod as_root {
    use crate::stage::{Stage, stderr, trials};

    #[test]
    fn an_sa_is_set_up_from_nothing_by_up_and_by_swanctl_and_the_packets_are_those_of_a_hybrid() {
        assert!(
            nix::unistd::geteuid().is_root(),
            "NOT RUN: this test needs root (`make test` as root runs it, `-- --skip as_root` leaves it out)"
        );
        bartizan_host::LabRoot::sid().unwrap().ensure(&mut |_| {}).unwrap();
        let stage = Stage::with(
            "id: floor\ntitle: Whole commands\nquestion: Do they come up?\ninvalid: []\nparts:\n\
             \x20 - id: driver\n    workload: ipsec-set-up\n    factors:\n\
             \x20     - { name: driver, levels: [up, swanctl-load-all] }\n\
             \x20     - { name: key-exchange, levels: [x25519-ke1_mlkem768] }\n\
             \x20   parameters: { rekeys: false }\n    repetitions: 2\n    quick: { repetitions: 2 }\n\
             \x20   bound: 60\n    metrics: [total, call, exchanges, bytes]\n",
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
}
