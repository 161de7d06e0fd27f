//! The workloads with an NRF, each as an experiment asks for it: what comes out is checked, times are not.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bartizan_host::{Process, Program};
use bartizan_testing::Listening as _;
use bartizan_testing::{PATIENCE, free_port};
use bartizan_workbench::Experiment;
use bartizan_workbench::runner::experiment::Levels;
use bartizan_workbench::stand_in::proxies::Tools;
use bartizan_workbench::workload::{Error, Observation, Setting, Target, Trial};

/// The binary under test, with the lab root where there is one.
fn tools() -> Tools {
    Tools::find(PathBuf::from(env!("CARGO_BIN_EXE_bartizan-lab")), None).unwrap()
}

/// Plays every combination of a part twice, and gives what came out of the second.
fn play(part: &str, target: Option<&Target>) -> Result<Vec<(Levels, Observation)>, Error> {
    let text = format!("id: test\ntitle: A test\nquestion: Does it work?\ninvalid: [It does not.]\nparts:\n{part}");
    let experiment = Experiment::parse(&text, Path::new("experiment.yaml")).unwrap_or_else(|error| panic!("{error}"));
    let (tools, folder) = (tools(), tempfile::tempdir().unwrap());
    let part = &experiment.parts[0];
    let processors = bartizan_machine::processors().unwrap();
    let mut workload = (part.workload.start)(&Setting {
        part: &part.id,
        combinations: &part.combinations,
        parameters: &part.parameters,
        tools: &tools,
        folder: folder.path(),
        seed: 1,
        quick: true,
        target,
        processors: &processors,
    })?;
    let mut observations = Vec::new();
    for repetition in 0..2 {
        observations.clear();
        for levels in &part.combinations {
            assert_eq!((part.workload.lacks)(levels, &tools), None);
            let mut trial = || {
                workload.trial(&Trial {
                    levels,
                    repetition,
                    seed: 100 + repetition as u64,
                    deadline: Instant::now() + PATIENCE,
                })
            };
            let mut observation = trial();
            // A workload refuses what other work on the machine has mixed up: it is asked again.
            for _ in 0..30 {
                match &observation {
                    Err(error) if error.to_string().contains("cannot be determined from their packets") => {
                        observation = trial();
                    }
                    _ => break,
                }
            }
            let observation = observation?;
            for (name, samples) in &observation.values {
                let known = part.workload.metrics.iter().any(|metric| metric.name == *name);
                assert!(known && !samples.is_empty(), "{name} of {levels:?}");
                assert!(
                    samples.iter().all(|sample| sample.is_finite() && *sample >= 0.0),
                    "{name}: {samples:?}"
                );
            }
            observations.push((levels.clone(), observation));
        }
    }
    Ok(observations)
}

fn count(observation: &Observation, metric: &str) -> usize {
    observation.values.get(metric).map_or(0, Vec::len)
}

fn one(observation: &Observation, metric: &str) -> f64 {
    observation.values[metric][0]
}

