//! Tests that need root: a quick trial of each kind of end, and its capture compared with tshark.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::*;
use crate::workload::started::started;

mod as_root {
    use super::*;

    const CONNECTIONS: usize = 3;

    fn levels(group: &str, certificate: &str, server: &str) -> Levels {
        let chain = if server == "openssl" { "2" } else { "1" };
        [
            ("group", group),
            ("certificate", certificate),
            ("server", server),
            ("chain", chain),
        ]
        .into_iter()
        .map(|(name, level)| (name.to_owned(), level.to_owned()))
        .collect()
    }

    /// The sum of `frame.len` and the number of TCP packets and retransmissions, as tshark of the lab root has them.
    fn tshark(tools: &Tools, file: &Path) -> (u64, usize, usize) {
        let finished = tools
            .root
            .as_ref()
            .unwrap()
            .command("tshark")
            .unwrap()
            .arguments([
                "-Y",
                "tcp",
                "-T",
                "fields",
                "-e",
                "frame.len",
                "-e",
                "tcp.analysis.retransmission",
                "-r",
            ])
            .argument(file)
            .run(Duration::from_secs(60))
            .unwrap();
        let text = finished.text();
        let bytes = text
            .lines()
            .map(|line| line.split('\t').next().unwrap().parse::<u64>().unwrap());
        let again = text
            .lines()
            .filter(|line| line.split('\t').nth(1).is_some_and(|cell| !cell.is_empty()));
        (bytes.sum(), text.lines().count(), again.count())
    }

    #[test]
    fn connections_of_both_servers_are_whole_in_the_capture_and_counted_as_tshark_counts_them() {
        bartizan_testing::needs_root();
        let folder = tempfile::tempdir().unwrap();
        let tools = Tools::find(std::env::current_exe().unwrap(), None).unwrap();
        let combinations = [
            levels("X25519", "ecdsa-p256", "openssl"),
            levels("MLKEM512", "ecdsa-p256", "openssl"),
            levels("MLKEM1024", "ml-dsa-65", "openssl"),
            levels("X25519MLKEM768", "ml-dsa-65", "bartizan"),
        ];
        for levels in &combinations {
            assert_eq!(lacks(levels, &tools), None, "make test builds the lab root first");
        }
        let given =
            [("connections", 3), ("cadence", 10), ("mtu", 1500)].map(|(name, value)| (name, Value::from(value)));
        let mut workload = started(&KIND, &combinations, &given, &tools, folder.path(), &[0]);
        let mut bytes = BTreeMap::new();
        for (repetition, levels) in combinations.iter().enumerate() {
            let trial = Trial {
                levels,
                repetition,
                seed: 1,
                deadline: Instant::now() + Duration::from_secs(60),
            };
            let values = workload.trial(&trial).unwrap().values;
            for metric in KIND.metrics {
                assert!(!values[metric.name].is_empty(), "{}", metric.name);
            }
            assert_eq!(values["handshake-time"].len(), CONNECTIONS);
            let (all, packets, again) = tshark(&tools, &folder.path().join("trial.pcap"));
            // The last acknowledgement of a connection that both have closed is the capture's, and
            // no longer the connection's.
            let per_packet = values["capture-bytes-per-packet"][0];
            let counted = (all as f64 / per_packet).round();
            assert!(
                (packets as f64 - counted).abs() <= 2.0 * CONNECTIONS as f64,
                "{packets} packets by tshark, {counted} by us"
            );
            assert_eq!(values["loss"][0] > 0.0, again > 0);
            assert!(
                values["bytes-per-packet"]
                    .iter()
                    .all(|&bytes| (54.0..=1514.0).contains(&bytes))
            );
            if levels.level("certificate") == Some("ml-dsa-65") {
                // A certificate and a signature each way, 5.3 and 3.3 kB at least.
                assert!(
                    values["client-bytes"].iter().all(|&bytes| bytes > 8_600.0),
                    "{values:?}"
                );
                assert!(
                    values["server-bytes"].iter().all(|&bytes| bytes > 8_600.0),
                    "{values:?}"
                );
            }
            bytes.insert(levels.level("group").unwrap().to_owned(), values["handshake-bytes"][0]);
        }
        // Shares of 1568 bytes instead of 32, and certificates and signatures of ML-DSA-65 on both sides.
        assert!(bytes["MLKEM512"] > bytes["X25519"] + 1400.0, "{bytes:?}");
        assert!(bytes["MLKEM1024"] > bytes["MLKEM512"] + 15_000.0, "{bytes:?}");
    }
}
