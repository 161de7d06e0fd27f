mod cleartext;
mod data_paths;
mod egress;
mod engine;
mod faults;
mod guarding;
mod guest;
mod lost;
mod many;
mod nat;
mod probing;
mod reauthentication;
mod refused;
mod scripted;
mod side_by_side;
mod two_links;
mod userspace;
mod userspace_kept;

use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixListener;
use std::time::{Duration, SystemTime};

use bartizan_host::Program;
use bartizan_ledger::{Cause, Direction, Event, Refuser, Verdict, Why};
use bartizan_pki::Reason;
use serde_json::Value;

use crate::stage::*;

/// The first SA of the first CHILD_SA.
fn child(report: &Value) -> &Value {
    &report["links"][0]["children"][0]["sas"][0]
}

fn stderr(finished: &bartizan_host::Finished) -> String {
    String::from_utf8_lossy(&finished.stderr).into_owned()
}

/// Waits until the node's ledger and its `status` name a refusal of this direction, with its end
/// and reason, and the link is down.
fn is_reported(stage: &Stage, node: &str, direction: Direction, by: Refuser, reason: &str) {
    is_recorded(stage, node, direction, by, reason);
    eventually("status has it", || {
        let (code, report) = stage.try_json("status", node)?;
        assert_eq!((code, &report["watched"]), (1, &true.into()));
        report["links"][0]["last_refusal"]["reason"].is_string().then_some(())
    });
}

/// Waits until the node's ledger names it.
fn is_recorded(stage: &Stage, node: &str, direction: Direction, by: Refuser, reason: &str) {
    eventually(&format!("{node} records {direction:?} {reason}"), || {
        let mut events = events(stage, node).into_iter();
        let found = events.any(|event| {
            matches!(event, Event::SaRefused(refused) if (refused.direction, refused.by, refused.reason.as_str()) == (direction, by, reason)
                && refused.connection.as_deref() == Some("cu--ric") && !refused.detail.is_empty())
        });
        found.then_some(())
    });
}

