//! Commands that are killed or wait in vain, and a peer that does not hear: the next command is
//! right, and the state is what `status` says.

use std::os::unix::fs::PermissionsExt as _;

use nix::sys::signal::{Signal, kill};
use serde_json::Value;

use super::{child, stderr};
use crate::stage::*;

/// The IKE_SAs that `status` shows.
fn ikes(report: &Value) -> &[Value] {
    report["links"][0]["ike"].as_array().expect("a list")
}

#[test]
fn a_down_that_the_peer_does_not_hear_leaves_what_status_says_and_the_next_up_clears_it() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let (_ric, _cu) = (stage.up("ric"), stage.up("cu"));
    stage.stands("cu");
    stage.settled();
    // Every packet of the DELETE and of its repetitions is lost.
    stage.ip("ric", &["link", "set", "v0", "down"]);
    let (code, report) = stage.json("down", "cu", &["--timeout", "1"]);
    assert_eq!((code, &report["deleted"]), (0, &1.into()));
    let (code, report) = stage.json("status", "cu", &[]);
    assert_eq!((code, ikes(&report).len()), (1, 0), "{report}");
    assert_eq!(report["links"][0]["loaded"], false);
    // The peer has not heard: its SA stands, and its status says so.
    let (_, report) = stage.json("status", "ric", &[]);
    let old = ikes(&report).iter().map(|ike| ike["spis"].clone()).collect::<Vec<_>>();
    assert_eq!(
        (old.len(), &child(&report)["state"]),
        (1, &"INSTALLED".into()),
        "{report}"
    );

    stage.ip("ric", &["link", "set", "v0", "up"]);
    let (code, report) = stage.json("up", "cu", &["--timeout", "60"]);
    assert_eq!((code, &report["attempts"][0]["outcome"]), (0, &"up".into()), "{report}");
    eventually("the peer has the new one alone", || {
        let (_, report) = stage.json("status", "ric", &[]);
        let now = ikes(&report);
        (now.len() == 1 && now[0]["spis"] != old[0]).then_some(())
    });
}

#[test]
fn a_down_that_is_killed_while_it_waits_for_the_peer_is_finished_by_the_next() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let (_ric, _cu) = (stage.up("ric"), stage.up("cu"));
    stage.stands("cu");
    stage.settled();
    stage.ip("ric", &["link", "set", "v0", "down"]);
    let mut down = stage
        .bartizan("down", "cu", &["--timeout", "600"])
        .start()
        .expect("it starts");
    eventually("half of it is done", || {
        let (_, report) = stage.json("status", "cu", &[]);
        (report["links"][0]["loaded"] == false).then_some(())
    });
    down.send(libc::SIGKILL);
    eventually("it is gone", || down.ended().expect("a child of ours"));
    let (code, report) = stage.json("status", "cu", &[]);
    assert_eq!((code, &report["links"][0]["loaded"]), (1, &false.into()));
    assert_eq!(report["cleartext"]["guard"], "installed");
    assert_eq!(stage.json("down", "cu", &["--timeout", "1"]).0, 0);
    let (_, report) = stage.json("status", "cu", &[]);
    assert_eq!(ikes(&report).len(), 0, "{report}");

    // And the next `up` is right.
    stage.ip("ric", &["link", "set", "v0", "up"]);
    let (code, report) = stage.json("up", "cu", &["--timeout", "60"]);
    assert_eq!((code, &report["attempts"][0]["outcome"]), (0, &"up".into()), "{report}");
    stage.stands("cu");
}

