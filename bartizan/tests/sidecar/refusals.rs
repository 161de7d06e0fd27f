//! Peers that must be refused: the consumer gets an answer, and the refuser's ledger and metrics have the reason.

use bartizan_host::Program;
use bartizan_ledger::Verdict;
use bartizan_pki::Algorithm;

use crate::stage::{By, Node, Pair, Papers, Running, Stage, ask, finish, get, openssl, problem, until};

const BOTH: [By; 2] = [By::Splice, By::Http2];

/// The consumer's request fails and says that the peer refused; `nrf` says why.
fn assert_refused_by_nrf(running: &Running, reason: &str) {
    let answer = get(&format!("http://{}/hello", running.ports.outbound));
    assert_eq!(answer.0, 504, "{answer:?}");
    let problem = problem(&answer);
    assert_eq!(problem["cause"], "TARGET_NF_NOT_REACHABLE");
    assert_eq!(problem["peer"], "nrf");
    assert_eq!(problem["reason"], "peer-refused", "{problem}");
    assert_refuser_says(&running.nrf, "inbound", reason);
    running.amf.refused("peer-refused");
    until("the log's line", || {
        let log = running.amf.process.stderr();
        log.contains("peer-refused") && log.contains("hint=")
    });
}

/// `amf` refused `nrf` and answers the consumer with the reason itself.
fn assert_refused_by_amf(running: &Running, reason: &str) {
    let answer = get(&format!("http://{}/hello", running.ports.outbound));
    assert_eq!(answer.0, 504, "{answer:?}");
    let problem = problem(&answer);
    assert_eq!(problem["reason"], reason, "{problem}");
    assert!(
        problem["detail"].as_str().expect("text").starts_with("nrf: "),
        "{problem}"
    );
    assert_refuser_says(&running.amf, "outbound", reason);
    let state = running.amf.state();
    assert_eq!(state["refused"][0]["peer"], "nrf", "{state}");
    assert_eq!(state["refused"][0]["reason"], reason, "{state}");
    assert!(state["refused"][0]["handshakes"].as_u64() >= Some(1), "{state}");
    // The other side was refused, and its log must not claim that it refused the peer.
    running.nrf.refused("peer-refused");
    until("the log's line", || {
        let log = running.nrf.process.stderr();
        log.contains("a sidecar that connected refused this one")
    });
    let log = running.nrf.process.stderr();
    assert!(!log.contains("refused a sidecar"), "{log}");
}

fn assert_refuser_says(refuser: &Node, side: &str, reason: &str) {
    let refused = refuser.refused(reason);
    let Verdict::Refused { detail, .. } = refused.verdict else {
        panic!("{refused:?}")
    };
    assert!(!detail.is_empty());
    let counted = refuser.metric(
        "bartizan_sidecar_handshake_failures_total",
        &[&format!("side=\"{side}\""), &format!("reason=\"{reason}\"")],
    );
    assert!(counted >= Some(1.0), "{reason} {counted:?}");
}

/// Starts a pair in which `nrf` goes by `theirs` and `amf` by `ours`: two files that need not agree.
fn run_two(stage: &Stage, (ours, amf): (&Pair, &Papers), (theirs, nrf): (&Pair, &Papers), spare: &Papers) -> Running {
    let their_file = stage.deployment("theirs", theirs, spare, nrf);
    let our_file = stage.deployment("ours", ours, amf, spare);
    Running {
        nrf: stage.start(&their_file, "nrf", theirs.ports.nrf_admin),
        amf: stage.start(&our_file, "amf", ours.ports.amf_admin),
        ports: ours.ports,
    }
}

#[test]
fn a_consumer_with_an_expired_certificate_is_refused() {
    for by in BOTH {
        let mut stage = Stage::new();
        let (amf, nrf) = (stage.issue_expired("amf"), stage.issue("nrf"));
        let running = stage.run_with(&Pair::new(by, by), &amf, &nrf);
        assert_refused_by_nrf(&running, "expired");
    }
}

