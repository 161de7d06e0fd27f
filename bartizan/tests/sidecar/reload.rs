//! New certificates, revocation lists and deployment files for sidecars that go on serving.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use bartizan_host::{Process, Program};
use bartizan_ledger::{Event, Record};

use crate::stage::{By, Node, PATIENCE, Pair, Papers, Stage, get, until};

/// Puts one file in the place of another as renewals do: at once.
fn replace(old: &Path, new: &Path) {
    let staged = old.with_extension("new");
    std::fs::copy(new, &staged).expect("a copy");
    std::fs::rename(&staged, old).expect("in its place");
}

pub(crate) fn renew(old: &Papers, new: &Papers) {
    replace(&old.key, &new.key);
    replace(&old.certificate, &new.certificate);
}

pub(crate) fn reloads(node: &Node, result: &str) -> f64 {
    let labels = format!("result=\"{result}\"");
    node.metric("bartizan_reloads_total", &[&labels])
        .expect("it is counted")
}

/// h2load for so many seconds on so many connections, once `is_busy`; where its time was over
/// before that was seen, it has lost nothing and is begun again.
pub(crate) fn h2load(outbound: SocketAddr, seconds: &str, connections: &str, is_busy: impl Fn() -> bool) -> Process {
    let start = || {
        Program::new("h2load")
            .package("nghttp2-client")
            .arguments(["-D", seconds, "-c", connections, "-m", "4"])
            .argument(format!("http://{outbound}/hello"))
            .start()
            .expect("h2load starts")
    };
    let mut load = start();
    until("requests", || {
        if load.ended().expect("the kernel says").is_some() {
            let said = std::mem::replace(&mut load, start()).finish(PATIENCE);
            let said = said.expect("it has ended").text();
            assert!(said.contains(" 0 failed, 0 errored, 0 timeout"), "{said}");
        }
        is_busy()
    });
    load
}

#[test]
fn a_renewed_certificate_is_used_without_losing_a_request() {
    for by in [By::Http2, By::Splice] {
        let mut stage = Stage::new();
        let pair = Pair::new(by, by);
        stage.write("hello", "served");
        let _function = stage.nghttpd(pair.ports.function, &[]);
        let (amf, nrf, renewed) = (stage.issue("amf"), stage.issue("nrf"), stage.issue("amf"));
        let mut running = stage.run_with(&pair, &amf, &nrf);
        let url = format!("http://{}/hello", pair.ports.outbound);
        until("the state has the link", || {
            let state = running.amf.state();
            let link = &state["links"][0];
            link["peer"] == "nrf" && link["interface"] == "SBI" && link["connections"].as_u64() >= Some(1)
        });
        assert_eq!(running.amf.state()["links"][0]["classical"], 0);
        let load = h2load(pair.ports.outbound, "8", "2", || {
            running.amf.connections().iter().any(|open| open["bytes_sent"] != 0)
        });
        renew(&amf, &renewed);
        until("the reload", || reloads(&running.amf, "done") == 1.0);
        // And asked for, in the middle of it all.
        running.amf.process.send(libc::SIGHUP);
        running.nrf.process.send(libc::SIGHUP);
        until("the second", || reloads(&running.amf, "done") == 2.0);
        until("the peer's", || reloads(&running.nrf, "done") == 1.0);
        let said = load.finish(PATIENCE).expect("h2load ends").text();
        let line = said
            .lines()
            .find(|line| line.starts_with("requests: "))
            .expect("its summary");
        assert!(
            line.contains(" 0 failed, 0 errored, 0 timeout"),
            "{by:?}: {said}\n{}",
            running.amf.process.stderr()
        );
        let done: u64 = line
            .split([' ', ','])
            .nth(7)
            .and_then(|count| count.parse().ok())
            .expect(line);
        assert!(done > 100, "{by:?}: {said}");

        assert_eq!(get(&url).2, "served");
        // The log and /config name the new one with its dates.
        let (_, config) = running.amf.admin("/config");
        let config: serde_json::Value = serde_json::from_str(&config).expect("JSON");
        let serial = config["certificates"][0]["serial"]
            .as_str()
            .expect("a serial")
            .to_owned();
        let not_after = config["certificates"][0]["not_after"]
            .as_str()
            .expect("a date")
            .to_owned();
        assert!(
            serial
                .trim_start_matches("00")
                .ends_with(renewed.serial.trim_start_matches("00")),
            "{config}"
        );
        let log = running.amf.process.stderr();
        let named =
            |line: &&str| line.contains("certificate in use") && line.contains(&serial) && line.contains(&not_after);
        assert_eq!(log.lines().filter(named).count(), 1, "{log}");
        let shown = running.nrf.handshakes(|handshake| {
            let leaf = handshake.chain.first();
            leaf.is_some_and(|leaf| {
                leaf.serial
                    .trim_start_matches("00")
                    .ends_with(renewed.serial.trim_start_matches("00"))
            })
        });
        assert!(!shown.is_empty());
    }
}

