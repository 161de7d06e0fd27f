//! A sidecar behind the redirect, in namespaces: where it leads connections, what it refuses, and
//! what it says of the rules.

mod redirect_stage;

mod as_root {
    use std::fs;

    use bartizan_host::Program;

    use crate::redirect_stage::{LONG, NRF, Stage, deployment};

    const ADMIN: &str = "127.0.0.1:9090";

    /// An AMF with an admin port whose transparent listeners are on `path`, and an SMF that no interface joins to it.
    fn stage(path: &str) -> Stage {
        let stage = Stage::new();
        let text = deployment()
            .replace("transparent: true", &format!("transparent: true, path: {path}"))
            .replace(
                "      outbound:\n",
                &format!("      admin: '{ADMIN}'\n      ledger: amf/ledger.jsonl\n      outbound:\n"),
            )
            .replace(
                "\ninterfaces:",
                "
  smf:
    function: SMF
    address: 10.88.0.9
    certificate: nrf/nrf.crt.pem
    key: nrf/nrf.key.pem
    sidecar: { inbound: [ { listen: '10.88.0.9:7443', forward: '10.88.0.9:8000' } ] }
interfaces:",
            );
        fs::write(stage.file(), text).unwrap();
        stage.certify();
        stage
    }

    /// curl on the AMF's host, whatever the status.
    fn curl(stage: &Stage, arguments: &[&str]) -> String {
        Program::new("curl")
            .arguments(["--silent", "--show-error", "--max-time", "50"])
            .arguments(arguments)
            .inside(&stage.amf)
            .run(LONG)
            .unwrap()
            .text()
    }

    fn admin(stage: &Stage, path: &str) -> String {
        curl(stage, &[&format!("http://{ADMIN}{path}")])
    }

