//! TLS stacks at the other end of a sidecar: the rows of docs/stacks.md.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use bartizan_host::{Process, Program};
use bartizan_ledger::{Handshake, Verdict};
use bartizan_pki::Algorithm;
use bartizan_testing::lab_root;
use time::OffsetDateTime;

use crate::stage::{By, Node, PATIENCE, Pair, Papers, Stage, curl};

/// The command of an end in a role, `client` or `server`.
type Start = fn(&str, &Network) -> Program;

/// A stack of one version.
struct Stack {
    /// True if it has ML-DSA; else its end has a classical certificate.
    has_ml_dsa: bool,
    start: Start,
}

const PROFILES: [&str; 3] = ["hybrid", "transition", "cnsa2"];

/// A pair in which the sidecar has a certificate of either kind, and so has the foreign end.
struct Network {
    profile: &'static str,
    has_ml_dsa: bool,
    safe: Stage,
    /// The folder of the other authority's files.
    _classical: Stage,
    pair: Pair,
    file: PathBuf,
    own: [Papers; 2],
    both: PathBuf,
}

impl Network {
    fn new(profile: &'static str, has_ml_dsa: bool) -> Self {
        let algorithm = match profile {
            "cnsa2" => Algorithm::MlDsa87,
            _ => Algorithm::MlDsa65,
        };
        let (mut safe, mut classical) = (Stage::with(algorithm), Stage::with(Algorithm::EcdsaP256));
        let policy = match profile {
            "transition" => {
                let last = OffsetDateTime::now_utc() + Duration::from_secs(2 * 86_400);
                format!("{{ profile: transition, reason: test, expires: {} }}", last.date())
            }
            other => other.to_owned(),
        };
        let pair = Pair {
            policy,
            ..Pair::new(By::Http2, By::Http2)
        };
        let of_safe = ["amf", "nrf"].map(|name| safe.issue(name));
        let of_classical = ["amf", "nrf"].map(|name| classical.issue(name));
        let file = safe.deployment("pair", &pair, &of_safe[0], &of_safe[1]);
        let mut text = std::fs::read_to_string(&file).expect("the file");
        for (one, other) in of_safe.iter().zip(&of_classical) {
            let entry = |papers: &Papers| {
                let (certificate, key) = (papers.certificate.display(), papers.key.display());
                format!("certificate: {certificate}\n    key: {key}\n")
            };
            let item = |papers: &Papers| format!("      - {{ {} }}\n", entry(papers).trim().replace("\n   ", ","));
            text = text.replace(&entry(one), &format!("certificates:\n{}{}", item(one), item(other)));
        }
        let roots = [&of_safe[0].roots, &of_classical[0].roots].map(|roots| std::fs::read(roots).expect("roots"));
        let both = safe.write("both.ca", roots.concat());
        let [one, two] = [&of_safe[0].roots, &both].map(|roots| format!("roots: {}", roots.display()));
        std::fs::write(&file, text.replace(&one, &two)).expect("the file");
        Self {
            profile,
            has_ml_dsa,
            safe,
            _classical: classical,
            pair,
            file,
            own: if has_ml_dsa { of_safe } else { of_classical },
            both,
        }
    }

    fn start(&self, node: &str) -> Node {
        let ports = &self.pair.ports;
        let admin = if node == "amf" {
            ports.amf_admin
        } else {
            ports.nrf_admin
        };
        self.safe.start(&self.file, node, admin)
    }

    /// Groups that the foreign end is configured with: no stack offers MLKEM1024 by default.
    fn groups(&self) -> Option<&'static str> {
        (self.profile == "cnsa2" && self.has_ml_dsa).then_some("MLKEM1024:P-384")
    }

    /// The certificate of the foreign end of this role.
    fn papers(&self, role: &str) -> &Papers {
        &self.own[usize::from(role == "server")]
    }
}

/// The row's cell: the negotiated values, or the reason of the refusal.
fn seen(handshake: &Handshake) -> String {
    let Some(negotiated) = handshake.negotiated.as_ref() else {
        return match &handshake.verdict {
            Verdict::Refused { reason, .. } => format!("refused: {reason}"),
            other => format!("{other:?}"),
        };
    };
    let name = |code: &Option<bartizan_ledger::Code>| code.as_ref().map_or("none", |code| &code.name).to_owned();
    let mut signatures = vec![name(&negotiated.local_signature), name(&negotiated.peer_signature)];
    signatures.dedup();
    let values = format!("{}, {}", negotiated.group.name, signatures.join(" and "));
    match &handshake.verdict {
        Verdict::Accepted => values,
        Verdict::Excepted { .. } => format!("{values}, by exception"),
        Verdict::Refused { reason, .. } => format!("refused: {reason}"),
    }
}

fn as_client(stack: &Stack, profile: &'static str) -> String {
    let network = Network::new(profile, stack.has_ml_dsa);
    let nrf = network.start("nrf");
    let _end = (stack.start)("client", &network).start().expect("it starts");
    seen(&nrf.handshakes(|_| true)[0])
}

fn as_server(stack: &Stack, profile: &'static str) -> String {
    let network = Network::new(profile, stack.has_ml_dsa);
    let mut server: Process = (stack.start)("server", &network).start().expect("it starts");
    server
        .wait_for_line("ACCEPT", PATIENCE)
        .unwrap_or_else(|error| panic!("{error}\n{}", server.stderr()));
    let amf = network.start("amf");
    let url = format!("http://{}/hello", network.pair.ports.outbound);
    let _asking = curl(&["--http2-prior-knowledge", &url]).start().expect("curl starts");
    seen(&amf.handshakes(|_| true)[0])
}