#[test]
fn transactions_are_measured_in_every_deployment_with_their_handshakes() {
    let played = play(
        "  - id: latency\n    workload: nrf-transactions\n    factors:\n\
         \x20     - { name: deployment, levels: [native-h2c, native-tls, native-pqc, tls-sidecar, pqc-sidecar, tls-splice, pqc-splice] }\n\
         \x20     - { name: connection, levels: [kept, new] }\n\
         \x20   parameters: { transactions: 9, warm-up: 3 }\n    repetitions: 2\n    quick: { repetitions: 2 }\n    bound: 60\n    metrics: [latency]\n",
        None,
    )
    .unwrap();
    assert_eq!(played.len(), 14);
    for (levels, observation) in &played {
        assert_eq!(count(observation, "latency"), 9);
        for procedure in ["registration", "discovery", "heartbeat"] {
            assert_eq!(count(observation, procedure), 3);
        }
        assert!(one(observation, "cpu-nrf") > 0.0 && one(observation, "memory-nrf") > 1.0);
        let (deployment, new) = (
            levels.level("deployment").unwrap(),
            levels.level("connection") == Some("new"),
        );
        assert_eq!(count(observation, "opening"), if new { 9 } else { 0 });
        let proxied = !deployment.starts_with("native");
        for metric in ["cpu-consumer", "cpu-producer", "memory-consumer", "memory-producer"] {
            assert_eq!(
                observation.values.contains_key(metric),
                proxied,
                "{deployment}: {metric}"
            );
        }
        let handshakes = observation.values.get("handshakes").map(|handshakes| handshakes[0]);
        match (deployment, new) {
            ("native-h2c", _) => assert_eq!(handshakes, None),
            ("native-tls" | "native-pqc" | "tls-splice" | "pqc-splice", true) => assert_eq!(handshakes, Some(9.0)),
            // The link is kept: its handshakes were made before. Of those dialled ahead some may be unused.
            ("native-tls" | "native-pqc", false) => assert_eq!(handshakes, Some(1.0)),
            _ => assert!(
                (1.0..=3.0).contains(&handshakes.unwrap_or_default()),
                "{deployment} {new}: {handshakes:?}"
            ),
        }
    }
}

#[test]
fn whatever_the_authority_signs_with_everything_is_restarted_and_its_handshakes_are_counted() {
    let played = play(
        "  - id: authority\n    workload: nrf-transactions\n    factors:\n\
         \x20     - { name: deployment, levels: [pqc-splice] }\n\
         \x20     - { name: connection, levels: [new] }\n\
         \x20     - { name: ca, levels: [ml-dsa-44, ml-dsa-65, ml-dsa-87] }\n\
         \x20   parameters: { transactions: 6, warm-up: 0, restart: true }\n    repetitions: 2\n    quick: { repetitions: 2 }\n    bound: 60\n    metrics: [latency]\n",
        None,
    )
    .unwrap();
    for (levels, observation) in &played {
        assert_eq!(
            (one(observation, "handshakes"), count(observation, "handshake")),
            (6.0, 6),
            "{levels:?}"
        );
        assert_eq!(observation.facts["handshakes-others"], 0);
        assert_eq!(
            observation.facts["negotiated"],
            serde_json::json!(["X25519MLKEM768 mldsa65"])
        );
    }
}

#[test]
fn the_first_contact_of_two_ends_that_were_just_started_is_distinguished_from_those_that_follow() {
    let played = play(
        "  - id: first-contact\n    workload: nrf-transactions\n    factors:\n\
         \x20     - { name: deployment, levels: [pqc-splice] }\n\
         \x20     - { name: connection, levels: [new] }\n\
         \x20   parameters: { transactions: 3, warm-up: 2, restart: true }\n    repetitions: 2\n    quick: { repetitions: 2 }\n    bound: 60\n    metrics: [latency]\n",
        None,
    )
    .unwrap();
    let (_, observation) = &played[0];
    for metric in ["first-latency", "first-handshake"] {
        assert_eq!(count(observation, metric), 1, "{metric}");
        assert!(one(observation, metric) > 0.0, "{metric}");
    }
    assert_eq!((count(observation, "latency"), count(observation, "handshake")), (3, 3));
}

#[test]
fn every_function_of_the_matrix_is_played_and_marked_synthetic() {
    let played = play(
        "  - id: matrix\n    workload: nrf-transactions\n    factors:\n\
         \x20     - { name: consumer, levels: [AMF, SMF, AUSF, UDM, UDR, PCF, NSSF] }\n\
         \x20   parameters: { transactions: 3, warm-up: 0 }\n    repetitions: 2\n    quick: { repetitions: 2 }\n    bound: 60\n    metrics: [latency]\n",
        None,
    )
    .unwrap();
    assert_eq!(played.len(), 7);
    assert!(
        played
            .iter()
            .all(|(_, observation)| observation.facts["synthetic"] == true)
    );
}

