//! Two sidecars in this process, for tests.

use std::fs;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, SystemTime};

use bartizan_deployment::Deployment;
use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Overwrite, Reason};
use tempfile::TempDir;
use tokio::runtime::{Builder, LocalOptions};
use tokio::time::{sleep, timeout};

use crate::shared::Shared;
use crate::{Running, Sidecar};

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a test on an event loop like that of a sidecar.
pub(crate) fn run(test: impl Future<Output = ()>) {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default());
    runtime.unwrap().block_on(test);
}

/// Waits until a condition holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waits = async {
        while !holds() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, waits).await.unwrap_or_else(|_| panic!("{what}"));
}

/// A node of the file that has another interface, and that.
const UDM: &str = "  udm: { function: UDM, address: 127.0.0.1 }\n";
const OF_UDM: &str = "  - { kind: O1, between: [amf, udm], with: sidecar }\n";

/// `amf` and `nrf`, their authority and its revocation list. `udm` has a certificate too, and an
/// interface of another kind.
pub(crate) struct Stage {
    place: TempDir,
    authority: Authority,
    ports: [SocketAddr; 2],
}

impl Stage {
    pub(crate) fn new() -> Self {
        let (place, now) = (tempfile::tempdir().unwrap(), SystemTime::now());
        let options = InitOptions::new(Algorithm::MlDsa65);
        let mut authority = Authority::init(&place.path().join("ca"), options, now).unwrap();
        for node in ["amf", "nrf", "udm"] {
            let leaf = Leaf::new(node)
                .unwrap()
                .dns(node)
                .unwrap()
                .algorithm(Algorithm::MlDsa65);
            let issued = authority.issue(&leaf, now).unwrap();
            issued.write_to(&place.path().join(node), Overwrite::Replace).unwrap();
        }
        // An address of its own: no other test takes a port between this look and the sidecar's start.
        static STAGES: AtomicU8 = AtomicU8::new(1);
        let [.., high, low] = std::process::id().to_be_bytes();
        let own = Ipv4Addr::new(127, STAGES.fetch_add(1, Ordering::Relaxed), high, low);
        let free = || TcpListener::bind((own, 0)).unwrap();
        let ports = [free(), free()].map(|listener| listener.local_addr().unwrap());
        let stage = Self {
            place,
            authority,
            ports,
        };
        stage.write_list();
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn write_list(&self) {
        fs::write(self.path("crl.pem"), self.authority.crl().unwrap()).unwrap();
    }

    pub(crate) fn revoke(&mut self, node: &str) {
        self.authority
            .revoke(node, Reason::KeyCompromise, SystemTime::now())
            .unwrap();
        self.write_list();
    }

    pub(crate) fn deployment(&self) -> Deployment {
        Deployment::parse(&self.text(), "pair.yaml", self.place.path()).unwrap_or_else(|error| panic!("{error}"))
    }

    fn text(&self) -> String {
        let [outbound, inbound] = self.ports;
        let node = |name: &str, function: &str, listeners: &str| {
            format!(
                "  {name}:\n    function: {function}\n    address: 127.0.0.1\n    names: {{ dns: [{name}] }}\n    \
                 certificate: {name}/{name}.crt.pem\n    key: {name}/{name}.key.pem\n    \
                 sidecar: {{ {listeners}, limits: {{ connect: 1m, handshake: 1m }} }}\n"
            )
        };
        format!(
            "policy: hybrid\ntrust: {{ roots: ca/root.crt.pem, crl: crl.pem }}\nnodes:\n{}{}{}interfaces:\n  \
             - {{ kind: SBI, between: [amf, nrf], with: sidecar }}\n{OF_UDM}",
            node(
                "amf",
                "AMF",
                &format!("outbound: [{{ listen: '{outbound}', to: nrf, path: http2, warm: 0 }}]")
            ),
            node(
                "nrf",
                "NRF",
                &format!("inbound: [{{ listen: '{inbound}', forward: '127.0.0.1:9', path: http2 }}]")
            ),
            UDM,
        )
    }

    /// The same with the certificate of `udm`, by which the node's own file knows it.
    pub(crate) async fn start_as_udm(&self, node: &str) -> Running {
        let text = self.text();
        let names = |name: &str| format!("names: {{ dns: [{name}] }}");
        let text = text
            .replace(UDM, "")
            .replace(OF_UDM, "")
            .replace(&names(node), &names("udm"))
            .replace(&format!("{node}/{node}."), "udm/udm.");
        let deployment = Deployment::parse(&text, "other.yaml", self.place.path());
        let deployment = deployment.unwrap_or_else(|error| panic!("{error}"));
        Sidecar::start(&deployment, node)
            .await
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// A sidecar of this process. Call it within [`run`].
    pub(crate) async fn start(&self, node: &str) -> Running {
        self.start_within(node, "").await
    }

    /// The same with further limits.
    pub(crate) async fn start_within(&self, node: &str, limits: &str) -> Running {
        let text = self
            .text()
            .replace("handshake: 1m", &format!("handshake: 1m, {limits}"));
        let deployment = Deployment::parse(&text, "pair.yaml", self.place.path());
        let deployment = deployment.unwrap_or_else(|error| panic!("{error}"));
        Sidecar::start(&deployment, node)
            .await
            .unwrap_or_else(|error| panic!("{error}"))
    }
}

pub(crate) fn shared(running: &Running) -> &Arc<Shared> {
    &running.state.shared
}
