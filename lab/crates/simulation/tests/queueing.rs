//! The simulation against queueing theory, whole: sites, links and gateways as plans use them, not a queue of its own.

use crate::network;
use bartizan_simulation::capacity::{Unknowns, capacity, capacity_spread, erlang_c};
use bartizan_simulation::simulation::{Outcome, SECOND, Scenario, Stop, StormKind, Variation, run};
use bartizan_simulation::storm::Range;
use network::scenario;

/// Many sites that reconnect each at random times are Poisson arrivals at their gateway.
fn reconnecting(cores: u64, load: f64, variation: Variation, wait: impl Fn(f64) -> f64) -> (Scenario, f64) {
    let mut scenario = scenario(20_000, 1);
    scenario.storm.kind = StormKind::None;
    scenario.network.cores = cores;
    scenario.variation = variation;
    scenario.admission.cookies_from = None;
    scenario.procedures.set_up.exchanges.truncate(1);
    let service = 10_000_000;
    scenario.procedures.set_up.exchanges[0].gateway_ns = service;
    let rate = load * cores as f64 / service as f64;
    let expected = wait(service as f64);
    // A site that sets up does not begin another: from one beginning to the next are its idle time
    // and that of a set-up, round trip, service, wait and its own processor's.
    let busy = 12_500_000.0 + 200_000.0 + service as f64 + expected;
    scenario.steady.reconnect_ns = (scenario.network.sites as f64 / rate - busy) as u64;
    // 150,000 arrivals.
    scenario.horizon_ns = (150_000.0 / rate) as u64;
    (scenario, expected)
}

fn mean_wait(scenario: &Scenario, seeds: std::ops::Range<u64>) -> (f64, f64) {
    let waits: Vec<f64> = seeds
        .map(|seed| {
            let counters = run(scenario, seed, &mut |_| Stop::No).unwrap().counters;
            counters.waited_ns as f64 / counters.served as f64
        })
        .collect();
    let n = waits.len() as f64;
    let mean = waits.iter().sum::<f64>() / n;
    let variance = waits.iter().map(|wait| (wait - mean).powi(2)).sum::<f64>() / (n - 1.0);
    // Student's factor of 99.9 % with 7 degrees of freedom is 5.4.
    (mean, 5.41 * (variance / n).sqrt())
}

fn held(scenario: &Scenario, expected: f64, what: &str) {
    let (mean, half) = mean_wait(scenario, 0..8);
    assert!(
        (mean - expected).abs() <= half,
        "{what}: {mean} ns simulated, {expected} ns by the formula, interval {half}"
    );
    assert!(
        half < expected * 0.2,
        "{what}: the interval is too wide to say anything: {half} of {expected}"
    );
}

#[test]
fn waits_of_one_core_are_those_of_m_m_1() {
    for load in [0.3, 0.6, 0.8] {
        let wait = |service| service * load / (1.0 - load);
        let (scenario, expected) = reconnecting(1, load, Variation::Exponential, wait);
        held(&scenario, expected, &format!("M/M/1 at {load}"));
    }
}

#[test]
fn waits_of_constant_service_are_those_of_m_d_1() {
    for load in [0.3, 0.6, 0.8] {
        let wait = |service| service * load / (1.0 - load) / 2.0;
        let (scenario, expected) = reconnecting(1, load, Variation::Constant, wait);
        held(&scenario, expected, &format!("M/D/1 at {load}"));
    }
}

#[test]
fn waits_of_several_cores_are_those_of_erlang_c() {
    for (cores, load) in [(2_u64, 0.7), (4, 0.8), (8, 0.85)] {
        let erlangs = cores as f64 * load;
        let wait = |service| erlang_c(cores, erlangs) * service / (cores as f64 - erlangs);
        let (scenario, expected) = reconnecting(cores, load, Variation::Exponential, wait);
        held(&scenario, expected, &format!("M/M/{cores} at {load}"));
    }
}

#[test]
fn the_closed_form_of_capacity_is_what_the_simulation_uses() {
    let mut scenario = scenario(4_000, 4);
    scenario.storm.kind = StormKind::None;
    let steady = &mut scenario.steady;
    steady.dead_peer_ns = 20 * SECOND;
    steady.rekey_child_ns = 600 * SECOND;
    steady.rekey_ike_ns = 1_800 * SECOND;
    steady.reconnect_ns = 1_200 * SECOND;
    steady.renew_ns = 3_000 * SECOND;
    steady.fetch_list_ns = 900 * SECOND;
    scenario.horizon_ns = 3_600 * SECOND;
    let closed = capacity(&scenario, 50).unwrap();
    let outcome: Outcome = run(&scenario, 11, &mut |_| Stop::No).unwrap();
    let seconds = 3_600.0;
    let busy = outcome.counters.gateway_ns as f64 / 1e9 / seconds / 4.0;
    // Duties that begin again with a new SA are drawn again, so that rates are not exactly one by
    // the period: 4 % is the largest deviation seen.
    assert!(
        (busy / closed.erlangs - 1.0).abs() < 0.04,
        "{busy} cores simulated, {} by the formula",
        closed.erlangs
    );
    let bits = (outcome.counters.bytes_up + outcome.counters.bytes_down) as f64 * 8.0 / seconds / 4.0;
    assert!(
        (bits / closed.bits_per_second - 1.0).abs() < 0.04,
        "{bits} bit/s simulated, {} by the formula",
        closed.bits_per_second
    );
    assert_eq!(outcome.up + outcome.counters.under_way, scenario.network.sites);
}