#[test]
fn calls_of_a_service_are_as_many_as_a_handshake_has_operations() {
    let played = play(
        "  - id: calls\n    workload: service-calls\n    factors:\n\
         \x20     - { name: work, levels: [nothing, sign, handshake, transaction] }\n\
         \x20     - { name: connection, levels: [kept, new] }\n\
         \x20   parameters: { times: 5 }\n    repetitions: 2\n    quick: { repetitions: 2 }\n    bound: 60\n    metrics: [time]\n",
        None,
    )
    .unwrap();
    for (levels, observation) in &played {
        let expected = match levels.level("work").unwrap() {
            "handshake" => 9.0,
            "transaction" => 8.0,
            _ => 1.0,
        };
        assert_eq!((one(observation, "calls"), count(observation, "time")), (expected, 5));
        assert!(one(observation, "within") <= one(observation, "time"));
    }
}

/// An NRF that was not started by the workload.
fn nrf() -> (Process, SocketAddr) {
    let address = free_port();
    let mut process = Program::new(env!("CARGO_BIN_EXE_bartizan-lab"))
        .arguments(["nrf", "--listen", &address.to_string()])
        .start()
        .unwrap();
    process.wait_for_port(address, PATIENCE).unwrap();
    (process, address)
}

fn target(address: SocketAddr) -> Target {
    Target {
        uri: format!("http://{address}").parse().unwrap(),
        ca: None,
    }
}

#[test]
fn an_nrf_of_the_users_is_measured_and_left_as_it_was() {
    let (_process, address) = nrf();
    let played = play(
        "  - id: latency\n    workload: nrf-transactions\n    factors:\n\
         \x20     - { name: deployment, levels: [native-h2c, pqc-sidecar] }\n\
         \x20   parameters: { transactions: 6, warm-up: 0 }\n    repetitions: 2\n    quick: { repetitions: 2 }\n    bound: 60\n    metrics: [latency]\n",
        Some(&target(address)),
    )
    .unwrap();
    for (_, observation) in &played {
        assert_eq!(count(observation, "latency"), 6);
        // The processor time of a program elsewhere cannot be measured.
        assert!(!observation.values.contains_key("cpu-nrf"));
    }
    let list = Program::new("curl")
        .package("curl")
        .arguments([
            "--silent",
            "--http2-prior-knowledge",
            &format!("http://{address}/nnrf-nfm/v1/nf-instances"),
        ])
        .run(PATIENCE)
        .unwrap();
    assert!(list.text().contains("\"totalItemCount\":0"), "{}", list.text());
}

#[test]
fn a_target_that_does_not_fit_or_answer_is_named() {
    let part = |deployment: &str| {
        format!(
            "  - id: latency\n    workload: nrf-transactions\n    factors: [{{ name: deployment, levels: [{deployment}] }}]\n\
             \x20   repetitions: 2\n    quick: {{ repetitions: 2 }}\n    bound: 60\n    metrics: [latency]\n"
        )
    };
    let (process, address) = nrf();
    let error = play(&part("native-tls"), Some(&target(address))).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("native-tls cannot be played against http://"),
        "{error}"
    );
    drop(process);
    let error = play(&part("native-h2c"), Some(&target(address))).unwrap_err();
    assert!(error.to_string().contains("Connection refused"), "{error}");
    assert!(error.hint().unwrap().contains("is an NRF listening there"));
}

#[test]
fn steady_load_and_new_connections_are_answered_through_sidecars() {
    let played = play(
        "  - id: steady\n    workload: steady\n    factors:\n\
         \x20     - { name: deployment, levels: [native-h2c, pqc-sidecar, pqc-splice] }\n\
         \x20     - { name: streams, levels: [\"1\", \"16\", \"64\"] }\n\
         \x20   parameters: { requests: 160 }\n    repetitions: 2\n    quick: { repetitions: 2 }\n    bound: 60\n    metrics: [throughput]\n",
        None,
    )
    .unwrap();
    for (levels, observation) in &played {
        let expected = if levels.level("streams") == Some("1") { 20 } else { 160 };
        assert_eq!(count(observation, "latency"), expected, "{levels:?}");
        assert!(one(observation, "throughput") > 0.0);
    }
    let played = play(
        "  - id: new\n    workload: new-connection\n    factors:\n\
         \x20     - { name: deployment, levels: [native-tls, pqc-splice] }\n\
         \x20   parameters: { connections: 5 }\n    repetitions: 2\n    quick: { repetitions: 2 }\n    bound: 60\n    metrics: [latency]\n",
        None,
    )
    .unwrap();
    assert!(played.iter().all(|(_, observation)| count(observation, "opening") == 5));
}

