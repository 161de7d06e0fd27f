//! Each operation of a handshake as a call of an HTTP service: one candidate for what Faval et al. 2026 measured.

use std::time::{Duration, Instant};

use bartizan_host::{Process, Program};
use bartizan_testing::Listening as _;
use bartizan_testing::loopback_addresses;

use crate::stand_in::sbi::wrapper::{Caller, Keys, Operation};
use crate::stand_in::sbi::{Connections, Error as SbiError};
use crate::workload::sbi::{CONNECTION, in_time, late, milliseconds};
use crate::workload::{
    Better, Default, Error, FactorKind, Kind, MetricKind, Observation, ParameterKind, Setting, Targets, Trial,
    Workload, lacks_nothing,
};

pub(super) static KIND: Kind = Kind {
    name: "service-calls",
    about: "Operations of ML-KEM-768 and ML-DSA-65 as calls of an HTTP/1.1 service, alone and as many as a handshake or a transaction has.",
    factors: &[
        FactorKind {
            name: "work",
            about: "one call; those of both ends of a mutual TLS 1.3 handshake without intermediates; those of a transaction whose request and answer are each encapsulated and signed",
            levels: &[
                "nothing",
                "keygen",
                "encapsulate",
                "decapsulate",
                "sign",
                "verify",
                "handshake",
                "transaction",
            ],
        },
        CONNECTION,
    ],
    parameters: &[ParameterKind {
        name: "times",
        about: "how often the work is done in a trial",
        default: Some(Default::Number(50.0)),
    }],
    metrics: &[
        MetricKind {
            name: "time",
            unit: "ms",
            about: "for the work by calls, one after the other",
            better: Better::Lower,
        },
        MetricKind {
            name: "within",
            unit: "ms",
            about: "of it inside the service, by its own clock: the operations, JSON and hexadecimal",
            better: Better::Lower,
        },
        MetricKind {
            name: "calls",
            unit: "",
            about: "calls of the work",
            better: Better::Neither,
        },
    ],
    targets: Targets::Own,
    lacks: lacks_nothing,
    start,
};

/// Both ends of a handshake: the client's key, the server's encapsulation and signature, the
/// client's decapsulation and its verification of signature and certificate, then the client's
/// signature and the server's two verifications.
const HANDSHAKE: [Operation; 9] = [
    Operation::Keygen,
    Operation::Encapsulate,
    Operation::Sign,
    Operation::Decapsulate,
    Operation::Verify,
    Operation::Verify,
    Operation::Sign,
    Operation::Verify,
    Operation::Verify,
];

/// A request, then its answer: each encapsulated to the other proxy and signed, then decapsulated and verified there.
const TRANSACTION: [Operation; 8] = [
    Operation::Encapsulate,
    Operation::Sign,
    Operation::Verify,
    Operation::Decapsulate,
    Operation::Encapsulate,
    Operation::Sign,
    Operation::Verify,
    Operation::Decapsulate,
];

struct ServiceCalls {
    _service: Process,
    kept: Caller,
    new: Caller,
    /// In the order of `Operation::ALL`.
    bodies: Vec<String>,
    times: usize,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let [address] = loopback_addresses()?;
    let program = Program::new(&setting.tools.own)
        .arguments(["crypto-service", "--listen"])
        .argument(address.to_string())
        .log(setting.folder.join("crypto-service.log"));
    let mut service = program.start()?;
    service.wait_for_port(address, Duration::from_secs(20))?;
    let bodies = Keys::generate()?.bodies()?;
    Ok(Box::new(ServiceCalls {
        _service: service,
        kept: Caller::new(address, Connections::Kept),
        new: Caller::new(address, Connections::New),
        bodies: bodies.iter().map(ToString::to_string).collect(),
        times: setting.parameters.count("times")?,
    }))
}

impl Workload for ServiceCalls {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let work = trial.levels.level("work").unwrap_or("nothing");
        let operations: Vec<Operation> = match work {
            "handshake" => HANDSHAKE.into(),
            "transaction" => TRANSACTION.into(),
            one => Operation::ALL
                .into_iter()
                .filter(|operation| operation.name() == one)
                .collect(),
        };
        let caller = match trial.levels.level(CONNECTION.name).and_then(Connections::named) {
            Some(Connections::New) => &mut self.new,
            _ => &mut self.kept,
        };
        let mut observation = Observation::default();
        let (mut times, mut withins) = (Vec::new(), Vec::new());
        // The first warms up.
        for time in 0..=self.times {
            if !in_time(trial) {
                return Err(late());
            }
            let began = Instant::now();
            let mut within = Duration::ZERO;
            for operation in &operations {
                let index = Operation::ALL.iter().position(|one| one == operation);
                let body = index.and_then(|index| self.bodies.get(index));
                let body = body.ok_or_else(|| SbiError::Configuration("no body for a call".to_owned()))?;
                within += caller.call(*operation, body)?.within;
            }
            if time > 0 {
                times.push(milliseconds(began.elapsed()));
                withins.push(milliseconds(within));
            }
        }
        observation.values.insert("time", times);
        observation.values.insert("within", withins);
        observation.values.insert("calls", vec![operations.len() as f64]);
        Ok(observation)
    }
}
