use std::thread;
use std::time::Duration;

use bartizan_testing::until;

use super::*;
use crate::Exchange;

/// The part of the exchange in which the first phone is authenticated: 21 connections in a second and a half.
fn beginning() -> Exchange {
    Exchange::two_registrations().opened_before(Duration::from_millis(1550))
}

fn answered_in(exchange: &Exchange) -> usize {
    exchange
        .requests()
        .filter(|(_, request)| request.answer.is_some())
        .count()
}

fn responder(exchange: &Exchange, think: Think, idle: Idle) -> Responder {
    Responder::on_loopback(exchange, Behaviour { think, idle }).unwrap()
}

#[test]
fn both_registrations_are_answered_as_recorded_and_can_be_played_again() {
    let exchange = Exchange::two_registrations();
    let responder = responder(&exchange, Think::None, Idle::Keep);
    for round in 1..=2 {
        let outcome = play(&exchange, responder.addresses(), Speed::AsFastAsPossible).unwrap();
        assert_eq!(outcome.faults, [], "round {round}");
        assert_eq!(outcome.requests.len(), 59);
        assert_eq!(outcome.connections.len(), 65);
        assert_eq!(outcome.latency().unwrap().n, 59);
        let answered = responder.answered();
        assert_eq!(
            (answered.connections, answered.requests, answered.unknown),
            (65 * round, 59 * round, 0)
        );
    }
}

#[test]
fn nothing_is_sent_before_its_time_or_answered_before_it_was_thought_about() {
    let exchange = beginning();
    let responder = responder(&exchange, Think::Recorded, Idle::Keep);
    let outcome = play(&exchange, responder.addresses(), Speed::Recorded).unwrap();
    assert_eq!(outcome.faults, []);
    assert_eq!(outcome.requests.len(), answered_in(&exchange));
    for played in &outcome.requests {
        let recorded = &exchange.connections()[played.connection].requests[played.request];
        assert!(played.sent_us >= recorded.sent.as_secs_f64() * 1e6, "{played:?}");
        assert!(played.latency_us >= played.think_us, "{played:?}");
        assert_eq!(played.think_us, recorded.think().unwrap().as_secs_f64() * 1e6);
    }
    for played in &outcome.connections {
        assert!(played.opened_us >= exchange.connections()[played.connection].opened.as_secs_f64() * 1e6);
    }
}

#[test]
fn servers_that_go_away_when_idle_for_a_millisecond_lose_nothing() {
    let exchange = beginning();
    let responder = responder(&exchange, Think::Recorded, Idle::FREE5GC);
    let outcome = play(&exchange, responder.addresses(), Speed::Recorded).unwrap();
    assert_eq!(outcome.faults, []);
    assert_eq!(outcome.requests.len(), answered_in(&exchange));
    let refused: u32 = outcome.requests.iter().map(|request| request.refused).sum();
    let again = outcome.connections.iter().filter(|connection| connection.again).count();
    assert_eq!(again, refused as usize);
    // Some connection of the recording waits several milliseconds for its first request.
    let answered = responder.answered();
    assert!(answered.goaways > 0, "{answered:?}");
    assert_eq!(
        (answered.requests as usize, answered.unknown),
        (answered_in(&exchange), 0)
    );
}

#[test]
fn responder_that_is_killed_midway_leaves_described_faults() {
    let exchange = beginning();
    let responder = responder(&exchange, Think::Recorded, Idle::Keep);
    let targets = responder.addresses().clone();
    let killer = thread::spawn(move || {
        // In the middle of a request that is thought about for more than a second: six connections
        // come at its beginning, the seventh after it.
        until("six connections", || responder.answered().connections >= 6);
        thread::sleep(Duration::from_millis(300));
        drop(responder);
    });
    let outcome = play(&exchange, &targets, Speed::Recorded).unwrap();
    killer.join().unwrap();
    assert!(!outcome.clean());
    let lost = outcome.faults.iter().filter(|fault| fault.request.is_some()).count();
    assert_eq!(
        outcome.requests.len() + lost,
        answered_in(&exchange),
        "each request is answered or has a fault"
    );
    let reported = |words: &str| outcome.faults.iter().any(|fault| fault.to_string().contains(words));
    assert!(
        reported("AUSF, connection 2, POST /nausf-auth/v1/ue-authentications: "),
        "{:?}",
        outcome.faults
    );
    assert!(reported("Connection refused"), "{:?}", outcome.faults);
    assert!(reported("there is no connection"), "{:?}", outcome.faults);
}

#[test]
fn answer_that_differs_is_a_fault_that_says_where() {
    let text = include_str!("../../../../../experiments/ue-registration/exchange.json");
    let exchange = Exchange::two_registrations();
    let responder = responder(&exchange, Think::None, Idle::Keep);
    for (from, to, says) in [
        (
            r#"\"authType\":\"5G_AKA\""#,
            r#"\"authType\":\"5G_AKB\""#,
            "differs from the recorded 365 bytes at byte 18",
        ),
        (r#""status": 201"#, r#""status": 200"#, "status 201 instead of 200"),
        (
            r#""http://127.0.0.9:8000"#,
            r#""http://127.0.0.8:8000"#,
            "header field location is missing or changed",
        ),
    ] {
        let expected = Exchange::parse(&text.replacen(from, to, 1)).unwrap();
        assert_ne!(expected, exchange, "{from} is not in the file");
        let outcome = play(&expected, responder.addresses(), Speed::AsFastAsPossible).unwrap();
        let [fault] = outcome.faults.as_slice() else {
            panic!("{:?}", outcome.faults)
        };
        assert!(fault.to_string().ends_with(says), "{fault}");
    }
}

#[test]
fn network_function_without_address_is_named() {
    let exchange = Exchange::two_registrations();
    let responder = responder(&exchange, Think::None, Idle::Keep);
    let mut targets = responder.addresses().clone();
    targets.remove("PCF");
    let error = play(&exchange, &targets, Speed::AsFastAsPossible).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the exchange calls PCF, and no address is given for it"
    );
    let error = Responder::start(&exchange, BTreeMap::new(), Behaviour::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the exchange calls AMF, and no address is given for it"
    );
}
