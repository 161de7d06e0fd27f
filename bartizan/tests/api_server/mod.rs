//! A stand-in of the API server: it stores what is written, streams what changes, and has the faults that it was given.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

type Stream = StreamOwned<ServerConnection, TcpStream>;

/// Fault injected into a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Status(u16),
    /// 429 with Retry-After.
    Busy,
    /// A stream of half an event.
    HalfEvent,
    /// A stream with an ERROR event of code 410.
    TooOldEvent,
    /// The connection is closed without an answer.
    Closed,
    /// A stream with a line that is no JSON.
    NoJson,
}

#[derive(Default)]
struct State {
    version: u64,
    /// By path.
    objects: BTreeMap<String, Value>,
    created: BTreeMap<String, usize>,
    faults: Vec<(&'static str, Fault)>,
}

pub(crate) struct ApiServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

const NETWORK: &str = "/apis/bartizan.internal/v1alpha1/namespaces/core/networks/core";
const SECRETS: &str = "/api/v1/namespaces/core/secrets/";
const REQUESTS: &str = "/apis/cert-manager.io/v1/namespaces/core/certificaterequests/";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/core/leases/core-controller";

impl ApiServer {
    /// With a Network of two nodes.
    pub(crate) fn start(files: &Path, faults: &[(&'static str, Fault)]) -> Self {
        let read = |name: &str| std::fs::read(files.join(name)).unwrap();
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&read("api.crt.pem"))
            .collect::<Result<_, _>>()
            .unwrap();
        let key = PrivateKeyDer::from_pem_slice(&read("api.key.pem")).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let node =
            |address: &str| json!({ "function": "NF", "address": address, "certificate": "tls.crt", "key": "tls.key" });
        let network = json!({
            "metadata": { "name": "core", "namespace": "core", "uid": "one", "resourceVersion": "1", "generation": 1 },
            "spec": { "trust": { "roots": "ca.crt" }, "nodes": { "amf": node("10.0.0.1"), "nrf": node("10.0.0.2") } },
        });
        let state = State {
            version: 1,
            objects: BTreeMap::from([(NETWORK.to_owned(), network)]),
            faults: faults.to_vec(),
            ..State::default()
        };
        let server = Self {
            address: listener.local_addr().unwrap(),
            state: Arc::new(Mutex::new(state)),
        };
        let state = Arc::clone(&server.state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (config, state) = (Arc::clone(&config), Arc::clone(&state));
                std::thread::spawn(move || {
                    let connection = ServerConnection::new(config).unwrap();
                    serve(StreamOwned::new(connection, stream), &state);
                });
            }
        });
        server
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns true if the status reports both certificates.
    pub(crate) fn is_written(&self) -> bool {
        let state = self.state.lock().unwrap();
        state.objects[NETWORK]["status"]["issued"] == "2/2"
    }

    /// Faults that no request has met yet.
    pub(crate) fn unmet(&self) -> Vec<&'static str> {
        self.state
            .lock()
            .unwrap()
            .faults
            .iter()
            .map(|(text, _)| *text)
            .collect()
    }

    /// Number of times that an object of this name was created.
    pub(crate) fn created(&self, name: &str) -> usize {
        self.state
            .lock()
            .unwrap()
            .created
            .get(name)
            .copied()
            .unwrap_or_default()
    }

    /// Puts Secrets of a megabyte each with the controller's label, as who may create Secrets there can.
    pub(crate) fn put_long_secrets(&self, count: usize) {
        let mut state = self.state.lock().unwrap();
        for number in 0..count {
            state.version += 1;
            let (name, version) = (format!("long-{number}"), state.version.to_string());
            let labels = json!({ "app.kubernetes.io/managed-by": "bartizan-controller" });
            let object = json!({
                "metadata": { "name": name, "namespace": "core", "uid": name, "resourceVersion": version, "labels": labels },
                "data": { "long": "a".repeat(1_000_000) },
            });
            state.objects.insert(format!("{SECRETS}{name}"), object);
        }
    }

    /// Gives the Network a third node: a watch has to see it.
    pub(crate) fn rename_node(&self) {
        let mut state = self.state.lock().unwrap();
        let state = &mut *state;
        let network = state.objects.get_mut(NETWORK).unwrap();
        if network["spec"]["nodes"]["smf"].is_null() {
            let mut node = network["spec"]["nodes"]["amf"].clone();
            node["address"] = json!("10.0.0.3");
            network["spec"]["nodes"]["smf"] = node;
            state.version += 1;
            network["metadata"]["resourceVersion"] = json!(state.version.to_string());
        }
    }

    /// The CertificateRequest of this name.
    pub(crate) fn request(&self, name: &str) -> Option<Value> {
        let state = self.state.lock().unwrap();
        state.objects.get(&format!("{REQUESTS}{name}")).cloned()
    }

