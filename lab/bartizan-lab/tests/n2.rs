//! The workloads on N2, a few messages of each, by `bartizan-lab run` in a guest; no time is judged.

#![allow(missing_docs, reason = "a test file has no readers of its documentation")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use bartizan_host::Program;
use serde_json::Value;

const LONG: Duration = Duration::from_secs(900);

/// Every protection in one workload or another, with little to do.
const EXPERIMENT: &str = "\
id: n2
title: N2
question: Does each workload run?
invalid: []
parts:
  - id: echo
    workload: n2-echo
    factors: [{ name: protection, levels: [none, socat, gateway-tls, gateway-quic, tcp, splice] }]
    parameters: { messages: 20 }
    repetitions: 1
    warm-up: 0
    quick: { repetitions: 1 }
    bound: 60
    metrics: [loop, returned]
  - id: quiet
    workload: n2-head-of-line
    factors:
      - { name: protection, levels: [none, gateway-quic] }
      - { name: loss, levels: ['1'] }
      - { name: round-trip, levels: ['4'] }
    parameters: { lasting: 400 }
    repetitions: 1
    warm-up: 0
    quick: { repetitions: 1 }
    bound: 60
    metrics: [quiet, quiet-p99, lost]
  - id: messages
    workload: n2-messages
    factors:
      - { name: protection, levels: [none, socat, gateway-tls, gateway-quic] }
      - { name: loss, levels: ['1'] }
      - { name: round-trip, levels: ['4'] }
    parameters: { messages: 400, long-every: 100 }
    repetitions: 1
    warm-up: 0
    quick: { repetitions: 1 }
    bound: 60
    metrics: [kept, missing, foreign, payload-protocol-changed, order-flag-changed, overtaken, twice]
  - id: set-up
    workload: n2-set-up
    factors:
      - { name: protection, levels: [none, gateway-quic] }
      - { name: round-trip, levels: ['20'] }
    parameters: { associations: 1 }
    repetitions: 1
    warm-up: 0
    quick: { repetitions: 1 }
    bound: 60
    metrics: [first-answer, round-trips]
  - id: exchange
    workload: n2-exchange
    factors: [{ name: protection, levels: [none, socat, gateway-tls, gateway-quic, ipsec] }]
    parameters: { times: 1 }
    repetitions: 1
    warm-up: 0
    quick: { repetitions: 1 }
    bound: 60
    metrics: [start, ng-setup, registration, wire-bytes, boundaries-changed, streams-changed, payload-protocols-changed, clear-packets]
  - id: groups
    workload: n2-exchange
    factors:
      - { name: protection, levels: [gateway-tls] }
      - { name: group, levels: [X25519, SecP384r1MLKEM1024] }
    parameters: { times: 1, warm: 0 }
    repetitions: 1
    warm-up: 0
    quick: { repetitions: 1 }
    bound: 60
    metrics: [start, wire-bytes, streams-changed, clear-packets]
";

/// The trials of a run in a guest, whose kernel has SCTP, ESP and netem.
fn trials(folder: &Path) -> Vec<Value> {
    fs::create_dir_all(folder.join("experiments/n2")).unwrap();
    fs::write(folder.join("experiments/n2/experiment.yaml"), EXPERIMENT).unwrap();
    let program = Program::new(env!("CARGO_BIN_EXE_bartizan-lab")).directory(folder);
    let program = program.arguments(["run", "n2", "--quick", "--kernel", "guest"]);
    let finished = program.start().unwrap().finish(LONG).unwrap();
    let said = String::from_utf8_lossy(&finished.stderr);
    assert!(finished.status.success(), "{said}");
    let files = fs::read_dir(folder.join("results/n2")).unwrap();
    let files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let text = fs::read_to_string(file).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records
        .filter(|record| record["schema"] == "bartizan-lab-trial/1")
        .collect()
}

mod as_root {
    use super::*;

    #[test]
    fn workloads_run_and_find_what_is_kept_and_what_is_not() {
        bartizan_testing::needs_root();
        let folder = tempfile::tempdir().unwrap();
        let trials = trials(folder.path());
        let of = |part: &str, level: &str| -> &Value {
            let mut trials = trials.iter();
            let trial = trials.find(|trial| {
                let levels = &trial["levels"];
                trial["part"] == part && (levels["protection"] == level || levels["group"] == level)
            });
            let trial = trial.unwrap_or_else(|| panic!("{part} {level}"));
            assert_eq!(trial["outcome"], "measured", "{trial}");
            &trial["values"]
        };
        let one = |part: &str, level: &str, metric: &str| -> f64 {
            let values = &of(part, level)[metric];
            assert_eq!(
                values.as_array().map(Vec::len),
                Some(1),
                "{part} {level} {metric}: {values}"
            );
            values[0].as_f64().unwrap()
        };

        for protection in ["none", "gateway-tls", "gateway-quic", "tcp", "splice"] {
            assert_eq!(of("echo", protection)["loop"].as_array().unwrap().len(), 20);
            assert_eq!(one("echo", protection, "returned"), 100.0, "{protection}");
        }
        // On stream 0 and without an identifier, as `write` of SCTP sends what came on another.
        assert_eq!(one("echo", "socat", "returned"), 0.0);

        for protection in ["none", "gateway-quic"] {
            assert_eq!(one("quiet", protection, "lost"), 0.0, "{protection}");
            assert!(of("quiet", protection)["quiet"].as_array().unwrap().len() > 30);
        }
        for protection in ["none", "gateway-tls", "gateway-quic"] {
            assert_eq!(one("messages", protection, "kept"), 100.0, "{protection}");
            for metric in ["missing", "foreign", "overtaken", "twice"] {
                assert_eq!(one("messages", protection, metric), 0.0, "{protection} {metric}");
            }
        }
        assert_eq!(one("messages", "socat", "kept"), 0.0);
        // A message of 70,000 octets is more than socat reads at once.
        assert!(one("messages", "socat", "missing") >= 4.0 && one("messages", "socat", "foreign") > 0.0);

        // Two to associate and one for the message; no delay of netem is shorter than asked.
        assert!(one("set-up", "none", "round-trips") >= 3.0);
        assert!(one("set-up", "gateway-quic", "round-trips") >= 1.0);

        for protection in ["none", "gateway-tls", "gateway-quic", "ipsec"] {
            for metric in [
                "boundaries-changed",
                "streams-changed",
                "payload-protocols-changed",
                "clear-packets",
            ] {
                assert_eq!(one("exchange", protection, metric), 0.0, "{protection} {metric}");
            }
            assert_eq!(of("exchange", protection)["registration"].as_array().unwrap().len(), 2);
        }
        let changed = |metric| one("exchange", "socat", metric);
        assert_eq!(changed("clear-packets"), 0.0);
        assert_eq!(
            changed("boundaries-changed") + changed("payload-protocols-changed"),
            20.0
        );
        assert!(changed("streams-changed") > 0.0);
        assert!(one("exchange", "gateway-tls", "wire-bytes") > one("exchange", "none", "wire-bytes"));

        // A handshake is in each, and its key shares are on the wire: 32 and 32 octets, 1665 and 1665.
        let bytes = |group| one("groups", group, "wire-bytes");
        let (classical, hybrid) = (bytes("X25519"), bytes("SecP384r1MLKEM1024"));
        assert!(hybrid > classical + 3000.0, "{classical} {hybrid}");
        for group in ["X25519", "SecP384r1MLKEM1024"] {
            assert_eq!(
                (
                    one("groups", group, "streams-changed"),
                    one("groups", group, "clear-packets")
                ),
                (0.0, 0.0)
            );
        }
    }
}