#[test]
fn capacity_refuses_what_cannot_be_and_says_when_the_cores_do_not_suffice() {
    let mut scenario = scenario(1_000, 1);
    assert!(
        capacity(&scenario, 0)
            .unwrap_err()
            .to_string()
            .contains("between 1 and 100 %")
    );
    scenario.steady.dead_peer_ns = 10_000_000;
    let over = capacity(&scenario, 50).unwrap();
    assert!(
        over.utilisation > 1.0 && over.waits == 1.0 && over.mean_wait_us.is_none(),
        "{over:?}"
    );
    assert!(over.cores_needed as f64 >= over.erlangs / 0.5);
}

/// A steady network, and what is not known of it.
fn steady(loss_ppm: Range, cost_interval: [f64; 2]) -> (Scenario, Unknowns) {
    let mut scenario = scenario(4_000, 4);
    scenario.storm.kind = StormKind::None;
    scenario.steady.dead_peer_ns = 20 * SECOND;
    scenario.steady.reconnect_ns = 600 * SECOND;
    let unknowns = Unknowns {
        loss_ppm,
        cost_permille: Range { from: 1000, to: 1000 },
        cost_interval,
    };
    (scenario, unknowns)
}

#[test]
fn what_is_sent_again_for_losses_is_what_the_simulation_sends() {
    let loss = 20_000;
    let (mut scenario, _) = steady(Range { from: loss, to: loss }, [1.0; 2]);
    // A message of one packet keeps nothing of a sending that was lost.
    scenario.procedures.set_up.exchanges[1].request.packets = 1;
    scenario.procedures.set_up.exchanges[1].answer.packets = 1;
    scenario.network.loss_ppm = loss;
    scenario.horizon_ns = 3_600 * SECOND;
    let closed = capacity(&scenario, 50).unwrap();
    let counters = run(&scenario, 5, &mut |_| Stop::No).unwrap().counters;
    let bits = (counters.bytes_up + counters.bytes_down) as f64 * 8.0 / 3_600.0 / 4.0;
    assert!(
        (bits / closed.bits_per_second - 1.0).abs() < 0.04,
        "{bits} bit/s simulated, {} by the formula",
        closed.bits_per_second
    );
    scenario.network.loss_ppm = 0;
    assert!(closed.bits_per_second > capacity(&scenario, 50).unwrap().bits_per_second * 1.02);
}

#[test]
fn intervals_of_capacity_hold_what_the_unknowns_hold_and_repeat_by_their_seed() {
    let (scenario, unknowns) = steady(Range { from: 0, to: 10_000 }, [0.9, 1.2]);
    let spread = |unknowns: &Unknowns, seed| capacity_spread(&scenario, 50, unknowns, 400, seed).unwrap();
    let found = spread(&unknowns, 1);
    assert_eq!(found, spread(&unknowns, 1));
    assert_ne!(found, spread(&unknowns, 2));
    let known = capacity(&scenario, 50).unwrap();
    let busy = found.erlangs.unwrap();
    assert!(
        busy.low < known.erlangs && known.erlangs < busy.high,
        "{busy:?} {}",
        known.erlangs
    );
    // Evenly from 0.9 to 1.2: the middle is 1.05, 95 of 100 are 0.285 apart.
    assert!((busy.median / known.erlangs - 1.05).abs() < 0.02, "{busy:?}");
    assert!(
        ((busy.high - busy.low) / known.erlangs - 0.285).abs() < 0.02,
        "{busy:?}"
    );
    let bits = found.bits_per_second.unwrap();
    assert!(bits.low >= known.bits_per_second && bits.high > bits.low, "{bits:?}");
    // With certain inputs an interval is a point.
    let exact = Unknowns {
        loss_ppm: Range { from: 0, to: 0 },
        cost_interval: [1.0; 2],
        ..unknowns
    };
    let point = spread(&exact, 1);
    assert_eq!(
        point.erlangs.map(|of| (of.low, of.high)),
        Some((known.erlangs, known.erlangs))
    );
    assert!(capacity_spread(&scenario, 50, &exact, 0, 1).is_err());
}
