//! A collector of OTLP over HTTP for tests: takes, refuses, postpones, or says nothing, and remembers what it was sent.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bartizan_testing::until;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

/// Response of the collector.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// 200 with this body.
    Taken(&'static str),
    /// Another status, with a header line or none.
    Status(u16, &'static str),
    /// Nothing, with the connection open.
    Silent,
}

/// A request, whatever was answered.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) at: Instant,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
    pub(crate) answer: Answer,
}

#[derive(Debug)]
struct State {
    answers: Box<Mutex<Vec<Answer>>>,
    requests: Mutex<Vec<Request>>,
    connections: Mutex<Vec<TcpStream>>,
    ending: AtomicBool,
    /// TLS configuration, for HTTPS.
    tls: Option<Arc<ServerConfig>>,
    /// The key exchanges of connections that were one.
    groups: Mutex<Vec<String>>,
}

/// One that listens until it is dropped.
pub(crate) struct Collector {
    address: SocketAddr,
    state: Arc<State>,
    accepting: Option<JoinHandle<()>>,
}

impl Collector {
    /// Listens here, and answers requests for logs and traces as listed, with the last of these
    /// again and again. Metrics are taken, but by one that is silent.
    pub(crate) fn listen(address: SocketAddr, answers: &[Answer]) -> Self {
        Self::start(address, answers, None)
    }

    /// One at a free port that takes everything by HTTPS.
    pub(crate) fn by_tls(tls: Arc<ServerConfig>) -> Self {
        Self::start("127.0.0.1:0".parse().unwrap(), &[Answer::Taken("{}")], Some(tls))
    }

    fn start(address: SocketAddr, answers: &[Answer], tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let state = Arc::new(State {
            answers: Box::new(Mutex::new(answers.to_vec())),
            requests: Mutex::default(),
            connections: Mutex::default(),
            ending: AtomicBool::new(false),
            tls,
            groups: Mutex::default(),
        });
        let address = listener.local_addr().unwrap();
        let accepting = {
            let state = Arc::clone(&state);
            thread::spawn(move || accept(&listener, &state))
        };
        Self {
            address,
            state,
            accepting: Some(accepting),
        }
    }

