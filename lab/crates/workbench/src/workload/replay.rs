//! The recorded UE registrations: their connections, when they were opened and closed, what was under way at once.
//!
//! In the recording every client has one address: latency is reported by the function that was
//! called, and a caller is named only where the request itself names it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use bartizan_host::{Process, Program};
use bartizan_testing::Listening as _;
use bartizan_testing::loopback_addresses;

use crate::Exchange;
use crate::stand_in::replay::{Behaviour, Idle, Outcome, Responder, Speed, Targets, Think, play};
use crate::stand_in::sbi::packets::{Passed, Tap};
use crate::stand_in::sbi::{Authority, CONSUMER, Deployment, Error as SbiError, Papers};
use crate::workload::sbi::{self, CA, LATENCY, milliseconds};
use crate::workload::{
    self, Better, Default, Error, FactorKind, Kind, MetricKind, Observation, ParameterKind, Setting, Trial, Workload,
};

const fn of_server(name: &'static str, about: &'static str) -> MetricKind {
    MetricKind {
        name,
        unit: "ms",
        about,
        better: Better::Lower,
    }
}

const fn of_link(name: &'static str, unit: &'static str, about: &'static str) -> MetricKind {
    MetricKind {
        name,
        unit,
        about,
        better: Better::Neither,
    }
}

/// By the function that is called.
const SERVERS: [(&str, &str); 6] = [
    ("AMF", "latency-amf"),
    ("AUSF", "latency-ausf"),
    ("NRF", "latency-nrf"),
    ("PCF", "latency-pcf"),
    ("UDM", "latency-udm"),
    ("UDR", "latency-udr"),
];

pub(super) static KIND: Kind = Kind {
    name: "replay",
    about: "Two recorded UE registrations of free5GC played again, once or at a cadence, with their own churn and concurrency, each function behind a sidecar of its own.",
    factors: &[
        FactorKind {
            name: "deployment",
            about: "what lies between the callers and each function: nothing, or sidecars (path http2, or splice)",
            levels: &["native-h2c", "tls-sidecar", "pqc-sidecar", "tls-splice", "pqc-splice"],
        },
        FactorKind {
            name: "pace",
            about: "as recorded, or one connection after the other without waiting",
            levels: &["recorded", "at-once"],
        },
        CA,
        FactorKind {
            name: "group",
            about: "the one key exchange of TLS, whatever it is worth; without this factor that of the deployment's policy",
            levels: &["X25519", "MLKEM512", "MLKEM1024", "X25519MLKEM768"],
        },
    ],
    parameters: &[
        ParameterKind {
            name: "until-ms",
            about: "connections that were opened by then are played, in milliseconds; the whole recording has 13,500",
            default: Some(Default::Number(13_500.0)),
        },
        ParameterKind {
            name: "times",
            about: "how often they are played in a trial",
            default: Some(Default::Number(1.0)),
        },
        ParameterKind {
            name: "every-ms",
            about: "from the beginning of one to that of the next, in milliseconds, while the packets of the links are captured; 0 for one after the other, without a capture",
            default: Some(Default::Number(0.0)),
        },
        ParameterKind {
            name: "think",
            about: "whether functions take as long as the recorded ones did, which is then taken off each latency",
            default: Some(Default::Flag(false)),
        },
        ParameterKind {
            name: "idle-1ms",
            about: "whether functions close idle connections after a millisecond, as free5GC's do",
            default: Some(Default::Flag(true)),
        },
        ParameterKind {
            name: "cable",
            about: "whether packets on loopback are cut as a cable of 1500 bytes has them; needs a network namespace of the worker's own",
            default: Some(Default::Flag(false)),
        },
    ],
    metrics: &[
        LATENCY,
        of_server("latency-amf", "of requests to the AMF"),
        of_server("latency-ausf", "of requests to the AUSF"),
        of_server("latency-nrf", "of requests to the NRF"),
        of_server("latency-pcf", "of requests to the PCF"),
        of_server("latency-udm", "of requests to the UDM"),
        of_server("latency-udr", "of requests to the UDR"),
        of_server("opening", "to open a connection to what is before the function"),
        of_link(
            "link-gap",
            "s",
            "with `every-ms`: from the first packet between callers' and functions' sides to the last over the number of gaps between, pauses included",
        ),
        of_link(
            "link-bytes",
            "B",
            "with `every-ms`: bytes of frames there for each time; loopback lets packets be larger than a cable does",
        ),
        of_link(
            "link-bytes-per-second",
            "B/s",
            "with `every-ms`: the same over the time of the capture, pauses included",
        ),
        of_link(
            "link-bytes-per-packet",
            "B",
            "with `every-ms`: bytes of frames there for each packet, those without payload included",
        ),
        MetricKind {
            name: "connections",
            unit: "",
            about: "connections opened, those after a refusal included",
            better: Better::Neither,
        },
        MetricKind {
            name: "faults",
            unit: "",
            about: "requests or connections that did not go as recorded",
            better: Better::Lower,
        },
    ],
    targets: workload::Targets::Own,
    lacks: sbi::lacks_sidecar,
    start,
};