#[test]
fn a_broken_renewal_is_refused_and_the_old_stays_in_effect() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    stage.write("hello", "served");
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let (amf, nrf, renewed) = (stage.issue("amf"), stage.issue("nrf"), stage.issue("amf"));
    let running = stage.run_with(&pair, &amf, &nrf);
    let url = format!("http://{}/hello", pair.ports.outbound);
    let broken = stage.write(
        "broken",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    );
    replace(&amf.certificate, &broken);
    until("the refusal", || reloads(&running.amf, "refused") >= 1.0);
    assert_eq!(get(&url).2, "served");
    let said = running.amf.process.stderr();
    assert!(
        said.contains("not reloaded: what was in effect stays in effect"),
        "{said}"
    );
    assert!(
        said.contains(&amf.certificate.display().to_string()) && said.contains("hint="),
        "{said}"
    );
    // A certificate of another key is half a renewal; the key completes it.
    replace(&amf.certificate, &renewed.certificate);
    let shown = |text: &str| running.amf.admin("/ready").1.contains(text);
    let of_the_key = format!("not in effect: {}", amf.key.display());
    until("the second refusal", || shown(&of_the_key));
    replace(&amf.key, &renewed.key);
    until("the reload", || reloads(&running.amf, "done") == 1.0);
    assert_eq!(get(&url).2, "served");
}

#[test]
fn a_revoked_peer_loses_its_open_connections_and_gets_no_new_ones() {
    for by in [By::Http2, By::Splice] {
        let mut stage = Stage::new();
        stage.write("hello", "served");
        let (amf, nrf, other) = (stage.issue("amf"), stage.issue("nrf"), stage.issue("other"));
        let pair = Pair {
            crl: Some(stage.revoke(&other)),
            ..Pair::new(by, by)
        };
        let _function = stage.nghttpd(pair.ports.function, &[]);
        let running = stage.run_with(&pair, &amf, &nrf);
        let url = format!("http://{}/hello", pair.ports.outbound);
        assert_eq!(get(&url).2, "served");
        until("a connection", || !running.nrf.connections().is_empty());
        stage.revoke(&amf);
        until("the reload", || reloads(&running.nrf, "done") == 1.0);
        until("the end of its connections", || running.nrf.connections().is_empty());
        running.nrf.refused("revoked");
        assert_eq!(get(&url).0, 504);
        assert!(
            running
                .nrf
                .process
                .stderr()
                .contains("closes open connections: their peer would be refused now"),
            "{}",
            running.nrf.process.stderr()
        );
    }
}

/// A relay to `to` whose answers wait for `release`, and the port that it listens at. `seen` gets a
/// word when the first bytes of an answer wait.
fn holding_relay(to: SocketAddr, seen: Sender<()>, release: Receiver<()>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("the sidecar dials");
        let mut server = TcpStream::connect(to).expect("the other listens");
        let (mut asks, mut asked) = (client.try_clone().expect("a copy"), server.try_clone().expect("a copy"));
        thread::spawn(move || io::copy(&mut asks, &mut asked));
        let mut first = [0; 1];
        server.read_exact(&mut first).expect("an answer");
        seen.send(()).expect("the test waits");
        release.recv().expect("the test goes on");
        // Either end may close it now.
        let _ = client
            .write_all(&first)
            .and_then(|()| io::copy(&mut server, &mut client).map(drop));
    });
    address
}

