//! The 40 ms of a proxy without TCP_NODELAY: unmodified nginx on both ends, one upstream connection per request.
//!
//! A client's second flight with ML-DSA is longer than one write of OpenSSL. Where the socket has
//! no TCP_NODELAY, the rest of it waits for an acknowledgement, which the other side delays by 40
//! ms. nginx sets TCP_NODELAY on a proxied TLS connection only when sessions may be reused, so that
//! setting switches the wait on and off, although the server issues no ticket and no session is
//! ever reused.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bartizan_host::{LabRoot, Process};
use bartizan_testing::Listening as _;
use bartizan_testing::loopback_addresses;

use crate::stand_in::proxies::Tools;
use crate::stand_in::sbi::packets::{Tap, longest_silence, waited_for_acknowledgement};
use crate::stand_in::sbi::{
    Authority, CONSUMER, Client, Connections, Deployment, Error as SbiError, Function, NRF, Papers, Session, Stage,
    Target, Wanted,
};
use crate::workload::Levels;
use crate::workload::sbi::{self, LATENCY};
use crate::workload::{
    Better, Default, Error, FactorKind, Kind, Lack, MetricKind, Observation, ParameterKind, Setting, Targets, Trial,
    Workload,
};

pub(super) static KIND: Kind = Kind {
    name: "nagle",
    about: "NRF transactions through a pair of unmodified nginx, each on a new mutual TLS connection between them, with and without TCP_NODELAY.",
    factors: &[
        FactorKind {
            name: "session-reuse",
            about: "proxy_ssl_session_reuse of the client's nginx; off means a socket without TCP_NODELAY",
            levels: &["on", "off"],
        },
        FactorKind {
            name: "mode",
            about: "X25519 and ECDSA P-256, or X25519MLKEM768 and ML-DSA-65",
            levels: &["classical", "post-quantum"],
        },
    ],
    parameters: &[ParameterKind {
        name: "transactions",
        about: "transactions in a trial",
        default: Some(Default::Number(20.0)),
    }],
    metrics: &[
        LATENCY,
        MetricKind {
            name: "silence",
            unit: "ms",
            about: "the longest time within a transaction in which nothing passes between the two nginx",
            better: Better::Lower,
        },
        MetricKind {
            name: "waits",
            unit: "%",
            about: "transactions with a silence of at least 10 ms that an acknowledgement without data from the server ends, after which the client sends: it waited",
            better: Better::Lower,
        },
    ],
    targets: Targets::Own,
    lacks,
    start,
};

/// Shorter silences are the work of either end.
const LONG: u64 = 10_000_000;
const READY: Duration = Duration::from_secs(20);

fn lacks(_: &Levels, tools: &Tools) -> Option<Lack> {
    let missing = tools.missing(crate::stand_in::proxies::Proxy::NginxGrpc)?;
    Some(Lack {
        what: "nginx".to_owned(),
        reason: missing.reason,
        hint: missing.hint,
        feature: None,
    })
}

/// Two nginx, their client and where they meet.
struct Pair {
    client: Client,
    _consumer: Process,
    _producer: Process,
    middle: u16,
}

struct Nagle {
    _nrf: Stage,
    nrf: std::net::SocketAddr,
    root: LabRoot,
    papers: [Papers; 2],
    pairs: BTreeMap<(bool, bool), Pair>,
    folder: PathBuf,
    transactions: usize,
    version: String,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let root = setting.tools.root.clone();
    let root = root.ok_or_else(|| Error::Configuration("no lab root".to_owned()))?;
    let folder = setting.folder.to_owned();
    let make = |authority| Papers::make(&folder, authority, &[CONSUMER, NRF]);
    let papers = [make(Authority::Classical)?, make(Authority::MlDsa65)?];
    let stage = Stage::start(&Wanted {
        own: &setting.tools.own,
        sidecar: &setting.tools.sidecar,
        deployment: Deployment::NativeH2c,
        connections: Connections::Kept,
        papers: None,
        target: None,
        work: Duration::ZERO,
        folder: &folder.join("nrf"),
    })?;
    let version = root.packages().find(|(package, _)| *package == "nginx");
    Ok(Box::new(Nagle {
        nrf: stage.target().address,
        _nrf: stage,
        version: version.map_or_else(|| "nginx".to_owned(), |(_, version)| format!("nginx {version}")),
        root,
        papers,
        pairs: BTreeMap::new(),
        folder,
        transactions: setting.parameters.count("transactions")?,
    }))
}