const READY: Duration = Duration::from_secs(20);

/// Deployment, certificates and group of a core's sidecars.
type CoreOf = (Deployment, Authority, Option<String>);

struct Replay {
    exchange: Exchange,
    responder: Responder,
    think: bool,
    times: usize,
    /// Interval between two replays; none if they follow each other at once.
    every: Option<Duration>,
    cores: BTreeMap<CoreOf, Core>,
    papers: BTreeMap<Authority, Papers>,
    sidecar: PathBuf,
    folder: PathBuf,
}

/// The sidecars of a core, and where callers go.
struct Core {
    _processes: Vec<Process>,
    targets: Targets,
    /// Ports of the functions' sidecars. The link is between these and the callers' sidecars.
    middles: Vec<u16>,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let parameters = setting.parameters;
    let until = Duration::from_millis(parameters.count("until-ms")? as u64);
    let think = parameters.flag("think")?;
    let exchange = Exchange::two_registrations().opened_before(until);
    if exchange.connections().is_empty() {
        return Err(Error::Configuration("nothing was recorded until then".to_owned()));
    }
    if parameters.flag("cable")? {
        as_a_cable()?;
    }
    let behaviour = Behaviour {
        think: if think { Think::Recorded } else { Think::None },
        idle: if parameters.flag("idle-1ms")? {
            Idle::FREE5GC
        } else {
            Idle::Keep
        },
    };
    let responder = Responder::on_loopback(&exchange, behaviour);
    Ok(Box::new(Replay {
        responder: responder.map_err(|error| Error::Configuration(error.to_string()))?,
        exchange,
        think,
        times: parameters.count("times")?.max(1),
        every: Some(Duration::from_millis(parameters.count("every-ms")? as u64)).filter(|every| !every.is_zero()),
        cores: BTreeMap::new(),
        papers: BTreeMap::new(),
        sidecar: setting.tools.sidecar.clone(),
        folder: setting.folder.to_owned(),
    }))
}

/// Cuts packets on loopback to 1500 bytes, as a cable has them.
fn as_a_cable() -> Result<(), Error> {
    let network = |process: &str| fs::read_link(format!("/proc/{process}/ns/net")).ok();
    if network("self") == network(&parent_id().to_string()) {
        let cause = "`cable` changes loopback, which is the machine's here; hint: run as root";
        return Err(Error::Configuration(cause.to_owned()));
    }
    Program::new("ip")
        .package("iproute2")
        .arguments(["link", "set", "dev", "lo", "mtu", "1500", "gso_max_segs", "1"])
        .run(READY)?;
    Ok(())
}

