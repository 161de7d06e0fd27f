//! A network for tests: exchanges of IKE_SA_INIT and IKE_AUTH with round figures.
#![allow(dead_code)]

use bartizan_simulation::simulation::{
    Admission, Exchange, Message, Network, Procedure, Procedures, Retransmission, Retry, SECOND, Scenario, Steady,
    Storm, StormKind, Variation,
};

pub(crate) fn exchange(name: &str, bytes: u32, packets: u16, gateway_ns: u64) -> Exchange {
    let message = Message { bytes, packets };
    Exchange {
        name: name.to_owned(),
        request: message,
        answer: message,
        site_ns: 100_000,
        gateway_ns,
        keeps: true,
    }
}

pub(crate) fn procedure(exchanges: Vec<Exchange>) -> Procedure {
    Procedure {
        exchanges,
        after_ns: 100_000,
    }
}

/// So many sites come back at once; nothing is lost.
pub(crate) fn scenario(sites: u64, gateways: u64) -> Scenario {
    let one = |name| procedure(vec![exchange(name, 100, 1, 200_000)]);
    Scenario {
        network: Network {
            sites,
            gateways,
            cores: 2,
            round_trip_from_ns: 5_000_000,
            round_trip_to_ns: 20_000_000,
            loss_ppm: 0,
            site_rate: 100_000_000,
            gateway_rate: 10_000_000_000,
            site_cores: 0,
        },
        procedures: Procedures {
            set_up: procedure(vec![
                exchange("IKE_SA_INIT", 300, 1, 500_000),
                exchange("IKE_AUTH", 9_000, 8, 1_500_000),
            ]),
            resume: None,
            dead_peer: one("INFORMATIONAL"),
            rekey_child: one("CREATE_CHILD_SA"),
            rekey_ike: one("CREATE_CHILD_SA"),
            renew: one("certificate"),
            fetch_list: one("CRL"),
        },
        retransmission: Retransmission {
            first_ns: 4 * SECOND,
            factor_percent: 180,
            longest_ns: 60 * SECOND,
            tries: 5,
            jitter_percent: 0,
        },
        retry: Retry {
            first_ns: 5 * SECOND,
            longest_ns: 300 * SECOND,
            jitter_percent: 50,
        },
        admission: Admission {
            cookies_from: Some(30),
            queue: None,
            half_open_ns: 30 * SECOND,
            cookie_answer_bytes: 100,
            cookie_request_bytes: 40,
        },
        steady: Steady::default(),
        storm: Storm {
            kind: StormKind::Reattach,
            share_ppm: 1_000_000,
            window_ns: 10 * SECOND,
        },
        resumes: false,
        cost_permille: 1000,
        variation: Variation::Constant,
        horizon_ns: 600 * SECOND,
    }
}

/// Round costs of every primitive, so that tests of sizes and sums need no record.
pub(crate) fn crypto() -> bartizan_simulation::cost::CryptoCost {
    let mut primitives = Vec::new();
    let mut add = |primitive: &str, operation: &str, median: f64| {
        primitives.push(format!(
            r#"{{"primitive":"{primitive}","operation":"{operation}","n":9,"together":1,"lower_quartile_us":{median},"median_us":{median},"upper_quartile_us":{median}}}"#
        ));
    };
    for agreement in ["X25519", "ECDH P-256", "ECDH P-384"] {
        add(agreement, "key-generation", 20.0);
        add(agreement, "agreement", 40.0);
    }
    for (kem, us) in [("ML-KEM-512", 10.0), ("ML-KEM-768", 16.0), ("ML-KEM-1024", 24.0)] {
        add(kem, "key-generation", us);
        add(kem, "encapsulation", us);
        add(kem, "decapsulation", us * 1.5);
    }
    for (signature, sign, verify) in [
        ("ECDSA P-256", 20.0, 60.0),
        ("ECDSA P-384", 200.0, 250.0),
        ("Ed25519", 20.0, 50.0),
        ("ML-DSA-44", 180.0, 60.0),
        ("ML-DSA-65", 300.0, 100.0),
        ("ML-DSA-87", 400.0, 160.0),
    ] {
        add(signature, "signing", sign);
        add(signature, "verification", verify);
    }
    let text = format!(
        r#"{{"schema":"bartizan-crypto-cost/1","taken":"2026-01-01T00:00:00Z","conditions":{{"processor":null,"processors":1,"kernel":"none","version":"0",
        "commit":null,"profile":"none","library":"none","load_before":null,"load_after":null,"steal_ms":null,"elapsed_s":1.0}},"primitives":[{}],"ciphers":[]}}"#,
        primitives.join(",")
    );
    bartizan_simulation::cost::CryptoCost::parse(&text).unwrap()
}

/// The engines' costs as they are committed.
pub(crate) fn engines() -> bartizan_simulation::cost::EngineCosts {
    let text = include_str!("../../../../experiments/crypto-cost/engines.json");
    bartizan_simulation::cost::EngineCosts::parse(text).unwrap()
}
