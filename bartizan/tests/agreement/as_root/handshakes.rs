//! OpenSSL 3.5 with itself: every group it has with every kind of certificate in turn, and what
//! else a handshake can be.

use std::fs::File;
use std::io::{PipeWriter, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::OnceLock;
use std::thread;

use bartizan_host::{LabRoot, Namespace, Process, Program};
use bartizan_registry::{GROUPS, Group, NamedGroup};
use bartizan_testing::Listening as _;
use bartizan_testing::Wiring as _;
use bartizan_testing::{Capture, Direction};

use crate::tshark::{PATIENCE, eventually, root};

/// A handshake, and what a specialist says of it.
#[derive(Debug, Clone)]
pub(crate) struct Situation {
    pub(crate) name: String,
    /// The client's port: each has its own.
    pub(crate) port: u16,
    server: u16,
    arguments: String,
    /// Negotiated group; none if the packets name none.
    pub(crate) group: Option<NamedGroup>,
    /// Offered, preferred, negotiated, stayed, clear: what `docs/verdicts.md` says the wire answers.
    pub(crate) answers: [&'static str; 5],
}

/// The capture of all of them.
pub(crate) struct Handshakes {
    pub(crate) bytes: Vec<u8>,
    pub(crate) situations: Vec<Situation>,
}

/// Made once.
pub(crate) fn handshakes() -> &'static Handshakes {
    static MADE: OnceLock<Handshakes> = OnceLock::new();
    MADE.get_or_init(make)
}

/// Kinds of keys, as `openssl req -newkey` takes them.
const CERTIFICATES: [(&str, &str); 10] = [
    ("mldsa44", "ML-DSA-44"),
    ("mldsa65", "ML-DSA-65"),
    ("mldsa87", "ML-DSA-87"),
    ("p256", "ec -pkeyopt ec_paramgen_curve:P-256"),
    ("p384", "ec -pkeyopt ec_paramgen_curve:P-384"),
    ("rsa", "rsa:2048"),
    ("rsapss", "rsa-pss -pkeyopt rsa_keygen_bits:2048"),
    ("ed25519", "ed25519"),
    ("ed448", "ed448"),
    ("chain", "rsa:2048 -CA p256.crt -CAkey p256.key"),
];

/// Certificates, ports and options of servers that answer one request after the other.
const SERVERS: [(&str, u16, &str); 10] = [
    ("p256", 14420, "-groups X25519MLKEM768"),
    ("p256", 14421, "-groups secp521r1"),
    ("mldsa87", 14422, "-groups SecP384r1MLKEM1024"),
    ("mldsa65", 14423, "-groups X25519MLKEM768:X25519 -Verify 1"),
    (
        "mldsa65",
        14424,
        "-groups X25519MLKEM768 -allow_no_dhe_kex -prefer_no_dhe_kex",
    ),
    (
        "p256",
        14425,
        "-groups X25519MLKEM768 -psk 00112233445566778899aabbccddeeff -psk_identity nrf",
    ),
    (
        "rsa",
        14426,
        "-min_protocol TLSv1 -cipher ALL:COMPLEMENTOFALL:@SECLEVEL=0",
    ),
    ("p256", 14427, "-6 -groups MLKEM512:SecP256r1MLKEM768"),
    ("p384", 14429, "-Verify 1"),
    ("chain", 14430, "-Verify 1 -cert_chain p256.crt"),
];
/// Takes early data, which a server of web pages does not.
const EARLY: u16 = 14_428;
/// The first of those that have every group and one certificate each.
const EVERY_GROUP: u16 = 14_401;
const FIRST_CLIENT: u16 = 20_001;

const SAFE: [&str; 5] = ["yes", "yes", "yes", "yes", "no"];
const CLASSICAL: [&str; 5] = ["no", "no", "no", "no", "no"];

struct Plan(Vec<Situation>);

impl Plan {
    fn add(&mut self, name: &str, server: u16, arguments: &str, group: Option<&str>, answers: [&'static str; 5]) {
        let port = FIRST_CLIENT + u16::try_from(self.0.len()).unwrap();
        self.0.push(Situation {
            name: name.to_owned(),
            port,
            server,
            arguments: arguments.to_owned(),
            group: group.map(|name| known(name).code),
            answers,
        });
    }
}

/// The group that OpenSSL calls so.
fn known(name: &str) -> &'static Group {
    let is = |known: &str| known.eq_ignore_ascii_case(name);
    let called = |group: &&Group| is(group.name) || group.openssl.is_some_and(is);
    GROUPS
        .iter()
        .find(called)
        .unwrap_or_else(|| panic!("OpenSSL has {name}, and the registry does not say so"))
}

/// One after the other where one needs the session of another: those of a round do not.
fn plan(groups: &[String]) -> [Vec<Situation>; 3] {
    let mut plan = Plan(Vec::new());
    for (nth, group) in groups.iter().enumerate() {
        let certificate = nth % CERTIFICATES.len();
        let name = format!("{group} with {}", CERTIFICATES[certificate].0);
        let server = EVERY_GROUP + u16::try_from(certificate).unwrap();
        let safe = known(group).category.is_some();
        let answers = if safe { SAFE } else { CLASSICAL };
        plan.add(&name, server, &format!("-tls1_3 -groups {group}"), Some(group), answers);
    }
    let rsa = EVERY_GROUP + 5;
    let hybrid = Some("X25519MLKEM768");
    let not_preferred = ["yes", "no", "yes", "yes", "no"];
    let declined = ["yes", "yes", "no", "no", "no"];
    plan.add(
        "retry to the hybrid",
        14420,
        "-groups X25519:X25519MLKEM768",
        hybrid,
        not_preferred,
    );
    plan.add(
        "retry to a curve",
        14421,
        "-groups X25519MLKEM768:secp521r1",
        Some("secp521r1"),
        declined,
    );
    let stronger = Some("SecP384r1MLKEM1024");
    plan.add(
        "retry to a stronger hybrid",
        14422,
        "-groups X25519MLKEM768:SecP384r1MLKEM1024",
        stronger,
        SAFE,
    );
    plan.add(
        "two key shares",
        EVERY_GROUP,
        "-groups *X25519MLKEM768:*X25519",
        hybrid,
        SAFE,
    );
    plan.add(
        "refused",
        14420,
        "-tls1_3 -groups X448",
        None,
        ["no", "no", "not seen", "not seen", "no"],
    );
    let both = "-groups X25519MLKEM768 -alpn h2,http/1.1 -cert mldsa65.crt -key mldsa65.key";
    plan.add("both ends by ML-DSA-65", 14423, both, hybrid, SAFE);
    for suite in ["AES_128_GCM_SHA256", "AES_256_GCM_SHA384", "CHACHA20_POLY1305_SHA256"] {
        let arguments = format!("-ciphersuites TLS_{suite} -groups X25519MLKEM768");
        plan.add(suite, EVERY_GROUP + 3, &arguments, hybrid, SAFE);
    }
    let psk = "-psk 00112233445566778899aabbccddeeff -psk_identity nrf -groups X25519MLKEM768";
    plan.add("a pre-shared key and the hybrid", 14425, psk, hybrid, SAFE);
    plan.add(
        "ClientHello over several records",
        EVERY_GROUP,
        "-max_send_frag 512 -groups X25519MLKEM768",
        hybrid,
        SAFE,
    );
    plan.add(
        "a session",
        EVERY_GROUP,
        "-groups X25519MLKEM768 -sess_out dhe.session",
        hybrid,
        SAFE,
    );
    plan.add(
        "a session for its key alone",
        14424,
        "-allow_no_dhe_kex -groups X25519MLKEM768 -sess_out alone.session",
        hybrid,
        SAFE,
    );
    for (name, server, arguments, group) in [
        ("TLS 1.2 ECDHE by RSA", rsa, "-tls1_2 -groups X25519", Some("x25519")),
        (
            "TLS 1.2 ECDHE by ECDSA",
            EVERY_GROUP + 3,
            "-tls1_2 -groups P-384:P-256",
            Some("secp384r1"),
        ),
        (
            "TLS 1.2 ECDHE by Ed25519",
            EVERY_GROUP + 7,
            "-tls1_2 -groups P-521",
            Some("secp521r1"),
        ),
        (
            "TLS 1.2 ECDHE by RSA-PSS",
            EVERY_GROUP + 6,
            "-tls1_2 -groups X448",
            Some("x448"),
        ),
        ("TLS 1.2 DHE", rsa, "-tls1_2 -cipher DHE-RSA-AES128-GCM-SHA256", None),
        ("TLS 1.2 RSA", rsa, "-tls1_2 -cipher AES128-GCM-SHA256", None),
        (
            "TLS 1.2, a session",
            rsa,
            "-tls1_2 -groups X25519 -sess_out older.session",
            Some("x25519"),
        ),
        (
            "TLS 1.2, both ends",
            14429,
            "-tls1_2 -cert p256.crt -key p256.key",
            None,
        ),
        (
            "TLS 1.2, a chain and a client by Ed25519",
            14430,
            "-tls1_2 -cert ed25519.crt -key ed25519.key",
            None,
        ),
    ] {
        plan.add(name, server, arguments, group, CLASSICAL);
    }
    let null = "-tls1_2 -cipher ECDHE-RSA-NULL-SHA:@SECLEVEL=0 -groups X25519";
    plan.add(
        "TLS 1.2 NULL",
        14426,
        null,
        Some("x25519"),
        ["no", "no", "no", "no", "yes"],
    );
    plan.add(
        "TLS 1.1",
        14426,
        "-tls1_1 -cipher ALL:@SECLEVEL=0 -groups X25519",
        Some("x25519"),
        CLASSICAL,
    );
    plan.add(
        "IPv6",
        14427,
        "-groups SecP256r1MLKEM768",
        Some("SecP256r1MLKEM768"),
        SAFE,
    );
    let first = plan.0.len();

    plan.add(
        "resumed with the hybrid",
        EVERY_GROUP,
        "-groups X25519MLKEM768 -sess_in dhe.session",
        hybrid,
        SAFE,
    );
    plan.add(
        "resumed with X25519",
        EVERY_GROUP,
        "-groups X25519 -sess_in dhe.session",
        Some("x25519"),
        CLASSICAL,
    );
    let alone = "-allow_no_dhe_kex -groups X25519MLKEM768 -sess_in alone.session";
    let by_key = ["yes", "yes", "not observable", "not observable", "no"];
    plan.add("resumed by the key alone", 14424, alone, None, by_key);
    plan.add(
        "TLS 1.2, resumed",
        rsa,
        "-tls1_2 -groups X25519 -sess_in older.session",
        None,
        CLASSICAL,
    );
    let second = plan.0.len();

    // Segments of 536 bytes: the hybrid ClientHello takes three to four of them.
    for group in ["X25519MLKEM768", "MLKEM1024", "SecP384r1MLKEM1024", "secp256r1"] {
        let answers = if known(group).category.is_some() {
            SAFE
        } else {
            CLASSICAL
        };
        plan.add(
            &format!("{group}, small segments"),
            EVERY_GROUP + 1,
            &format!("-groups {group}"),
            Some(group),
            answers,
        );
    }
    let mut situations = plan.0.into_iter();
    let [one, two] = [first, second - first].map(|count| situations.by_ref().take(count).collect());
    [one, two, situations.collect()]
}

struct Stage {
    space: Namespace,
    root: LabRoot,
    directory: tempfile::TempDir,
}

impl Stage {
    fn openssl(&self, arguments: &str) -> Program {
        let openssl = self.root.command("openssl").expect("openssl in the lab root");
        openssl
            .arguments(arguments.split_whitespace())
            .directory(self.directory.path())
    }

    fn serve(&self, certificate: &str, port: u16, options: &str) -> Process {
        let host = if options.contains("-6") { "[::1]" } else { "127.0.0.1" };
        let arguments =
            format!("s_server -accept {host}:{port} -cert {certificate}.crt -key {certificate}.key {options}");
        self.openssl(&arguments).inside(&self.space).start().expect("a server")
    }

    fn client(&self, situation: &Situation, input: OwnedFd) -> Program {
        let Situation {
            port,
            server,
            arguments,
            ..
        } = situation;
        let host = if *server == 14427 { "[::1]" } else { "127.0.0.1" };
        self.openssl(&format!(
            "s_client -connect {host}:{server} -bind {host}:{port} -servername nrf.test {arguments}"
        ))
        .inside(&self.space)
        .input(input)
    }

    /// Asks for a page, and reads until the server closes.
    fn ask(&self, situation: &Situation) {
        let request = File::open(self.directory.path().join("request")).expect("a request");
        let client = self.client(situation, request.into()).argument("-ign_eof");
        let said = client
            .start()
            .and_then(|client| client.finish(PATIENCE))
            .expect("it ends");
        let page = said.text().contains("HTTP/1.0 200 ok");
        assert_eq!(
            page,
            situation.name != "refused",
            "{}: {}",
            situation.name,
            String::from_utf8_lossy(&said.stderr)
        );
    }

    fn run(&self, situations: &[Situation]) {
        for few in situations.chunks(4) {
            thread::scope(|scope| few.iter().for_each(|one| drop(scope.spawn(|| self.ask(one)))));
        }
    }

    /// A session, and its resumption with early data.
    fn early_data(&self, plan: &mut Vec<Situation>) {
        let (ours, input) = pipe();
        let server = format!(
            "s_server -accept 127.0.0.1:{EARLY} -cert p256.crt -key p256.key -groups X25519MLKEM768 -early_data"
        );
        let mut server = self
            .openssl(&server)
            .inside(&self.space)
            .input(input)
            .start()
            .expect("a server");
        wait(&mut server, EARLY, "127.0.0.1");
        let port = plan.last().expect("others before").port;
        let hybrid = Some(NamedGroup::X25519MLKEM768);
        for (nth, name, arguments, word, answers) in [
            (1, "a session for early data", "-sess_out early.session", None, SAFE),
            (
                2,
                "early data",
                "-sess_in early.session -early_data request",
                Some("Early data was accepted"),
                SAFE,
            ),
        ] {
            let situation = Situation {
                name: name.to_owned(),
                port: port + nth,
                server: EARLY,
                arguments: format!("-groups X25519MLKEM768 {arguments}"),
                group: hybrid,
                answers,
            };
            let (held, input) = pipe();
            let mut client = self.client(&situation, input).start().expect("a client");
            match word {
                Some(word) => client.wait_for_line(word, PATIENCE).expect("it says so"),
                // Its output about a ticket stays in its buffer; the file is written before.
                None => eventually("a session", || {
                    let session = std::fs::read_to_string(self.directory.path().join("early.session"));
                    session.ok()?.contains("END SSL SESSION").then_some(())
                }),
            }
            // Its input ends, and with it the connection.
            drop(held);
            client.finish(PATIENCE).expect("it ends");
            plan.push(situation);
        }
        drop(ours);
    }
}

fn pipe() -> (PipeWriter, OwnedFd) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    (writer, reader.into())
}