/// A server that takes 10 ms for each request, one after the other, answers at most 100 requests in
/// a second. With 64 at once each takes 640 ms. The bounds are far from the delay that a busy
/// machine adds to a level that can be held.
#[test]
fn a_ramp_finds_the_capacity_of_a_server_whose_capacity_is_known() {
    let part = |by: &str, first: u32, bound: u32| {
        format!(
            "  - id: ramp\n    workload: ramp\n    factors: [{{ name: deployment, levels: [native-h2c] }}]\n\
             \x20   parameters: {{ by: {by}, first: {first}, growth: 4, most: 6400, bound-ms: {bound}, dwell-ms: 500, work-us: 10000 }}\n\
             \x20   repetitions: 2\n    quick: {{ repetitions: 2 }}\n    bound: 60\n    metrics: [held]\n"
        )
    };
    // 25 a second can be held, 400 cannot by any means: the answers of half a second take two.
    let rate = play(&part("rate", 25, 1000), None).unwrap();
    let held = one(&rate[0].1, "held");
    assert!((25.0..=100.0).contains(&held), "{held}");
    assert!(rate[0].1.facts["broke"]["level"].as_f64().is_some());
    let concurrency = play(&part("concurrency", 1, 500), None).unwrap();
    let held = one(&concurrency[0].1, "held");
    assert!((1.0..=16.0).contains(&held), "{held}");
    // Nothing is held where the first level breaks, and that is reported.
    let nothing = play(&part("rate", 800, 1), None).unwrap();
    assert_eq!(one(&nothing[0].1, "held"), 0.0);
}

#[test]
fn recorded_registrations_pass_through_a_sidecar_for_each_function() {
    let played = play(
        "  - id: replay\n    workload: replay\n    factors:\n\
         \x20     - { name: deployment, levels: [native-h2c, pqc-sidecar, tls-splice] }\n\
         \x20     - { name: pace, levels: [recorded, at-once] }\n\
         \x20   parameters: { until-ms: 300 }\n    repetitions: 2\n    quick: { repetitions: 2 }\n    bound: 60\n    metrics: [latency]\n",
        None,
    )
    .unwrap();
    for (levels, observation) in &played {
        let facts = &observation.facts;
        assert_eq!(one(observation, "faults"), 0.0, "{levels:?}: {facts:?}");
        assert_eq!(facts["requests"], count(observation, "latency"));
        let rows = ["amf", "ausf", "nrf", "pcf", "udm", "udr"];
        let all: usize = rows
            .iter()
            .map(|row| count(observation, &format!("latency-{row}")))
            .sum();
        assert_eq!(all, count(observation, "latency"));
        // Only discoveries name who asks.
        assert!(
            facts["requests-that-name-their-consumer"].as_u64().unwrap() <= count(observation, "latency-nrf") as u64
        );
    }
}

/// Measurements from packets need a capture.
mod as_root {
    use super::*;

    #[test]
    fn registrations_at_a_cadence_are_played_as_often_and_their_links_are_captured() {
        let played = play(
            "  - id: registrations\n    workload: replay\n    factors:\n\
             \x20     - { name: deployment, levels: [native-h2c, tls-splice] }\n\
             \x20   parameters: { until-ms: 300, times: 2, every-ms: 500 }\n    repetitions: 2\n    quick: { repetitions: 2 }\n    bound: 60\n    metrics: [latency]\n",
            None,
        )
        .unwrap();
        let bytes: Vec<f64> = played.iter().map(|(_, one)| one.values["link-bytes"][0]).collect();
        for (levels, observation) in &played {
            assert_eq!(one(observation, "faults"), 0.0, "{levels}: {:?}", observation.facts);
            // The time from the first packet to the last includes the pause between the two.
            let (gap, rate) = (one(observation, "link-gap"), one(observation, "link-bytes-per-second"));
            assert!(gap > 0.0 && rate > 0.0, "{levels}");
        }
        assert!(
            bytes[1] > bytes[0],
            "TLS and its handshakes weigh more than none: {bytes:?}"
        );
    }

