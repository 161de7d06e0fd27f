//! TLS stacks at the other end of a sidecar: the rows of docs/stacks.md.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bartizan_host::{Error, Finished, LabRoot, Process, Program};
use bartizan_ledger::{Handshake, Verdict};
use bartizan_pki::Algorithm;
use bartizan_testing::Build as _;
use bartizan_testing::lab_root;
use time::OffsetDateTime;

use crate::stage::{By, Node, PATIENCE, Pair, Papers, Stage, curl};

/// The system whose programs a stack consists of.
enum System {
    Host,
    LabRoot(LabRoot),
    /// Debian sid's newest stacks: a program sees the root's files, and this machine's in `/mnt`.
    Stacks(LabRoot),
}

impl System {
    fn program(&self, name: &str) -> Program {
        match self {
            Self::Host => Program::new(name),
            Self::LabRoot(root) => root.command(name).expect("the lab root has it"),
            Self::Stacks(root) => {
                let mounted = "mount --rbind /proc $0/proc && mount --rbind /dev $0/dev && mount --rbind / $0/mnt";
                Program::new("unshare")
                    .arguments(["--mount", "--propagation", "private", "sh", "-c"])
                    .argument(format!("{mounted} && exec chroot \"$0\" \"$@\""))
                    .argument(root.directory())
                    .argument(name)
            }
        }
    }

    /// A path of this machine as the programs see it.
    fn path(&self, path: &Path) -> PathBuf {
        match self {
            Self::Stacks(_) => Path::new("/mnt").join(path.strip_prefix("/").expect("an absolute path")),
            _ => path.to_owned(),
        }
    }
}

/// A TLS stack, as a program that is one end of a connection.
struct Stack<'a> {
    name: &'static str,
    system: &'a System,
    /// The program and its first arguments.
    command: Vec<String>,
    /// Arguments that make it print its version.
    version: &'static [&'static str],
    /// The first version with ML-DSA: of OpenSSL where that is named, or of the stack.
    since: (u32, u32),
    /// Options of the groups for cnsa2, and arguments of a role.
    arguments: fn(&Stack<'_>, &str, &Network, Program) -> Program,
}

