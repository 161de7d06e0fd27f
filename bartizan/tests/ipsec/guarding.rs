//! The guard by itself: before files, charon and locks, by its own commands, and left in place by an `up` that fails.

use std::time::SystemTime;

use bartizan_host::{Finished, Process, Program};
use bartizan_wire::ip;
use serde_json::Value;

use super::cleartext::icmp_error;
use super::stderr;
use crate::stage::*;

/// `bartizan guard ...` on the CU.
fn guard(stage: &Stage, arguments: &[&str]) -> Finished {
    started(stage, arguments).finish(PATIENCE).expect("it ends")
}

fn started(stage: &Stage, arguments: &[&str]) -> Process {
    let file = stage.path().join("cu.yaml");
    let file = file.to_str().expect("UTF-8");
    let arguments = arguments
        .iter()
        .map(|argument| if *argument == "FILE" { file } else { argument });
    Program::new(env!("CARGO_BIN_EXE_bartizan"))
        .argument("guard")
        .arguments(arguments)
        .inside(&stage.cu)
        .start()
        .expect("it starts")
}

/// Exit code and what `guard show` finds.
fn shown(stage: &Stage) -> (Option<i32>, Value) {
    let finished = guard(stage, &["show", "FILE", "--node", "cu", "--json"]);
    let report = serde_json::from_str(&finished.text()).expect("JSON");
    (finished.status.code(), report)
}

/// `nft -j` lists eight kilobytes of each: of a hundred the beginning was dropped, and `guard` and `up` ended with 2.
#[test]
fn guard_of_a_ric_with_a_hundred_gnbs_is_installed_and_compared() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let mut text = "nodes:\n  cu: { function: near-RT RIC, address: 10.77.0.1 }\n".to_owned();
    let mut links = "interfaces:\n".to_owned();
    for gnb in 1..=100 {
        text += &format!("  gnb{gnb}: {{ function: gNB, address: 10.77.1.{gnb} }}\n");
        links += &format!(
            "  - {{ kind: E2, between: [gnb{gnb}, cu], with: ipsec, ipsec: {{ inner: {{ gnb{gnb}: [10.78.1.{gnb}, 'fd78::{gnb}'], \
             cu: [10.78.0.1, 'fd78::'] }} }} }}\n"
        );
    }
    std::fs::write(stage.path().join("cu.yaml"), text + &links).expect("a file");
    let installed = guard(&stage, &["install", "FILE", "--node", "cu"]);
    assert_eq!(installed.status.code(), Some(0), "{}", stderr(&installed));
    let (code, report) = shown(&stage);
    assert_eq!((code, &report["guard"]), (Some(0), &"installed".into()));
    assert_eq!(report["links"].as_array().map(Vec::len), Some(100));
    let removed = Program::new("nft")
        .arguments(["flush", "chain", "inet", "bartizan-ipsec-cu", "leaving-gnb100-E2"])
        .inside(&stage.cu);
    removed.run(PATIENCE).expect("nft");
    let (code, report) = shown(&stage);
    assert_eq!((code, &report["guard"]), (Some(1), &"damaged".into()));
}

#[test]
fn guard_is_installed_shown_and_removed_without_a_certificate_or_a_charon() {
    let stage = Stage::set_up("hybrid", "hybrid");
    for file in ["cu.crt.pem", "cu.key.pem", "ca.crt.pem"] {
        std::fs::remove_file(stage.path().join(file)).expect("it was there");
    }
    let (code, report) = shown(&stage);
    assert_eq!((code, &report["guard"]), (Some(1), &"absent".into()));
    let installed = guard(&stage, &["install", "FILE", "--node", "cu"]);
    assert_eq!(installed.status.code(), Some(0), "{}", stderr(&installed));
    let said = installed.text();
    assert!(
        said.starts_with("unencrypted packets are dropped: 0 packets leaving"),
        "{said}"
    );
    let (code, report) = shown(&stage);
    assert_eq!((code, &report["guard"]), (Some(0), &"installed".into()), "{report}");
    assert_eq!(
        (&report["schema"], &report["node"]),
        (&"bartizan-guard/1".into(), &"cu".into())
    );
    assert_eq!(report["links"][0]["link"], "ric-E2");

    // A second time changes nothing.
    let list = || {
        let nft = Program::new("nft")
            .arguments(["-a", "list", "ruleset"])
            .inside(&stage.cu);
        nft.run(PATIENCE).expect("nft").text()
    };
    let before = list();
    assert_eq!(
        guard(&stage, &["install", "FILE", "--node", "cu"]).status.code(),
        Some(0)
    );
    assert_eq!(list(), before);

    // Another state of the file is reported, and takes its place.
    let file = stage.path().join("cu.yaml");
    let text = std::fs::read_to_string(&file).expect("a file");
    std::fs::write(&file, text.replace("10.78.0.2", "10.78.0.3")).expect("a file");
    let (code, report) = shown(&stage);
    assert_eq!((code, &report["guard"]), (Some(1), &"other".into()));
    assert_eq!(
        guard(&stage, &["install", "FILE", "--node", "cu"]).status.code(),
        Some(0)
    );
    assert_eq!(shown(&stage).0, Some(0));

    // A lost file delays nothing.
    std::fs::remove_file(&file).expect("it was there");
    for _ in 0..2 {
        let removed = guard(&stage, &["remove", "--node", "cu"]);
        assert_eq!(removed.status.code(), Some(0), "{}", stderr(&removed));
        assert_eq!(list(), "");
    }
    let refused = guard(&stage, &["install", "FILE", "--node", "cu"]);
    assert_eq!(refused.status.code(), Some(64), "{}", stderr(&refused));
}

