//! Discovery as TS 29.510 has it: a consumer that knows its NRF alone asks it for a producer and
//! calls the address it receives.
//!
//! Both functions are nghttpd, the consumer is curl: none of them knows of a sidecar, and the
//! producer's address is in no configuration of the consumer.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Listening as _;
use bartizan_host::{Error, Namespace, Process, Program};
use serde_json::{Value, json};

/// Path of the consumer's request to its NRF (TS 29.510, clause 6.2.3.2).
const DISCOVERY: &str = "nnrf-disc/v1/nf-instances";
const QUERY: &str = "?target-nf-type=UDM&requester-nf-type=NEF";
/// Path of its request to the producer: whose telephone number this is
/// (Nudm_SubscriberDataManagement of TS 29.503).
const TRANSLATION: &str = "nudm-sdm/v2/msisdn-0900000001/id-translation-result";
/// Answer of the producer, with the identity of a subscriber.
const IDENTITY: &str = r#"{"supi":"imsi-208930000000001"}"#;
/// Seconds that the consumer waits for an answer: a producer that is fenced off does not even
/// refuse.
const PATIENCE: &str = "8";
/// Time limit of a program that should be done, on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// An NRF, a producer that it knows, and what they answer.
#[derive(Debug)]
pub struct Discovery {
    folder: PathBuf,
    nrf: SocketAddr,
    producer: SocketAddr,
}

impl Discovery {
    /// Writes what both functions answer below `folder`.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn new(folder: &Path, nrf: SocketAddr, producer: SocketAddr) -> std::io::Result<Self> {
        // As far as a consumer needs it of clause 6.2.6.2.3.
        let found = json!({
            "validityPeriod": 100,
            "nfInstances": [{ "nfType": "UDM", "nfStatus": "REGISTERED", "nfServices": [{
                "serviceName": "nudm-sdm", "scheme": "http", "apiPrefix": format!("http://{producer}"),
            }]}],
        });
        for (path, document) in [(DISCOVERY, found.to_string()), (TRANSLATION, IDENTITY.to_owned())] {
            let file = folder.join(path);
            if let Some(parent) = file.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(file, document)?;
        }
        Ok(Self {
            folder: folder.to_owned(),
            nrf,
            producer,
        })
    }

    /// Starts the NRF on its host.
    ///
    /// # Errors
    /// If nghttpd is missing or does not listen.
    pub fn serve_nrf(&self, host: &Namespace) -> Result<Process, Error> {
        self.serve(host, self.nrf)
    }

    /// Starts the producer on its host.
    ///
    /// # Errors
    /// If nghttpd is missing or does not listen.
    pub fn serve_producer(&self, host: &Namespace) -> Result<Process, Error> {
        self.serve(host, self.producer)
    }

    fn serve(&self, host: &Namespace, address: SocketAddr) -> Result<Process, Error> {
        let mut process = Program::new("nghttpd")
            .package("nghttp2-server")
            .arguments(["--no-tls", "--address", &address.ip().to_string(), "--htdocs"])
            .argument(&self.folder)
            .argument(address.port().to_string())
            .inside(host)
            .start()?;
        process.wait_for_port(address, LONG)?;
        Ok(process)
    }

    /// The consumer, on its host: it discovers the producer and calls it. Gives the answer, or in
    /// words why there was none.
    ///
    /// # Errors
    /// If curl cannot be run.
    pub fn call(&self, consumer: &Namespace) -> Result<Result<String, String>, Error> {
        let found = match get(consumer, &format!("http://{}/{DISCOVERY}{QUERY}", self.nrf))? {
            Ok(found) => found,
            Err(why) => return Ok(Err(format!("discovery: {why}"))),
        };
        let found: Value = serde_json::from_str(&found).unwrap_or_default();
        match found["nfInstances"][0]["nfServices"][0]["apiPrefix"].as_str() {
            Some(producer) => get(consumer, &format!("{producer}/{TRANSLATION}")),
            None => Ok(Err("discovery: the NRF names no producer".to_owned())),
        }
    }

    /// Returns true if this is what the producer answers.
    #[must_use]
    pub fn is_answer(answer: &str) -> bool {
        answer == IDENTITY
    }
}

/// One request of curl. A refusal is explained by its ProblemDetails, or by curl.
fn get(consumer: &Namespace, url: &str) -> Result<Result<String, String>, Error> {
    let finished = Program::new("curl")
        .package("curl")
        .arguments([
            "--silent",
            "--show-error",
            "--http2-prior-knowledge",
            "--max-time",
            PATIENCE,
        ])
        .arguments(["--write-out", "\n%{http_code}", url])
        .inside(consumer)
        .start()?
        .finish(LONG)?;
    if !finished.status.success() {
        let said = String::from_utf8_lossy(&finished.stderr).trim().to_owned();
        return Ok(Err(if said.is_empty() {
            finished.status.to_string()
        } else {
            said
        }));
    }
    let said = finished.text();
    let (body, status) = said.rsplit_once('\n').unwrap_or((&said, ""));
    Ok(match status {
        "200" => Ok(body.to_owned()),
        _ => {
            let problem: Value = serde_json::from_str(body).unwrap_or_default();
            let detail = problem["detail"].as_str().unwrap_or(body.trim());
            Err(format!("{status} {detail}"))
        }
    })
}