    #[test]
    fn registrations_by_a_group_alone_weigh_what_its_key_shares_do() {
        let part = |cable: bool| {
            format!(
                "  - id: registrations\n    workload: replay\n    factors:\n\
                 \x20     - {{ name: deployment, levels: [tls-splice, pqc-splice] }}\n\
                 \x20     - {{ name: group, levels: [X25519, MLKEM1024] }}\n\
                 \x20   parameters: {{ until-ms: 300, times: 2, every-ms: 500, cable: {cable} }}\n    repetitions: 2\n    quick: {{ repetitions: 2 }}\n    bound: 60\n    metrics: [latency]\n"
            )
        };
        let played = play(&part(false), None).unwrap();
        let bytes: Vec<f64> = played.iter().map(|(_, each)| one(each, "link-bytes")).collect();
        for (levels, observation) in &played {
            assert_eq!(one(observation, "faults"), 0.0, "{levels}: {:?}", observation.facts);
            assert!(one(observation, "link-bytes-per-packet") > 60.0, "{levels}");
        }
        assert!(
            bytes[1] > bytes[0] && bytes[3] > bytes[2] && bytes[2] > bytes[0],
            "{bytes:?}"
        );
        // Loopback of the machine stays as it is.
        let refused = play(&part(true), None).unwrap_err().to_string();
        assert!(refused.contains("run as root"), "{refused}");
    }

    #[test]
    fn components_of_a_transaction_add_up_to_its_latency() {
        let played = play(
            "  - id: breakdown\n    workload: breakdown\n    factors:\n\
             \x20     - { name: deployment, levels: [native-h2c, native-tls, pqc-sidecar, tls-splice, pqc-splice] }\n\
             \x20     - { name: connection, levels: [kept, new] }\n\
             \x20   parameters: { transactions: 10 }\n    repetitions: 2\n    quick: { repetitions: 2 }\n    bound: 60\n    metrics: [latency]\n",
            None,
        )
        .unwrap();
        for (levels, observation) in &played {
            let values = &observation.values;
            assert!(count(observation, "latency") >= 9, "{levels:?}");
            for (index, latency) in values["latency"].iter().enumerate() {
                let parts = ["consumer", "client-proxy", "server-proxy", "crypto", "upstream"];
                let sum: f64 = parts.iter().map(|part| values[*part][index]).sum();
                assert!((sum - latency).abs() < 0.02 * latency, "{levels:?}: {sum} of {latency}");
            }
            let (deployment, new) = (
                levels.level("deployment").unwrap(),
                levels.level("connection") == Some("new"),
            );
            let shaken = new && (deployment.ends_with("splice") || deployment == "native-tls");
            assert_eq!(
                values["crypto"].iter().all(|crypto| *crypto > 0.0),
                shaken,
                "{levels:?}"
            );
        }
    }

    #[test]
    fn nginx_waits_for_acknowledgements_only_with_large_flights_and_without_nodelay() {
        let played = play(
            "  - id: nagle\n    workload: nagle\n    factors:\n\
             \x20     - { name: session-reuse, levels: [\"on\", \"off\"] }\n\
             \x20     - { name: mode, levels: [classical, post-quantum] }\n\
             \x20   parameters: { transactions: 10 }\n    repetitions: 2\n    quick: { repetitions: 2 }\n    bound: 60\n    metrics: [latency]\n",
            None,
        )
        .unwrap();
        for (levels, observation) in &played {
            let trap = levels.level("session-reuse") == Some("off") && levels.level("mode") == Some("post-quantum");
            let waits = one(observation, "waits");
            assert_eq!(
                waits > 50.0,
                trap,
                "{levels:?}: {waits} %, {:?}",
                observation.values["silence"]
            );
        }
    }
}