/// "Port unreachable" quotes up to 548 octets of what an SA protected, and matches no selector itself.
#[test]
fn an_icmp_error_that_quotes_a_packet_of_the_link_does_not_leave_unprotected() {
    let stage = Stage::set_up("hybrid", "hybrid");
    assert_eq!(
        guard(&stage, &["install", "FILE", "--node", "cu"]).status.code(),
        Some(0)
    );
    let dropped = || {
        let (_, report) = shown(&stage);
        report["links"][0]["dropped_leaving"]
            .as_u64()
            .unwrap_or_else(|| panic!("{report}"))
    };
    for (protocol, drops) in [(ip::SCTP, 3), (ip::UDP, 0)] {
        let before = dropped();
        let mut send = icmp_error(&stage.cu, [[10, 78, 0, 1], [10, 78, 0, 2]], protocol);
        (0..3).for_each(|_| send());
        assert_eq!(dropped() - before, drops, "quoting protocol {protocol}");
    }
}

#[test]
fn one_command_guards_the_ports_of_macsec_links_too_also_before_they_are_there() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let file = stage.path().join("cu.yaml");
    // None of the files that it names is read.
    let text = "policy: hybrid\ntrust: { roots: none.pem }\nnodes:\n  \
        cu: { function: O-DU, address: 10.77.0.1, certificate: none.pem, key: none.key }\n  \
        ric: { function: near-RT RIC, address: 10.77.0.2 }\n  \
        oru: { function: O-RU, address: 10.77.0.3, certificate: none.pem, key: none.key }\n";
    let macsec = "  - { kind: FH, between: [cu, oru], with: macsec, macsec: { port: { cu: fh0, oru: eth0 } } }\n";
    let ipsec = "  - { kind: E2, between: [cu, ric], with: ipsec, \
        ipsec: { inner: { cu: [10.78.0.1], ric: [10.78.0.2] } } }\n";
    let ip = |words: &str| {
        let ip = Program::new("ip").arguments(words.split(' ')).inside(&stage.cu);
        ip.run(PATIENCE).expect("ip");
    };
    for interfaces in [
        format!("interfaces:\n{ipsec}{macsec}"),
        format!("interfaces:\n{macsec}"),
    ] {
        std::fs::write(&file, format!("{text}{interfaces}")).expect("a file");
        let both = interfaces.contains(ipsec);
        let (code, report) = shown(&stage);
        assert_eq!(
            (code, &report["macsec"]["guard"]),
            (Some(1), &"absent".into()),
            "{report}"
        );
        assert_eq!(report["macsec"]["unguarded"][0], "fh0", "{report}");
        // Before Linux 6.16 it waits for the port, which is there a moment later.
        let installing = started(&stage, &["install", "FILE", "--node", "cu", "--wait", "60"]);
        ip("link add fh0 type veth peer name fh1");
        let installed = installing.finish(PATIENCE).expect("it ends");
        assert_eq!(installed.status.code(), Some(0), "{}", stderr(&installed));
        ip("link set fh0 up");
        // A port that came behind the rules of its name has no program yet.
        let (_, report) = shown(&stage);
        let why = report["macsec"]["why"].as_str();
        assert!(why.is_none_or(|why| why.starts_with("no program stands")), "{report}");
        let again = guard(&stage, &["install", "FILE", "--node", "cu"]);
        assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
        let (code, report) = shown(&stage);
        assert_eq!(code, Some(0), "{report}");
        assert_eq!(report["macsec"]["guard"], "installed", "{report}");
        assert_eq!(report["macsec"]["dropped"][0]["port"], "fh0", "{report}");
        assert_eq!(
            report["guard"],
            if both { "installed".into() } else { Value::Null },
            "{report}"
        );
        let removed = guard(&stage, &["remove", "--node", "cu"]);
        assert_eq!(removed.status.code(), Some(0), "{}", stderr(&removed));
        let (code, report) = shown(&stage);
        assert_eq!(
            (code, &report["macsec"]["guard"]),
            (Some(1), &"absent".into()),
            "{report}"
        );
        ip("link delete fh0");
    }
}

