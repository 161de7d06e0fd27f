//! Rules as they are installed, compared with the deployment file, and removed.

use std::thread;

use bartizan_host::{Error, Program};
use bartizan_redirect::{Probed, probe, watch};

use super::{listen, probed};
use crate::redirect_stage::{LONG, Stage};

#[test]
fn sidecar_sees_which_rules_are_gone() {
    let stage = Stage::new();
    listen(&stage);
    let seen = |redirect, guard| Probed {
        redirect,
        guard,
        compared: guard,
    };
    assert_eq!(probed(&stage), seen(false, false));
    stage.install();
    assert_eq!(probed(&stage), seen(true, true));
    assert!(probed(&stage).installed());
    stage.host("nft flush chain inet bartizan-redirect output");
    assert_eq!(probed(&stage), seen(false, true));
    stage.install();
    stage.host("nft delete table inet bartizan-guard");
    assert_eq!(probed(&stage), seen(true, false));
    stage.host("nft flush ruleset");
    assert_eq!(probed(&stage), seen(false, false));
    let nobody = stage
        .amf
        .enter(|| {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap()
                .block_on(probe("127.0.0.1:15999".parse().unwrap()))
        })
        .unwrap();
    assert_eq!(nobody.unwrap_err().to_string(), "nothing listens at 127.0.0.1:15999");
}

#[test]
fn sidecar_notices_by_itself_that_rules_go_and_come_back() {
    let stage = Stage::new();
    listen(&stage);
    stage.install();
    let (said, hear) = std::sync::mpsc::channel();
    // The thread ends with the process, as a sidecar's does.
    let watcher = stage
        .amf
        .enter(|| {
            let (ready, begun) = std::sync::mpsc::channel();
            // A thread inherits the namespace of the one that starts it.
            let thread = thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                ready.send(()).unwrap();
                runtime.block_on(watch(
                    "127.0.0.1:15001".parse().unwrap(),
                    std::time::Duration::from_millis(20),
                    move |answer| {
                        let _ = said.send(answer);
                    },
                ));
            });
            begun.recv().unwrap();
            thread
        })
        .unwrap();
    let seen = |redirect, guard| {
        Some(Probed {
            redirect,
            guard,
            compared: guard,
        })
    };
    assert_eq!(hear.recv_timeout(LONG).unwrap(), seen(true, true));
    stage.host("nft delete table inet bartizan-redirect");
    assert_eq!(hear.recv_timeout(LONG).unwrap(), seen(false, true));
    stage.host("nft flush ruleset");
    assert_eq!(hear.recv_timeout(LONG).unwrap(), seen(false, false));
    stage.install();
    // Both tables come at once; the two questions do not.
    while hear.recv_timeout(LONG).unwrap() != seen(true, true) {}
    assert!(!watcher.is_finished());
}

#[test]
fn installing_twice_is_installing_once_and_removing_leaves_nothing() {
    let stage = Stage::new();
    // Unrelated rules, which are to stay as they are.
    stage.host("nft add table inet others");
    let state = || {
        let listings = [
            "nft list ruleset",
            "ip -4 rule",
            "ip -6 rule",
            "ip -4 route show table all",
            "ip -6 route show table all",
            "ip xfrm policy",
        ];
        // The kernel finds link-local addresses of its own, and when it has.
        let lasting = |listed: String| {
            listed
                .lines()
                .filter(|line| !line.contains("fe80:"))
                .collect::<Vec<_>>()
                .join("\n")
        };
        listings.map(|listing| lasting(stage.host(listing)))
    };
    let before = state();
    stage.install();
    let once = state();
    assert_ne!(before, once);
    stage.install();
    assert_eq!(state(), once);
    let said = stage.redirect(&["remove", "--keep-guard"]).unwrap().text();
    assert_eq!(
        said,
        "removed the redirect; guard and fence stay: requests to peers fail\n"
    );
    assert!(state()[0].contains("table inet bartizan-guard"));
    let said = stage.redirect(&["remove"]).unwrap().text();
    assert!(
        said.starts_with("removed the redirect, then the guard, then the fence\n"),
        "{said}"
    );
    assert_eq!(state(), before);
    // Removing what is not there is no error.
    stage.redirect(&["remove"]).unwrap();
    assert_eq!(state(), before);
}

#[test]
fn show_compares_what_is_installed_with_what_the_file_asks_for() {
    let stage = Stage::new();
    let show = || {
        let finished = Program::new(env!("CARGO_BIN_EXE_bartizan"))
            .arguments(["sidecar", "redirect"])
            .arguments(stage.with_plan("show"))
            .inside(&stage.amf)
            .start()
            .unwrap()
            .finish(LONG)
            .unwrap();
        (finished.status.code(), finished.text())
    };
    let all = |state| format!("redirect  {state}\nguard     {state}\nfence     {state}\n");
    assert_eq!(show(), (Some(1), all("absent")));
    stage.install();
    assert_eq!(show(), (Some(0), all("installed")));
    stage.host("nft delete element inet bartizan-guard services-v4 { 10.88.0.2 . 8000 }");
    let (code, text) = show();
    assert_eq!(code, Some(1));
    assert!(
        text.contains("guard     damaged") && text.contains("redirect  installed"),
        "{text}"
    );
    assert!(
        text.contains("\n  the set services-v4 lacks {\"concat\":[\"10.88.0.2\",8000]}\n"),
        "{text}"
    );
    stage.install();
    let other = std::fs::read_to_string(stage.file()).unwrap().replace("15001", "15002");
    std::fs::write(stage.file(), other).unwrap();
    let (code, text) = show();
    assert_eq!(code, Some(1));
    assert!(
        text.contains("redirect  not what this file asks for (it says `node amf rules "),
        "{text}"
    );
}

