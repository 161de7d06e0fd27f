//! Costs and sizes of set-ups against the records of experiments.

use crate::network;
use std::collections::BTreeMap;
use std::io::Read as _;

use bartizan_simulation::cost::{Authentication, CostError, Engine, Suite, Worked};
use network::{crypto, engines};

fn suite(engine: Engine, key_exchange: &str, authentication: &str, chain: u8) -> Suite {
    Suite {
        engine,
        key_exchange: key_exchange.to_owned(),
        authentication: Authentication::named(authentication).unwrap(),
        chain,
        resumes: false,
    }
}

fn worked(suite: &Suite) -> Worked {
    suite.worked(&crypto(), &engines(), 0).unwrap()
}

/// Values of a metric in a committed record, by the levels of two factors.
fn recorded(
    file: &str,
    part: &str,
    factors: [&str; 2],
    metric: &str,
    only: &[(&str, &str)],
) -> BTreeMap<[String; 2], Vec<f64>> {
    let path = format!("{}/../../experiments/{file}", env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(&path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    let mut values: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for line in text.lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        let level = |name: &str| record["levels"][name].as_str().unwrap_or_default().to_owned();
        if record["part"] != part
            || record["outcome"] != "measured"
            || record["twin"] == true
            || only.iter().any(|(name, value)| level(name) != *value)
        {
            continue;
        }
        let list = record["values"][metric].as_array().into_iter().flatten();
        values
            .entry(factors.map(level))
            .or_default()
            .extend(list.filter_map(serde_json::Value::as_f64));
    }
    values
}

fn median(values: &[f64]) -> f64 {
    bartizan_estimators::Sample::new(values.iter().copied())
        .unwrap()
        .median()
}

/// The file of records that a source names:
/// `lab/experiments/sa-setup, run 2026-11-24T172800Z, part exchanges`.
fn file_of(record: &str) -> String {
    let mut words = record.split(", ");
    let experiment = words.next().and_then(|word| word.strip_prefix("experiments/")).unwrap();
    let run = words.next().and_then(|word| word.strip_prefix("run ")).unwrap();
    format!("{experiment}/records/{run}.jsonl.gz")
}

fn scale() -> String {
    let folder = format!("{}/../../experiments/scale/records", env!("CARGO_MANIFEST_DIR"));
    let mut runs: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    runs.sort();
    format!("scale/records/{}", runs.pop().unwrap())
}

#[test]
fn engines_costs_are_the_medians_of_the_records_they_name() {
    let engines = engines();
    let strongswan = engines.engine("strongswan").unwrap();
    assert!(strongswan.record.starts_with("experiments/sa-setup, run "));
    type Column = (&'static str, f64, fn(&bartizan_simulation::cost::MeasuredSetUp) -> f64);
    let columns: [Column; 6] = [
        ("cpu-responder", 1e3, |set_up| set_up.responder_us),
        ("cpu-initiator", 1e3, |set_up| set_up.initiator_us.unwrap()),
        ("rekey", 1e3, |set_up| set_up.rekey_us.unwrap()),
        ("bytes", 1.0, |set_up| set_up.bytes.unwrap() as f64),
        ("packets", 1.0, |set_up| set_up.packets.unwrap() as f64),
        ("rekey-bytes", 1.0, |set_up| set_up.rekey_bytes.unwrap() as f64),
    ];
    for (metric, factor, value) in columns {
        let file = file_of(&strongswan.record);
        let recorded = recorded(&file, "exchanges", ["key-exchange", "authentication"], metric, &[]);
        assert_eq!(recorded.len(), strongswan.set_ups.len());
        for set_up in &strongswan.set_ups {
            let values = &recorded[&[set_up.key_exchange.clone(), set_up.authentication.clone()]];
            assert_eq!(values.len(), set_up.n as usize);
            let (expected, given) = (median(values) * factor, value(set_up));
            assert!(
                (expected - given).abs() < 1e-3 * expected.max(1.0),
                "{metric} {}: {expected} {given}",
                set_up.key_exchange
            );
        }
    }
    for set_up in &strongswan.set_ups {
        let [low, high] = set_up.cost_interval();
        assert!(low <= 1.0 && 1.0 <= high && high - low < 0.3, "{set_up:?}");
    }
    let bartizan = engines.engine("bartizan").unwrap();
    let only = [("proxy", "http2"), ("placement", "one-core")];
    let handshakes = recorded(
        &file_of(&bartizan.record),
        "handshakes",
        ["mode", "proxy"],
        "handshakes",
        &only,
    );
    for (mode, index) in [("classical", 0), ("post-quantum", 1)] {
        let expected = 1e6 / median(&handshakes[&[mode.to_owned(), "http2".to_owned()]]);
        assert!((bartizan.set_ups[index].responder_us - expected).abs() < 0.01);
    }
    let [held] = &bartizan.memory[..] else {
        panic!("{:?}", bartizan.memory);
    };
    let only = [("path", "http2"), ("held", "5000")];
    let of_each = recorded(
        &file_of(&held.record),
        "hold",
        ["held", "path"],
        "memory-per-connection",
        &only,
    );
    // The record counts in kB.
    let kilobytes = median(&of_each[&["5000".to_owned(), "http2".to_owned()]]);
    assert!((held.process_bytes as f64 - kilobytes * 1e3).abs() < 1.0);
}

#[test]
fn bytes_and_packets_of_ike_are_those_that_were_captured() {
    for set_up in &engines().engine("strongswan").unwrap().set_ups {
        let worked = worked(&suite(
            Engine::StrongSwan,
            &set_up.key_exchange,
            &set_up.authentication,
            1,
        ));
        let name = format!("{} {}", set_up.key_exchange, set_up.authentication);
        let procedures = &worked.procedures;
        assert_eq!(Some(procedures.set_up.packets()), set_up.packets, "{name}");
        assert_eq!(
            Some(procedures.rekey_child.bytes()),
            set_up.rekey_bytes,
            "{name}: rekey"
        );
        // Names of certificates, and signatures of ECDSA whose length varies: 2 %.
        let (bytes, captured) = (procedures.set_up.bytes() as f64, set_up.bytes.unwrap() as f64);
        assert!(
            (bytes / captured - 1.0).abs() < 0.02,
            "{name}: {bytes} bytes, {captured} captured"
        );
        assert!(worked.measured);
        // The result is the measured time, in nanoseconds and their rounding.
        let gateway = procedures.set_up.gateway_ns() as f64 / 1e3;
        assert!(
            (gateway - set_up.responder_us).abs() < 0.01,
            "{name}: {gateway} {}",
            set_up.responder_us
        );
    }
}

#[test]
fn bytes_of_tls_are_those_that_were_captured() {
    let recorded = recorded(&scale(), "chain", ["certificate", "chain"], "handshake-bytes", &[]);
    assert_eq!(recorded.len(), 8);
    for ([certificate, chain], values) in recorded {
        let set_up = worked(&suite(
            Engine::Bartizan,
            "X25519MLKEM768",
            &certificate,
            chain.parse().unwrap(),
        ))
        .procedures
        .set_up;
        // The record counts Ethernet's 14 bytes of each frame, from ClientHello to the client's Finished.
        let after_tcp: Vec<_> = set_up.exchanges[1..].to_vec();
        let messages = after_tcp
            .iter()
            .flat_map(|exchange| [exchange.request, exchange.answer])
            .take(after_tcp.len() * 2 - 1);
        let bytes: f64 = messages
            .map(|message| f64::from(message.bytes) + 14.0 * f64::from(message.packets))
            .sum();
        let captured = median(&values);
        // Acknowledgements without data are not modelled.
        let ratio = bytes / captured;
        assert!(
            (0.93..1.01).contains(&ratio),
            "{certificate} {chain}: {bytes} bytes, {captured} captured"
        );
    }
}

#[test]
fn a_signature_that_was_not_measured_with_an_engine_adds_its_primitives_and_nothing_else() {
    let known = worked(&suite(Engine::StrongSwan, "x25519-ke1_mlkem768", "ecdsa-p256", 1));
    let derived = worked(&suite(Engine::StrongSwan, "x25519-ke1_mlkem768", "ml-dsa-65", 1));
    assert!(known.measured && !derived.measured);
    // Signing 300 instead of 20, two verifications of 100 instead of 60.
    let more = derived.procedures.set_up.gateway_ns() as f64 - known.procedures.set_up.gateway_ns() as f64;
    assert!((more - 360_000.0).abs() < 5.0, "{more}");
    let longer = worked(&suite(Engine::StrongSwan, "x25519-ke1_mlkem768", "ml-dsa-65", 2));
    assert!(longer.procedures.set_up.gateway_ns() > derived.procedures.set_up.gateway_ns());
    assert!(longer.procedures.set_up.packets() > derived.procedures.set_up.packets());
    // ML-DSA-65: 8 fragments each way, as captured with strongSwan's branch; ML-DSA-87: 11.
    let fragments = |authentication: &str| {
        let worked = worked(&suite(Engine::StrongSwan, "x25519", authentication, 1));
        worked.procedures.set_up.exchanges[1].request.packets
    };
    assert_eq!(
        (fragments("ml-dsa-44"), fragments("ml-dsa-65"), fragments("ml-dsa-87")),
        (6, 8, 11)
    );
}

#[test]
fn a_resumed_session_signs_nothing_and_is_shorter() {
    let whole = worked(&suite(Engine::Bartizan, "X25519MLKEM768", "ml-dsa-65", 1));
    assert!(whole.procedures.resume.is_none());
    let mut resumed = suite(Engine::Bartizan, "X25519MLKEM768", "ml-dsa-65", 1);
    resumed.resumes = true;
    let resumed = worked(&resumed).procedures.resume.unwrap();
    assert!(resumed.gateway_ns() + 300_000 <= whole.procedures.set_up.gateway_ns());
    assert!(resumed.bytes() * 3 < whole.procedures.set_up.bytes());
}

#[test]
fn a_flight_beyond_the_initial_window_takes_another_round_trip() {
    let exchanges = |chain| {
        let suite = suite(Engine::Bartizan, "X25519MLKEM768", "ml-dsa-87", chain);
        worked(&suite).procedures.set_up.exchanges.len()
    };
    assert_eq!((exchanges(1), exchanges(2)), (3, 4));
}

#[test]
fn what_no_record_has_is_refused_by_name() {
    let refused = |suite: &Suite| suite.worked(&crypto(), &engines(), 0).unwrap_err();
    assert!(matches!(
        refused(&suite(Engine::StrongSwan, "ecp256", "ecdsa-p256", 1)),
        CostError::NotMeasured { .. }
    ));
    assert!(matches!(
        refused(&suite(Engine::StrongSwan, "x25519", "ecdsa-p256", 9)),
        CostError::Unknown { .. }
    ));
    assert!(matches!(
        refused(&suite(Engine::Bartizan, "x25519-ke1_mlkem768", "ecdsa-p256", 1)),
        CostError::Unknown { .. }
    ));
    assert!(
        Authentication::named("rsa")
            .unwrap_err()
            .to_string()
            .contains("ecdsa-p256, ")
    );
    assert!(Engine::named("charon").is_err());
}
