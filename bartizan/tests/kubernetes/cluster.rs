//! An API server with its store.

use std::fs;
use std::path::Path;
use std::time::Duration;

use bartizan_host::{Facts, Namespace, Process, Program};
use bartizan_testing::Listening as _;
use bartizan_testing::until;
use serde_json::{Value, json};

use crate::authority::Place;
use crate::{document, tools};

pub(crate) const LONG: Duration = Duration::from_secs(120);
/// Namespace that docs/kubernetes.md opts in.
pub(crate) const CORE: &str = "free5gc";
/// The webhook's.
pub(crate) const SYSTEM: &str = "bartizan-system";

const KUBECONFIG: &str = "
apiVersion: v1
kind: Config
clusters: [ { name: one, cluster: { server: 'https://127.0.0.1:6443', certificate-authority: cluster/ca.crt.pem } } ]
users: [ { name: admin, user: { token: admin } } ]
contexts: [ { name: one, context: { cluster: one, user: admin } } ]
current-context: one
";

/// Bodies of pods too, so that a test can read what webhooks said about them.
const AUDIT: &str = "
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - { level: Metadata, resources: [ { group: '', resources: [pods] } ] }
  - { level: None }
";

pub(crate) struct Cluster {
    pub(crate) place: Place,
    // Ended in this order, then the namespace with whatever is left inside.
    server: Option<Process>,
    _etcd: Process,
    pub(crate) namespace: Namespace,
    _store: tempfile::TempDir,
}

const SERVER: [&str; 15] = [
    "--etcd-servers=http://127.0.0.1:2379",
    "--service-cluster-ip-range=10.96.0.0/24",
    "--bind-address=127.0.0.1",
    "--secure-port=6443",
    "--advertise-address=10.96.0.254",
    "--endpoint-reconciler-type=none",
    "--tls-cert-file=cluster/api.crt.pem",
    "--tls-private-key-file=cluster/api.key.pem",
    "--service-account-issuer=https://kubernetes.default.svc",
    "--service-account-key-file=cluster/api.crt.pem",
    "--service-account-signing-key-file=cluster/api.key.pem",
    "--token-auth-file=tokens.csv",
    "--authorization-mode=RBAC",
    "--audit-policy-file=audit.yaml",
    "--audit-log-path=audit.log",
];

fn run(place: &Place, namespace: &Namespace, program: &Path, arguments: &[&str]) -> Process {
    Program::new(program)
        .arguments(arguments)
        .directory(place)
        .inside(namespace)
        .log(place.path(&format!("{}.log", program.file_name().unwrap().display())))
        .start()
        .unwrap()
}

