//! Peers with TLS of their own and no sidecar: nghttpx and curl with OpenSSL 3.5, and Go's
//! net/http.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use bartizan_host::{Process, Program};
use bartizan_ledger::{Handshake, Verdict};
use bartizan_testing::Listening as _;
use bartizan_testing::lab_root;
use bartizan_testing::loopback_addresses;

use crate::classical::Network;
use crate::stage::{By, PATIENCE, Pair, Papers, Stage, ask, finish, get, problem, sidecar, until};

/// The deployment file with this in place of the sidecar of `node`, and nothing of its certificate.
fn without_sidecar(file: &Path, node: &str, tls: &str) -> PathBuf {
    let text = std::fs::read_to_string(file).expect("the file");
    let begin = text.find(&format!("\n  {node}:\n")).expect("the node") + 1;
    let rest = &text[begin..];
    let end = rest[1..]
        .find("\n  nrf:\n")
        .or_else(|| rest.find("\ninterfaces:"))
        .map_or(rest.len(), |end| end + 1);
    let own = &rest[..end];
    let kept = own.find("    certificate").expect("a certificate");
    let changed = format!("{}    tls: {tls}\n", &own[..kept]);
    let all = format!("{}{changed}{}", &text[..begin], rest[end..].trim_start_matches('\n'));
    std::fs::write(file, all).expect("the file");
    file.to_owned()
}

/// nghttpx with OpenSSL 3.5, which verifies clients and takes `:scheme https` alone; `behind` has
/// what it serves.
fn nghttpx(address: SocketAddr, behind: SocketAddr, own: &Papers, roots: &Path) -> Process {
    let server = lab_root().command("nghttpx").expect("nghttpx in the lab root");
    let mut process = server
        .arguments(["--conf=/dev/null", "--single-process", "--workers=1", "--no-ocsp"])
        .arguments([
            "--require-http-scheme",
            "--ecdh-curves=X25519MLKEM768",
            "--verify-client",
        ])
        .argument(format!("--verify-client-cacert={}", roots.display()))
        .arguments(["--accesslog-file=/dev/stdout", "--errorlog-file=/dev/stderr"])
        .argument("--accesslog-format=$status by $tls_client_subject_name")
        .argument(format!("--frontend={},{}", address.ip(), address.port()))
        .argument(format!("--backend={},{};;proto=h2", behind.ip(), behind.port()))
        .argument(&own.key)
        .argument(&own.certificate)
        .start()
        .expect("it starts");
    process.wait_for_port(address, PATIENCE).expect("it listens");
    process
}

/// The program of `ends/end.go`.
fn go_end() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sidecar/ends/end.go");
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("own-tls-end");
    let mut go = Command::new("go");
    let done = go.args(["build", "-o"]).arg(&built).arg(&source).status();
    let done = done.is_ok_and(|status| status.success());
    assert!(
        done,
        "go build {}; hint: `scripts/setup test` installs go",
        source.display()
    );
    built
}

fn name(handshake: &Handshake) -> Option<&str> {
    handshake.peer.as_deref()
}

#[test]
fn a_function_with_tls_of_its_own_is_asked_by_https_and_judged_by_names_roots_and_policy() {
    let (mut stage, mut elsewhere) = (Stage::new(), Stage::new());
    stage.write("hello", "served");
    let amf = stage.issue("amf");
    let right = stage.issue("nrf");
    let wrong_name = stage.issue("smf");
    let wrong_root = elsewhere.issue("nrf");
    // The address is right in each case.
    for (papers, refused) in [
        (&right, None),
        (&wrong_name, Some("wrong-name")),
        (&wrong_root, Some("unknown-ca")),
    ] {
        let [by_authority] = loopback_addresses().expect("a port");
        let pair = Pair::new(By::Http2, By::Http2);
        let (listen, outbound) = (pair.ports.inbound, pair.ports.outbound);
        let file = stage.deployment("pair", &pair, &amf, &right);
        let file = without_sidecar(&file, "nrf", &format!("[{{ listen: '{listen}' }}]"));
        let text = std::fs::read_to_string(&file).expect("the file");
        let both = format!("      outbound:\n        - {{ listen: '{by_authority}' }}\n");
        std::fs::write(&file, text.replace("      outbound:\n", &both)).expect("the file");
        let function = stage.nghttpd(pair.ports.function, &["--verbose"]);
        let server = nghttpx(listen, pair.ports.function, papers, &amf.roots);
        let ours = stage.start(&file, "amf", pair.ports.amf_admin);
        let url = format!("http://{outbound}/hello");
        let Some(reason) = refused else {
            // To one peer, and by the authority; the function speaks either version.
            assert_eq!(get(&url).2, "served", "{}", ours.process.stderr());
            assert_eq!(ask(&["--http1.1", &url]).2, "served");
            let proxy = format!("nrf.5gc:{}:{by_authority}", listen.port());
            let named = format!("http://nrf.5gc:{}/hello", listen.port());
            let answer = ask(&["--http2-prior-knowledge", "--connect-to", &proxy, &named]);
            assert_eq!(answer.2, "served", "{answer:?}");
            // Its own check, and what it hands on.
            until("the requests", || server.stdout().matches("200 by CN=amf").count() == 3);
            until("the requests", || {
                function.stdout().matches(":scheme: https").count() == 3
            });
            let handshakes = ours.handshakes(|handshake| handshake.peer_address == listen);
            assert!(handshakes.iter().all(|one| name(one) == Some("nrf")), "{handshakes:?}");
            assert!(handshakes.iter().all(|one| one.verdict == Verdict::Accepted));
            let group = &handshakes[0].negotiated.as_ref().expect("values").group.name;
            assert_eq!(group, "X25519MLKEM768");
            continue;
        };
        let answer = get(&url);
        assert_eq!(problem(&answer)["reason"], reason, "{answer:?}");
        ours.refused(reason);
        assert!(!function.stdout().contains(":path"), "{}", function.stdout());
    }
}

