//! One classical peer until a date: curl and OpenSSL of the host, which know neither ML-KEM nor ML-DSA.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bartizan_host::Program;
use bartizan_ledger::{Handshake, Verdict};
use bartizan_pki::Algorithm;
use time::OffsetDateTime;
use time::format_description::FormatItem;
use time::macros::{format_description, time};

use crate::stage::{By, Node, PATIENCE, Pair, Papers, Stage, curl, finish, openssl, until};

const DAY: &[FormatItem<'_>] = format_description!("[year]-[month]-[day]");

/// Two authorities and a pair in which both nodes have a certificate of each.
pub(crate) struct Network {
    safe: Stage,
    classical: Stage,
    pub(crate) pair: Pair,
    pub(crate) file: PathBuf,
    /// Certificates of amf and nrf, with the roots of the authority that issued them.
    of_safe: [Papers; 2],
    pub(crate) of_classical: [Papers; 2],
    pub(crate) last: OffsetDateTime,
}

impl Network {
    pub(crate) fn new() -> Self {
        let mut safe = Stage::new();
        let mut classical = Stage::with(Algorithm::EcdsaP256);
        let last = OffsetDateTime::now_utc() + Duration::from_secs(2 * 86_400);
        let pair = Pair {
            policy: format!(
                "{{ profile: transition, reason: an old SMF, expires: {} }}",
                last.format(DAY).expect("a day")
            ),
            ..Pair::new(By::Http2, By::Http2)
        };
        // The classical certificate ends with the exception: the day after neither matters.
        let end = SystemTime::from(last.replace_time(time!(23:59:59)));
        let of_safe = ["amf", "nrf"].map(|name| safe.issue(name));
        let of_classical = ["amf", "nrf"].map(|name| classical.issue_until(name, end));
        let file = safe.deployment("pair", &pair, &of_safe[0], &of_safe[1]);
        let mut text = std::fs::read_to_string(&file).expect("the file");
        for (one, other) in of_safe.iter().zip(&of_classical) {
            let single = format!(
                "certificate: {}\n    key: {}\n",
                one.certificate.display(),
                one.key.display()
            );
            let entry = |papers: &Papers| {
                let (certificate, key) = (papers.certificate.display(), papers.key.display());
                format!("      - {{ certificate: {certificate}, key: {key} }}\n")
            };
            assert!(text.contains(&single), "{text}");
            text = text.replace(&single, &format!("certificates:\n{}{}", entry(other), entry(one)));
        }
        let roots = [&of_safe[0].roots, &of_classical[0].roots].map(|roots| std::fs::read(roots).expect("roots"));
        let both = safe.write("both.ca", roots.concat());
        text = text.replace(
            &format!("roots: {}", of_safe[0].roots.display()),
            &format!("roots: {}", both.display()),
        );
        std::fs::write(&file, text).expect("the file");
        safe.write("hello", "served");
        Self {
            safe,
            classical,
            pair,
            file,
            of_safe,
            of_classical,
            last,
        }
    }

    /// The sidecar of `node` with its clock at noon of this day.
    pub(crate) fn start(&self, node: &str, day: OffsetDateTime) -> Node {
        let admin = match node {
            "amf" => self.pair.ports.amf_admin,
            _ => self.pair.ports.nrf_admin,
        };
        let noon = day.replace_time(time!(12:00:00));
        self.safe.start_at(noon, &self.file, node, admin)
    }

    /// Answer to curl with the classical certificate of amf, or the exit code of curl.
    fn curl(&self) -> Result<String, Option<i32>> {
        let [amf, _] = &self.of_classical;
        let shown = |path: &Path| path.display().to_string();
        let port = self.pair.ports.inbound.port();
        let url = format!("https://nrf.5gc:{port}/hello");
        let resolve = format!("nrf.5gc:{port}:127.0.0.1");
        let (certificate, key, roots) = (shown(&amf.certificate), shown(&amf.key), shown(&amf.roots));
        let arguments = [
            "--http2",
            "--resolve",
            &resolve,
            "--cert",
            &certificate,
            "--key",
            &key,
            "--cacert",
            &roots,
        ];
        let ended = finish(self.as_openssl_3_0(curl(&arguments).argument(&url)));
        match ended.status.code() {
            Some(0) => Ok(ended.text()),
            code => Err(code),
        }
    }

    /// Debian 12 has OpenSSL 3.0. A newer one is configured to offer what that does.
    fn as_openssl_3_0(&self, program: Program) -> Program {
        let version = finish(Program::new("openssl").package("openssl").argument("version")).text();
        if version.starts_with("OpenSSL 3.0.") {
            return program;
        }
        let settings = "openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = classical\n[classical]\n\
                        Groups = X25519:P-256\nSignatureAlgorithms = ECDSA+SHA256:RSA-PSS+SHA256:ECDSA+SHA384\n";
        let file = self.classical.write("openssl.cnf", settings);
        program.environment("OPENSSL_CONF", file.display().to_string())
    }
}

fn signatures(handshake: &Handshake) -> Option<[String; 2]> {
    let negotiated = handshake.negotiated.as_ref()?;
    let name = |code: &Option<bartizan_ledger::Code>| code.as_ref().map(|code| code.name.clone());
    Some([name(&negotiated.local_signature)?, name(&negotiated.peer_signature)?])
}

fn by(scheme: &'static str) -> impl Fn(&Handshake) -> bool {
    move |handshake| signatures(handshake) == Some([scheme.to_owned(), scheme.to_owned()])
}

/// The certificates of a node that are in use, by `/config`.
fn in_use(node: &Node) -> Vec<(String, bool)> {
    let config: serde_json::Value = serde_json::from_str(&node.admin("/config").1).expect("JSON");
    let all = config["certificates"].as_array().expect("a list").iter();
    let one = |one: &serde_json::Value| (one["signature"].as_str().unwrap().to_owned(), one["in_use"] == true);
    all.map(one).collect()
}

const ECDSA: &str = "ecdsa_secp256r1_sha256";
const MLDSA: &str = "mldsa65";

#[test]
fn curl_with_openssl_3_0_connects_until_the_exception_ends_and_is_refused_the_day_after() {
    let network = Network::new();
    let [amf, _] = &network.of_safe;
    let _function = network.safe.nghttpd(network.pair.ports.function, &[]);
    {
        let nrf = network.start("nrf", network.last);
        assert_eq!(network.curl(), Ok("served".to_owned()), "{}", nrf.process.stderr());
        let handshake = nrf.handshakes(by(ECDSA)).remove(0);
        let reason = "an old SMF".to_owned();
        assert_eq!(handshake.verdict, Verdict::Excepted { reason });
        // A client that verifies both gets the post-quantum certificate at the same port.
        let _modern = openssl(network.pair.ports.inbound, "X25519MLKEM768:X25519", Some(amf))
            .argument("-ign_eof")
            .start()
            .expect("it starts");
        assert_eq!(nrf.handshakes(by(MLDSA))[0].verdict, Verdict::Accepted);
        assert_eq!(in_use(&nrf), [(ECDSA.to_owned(), true), (MLDSA.to_owned(), true)]);
        let left = nrf
            .metric("bartizan_sidecar_certificate_left_seconds", &[])
            .expect("a metric");
        assert!(left < 86_400.0, "the classical one ends first: {left}");
    }
    let after = network.last + Duration::from_secs(86_400);
    let nrf = network.start("nrf", after);
    assert_eq!(network.curl(), Err(Some(35)));
    let refused = nrf.refused("no-common-group");
    let Verdict::Refused { detail, .. } = &refused.verdict else {
        panic!("{refused:?}")
    };
    assert!(detail.contains("this node accepts X25519MLKEM768"), "{detail}");
    let text = || nrf.process.stderr();
    until("the reason in the log", || text().contains("no-common-group"));
    let _modern = openssl(network.pair.ports.inbound, "X25519MLKEM768", Some(amf))
        .argument("-ign_eof")
        .start()
        .expect("it starts");
    nrf.handshakes(by(MLDSA));
    // The classical certificate has ended too, and that is no fault of the node.
    assert_eq!(in_use(&nrf), [(ECDSA.to_owned(), false), (MLDSA.to_owned(), true)]);
    assert_eq!(nrf.admin("/ready"), (200, "ready\n".to_owned()));
    let left = nrf
        .metric("bartizan_sidecar_certificate_left_seconds", &[])
        .expect("a metric");
    assert!(left > 86_400.0, "{left}");
}

#[test]
fn a_sidecar_shows_an_openssl_3_0_server_its_classical_certificate() {
    let network = Network::new();
    let [_, nrf] = &network.of_classical;
    let server = Program::new("openssl")
        .package("openssl")
        .arguments([
            "s_server",
            "-rev",
            "-tls1_3",
            "-alpn",
            "h2",
            "-Verify",
            "1",
            "-verify_return_error",
            "-accept",
        ])
        .argument(network.pair.ports.inbound.to_string())
        .argument("-cert")
        .argument(&nrf.certificate)
        .argument("-key")
        .argument(&nrf.key)
        .argument("-CAfile")
        .argument(&nrf.roots);
    let mut server = network.as_openssl_3_0(server).start().expect("it starts");
    server
        .wait_for_line("ACCEPT", PATIENCE)
        .unwrap_or_else(|error| panic!("{error}"));
    let amf = network.start("amf", network.last);
    let url = format!("http://{}/hello", network.pair.ports.outbound);
    let _asking = curl(&["--http2-prior-knowledge", &url]).start().expect("curl starts");
    for line in ["Verification: OK", "Signature type: ECDSA"] {
        until(line, || server.stderr().contains(line));
    }
    drop(amf);
}