    /// One at a free port that takes everything.
    pub(crate) fn new() -> Self {
        Self::listen("127.0.0.1:0".parse().unwrap(), &[Answer::Taken("{}")])
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        let scheme = if self.state.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The key exchange of each connection that had a request.
    pub(crate) fn groups(&self) -> Vec<String> {
        self.state.groups.lock().unwrap().clone()
    }

    /// Requests for this signal so far.
    pub(crate) fn requests(&self, signal: &str) -> Vec<Request> {
        let path = format!("/v1/{signal}");
        let requests = self.state.requests.lock().unwrap();
        requests
            .iter()
            .filter(|request| request.path == path)
            .cloned()
            .collect()
    }

    /// Log records that were sent, whatever was answered.
    pub(crate) fn sent(&self) -> Vec<Value> {
        self.requests("logs")
            .iter()
            .flat_map(|request| records(&request.body))
            .collect()
    }

    /// Log records that were taken.
    pub(crate) fn taken(&self) -> Vec<Value> {
        let requests = self.requests("logs").into_iter();
        let taken = requests.filter(|request| matches!(request.answer, Answer::Taken(_)));
        taken.flat_map(|request| records(&request.body)).collect()
    }

    /// Until an event of this name was taken.
    pub(crate) fn wait_for(&self, event: &str) {
        until(event, || {
            self.taken()
                .iter()
                .any(|record| attribute(record, "bartizan.event") == event)
        });
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.state.ending.store(true, Ordering::SeqCst);
        // Accepting ends with the next connection.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        if let Some(accepting) = self.accepting.take() {
            accepting.join().unwrap();
        }
        for connection in self.state.connections.lock().unwrap().iter() {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

fn accept(listener: &TcpListener, state: &Arc<State>) {
    while let Ok((stream, _)) = listener.accept() {
        if state.ending.load(Ordering::SeqCst) {
            return;
        }
        state.connections.lock().unwrap().push(stream.try_clone().unwrap());
        let state = Arc::clone(state);
        thread::spawn(move || match &state.tls {
            None => serve_all(stream, &state, |_| ()),
            Some(tls) => {
                let tls = ServerConnection::new(Arc::clone(tls)).unwrap();
                serve_all(StreamOwned::new(tls, stream), &state, |stream| {
                    let group = stream.conn.negotiated_key_exchange_group().unwrap();
                    state.groups.lock().unwrap().push(format!("{:?}", group.name()));
                });
            }
        });
    }
}

/// The requests of a connection; `first` is called when one begins to come, before it is remembered.
fn serve_all<S: Read + Write>(stream: S, state: &State, first: impl FnOnce(&S)) {
    let mut reader = BufReader::new(stream);
    if reader.fill_buf().is_ok_and(|bytes| !bytes.is_empty()) {
        first(reader.get_ref());
    }
    while serve(&mut reader, state).is_some() {}
}

/// One request; none where the connection ended.
fn serve<S: Read + Write>(reader: &mut BufReader<S>, state: &State) -> Option<()> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let path = line
        .strip_prefix("POST ")
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers["content-length"].parse().unwrap()];
    reader.read_exact(&mut body).ok()?;
    let answer = {
        let mut answers = state.answers.lock().unwrap();
        match answers.as_slice() {
            [Answer::Silent, ..] => Answer::Silent,
            _ if path == "/v1/metrics" => Answer::Taken("{}"),
            [last] => last.clone(),
            _ => answers.remove(0),
        }
    };
    // A response is recorded before it is sent: the test would otherwise miss it.
    state.requests.lock().unwrap().push(Request {
        at: Instant::now(),
        path,
        headers,
        body: serde_json::from_slice(&body).unwrap(),
        answer: answer.clone(),
    });
    let (status, header, body) = match answer {
        Answer::Taken(body) => (200, "X-Test: taken", body),
        Answer::Status(status, header) => (status, header, "no\n"),
        Answer::Silent => {
            while !state.ending.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(20));
            }
            return None;
        }
    };
    let length = body.len();
    let text = format!("HTTP/1.1 {status} Text\r\n{header}\r\nContent-Length: {length}\r\n\r\n{body}");
    let stream = reader.get_mut();
    stream.write_all(text.as_bytes()).and_then(|()| stream.flush()).ok()
}

/// The log records of a request.
pub(crate) fn records(body: &Value) -> Vec<Value> {
    let resources = body["resourceLogs"].as_array().into_iter().flatten();
    let scopes = resources.flat_map(|resource| resource["scopeLogs"].as_array().unwrap());
    scopes
        .flat_map(|scope| scope["logRecords"].as_array().unwrap())
        .cloned()
        .collect()
}

/// A text that a record or a resource has under this name; empty where it has none.
pub(crate) fn attribute<'a>(of: &'a Value, key: &str) -> &'a str {
    let mut attributes = of["attributes"].as_array().unwrap().iter();
    let found = attributes.find(|attribute| attribute["key"] == key);
    found.map_or("", |attribute| attribute["value"]["stringValue"].as_str().unwrap())
}

/// The line of schema `bartizan-events/1` that a record has as its body.
pub(crate) fn line(record: &Value) -> Value {
    serde_json::from_str(record["body"]["stringValue"].as_str().unwrap()).unwrap()
}

/// TLS configuration of a collector on this host, and the root that signed its certificate, PEM.
pub(crate) fn by_https() -> (Arc<ServerConfig>, String) {
    let mut root = CertificateParams::new(Vec::<String>::new()).unwrap();
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root_key = KeyPair::generate().unwrap();
    let root_pem = root.self_signed(&root_key).unwrap().pem();
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec!["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &Issuer::new(root, root_key)).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![leaf.der().clone()],
            PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        )
        .unwrap();
    (Arc::new(config), root_pem)
}