/// Its address is never a reason: it is that of the node in each case.
#[test]
fn a_client_with_tls_of_its_own_is_admitted_by_its_certificate_alone() {
    let (mut stage, mut elsewhere) = (Stage::new(), Stage::new());
    stage.write("hello", "served");
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let smf = stage.issue("smf");
    let of_another = elsewhere.issue("amf");
    let pair = Pair::new(By::Http2, By::Http2);
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    let file = without_sidecar(&file, "amf", "[]");
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let ours = stage.start(&file, "nrf", pair.ports.nrf_admin);
    let port = pair.ports.inbound.port();
    let ask_with = |papers: Option<&Papers>, url: &str| {
        let root = lab_root();
        let curl = root.command("curl").expect("curl in the lab root");
        let curl = curl
            .arguments(["--silent", "--show-error", "--max-time", "50", "--http2", "--resolve"])
            .argument(format!("nrf.5gc:{port}:127.0.0.1"))
            .argument("--cacert")
            .argument(&nrf.roots);
        let curl = match papers {
            Some(papers) => curl
                .argument("--cert")
                .argument(&papers.certificate)
                .argument("--key")
                .argument(&papers.key),
            None => curl,
        };
        finish(curl.argument(url)).text()
    };
    let https = format!("https://nrf.5gc:{port}/hello");
    assert_eq!(ask_with(Some(&amf), &https), "served", "{}", ours.process.stderr());
    let accepted = ours.handshakes(|handshake| handshake.verdict == Verdict::Accepted);
    assert!(accepted.iter().all(|one| name(one) == Some("amf")), "{accepted:?}");
    for (papers, reason) in [
        (None, "no-certificate"),
        (Some(&smf), "wrong-name"),
        (Some(&of_another), "unknown-ca"),
    ] {
        assert_eq!(ask_with(papers, &https), "", "{reason}");
        ours.refused(reason);
    }
    let plain = ask_with(Some(&amf), &format!("http://nrf.5gc:{port}/hello"));
    assert!(!plain.contains("served"), "{plain}");
}

/// Go has no TLS state for its handlers where requests say `:scheme http`.
#[test]
fn go_sees_the_client_s_certificate_until_the_exception_ends() {
    let network = Network::new();
    let (listen, outbound) = (network.pair.ports.inbound, network.pair.ports.outbound);
    let [_, nrf] = &network.of_classical;
    let server = Program::new(go_end())
        .argument("http")
        .argument(listen.ip().to_string())
        .argument(listen.port().to_string())
        .argument(&nrf.certificate)
        .argument(&nrf.key)
        .argument(&nrf.roots);
    let mut server = server.start().expect("it starts");
    server
        .wait_for_line("ACCEPT", PATIENCE)
        .unwrap_or_else(|error| panic!("{error}\n{}", server.stderr()));
    without_sidecar(&network.file, "nrf", &format!("[{{ listen: '{listen}' }}]"));
    let url = format!("http://{outbound}/hello");
    {
        let amf = network.start("amf", network.last);
        assert_eq!(get(&url).2, "HTTP/2.0 from amf.5gc\n", "{}", amf.process.stderr());
        let handshake = amf.handshakes(|handshake| handshake.peer_address == listen).remove(0);
        assert_eq!(name(&handshake), Some("nrf"));
        let reason = "an old SMF".to_owned();
        assert_eq!(handshake.verdict, Verdict::Excepted { reason });
    }
    let after = network.last + Duration::from_secs(86_400);
    let amf = network.start("amf", after);
    let answer = get(&url);
    assert_eq!(answer.0, 504, "{answer:?}");
    amf.refused("peer-refused");
}

#[test]
fn a_node_with_tls_of_its_own_runs_no_sidecar() {
    let mut stage = Stage::new();
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let pair = Pair::new(By::Http2, By::Http2);
    let file = stage.deployment("pair", &pair, &amf, &nrf);
    let file = without_sidecar(&file, "nrf", &format!("[{{ listen: '{}' }}]", pair.ports.inbound));
    let ended = finish(sidecar(&file, "nrf"));
    assert_eq!(ended.status.code(), Some(64));
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    for part in [
        "the node `nrf` has no sidecar",
        "nrf has TLS of its own: run this for its peers",
    ] {
        assert!(said.contains(part), "{said}");
    }
}
