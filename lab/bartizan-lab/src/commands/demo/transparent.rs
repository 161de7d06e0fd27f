//! The transparent way: nothing is configured in the network functions, and what they send to their
//! peers' own addresses is led through the sidecars by the host, or does not leave it.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bartizan_host::{Namespace, Process, Program};
use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Overwrite};
use bartizan_testing::{Capture, Direction, Port, connect};
use bartizan_workbench::Discovery;
use serde::Serialize;
use signal_hook::consts::SIGKILL;

use crate::Failure;
use crate::commands::demo::egress::Egress;
use crate::commands::demo::failed;
use crate::interrupt::Interrupt;

/// Ports of every network function, at its host's own address, and of its sidecar.
const FUNCTION_PORT: u16 = 8000;
const SIDECAR_PORT: u16 = 7443;
/// The user of the sidecars, by which the rules know what not to redirect. It needs no entry anywhere.
const USER: &str = "64998";
/// MTU of the cables: Ethernet's.
const MTU: u16 = 1500;
/// Time limit for a sidecar to be ready, and for a command.
const READY: Duration = Duration::from_secs(60);

/// Three hosts: the consumer's has a cable to each of the others.
struct Hosts {
    nef: Host,
    nrf: Host,
    udm: Host,
}

struct Host {
    node: &'static str,
    address: Ipv4Addr,
    namespace: Namespace,
}

/// The consumer's ends of both cables: everything it sends leaves by one of them.
const CABLES: [&str; 2] = ["to-nrf", "to-udm"];

/// An attempt and its result.
#[derive(Debug, Serialize)]
pub(super) struct Attempt {
    pub(super) case: &'static str,
    pub(super) title: &'static str,
    /// Required result.
    pub(super) expected: Expected,
    /// The producer's answer, or why there was none.
    pub(super) outcome: Result<String, String>,
    pub(super) egress: Egress,
}

/// Required result of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Expected {
    /// Answered, in plaintext: what a core does today.
    Unencrypted,
    /// Answered, with nothing readable.
    Protected,
    /// Not answered, with nothing readable.
    Refused,
}

impl Attempt {
    /// True if the result is the required one.
    pub(super) fn holds(&self) -> bool {
        let answered = self.outcome.as_deref().is_ok_and(Discovery::is_answer);
        let hybrid = !self.egress.groups.is_empty() && self.egress.groups.iter().all(|(group, _)| group == HYBRID);
        match self.expected {
            Expected::Unencrypted => answered && self.egress.clear_bytes > 0 && !self.egress.readable.is_empty(),
            Expected::Protected => answered && self.egress.is_closed() && hybrid,
            Expected::Refused => self.outcome.is_err() && self.egress.is_closed(),
        }
    }
}

/// The group that the policy asks for, as the inspector names it.
const HYBRID: &str = "X25519MLKEM768";

/// Fails with the reason if this host lacks a requirement of the rules.
pub(super) fn possible() -> Result<(), String> {
    let nft = Program::new("nft").package("nftables").arguments(["list", "tables"]);
    nft.run(READY).map(drop).map_err(|error| error.to_string())
}