#[test]
fn a_peer_that_is_revoked_during_its_handshake_carries_nothing() {
    for by in [By::Http2, By::Splice] {
        let mut stage = Stage::new();
        stage.write("hello", "served");
        let (amf, nrf, other) = (stage.issue("amf"), stage.issue("nrf"), stage.issue("other"));
        let mut pair = Pair::new(by, by);
        (pair.crl, pair.warm) = (Some(stage.revoke(&other)), 0);
        let _function = stage.nghttpd(pair.ports.function, &[]);
        let nrf_side = stage.start(
            &stage.deployment("nrf-side", &pair, &amf, &nrf),
            "nrf",
            pair.ports.nrf_admin,
        );
        let ((seen, waits), (go_on, release)) = (channel(), channel());
        let file = stage.deployment("amf-side", &pair, &amf, &nrf);
        let relay = holding_relay(pair.ports.inbound, seen, release);
        let text = std::fs::read_to_string(&file).expect("the file");
        let text = text.replace(&pair.ports.inbound.to_string(), &relay.to_string());
        std::fs::write(&file, text).expect("the file");
        let amf_side = stage.start(&file, "amf", pair.ports.amf_admin);

        let url = format!("http://{}/hello", pair.ports.outbound);
        let asks = thread::spawn(move || get(&url));
        waits.recv_timeout(PATIENCE).expect("a handshake");
        stage.revoke(&nrf);
        until("the reload", || reloads(&amf_side, "done") == 1.0);
        go_on.send(()).expect("the relay waits");
        let (status, _, body) = asks.join().expect("an answer");
        assert!(status == 504 && !body.contains("served"), "{by:?}: {status} {body}");
        until("the end of the connection", || amf_side.connections().is_empty());
        let ends = |record: &Record| matches!(&record.event, Event::Closed(closed) if closed.refused.is_some());
        until("the reason in the ledger", || amf_side.records().iter().any(ends));
        drop(nrf_side);
    }
}

/// A reload that failed was not tried again before a watched file changed: with the file of
/// remembered lists damaged, a revoked peer stayed admitted after that was mended.
#[test]
fn a_list_whose_reload_failed_is_in_effect_soon_after_the_cause_has_gone() {
    let mut stage = Stage::new();
    stage.write("hello", "served");
    let (amf, nrf, other) = (stage.issue("amf"), stage.issue("nrf"), stage.issue("other"));
    let pair = Pair {
        crl: Some(stage.revoke(&other)),
        ..Pair::new(By::Http2, By::Http2)
    };
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    let (text, folder) = (std::fs::read_to_string(&file).expect("the file"), stage.path("seen"));
    let text = text.replace("trust: { ", &format!("trust: {{ state: {}, ", folder.display()));
    std::fs::write(&file, text).expect("the file");
    std::fs::create_dir(&folder).expect("a folder");
    let nrf_side = stage.start(&file, "nrf", pair.ports.nrf_admin);
    let _amf_side = stage.start(&file, "amf", pair.ports.amf_admin);
    let url = format!("http://{}/hello", pair.ports.outbound);
    assert_eq!(get(&url).2, "served");

    let remembered = folder.join("nrf.tls.crl.pem");
    let held = std::fs::read(&remembered).expect("it is written at the start");
    assert!(nrf_side.metric("bartizan_sidecar_revocation_list_left_seconds", &[]) > Some(0.0));
    std::fs::write(&remembered, "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n").expect("a damaged file");
    stage.revoke(&amf);
    let pending = || nrf_side.metric("bartizan_sidecar_reload_pending", &[]);
    until("the refusal", || pending() == Some(1.0));
    let (status, said) = nrf_side.admin("/ready");
    assert!(
        status == 200 && said.contains("files that have changed are not in effect: "),
        "{said}"
    );
    assert_eq!(get(&url).2, "served");
    std::fs::write(&remembered, held).expect("the file as it was");
    until("the reload", || reloads(&nrf_side, "done") == 1.0);
    // Open connections are judged behind the reload.
    until("the refusal of the revoked node", || get(&url).0 == 504);
    assert_eq!(pending(), Some(0.0));
    assert_eq!(nrf_side.admin("/ready").1, "ready\n");
}