#[test]
fn a_producer_with_an_expired_certificate_is_refused() {
    for by in BOTH {
        let mut stage = Stage::new();
        let (amf, nrf) = (stage.issue("amf"), stage.issue_expired("nrf"));
        let running = stage.run_with(&Pair::new(by, by), &amf, &nrf);
        assert_refused_by_amf(&running, "expired");
    }
}

#[test]
fn a_revoked_consumer_and_a_revoked_producer_are_refused() {
    for by in BOTH {
        let mut stage = Stage::new();
        let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
        let pair = Pair {
            crl: Some(stage.revoke(&amf)),
            ..Pair::new(by, by)
        };
        assert_refused_by_nrf(&stage.run_with(&pair, &amf, &nrf), "revoked");

        let mut stage = Stage::new();
        let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
        let pair = Pair {
            crl: Some(stage.revoke(&nrf)),
            ..Pair::new(by, by)
        };
        assert_refused_by_amf(&stage.run_with(&pair, &amf, &nrf), "revoked");
    }
}

/// Before, each request made a handshake, which counted as accepted, and three records.
#[test]
fn requests_to_a_peer_that_refuses_do_not_dial_it_each_and_none_counts_as_accepted() {
    const REQUESTS: usize = 60;
    for by in BOTH {
        let mut stage = Stage::new();
        let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
        let pair = Pair {
            crl: Some(stage.revoke(&amf)),
            ..Pair::new(by, by)
        };
        let running = stage.run_with(&pair, &amf, &nrf);
        let url = format!("http://{}/", running.ports.outbound);
        for _ in 0..REQUESTS {
            let (status, ..) = ask(&["--http2-prior-knowledge", &url]);
            assert_eq!(status, 504);
        }
        let refused = ["side=\"outbound\"", "reason=\"peer-refused\""];
        let dialled = running
            .amf
            .metric("bartizan_sidecar_handshake_failures_total", &refused);
        assert!(
            (1.0..REQUESTS as f64).contains(&dialled.expect("it was refused")),
            "{dialled:?} handshakes for {REQUESTS} requests"
        );
        assert_eq!(
            running
                .amf
                .metric("bartizan_sidecar_handshakes_total", &["side=\"outbound\""]),
            None
        );
        let whole = running
            .amf
            .handshakes(|handshake| matches!(handshake.verdict, Verdict::Refused { .. }));
        assert_eq!(whole.len(), 1, "those that follow are counted");
    }
}

#[test]
fn a_consumer_of_another_authority_is_refused() {
    for by in BOTH {
        let (mut stage, mut foreign) = (Stage::new(), Stage::new());
        let (nrf, spare) = (stage.issue("nrf"), stage.issue("amf"));
        // It trusts ours, so that it is our side that refuses.
        let amf = Papers {
            roots: nrf.roots.clone(),
            ..foreign.issue("amf")
        };
        let pair = Pair::new(by, by);
        let running = run_two(&stage, (&pair, &amf), (&pair, &nrf), &spare);
        assert_refused_by_nrf(&running, "unknown-ca");
    }
}

#[test]
fn a_producer_of_another_authority_is_refused() {
    for by in BOTH {
        let (mut stage, mut foreign) = (Stage::new(), Stage::new());
        let (amf, spare) = (stage.issue("amf"), stage.issue("nrf"));
        let nrf = foreign.issue("nrf");
        let pair = Pair::new(by, by);
        let running = run_two(&stage, (&pair, &amf), (&pair, &nrf), &spare);
        assert_refused_by_amf(&running, "unknown-ca");
    }
}

#[test]
fn a_certificate_with_another_name_is_refused_at_either_end() {
    for by in BOTH {
        let mut stage = Stage::new();
        let (udm, nrf, spare) = (stage.issue("udm"), stage.issue("nrf"), stage.issue("amf"));
        let theirs = Pair::new(by, by);
        // The node with the name of udm claims to be amf: its own file believes it.
        let ours = Pair {
            amf_names: "udm.5gc".to_owned(),
            ..theirs.clone()
        };
        assert_refused_by_nrf(&run_two(&stage, (&ours, &udm), (&theirs, &nrf), &spare), "wrong-name");

        let mut stage = Stage::new();
        let (amf, udm, spare) = (stage.issue("amf"), stage.issue("udm"), stage.issue("nrf"));
        let ours = Pair::new(by, by);
        let theirs = Pair {
            nrf_names: "udm.5gc".to_owned(),
            ..ours.clone()
        };
        assert_refused_by_amf(&run_two(&stage, (&ours, &amf), (&theirs, &udm), &spare), "wrong-name");
    }
}

