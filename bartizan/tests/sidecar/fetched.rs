//! Revocation lists that a confined sidecar fetches: from `ca serve`, and made by OpenSSL.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

use bartizan_host::{Process, Program};
use bartizan_testing::lab_root;

use crate::reload::reloads;
use crate::stage::{By, Node, PATIENCE, Pair, Papers, Stage, finish, get, until};

/// Writes the file of a pair whose lists are fetched into a folder of each node's own.
fn deployment(stage: &Stage, (amf, nrf): (&Papers, &Papers), pair: &Pair, url: &str) -> std::path::PathBuf {
    let file = stage.deployment("pair", pair, amf, nrf);
    let folder = stage.path("state");
    std::fs::create_dir_all(&folder).expect("a folder");
    let lists = format!("{{ url: {url}, file: {} }}", folder.join("crl.pem").display());
    let text = std::fs::read_to_string(&file).expect("the file");
    let text = text.replace(
        "trust: { ",
        &format!("trust: {{ state: {}, crl: {lists}, ", folder.display()),
    );
    stage.write("pair.yaml", text)
}

fn serve(stage: &Stage, listen: &str) -> (Process, SocketAddr) {
    let mut serving = Program::new(env!("CARGO_BIN_EXE_bartizan"))
        .arguments(["ca", "serve", "--dns", "ca.5gc", "--listen", listen, "--dir"])
        .argument(stage.path("served"))
        .start()
        .expect("it starts");
    serving
        .wait_for_line("enrolment on http://", PATIENCE)
        .expect("it serves");
    let said = serving.stdout();
    let address = said.split("http://").nth(1).and_then(|rest| rest.split('/').next());
    (serving, address.expect("an address").parse().expect("an address"))
}

/// Answers every request with what `body` holds then.
fn answers(body: &Arc<Mutex<Vec<u8>>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let body = Arc::clone(body);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            // All of it: a connection that is closed before is reset.
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let _ = lines.find(String::is_empty);
            let body = body.lock().expect("whole").clone();
            // The client may be ended with the test.
            let _ = stream
                .write_all(b"HTTP/1.0 200 OK\r\n\r\n")
                .and_then(|()| stream.write_all(&body));
        }
    });
    address
}

fn failing(node: &Node) -> Option<f64> {
    node.metric("bartizan_sidecar_revocation_lists_not_fetched", &[])
}

#[test]
fn a_confined_sidecar_refuses_a_peer_that_a_fetched_list_revokes() {
    let mut stage = Stage::new();
    stage.write("hello", "served");
    let (amf, nrf, other) = (stage.issue("amf"), stage.issue("nrf"), stage.issue("other"));
    stage.revoke(&other);
    let pair = Pair::new(By::Http2, By::Http2);
    let _function = stage.nghttpd(pair.ports.function, &[]);
    // The stage holds the lock of its own authority.
    let copied = Program::new("cp")
        .arguments(["-r", "ca", "served"])
        .directory(stage.path(""));
    finish(copied);
    let (serving, address) = serve(&stage, "127.0.0.1:0");
    let file = deployment(
        &stage,
        (&amf, &nrf),
        &pair,
        &format!("http://localhost:{}/crl.pem", address.port()),
    );
    let mut nrf_side = stage.start(&file, "nrf", pair.ports.nrf_admin);
    let _amf_side = stage.start(&file, "amf", pair.ports.amf_admin);
    let url = format!("http://{}/hello", pair.ports.outbound);
    assert_eq!(get(&url).2, "served");
    assert!(nrf_side.process.stderr().contains("confined step=\"landlock\""));
    assert_eq!(failing(&nrf_side), Some(0.0));

    // The server is away: the lists of before stay in effect, and `/ready` says so.
    drop(serving);
    nrf_side.process.send(libc::SIGHUP);
    until("the failure", || failing(&nrf_side) == Some(1.0));
    let (status, said) = nrf_side.admin("/ready");
    assert!(
        status == 200 && said.contains("revocation lists are not fetched: http://localhost:"),
        "{said}"
    );
    assert_eq!(get(&url).2, "served");

    let revoked =
        Program::new(env!("CARGO_BIN_EXE_bartizan")).arguments(["ca", "revoke", &amf.serial, "--dir", "served"]);
    finish(revoked.directory(stage.path("")));
    let (_serving, _) = serve(&stage, &address.to_string());
    nrf_side.process.send(libc::SIGHUP);
    until("the lists", || failing(&nrf_side) == Some(0.0));
    until("the refusal of the revoked node", || get(&url).0 == 504);
    assert_eq!(nrf_side.admin("/ready").1, "ready\n");
}

#[test]
fn lists_of_openssl_are_fetched_again_within_their_lifetime_and_older_ones_are_refused() {
    let mut stage = Stage::new();
    let (amf, nrf) = (stage.issue("amf"), stage.issue("nrf"));
    let pair = Pair::new(By::Http2, By::Http2);
    let _function = stage.nghttpd(pair.ports.function, &[]);
    stage.write("hello", "served");
    let settings = "[ca]\ndefault_ca = own\n[own]\ndatabase = index.txt\ncrlnumber = number\ndefault_md = default\ncrl_extensions = list\n\
                    [list]\nauthorityKeyIdentifier = keyid\n";
    stage.write("openssl.cnf", settings);
    stage.write("index.txt", "");
    // Looked at a hundred times before its end: every two seconds.
    let list = |number: &str, form: &str| {
        stage.write("number", number);
        let run = |arguments: &str| {
            let openssl = lab_root().command("openssl").expect("openssl in the lab root");
            finish(openssl.arguments(arguments.split(' ')).directory(stage.path("")))
        };
        run("ca -config openssl.cnf -gencrl -keyfile ca/root.key.pem -cert ca/root.crt.pem -crlsec 200 -out made.pem");
        run(&format!("crl -in made.pem -outform {form} -out made.crl"));
        std::fs::read(stage.path("made.crl")).expect("a list")
    };
    let revoke = |papers: &Papers| {
        let day = time::OffsetDateTime::now_utc() + time::Duration::days(80);
        let day = day.date().to_string().replace('-', "");
        let serial = papers.serial.to_uppercase();
        stage.write(
            "index.txt",
            format!("R\t{day}000000Z\t261101000000Z\t{serial}\tunknown\t/CN=amf\n"),
        );
    };
    let first = list("20", "PEM");
    let body = Arc::new(Mutex::new(first.clone()));
    let file = deployment(&stage, (&amf, &nrf), &pair, &format!("http://{}/crl", answers(&body)));
    let nrf_side = stage.start(&file, "nrf", pair.ports.nrf_admin);
    let _amf_side = stage.start(&file, "amf", pair.ports.amf_admin);
    let url = format!("http://{}/hello", pair.ports.outbound);
    assert_eq!(get(&url).2, "served");

    revoke(&amf);
    *body.lock().expect("whole") = list("21", "DER");
    until("the refusal of the revoked node", || get(&url).0 == 504);
    assert!(reloads(&nrf_side, "done") >= 1.0);
    *body.lock().expect("whole") = first;
    until("the older list", || {
        nrf_side.admin("/ready").1.contains("holds an older revocation list of")
    });
    assert_eq!(get(&url).0, 504);
}
