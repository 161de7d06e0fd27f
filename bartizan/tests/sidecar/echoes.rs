//! `status --probe`: an echo at the sidecar of each peer.

use bartizan_host::Program;
use bartizan_ledger::Verdict;
use serde_json::Value;

use crate::stage::*;

/// Exit code and JSON of `status --probe`.
fn probe(file: &std::path::Path, node: &str) -> (Option<i32>, Value) {
    let status = Program::new(env!("CARGO_BIN_EXE_bartizan"))
        .argument("status")
        .argument(file);
    let finished = finish(status.arguments(["--node", node, "--probe", "--json"]));
    let report = serde_json::from_slice(&finished.stdout);
    let report = report.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&finished.stderr)));
    (finished.status.code(), report)
}

#[test]
fn an_echo_passes_both_paths_and_fails_where_either_end_refuses_or_is_gone() {
    for path in [By::Http2, By::Splice] {
        let mut stage = Stage::new();
        // A connection that is kept ready would be one more handshake of the ledger.
        let pair = Pair {
            warm: 0,
            ..Pair::new(path, path)
        };
        let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
        let function = stage.nghttpd(pair.ports.function, &[]);
        let running = stage.run_with(&pair, &amf, &nrf);
        let file = stage.path("pair.yaml");

        let (code, report) = probe(&file, "amf");
        let echo = &report["echoes"][0];
        assert_eq!(
            (code, &echo["result"]),
            (Some(0), &"passed".into()),
            "{path:?} {report}"
        );
        assert_eq!((&echo["node"], &echo["detail"]), (&"nrf".into(), &"HTTP/2 PING".into()));
        // The peer has judged it as any other connection, and has it in its ledger.
        let accepted = running.nrf.handshakes(|one| one.verdict == Verdict::Accepted);
        assert_eq!(accepted.first().and_then(|one| one.peer.as_deref()), Some("amf"));
        // No listener of the AMF would answer the NRF: nothing is proven there.
        let (code, report) = probe(&file, "nrf");
        assert_eq!((code, report["echoes"].as_array().map(Vec::len)), (Some(1), Some(0)));

        // A certificate that the peer refuses: it says so in the connection.
        let expired = stage.issue_expired("amf");
        let stale = stage.deployment("stale", &pair, &expired, &nrf);
        let (code, report) = probe(&stale, "amf");
        let detail = report["echoes"][0]["detail"].as_str().expect("a text").to_owned();
        assert_eq!(
            (code, &report["echoes"][0]["result"]),
            (Some(1), &"failed".into()),
            "{report}"
        );
        assert!(detail.starts_with("peer-refused"), "{detail}");

        // The peer's sidecar answers where the function does not.
        drop(function);
        let (code, report) = probe(&file, "amf");
        assert_eq!(code, Some(0), "{path:?} {report}");

        drop(running.nrf);
        let (code, report) = probe(&file, "amf");
        let detail = report["echoes"][0]["detail"].as_str().expect("a text");
        assert!(code == Some(1) && detail.starts_with("unreachable"), "{report}");
    }
}