    /// Gives a CertificateRequest a status, as its issuer would.
    pub(crate) fn answer(&self, name: &str, status: Value) {
        let mut state = self.state.lock().unwrap();
        let request = state.objects.get_mut(&format!("{REQUESTS}{name}"));
        request.expect("the request is there")["status"] = status;
    }

    /// Deletes a CertificateRequest, as another client may.
    pub(crate) fn delete_request(&self, name: &str) {
        let mut state = self.state.lock().unwrap();
        state.objects.remove(&format!("{REQUESTS}{name}")).expect("it is there");
    }

    /// Writes a CertificateRequest without an owner.
    pub(crate) fn put_request(&self, name: &str) {
        let mut state = self.state.lock().unwrap();
        let object = json!({ "metadata": { "name": name, "uid": "theirs", "resourceVersion": "1" } });
        state.objects.insert(format!("{REQUESTS}{name}"), object);
    }

    /// A pod of a node, as the webhook makes one, whose sidecar is ready and has its admin port there.
    pub(crate) fn put_pod(&self, name: &str, node: &str, admin: SocketAddr) {
        let mut state = self.state.lock().unwrap();
        state.version += 1;
        let probe = json!({ "httpGet": { "path": "/ready", "port": admin.port() } });
        let pod = json!({
            "metadata": {
                "name": name, "namespace": "core", "uid": name, "resourceVersion": state.version.to_string(), "annotations": { "bartizan/node": node },
            },
            "spec": { "initContainers": [{ "name": "bartizan-redirect" }, { "name": "bartizan-sidecar", "readinessProbe": probe }] },
            "status": {
                "phase": "Running",
                "podIP": admin.ip().to_string(),
                "initContainerStatuses": [{ "name": "bartizan-sidecar", "ready": true }],
            },
        });
        state
            .objects
            .insert(format!("/api/v1/namespaces/core/pods/{name}"), pod);
    }

    pub(crate) fn secret(&self, name: &str) -> Option<Value> {
        let state = self.state.lock().unwrap();
        state.objects.get(&format!("{SECRETS}{name}")).cloned()
    }

    /// Reason and message of a condition of the Network.
    pub(crate) fn condition(&self, kind: &str) -> Option<(String, String)> {
        let state = self.state.lock().unwrap();
        let all = state.objects[NETWORK]["status"]["conditions"].as_array()?;
        let one = all.iter().find(|one| one["type"] == kind)?;
        let text = |key: &str| one[key].as_str().unwrap().to_owned();
        Some((text("reason"), text("message")))
    }

    pub(crate) fn holder(&self) -> String {
        let state = self.state.lock().unwrap();
        state.objects[LEASE]["spec"]["holderIdentity"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

/// Reads a request: its line and its body.
fn request(stream: &mut Stream) -> Option<(String, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    assert!(head.contains("authorization: Bearer a-token\r\n"), "{head}");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).ok()?;
    let line = head.lines().next().unwrap();
    Some((line.strip_suffix(" HTTP/1.1").unwrap().to_owned(), body))
}

fn answer(stream: &mut Stream, status: u16, more: &str, body: &Value) -> std::io::Result<()> {
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{more}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.flush()
}

fn chunk(stream: &mut Stream, text: &str) -> std::io::Result<()> {
    stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())?;
    stream.flush()
}

fn serve(mut stream: Stream, state: &Mutex<State>) {
    while let Some((line, body)) = request(&mut stream) {
        let fault = {
            let mut state = state.lock().unwrap();
            let at = state.faults.iter().position(|(text, _)| line.contains(text));
            at.map(|at| state.faults.remove(at).1)
        };
        let (method, target) = line.split_once(' ').unwrap();
        let done = match fault {
            None if target.contains("?watch=1") => watch(&mut stream, target, state),
            None => {
                let (status, body) = act(method, target, &body, state);
                answer(&mut stream, status, "", &body)
            }
            Some(Fault::Status(code)) => answer(&mut stream, code, "", &json!({ "message": "a fault" })),
            Some(Fault::Busy) => answer(&mut stream, 429, "Retry-After: 1\r\n", &json!({ "message": "busy" })),
            Some(Fault::Closed) => return,
            Some(fault) => {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
                let text = match fault {
                    Fault::HalfEvent => "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"na",
                    Fault::TooOldEvent => {
                        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"message\":\"too old\"}}\n"
                    }
                    _ => "this is no event\n",
                };
                let _ = stream
                    .write_all(head.as_bytes())
                    .and_then(|()| chunk(&mut stream, text));
                return;
            }
        };
        if done.is_err() {
            return;
        }
    }
}

/// The objects of a collection.
fn of<'a>(state: &'a State, collection: &str) -> Vec<&'a Value> {
    let begins = format!("{collection}/");
    let all = state.objects.iter().filter(|(path, _)| path.starts_with(&begins));
    all.map(|(_, object)| object).collect()
}