/// The list of before is signed by the authority as well: put in the place of the newer one it gave
/// a stolen key back its access.
#[test]
fn an_older_list_does_not_give_a_revoked_peer_back_its_access_and_is_shown() {
    let mut stage = Stage::new();
    stage.write("hello", "served");
    let (amf, nrf, other) = (stage.issue("amf"), stage.issue("nrf"), stage.issue("other"));
    let pair = Pair {
        crl: Some(stage.revoke(&other)),
        ..Pair::new(By::Http2, By::Http2)
    };
    let crl = pair.crl.clone().expect("a list");
    let older = crl.with_extension("older");
    std::fs::copy(&crl, &older).expect("a copy");
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let running = stage.run_with(&pair, &amf, &nrf);
    let url = format!("http://{}/hello", pair.ports.outbound);
    assert_eq!(get(&url).2, "served");
    let refused = || running.nrf.metric("bartizan_sidecar_older_revocation_lists", &[]);
    assert_eq!(
        (refused(), running.nrf.admin("/ready").1.as_str()),
        (Some(0.0), "ready\n")
    );
    stage.revoke(&amf);
    until("the reload", || reloads(&running.nrf, "done") == 1.0);
    assert_eq!(get(&url).0, 504);
    replace(&crl, &older);
    until("the next", || reloads(&running.nrf, "done") == 2.0);
    assert_eq!(get(&url).0, 504);
    assert_eq!(refused(), Some(1.0));
    let (status, said) = running.nrf.admin("/ready");
    assert!(
        status == 200 && said.contains("holds an older revocation list of "),
        "{said}"
    );
    assert!(
        running
            .nrf
            .process
            .stderr()
            .contains("holds an older revocation list of ")
    );
}

#[test]
fn a_changed_policy_holds_for_new_handshakes_and_a_changed_listener_asks_for_a_restart() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    stage.write("hello", "served");
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let running = stage.run_with(&pair, &amf, &nrf);
    let url = format!("http://{}/hello", pair.ports.outbound);
    assert_eq!(get(&url).2, "served");
    let changed = Pair {
        policy: "{ profile: hybrid, groups: [SecP256r1MLKEM768] }".to_owned(),
        ..pair.clone()
    };
    stage.deployment("pair", &changed, &amf, &nrf);
    for node in [&running.amf, &running.nrf] {
        until("the reload", || reloads(node, "done") == 1.0);
        let (_, config) = node.admin("/config");
        assert!(config.contains("SecP256r1MLKEM768"), "{config}");
    }
    assert_eq!(get(&url).2, "served");
    running.nrf.handshakes(|handshake| {
        handshake
            .negotiated
            .as_ref()
            .is_some_and(|all| all.group.name == "SecP256r1MLKEM768")
    });

    let moved = Pair {
        limits: "connections: 7".to_owned(),
        ..changed
    };
    stage.deployment("pair", &moved, &amf, &nrf);
    until("the second reload", || reloads(&running.amf, "done") == 2.0);
    until("a word about the restart", || {
        let said = running.amf.process.stderr();
        said.contains("restart this sidecar to apply it")
    });
    // The admin page shows the configuration in effect: the limits of the start, and a policy that
    // came with the same file as new limits.
    let both = Pair {
        policy: "hybrid".to_owned(),
        ..moved.clone()
    };
    stage.deployment("pair", &both, &amf, &nrf);
    until("the third reload", || reloads(&running.amf, "done") == 3.0);
    let (_, config) = running.amf.admin("/config");
    let config: serde_json::Value = serde_json::from_str(&config).expect("JSON");
    assert_eq!(config["sidecar"]["limits"]["connections"], 4096, "{config:#}");
    let groups = config["peers"][0]["policy"]["groups"].to_string();
    assert!(groups.contains("X25519MLKEM768"), "{config:#}");
    assert_eq!(config["needs_restart"].as_array().map(Vec::len), Some(1), "{config:#}");
    stage.deployment("pair", &moved, &amf, &nrf);
    until("the fourth reload", || reloads(&running.amf, "done") == 4.0);
    // The peer may have missed one that did not last long: what counts is that it has the last.
    until("the peer's", || {
        let (_, config) = running.nrf.admin("/config");
        config.contains("SecP256r1MLKEM768")
    });
    assert_eq!(get(&url).2, "served");

    stage.write("pair.yaml", "nodes: [");
    until("the refusal", || reloads(&running.amf, "refused") >= 1.0);
    assert_eq!(get(&url).2, "served");
}
