//! The core that the demo protects: who is in it, its certificates and its deployment file.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Overwrite};

use crate::Failure;
use crate::commands::demo::failed;
use crate::commands::demo::stage::Stage;

/// Port at which a network function of the recorded core listened (free5GC's sample configuration),
/// and its own port here.
const SBI_PORT: u16 = 8000;
const TLS_PORT: u16 = 8443;
/// The consumers' sidecar: one local port per producer from here on.
const OUTBOUND_PORT: u16 = 18_000;
const ADMIN_PORT: u16 = 19_000;

/// The producers of the demo: a web server we did not write, then the network functions of the recording.
pub(super) static PRODUCERS: [Producer; 7] = [
    Producer {
        node: "web",
        function: "NEF",
    },
    Producer {
        node: "nrf",
        function: "NRF",
    },
    Producer {
        node: "udm",
        function: "UDM",
    },
    Producer {
        node: "udr",
        function: "UDR",
    },
    Producer {
        node: "ausf",
        function: "AUSF",
    },
    Producer {
        node: "pcf",
        function: "PCF",
    },
    Producer {
        node: "amf",
        function: "AMF",
    },
];

/// The node at the other end: in the recording every consumer has one address, so they are one node.
pub(super) const CONSUMERS: &str = "consumers";

pub(super) struct Producer {
    pub(super) node: &'static str,
    pub(super) function: &'static str,
}

/// Algorithms of a core, and the path of its sidecars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Variant {
    pub(super) policy: Policy,
    pub(super) path: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Policy {
    Hybrid,
    Classical,
}

impl Policy {
    fn text(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Classical => "{ profile: classical, lab: true }",
        }
    }

    pub(super) fn algorithm(self) -> Algorithm {
        match self {
            Self::Hybrid => Algorithm::MlDsa65,
            Self::Classical => Algorithm::EcdsaP256,
        }
    }
}

/// A folder with a deployment file and everything it names.
pub(super) struct Core {
    pub(super) folder: PathBuf,
    pub(super) deployment: PathBuf,
}

impl Core {
    /// Makes a CA, issues a certificate to every node, and writes the deployment file.
    pub(super) fn build(folder: PathBuf, stage: &Stage, variant: Variant) -> Result<Self, Failure> {
        let pki = folder.join("pki");
        fs::create_dir_all(&pki).map_err(|error| Failure::new(format!("{}: {error}", pki.display())))?;
        let algorithm = variant.policy.algorithm();
        let now = SystemTime::now();
        let mut authority = Authority::init(&folder.join("ca"), InitOptions::new(algorithm), now).map_err(failed)?;
        for node in [CONSUMERS]
            .into_iter()
            .chain(PRODUCERS.iter().map(|producer| producer.node))
        {
            let leaf = Leaf::new(node)
                .and_then(|leaf| leaf.dns(&format!("{node}.5gc")))
                .map_err(failed)?;
            let issued = authority.issue(&leaf, now).map_err(failed)?;
            issued.write_to(&pki, Overwrite::Replace).map_err(failed)?;
        }
        let list = authority.crl().map_err(failed)?;
        let crl = pki.join("ca.crl.pem");
        fs::write(&crl, list).map_err(|error| Failure::new(format!("{}: {error}", crl.display())))?;
        let deployment = folder.join("deployment.yaml");
        fs::write(&deployment, text(stage, variant))
            .map_err(|error| Failure::new(format!("{}: {error}", deployment.display())))?;
        Ok(Self { folder, deployment })
    }

    pub(super) fn ledger(&self, node: &str) -> PathBuf {
        self.folder.join(format!("{node}.ledger.jsonl"))
    }

    pub(super) fn log(&self, node: &str) -> PathBuf {
        self.folder.join(format!("{node}.log"))
    }

    pub(super) fn pki(&self) -> PathBuf {
        self.folder.join("pki")
    }
}

/// Address of the network function itself.
pub(super) fn function_address(stage: &Stage, index: usize) -> std::net::SocketAddr {
    (stage.producer(index), SBI_PORT).into()
}

/// Address of its sidecar for other sidecars.
pub(super) fn sidecar_address(stage: &Stage, index: usize) -> std::net::SocketAddr {
    (stage.producer(index), TLS_PORT).into()
}

/// Address of the consumers' sidecar for requests to it.
pub(super) fn local_address(stage: &Stage, index: usize) -> std::net::SocketAddr {
    stage.local(OUTBOUND_PORT + u16::try_from(index).unwrap_or(u16::MAX))
}

/// Metrics address of the consumers' sidecar.
pub(super) fn admin_address(stage: &Stage) -> std::net::SocketAddr {
    stage.local(ADMIN_PORT)
}

/// The deployment file.
fn text(stage: &Stage, variant: Variant) -> String {
    let (policy, path) = (variant.policy.text(), variant.path);
    let mut text = format!(
        "policy: {policy}\ntrust: {{ roots: pki/ca.crt.pem, crl: pki/ca.crl.pem }}\nnodes:\n  {CONSUMERS}:\n    function: NF\n    \
         address: {}\n    names: {{ dns: [{CONSUMERS}.5gc] }}\n    certificate: pki/{CONSUMERS}.crt.pem\n    key: pki/{CONSUMERS}.key.pem\n    \
         sidecar:\n      admin: \"{}\"\n      ledger: {CONSUMERS}.ledger.jsonl\n      outbound:\n",
        stage.consumers(),
        admin_address(stage),
    );
    // Writing to a String cannot fail.
    for (index, producer) in PRODUCERS.iter().enumerate() {
        let listen = local_address(stage, index);
        let _ = writeln!(
            text,
            "        - {{ listen: \"{listen}\", to: {}, path: {path}, warm: 2 }}",
            producer.node
        );
    }
    for (index, Producer { node, function }) in PRODUCERS.iter().enumerate() {
        let _ = writeln!(
            text,
            "  {node}:\n    function: {function}\n    address: {}\n    names: {{ dns: [{node}.5gc] }}\n    \
             certificate: pki/{node}.crt.pem\n    key: pki/{node}.key.pem\n    sidecar:\n      ledger: {node}.ledger.jsonl\n      \
             inbound:\n        - {{ listen: \"{}\", forward: \"{}\", path: {path} }}",
            stage.producer(index),
            sidecar_address(stage, index),
            function_address(stage, index),
        );
    }
    text.push_str("interfaces:\n");
    for producer in &PRODUCERS {
        let _ = writeln!(
            text,
            "  - {{ kind: SBI, between: [{CONSUMERS}, {}], with: sidecar }}",
            producer.node
        );
    }
    text
}

/// Reads a whole file for a message or a count.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bartizan_deployment::Deployment;

    use super::*;

    #[test]
    fn the_deployment_files_of_the_demo_are_accepted() {
        for policy in [Policy::Hybrid, Policy::Classical] {
            for path in ["http2", "splice"] {
                let text = text(&Stage::on_loopback(), Variant { policy, path });
                let deployment =
                    Deployment::parse(&text, "demo", Path::new("")).unwrap_or_else(|error| panic!("{error}\n{text}"));
                assert_eq!(deployment.nodes().count(), PRODUCERS.len() + 1);
            }
        }
    }
}