#[test]
fn an_up_that_is_killed_at_any_point_leaves_nothing_that_stops_the_next() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let _ric = stage.up("ric");
    let directory = stage.charon("cu");
    let loaded = || {
        let (_, report) = stage.try_json("status", "cu")?;
        (report["links"][0]["loaded"] == true).then_some(())
    };
    let stands = || {
        let (code, _) = stage.try_json("status", "cu")?;
        (code == 0).then_some(())
    };
    let points: [(&str, &dyn Fn() -> Option<()>); 4] = [
        ("its directory is made", &|| directory.exists().then_some(())),
        ("charon runs", &|| stage.charon_process("cu").map(drop)),
        ("the link is loaded", &loaded),
        ("the link stands", &stands),
    ];
    for (point, reached) in points {
        let mut up = stage.bartizan("up", "cu", &[]).start().expect("it starts");
        eventually(point, reached);
        up.send(libc::SIGKILL);
        eventually("it is gone", || up.ended().expect("a child of ours"));
        eventually("charon went with it", || {
            stage.charon_process("cu").is_none().then_some(())
        });
        // Its socket may live a moment longer than its process shows.
        eventually(point, || {
            let finished = stage.run("status", "cu", &[]);
            assert_eq!(finished.status.code(), Some(2), "{point}");
            let absent = stderr(&finished).starts_with("error: no IKE engine of ours runs for cu");
            absent.then_some(())
        });
        // A link that is down already is no error.
        assert_eq!(stage.json("down", "cu", &[]).1["deleted"], 0, "{point}");
    }
    let cu = stage.up("cu");
    stage.stands("cu");
    assert_eq!(cu.terminate(PATIENCE).expect("it ends").code(), Some(0));
    assert!(!directory.exists());
}

#[test]
fn a_charon_that_stalls_is_reported_by_every_command_within_the_time_it_states_and_the_link_stands_on() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let (_ric, _cu) = (stage.up("ric"), stage.up("cu"));
    stage.stands("cu");
    stage.settled();
    let charon = stage.charon_process("cu").expect("it runs");
    kill(charon, Signal::SIGSTOP).expect("stopped");
    // At once: each waits its ten seconds.
    let commands = ["status", "rekey", "up", "down"].map(|command| {
        let program = stage.bartizan(command, "cu", &["--json"]);
        (command, program.start().expect("it starts"))
    });
    for (command, process) in commands {
        let finished = process.finish(PATIENCE).expect("it ends");
        assert_eq!(finished.status.code(), Some(2), "{command}");
        let said = stderr(&finished);
        assert!(said.starts_with("error: charon did not answer "), "{command}: {said}");
        assert!(said.contains(" within 10s\nhint: "), "{command}: {said}");
    }
    kill(charon, Signal::SIGCONT).expect("it goes on");
    // None of them has done half of anything. A peer that has given this end up meanwhile has set
    // up another, and one goes.
    assert_eq!(stage.stands("cu")["links"][0]["loaded"], true);
    stage.settled();
    let report = stage.stands("cu");
    assert_eq!((&report["links"][0]["loaded"], ikes(&report).len()), (&true.into(), 1));
}

#[test]
fn a_state_of_the_kernel_that_goes_while_down_removes_it_is_no_failure() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let place = stage.path().join("programs");
    std::fs::create_dir(&place).expect("a directory");
    // A state that a charon has left is listed. `ip` deletes what it lists one by one: this is what
    // it says when one has gone by itself in between, as when the peer's DELETE arrives. It happens
    // once.
    let (ip, once) = (place.join("ip"), stage.path().join("once"));
    let script = format!(
        "#!/bin/sh\n[ \"$3\" != list ] || {{ echo 'src 10.77.0.1 dst 10.77.0.2'; exit; }}\nif [ \"$3\" = deleteall ] && [ ! -e {0} ]; then\n  : >{0}\n  echo 'RTNETLINK answers: No such process' >&2\n  \
         echo 'Delete-all terminated' >&2\n  exit 1\nfi\nPATH=${{PATH#*:}}\nexec ip \"$@\"\n",
        once.display()
    );
    std::fs::write(&ip, script).expect("a file");
    std::fs::set_permissions(&ip, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let path = format!("{}:{}", place.display(), std::env::var("PATH").expect("a path"));
    let down = stage.bartizan("down", "cu", &["--unguard"]).environment("PATH", path);
    let finished = down.start().expect("it starts").finish(PATIENCE).expect("it ends");
    assert_eq!(finished.status.code(), Some(0), "{}", stderr(&finished));
    assert!(once.exists(), "it was asked");
}
