//! `bartizan status` of a sidecar: readiness and state as its admin port gives them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use bartizan_deployment::Deployment;
use bartizan_inspect::text::counted;
use bartizan_sidecar::{Answer, Echoed};
use serde::Serialize;
use serde_json::Value;

use crate::commands::deployment_file::read;
use crate::commands::exchange::Request;
use crate::commands::ipsec::NodeArgs;
use crate::commands::macsec::With;
use crate::commands::show;
use crate::{Failure, Outcome};

/// Version of the JSON form: it changes when a field changes its meaning or goes.
const SCHEMA: &str = "bartizan-sidecar-status/1";
/// From connecting to the end of an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most bytes of an answer.
const LONGEST: usize = 16 << 20;
/// Family of handshakes that ended well.
const HANDSHAKES: &str = "bartizan_sidecar_handshakes_total{";

/// A sidecar that is to be asked.
pub(crate) struct Asked {
    node: String,
    file: String,
    deployment: Deployment,
    admin: SocketAddr,
    /// Interface of each peer of the file.
    peers: Vec<(String, &'static str)>,
}

bartizan_registry::made! {
    /// State of a sidecar.
    #[derive(Debug, Default, PartialEq, Eq, Serialize)]
    struct Status, of(asked: &Asked, ready: Result<Vec<String>, String>, state: &Value, config: &Value, metrics: &str) {
        let done = handshakes(metrics);
        let list = |name: &str| state[name].as_array().cloned().unwrap_or_default();
        let (links, refused) = (list("links"), list("refused"));
        let number = |value: &Value| value.as_u64().unwrap_or_default();
        let peers = asked.peers.iter().map(|(node, interface)| {
            let link = links
                .iter()
                .find(|link| link["peer"] == node.as_str() && link["interface"] == *interface);
            let link = link.unwrap_or(&Value::Null);
            let refusal = refused.iter().find(|refusal| refusal["peer"] == node.as_str());
            let refusal = refusal.unwrap_or(&Value::Null);
            Peer {
                node: node.clone(),
                interface: (*interface).to_owned(),
                connections: number(&link["connections"]),
                excepted: number(&link["excepted"]),
                classical: number(&link["classical"]),
                handshakes: done.get(node.as_str()).copied().unwrap_or_default(),
                refused: number(&refusal["handshakes"]),
                reason: refusal["reason"].as_str().map(str::to_owned),
            }
        });
        let ledger_lost = number(&state["ledger_lost"]);
        let (remarks, not_ready) = match ready {
            Ok(remarks) => (remarks, None),
            Err(reason) => (Vec::new(), Some(reason)),
        };
        schema: &'static str = SCHEMA,
        node: String = asked.node.clone(),
        /// Ready, and no ledger record lost.
        well: bool = not_ready.is_none() && ledger_lost == 0,
        /// The reason why it is not ready.
        not_ready: Option<String>,
        /// Remarks of one that is ready: what soon ends, or is not as it should be.
        remarks: Vec<String>,
        certificates: Value = config["certificates"].clone(),
        peers: Vec<Peer> = peers.collect(),
        ledger_lost: u64,
        needs_restart: Value = config["needs_restart"].clone(),
        /// Results of echoes; absent without --probe.
        #[serde(skip_serializing_if = "Option::is_none")]
        echoes: Option<Vec<Echo>> = None,
    }
}

/// Result of an echo at a listener of a peer's sidecar.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Echo {
    node: String,
    interface: &'static str,
    address: String,
    /// `passed`, `failed`, or `none` where no echo was sent.
    result: &'static str,
    /// The echo that came back, or why it did not.
    detail: String,
    hint: Option<String>,
}

/// State of a sidecar with one peer.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Peer {
    node: String,
    interface: String,
    /// Open connections; of these accepted as an exception, and with a classical key exchange.
    connections: u64,
    excepted: u64,
    classical: u64,
    /// Handshakes since the start that ended well, and those refused by either end.
    handshakes: u64,
    refused: u64,
    /// Reason of the last refusal.
    reason: Option<String>,
}

impl Asked {
    /// The node's sidecar, where the command is for it: the node has no other links, or it was
    /// asked for.
    pub(crate) fn meant(args: &NodeArgs) -> Result<Option<Self>, Failure> {
        let deployment = read(&args.file)?;
        let Some(node) = deployment.node(&args.node) else {
            return Ok(None);
        };
        let others =
            deployment.ipsec_links(&args.node).next().is_some() || deployment.macsec_links(&args.node).next().is_some();
        let (file, name) = (args.file.display().to_string(), args.node.clone());
        let sidecar = match (args.with, &node.sidecar) {
            (Some(With::Sidecar), None) => {
                return Err(Failure::usage(format!("{file}: {name} has no sidecar")).hint(node.without_sidecar()));
            }
            (Some(With::Sidecar), Some(sidecar)) => sidecar,
            (None, Some(sidecar)) if !others => sidecar,
            _ => return Ok(None),
        };
        let Some(admin) = sidecar.admin else {
            return Err(Failure::usage(format!(
                "{file}: the sidecar of {name} has no admin port to be asked at"
            ))
            .hint(format!("add `admin: 127.0.0.1:9901` to nodes.{name}.sidecar")));
        };
        let peers = deployment.sidecar_peers(&name);
        Ok(Some(Self {
            peers: peers
                .map(|(peer, interface)| (peer.name.to_string(), interface.kind.name()))
                .collect(),
            node: name,
            file,
            deployment,
            admin: reached(admin),
        }))
    }

