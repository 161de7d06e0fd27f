//! Rules of many peers.

use std::os::unix::fs::PermissionsExt as _;

use bartizan_host::Program;
use bartizan_testing::until;

use crate::redirect_stage::{LONG, Stage};

/// From 250 peers on a second `install` failed and `remove` left rules; from 1,195 on `show` could
/// not read them, and `watch` repaired nothing.
#[test]
fn thousand_peers_are_installed_twice_compared_repaired_and_removed() {
    use std::fmt::Write as _;
    let stage = Stage::new();
    let good = std::fs::read_to_string(stage.file()).unwrap();
    let with = |peers: usize| {
        let mut nodes = String::new();
        for number in 0..peers {
            let address = format!("10.90.{}.{}", number / 200, 1 + number % 200);
            let name = "a-name-of-some-length-as-operators-have-them";
            let inbound = format!("{{ listen: '{address}:7443', forward: '127.0.0.1:8000' }}");
            let files = "certificate: nrf/nrf.crt.pem, key: nrf/nrf.key.pem";
            let _ = write!(
                nodes,
                "\n  {name}-{number}: {{ function: NF, address: {address}, {files}, sidecar: {{ inbound: [ {inbound} ] }} }}"
            );
        }
        let text = good.replace("\ninterfaces:", &format!("{nodes}\ninterfaces:"));
        std::fs::write(stage.file(), text).unwrap();
    };
    let lines = |command: &str| stage.host(command).lines().count();
    let others = [
        "ip -4 rule",
        "ip -6 rule",
        "ip -4 route show table all proto 74",
        "ip -6 route show table all proto 74",
    ]
    .map(lines);
    let rules = || lines("ip -4 rule") + lines("ip -6 rule");
    let show = || stage.redirect(&stage.with_plan("show")).unwrap().text();
    let installed = "redirect  installed\nguard     installed\nfence     installed\n";
    with(260);
    stage.install();
    let few = rules();
    with(1250);
    for _ in 0..2 {
        stage.install();
        assert_eq!(show(), installed);
    }
    assert_eq!(rules(), few, "rules do not grow with peers");
    assert_eq!(
        lines("ip xfrm policy"),
        2 * 1252,
        "two lines each: peers, the NRF, the own port"
    );
    let watch = Program::new(env!("CARGO_BIN_EXE_bartizan"))
        .arguments(["sidecar", "redirect"])
        .arguments(stage.with_plan("watch"))
        .arguments(["--every", "1"])
        .inside(&stage.amf);
    let mut watch = watch.start().unwrap();
    watch.wait_for_line("redirected and guarded", LONG).unwrap();
    stage.host("nft flush ruleset");
    watch
        .wait_for_line("the rules are what they should be again", LONG)
        .unwrap();
    assert_eq!(show(), installed);
    watch.terminate(LONG).unwrap();
    with(300);
    stage.install();
    assert_eq!(show(), installed);
    stage.redirect(&["remove"]).unwrap();
    let left = [
        "ip -4 rule",
        "ip -6 rule",
        "ip -4 route show table all proto 74",
        "ip -6 route show table all proto 74",
    ]
    .map(lines);
    assert_eq!(left, others);
    assert_eq!(lines("ip xfrm policy"), 0);
}

#[test]
fn watch_that_cannot_read_the_rules_says_so_and_repairs_them_once_it_can() {
    let stage = Stage::new();
    let folder = tempfile::tempdir().unwrap();
    let (nft, broken) = (folder.path().join("nft"), folder.path().join("broken"));
    let found = std::env::var("PATH").unwrap() + ":/usr/sbin:/sbin";
    let found = found.split(':').map(|folder| std::path::Path::new(folder).join("nft"));
    let real = found.into_iter().find(|place| place.is_file()).unwrap();
    let script = format!(
        "#!/bin/sh\n[ -e {} ] && exit 1\nexec {} \"$@\"\n",
        broken.display(),
        real.display()
    );
    std::fs::write(&nft, script).unwrap();
    std::fs::set_permissions(&nft, std::fs::Permissions::from_mode(0o755)).unwrap();
    let watch = Program::new(env!("CARGO_BIN_EXE_bartizan"))
        .arguments(["sidecar", "redirect"])
        .arguments(stage.with_plan("watch"))
        .arguments(["--every", "1"])
        .environment(
            "PATH",
            format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap()),
        )
        .inside(&stage.amf);
    let mut watch = watch.start().unwrap();
    watch.wait_for_line("redirected and guarded", LONG).unwrap();
    std::fs::write(&broken, "").unwrap();
    stage.host("nft flush ruleset");
    watch
        .wait_for_line("the rules cannot be read, requests may leave unencrypted", LONG)
        .unwrap();
    watch
        .wait_for_line("they cannot be installed again either", LONG)
        .unwrap();
    std::fs::remove_file(&broken).unwrap();
    watch
        .wait_for_line("the rules are what they should be again", LONG)
        .unwrap();
    stage.redirect(&stage.with_plan("show")).unwrap();

    // Rules of a file that cannot be used were confirmed: the sidecar was ready.
    let confirmed = || {
        let set = stage.host("nft list set inet bartizan-guard compared");
        set.contains("elements = {")
    };
    until("the rules are confirmed", confirmed);
    let text = std::fs::read_to_string(stage.file()).unwrap();
    std::fs::write(stage.file(), "nodes: [").unwrap();
    watch
        .wait_for_line("the file cannot be used, the rules stay as they are", LONG)
        .unwrap();
    until("nothing confirms the rules", || !confirmed());
    std::fs::write(stage.file(), text).unwrap();
    until("the rules are confirmed again", confirmed);
    watch.terminate(LONG).unwrap();
}