fn with_files(program: Program, role: &str, network: &Network) -> Program {
    let (papers, address) = (network.papers(role), network.pair.ports.inbound);
    program
        .argument(role)
        .argument(address.ip().to_string())
        .argument(address.port().to_string())
        .argument(&papers.certificate)
        .argument(&papers.key)
        .argument(&network.both)
}

fn end(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sidecar/ends")
        .join(name)
}

fn python(role: &str, network: &Network) -> Program {
    with_files(Program::new("python3").argument(end("end.py")), role, network)
}

fn node(role: &str, network: &Network) -> Program {
    let program = with_files(Program::new("node").argument(end("end.js")), role, network);
    match network.groups() {
        Some(groups) => program.argument(groups),
        None => program,
    }
}

fn go(role: &str, network: &Network) -> Program {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stacks-end");
        let mut go = Command::new("go");
        let done = go.args(["build", "-o"]).arg(&built).arg(end("end.go")).status();
        assert!(
            done.is_ok_and(|status| status.success()),
            "go build {}",
            end("end.go").display()
        );
        built
    });
    with_files(Program::new(built), role, network)
}

fn openssl_of(program: Program, role: &str, network: &Network) -> Program {
    let (papers, address) = (network.papers(role), network.pair.ports.inbound.to_string());
    let program = match role {
        "client" => program.arguments(["s_client", "-ign_eof", "-servername", "nrf.5gc", "-connect", &address]),
        _ => program.arguments([
            "s_server",
            "-rev",
            "-Verify",
            "1",
            "-verify_return_error",
            "-accept",
            &address,
        ]),
    };
    let program = match network.groups() {
        Some(groups) => program.arguments(["-groups", groups]),
        None => program,
    };
    program
        .arguments(["-tls1_3", "-alpn", "h2", "-cert"])
        .argument(&papers.certificate)
        .argument("-key")
        .argument(&papers.key)
        .argument("-CAfile")
        .argument(&network.both)
}

fn openssl_of_lab_root(role: &str, network: &Network) -> Program {
    let program = lab_root().command("openssl").expect("openssl in the lab root");
    openssl_of(program, role, network)
}

fn openssl_of_host(role: &str, network: &Network) -> Program {
    let program = Program::new("openssl").package("openssl");
    openssl_of(program, role, network)
}

mod full {
    use super::*;

    /// Versions in what a program prints, as it writes them and as major and minor number; none
    /// where the machine does not have it.
    fn versions(program: Program) -> Vec<(String, (u32, u32))> {
        let Ok(started) = program.start() else {
            return Vec::new();
        };
        let text = started.finish(PATIENCE).expect("it ends").text();
        let words = text
            .split_whitespace()
            .map(|word| word.trim_start_matches(['v', 'g', 'o']));
        let read = words.filter_map(|word| {
            let mut parts = word.split('.');
            let mut part = || parts.next()?.parse().ok();
            Some((word.to_owned(), (part()?, part()?)))
        });
        read.collect()
    }

    #[test]
    fn stacks_of_the_page_do_what_it_says() {
        let root = lab_root();
        let openssl_of_trixie = root.command("openssl").expect("openssl in the lab root");
        let python_s = "import ssl, sys; print(sys.version.split()[0], ssl.OPENSSL_VERSION)";
        let node_s = "process.versions.node + ' ' + process.versions.openssl.split('+')[0]";
        // The last number is the first version with ML-DSA: of OpenSSL, or of Go.
        let stacks = [
            (
                "OpenSSL",
                openssl_of_trixie.argument("version"),
                openssl_of_lab_root as Start,
                (3, 5),
            ),
            (
                "OpenSSL",
                Program::new("openssl").argument("version"),
                openssl_of_host,
                (3, 5),
            ),
            ("Go crypto/tls", Program::new("go").argument("version"), go, (1, 27)),
            (
                "Python ssl",
                Program::new("python3").arguments(["-c", python_s]),
                python,
                (3, 5),
            ),
            ("Node", Program::new("node").arguments(["-p", node_s]), node, (3, 5)),
        ];
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/stacks.md");
        let page = std::fs::read_to_string(page).expect("the page");
        let mut other = String::new();
        for (name, asked, start, since) in stacks {
            let found = versions(asked);
            let Some((last, number)) = found.last() else {
                println!("no {name} is here");
                continue;
            };
            let stack = Stack {
                has_ml_dsa: *number >= since,
                start,
            };
            let with = match name {
                "Python ssl" | "Node" => format!(", OpenSSL {last}"),
                _ => String::new(),
            };
            for (role, run) in [
                ("client", as_client as fn(&Stack, &'static str) -> String),
                ("server", as_server),
            ] {
                let cells = PROFILES.map(|profile| run(&stack, profile));
                let about = format!("| {name} {}{with} | {role} |", found[0].0);
                let row = format!("{about} {} |\n", cells.join(" | "));
                match page.contains(&about) {
                    true if page.contains(&row) => {}
                    true => _ = writeln!(other, "differs from the page: {row}"),
                    // Another version is measured and not judged.
                    false => println!("{row}"),
                }
            }
        }
        assert!(other.is_empty(), "{other}");
    }
}
