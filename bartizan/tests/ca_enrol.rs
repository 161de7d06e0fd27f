//! `bartizan ca serve` and `bartizan enrol`, each judged by OpenSSL 3.5's `openssl cmp`, by curl,
//! and against each other.

mod authority;
#[path = "ca_enrol/enrolling.rs"]
mod enrolling;
#[path = "ca_enrol/fetching.rs"]
mod fetching;
#[path = "ca_enrol/general.rs"]
mod general;
#[path = "ca_enrol/http.rs"]
mod http;

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use authority::{Place, Said};
use bartizan_testing::{free_port, until};
use serde_json::Value;

/// Patience for an answer on a busy machine.
const LONG: Duration = bartizan_testing::PATIENCE;

/// An authority that serves enrolment.
struct Serving {
    child: Child,
    address: SocketAddr,
    est: Option<SocketAddr>,
}

impl Serving {
    fn start(place: &Place, options: &str) -> Self {
        let defaults = [("--listen", "127.0.0.1:0"), ("--rate", "10000")]
            .iter()
            .filter(|(option, _)| !options.contains(option))
            .map(|(option, value)| format!("{option} {value} "))
            .collect::<String>();
        let mut child = place
            .command(&format!("serve --dir ca --dns ca.ran {defaults}{options}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary runs");
        let mut out = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut address = |before: &str, behind: &str| {
            let mut line = String::new();
            out.read_line(&mut line).expect("a line");
            line.trim()
                .strip_prefix(before)
                .and_then(|rest| rest.strip_suffix(behind))
                .unwrap_or_else(|| panic!("not what is expected: {line:?}"))
                .parse()
                .expect("an address")
        };
        let cmp = address("enrolment on http://", "/.well-known/cmp");
        let est = options
            .contains("--est")
            .then(|| address("enrolment on https://", "/.well-known/est"));
        Self {
            child,
            address: cmp,
            est,
        }
    }

    /// An exchange by OpenSSL. Its words stand in `err`; the exit code tells.
    fn cmp(&self, place: &Place, arguments: &str) -> Said {
        place.openssl(&format!(
            "cmp -server {} -path .well-known/cmp -no_proxy 127.0.0.1 -total_timeout 300 {arguments}",
            self.address
        ))
    }

    fn http(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let mut answer = Vec::new();
        // An early refusal may close the connection while we still write.
        let _ = stream.write_all(request);
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }
}

/// A connection that is open now, or none where it was closed without an answer to this.
fn answered(address: SocketAddr, request: &[u8]) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    // An immediate refusal may close the connection while we still write.
    let _ = stream.write_all(request);
    match stream.read(&mut [0; 1]) {
        Ok(read) => (read > 0).then_some(stream),
        Err(error) if error.kind() == ErrorKind::ConnectionReset => None,
        Err(error) => panic!("{error}"),
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn bartizan(place: &Place, arguments: &str) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .args(arguments.split_whitespace())
        .current_dir(place)
        .env_remove("BARTIZAN_ENROL_SECRET")
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs");
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn enrol(place: &Place, arguments: &str) -> Said {
    bartizan(place, &format!("enrol {arguments}"))
}

fn enrols(place: &Place, arguments: &str) -> String {
    let said = enrol(place, arguments);
    assert_eq!(said.code, 0, "bartizan enrol {arguments}: {said:?}");
    said.out
}

/// Reference and secret of a new invitation.
fn invite(place: &Place, arguments: &str) -> (String, String) {
    let invited: Value = serde_json::from_str(&place.ca_works(&format!("invite --dir ca {arguments} --json"))).unwrap();
    let text = |field: &str| invited[field].as_str().expect(field).to_owned();
    (text("reference"), text("secret"))
}

fn audit(place: &Place) -> Vec<Value> {
    place
        .text("ca/audit.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn openssl_enrols_updates_and_revokes_with_keys_of_both_kinds() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ml-dsa-65 --intermediate");
    let serving = Serving::start(&place, "");
    for (name, key, other) in [
        ("gnb1", "ML-DSA-65", "ML-DSA-65"),
        ("gnb2", "EC -pkeyopt ec_paramgen_curve:P-256", "ML-DSA-44"),
    ] {
        let (reference, secret) = invite(&place, &format!("--name {name} --dns {name}.ran --allow-classical"));
        place.openssl_works(&format!("genpkey -algorithm {key} -out {name}.key"));
        let first = format!(
            "-cmd ir -ref {reference} -secret pass:{secret} -subject /CN={name} -newkey {name}.key \
             -certout {name}.crt -cacertsout {name}.root -extracertsout {name}.extra"
        );
        let said = serving.cmp(&place, &first);
        assert_eq!(said.code, 0, "{said:?}");
        // The root that OpenSSL received is compared with the authority's file.
        let der =
            |file: &str| place.openssl_works(&format!("x509 -in {file} -outform DER -fingerprint -sha256 -noout"));
        assert_eq!(der(&format!("{name}.root")), der("ca/root.crt.pem"));
        place.openssl_works(&format!(
            "verify -x509_strict -purpose sslserver -verify_hostname {name}.ran -CAfile {name}.root -untrusted {name}.extra {name}.crt"
        ));
        let again = serving.cmp(&place, &first);
        assert_ne!(again.code, 0, "the invitation is used up: {again:?}");

        place.openssl_works(&format!("genpkey -algorithm {other} -out {name}.new.key"));
        let update = format!(
            "-cmd kur -cert {name}.crt -key {name}.key -extracerts {name}.extra -newkey {name}.new.key -trusted {name}.root \
             -certout {name}.new.crt"
        );
        // The second one asks while a root takes the place of another: the answer has both in caPubs.
        if name == "gnb2" {
            place.ca_works("rollover publish-root --dir ca");
        }
        let said = serving.cmp(&place, &update);
        assert_eq!(said.code, 0, "{said:?}");
        let text = place.openssl_works(&format!("x509 -in {name}.new.crt -noout -ext subjectAltName"));
        assert!(text.contains(&format!("DNS:{name}.ran")), "{text}");

        let revoke = format!(
            "-cmd rr -oldcert {name}.new.crt -revreason 1 -cert {name}.new.crt -key {name}.new.key -trusted {name}.root"
        );
        let said = serving.cmp(&place, &revoke);
        assert_eq!(said.code, 0, "{said:?}");
        let shown: Value = serde_json::from_str(&place.ca_works(&format!("show --dir ca {name} --json"))).unwrap();
        assert_eq!(
            (&shown["state"], &shown["reason"]),
            (&Value::from("revoked"), &Value::from("key-compromise"))
        );
        let said = serving.cmp(
            &place,
            &format!("-cmd kur -cert {name}.new.crt -key {name}.new.key -newkey {name}.key -trusted {name}.root -certout no.crt"),
        );
        assert_ne!(said.code, 0);
        assert!(said.err.contains("is revoked"), "{said:?}");
    }
    let granted = audit(&place)
        .iter()
        .filter(|line| line["result"] == "granted")
        .map(|line| line["request"].as_str().unwrap().to_owned())
        .collect::<Vec<_>>();
    assert_eq!(granted, ["ir", "certConf", "kur", "certConf", "rr"].repeat(2));
}

#[test]
fn openssl_asks_by_pkcs10_without_confirmation_and_for_the_authoritys_certificates() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ecdsa-p384 --intermediate");
    let serving = Serving::start(&place, "");
    let (reference, secret) = invite(&place, "--name amf --dns amf.5gc");
    place.openssl_works("genpkey -algorithm ED25519 -out amf.key");
    place.openssl_works("req -new -key amf.key -subj /CN=anything -out amf.csr");
    let said = serving.cmp(
        &place,
        &format!("-cmd p10cr -ref {reference} -secret pass:{secret} -csr amf.csr -implicit_confirm -certout amf.crt"),
    );
    assert_eq!(said.code, 0, "{said:?}");
    let text = place.openssl_works("x509 -in amf.crt -noout -subject -ext subjectAltName");
    assert!(
        text.contains("CN=amf") && text.contains("DNS:amf.5gc") && !text.contains("anything"),
        "{text}"
    );
    let said = serving.cmp(
        &place,
        &format!("-cmd genm -infotype caCerts -ref {reference} -secret pass:{secret} -cacertsout all.crt"),
    );
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(place.text("all.crt").matches("BEGIN CERTIFICATE").count(), 2);
}

/// The PIN is needed once, when the service starts: enrolments sign by the session that it has.
#[test]
fn openssl_enrols_at_an_authority_whose_keys_are_in_a_token() {
    let place = Place::with_openssl();
    place.token("ca");
    place.token_works(
        "init --dir ca --algorithm ecdsa-p384 --root-key pkcs11:token=ca;object=root?module-name=softhsm2 \
         --intermediate ecdsa-p256 --intermediate-key pkcs11:token=ca;object=daily?module-name=softhsm2",
    );
    let invited = ["gnb1", "gnb2"].map(|name| {
        let said = place.token_works(&format!("invite --dir ca --name {name} --dns {name}.ran --json"));
        let invited: Value = serde_json::from_str(&said).unwrap();
        let text = |field: &str| invited[field].as_str().expect(field).to_owned();
        (name, text("reference"), text("secret"))
    });
    fs::write(place.path("pin"), format!("{}\n", authority::softhsm::PIN)).unwrap();
    let serving = Serving::start(&place, "--est 127.0.0.1:0 --pin-file pin");
    fs::remove_file(place.path("pin")).unwrap();
    for (name, reference, secret) in &invited {
        place.openssl_works(&format!("genpkey -algorithm ML-DSA-65 -out {name}.key"));
        let said = serving.cmp(
            &place,
            &format!(
                "-cmd ir -ref {reference} -secret pass:{secret} -subject /CN={name} -newkey {name}.key \
                 -certout {name}.crt -cacertsout {name}.root -extracertsout {name}.extra"
            ),
        );
        assert_eq!(said.code, 0, "{said:?}");
        place.openssl_works(&format!(
            "verify -x509_strict -verify_hostname {name}.ran -CAfile ca/root.crt.pem -untrusted {name}.extra {name}.crt"
        ));
        // Another program of the token's, between two enrolments.
        place.token_works(&format!(
            "issue --dir ca --name by-{name} --dns {name}.5gc --out by-{name}"
        ));
    }
    // Renewal by EST, over TLS with a certificate that the token signed.
    place.openssl_works("genpkey -algorithm ML-DSA-65 -out next.key");
    place.openssl_works("req -new -key next.key -subj /CN=anything -out next.csr");
    fs::write(
        place.path("gnb1.chain"),
        place.text("gnb1.crt") + &place.text("gnb1.extra"),
    )
    .unwrap();
    let renewal = "--cacert ca/root.crt.pem --cert gnb1.chain --key gnb1.key --header Content-Type:application/pkcs10 \
                   --data-binary @next.csr";
    assert_eq!(curl(&place, &serving, "simplereenroll", renewal), "200");
    let revoke =
        "-cmd rr -oldcert gnb2.crt -revreason 1 -cert gnb2.crt -key gnb2.key -trusted gnb2.root -extracerts gnb2.extra";
    let said = serving.cmp(&place, revoke);
    assert_eq!(said.code, 0, "{said:?}");
    place.openssl_works("crl -in ca/crl.pem -CAfile ca/intermediate.crt.pem -noout -verify");
}

/// Factory certificates (IEEE 802.1AR): no end, no extended key usage or an unusual one, odd key
/// usage, a hardware's name, keys and hashes of all kinds, an authority between.
#[test]
fn openssl_enrols_by_certificates_as_factories_make_them() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ml-dsa-65");
    let serving = Serving::start(&place, "");
    let end = "-not_before 20200101000000Z -not_after 99991231235959Z";
    let authority = "-addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign";
    for (name, key, hash, leaf) in [
        (
            "rsa4096",
            "rsa:4096",
            "sha512",
            "-addext keyUsage=critical,digitalSignature,keyAgreement,nonRepudiation",
        ),
        (
            "rsa2048",
            "rsa:2048",
            "sha256",
            "-addext extendedKeyUsage=1.3.6.1.4.1.99999.1 -addext subjectAltName=otherName:1.3.6.1.5.5.7.8.4;UTF8:SN",
        ),
        ("p521", "ec -pkeyopt ec_paramgen_curve:P-521", "sha512", ""),
        (
            "p384",
            "ec -pkeyopt ec_paramgen_curve:P-384",
            "sha384",
            "-addext keyUsage=digitalSignature",
        ),
    ] {
        let make = |who: &str, subject: &str, by: &str, extensions: &str| {
            place.openssl_works(&format!(
                "req -x509 -newkey {key} -{hash} -nodes -keyout {name}.{who}.key -out {name}.{who} -subj {subject} {end} {by} {extensions}"
            ));
        };
        let by = |who: &str| format!("-CA {name}.{who} -CAkey {name}.{who}.key");
        make("root", "/O=vendor/CN=root", "", authority);
        make(
            "line",
            "/O=vendor/CN=line",
            &by("root"),
            &format!("{authority},digitalSignature"),
        );
        make(
            "unit",
            &format!("/O=vendor/serialNumber=SN-{name}"),
            &by("line"),
            &format!("-addext basicConstraints=CA:FALSE {leaf}"),
        );
        place.ca_works(&format!(
            "invite --dir ca --name {name} --dns {name}.ran --vendor-root {name}.root --vendor-name SN-{name}"
        ));
        place.openssl_works(&format!("genpkey -algorithm ML-DSA-65 -out {name}.new"));
        let said = serving.cmp(
            &place,
            &format!(
                "-cmd ir -cert {name}.unit -key {name}.unit.key -untrusted {name}.line -extracerts {name}.line -trusted ca/root.crt.pem \
                 -subject /CN=x -newkey {name}.new -certout {name}.crt"
            ),
        );
        assert_eq!(said.code, 0, "{name}: {said:?}");
    }
}