#[test]
fn a_sidecar_that_offers_only_classical_groups_is_refused() {
    for by in BOTH {
        let mut stage = Stage::with(Algorithm::EcdsaP256);
        let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
        // The same certificates on both sides, so that only the group can be the reason.
        let signatures =
            "signatures: [ecdsa_secp256r1_sha256, mldsa65], chain-signatures: [ecdsa_secp256r1_sha256, mldsa65]";
        let theirs = Pair {
            policy: format!(
                "{{ profile: transition, reason: test, expires: 2099-01-01, groups: [X25519MLKEM768], {signatures} }}"
            ),
            ..Pair::new(by, by)
        };
        let ours = Pair {
            policy: "{ profile: classical, lab: true, groups: [x25519] }".to_owned(),
            ..theirs.clone()
        };
        let running = run_two(&stage, (&ours, &amf), (&theirs, &nrf), &amf);
        let answer = get(&format!("http://{}/hello", running.ports.outbound));
        assert_eq!(answer.0, 504);
        assert_eq!(problem(&answer)["reason"], "peer-refused", "{answer:?}");
        assert_refuser_says(&running.nrf, "inbound", "no-common-group");
    }
}

#[test]
fn curl_with_its_own_tls_offers_only_x25519_and_is_refused() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let running = stage.run(&pair);
    let client = Program::new("curl").arguments(["--silent", "--show-error", "--insecure", "--max-time", "50"]);
    let finished = finish(client.argument(format!("https://{}/", pair.ports.inbound)));
    assert_eq!(finished.status.code(), Some(35), "{}", finished.text());
    let refused = running.nrf.refused("no-common-group");
    assert_eq!(refused.peer, None);
    assert!(refused.key.is_some());
}

#[test]
fn openssl_without_a_certificate_is_refused() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let running = stage.run(&pair);
    let finished = finish(openssl(pair.ports.inbound, "X25519MLKEM768", None).argument("-ign_eof"));
    let said = format!("{}{}", finished.text(), String::from_utf8_lossy(&finished.stderr));
    assert!(said.contains("certificate required"), "{said}");
    running.nrf.refused("no-certificate");
    let counted = running.nrf.metric(
        "bartizan_sidecar_handshake_failures_total",
        &["reason=\"no-certificate\""],
    );
    assert_eq!(counted, Some(1.0));
}

#[test]
fn a_peer_that_is_not_there_is_named_to_the_consumer_in_its_own_protocol() {
    for by in BOTH {
        let mut stage = Stage::new();
        let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
        let pair = Pair::new(by, by);
        let file = stage.deployment("pair", &pair, &amf, &nrf);
        let node = stage.start(&file, "amf", pair.ports.amf_admin);
        let url = format!("http://{}/hello", pair.ports.outbound);
        for arguments in [["--http2-prior-knowledge", &url], ["--http1.1", &url]] {
            if by == By::Http2 && arguments[0] == "--http1.1" {
                continue;
            }
            let answer = ask(&arguments);
            assert_eq!(answer.0, 504, "{arguments:?}");
            let problem = problem(&answer);
            assert_eq!(problem["peer"], "nrf");
            assert_eq!(problem["reason"], "unreachable");
            assert!(
                problem["detail"]
                    .as_str()
                    .expect("text")
                    .contains(&pair.ports.inbound.to_string())
            );
        }
        let problems = node.metric("bartizan_sidecar_problems_total", &["reason=\"unreachable\""]);
        assert!(problems >= Some(1.0));
        assert_eq!(node.admin("/ready").0, 200);
    }
}
