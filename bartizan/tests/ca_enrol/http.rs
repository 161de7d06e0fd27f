//! `bartizan ca serve` as an HTTP server: what it refuses, its bounds, and lists while the authority is busy.

use super::*;

#[test]
fn http_that_is_not_cmp_is_put_off_and_lists_are_given_to_anybody() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ml-dsa-44 --intermediate");
    let serving = Serving::start(&place, "");
    let status = |request: &str| {
        let answer = serving.http(request.as_bytes());
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    let post = |kind: &str, length: usize, body: &str| {
        format!(
            "POST /.well-known/cmp HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    };
    assert_eq!(status("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), "404");
    assert_eq!(
        status("GET /.well-known/cmp HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
        "405"
    );
    assert_eq!(
        status("GET /.well-known/cmpx HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
        "404"
    );
    assert_eq!(status(&post("text/plain", 2, "ab")), "415");
    assert_eq!(
        status(&post("application/pkixcmp", 200_000, &"a".repeat(200_000))),
        "413"
    );
    // A request that is no message gets an error message.
    let answer = serving.http(post("application/pkixcmp", 4, "0123").as_bytes());
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("application/pkixcmp"),
        "{answer}"
    );
    let body = |path: &str| {
        let answer = serving.http(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes());
        answer.split_once("\r\n\r\n").expect("a head").1.to_owned()
    };
    assert_eq!(body("/ca.crt.pem"), place.text("ca/root.crt.pem"));
    assert_eq!(body("/crl.pem"), place.text("ca/crl.pem"));
    let last = audit(&place).pop().unwrap();
    assert_eq!(
        (&last["request"], &last["failure"]),
        (&Value::from("unreadable"), &Value::from("badDataFormat"))
    );
}

/// Each start that failed had issued a responder's certificate before.
#[test]
fn a_start_that_finds_its_port_taken_issues_nothing() {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ed25519");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let before = place.ca_works("list --dir ca");
    let said = place.ca(&format!(
        "serve --dir ca --dns ca.ran --listen {}",
        taken.local_addr().unwrap()
    ));
    assert!(said.code == 2 && said.err.contains("in use"), "{said:?}");
    assert_eq!(place.ca_works("list --dir ca"), before);
}

/// Eight addresses with slow bodies stopped enrolments, roots and lists for as long as they liked.
#[test]
fn slow_bodies_of_many_addresses_stop_neither_lists_nor_enrolments() {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ed25519");
    let (reference, secret) = invite(&place, "--name gnb --dns gnb.ran");
    fs::write(place.path("secret"), secret).unwrap();
    let serving = Serving::start(&place, "");
    let slow = |at: usize| {
        let from = Ipv4Addr::new(127, 0, 0, 10 + u8::try_from(at % 8).unwrap());
        let mut stream = connected(from, serving.address);
        let _ = stream.write_all(b"POST /.well-known/cmp HTTP/1.1\r\nHost: x\r\nContent-Type: application/pkixcmp\r\nContent-Length: 1000\r\n\r\na");
        stream
    };
    let _held: Vec<TcpStream> = (0..320).map(slow).collect();
    let answer = serving.http(b"GET /crl.pem HTTP/1.0\r\n\r\n");
    assert!(
        answer.starts_with("HTTP/1.0 200") && answer.contains("X509 CRL"),
        "{answer}"
    );
    let server = format!("--server http://{} --name gnb --out gnb", serving.address);
    enrols(
        &place,
        &format!("{server} --reference {reference} --secret-file secret"),
    );
    // A body that is too slow is refused.
    let mut last = slow(0);
    last.set_read_timeout(Some(LONG)).unwrap();
    let mut answer = String::new();
    let _ = last.read_to_string(&mut answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
}

/// Any process that held the lock, such as a prompt for a passphrase, stopped them.
#[test]
fn roots_and_lists_are_served_while_the_authority_is_locked() {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ed25519");
    let serving = Serving::start(&place, "");
    let get = |path: &str| {
        let answer = serving.http(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes());
        answer.split_once("\r\n\r\n").expect("a head").1.to_owned()
    };
    let before = get("/crl.pem");
    place.ca_works("issue --dir ca --name amf --dns amf.5gc --out out");
    place.ca_works("revoke --dir ca amf");
    let lock = fs::File::open(place.path("ca/ca.lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(get("/ca.crt.pem"), place.text("ca/root.crt.pem"));
    let after = get("/crl.pem");
    assert_eq!(after, place.text("ca/crl.pem"), "the newest list");
    assert_ne!(after, before);
}

/// A connection from an address of this host.
fn connected(from: Ipv4Addr, to: SocketAddr) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind((from, 0).into()).unwrap();
        socket.connect(to).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream
}

/// Regression: the thread that accepted EST connections also waited for the authority, and with it
/// every other connection.
#[test]
fn connections_are_taken_up_while_a_request_waits_for_the_authority() {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ed25519");
    let serving = Serving::start(&place, "--est 127.0.0.1:0");
    let lock = fs::File::open(place.path("ca/ca.lock")).unwrap();
    lock.lock().unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            serving.http(b"POST /.well-known/cmp HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/pkixcmp\r\nContent-Length: 4\r\n\r\n0123")
        });
        thread::sleep(Duration::from_millis(500));
        let _est = TcpStream::connect(serving.est.unwrap()).unwrap();
        thread::sleep(Duration::from_millis(500));
        let answer = serving.http(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
        assert!(!waiting.is_finished(), "it did not wait for the authority");
        lock.unlock().unwrap();
    });
}

/// Each is a signature, whether anything is asked or not; only requests were counted.
#[test]
fn handshakes_of_an_address_are_counted() {
    let place = Place::new();
    place.ca_works("init --dir ca --algorithm ed25519");
    let serving = Serving::start(&place, "--rate 3 --est 127.0.0.1:0");
    // One that is taken up is answered by an alert: this is no TLS.
    let is_taken_up = |_: &usize| answered(serving.est.unwrap(), b"x").is_some();
    let taken_up = (0..20_usize).take_while(is_taken_up).count();
    assert!((6..12).contains(&taken_up), "{taken_up}");
}

#[test]
fn an_address_that_asks_too_often_waits_and_a_withdrawn_invitation_opens_nothing() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ed25519");
    let (reference, secret) = invite(&place, "--name gnb --dns gnb.ran");
    place.ca_works(&format!("withdraw --dir ca {reference}"));
    place.ca_works(&format!("withdraw --dir ca {reference}"));
    assert_eq!(place.ca("withdraw --dir ca nobody").code, 2);
    let serving = Serving::start(&place, "--rate 3");
    fs::write(place.path("secret"), secret).unwrap();
    let server = format!("--server http://{} --name gnb --out gnb", serving.address);
    let ask = || {
        enrol(
            &place,
            &format!("{server} --reference {reference} --secret-file secret"),
        )
    };
    // Three, and one more for each twenty seconds that these take.
    let (began, mut served) = (Instant::now(), 0_u32);
    loop {
        let said = ask();
        assert_eq!(said.code, 2, "{said:?}");
        if said.err.contains("429") {
            break;
        }
        assert!(said.err.contains("badMessageCheck"), "{said:?}");
        served += 1;
        let most = 3.0 + began.elapsed().as_secs_f64() / 20.0;
        assert!(f64::from(served) <= most, "{served} of {most}");
    }
    assert!(served >= 3, "{served}");
}