#[test]
fn an_up_that_fails_before_there_is_a_charon_leaves_the_guard_installed() {
    let mut stage = Stage::set_up("hybrid", "hybrid");
    // Any step may fail first: here the certificate.
    std::fs::write(stage.path().join("cu.crt.pem"), "nothing of a certificate").expect("a file");
    let up = stage.run("up", "cu", &[]);
    assert_eq!(up.status.code(), Some(2), "{}", stderr(&up));
    let said = stderr(&up);
    assert!(
        said.contains("the guard of cu is installed and stays: packets of its IPsec links")
            && said.contains("`bartizan guard remove --node cu`"),
        "{said}"
    );
    let (code, report) = shown(&stage);
    assert_eq!((code, &report["guard"]), (Some(0), &"installed".into()), "{report}");
    let down = stage.run("down", "cu", &["--unguard"]);
    // It needs the certificate too; the guard has its own command.
    assert_eq!(down.status.code(), Some(2), "{}", stderr(&down));
    assert_eq!(guard(&stage, &["remove", "--node", "cu"]).status.code(), Some(0));
    assert_eq!(shown(&stage).1["guard"], "absent");

    // Without charon: the system's is not there.
    stage.issue("cu", SystemTime::now());
    let up = stage.bartizan_at("up", "cu", &["--vici", "/nonexistent/charon.vici"]);
    let up = up
        .start()
        .and_then(|process| process.finish(PATIENCE))
        .expect("it ends");
    assert_eq!(up.status.code(), Some(2), "{}", stderr(&up));
    assert_eq!(shown(&stage).1["guard"], "installed");
}

#[test]
fn the_right_to_change_the_packet_filter_is_all_that_the_guard_takes() {
    let stage = Stage::set_up("hybrid", "hybrid");
    let file = stage.path().join("cu.yaml");
    let with_one_right = |action: &str| {
        Program::new("setpriv")
            .arguments(["--bounding-set=-all,+net_admin", "--inh-caps=-all"])
            .argument(env!("CARGO_BIN_EXE_bartizan"))
            .arguments(["guard", action])
            .argument(&file)
            .arguments(["--node", "cu"])
            .inside(&stage.cu)
            .start()
            .and_then(|process| process.finish(PATIENCE))
            .expect("it ends")
    };
    for action in ["install", "show", "install"] {
        let finished = with_one_right(action);
        assert_eq!(finished.status.code(), Some(0), "{action}: {}", stderr(&finished));
    }
    // If no namespace may be created, the rules are tried under another name, of which nothing is
    // left.
    let nft = Program::new("nft").arguments(["list", "tables"]).inside(&stage.cu);
    assert_eq!(nft.run(PATIENCE).expect("nft").text(), "table inet bartizan-ipsec-cu\n");
    // A user with all rights finds the same.
    assert_eq!(shown(&stage).1["guard"], "installed");
    let nobody = Program::new("setpriv")
        .arguments(["--bounding-set=-all", "--inh-caps=-all"])
        .argument(env!("CARGO_BIN_EXE_bartizan"))
        .arguments(["guard", "install"])
        .argument(&file)
        .arguments(["--node", "cu"])
        .inside(&stage.cu)
        .start()
        .and_then(|process| process.finish(PATIENCE))
        .expect("it ends");
    assert_eq!(nobody.status.code(), Some(2));
    let said = stderr(&nobody);
    assert!(said.contains("is not permitted: this needs root\nhint: "), "{said}");
}