impl Stack<'_> {
    fn program(&self) -> Program {
        let (name, rest) = self.command.split_first().expect("a program");
        self.system.program(name).arguments(rest)
    }

    /// Versions in what it prints, as it writes them and as major and minor number; none where the
    /// machine does not have it.
    fn versions(&self) -> Vec<(String, (u32, u32))> {
        let Ok(started) = self.program().arguments(self.version).start() else {
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

    fn end(&self, role: &str, network: &Network) -> Program {
        (self.arguments)(self, role, network, self.program())
    }
}

/// Patience with builds and downloads.
const BUILDS: Duration = Duration::from_secs(600);

const JAVA_27: &str = "/usr/lib/jvm/java-27-openjdk-amd64/bin/java";
const JAVA_28: &str = "/usr/lib/jvm/java-28-openjdk-amd64/bin/java";

/// Options by which JDK 28 offers ML-DSA.
const SCHEMES: [&str; 2] = [
    "-Djdk.tls.client.SignatureSchemes=mldsa65,mldsa87,ecdsa_secp256r1_sha256,ecdsa_secp384r1_sha384",
    "-Djdk.tls.server.SignatureSchemes=mldsa65,mldsa87,ecdsa_secp256r1_sha256,ecdsa_secp384r1_sha384",
];

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
    /// With a foreign end that has ML-DSA, or a classical certificate.
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

fn as_client(stack: &Stack<'_>, network: &Network) -> String {
    let nrf = network.start("nrf");
    let _end = stack.end("client", network).start().expect("it starts");
    seen(&nrf.handshakes(|_| true)[0])
}

fn as_server(stack: &Stack<'_>, network: &Network) -> String {
    let mut server: Process = stack.end("server", network).start().expect("it starts");
    server
        .wait_for_line(if stack.name == "GnuTLS" { "listening" } else { "ACCEPT" }, PATIENCE)
        .unwrap_or_else(|error| panic!("{error}\n{}", server.stderr()));
    let amf = network.start("amf");
    let url = format!("http://{}/hello", network.pair.ports.outbound);
    let _asking = curl(&["--http2-prior-knowledge", &url]).start().expect("curl starts");
    seen(&amf.handshakes(|_| true)[0])
}

/// Arguments of the ends in `ends/`.
fn ends(stack: &Stack<'_>, role: &str, network: &Network, program: Program) -> Program {
    let (papers, address) = (network.papers(role), network.pair.ports.inbound);
    let path = |path: &Path| stack.system.path(path);
    let program = program
        .argument(role)
        .argument(address.ip().to_string())
        .argument(address.port().to_string())
        .argument(path(&papers.certificate))
        .argument(path(&papers.key))
        .argument(path(&network.both));
    match network.groups() {
        Some(groups) if ["Node", "Go crypto/tls", "Python ssl"].contains(&stack.name) => program.argument(groups),
        _ => program,
    }
}

fn end(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sidecar/ends")
        .join(name)
}

/// False where the program is not on this machine; it has succeeded otherwise.
fn is_here(ran: Result<Finished, Error>) -> bool {
    match ran {
        Err(Error::MissingProgram { .. }) => false,
        other => other.map(|_| true).expect("it succeeds"),
    }
}

/// The Go end, built by the system's Go; none where it has no Go.
fn built_by_go(system: &System, go: &str, name: &str) -> Option<String> {
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-cache");
    let ran = system
        .program(go)
        .environment("GOCACHE", system.path(&cache))
        .environment("GOTELEMETRY", "off")
        .arguments(["build", "-o"])
        .argument(system.path(&built))
        .argument(system.path(&end("end.go")))
        .run(BUILDS);
    if !is_here(ran) {
        return None;
    }
    Some(built.display().to_string())
}

/// The class path of Bouncy Castle's jars, fetched by Maven; none where there is no Maven.
fn bouncy_castle() -> Option<String> {
    let jars = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bouncy-castle");
    let ran = Program::new("mvn")
        .arguments(["--quiet", "--batch-mode", "--file"])
        .argument(end("pom.xml"))
        .argument("dependency:copy-dependencies")
        .argument(format!("-DoutputDirectory={}", jars.display()))
        .run(BUILDS);
    if !is_here(ran) {
        return None;
    }
    Some(format!("{}/*", jars.display()))
}

fn openssl(_: &Stack<'_>, role: &str, network: &Network, program: Program) -> Program {
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

fn gnutls(stack: &Stack<'_>, role: &str, network: &Network, program: Program) -> Program {
    let (papers, address) = (network.papers(role), network.pair.ports.inbound);
    let path = |path: &Path| stack.system.path(path).display().to_string();
    let port = address.port().to_string();
    // Debian's build offers ML-DSA and has none: a node with two certificates would send it.
    let priority = "NORMAL:-VERS-ALL:+VERS-TLS1.3:-SIGN-ML-DSA-44:-SIGN-ML-DSA-65:-SIGN-ML-DSA-87";
    let program = program
        .arguments(["--priority", priority, "--alpn", "h2"])
        .argument(format!("--x509certfile={}", path(&papers.certificate)))
        .argument(format!("--x509keyfile={}", path(&papers.key)))
        .argument(format!("--x509cafile={}", path(&network.both)))
        .arguments(["--port", &port]);
    match role {
        "client" => program
            .arguments(["--sni-hostname", "nrf.5gc", "--verify-hostname", "nrf.5gc"])
            .argument(address.ip().to_string()),
        _ => program.arguments(["--require-client-cert", "--verify-client-cert", "--echo"]),
    }
}

mod full {
    use super::*;

    #[test]
    fn stacks_of_the_page_do_what_it_says() {
        let stacks_root = bartizan_testing::stacks()
            .expect("a cache directory")
            .ensure(&mut |_| {});
        let [host, trixie, sid] = [
            System::Host,
            System::LabRoot(lab_root()),
            System::Stacks(stacks_root.expect("the root of stacks")),
        ];
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let script = |system: &System, program: &[&str], name: &str| {
            let mut command = words(program);
            command.push(system.path(&end(name)).display().to_string());
            command
        };
        let mut stacks = Vec::new();
        let mut add = |name, system, command: Vec<String>, version, since, arguments| {
            stacks.push(Stack {
                name,
                system,
                command,
                version,
                since,
                arguments,
            });
        };
        for system in [&trixie, &host] {
            add(
                "OpenSSL",
                system,
                words(&["openssl"]),
                &["version"] as &[_],
                (3, 5),
                openssl as _,
            );
        }
        for (system, go, name) in [(&host, "go", "end-host"), (&sid, "/usr/lib/go-1.27/bin/go", "end-sid")] {
            if let Some(built) = built_by_go(system, go, name) {
                add(
                    "Go crypto/tls",
                    &host,
                    words(&[&built]),
                    &["version"],
                    (1, 27),
                    ends as _,
                );
            }
        }
        for (system, python) in [(&host, "python3"), (&sid, "python3.15")] {
            add(
                "Python ssl",
                system,
                script(system, &[python], "end.py"),
                &["version"],
                (3, 5),
                ends as _,
            );
        }
        for system in [&host, &sid] {
            add(
                "Node",
                system,
                script(system, &["node"], "end.js"),
                &["version"],
                (3, 5),
                ends as _,
            );
        }
        for (system, java) in [(&host, "java"), (&sid, JAVA_27), (&sid, JAVA_28)] {
            let (scheme, schemes) = (java == JAVA_28, SCHEMES);
            let options: Vec<&str> = [java]
                .into_iter()
                .chain(schemes.into_iter().filter(|_| scheme))
                .collect();
            add(
                "JSSE of JDK",
                system,
                script(system, &options, "End.java"),
                &["version"],
                (28, 0),
                ends as _,
            );
        }
        if let Some(path) = bouncy_castle() {
            let java = ["java", "-cp", &path];
            add(
                "Bouncy Castle",
                &host,
                script(&host, &java, "End.java"),
                &["version"],
                (9, 0),
                ends as _,
            );
        }
        add(
            "GnuTLS",
            &sid,
            words(&["gnutls-cli"]),
            &["--version"],
            (9, 0),
            gnutls as _,
        );

        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/stacks.md");
        let page = std::fs::read_to_string(page).expect("the page");
        let mut other = String::new();
        for mut stack in stacks {
            let found = stack.versions();
            let Some((last, number)) = found.last() else {
                println!("no {} is here", stack.name);
                continue;
            };
            let has_ml_dsa = *number >= stack.since;
            let with = match stack.name {
                "Python ssl" | "Node" => format!(", OpenSSL {last}"),
                _ => String::new(),
            };
            for (role, run) in [
                ("client", as_client as fn(&Stack<'_>, &Network) -> String),
                ("server", as_server),
            ] {
                if stack.name == "GnuTLS" && role == "server" {
                    stack.command = words(&["gnutls-serv"]);
                }
                let cells = PROFILES.map(|profile| run(&stack, &Network::new(profile, has_ml_dsa)));
                let about = format!("| {} {}{with} | {role} |", stack.name, found[0].0);
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
