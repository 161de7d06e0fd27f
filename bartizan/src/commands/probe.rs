//! `bartizan probe`.

use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use bartizan_follow::packets::Ended;
use bartizan_follow::read::{Given, Known, judge};
use bartizan_inspect::json::{self, Layout};
use bartizan_inspect::text::{self, Colour, counted, printable};
use bartizan_inspect::{Detail, Finding, Report, Severity};
use bartizan_keys::Keyring;
use bartizan_posture::{Ledgers, Verdict};
use bartizan_probe::{Answer, Error, Protocol, Session, Tape};

use super::inspect::width;
use crate::output::{is_coloured, said};
use crate::{Failure, Outcome};

/// Memory for the packets of one probe, which bounds its bytes itself.
const MEMORY: usize = 256 << 20;

/// Ask one server what it would negotiate; judge it as `inspect` does
///
/// The probe makes ordinary connections and sends only what ordinary clients send: no attack, no
/// malformed message, no guess of a password. It asks for key exchange groups and cipher suites by
/// elimination, and hands whole handshakes to the inspector as packets. A probe has at most 100
/// connections, 1 MiB of each and 20 times --timeout. It asks one host at a time. Ask only servers
/// that you may ask: each probe is in their logs.
///
/// IKE is asked for IKE_SA_INIT, and SSH up to the new keys: no signature is verified, which is a
/// finding.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan probe nrf.example:443                 TLS: groups, versions, suites, chain, tickets, 0-RTT\n  \
    bartizan probe 192.0.2.7:8443 --server-name nrf.example\n  \
    bartizan probe nrf.example:443 --quic\n  \
    bartizan probe gnb.example:22 --ssh --json     for a program (schema `bartizan-probe/1`)\n  \
    bartizan probe segw.example:500 --ike          IKE_SA_INIT, with additional key exchanges (RFC 9370)")]
pub(crate) struct Args {
    /// Server: a name or an address, and a port
    #[arg(value_name = "HOST:PORT")]
    server: String,

    /// Ask over QUIC instead of TLS
    #[arg(long, conflicts_with_all = ["ssh", "ike"])]
    quic: bool,

    /// Ask an SSH server
    #[arg(long, conflicts_with = "ike")]
    ssh: bool,

    /// Ask an IKEv2 responder (UDP port 500)
    #[arg(long)]
    ike: bool,

    /// The name to ask for, if it is not HOST
    #[arg(long, value_name = "NAME", conflicts_with_all = ["ssh", "ike"])]
    server_name: Option<String>,

    /// Longest wait for one connection
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = timeout)]
    timeout: Duration,

    /// Print JSON (schema `bartizan-probe/1`)
    #[arg(long)]
    json: bool,
}

/// Reads a wait of one hour at most.
fn timeout(text: &str) -> Result<Duration, String> {
    let wait = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let fits = !wait.is_zero() && wait <= Duration::from_secs(3600);
    fits.then_some(wait).ok_or_else(|| "a wait is up to 1h".to_owned())
}

impl Args {
    const fn protocol(&self) -> Protocol {
        match (self.quic, self.ssh, self.ike) {
            (true, ..) => Protocol::Quic,
            (_, true, _) => Protocol::Ssh,
            (_, _, true) => Protocol::Ike,
            _ => Protocol::Tls,
        }
    }

    /// The server's addresses, and the name that it is asked for.
    fn server(&self) -> Result<(Vec<SocketAddr>, Option<String>), Failure> {
        let failed = |cause: &str| Failure::usage(format!("{}: {cause}", printable(&self.server)));
        let hint = "give a name or an address and a port: `nrf.example:443`, `[2001:db8::7]:443`";
        let Some((host, _)) = self.server.rsplit_once(':') else {
            return Err(failed("no port").hint(hint));
        };
        let addresses = self.server.to_socket_addrs();
        let addresses: Vec<_> = addresses
            .map_err(|error| match error.kind() {
                io::ErrorKind::InvalidInput => failed("no port of 1 to 65535").hint(hint),
                _ => Failure::new(format!("{}: {error}", printable(&self.server))).hint("is the name right?"),
            })?
            .collect();
        let host = host.trim_matches(['[', ']']);
        let named = self.server_name.as_deref().unwrap_or(host);
        let name = named.parse::<IpAddr>().is_err().then(|| named.to_owned());
        Ok((addresses, name))
    }
}