    /// Asks it and prints the answer.
    pub(crate) fn run(&self, probe: bool, json: bool) -> Result<Outcome, Failure> {
        let (code, ready) = self.get("/ready")?;
        let mut status = Status::of(
            self,
            readiness(code, &ready),
            &self.json("/state")?,
            &self.json("/config")?,
            &self.get("/metrics")?.1,
        );
        if probe {
            status.probe(self.echoes()?);
        }
        show(&status, json, || status.text(), status.well)
    }

    /// Sends an echo to every peer's sidecar, with the node's own certificate.
    fn echoes(&self) -> Result<Vec<Echoed>, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::new(format!("no event loop: {error}")))?;
        let echoes = runtime.block_on(bartizan_sidecar::echo(&self.deployment, &self.node));
        echoes.map_err(|error| Failure::new(&error).with_hints(error.hint()))
    }

    fn json(&self, path: &str) -> Result<Value, Failure> {
        let (code, text) = self.get(path)?;
        if code != 200 {
            return Err(self.strange(&format!("{path} gave status {code}")));
        }
        serde_json::from_str(&text).map_err(|error| self.strange(&format!("{path}: {error}")))
    }

    /// Status and body.
    fn get(&self, path: &str) -> Result<(u16, String), Failure> {
        let request = Request {
            line: &format!("GET {path}"),
            host: &self.admin.to_string(),
            body: None,
            largest: LONGEST,
            patience: PATIENCE,
        };
        let answer = request.send(&[self.admin]).map_err(|error| match error.kind() {
            ErrorKind::InvalidData => self.strange(&error.to_string()),
            _ => Failure::new(format!("the admin port of {} at {}: {error}", self.node, self.admin))
                .hint(format!(
                    "`bartizan sidecar {} --node {}` starts the sidecar",
                    self.file, self.node
                ))
                .hint("a sidecar in a network namespace or container is asked from inside of it"),
        })?;
        Ok((answer.status, String::from_utf8_lossy(&answer.body).into_owned()))
    }

    fn strange(&self, what: &str) -> Failure {
        Failure::new(format!("{} is not the admin port of {}: {what}", self.admin, self.node))
            .hint("`ss -ltnp` shows the program that listens there")
    }
}

/// The address to connect to for one that is listened at.
fn reached(admin: SocketAddr) -> SocketAddr {
    let ip = match admin.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, admin.port())
}

/// Remarks of a sidecar that is ready, or why it is not.
fn readiness(code: u16, text: &str) -> Result<Vec<String>, String> {
    match code {
        // The first line says that it is ready.
        200 => Ok(text.lines().skip(1).map(str::to_owned).collect()),
        _ => Err(text.trim().to_owned()),
    }
}

/// Handshakes that ended well, by peer.
fn handshakes(metrics: &str) -> BTreeMap<&str, u64> {
    let mut counted = BTreeMap::new();
    for line in metrics.lines() {
        let labels = line.strip_prefix(HANDSHAKES).and_then(|rest| rest.rsplit_once("} "));
        let Some((labels, value)) = labels else { continue };
        let value = value.split(' ').next().and_then(|value| value.parse::<u64>().ok());
        let peer = labels
            .split_once("peer=\"")
            .and_then(|(_, rest)| rest.split('"').next());
        if let (Some(peer), Some(value)) = (peer, value) {
            *counted.entry(peer).or_insert(0) += value;
        }
    }
    counted
}

impl Status {
    /// Adds the results of echoes. One that failed, or none that passed, is no proof.
    fn probe(&mut self, echoed: Vec<Echoed>) {
        let echoes = echoed.into_iter().map(|echoed| {
            let (result, detail, hint) = match echoed.answer {
                Answer::Passed(by) => ("passed", by.to_owned(), None),
                Answer::Failed(why, hint) => ("failed", why, Some(hint)),
                Answer::None(why) => ("none", why.to_owned(), None),
            };
            Echo {
                node: echoed.peer,
                interface: echoed.interface,
                address: echoed.address.to_string(),
                result,
                detail,
                hint,
            }
        });
        let echoes: Vec<_> = echoes.collect();
        let has = |result| echoes.iter().any(|echo| echo.result == result);
        self.well &= has("passed") && !has("failed");
        self.echoes = Some(echoes);
    }