impl Workload for Nagle {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let reuse = trial.levels.level("session-reuse").unwrap_or("on") == "on";
        let post_quantum = trial.levels.level("mode").unwrap_or("classical") == "post-quantum";
        let mut pair = match self.pairs.remove(&(reuse, post_quantum)) {
            Some(pair) => pair,
            None => self.pair(reuse, post_quantum)?,
        };
        let function = Function::named("AMF").ok_or_else(|| Error::Configuration("no AMF".to_owned()))?;
        let mut session = Session::new(function, trial.seed);
        // Warms up, and shows at once where nginx does not pass what it should.
        let question = session.registration();
        let first = pair.client.exchange(&question)?;
        Session::judge(&question, &first.said, &pair.client.target().url)?;
        let tap = Tap::start(&self.folder)?;
        let mut exchanged = Vec::with_capacity(self.transactions);
        for _ in 0..self.transactions {
            if !sbi::in_time(trial) {
                return Err(sbi::late());
            }
            let (_, question) = session.turn();
            let one = pair.client.exchange(&question)?;
            Session::judge(&question, &one.said, &pair.client.target().url)?;
            exchanged.push(one);
        }
        let packets = tap.stop(&[pair.middle])?;
        sbi::tidy(&mut pair.client, &mut session)?;
        let mut observation = Observation::default();
        let (mut latencies, mut silences, mut waits) = (Vec::new(), Vec::new(), 0_usize);
        for one in &exchanged {
            latencies.push(sbi::milliseconds(one.took));
            let passed = packets.within(one.began, one.took);
            if !passed.iter().any(|segment| segment.syn) {
                return Err(SbiError::Configuration("nginx kept a connection that should be new".to_owned()).into());
            }
            let silence = longest_silence(passed, pair.middle);
            silences.extend(silence.map(|silence| silence as f64 / 1e6));
            waits += usize::from(waited_for_acknowledgement(passed, pair.middle, LONG));
        }
        observation.values.insert(LATENCY.name, latencies);
        observation.values.insert("silence", silences);
        observation
            .values
            .insert("waits", vec![100.0 * waits as f64 / exchanged.len().max(1) as f64]);
        self.pairs.insert((reuse, post_quantum), pair);
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        vec![self.version.clone()]
    }
}

impl Nagle {
    fn pair(&self, reuse: bool, post_quantum: bool) -> Result<Pair, Error> {
        let papers = &self.papers[usize::from(post_quantum)];
        let [entry, middle] = loopback_addresses()?;
        let name = format!("nginx-{reuse}-{post_quantum}");
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder).map_err(SbiError::file(&folder))?;
        let group = papers.authority.group();
        let switch = if reuse { "on" } else { "off" };
        // No `keepalive` in an upstream: each request has a connection of its own.
        let consumer = format!(
            "server {{ listen {entry}; http2 on; location / {{ proxy_pass https://{middle}; proxy_http_version 1.1; \
             proxy_ssl_session_reuse {switch}; proxy_ssl_certificate \"{}\"; proxy_ssl_certificate_key \"{}\"; \
             proxy_ssl_trusted_certificate \"{}\"; proxy_ssl_verify on; proxy_ssl_name {NRF}.5gc; proxy_ssl_server_name on; \
             proxy_ssl_protocols TLSv1.3; proxy_ssl_conf_command Groups {group}; }} }}",
            papers.certificate(CONSUMER).display(),
            papers.key(CONSUMER).display(),
            papers.roots().display(),
        );
        let producer = format!(
            "server {{ listen {middle} ssl; ssl_certificate \"{}\"; ssl_certificate_key \"{}\"; ssl_client_certificate \"{}\"; \
             ssl_verify_client on; ssl_protocols TLSv1.3; ssl_ecdh_curve {group}; ssl_session_tickets off; ssl_session_cache off; \
             location / {{ grpc_pass grpc://{}; }} }}",
            papers.certificate(NRF).display(),
            papers.key(NRF).display(),
            papers.roots().display(),
            self.nrf,
        );
        let mut producer = self.nginx(&folder, NRF, &producer)?;
        producer.wait_for_port(middle, READY)?;
        let mut consumer = self.nginx(&folder, CONSUMER, &consumer)?;
        consumer.wait_for_port(entry, READY)?;
        Ok(Pair {
            client: Client::new(Target::clear(entry), Connections::Kept)?,
            _consumer: consumer,
            _producer: producer,
            middle: middle.port(),
        })
    }

    fn nginx(&self, folder: &Path, node: &str, server: &str) -> Result<Process, Error> {
        let shown = folder.display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {shown}/{node}-{kind}; "))
            .concat();
        // Workers would otherwise be of a user who may not read the keys. `tcp_nodelay on` is the
        // default, and is written to say that it does not help.
        let text = format!(
            "daemon off; worker_processes 1; user root; pid \"{shown}/{node}.pid\"; error_log stderr error;\n\
             events {{ worker_connections 1024; }}\n\
             http {{ access_log off; tcp_nodelay on; keepalive_requests 1000000; keepalive_timeout 1h; {temporary}\n{server} }}\n"
        );
        let file = folder.join(format!("{node}.conf"));
        fs::write(&file, text).map_err(SbiError::file(&file))?;
        let program = self.root.command("nginx")?;
        let program = program
            .arguments(["-e", "stderr", "-p"])
            .argument(folder)
            .argument("-c")
            .argument(&file)
            .log(folder.join(format!("{node}.log")));
        Ok(program.start()?)
    }
}
