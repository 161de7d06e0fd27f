//! Remaining rights of a running sidecar, by the kernel's account.

use std::os::unix::fs::{PermissionsExt as _, chown};

use bartizan_host::Process;

use crate::stage::{By, Node, PATIENCE, Pair, Stage, finish, get, sidecar, until};

/// A field of /proc/PID/status.
fn status(process: &Process, field: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{}/status", process.id())).expect("the kernel says");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(":\t"));
    line.expect("a field").to_owned()
}

#[test]
fn it_confines_itself_before_it_serves_and_says_each_step() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let _function = stage.nghttpd(pair.ports.function, &[]);
    stage.write("hello", "served");
    let running = stage.run(&pair);
    for process in [&running.amf.process, &running.nrf.process] {
        assert_eq!(status(process, "Seccomp"), "2");
        assert_eq!(status(process, "NoNewPrivs"), "1");
        assert_eq!(status(process, "CapEff"), "0000000000000000");
        let said = process.stderr();
        for step in ["landlock", "seccomp", "capabilities", "user"] {
            assert!(said.contains(&format!("step=\"{step}\"")), "{step}: {said}");
        }
        assert_eq!(
            said.contains("still root"),
            status(process, "Uid").starts_with("0\t"),
            "{said}"
        );
    }
    assert_eq!(get(&format!("http://{}/hello", pair.ports.outbound)).2, "served");
}

#[test]
fn asked_to_keep_its_rights_it_warns() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Splice, By::Splice);
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    let mut process = sidecar(&file, "nrf")
        .argument("--no-confine")
        .start()
        .expect("it starts");
    process.wait_for_line("ready", PATIENCE).expect("it is ready");
    assert_eq!(status(&process, "Seccomp"), status_of_self("Seccomp"));
    assert!(process.stderr().contains("keeps every right it was started with"));
}

fn status_of_self(field: &str) -> String {
    let text = std::fs::read_to_string("/proc/self/status").expect("the kernel says");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(":\t"));
    line.expect("a field").to_owned()
}

#[test]
fn a_user_that_is_unknown_or_out_of_reach_is_refused() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Splice, By::Splice);
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    let refused = finish(sidecar(&file, "nrf").arguments(["--user", "no-such-user"]));
    assert_eq!(refused.status.code(), Some(64));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        said.contains("error: --user no-such-user: no user is called `no-such-user`\nhint: "),
        "{said}"
    );
    let refused = finish(sidecar(&file, "nrf").arguments(["--user", "0:0"]));
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        said.contains("error: cannot give up rights: user: the user asked for is root"),
        "{said}"
    );
}

mod as_root {
    use super::*;

    /// It needs no entry anywhere.
    const USER: u32 = 64_997;

    #[test]
    fn started_as_root_it_becomes_the_user_named_and_still_serves_and_records() {
        bartizan_testing::needs_root();
        let mut stage = Stage::new();
        let pair = Pair::new(By::Http2, By::Http2);
        let _function = stage.nghttpd(pair.ports.function, &[]);
        stage.write("hello", "served");
        let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
        let file = stage.deployment("pair", &pair, &amf, &nrf);
        let _nrf = stage.start(&file, "nrf", pair.ports.nrf_admin);
        let folder = stage.path("");
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
        chown(&folder, Some(USER), Some(USER)).expect("it is ours");
        // Read by root at first: its user could not read it again, and that is said at once.
        let start = || {
            let mut process = sidecar(&file, "amf")
                .arguments(["--user", &USER.to_string()])
                .start()
                .expect("it starts");
            process.wait_for_line("ready", PATIENCE).expect("it is ready");
            process
        };
        let process = start();
        assert!(
            process.stderr().contains("reloading will be refused"),
            "{}",
            process.stderr()
        );
        process.terminate(PATIENCE).expect("it ends");
        chown(&amf.key, Some(USER), Some(USER)).expect("it is ours");
        let process = start();
        assert!(
            !process.stderr().contains("reloading will be refused"),
            "{}",
            process.stderr()
        );
        let user = USER.to_string();
        assert_eq!(status(&process, "Uid"), [user.as_str(); 4].join("\t"));
        assert_eq!(status(&process, "Groups").trim(), "");
        for set in ["CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb"] {
            assert_eq!(status(&process, set), "0000000000000000", "{set}");
        }
        assert_eq!(get(&format!("http://{}/hello", pair.ports.outbound)).2, "served");
        process.terminate(PATIENCE).expect("it ends");
        let ledger = std::fs::read_to_string(stage.path("pair.amf.ledger")).expect("the ledger");
        assert!(ledger.contains("X25519MLKEM768"), "{ledger}");
    }

    /// `ca renew` by root left a key that was root's, the reload was refused, and the `chown` that
    /// mended it was not noticed.
    #[test]
    fn a_key_that_is_given_to_the_service_after_a_renewal_is_noticed() {
        bartizan_testing::needs_root();
        let mut stage = Stage::new();
        let pair = Pair::new(By::Http2, By::Http2);
        let (amf, nrf, renewed) = (stage.issue("amf"), stage.issue("nrf"), stage.issue("amf"));
        let file = stage.deployment("pair", &pair, &amf, &nrf);
        let folder = stage.path("");
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
        for owned in [&folder, &amf.key] {
            chown(owned, Some(USER), Some(USER)).expect("it is ours");
        }
        let mut process = sidecar(&file, "amf")
            .arguments(["--user", &USER.to_string()])
            .start()
            .expect("it starts");
        process.wait_for_line("ready", PATIENCE).expect("it is ready");
        let node = Node {
            process,
            ledger: stage.path("pair.amf.ledger"),
            admin: pair.ports.amf_admin,
        };
        let reloads = |result: &str| node.metric("bartizan_reloads_total", &[&format!("result=\"{result}\"")]);
        std::fs::rename(&renewed.key, &amf.key).expect("root's key in its place");
        std::fs::rename(&renewed.certificate, &amf.certificate).expect("its certificate");
        until("a refused reload", || reloads("refused") >= Some(1.0));
        chown(&amf.key, Some(USER), Some(USER)).expect("it is ours");
        until("the reload", || reloads("done") == Some(1.0));
    }
}