    fn until(stage: &Stage, path: &str, wanted: &str) {
        let began = std::time::Instant::now();
        loop {
            let said = admin(stage, path);
            if said.contains(wanted) {
                return;
            }
            assert!(began.elapsed() < LONG, "{wanted} never came: {said}");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }

    #[test]
    fn connections_go_where_they_were_going_whatever_their_authority_says() {
        for path in ["http2", "splice"] {
            let stage = stage(path);
            let _function = stage.nrf_function();
            let (_nrf, amf) = (stage.sidecar("nrf"), stage.sidecar("amf"));
            stage.install();
            for url in NRF {
                let said = curl(
                    &stage,
                    &[
                        "--http2-prior-knowledge",
                        "--header",
                        "Host: somebody.else:1234",
                        &format!("{url}hello"),
                    ],
                );
                assert_eq!(said, "the function itself", "{path} {url}\n{}", amf.stderr());
            }
            bartizan_testing::until("a handshake in the ledger, which is written in batches", || {
                let ledger = fs::read_to_string(stage.path("amf/ledger.jsonl")).unwrap();
                ledger.contains("X25519MLKEM768")
            });
        }
    }

    #[test]
    fn what_was_going_to_nobody_this_node_may_talk_to_is_refused_by_name() {
        for path in ["http2", "splice"] {
            let stage = stage(path);
            let amf = stage.sidecar("amf");
            stage.install();
            for (url, wanted) in [
                (
                    "http://10.88.0.9:8000/",
                    "10.88.0.9:8000 is smf, and no interface with a sidecar leads there from this node",
                ),
                ("http://127.0.0.1:15001/", "the connection was not redirected"),
            ] {
                for version in ["--http2-prior-knowledge", "--http1.1"] {
                    let said = curl(&stage, &[version, url]);
                    let problem: serde_json::Value = serde_json::from_str(&said).unwrap();
                    assert_eq!(problem["status"], 400, "{path}: {said}");
                    assert_eq!(problem["reason"], "no-route", "{path}: {said}");
                    assert!(problem["detail"].as_str().unwrap().contains(wanted), "{path}: {said}");
                }
            }
            for peer in ["smf", "unknown"] {
                let counted = format!(
                    "bartizan_sidecar_problems_total{{side=\"outbound\",peer=\"{peer}\",reason=\"no-route\"}} 2"
                );
                until(&stage, "/metrics", &counted);
            }
            assert!(amf.stderr().contains("10.88.0.9:8000 is smf"), "{}", amf.stderr());
        }
    }

    #[test]
    fn it_is_ready_only_while_the_rules_are_installed_and_counts_them() {
        let stage = stage("http2");
        let _function = stage.nrf_function();
        let (_nrf, amf) = (stage.sidecar("nrf"), stage.sidecar("amf"));
        let gauge = |rules: &str, value: u8| format!("bartizan_sidecar_rules_installed{{rules=\"{rules}\"}} {value}\n");
        until(&stage, "/ready", "the guard is not installed");
        stage.install();
        until(&stage, "/ready", "ready\n");
        until(&stage, "/metrics", &gauge("redirect", 1));
        until(&stage, "/metrics", &gauge("guard", 1));
        stage.host("nft delete table inet bartizan-redirect");
        until(&stage, "/ready", "the redirect is not installed");
        until(&stage, "/metrics", &gauge("redirect", 0));
        until(&stage, "/metrics", &gauge("guard", 1));
        let said = amf.stderr();
        assert!(
            said.contains("the redirect is gone: requests to peers are refused"),
            "{said}"
        );
        // Its own questions are no connections of the network function.
        let metrics = admin(&stage, "/metrics");
        assert!(!metrics.contains("bartizan_sidecar_problems_total{"), "{metrics}");
        stage.install();
        until(&stage, "/ready", "ready\n");
    }

    #[test]
    fn it_is_ready_only_while_every_rule_is_known_to_be_what_it_should_be() {
        let stage = stage("http2");
        let _amf = stage.sidecar("amf");
        let watch = || {
            let watch = Program::new(env!("CARGO_BIN_EXE_bartizan"))
                .arguments(["sidecar", "redirect"])
                .arguments(stage.with_plan("watch"))
                .arguments(["--every", "1"])
                .inside(&stage.amf);
            let mut watch = watch.start().unwrap();
            watch.wait_for_line("redirected and guarded", LONG).unwrap();
            watch
        };
        let first = watch();
        until(&stage, "/ready", "ready\n");
        // One address and one route, which the two tables answer nothing of.
        let changes = [
            (
                "nft delete element inet bartizan-guard services-v6 { fd88::2 . 8000 }",
                "the set services-v6 lacks",
            ),
            ("ip -4 route flush table 7443", "table 7443"),
        ];
        for (repaired, (change, found)) in changes.into_iter().enumerate() {
            stage.host(change);
            // A change in the middle of a repair is part of that repair: the next waits for its end.
            let began = std::time::Instant::now();
            let end = "the rules are what they should be again";
            let again = || first.stderr().matches(end).count();
            while again() <= repaired {
                assert!(began.elapsed() < LONG, "not repaired: {}", first.stderr());
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            assert!(first.stderr().contains(found), "{}", first.stderr());
            stage.redirect(&stage.with_plan("show")).unwrap();
        }
        let said = first.stderr();
        assert!(
            said.contains("the rules were changed: they are installed again"),
            "{said}"
        );
        until(&stage, "/ready", "ready\n");
        // Its last report is valid for a while after it ends, and then expires.
        first.terminate(LONG).unwrap();
        until(&stage, "/ready", "compared with it no more");
        until(
            &stage,
            "/metrics",
            "bartizan_sidecar_rules_installed{rules=\"compared\"} 0\n",
        );
        let _second = watch();
        until(&stage, "/ready", "ready\n");
    }

    #[test]
    fn where_everything_is_ipv6_the_rules_are_watched_too() {
        let stage = stage("http2");
        let text = fs::read_to_string(stage.file()).unwrap();
        let smf = text.find("  smf:").unwrap()..text.find("interfaces:").unwrap();
        let only_ipv6: String = text
            .replace(&text[smf], "")
            .lines()
            .filter(|line| !line.contains("'127.0.0.1:15001'") && !line.contains("'10.88.0.2:7443'"))
            .map(|line| format!("{line}\n"))
            .collect();
        fs::write(stage.file(), only_ipv6).unwrap();
        let _function = stage.nrf_function();
        let (_nrf, amf) = (stage.sidecar("nrf"), stage.sidecar("amf"));
        until(&stage, "/ready", "the guard is not installed");
        stage.install();
        until(&stage, "/ready", "ready\n");
        assert_eq!(
            stage.ask_patiently(NRF[1]).unwrap(),
            "the function itself",
            "{}",
            amf.stderr()
        );
        stage.host("nft flush chain inet bartizan-redirect output");
        until(&stage, "/ready", "the redirect is not installed");
        stage.host("nft delete table inet bartizan-guard");
        until(&stage, "/ready", "the guard is not installed");
    }
}