/// Exit and output of a program.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) works: bool,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Cluster {
    /// One that answers, with the ServiceAccount of the namespace `default` there.
    pub(crate) fn start() -> Self {
        assert!(Facts::gather().root, "NOT RUN: this test needs root");
        let place = Place::new();
        let namespace = Namespace::create("kube").unwrap();
        // Addresses of Services are this machine's own: a process that listens there is the
        // Service.
        let route = [
            "-n",
            namespace.name(),
            "route",
            "add",
            "local",
            "10.96.0.0/24",
            "dev",
            "lo",
        ];
        Program::of_system("ip").arguments(route).run(LONG).unwrap();
        place.ca_works("init --dir cluster-ca --algorithm ecdsa-p256");
        place.ca_works("issue --dir cluster-ca --name api --dns kubernetes.default.svc --ip 127.0.0.1 --out cluster");
        fs::write(place.path("tokens.csv"), "admin,admin,admin,system:masters\n").unwrap();
        fs::write(place.path("kubeconfig"), KUBECONFIG).unwrap();
        fs::write(place.path("audit.yaml"), AUDIT).unwrap();
        fs::write(place.path("deployment.yaml"), document::deployment()).unwrap();
        std::os::unix::fs::symlink(document::repository().join("deploy"), place.path("deploy")).unwrap();
        let memory = Path::new("/dev/shm");
        let store = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap();
        let etcd = run(
            &place,
            &namespace,
            Path::new("etcd"),
            &[
                &format!("--data-dir={}", store.path().display()),
                "--listen-client-urls=http://127.0.0.1:2379",
                "--advertise-client-urls=http://127.0.0.1:2379",
                "--listen-peer-urls=http://127.0.0.1:2380",
            ],
        );
        let mut cluster = Self {
            place,
            server: None,
            _etcd: etcd,
            namespace,
            _store: store,
        };
        cluster.start_server();
        cluster.has_account("default");
        cluster
    }

    fn start_server(&mut self) {
        let mut server = run(
            &self.place,
            &self.namespace,
            &tools::folder().join("kube-apiserver"),
            &SERVER,
        );
        server.wait_for_port("127.0.0.1:6443".parse().unwrap(), LONG).unwrap();
        self.server = Some(server);
        until("the API server is ready", || self.kubectl("get --raw /readyz").works);
    }

    /// Ends the API server; the store stays.
    pub(crate) fn stop_server(&mut self) {
        let mut server = self.server.take().unwrap();
        server.send(libc::SIGKILL);
        drop(server);
    }

    /// Starts it again.
    pub(crate) fn restart_server(&mut self) {
        self.start_server();
    }

    /// Gives a namespace the ServiceAccount that a controller would: pods can be created from then on.
    pub(crate) fn has_account(&self, namespace: &str) {
        self.works(&format!("--namespace {namespace} create serviceaccount default"));
    }

    pub(crate) fn program(&self, name: &str) -> Program {
        Program::new(name)
            .environment("PATH", tools::path())
            .environment("KUBECONFIG", self.place.path("kubeconfig"))
            .environment("HOME", self.place.as_ref())
            .directory(&self.place)
            .inside(&self.namespace)
    }

    /// Runs kubectl, whatever comes of it.
    pub(crate) fn kubectl(&self, line: &str) -> Said {
        said(self.program("kubectl").arguments(line.split_whitespace()))
    }

    /// The same with an object for `--filename -`.
    pub(crate) fn give(&self, line: &str, object: &Value) -> Said {
        let program = self.program("kubectl").arguments(line.split_whitespace());
        said(
            program
                .arguments(["--filename", "-"])
                .text(&object.to_string())
                .unwrap(),
        )
    }

    /// Runs kubectl, which has to work.
    pub(crate) fn works(&self, line: &str) -> String {
        let said = self.kubectl(line);
        assert!(said.works, "kubectl {line}: {said:?}");
        said.out
    }

    /// An object as it is stored.
    pub(crate) fn get(&self, line: &str) -> Value {
        let text = self.works(&format!("get --output json {line}"));
        serde_json::from_str(&text).unwrap()
    }

    /// Runs a script of bash.
    pub(crate) fn script(&self, script: &str) -> String {
        let said = said(self.program("bash").arguments(["-c", script]));
        assert!(said.works, "{script}\n{}\n{}", said.out, said.err);
        said.out
    }

    pub(crate) fn helm(&self, line: &str) -> Said {
        said(self.program("helm").arguments(line.split_whitespace()))
    }

    /// Annotations of the audit log's entries for a pod, most recent last.
    pub(crate) fn audited(&self, pod: &str) -> Vec<Value> {
        let log = self.place.text("audit.log");
        let entries = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        entries
            .filter(|entry| entry["objectRef"]["name"] == pod)
            .map(|entry| entry["annotations"].clone())
            .collect()
    }

    pub(crate) fn create(&self, namespace: &str, pod: &Value) -> Said {
        self.give(&format!("--namespace {namespace} create"), pod)
    }
}

fn said(program: Program) -> Said {
    let finished = program.start().unwrap().finish(LONG).unwrap();
    Said {
        works: finished.status.success(),
        out: String::from_utf8_lossy(&finished.stdout).into_owned(),
        err: String::from_utf8_lossy(&finished.stderr).into_owned(),
    }
}

/// A pod with one container that nothing is to be said against.
pub(crate) fn pod(name: &str, annotations: Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name, "annotations": annotations },
        "spec": {
            "initContainers": [{ "name": "wait", "image": "registry.5gc/amf:1", "securityContext": plain() }],
            "containers": [{ "name": "amf", "image": "registry.5gc/amf:1", "securityContext": plain() }],
        },
    })
}

/// As the Pod Security level `restricted` wants it.
fn plain() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "runAsNonRoot": true,
        "runAsUser": 1000,
        "capabilities": { "drop": ["ALL"] },
        "seccompProfile": { "type": "RuntimeDefault" },
    })
}
