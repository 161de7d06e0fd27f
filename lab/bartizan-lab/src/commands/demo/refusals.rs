//! Three peers that a sidecar must refuse, and what it records of each.

use std::fs::File;
use std::io::BufReader;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use bartizan_deployment::Policy;
use bartizan_host::Program;
use bartizan_ledger::{Event, Reader, Verdict};
use bartizan_tls::{Answer, Credentials, probe};
use serde::Serialize;

use crate::Failure;
use crate::commands::demo::core::{self, CONSUMERS, Core, PRODUCERS, Variant};
use crate::commands::demo::failed;
use crate::commands::demo::stage::Stage;

/// Wait of an unauthenticated client for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A client without a valid certificate, the answer it received, and the refusal that the ledger recorded.
#[derive(Debug, Serialize)]
pub(super) struct Refusal {
    pub(super) client: &'static str,
    pub(super) answer: String,
    /// Reason and detail in the refuser's ledger.
    pub(super) reason: String,
    pub(super) detail: String,
}

/// Connects to the sidecar of the first producer without and with a foreign certificate. An
/// admission is an error of the demo.
pub(super) fn provoke(stage: &Stage, core: &Core, variant: Variant) -> Result<Vec<Refusal>, Failure> {
    let target = core::sidecar_address(stage, 0);
    let ledger = core.ledger(PRODUCERS[0].node);
    let foreign = Core::build(core.folder.join("foreign"), stage, variant)?;
    let foreign = foreign_credentials(&foreign)?;
    let mut refusals = Vec::new();
    for (client, credentials) in [
        ("no client certificate", None),
        ("certificate of another CA", Some(&foreign)),
    ] {
        let before = refused(&ledger)?.len();
        let answer = on_consumers(stage, || attempt(target, credentials))?;
        let answer = match answer {
            Answer::Admitted => return Err(Failure::new(format!("{client}: {target} let it in"))),
            Answer::Refused(alert) => format!("TLS alert {alert}"),
            Answer::Closed => "connection closed".to_owned(),
        };
        refusals.push(recorded(client, answer, &ledger, before)?);
    }
    let before = refused(&ledger)?.len();
    let answer = classical_curl(stage, target)?;
    refusals.push(recorded("classical-only peer (curl, X25519)", answer, &ledger, before)?);
    Ok(refusals)
}

fn foreign_credentials(foreign: &Core) -> Result<Credentials, Failure> {
    let read = |name: &str| core::read(&foreign.pki().join(name)).map(String::into_bytes);
    let certificate = read(&format!("{CONSUMERS}.crt.pem"))?;
    let key = read(&format!("{CONSUMERS}.key.pem"))?;
    Credentials::from_pem(&certificate, &key, &read("ca.crt.pem")?, None).map_err(failed)
}

fn attempt(target: SocketAddr, credentials: Option<&Credentials>) -> Result<Answer, Failure> {
    let stopped = |error: std::io::Error| Failure::new(format!("connecting to {target}: {error}"));
    let mut stream = TcpStream::connect_timeout(&target, PATIENCE).map_err(stopped)?;
    stream.set_nodelay(true).map_err(stopped)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(stopped)?;
    probe(&mut stream, target.ip().into(), &Policy::hybrid(), credentials).map_err(failed)
}

fn on_consumers<T: Send>(stage: &Stage, work: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            stage.enter_consumers()?;
            work()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// A program we did not write that offers X25519 alone.
fn classical_curl(stage: &Stage, target: SocketAddr) -> Result<String, Failure> {
    let program = Program::new("curl").package("curl").arguments([
        "--silent",
        "--show-error",
        "--insecure",
        "--http2",
        "--curves",
        "X25519",
        "--max-time",
        "30",
    ]);
    let program = stage.at_consumers(program.argument(format!("https://{target}/")));
    let finished = program
        .start()
        .and_then(|process| process.finish(PATIENCE * 2))
        .map_err(failed)?;
    if finished.status.success() {
        return Err(Failure::new(format!("curl with X25519 alone: {target} let it in")));
    }
    let said = String::from_utf8_lossy(&finished.stderr).trim().to_owned();
    Ok(said.lines().next().unwrap_or("no answer").to_owned())
}

/// The refusal that a ledger gained since it had `before` of them.
fn recorded(client: &'static str, answer: String, ledger: &Path, before: usize) -> Result<Refusal, Failure> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some((reason, detail)) = refused(ledger)?.into_iter().nth(before) {
            return Ok(Refusal {
                client,
                answer,
                reason,
                detail,
            });
        }
        if Instant::now() > deadline {
            return Err(Failure::new(format!(
                "{client}: refused ({answer}), but {} does not say so",
                ledger.display()
            )));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn refused(ledger: &Path) -> Result<Vec<(String, String)>, Failure> {
    let file = File::open(ledger).map_err(|error| Failure::new(format!("{}: {error}", ledger.display())))?;
    let records = Reader::new(BufReader::new(file)).flatten();
    Ok(records
        .filter_map(|record| match record.event {
            Event::Handshake(handshake) => match handshake.verdict {
                Verdict::Refused { reason, detail } => Some((reason, detail)),
                Verdict::Accepted | Verdict::Excepted { .. } => None,
            },
            _ => None,
        })
        .collect())
}