/// As TS 33.310, clause 9, has base stations come: by the certificate that their vendor put into them.
#[test]
fn openssl_enrols_by_a_vendors_certificate() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ml-dsa-65");
    let vendor = |name: &str, key: &str, extra: &str| {
        place.openssl_works(&format!(
            "req -x509 -newkey {key} -nodes -keyout {name}.key -out {name}.pem {extra}"
        ));
    };
    vendor("vendor", "rsa:2048", "-subj /CN=vendor -days 30");
    vendor("other", "rsa:2048", "-subj /CN=vendor -days 30");
    let leaf = "-addext basicConstraints=critical,CA:FALSE -addext keyUsage=critical,digitalSignature";
    for (name, key, serial, of) in [
        ("gnb1", "rsa:2048", "SN-1", "vendor"),
        ("gnb2", "ec -pkeyopt ec_paramgen_curve:P-256", "SN-2", "vendor"),
        ("forged", "rsa:2048", "SN-1", "other"),
    ] {
        vendor(
            name,
            key,
            &format!("-subj /CN=base-station/serialNumber={serial} -days 20 -CA {of}.pem -CAkey {of}.key {leaf}"),
        );
    }
    let serving = Serving::start(&place, "");
    for (name, serial) in [("gnb1", "SN-1"), ("gnb2", "SN-2")] {
        place.ca_works(&format!(
            "invite --dir ca --name {name} --dns {name}.ran --vendor-root vendor.pem --vendor-name {serial}"
        ));
    }
    place.openssl_works("genpkey -algorithm ML-DSA-65 -out new.key");
    let ask = |by: &str, key: &str| {
        serving.cmp(
            &place,
            &format!(
                "-cmd ir -cert {by}.pem -key {by}.key -trusted ca/root.crt.pem -subject /CN=x -newkey {key} -certout {by}.crt"
            ),
        )
    };
    let last = || audit(&place).pop().unwrap();
    assert_ne!(ask("forged", "new.key").code, 0);
    assert_eq!(
        last()["failure"],
        "signerNotTrusted",
        "the same names under another root"
    );
    assert_ne!(ask("vendor", "new.key").code, 0);
    assert_eq!(last()["failure"], "signerNotTrusted", "the root itself");
    for name in ["gnb1", "gnb2"] {
        // A key has one name.
        let key = format!("new-{name}.key");
        place.openssl_works(&format!("genpkey -algorithm ML-DSA-65 -out {key}"));
        let said = ask(name, &key);
        assert_eq!(said.code, 0, "{name}: {said:?}");
        place.openssl_works(&format!(
            "verify -CAfile ca/root.crt.pem -verify_hostname {name}.ran {name}.crt"
        ));
        assert_ne!(ask(name, &key).code, 0, "it was confirmed: the invitation is closed");
    }
    // From now on by its own.
    place.openssl_works("genpkey -algorithm ML-DSA-65 -out next.key");
    let update =
        "-cmd kur -cert gnb1.crt -key new-gnb1.key -newkey next.key -trusted ca/root.crt.pem -certout next.crt";
    let said = serving.cmp(&place, update);
    assert_eq!(said.code, 0, "{said:?}");
    let refused = place.ca("invite --dir ca --name x --dns x.ran --vendor-root gnb1.pem --vendor-name SN-1");
    assert!(
        refused.code == 2 && refused.err.contains("may not sign certificates"),
        "{refused:?}"
    );
}