#[test]
fn a_link_comes_up_and_is_rekeyed_and_goes_down_as_status_says_and_nothing_is_left() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let (ric, cu) = (stage.up("ric"), stage.up("cu"));
    let report = eventually("the link stands", || {
        let (code, report) = stage.json("status", "cu", &[]);
        (code == 0).then_some(report)
    });
    assert_eq!(report["well"], true);
    let names = |algorithms: &Value| -> Vec<String> {
        let named = algorithms.as_array().expect("a list").iter();
        named
            .map(|one| one["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    let hybrid = ["Curve25519", "ml-kem-768"];
    stage.settled();
    let report = stage.stands("cu");
    assert_eq!(names(&report["links"][0]["ike"][0]["key_exchanges"]), hybrid);
    assert!(
        names(&child(&report)["key_exchanges"]).is_empty(),
        "keyed from its IKE_SA"
    );

    // Two at once, next to the one that stays: nothing is set up a second time.
    let others = [(); 2].map(|()| stage.bartizan("up", "cu", &["--json"]).start().expect("it starts"));
    for other in others {
        let finished = other.finish(PATIENCE).expect("it ends");
        let report: Value = serde_json::from_str(&finished.text()).expect("JSON");
        assert_eq!(
            (finished.status.code(), &report["attempts"][0]["outcome"]),
            (Some(0), &"stood".into())
        );
        assert_eq!(report["links"][0]["ike"].as_array().map(Vec::len), Some(1));
    }

    let (code, report) = stage.json("rekey", "cu", &[]);
    assert_eq!(
        (code, names(&child(&report)["key_exchanges"]).as_slice()),
        (0, hybrid.map(String::from).as_slice())
    );
    assert_eq!(stage.json("rekey", "cu", &["--ike"]).0, 0);

    // Half-way down: charon has forgotten the connection, its SAs stand. The next `down` ends it.
    let (code, report) = stage.json("down", "cu", &[]);
    assert_eq!((code, &report["deleted"]), (0, &1.into()));
    let (code, report) = stage.json("status", "cu", &[]);
    assert_eq!((code, &report["links"][0]["loaded"]), (1, &false.into()));
    assert_eq!(report["links"][0]["ike"].as_array().map(Vec::len), Some(0));
    assert_eq!(stage.json("down", "cu", &[]).1["deleted"], 0);

    for (node, process) in [("cu", cu), ("ric", ric)] {
        let status = process.terminate(PATIENCE).expect("it ends");
        assert_eq!(status.code(), Some(0), "{node}");
        assert!(!stage.charon(node).exists(), "{node}");
    }
    let recorded = events(&stage, "cu");
    let causes: Vec<_> = recorded
        .iter()
        .filter_map(|event| match event {
            Event::IkeSa(sa) => Some(("ike", sa.cause, sa.verdict == Verdict::Accepted)),
            Event::ChildSa(sa) => Some(("child", sa.cause, sa.verdict == Verdict::Accepted)),
            _ => None,
        })
        .collect();
    for (kind, is_child) in [("ike", false), ("child", true)] {
        let count = |cause: Cause| causes.iter().filter(|known| **known == (kind, cause, true)).count();
        // If this end took long, the other has begun as well: the second SA ended as a duplicate.
        let twice = recorded.iter().filter(|event| {
            matches!(event, Event::SaClosed(closed) if closed.why == Why::Duplicate && closed.spi_in.is_some() == is_child)
        });
        let begun = count(Cause::SetUp) + count(Cause::ReAuthentication);
        assert!(count(Cause::SetUp) > 0, "{causes:?}");
        assert_eq!((begun, count(Cause::Rekey)), (1 + twice.count(), 1), "{causes:?}");
    }
}

#[test]
fn a_probe_finds_the_key_exchanges_of_charon_and_no_way_in_for_classical_initiators() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let _ric = stage.up("ric");
    let probe = Program::new(env!("CARGO_BIN_EXE_bartizan"))
        .arguments(["probe", "10.77.0.2:500", "--ike", "--json", "--timeout", "60s"])
        .inside(stage.space("cu"));
    let finished = probe.start().expect("it starts").finish(PATIENCE).expect("it ends");
    assert_eq!(finished.status.code(), Some(1), "{}", stderr(&finished));
    let document: Value = serde_json::from_str(&finished.text()).expect("JSON");
    let values = |question: &str| {
        let mut answers = document["answers"].as_array().expect("answers").iter();
        answers
            .find(|answer| answer["question"] == question)
            .expect("an answer")["values"]
            .clone()
    };
    assert_eq!(values("key exchanges"), serde_json::json!(["none"]), "{document}");
    assert_eq!(
        values("additional key exchanges (RFC 9370)"),
        serde_json::json!(["ml-kem-768"])
    );
    assert_eq!(values("classical-only client"), serde_json::json!(["refused"]));
    // IKE_SA_INIT proves nothing: that is the only finding.
    let answers = document["answers"].as_array().expect("answers").iter();
    let findings = answers.filter(|answer| !answer["finding"].is_null());
    let findings: Vec<_> = findings.map(|answer| answer["question"].clone()).collect();
    assert_eq!(findings, ["proof"]);
}

#[test]
fn of_two_ups_that_start_at_once_one_keeps_charon_and_the_other_waits_for_it() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let _ric = stage.up("ric");
    let both = [(); 2].map(|()| stage.bartizan("up", "cu", &["--json"]).start().expect("it starts"));
    stage.stands("cu");
    let mut ended = Vec::new();
    let mut both = both.map(Some);
    eventually("one of them is done", || {
        for process in &mut both {
            if process
                .as_mut()
                .is_some_and(|process| process.ended().expect("a child of ours").is_some())
            {
                let process = process.take().expect("it is there");
                ended.push(process.finish(PATIENCE).expect("it ends"));
            }
        }
        (!ended.is_empty()).then_some(())
    });
    let finished = &ended[0];
    assert_eq!(
        (ended.len(), finished.status.code()),
        (1, Some(0)),
        "{}",
        stderr(finished)
    );
    let report: Value = serde_json::from_str(&finished.text()).expect("JSON");
    assert_eq!(report["well"], true);
    // The other has charon, and keeps it.
    stage.settled();
    assert_eq!(
        stage.json("status", "cu", &[]).1["links"][0]["ike"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    let kept = both.into_iter().flatten().next().expect("it stays");
    assert_eq!(kept.terminate(PATIENCE).expect("it ends").code(), Some(0));
}

#[test]
fn nobody_else_can_hold_the_lock_of_a_charon() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let (_ric, _cu) = (stage.up("ric"), stage.up("cu"));
    stage.stands("cu");
    // Any user may do so with /run, where the system's socket is.
    let directory = std::fs::File::open(stage.charon("cu")).expect("a directory");
    directory.lock().expect("locked");
    let known = directory.metadata().expect("it is there");
    let file = format!(
        "/run/bartizan/ipsec/locks/{:x}-{:x}-charon.vici",
        known.dev(),
        known.ino()
    );
    let as_nobody = Program::new("setpriv")
        .arguments([
            "--reuid",
            "65534",
            "--regid",
            "65534",
            "--clear-groups",
            "flock",
            "--nonblock",
        ])
        .arguments([&file, "true"]);
    let Err(refused) = as_nobody.run(PATIENCE) else {
        panic!("another user has locked {file}");
    };
    assert!(refused.to_string().contains("Permission denied"), "{refused}");
    assert!(std::path::Path::new(&file).exists());
    assert_eq!(stage.json("up", "cu", &[]).1["attempts"][0]["outcome"], "stood");
    assert_eq!(stage.json("down", "cu", &[]).0, 0);
}

#[test]
fn a_peer_that_has_only_classical_key_exchange_gets_no_link() {
    let stage = Stage::set_up("hybrid", "{ profile: classical, lab: true }");
    let (_ric, _cu) = (stage.up("ric"), stage.up("cu"));
    let (code, report) = stage.json("up", "cu", &[]);
    assert_eq!(code, 1);
    let attempt = &report["attempts"][0];
    assert_eq!(
        (&attempt["outcome"], &attempt["reason"]),
        (&"failed".into(), &"no-common-proposal".into())
    );
    // The reason is known at both ends: the end that refused reports the offer.
    is_reported(&stage, "cu", Direction::Outbound, Refuser::Peer, "no-common-proposal");
    is_reported(&stage, "ric", Direction::Inbound, Refuser::Us, "no-common-proposal");
    let (code, report) = stage.json("status", "cu", &[]);
    assert_eq!((code, &report["well"]), (1, &false.into()));
    assert_eq!(child(&report), &Value::Null);
}

#[test]
fn a_certificate_that_has_run_out_or_was_revoked_opens_no_link() {
    let mut stage = Stage::set_up("hybrid", "hybrid");
    let then = SystemTime::now() - Duration::from_secs(50 * 24 * 3600);
    stage.issue("ric", then);
    let (ric, cu) = (stage.up("ric"), stage.up("cu"));
    let (code, report) = stage.json("up", "cu", &[]);
    assert_eq!(
        (code, &report["attempts"][0]["reason"]),
        (1, &"expired".into()),
        "{report}"
    );
    is_reported(&stage, "cu", Direction::Outbound, Refuser::Us, "expired");
    is_reported(&stage, "ric", Direction::Inbound, Refuser::Peer, "peer-refused");
    let (_, report) = stage.json("status", "ric", &[]);
    assert_eq!(report["well"], false);
    let ended = report["certificate_not_after"].as_u64().expect("a time");
    assert!(SystemTime::UNIX_EPOCH + Duration::from_secs(ended) < SystemTime::now());

    for process in [ric, cu] {
        process.terminate(PATIENCE).expect("it ends");
    }
    // The responder's: it is the one that refuses.
    stage.issue("ric", SystemTime::now());
    let serial = stage.issue("cu", SystemTime::now());
    stage
        .authority
        .revoke(&serial, Reason::KeyCompromise, SystemTime::now())
        .expect("revoked");
    stage.publish();
    let (_ric, _cu) = (stage.up("ric"), stage.up("cu"));
    let (code, report) = stage.json("up", "cu", &[]);
    assert_eq!(
        (code, &report["attempts"][0]["reason"]),
        (1, &"peer-refused".into()),
        "{report}"
    );
    is_reported(&stage, "ric", Direction::Inbound, Refuser::Us, "revoked");
    is_reported(&stage, "cu", Direction::Outbound, Refuser::Peer, "peer-refused");
}

#[test]
fn another_nodes_certificate_is_refused_before_anything_is_loaded() {
    let stage = Stage::set_up("hybrid", "hybrid");
    for file in ["crt", "key"] {
        let [of_ric, of_cu] = ["ric", "cu"].map(|node| stage.path().join(format!("{node}.{file}.pem")));
        std::fs::copy(of_ric, of_cu).expect("a file");
    }
    let finished = stage.run("up", "cu", &[]);
    assert_eq!(finished.status.code(), Some(2));
    let said = stderr(&finished);
    assert!(
        said.starts_with("error: nothing is loaded: ") && said.contains("carries DNS:ric.test"),
        "{said}"
    );
    assert!(!stage.charon("cu").exists(), "no charon was started");
}

#[test]
fn what_this_charon_cannot_do_is_said_before_anything_is_loaded() {
    let policy = "{ profile: hybrid, ipsec: { key-exchanges: [x25519-ke1_frodoa3] } }";
    let stage = Stage::set_up(policy, policy);
    let finished = stage.run("up", "cu", &[]);
    assert_eq!(finished.status.code(), Some(2));
    let said = stderr(&finished);
    assert!(said.contains("error: nothing is loaded: E2 cu -- ric"), "{said}");
    assert!(said.contains("frodoa3"), "{said}");
    assert!(!stage.charon("cu").exists(), "nothing is left of its charon");
}

#[test]
fn a_charon_that_is_absent_or_answers_nonsense_is_reported_with_what_to_do() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let finished = stage.run("status", "cu", &[]);
    assert_eq!(finished.status.code(), Some(2));
    assert!(
        stderr(&finished).starts_with("error: no IKE engine of ours runs for cu\nhint: "),
        "{}",
        stderr(&finished)
    );

    let socket = stage.charon("cu").join("charon.vici");
    std::fs::create_dir(stage.charon("cu")).expect("a directory");
    let listener = UnixListener::bind(&socket).expect("a socket");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a request");
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").expect("it reads");
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let finished = stage.run("status", "cu", &[]);
        assert_eq!(finished.status.code(), Some(2));
        let said = stderr(&finished);
        assert!(said.starts_with("error: what answers version is no charon: "), "{said}");
        assert!(said.contains("hint: is this the socket of an IKE engine?"), "{said}");
    });
}