impl Workload for Replay {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let level = |factor, default| trial.levels.level(factor).unwrap_or(default).to_owned();
        let deployment = Deployment::named(&level("deployment", "native-h2c"));
        let deployment = deployment.ok_or_else(|| Error::Configuration("unknown deployment".to_owned()))?;
        let ca = Authority::named(&level("ca", "ml-dsa-65")).unwrap_or(Authority::MlDsa65);
        let speed = match &*level("pace", "recorded") {
            "recorded" => Speed::Recorded,
            _ => Speed::AsFastAsPossible,
        };
        let (targets, link) = match deployment.authority(ca) {
            None => {
                let targets = self.responder.addresses().clone();
                let link = targets.values().map(SocketAddr::port).collect();
                (targets, link)
            }
            Some(authority) => {
                let group = trial.levels.level("group").map(str::to_owned);
                self.targets((deployment, authority, group))?
            }
        };
        let mut observation = Observation::default();
        let tap = self.every.map(|_| Tap::start(&self.folder)).transpose()?;
        let played = self.play(&targets, speed, trial.deadline)?;
        if let Some(tap) = tap {
            let values = of_the_link(tap.stop(&link)?.all(), self.times);
            observation.values.extend(values);
        }
        let mut named = 0;
        for request in &played.requests {
            let think = if self.think { request.think_us } else { 0.0 };
            let latency = ((request.latency_us - think) / 1e3).max(0.0);
            named += usize::from(request.consumer.is_some());
            let row = SERVERS.iter().find(|(server, _)| *server == request.server);
            for name in [Some(LATENCY.name), row.map(|(_, name)| *name)].into_iter().flatten() {
                observation.values.entry(name).or_default().push(latency);
            }
        }
        let openings = played.connections.iter();
        let openings = openings.map(|connection| milliseconds(Duration::from_secs_f64(connection.setup_us / 1e6)));
        observation.values.insert("opening", openings.collect());
        let connections = played.connections.len() as f64;
        observation.values.insert("connections", vec![connections]);
        observation.values.insert("faults", vec![played.faults.len() as f64]);
        let facts = &mut observation.facts;
        facts.insert("requests".to_owned(), played.requests.len().into());
        // In the capture every client is one address.
        facts.insert("requests-that-name-their-consumer".to_owned(), named.into());
        if let Some(fault) = played.faults.first() {
            facts.insert("first-fault".to_owned(), fault.to_string().into());
        }
        if played.requests.is_empty() {
            return Err(Error::Configuration("no request was answered as recorded".to_owned()));
        }
        Ok(observation)
    }
}