fn wait(server: &mut Process, port: u16, host: &str) {
    let address = format!("{host}:{port}").parse().expect("an address");
    server
        .wait_for_port(address, PATIENCE)
        .unwrap_or_else(|error| panic!("{error}"));
}

/// Every group that this OpenSSL offers.
fn groups(stage: &Stage) -> Vec<String> {
    let said = stage
        .openssl("list -tls-groups -tls1_3")
        .run(PATIENCE)
        .expect("a list")
        .text();
    said.trim().split(':').map(str::to_owned).collect()
}

fn without_offload(stage: &Stage) {
    let ethtool = stage.root.command("ethtool").expect("ethtool in the lab root");
    let arguments = "-K lo tso off gso off gro off";
    let done = ethtool
        .arguments(arguments.split_whitespace())
        .inside(&stage.space)
        .run(PATIENCE);
    done.expect("segments as a wire would have them");
}

fn make() -> Handshakes {
    let stage = Stage {
        space: Namespace::create("tls").expect("a namespace"),
        root: root(),
        directory: tempfile::tempdir().expect("a directory"),
    };
    let path = |name: &str| stage.directory.path().join(name);
    let mut request = File::create(path("request")).expect("a file");
    request.write_all(b"GET / HTTP/1.0\r\n\r\n").expect("written");
    for (name, key) in CERTIFICATES {
        let made = stage.openssl(&format!(
            "req -x509 -newkey {key} -nodes -keyout {name}.key -out {name}.crt -subj /CN=nrf.test -days 2"
        ));
        made.run(PATIENCE).expect("a certificate");
    }
    let groups = groups(&stage);
    let every = format!("-www -groups {}", groups.join(":"));
    let mut servers = Vec::new();
    for (port, (name, _)) in (EVERY_GROUP..).zip(CERTIFICATES) {
        servers.push((stage.serve(name, port, &every), port, "127.0.0.1"));
    }
    for (certificate, port, options) in SERVERS {
        let host = if options.contains("-6") { "[::1]" } else { "127.0.0.1" };
        servers.push((stage.serve(certificate, port, &format!("-www {options}")), port, host));
    }
    for (server, port, host) in &mut servers {
        wait(server, *port, host);
    }
    stage.space.set_mtu("lo", 1500).expect("an MTU");
    without_offload(&stage);
    let file = path("tls.pcap");
    let capture = Capture::start(Some(&stage.space), "lo", &file, Direction::Both).expect("a capture");
    let [first, second, small] = plan(&groups);
    let mut situations = Vec::new();
    for (round, mtu) in [(first, 1500), (second, 1500), (small, 576)] {
        stage.space.set_mtu("lo", mtu).expect("an MTU");
        stage.run(&round);
        situations.extend(round);
    }
    stage.early_data(&mut situations);
    drop(servers);
    let captured = capture.stop().expect("a capture");
    assert!(captured.complete(), "{captured:?}");
    let bytes = std::fs::read(&file).expect("the capture");
    Handshakes { bytes, situations }
}

/// The capture as a file in `directory`.
pub(crate) fn write(directory: &Path) -> std::path::PathBuf {
    let file = directory.join("tls.pcap");
    std::fs::write(&file, &handshakes().bytes).expect("a file");
    file
}