/// Sends what is newer than the version, again and again.
fn watch(stream: &mut Stream, target: &str, state: &Mutex<State>) -> std::io::Result<()> {
    let (collection, query) = target.split_once('?').unwrap();
    let from = query
        .split('&')
        .find_map(|part| part.strip_prefix("resourceVersion="))
        .unwrap();
    let mut from: u64 = from.parse().unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")?;
    stream.flush()?;
    loop {
        let (events, now) = {
            let state = state.lock().unwrap();
            let version = |object: &Value| {
                object["metadata"]["resourceVersion"]
                    .as_str()
                    .unwrap()
                    .parse::<u64>()
                    .unwrap()
            };
            let newer = of(&state, collection)
                .into_iter()
                .filter(|object| version(object) > from);
            let events: Vec<_> = newer
                .map(|object| json!({ "type": "MODIFIED", "object": object }))
                .collect();
            (events, state.version)
        };
        for event in events {
            chunk(stream, &format!("{event}\n"))?;
        }
        if now > from {
            chunk(
                stream,
                &format!("{{\"type\":\"BOOKMARK\",\"object\":{{\"metadata\":{{\"resourceVersion\":\"{now}\"}}}}}}\n"),
            )?;
        }
        from = now;
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn act(method: &str, target: &str, body: &[u8], state: &Mutex<State>) -> (u16, Value) {
    let mut state = state.lock().unwrap();
    let (path, _) = target.split_once('?').unwrap_or((target, ""));
    if method == "GET" {
        if target.contains("?limit=") {
            let ours = "labelSelector=app.kubernetes.io%2Fmanaged-by%3Dbartizan-controller";
            let labelled = |object: &&Value| {
                !target.contains(ours)
                    || object["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "bartizan-controller"
            };
            let number = |name: &str| {
                let value = target.split(['?', '&']).find_map(|part| part.strip_prefix(name));
                value.map(|value| value.parse::<usize>().unwrap())
            };
            let (from, limit) = (number("continue=").unwrap_or(0), number("limit=").unwrap());
            let all: Vec<_> = of(&state, path).into_iter().filter(labelled).collect();
            let items = &all[from.min(all.len())..all.len().min(from + limit)];
            let mut metadata = json!({ "resourceVersion": state.version.to_string() });
            if from + limit < all.len() {
                metadata["continue"] = json!((from + limit).to_string());
            }
            return (200, json!({ "metadata": metadata, "items": items }));
        }
        return match state.objects.get(path) {
            Some(object) => (200, object.clone()),
            None => (404, json!({ "message": "not found" })),
        };
    }
    let mut object: Value = serde_json::from_slice(body).unwrap();
    if method == "DELETE" {
        let Some(known) = state.objects.get(path) else {
            return (404, json!({ "message": "not found" }));
        };
        if known["metadata"]["uid"] != object["preconditions"]["uid"] {
            return (409, json!({ "message": "the uid differs" }));
        }
        state.objects.remove(path);
        return (200, json!({ "status": "Success" }));
    }
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let (at, status) = match method {
        "POST" => (format!("{path}/{name}"), false),
        _ => (
            path.strip_suffix("/status").unwrap_or(path).to_owned(),
            path.ends_with("/status"),
        ),
    };
    let known = state.objects.get(&at).cloned();
    if method == "POST" {
        if known.is_some() {
            return (409, json!({ "message": "already exists" }));
        }
        *state.created.entry(name).or_default() += 1;
    } else {
        let Some(known) = known else {
            return (404, json!({ "message": "not found" }));
        };
        let over = &object["metadata"]["resourceVersion"];
        if over.is_string() && *over != known["metadata"]["resourceVersion"] {
            return (409, json!({ "message": "the object has been modified" }));
        }
        if status {
            let mut with = known;
            with["status"] = object["status"].clone();
            object = with;
        } else if method == "PATCH" && at.starts_with(SECRETS) {
            let mut with = known;
            for (key, value) in object["data"].as_object().into_iter().flatten() {
                with["data"][key] = value.clone();
            }
            object = with;
        }
    }
    let of_a_node = at.starts_with(SECRETS) && object["data"]["long"].is_null();
    assert!(!of_a_node || !object["data"]["tls.key"].is_null(), "{object}");
    state.version += 1;
    object["metadata"]["resourceVersion"] = json!(state.version.to_string());
    if method == "POST" {
        object["metadata"]["uid"] = json!(format!("uid-{}", state.version));
    }
    state.objects.insert(at, object.clone());
    (200, object)
}