#[test]
fn what_is_refused_is_said_to_openssl_and_in_the_audit_log() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ml-dsa-65");
    let serving = Serving::start(&place, "");
    let (reference, secret) = invite(&place, "--name gnb --dns gnb.ran");
    place.openssl_works("genpkey -algorithm ML-DSA-65 -out gnb.key");
    place.openssl_works("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out classical.key");
    place.openssl_works("genpkey -algorithm RSA -out rsa.key");
    let ask = |credentials: &str, key: &str| {
        serving.cmp(
            &place,
            &format!("-cmd ir {credentials} -subject /CN=gnb -newkey {key} -certout gnb.crt -cacertsout root.crt -unprotected_errors"),
        )
    };
    let good = format!("-ref {reference} -secret pass:{secret}");
    for (credentials, key, failure) in [
        (
            format!("-ref {reference} -secret pass:guess"),
            "gnb.key",
            "badMessageCheck",
        ),
        (
            format!("-ref nobody -secret pass:{secret}"),
            "gnb.key",
            "badMessageCheck",
        ),
        (good.clone(), "classical.key", "badAlg"),
        (good.clone(), "rsa.key", "badAlg"),
        (format!("{good} -digest sha1"), "gnb.key", "badAlg"),
        (format!("{good} -popo 0"), "gnb.key", "badPOP"),
    ] {
        let said = ask(&credentials, key);
        assert_ne!(said.code, 0, "{credentials} {key}: {said:?}");
        let last = audit(&place).pop().unwrap();
        assert_eq!(
            (&last["result"], &last["failure"]),
            (&Value::from("refused"), &Value::from(failure)),
            "{last}"
        );
        assert_eq!(last["from"], "127.0.0.1");
    }
    assert!(!place.path("gnb.crt").exists());
    assert_eq!(ask(&good, "gnb.key").code, 0, "refusals have used nothing up");
    let log = place.text("ca/audit.jsonl");
    assert!(!log.contains(&secret), "the secret is in the log");
    let mode = fs::metadata(place.path("ca/audit.jsonl")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// curl of the lab root, whose OpenSSL has ML-KEM and ML-DSA: status, and what stands in the file `answer`.
fn curl(place: &Place, serving: &Serving, path: &str, arguments: &str) -> String {
    let address = serving.est.expect("it serves EST");
    let said = place.tool(
        "curl",
        &format!(
            "--silent --show-error --max-time 300 --noproxy * --resolve ca.ran:{port}:127.0.0.1 --output answer \
             --write-out %{{http_code}} {arguments} https://ca.ran:{port}/.well-known/est/{path}",
            port = address.port()
        ),
    );
    assert_eq!(said.code, 0, "curl {path} {arguments}: {said:?}");
    said.out
}

/// The certificates in the file `answer`, PEM, by OpenSSL.
fn certificates(place: &Place) -> String {
    place.openssl_works("base64 -d -A -in answer -out answer.der");
    let text = place.openssl_works("pkcs7 -inform DER -in answer.der -print_certs");
    // In the order of DER; a chain begins with the function's certificate.
    let is_authority = |block: &&str| {
        block
            .lines()
            .any(|line| line.starts_with("subject=") && line.contains("CN=Bartizan"))
    };
    let blocks = text.split_inclusive("-----END CERTIFICATE-----\n");
    let (authority, own): (Vec<&str>, Vec<&str>) = blocks.partition(is_authority);
    own.concat() + &authority.concat()
}

#[test]
fn curl_enrols_and_renews_by_est() {
    let place = Place::with_openssl();
    place.ca_works("init --dir ca --algorithm ml-dsa-65 --intermediate");
    let serving = Serving::start(&place, "--est 127.0.0.1:0 --dns enrol.ran");
    let root = "--cacert ca/root.crt.pem";
    let (reference, secret) = invite(&place, "--name amf --dns amf.5gc");

    // A client that does not know the root yet gets it, and learns by other means whether it is the right one.
    assert_eq!(curl(&place, &serving, "cacerts", "--insecure"), "200");
    let known = certificates(&place);
    assert_eq!(known.matches("BEGIN CERTIFICATE").count(), 2);
    let own = place.text("ca/root.crt.pem");
    assert!(known.contains(own.lines().nth(1).unwrap()), "the root is among them");
    assert_eq!(curl(&place, &serving, "label/csrattrs", root), "204");
    // By each name that it was given.
    let port = serving.est.expect("it serves EST").port();
    let resolved = format!("--resolve enrol.ran:{port}:127.0.0.1 https://enrol.ran:{port}/.well-known/est/csrattrs");
    assert_eq!(
        curl(
            &place,
            &serving,
            "csrattrs",
            &format!("{root} --output other {resolved}")
        ),
        "204204"
    );

    place.openssl_works("genpkey -algorithm ML-DSA-65 -out amf.key");
    place.openssl_works("req -new -key amf.key -subj /CN=anything -outform DER -out amf.csr");
    let encoded = place.openssl_works("base64 -in amf.csr");
    fs::write(place.path("amf.b64"), encoded).unwrap();
    let post = |data: &str, credentials: &str| {
        format!("{root} {credentials} --header Content-Type:application/pkcs10 --data-binary @{data}")
    };
    let user = format!("--user {reference}:{secret}");
    for (data, credentials, status) in [
        ("amf.b64", String::new(), "401"),
        ("amf.b64", format!("--user {reference}:guess"), "401"),
        ("amf.b64", format!("--user nobody:{secret}"), "401"),
        ("secret.txt", user.clone(), "400"),
    ] {
        fs::write(place.path("secret.txt"), "no request").unwrap();
        assert_eq!(
            curl(&place, &serving, "simpleenroll", &post(data, &credentials)),
            status,
            "{data} {credentials}"
        );
        // Bouncy Castle's client sends no credentials after a 401 that has a body.
        assert_eq!(place.text("answer").is_empty(), status == "401", "{data} {credentials}");
    }
    for _ in 0..2 {
        // An answer that was lost is asked for again.
        assert_eq!(curl(&place, &serving, "simpleenroll", &post("amf.b64", &user)), "200");
        fs::write(place.path("amf.crt"), certificates(&place)).unwrap();
    }
    place.openssl_works(
        "verify -x509_strict -purpose sslclient -verify_hostname amf.5gc -CAfile ca/root.crt.pem -untrusted amf.crt amf.crt",
    );
    let mine = "--cert amf.crt --key amf.key";
    assert_eq!(
        curl(&place, &serving, "simplereenroll", &post("amf.b64", mine)),
        "400",
        "the same key"
    );
    place.openssl_works("genpkey -algorithm ML-DSA-87 -out next.key");
    place.openssl_works("req -new -key next.key -subj /CN=anything -out next.csr");
    assert_eq!(
        curl(&place, &serving, "simplereenroll", &post("next.csr", &user)),
        "403",
        "by a secret"
    );
    assert_eq!(curl(&place, &serving, "simplereenroll", &post("next.csr", mine)), "200");
    fs::write(place.path("next.crt"), certificates(&place)).unwrap();
    let text = place.openssl_works("x509 -in next.crt -noout -subject -ext subjectAltName");
    assert!(text.contains("CN=amf") && text.contains("DNS:amf.5gc"), "{text}");

    // A client with the key of a certificate that this authority does not know, or has revoked,
    // gets nothing.
    place.openssl_works("req -x509 -key amf.key -subj /CN=amf -out own.crt");
    assert_eq!(
        curl(
            &place,
            &serving,
            "simplereenroll",
            &post("next.csr", "--cert own.crt --key amf.key")
        ),
        "403"
    );
    let serial = place.openssl_works("x509 -in amf.crt -noout -serial");
    place.ca_works(&format!(
        "revoke --dir ca {}",
        serial.trim().trim_start_matches("serial=")
    ));
    assert_eq!(curl(&place, &serving, "simplereenroll", &post("next.csr", mine)), "403");
    let results: Vec<String> = audit(&place)
        .iter()
        .map(|line| {
            format!(
                "{} {}",
                line["request"].as_str().unwrap(),
                line["failure"].as_str().unwrap_or("granted")
            )
        })
        .collect();
    assert_eq!(
        results,
        [
            "simpleenroll badMessageCheck",
            "simpleenroll badMessageCheck",
            "simpleenroll badDataFormat",
            "simpleenroll granted",
            "simpleenroll granted",
            "simplereenroll badCertTemplate",
            "simplereenroll notAuthorized",
            "simplereenroll granted",
            "simplereenroll signerNotTrusted",
            "simplereenroll certRevoked",
        ]
    );
    // No group that a quantum computer breaks: who has no other is refused by TLS.
    let address = serving.est.unwrap();
    let classical = place.tool(
        "curl",
        &format!("--silent --insecure --max-time 300 --curves X25519 https://{address}/.well-known/est/cacerts"),
    );
    assert_ne!(classical.code, 0, "{classical:?}");
}
