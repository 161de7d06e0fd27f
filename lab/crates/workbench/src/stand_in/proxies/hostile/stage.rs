//! Three sidecars: of the consumer and the producer that are measured, and of a third node that
//! both trust and that is hostile.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use bartizan_host::{Process, Program};
use bartizan_testing::Listening as _;
use bartizan_testing::loopback_addresses;

use super::Hostility;
use crate::Error;
use crate::stand_in::proxies::papers::{CONSUMER, PRODUCER, PRODUCER_NAME, Papers, THIRD};
use crate::stand_in::proxies::{Proxy, Tools};

/// Time limit for a program to listen.
const READY: Duration = Duration::from_secs(20);

/// The sidecars of one path, and where everything is.
#[derive(Debug)]
pub(super) struct Stage {
    consumer: Process,
    producer: Process,
    third: Process,
    /// Address to which the measured client connects.
    pub(super) entry: SocketAddr,
    at: Addresses,
}

#[derive(Debug, Clone, Copy)]
struct Addresses {
    /// From the consumer's function to the hostile producer.
    to_third: SocketAddr,
    /// The producer's listeners for SBI and for O1.
    middle: SocketAddr,
    neighbouring: SocketAddr,
    /// The third's: for others' requests, and for its own function's to the producer by SBI and by O1.
    third: SocketAddr,
    third_sbi: SocketAddr,
    third_o1: SocketAddr,
    /// The hostile producer.
    hostile: SocketAddr,
}

impl Stage {
    pub(super) fn start(
        tools: &Tools,
        path: Proxy,
        papers: &Papers,
        server: SocketAddr,
        folder: &Path,
    ) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(Error::file(folder))?;
        let [
            entry,
            to_third,
            middle,
            neighbouring,
            third,
            third_sbi,
            third_o1,
            hostile,
        ] = loopback_addresses()?;
        let at = Addresses {
            to_third,
            middle,
            neighbouring,
            third,
            third_sbi,
            third_o1,
            hostile,
        };
        let file = folder.join("deployment.yaml");
        let text = deployment(path, papers, (entry, server), at);
        fs::write(&file, text).map_err(Error::file(&file))?;
        let start = |node: &str, listens: SocketAddr| {
            let mut process = Program::new(&tools.sidecar)
                .argument("sidecar")
                .argument(&file)
                .arguments(["--node", node, "--log", "error"])
                .log(folder.join(format!("{node}.log")))
                .start()?;
            process.wait_for_port(listens, READY)?;
            Ok::<_, Error>(process)
        };
        Ok(Self {
            producer: start(PRODUCER, middle)?,
            third: start(THIRD, third)?,
            consumer: start(CONSUMER, entry)?,
            entry,
            at,
        })
    }

    pub(super) fn pin(&self, own: &[usize], hostile: &[usize]) -> Result<(), Error> {
        bartizan_machine::pin(&self.consumer, own)?;
        bartizan_machine::pin(&self.producer, own)?;
        Ok(bartizan_machine::pin(&self.third, hostile)?)
    }

    /// Starts what is hostile.
    pub(super) fn attacker(&self, tools: &Tools, hostility: Hostility) -> Result<Option<Process>, Error> {
        let to = match hostility {
            Hostility::Quiet => return Ok(None),
            Hostility::Consumer => self.at.third_sbi,
            Hostility::Producer => self.at.to_third,
            Hostility::Unauthenticated => self.at.middle,
            Hostility::Neighbour => self.at.third_o1,
        };
        let mut program = Program::new(&tools.own)
            .arguments(["bench", "attack", "--as", hostility.name(), "--to"])
            .argument(to.to_string());
        if hostility == Hostility::Producer {
            program = program.argument("--listen").argument(self.at.hostile.to_string());
        }
        let mut process = program.start()?;
        if hostility == Hostility::Producer {
            process.wait_for_port(self.at.hostile, READY)?;
        }
        Ok(Some(process))
    }
}

fn deployment(path: Proxy, papers: &Papers, (entry, server): (SocketAddr, SocketAddr), at: Addresses) -> String {
    let path = path.name();
    let node = |name: &str, function: &str, dns: &str, number: u8| {
        format!(
            "\x20 {name}:\n\
             \x20   function: {function}\n\
             \x20   address: 127.78.0.{number}\n\
             \x20   names: {{ dns: [{dns}] }}\n\
             \x20   certificate: \"{}\"\n\
             \x20   key: \"{}\"\n",
            papers.certificate(name).display(),
            papers.key(name).display()
        )
    };
    let Addresses {
        to_third,
        middle,
        neighbouring,
        third,
        third_sbi,
        third_o1,
        hostile,
    } = at;
    format!(
        "policy: {policy}\n\
         trust: {{ roots: \"{roots}\", crl: \"{crl}\" }}\n\
         nodes:\n\
         {consumer}\
         \x20   sidecar:\n\
         \x20     ledger: {CONSUMER}.ledger.jsonl\n\
         \x20     outbound:\n\
         \x20       - {{ listen: \"{entry}\", to: {PRODUCER}, path: {path} }}\n\
         \x20       - {{ listen: \"{to_third}\", to: {THIRD}, path: {path} }}\n\
         {producer}\
         \x20   sidecar:\n\
         \x20     ledger: {PRODUCER}.ledger.jsonl\n\
         \x20     inbound:\n\
         \x20       - {{ listen: \"{middle}\", forward: \"{server}\", service: 127.78.0.2:8000, path: {path}, interface: SBI }}\n\
         \x20       - {{ listen: \"{neighbouring}\", forward: \"{server}\", service: 127.78.0.2:8001, path: {path}, interface: O1 }}\n\
         {third_node}\
         \x20   sidecar:\n\
         \x20     ledger: {THIRD}.ledger.jsonl\n\
         \x20     inbound: [{{ listen: \"{third}\", forward: \"{hostile}\", path: {path}, interface: SBI }}]\n\
         \x20     outbound:\n\
         \x20       - {{ listen: \"{third_sbi}\", to: {PRODUCER}, path: {path}, interface: SBI }}\n\
         \x20       - {{ listen: \"{third_o1}\", to: {PRODUCER}, path: {path}, interface: O1 }}\n\
         interfaces:\n\
         \x20 - {{ kind: SBI, between: [{CONSUMER}, {PRODUCER}], with: sidecar }}\n\
         \x20 - {{ kind: SBI, between: [{CONSUMER}, {THIRD}], with: sidecar }}\n\
         \x20 - {{ kind: SBI, between: [{THIRD}, {PRODUCER}], with: sidecar }}\n\
         \x20 - {{ kind: O1, between: [{THIRD}, {PRODUCER}], with: sidecar }}\n",
        policy = papers.mode.policy(),
        roots = papers.roots().display(),
        crl = papers.revocations().display(),
        consumer = node(CONSUMER, "AMF", &format!("{CONSUMER}.5gc"), 1),
        producer = node(PRODUCER, "UDM", PRODUCER_NAME, 2),
        third_node = node(THIRD, "SMO", &format!("{THIRD}.5gc"), 3),
    )
}