    fn text(&self) -> String {
        let mut text = match &self.not_ready {
            None => format!("{}: ready\n", self.node),
            Some(reason) => format!("{}: NOT READY: {reason}\n", self.node),
        };
        for remark in &self.remarks {
            // Writing into a String cannot fail.
            let _ = writeln!(text, "  {remark}");
        }
        for own in self.certificates.as_array().into_iter().flatten() {
            let of = |name: &str| own[name].as_str().unwrap_or("unknown");
            let unused = if own["in_use"] == false {
                ", accepted by no policy today"
            } else {
                ""
            };
            // Writing into a String cannot fail.
            let _ = writeln!(
                text,
                "  certificate {}, serial {}, until {}{unused}",
                of("subject"),
                of("serial"),
                of("not_after")
            );
        }
        for peer in &self.peers {
            let _ = write!(
                text,
                "  {} ({}): {}, {}, {}",
                peer.node,
                peer.interface,
                counted(peer.connections, "open connection"),
                counted(peer.handshakes, "handshake"),
                match &peer.reason {
                    Some(reason) => format!("{} (the last: {reason})", counted(peer.refused, "refusal")),
                    None => counted(peer.refused, "refusal"),
                }
            );
            let _ = match (peer.excepted, peer.classical) {
                (0, 0) => writeln!(text),
                (excepted, classical) => writeln!(
                    text,
                    "; of the open ones {excepted} by exception, {classical} classical"
                ),
            };
        }
        for echo in self.echoes.iter().flatten() {
            let result = match echo.result {
                "passed" => "echo passed",
                "failed" => "ECHO FAILED",
                _ => "no echo",
            };
            let _ = writeln!(
                text,
                "  {} ({}) at {}: {result}: {}",
                echo.node, echo.interface, echo.address, echo.detail
            );
            if let Some(hint) = echo.hint.iter().find(|hint| !hint.is_empty()) {
                let _ = writeln!(text, "    hint: {hint}");
            }
        }
        if self.echoes.as_ref().is_some_and(Vec::is_empty) {
            let _ = writeln!(text, "  no echo: no peer of the file has a listener for this node");
        }
        if self.ledger_lost > 0 {
            let _ = writeln!(text, "  LEDGER: {} lost", counted(self.ledger_lost, "record"));
        }
        for what in self
            .needs_restart
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            let _ = writeln!(text, "  a restart applies what the file changed: {what}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked() -> Asked {
        Asked {
            node: "amf".to_owned(),
            file: "core.yaml".to_owned(),
            deployment: Deployment::parse(
                "trust: { roots: r }\nnodes: { amf: { function: AMF, address: 10.0.0.1, names: { dns: [amf.5gc] } } }\n",
                "core.yaml",
                std::path::Path::new(""),
            )
            .unwrap(),
            admin: reached("0.0.0.0:9901".parse().unwrap()),
            peers: vec![("nrf".to_owned(), "SBI"), ("smf".to_owned(), "SBI")],
        }
    }

    #[test]
    fn peers_of_the_file_are_shown_with_what_the_sidecar_counted() {
        assert_eq!(asked().admin.to_string(), "127.0.0.1:9901");
        let state = json!({
            "links": [{ "peer": "nrf", "interface": "SBI", "connections": 2, "excepted": 1, "classical": 1 }],
            "refused": [{ "peer": "smf", "handshakes": 1, "reason": "expired" }],
            "ledger_lost": 3,
        });
        let config = json!({
            "certificates": [
                { "subject": "CN=amf", "serial": "6f", "not_after": "2027-02-27T00:00:00Z", "in_use": true },
                { "subject": "CN=amf", "serial": "70", "not_after": "2026-12-01T00:00:00Z", "in_use": false },
            ],
            "needs_restart": ["limits"],
        });
        let metrics = "bartizan_sidecar_handshakes_total{side=\"outbound\",peer=\"nrf\",group=\"X\"} 4\n\
                       bartizan_sidecar_handshakes_total{side=\"inbound\",peer=\"nrf\",group=\"X\"} 1 1.5\n\
                       bartizan_sidecar_handshake_failures_total{peer=\"smf\"} 9\n# EOF\n";
        let ready = readiness(200, "ready\nthe revocation list of CN=root ends in 3 days\n");
        let status = Status::of(&asked(), ready, &state, &config, metrics);
        assert!(!status.well, "records of the ledger were lost");
        assert_eq!(
            status.text(),
            "amf: ready\n  the revocation list of CN=root ends in 3 days\n  certificate CN=amf, serial 6f, until 2027-02-27T00:00:00Z\n  \
             certificate CN=amf, serial 70, until 2026-12-01T00:00:00Z, accepted by no policy today\n  \
             nrf (SBI): 2 open connections, 5 handshakes, 0 refusals; of the open ones 1 by exception, 1 classical\n  \
             smf (SBI): 0 open connections, 0 handshakes, 1 refusal (the last: expired)\n  \
             LEDGER: 3 records lost\n  a restart applies what the file changed: limits\n"
        );
        let whole = json!({ "links": [], "refused": [], "ledger_lost": 0 });
        let unready = Status::of(&asked(), readiness(503, "draining\n"), &whole, &config, "");
        assert!(!unready.well && unready.text().starts_with("amf: NOT READY: draining\n"));
        assert!(Status::of(&asked(), readiness(200, "ready\n"), &whole, &config, "").well);
    }
}