/// `show` said "installed" of all of these.
#[test]
fn show_names_each_rule_address_and_route_that_was_changed() {
    let stage = Stage::new();
    let show = || {
        let shown = stage.redirect(&stage.with_plan("show"));
        match shown {
            Ok(finished) => (true, finished.text()),
            Err(Error::Failed { tail, .. }) => (false, tail),
            Err(error) => panic!("{error}"),
        }
    };
    for (change, wanted) in [
        (
            "nft insert rule inet bartizan-guard output accept",
            "the chain output has another rule at 1",
        ),
        (
            "nft replace rule inet bartizan-guard input handle HANDLE accept",
            "the chain input lacks its rule 1: `clear to the own function from the network`",
        ),
        (
            "nft flush chain inet bartizan-redirect output",
            "the chain output lacks its rule",
        ),
        (
            "nft delete element inet bartizan-redirect services-v6 { fd88::2 . 8000 }",
            "the set services-v6 lacks",
        ),
        (
            "nft add element inet bartizan-redirect services-v4 { 10.88.0.3 . 8000 }",
            "the set services-v4 also has",
        ),
        (
            "nft add table inet bartizan-guard { flags dormant; }",
            "the table has the flag dormant",
        ),
        ("ip -4 route flush table 7443", "table 7443 protocol 74 is missing"),
        (
            "ip -4 route del unreachable 10.88.0.2 table 487792448",
            "the IPv4 route unreachable 10.88.0.2 table 487792448 metric 1 protocol 74 is missing",
        ),
        (
            "ip -6 route replace default via fd88::2 dev eth0 table 7443",
            "table 7443 metric 1024 protocol 3 was added",
        ),
        (
            "ip -4 rule del pref 2 ipproto tcp dport 8000",
            "the IPv4 rule pref 2 ipproto 6 dport 8000 lookup 487792448 protocol 74 is missing",
        ),
        (
            "ip -6 rule del pref 3 iif lo ipproto tcp sport 8000 unreachable",
            "the IPv6 rule pref 3 iif lo ipproto 6 sport 8000 unreachable protocol 74 is missing",
        ),
        ("ip -4 rule add pref 1 lookup main", "comes before those of the fence"),
        (
            "ip xfrm policy flush",
            "the XFRM policy src 0.0.0.0/0 dst 10.88.0.2/32 proto 6 dport 8000 dir out action block is missing",
        ),
    ] {
        stage.install();
        let (installed, text) = show();
        assert!(installed, "{text}");
        let change = if change.contains("HANDLE") {
            let listed = stage.host("nft -a list chain inet bartizan-guard input");
            let line = listed.lines().find(|line| line.contains("tcp dport")).unwrap();
            change.replace("HANDLE", line.rsplit(' ').next().unwrap())
        } else {
            change.to_owned()
        };
        stage.host(&change);
        let (installed, text) = show();
        assert!(!installed && text.contains(wanted), "{change}: {text}");
        if change.contains("pref 1 ") {
            stage.host("ip -4 rule del pref 1 lookup main");
        }
    }
}

#[test]
fn file_that_is_refused_changes_no_rule() {
    let stage = Stage::new();
    stage.install();
    let before = stage.host("nft list ruleset");
    for (from, to) in [
        ("transparent: true", "to: nrf"),
        ("address: 10.88.0.2", "address: 10.88.0.1"),
        ("nodes:", "knots:"),
    ] {
        let good = std::fs::read_to_string(stage.file()).unwrap();
        std::fs::write(stage.file(), good.replace(from, to)).unwrap();
        stage.redirect(&stage.with_plan("install")).unwrap_err();
        assert_eq!(stage.host("nft list ruleset"), before, "{to}");
        std::fs::write(stage.file(), good).unwrap();
    }
}

#[test]
fn without_root_the_error_says_what_it_takes() {
    let stage = Stage::new();
    let finished = Program::new("setpriv")
        .arguments([
            "--reuid",
            "64998",
            "--clear-groups",
            "--bounding-set",
            "-all",
            "--inh-caps",
            "-all",
        ])
        .argument(stage.binary())
        .arguments(["sidecar", "redirect"])
        .arguments(stage.with_plan("install"))
        .inside(&stage.amf)
        .start()
        .unwrap()
        .finish(LONG)
        .unwrap();
    assert_eq!(finished.status.code(), Some(2));
    let said = String::from_utf8_lossy(&finished.stderr).into_owned();
    assert!(
        said.starts_with("error: changing or reading this host's packet filter is not permitted"),
        "{said}"
    );
    assert!(said.contains("\nhint: run it as root, or with CAP_NET_ADMIN"), "{said}");
}