fn failure(server: &str, error: &Error) -> Failure {
    let failure = Failure::new(format!("{}: {}", printable(server), printable(&error.to_string())));
    match error {
        Error::Unreachable(_) => failure.hint("is the port right, and does a firewall let this host through?"),
        Error::Silent => {
            failure.hint("give it more time with --timeout, or ask another protocol: --quic, --ssh, --ike")
        }
        Error::Closed | Error::Foreign(_) => {
            failure.hint("another protocol is asked with --quic, --ssh or --ike; another name with --server-name")
        }
        Error::Endless | Error::Bound => failure.hint("nothing is known of this server"),
        Error::Ours(_) => failure,
    }
}

/// The inspector's report on the handshakes of a probe.
fn report(name: String, tape: &Tape) -> Result<Report, Failure> {
    let keys = Arc::new(Keyring::new());
    let known = Known {
        ledgers: &Ledgers::default(),
        deployment: None,
        keys: &keys,
    };
    judge(name, known, Detail::Each, MEMORY, None, |taking| {
        tape.give(|part| taking.take(part));
        Ok(Given {
            ended: Ended {
                damage: None,
                dropped_at_capture: 0,
                about: Vec::new(),
            },
            sha256: None,
        })
    })
}

/// Returns true if a whole handshake, judged by its packets, is quantum-safe.
fn has_proof(report: &Report) -> bool {
    let mut links = report.network().links.iter();
    links.any(|link| link.confidentiality.verdict() == Verdict::QuantumSafe)
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    let (addresses, name) = args.server()?;
    let protocol = args.protocol();
    let bar = crate::commands::spinner();
    let mut progress = |number: u32, question: &str| {
        bar.set_message(format!("connection {number}: {question}"));
    };
    // The next address is asked where one cannot be reached: `localhost` has two.
    let mut outcome = None;
    for address in addresses {
        let mut session = Session::new(address, name.clone(), args.timeout, &mut progress);
        let answers = session.ask(protocol);
        let is_next = matches!(answers, Err(Error::Unreachable(_)));
        outcome = Some((address, answers, session.finish()));
        if !is_next {
            break;
        }
    }
    bar.finish_and_clear();
    let unknown = || Failure::new(format!("{}: has no address", printable(&args.server)));
    let (address, answers, (tape, connections)) = outcome.ok_or_else(unknown)?;
    let mut answers = answers.map_err(|error| failure(&args.server, &error))?;
    let report = (!tape.is_empty())
        .then(|| report(args.server.clone(), &tape))
        .transpose()?;
    // A handshake of IKE goes no further than the server's answer, which is not verified.
    let is_whole = report.as_ref().is_some_and(has_proof);
    let by_packets = matches!(protocol, Protocol::Tls | Protocol::Quic) && is_whole;
    if !by_packets && answers.iter().all(|answer| answer.question != "signature") {
        answers.push(Answer {
            question: "proof",
            values: vec!["no signature of the server was verified".to_owned()],
            finding: Some("the answers rest on what was received alone"),
        });
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    if args.json {
        let answers = serde_json::json!(answers);
        let server = serde_json::json!(args.server);
        let protocol = protocol.name();
        said(write!(
            out,
            "{{\"schema\":\"bartizan-probe/1\",\"server\":{server},\"address\":\"{address}\",\"protocol\":\"{protocol}\",\
             \"connections\":{connections},\"answers\":{answers},\"inspect\":"
        ))?;
        said(match report.as_ref() {
            Some(report) => json::write(&json::document(std::slice::from_ref(report)), Layout::Compact, &mut out),
            None => write!(out, "null"),
        })?;
        said(writeln!(out, "}}"))?;
    } else {
        let server = printable(&args.server);
        let asked = counted(u64::from(connections), "connection");
        said(write!(
            out,
            "{server} over {}: {asked}\n{}",
            protocol.name(),
            Answer::lines(&answers, width(), printable)
        ))?;
        if let Some(report) = &report {
            let colour = if is_coloured(&io::stdout()) {
                Colour::Yes
            } else {
                Colour::No
            };
            said(write!(
                out,
                "\n{}",
                text::render(report, None, Detail::Each, colour, width())
            ))?;
        }
    }
    said(out.flush())?;
    // A client without a certificate leaves findings of medium severity behind: answers decide in their place.
    // A server that requires one leaves nothing behind.
    let severe = |finding: &Finding| finding.severity() <= Severity::High || is_whole && finding.leaves_out();
    let found = report.is_some_and(|report| report.findings().iter().any(severe));
    let found = found || answers.iter().any(|answer| answer.finding.is_some());
    Ok(if found { Outcome::Finding } else { Outcome::Clean })
}