/// Tries the transparent route, and three faults of it.
pub(super) fn attempts(
    folder: &Path,
    interrupt: &Interrupt,
    mut tell: impl FnMut(&Attempt),
) -> Result<Vec<Attempt>, Failure> {
    let written = |error: std::io::Error| Failure::new(format!("{}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(written)?;
    let hosts = Hosts::connect()?;
    let [nrf, udm] = [&hosts.nrf, &hosts.udm].map(|host| SocketAddr::from((host.address, FUNCTION_PORT)));
    let discovery = Discovery::new(&folder.join("functions"), nrf, udm).map_err(written)?;
    let _nrf = discovery.serve_nrf(&hosts.nrf.namespace).map_err(failed)?;
    let _udm = discovery.serve_producer(&hosts.udm.namespace).map_err(failed)?;
    let deployment = hosts.deployment(folder)?;
    let mut attempts = Vec::new();
    let mut attempt = |case, title, expected, before: &mut dyn FnMut() -> Result<(), Failure>| {
        interrupt.check()?;
        let attempt = hosts.attempt(&discovery, folder, (case, title, expected), before)?;
        tell(&attempt);
        attempts.push(attempt);
        Ok::<_, Failure>(())
    };

    attempt("unprotected", "without sidecars", Expected::Unencrypted, &mut || Ok(()))?;
    let mut sidecars = Vec::new();
    attempt(
        "redirected",
        "sidecars, redirect installed",
        Expected::Protected,
        &mut || {
            // The consumer's last, so that the connections it dials ahead find their peers.
            for host in [&hosts.nrf, &hosts.udm, &hosts.nef] {
                sidecars.push(host.sidecar(&deployment)?);
                host.install(&deployment)?;
            }
            Ok(())
        },
    )?;
    let mut kill = |index: usize| {
        let mut sidecar = sidecars.remove(index);
        sidecar.send(SIGKILL);
        sidecar.finish(READY).map(drop).map_err(failed)
    };
    attempt(
        "peers-sidecar-killed",
        "the UDM's sidecar is killed",
        Expected::Refused,
        &mut || kill(1),
    )?;
    attempt(
        "own-sidecar-killed",
        "the NEF's own sidecar is killed",
        Expected::Refused,
        &mut || kill(1),
    )?;
    attempt(
        "rules-flushed",
        "then `nft flush ruleset` at the NEF",
        Expected::Refused,
        &mut || {
            let nft = Program::new("nft").package("nftables").arguments(["flush", "ruleset"]);
            nft.inside(&hosts.nef.namespace).run(READY).map(drop).map_err(failed)
        },
    )?;
    Ok(attempts)
}

impl Hosts {
    fn connect() -> Result<Self, Failure> {
        let host = |node, address| {
            let namespace = Namespace::create(node).map_err(failed)?;
            Ok::<_, Failure>(Host {
                node,
                address,
                namespace,
            })
        };
        let hosts = Self {
            nef: host("nef", Ipv4Addr::new(10, 201, 0, 1))?,
            nrf: host("nrf", Ipv4Addr::new(10, 201, 0, 2))?,
            udm: host("udm", Ipv4Addr::new(10, 202, 0, 2))?,
        };
        let port = |namespace, interface, address| {
            Port::new(namespace, interface)
                .address(&format!("{address}/24"))
                .map_err(failed)
        };
        let (nef, far) = (&hosts.nef.namespace, "sbi");
        let cables = [
            (CABLES[0], hosts.nef.address, &hosts.nrf),
            (CABLES[1], Ipv4Addr::new(10, 202, 0, 1), &hosts.udm),
        ];
        for (near, address, host) in cables {
            let far = port(&host.namespace, far, host.address)?;
            connect(&port(nef, near, address)?, &far, MTU).map_err(failed)?;
        }
        Ok(hosts)
    }

    fn all(&self) -> [&Host; 3] {
        [&self.nef, &self.nrf, &self.udm]
    }

    /// Writes certificates and the deployment file.
    fn deployment(&self, folder: &Path) -> Result<PathBuf, Failure> {
        let now = SystemTime::now();
        let options = InitOptions::new(Algorithm::MlDsa65);
        let mut authority = Authority::init(&folder.join("ca"), options, now).map_err(failed)?;
        for host in self.all() {
            let leaf = Leaf::new(host.node)
                .and_then(|leaf| leaf.dns(&format!("{}.5gc", host.node)))
                .map_err(failed)?;
            let issued = authority.issue(&leaf, now).map_err(failed)?;
            issued.write_to(folder, Overwrite::Replace).map_err(failed)?;
        }
        let file = folder.join("deployment.yaml");
        let text = text(self.all().map(|host| (host.node, host.address)));
        fs::write(&file, text).map_err(|error| Failure::new(format!("{}: {error}", file.display())))?;
        Ok(file)
    }

    /// Records the consumer's cables while something is changed and the consumer discovers and calls.
    fn attempt(
        &self,
        discovery: &Discovery,
        folder: &Path,
        (case, title, expected): (&'static str, &'static str, Expected),
        before: &mut dyn FnMut() -> Result<(), Failure>,
    ) -> Result<Attempt, Failure> {
        let mut captures = Vec::new();
        for cable in CABLES {
            let file = folder.join(format!("{case}.{cable}.pcap"));
            captures.push(Capture::start(Some(&self.nef.namespace), cable, &file, Direction::Both).map_err(failed)?);
        }
        before()?;
        let outcome = discovery.call(&self.nef.namespace).map_err(failed)?;
        let mut egress = Egress::default();
        for capture in captures {
            let file = capture.path().to_owned();
            let dropped = capture.stop().map_err(failed)?.dropped;
            egress = egress.and(Egress::read(&file, dropped, FUNCTION_PORT, SIDECAR_PORT)?);
        }
        Ok(Attempt {
            case,
            title,
            expected,
            outcome,
            egress,
        })
    }
}

impl Host {
    /// Its sidecar, ready, as a user of its own.
    fn sidecar(&self, deployment: &Path) -> Result<Process, Failure> {
        let mut process = own()?
            .argument("sidecar")
            .argument(deployment)
            .arguments(["--node", self.node, "--user", USER])
            .log(deployment.with_file_name(format!("{}.log", self.node)))
            .inside(&self.namespace)
            .start()
            .map_err(failed)?;
        process.wait_for_line("ready", READY).map_err(failed)?;
        Ok(process)
    }

    /// `bartizan sidecar redirect install`.
    fn install(&self, deployment: &Path) -> Result<(), Failure> {
        own()?
            .arguments(["sidecar", "redirect", "install"])
            .argument(deployment)
            .arguments(["--node", self.node, "--user", USER])
            .inside(&self.namespace)
            .run(READY)
            .map(drop)
            .map_err(failed)
    }
}

fn own() -> Result<Program, Failure> {
    let own = crate::commands::product()?;
    Ok(Program::new(own))
}

/// The deployment file: each node the same, and no address of a peer but its own.
fn text(nodes: [(&str, Ipv4Addr); 3]) -> String {
    let mut text = "trust: { roots: ca.crt.pem }\nnodes:\n".to_owned();
    for (node, address) in nodes {
        let function = node.to_uppercase();
        text.push_str(&format!(
            "  {node}:\n    function: {function}\n    address: {address}\n    names: {{ dns: [{node}.5gc] }}\n    \
             certificate: {node}.crt.pem\n    key: {node}.key.pem\n    sidecar:\n      inbound:\n        \
             - {{ listen: \"{address}:{SIDECAR_PORT}\", forward: \"{address}:{FUNCTION_PORT}\" }}\n      outbound:\n        \
             - {{ listen: \"127.0.0.1:15001\", transparent: true }}\n"
        ));
    }
    text.push_str(
        "interfaces:\n  - { kind: SBI, between: [nef, nrf], with: sidecar }\n  - { kind: SBI, between: [nef, udm], with: sidecar }\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use bartizan_deployment::Deployment;
    use bartizan_redirect::Plan;

    use super::*;

    #[test]
    fn the_deployment_file_is_accepted_and_every_peer_is_redirected() {
        let text = text([
            ("nef", Ipv4Addr::new(10, 201, 0, 1)),
            ("nrf", Ipv4Addr::new(10, 201, 0, 2)),
            ("udm", Ipv4Addr::new(10, 202, 0, 2)),
        ]);
        let deployment =
            Deployment::parse(&text, "demo", Path::new("")).unwrap_or_else(|error| panic!("{error}\n{text}"));
        for node in ["nef", "nrf", "udm"] {
            let plan = Plan::new(&deployment, node, 64_998, std::time::SystemTime::now()).unwrap();
            assert_eq!(plan.services.len(), 2, "{node}");
        }
    }

    #[test]
    fn an_answer_counts_only_where_nothing_was_readable_and_the_group_was_seen() {
        let attempt = |expected, answer: Result<&str, &str>, egress| Attempt {
            case: "x",
            title: "x",
            expected,
            outcome: answer.map(str::to_owned).map_err(str::to_owned),
            egress,
        };
        let hybrid = || Egress {
            groups: vec![(HYBRID.to_owned(), 2)],
            ..Egress::default()
        };
        let answer = r#"{"supi":"imsi-208930000000001"}"#;
        assert!(attempt(Expected::Protected, Ok(answer), hybrid()).holds());
        assert!(!attempt(Expected::Protected, Ok("{}"), hybrid()).holds());
        assert!(!attempt(Expected::Protected, Ok(answer), Egress::default()).holds());
        let leaky = Egress {
            clear_bytes: 1,
            ..hybrid()
        };
        assert!(!attempt(Expected::Protected, Ok(answer), leaky).holds());
        assert!(attempt(Expected::Refused, Err("refused"), Egress::default()).holds());
        assert!(!attempt(Expected::Refused, Ok(answer), Egress::default()).holds());
        assert!(!attempt(Expected::Unencrypted, Ok(answer), hybrid()).holds());
    }
}