impl Replay {
    /// As often as asked, and all that came of it.
    fn play(&self, targets: &Targets, speed: Speed, deadline: Instant) -> Result<Outcome, Error> {
        let began = Instant::now();
        let mut all = Outcome::default();
        for number in 0..self.times {
            if let Some(every) = self.every {
                let due = began + every * u32::try_from(number).unwrap_or(u32::MAX);
                thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            if Instant::now() >= deadline {
                return Err(Error::Broken(io::ErrorKind::TimedOut.into()));
            }
            let once = play(&self.exchange, targets, speed);
            let once = once.map_err(|error| Error::Configuration(error.to_string()))?;
            all.requests.extend(once.requests);
            all.connections.extend(once.connections);
            all.faults.extend(once.faults);
            all.duration_us += once.duration_us;
        }
        Ok(all)
    }

    /// Addresses for the callers in this deployment, and ports of the link. Starts the sidecars
    /// unless they run.
    fn targets(&mut self, key: CoreOf) -> Result<(Targets, Vec<u16>), Error> {
        let (deployment, authority, group) = &key;
        let (deployment, authority) = (*deployment, *authority);
        if let Some(core) = self.cores.get(&key) {
            return Ok((core.targets.clone(), core.middles.clone()));
        }
        let nodes: Vec<String> = self
            .responder
            .addresses()
            .keys()
            .map(|server| server.to_ascii_lowercase())
            .collect();
        if !self.papers.contains_key(&authority) {
            let all: Vec<&str> = [CONSUMER].into_iter().chain(nodes.iter().map(String::as_str)).collect();
            self.papers
                .insert(authority, Papers::make(&self.folder, authority, &all)?);
        }
        let papers = self.papers.get(&authority);
        let papers = papers.ok_or_else(|| Error::Configuration("no certificates".to_owned()))?;
        let folder = self.folder.join(format!("core-{}", self.cores.len()));
        let core = Core::start(
            &self.sidecar,
            &folder,
            (papers, group.as_deref()),
            deployment,
            self.responder.addresses(),
        )?;
        let known = (core.targets.clone(), core.middles.clone());
        self.cores.insert(key, core);
        Ok(known)
    }
}

impl Core {
    fn start(
        sidecar: &Path,
        folder: &Path,
        (papers, group): (&Papers, Option<&str>),
        deployment: Deployment,
        functions: &Targets,
    ) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(SbiError::file(folder))?;
        let path = deployment.path().unwrap_or("http2");
        let (mut targets, mut middles) = (Targets::new(), Vec::new());
        let (mut outbound, mut nodes, mut interfaces) = (String::new(), String::new(), String::new());
        for (number, (server, function)) in functions.iter().enumerate() {
            let [entry, middle]: [SocketAddr; 2] = loopback_addresses()?;
            let node = server.to_ascii_lowercase();
            // Writing to a string does not fail.
            let _ = write!(outbound, "{{ listen: \"{entry}\", to: {node}, path: {path} }}, ");
            let _ = write!(
                nodes,
                "  {node}:\n    {{ function: {server}, address: 127.78.0.{}, names: {{ dns: [{node}.5gc] }}, {},\n      \
                 sidecar: {{ admin: \"127.0.0.1:0\", ledger: {node}.ledger.jsonl,\n        \
                 inbound: [{{ listen: \"{middle}\", forward: \"{function}\", path: {path} }}] }} }}\n",
                number + 2,
                papers.files(&node)
            );
            let _ = writeln!(
                interfaces,
                "  - {{ kind: SBI, between: [{CONSUMER}, {node}], with: sidecar }}"
            );
            targets.insert(server.clone(), entry);
            middles.push((node, middle));
        }
        let text = format!(
            "{}nodes:\n  {CONSUMER}:\n    {{ function: AMF, address: 127.78.0.1, names: {{ dns: [{CONSUMER}.5gc] }}, {},\n      \
             sidecar: {{ admin: \"127.0.0.1:0\", ledger: {CONSUMER}.ledger.jsonl, outbound: [{outbound}] }} }}\n{nodes}interfaces:\n{interfaces}",
            papers.preamble(group),
            papers.files(CONSUMER),
        );
        let file = folder.join("deployment.yaml");
        fs::write(&file, text).map_err(SbiError::file(&file))?;
        let program = |node: &str| {
            Program::new(sidecar)
                .argument("sidecar")
                .argument(&file)
                .arguments(["--node", node, "--log", "warn"])
                .log(folder.join(format!("{node}.log")))
        };
        let mut processes = Vec::new();
        for (node, middle) in &middles {
            let mut process = program(node).start()?;
            process.wait_for_port(*middle, READY)?;
            processes.push(process);
        }
        let mut consumer = program(CONSUMER).start()?;
        for entry in targets.values() {
            consumer.wait_for_port(*entry, READY)?;
        }
        processes.push(consumer);
        Ok(Self {
            _processes: processes,
            targets,
            middles: middles.iter().map(|(_, middle)| middle.port()).collect(),
        })
    }
}

/// Figures that González Maldonado 2025 derives from a capture; none for fewer than two packets.
fn of_the_link(passed: &[Passed], times: usize) -> Vec<(&'static str, Vec<f64>)> {
    let (Some(first), Some(last)) = (passed.first(), passed.last()) else {
        return Vec::new();
    };
    let seconds = last.at.saturating_sub(first.at) as f64 / 1e9;
    if seconds <= 0.0 {
        return Vec::new();
    }
    let bytes = passed.iter().map(|one| one.frame).sum::<usize>() as f64;
    vec![
        ("link-gap", vec![seconds / (passed.len() - 1) as f64]),
        ("link-bytes", vec![bytes / times as f64]),
        ("link-bytes-per-second", vec![bytes / seconds]),
        ("link-bytes-per-packet", vec![bytes / passed.len() as f64]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_the_mean_over_the_whole_capture_with_the_pauses_in_it() {
        let passed = |at, frame| Passed {
            at,
            from: 1,
            to: 2,
            payload: 0,
            frame,
            syn: false,
        };
        let all = [passed(0, 100), passed(1_000_000, 500), passed(7_000_000_000, 100)];
        let values: BTreeMap<_, _> = of_the_link(&all, 2).into_iter().collect();
        assert_eq!(values["link-gap"], [3.5]);
        assert_eq!(values["link-bytes"], [350.0]);
        assert_eq!(values["link-bytes-per-second"], [100.0]);
        assert_eq!(values["link-bytes-per-packet"], [700.0 / 3.0]);
        assert!(of_the_link(&all[..1], 1).is_empty() && of_the_link(&[], 1).is_empty());
    }
}
