//! Storms of real handshakes with one responder, and `bartizan plan measured` over their records.

mod as_root {
    use bartizan_testing::Build as _;
    use std::process::Command;

    use crate::stage::{Stage, stderr, trials};

    #[test]
    fn storms_of_tls_and_of_two_charons_are_recorded_and_set_next_to_their_simulation() {
        bartizan_testing::needs_root();
        bartizan_host::LabRoot::sid().unwrap().ensure(&mut |_| {}).unwrap();
        let part = |id: &str, workload: &str, factors: &str| {
            format!(
                "\x20 - id: {id}\n    workload: {workload}\n    factors:\n{factors}    parameters: {{ clients: 150, batches: 3 }}\n    repetitions: 1\n    warm-up: 0\n\
                 \x20   quick: {{ repetitions: 1 }}\n    bound: 300\n    metrics: [connected-after, client-cpu, responder-cpu, beyond-cpu]\n"
            )
        };
        let stage = Stage::with(&format!(
            "id: floor\ntitle: Storms\nquestion: When are all connected?\ninvalid: []\nparts:\n{}{}",
            part(
                "tls",
                "storm-tls",
                "      - { name: group, levels: [X25519MLKEM768] }\n      - { name: certificate, levels: [ml-dsa-65] }\n"
            ),
            part(
                "ike",
                "storm-ike",
                "      - { name: key-exchange, levels: [x25519-ke1_mlkem768] }\n"
            ),
        ));
        let output = stage.run(&["--kernel", "host"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let file = stage.records_file();
        let storms: Vec<_> = trials(&file)
            .into_iter()
            .filter(|trial| !trial["values"]["connected-after"].is_null())
            .collect();
        assert_eq!(storms.len(), 2);
        for storm in &storms {
            assert_eq!(storm["values"]["connected-after"].as_array().unwrap().len(), 150);
            for metric in ["client-cpu", "responder-cpu"] {
                assert!(storm["values"][metric][0].as_f64().unwrap() > 0.0, "{metric}");
            }
        }
        let compared = Command::new(env!("CARGO_BIN_EXE_bartizan-lab"))
            .args(["plan", "measured", "--json"])
            .arg(&file)
            .output()
            .unwrap();
        // The distance of the two is not judged on a busy machine: exit code 1 is a finding.
        assert!(matches!(compared.status.code(), Some(0 | 1)), "{}", stderr(&compared));
        let report: serde_json::Value = serde_json::from_slice(&compared.stdout).unwrap();
        // A comparison for each protocol.
        let comparisons = report["comparisons"].as_array().unwrap();
        let rows: Vec<_> = comparisons
            .iter()
            .flat_map(|comparison| comparison["rows"].as_array().unwrap())
            .collect();
        let mut protocols: Vec<_> = rows.iter().map(|row| row["protocol"].as_str().unwrap()).collect();
        protocols.sort_unstable();
        assert_eq!(protocols, ["IKEv2", "TLS 1.3"]);
        for row in rows {
            let shares = row["shares"].as_array().unwrap();
            assert_eq!((row["clients"].as_u64(), shares.len()), (Some(150), 21));
            let rises = |of: &str| {
                let all: Vec<f64> = shares.iter().map(|share| share[of].as_f64().unwrap()).collect();
                all.windows(2).all(|two| two[0] <= two[1])
            };
            assert!(rises("measured_s") && rises("predicted_s"), "{row}");
        }
    }
}
